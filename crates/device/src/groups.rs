//! Work-groups: a parallel loop whose body has loops for the work-items of a group (`items for`) becomes one program that all of
//! them run (DPIA, section 6.3).
//!
//! ```text
//! par for g < groups {                     par for g < groups {
//!   buffer acc: f32                          buffer lanes: local f32
//!   alloc acc[256]                           alloc lanes[128]
//!   for k < rows {                           items for l < 256 {
//!     items for i < 256 {           ~~>        var acc: f32
//!       acc[i] = acc[i] + xs[… + i]            for k < rows { acc = acc + xs[… + l] }
//!     }                                        … sums[l] = acc … barrier
//!   }                                          if l < 128 { lanes[l] = sums[l] + sums[l + 128] }
//!   buffer lanes: f32 …                        …
//! ```
//!
//! - Iterations of `items` loops go to work-items, iteration by iteration: `i` is done by item `i` modulo the size of the group.
//! - What stands beside them all work-items do alike, as long as it only computes scalars; what writes memory the first one does.
//! - A buffer of which every item has one cell is a variable of its own ([`memory`]); others are local memory.
//! - Barriers stand where an item would see cells that another one has touched ([`barriers`]).
//! - Local memory that is used no more is used for something else ([`sharing`]).
//!
//! Removes: `items` loops inside others. Introduces: `barrier`, local memory. Guarantees: IMP-17, IMP-18.

mod barriers;
mod memory;
mod sharing;

pub(crate) use memory::LOCAL_BYTES;

use crate::fills;
use crate::fresh::Fresh;
use crate::inline::{count as count_of, with_own_names};
use crate::substitute::substitute;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Space, Stmt, Touched, Width};
use almach_value::BinOp;
use barriers::{Access, Cells};

/// Work-items of a group where the program does not say how many.
const ITEMS: i64 = 256;

/// Iterations of a work-item between two tests, and the most statements of one that is worth it.
const BATCH: i64 = 4;
const FEW: usize = 24;

/// The most work-items of a group.
const MOST_ITEMS: i64 = 1024;

/// The body of a group, from barrier to barrier.
enum Node {
    /// Statements that no barrier may stand in, and the cells that they use.
    Piece(Vec<Stmt>, Vec<Access>),
    /// Statements whose blocks all work-items go through together. What its own expressions read.
    Shared(Stmt, Vec<Vec<Node>>, Vec<Access>),
}

/// The body of a loop over groups as work-items run it; none where it has no loops for them, or they cannot share it.
pub(crate) fn grouped(body: &[Stmt], fresh: &mut Fresh) -> Option<Vec<Stmt>> {
    if !has_items(body) {
        return None;
    }
    let mut body = body.to_vec();
    normalise(&mut body, fresh);
    let items = group_size(&body);
    let local = memory::place(&mut body, items)?;
    let maker = Maker {
        item: fresh.name("item"),
        items,
    };
    let nodes = maker.block(&body, fresh)?;
    let mut inner = barriers::place(nodes);
    let local = sharing::shared(local, &mut inner);
    let mut out = Vec::new();
    for one in &local {
        out.push(Stmt::Buffer {
            name: one.name.clone(),
            ty: one.ty,
            space: Space::Local,
        });
        out.push(Stmt::Alloc {
            buffer: one.name.clone(),
            size: Index::constant(one.size),
            span: one.span,
        });
    }
    out.push(Stmt::For {
        index: maker.item,
        width: Width::W32,
        count: Index::constant(items),
        mode: LoopMode::Items,
        body: inner,
    });
    out.extend(local.into_iter().map(|one| Stmt::Free(one.name)));
    Some(out)
}

pub(crate) fn has_items(stmts: &[Stmt]) -> bool {
    stmts
        .iter()
        .any(|stmt| is_items(stmt) || stmt.blocks().into_iter().any(|block| has_items(block)))
}

/// Loops for work-items where there is one work-item.
pub(crate) fn in_order(stmts: &mut [Stmt]) {
    for stmt in stmts {
        if let Stmt::For {
            mode: mode @ LoopMode::Items,
            ..
        } = stmt
        {
            *mode = LoopMode::Seq;
        }
        stmt.blocks_mut().into_iter().for_each(|block| in_order(block));
    }
}

fn is_items(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::For {
            mode: LoopMode::Items,
            ..
        }
    )
}

/// Loops and copies beside the `items` loops whose iterations may run at once are such loops too.
fn normalise(stmts: &mut [Stmt], fresh: &mut Fresh) {
    for stmt in stmts {
        if is_items(stmt) {
            continue;
        }
        if let Some(parallel) = fills::at_once(stmt, || fresh.name("cell")) {
            *stmt = parallel;
        }
        match stmt {
            Stmt::For { mode, .. } if matches!(mode, LoopMode::Simd | LoopMode::Par) => {
                *mode = LoopMode::Items;
            }
            _ => stmt
                .blocks_mut()
                .into_iter()
                .for_each(|block| normalise(block, fresh)),
        }
    }
}

/// As many work-items as the longest loop has that says how many.
fn group_size(stmts: &[Stmt]) -> i64 {
    fn longest(stmts: &[Stmt]) -> Option<i64> {
        let sizes = stmts.iter().filter_map(|stmt| match stmt {
            Stmt::For {
                mode: LoopMode::Items,
                count,
                ..
            } => Some(count.as_constant().unwrap_or(ITEMS)),
            _ => stmt.blocks().into_iter().filter_map(|block| longest(block)).max(),
        });
        sizes.max()
    }
    match longest(stmts).unwrap_or(ITEMS) {
        many if many > MOST_ITEMS => ITEMS,
        size => size.max(1),
    }
}

struct Maker {
    /// The number of a work-item in its group.
    item: Name,
    items: i64,
}

impl Maker {
    fn block(&self, stmts: &[Stmt], fresh: &mut Fresh) -> Option<Vec<Node>> {
        stmts.iter().map(|stmt| self.stmt(stmt, fresh)).collect()
    }

    fn stmt(&self, stmt: &Stmt, fresh: &mut Fresh) -> Option<Node> {
        match stmt {
            Stmt::For {
                mode: LoopMode::Items,
                index,
                count,
                body,
                ..
            } => Some(self.items_loop(index, count, body, fresh)),
            Stmt::For { body, .. } | Stmt::While { body, .. } if has_items(body) => {
                let inner = self.block(body, fresh)?;
                Some(Node::Shared(stmt.clone(), vec![inner], own_reads(stmt)))
            }
            Stmt::If { then, otherwise, .. } if has_items(then) || has_items(otherwise) => {
                let blocks = vec![self.block(then, fresh)?, self.block(otherwise, fresh)?];
                Some(Node::Shared(stmt.clone(), blocks, own_reads(stmt)))
            }
            Stmt::At(_) => Some(Node::Piece(vec![stmt.clone()], Vec::new())),
            _ => self.beside(stmt),
        }
    }

    /// A statement without loops for work-items: all do it, or the first one.
    fn beside(&self, stmt: &Stmt) -> Option<Node> {
        let touched = Touched::of([stmt]);
        let writes = touched
            .free_cells()
            .any(|(_, access)| access == almach_imp::Access::Write);
        if !writes {
            let accesses = barriers::accesses(std::slice::from_ref(stmt), &Cells::Anyone);
            return Some(Node::Piece(vec![stmt.clone()], accesses));
        }
        let gives = touched.results().next().is_some() || binds(stmt);
        if gives {
            return None;
        }
        let first = Expr::binary(BinOp::Eq, Expr::Index(self.index()), Expr::int(0));
        let accesses = barriers::accesses(std::slice::from_ref(stmt), &Cells::First);
        let alone = Stmt::If {
            condition: first,
            then: vec![stmt.clone()],
            otherwise: Vec::new(),
        };
        Some(Node::Piece(vec![alone], accesses))
    }

    fn index(&self) -> Index {
        Index::var(self.item.clone())
    }

    /// The iterations of one work-item.
    fn items_loop(&self, index: &Name, count: &Index, body: &[Stmt], fresh: &mut Fresh) -> Node {
        let mut body = body.to_vec();
        let one_each = count.as_constant().is_some_and(|count| count <= self.items);
        let fails = barriers::fails(&body);
        let cells = match one_each || !fails {
            true => Cells::Iteration(index.clone()),
            false => Cells::Anyone,
        };
        let accesses = barriers::accesses(&body, &cells);
        if one_each {
            substitute(&mut body, index, &self.index());
            let all = count.as_constant() == Some(self.items);
            if all && !fails {
                return Node::Piece(body, accesses);
            }
            let condition = Expr::binary(BinOp::Lt, Expr::Index(self.index()), Expr::Index(count.clone()));
            let some = Stmt::If {
                condition,
                then: body,
                otherwise: Vec::new(),
            };
            return Node::Piece(vec![some], accesses);
        }
        if !fails && count.as_constant().is_none() && count_of(&body) <= FEW {
            return Node::Piece(self.in_batches(index, count, &body, fresh), accesses);
        }
        let (round, place, rounds) = self.share(count, fails, fresh);
        substitute(&mut body, index, &place);
        if count.as_constant().is_none_or(|count| count % self.items != 0) {
            body = vec![Stmt::If {
                condition: Expr::binary(BinOp::Lt, Expr::Index(place), Expr::Index(count.clone())),
                then: body,
                otherwise: Vec::new(),
            }];
        }
        Node::Piece(vec![rounds_of(round, rounds, body)], accesses)
    }

    /// The iterations of a work-item, a few at a time without a test between them, so that their reads need not wait for each other; then
    /// those that are left.
    fn in_batches(&self, index: &Name, count: &Index, body: &[Stmt], fresh: &mut Fresh) -> Vec<Stmt> {
        let [batch, each, round] = ["batch", "each", "round"].map(|stem| fresh.name(stem));
        let items = Index::constant(self.items);
        let batched = Index::constant(self.items * BATCH);
        let batches = count.div(&batched);
        let mut whole = body.to_vec();
        let place = &(&(&batched * &Index::var(batch.clone())) + &(&items * &Index::var(each.clone())))
            + &self.index();
        substitute(&mut whole, index, &place);
        let each = Stmt::For {
            index: each,
            width: Width::W32,
            count: Index::constant(BATCH),
            mode: LoopMode::Seq,
            body: whole,
        };
        let done = &batched * &batches;
        let mut rest = with_own_names(body, fresh);
        let place = &(&done + &(&items * &Index::var(round.clone()))) + &self.index();
        substitute(&mut rest, index, &place);
        let some = Stmt::If {
            condition: Expr::binary(BinOp::Lt, Expr::Index(place), Expr::Index(count.clone())),
            then: rest,
            otherwise: Vec::new(),
        };
        let left = (&(count - &done) + &Index::constant(self.items - 1)).div(&items);
        vec![
            rounds_of(batch, batches, vec![each]),
            rounds_of(round, left, vec![some]),
        ]
    }

    /// The iterations of a work-item where there are more than work-items: its loop's index, the iteration, and how many rounds all of
    /// them make. Neighbours do neighbours, so that memory is read in one go; where one may fail, each does a run of them, so that the
    /// first item that fails has the first iteration that does.
    fn share(&self, count: &Index, fails: bool, fresh: &mut Fresh) -> (Name, Index, Index) {
        let round = fresh.name("round");
        let (items, item) = (Index::constant(self.items), self.index());
        let at = Index::var(round.clone());
        let rounds = (count + &Index::constant(self.items - 1)).div(&items);
        let place = match fails {
            false => &item + &(&items * &at),
            true => &(&item * &rounds) + &at,
        };
        (round, place, rounds)
    }
}

fn rounds_of(index: Name, count: Index, body: Vec<Stmt>) -> Stmt {
    Stmt::For {
        index,
        width: Width::W64,
        count,
        mode: LoopMode::Seq,
        body,
    }
}

/// The cells that a statement's own expressions read, apart from its blocks.
fn own_reads(stmt: &Stmt) -> Vec<Access> {
    let mut found = Vec::new();
    stmt.for_each_expr(&mut |expr| found.extend(barriers::reads(expr, &Cells::Anyone)));
    found
}

/// Whether a statement binds a name for those behind it.
fn binds(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { .. } | Stmt::Var { .. } => true,
        Stmt::Atomic { step, .. } => step.bound().is_some(),
        _ => false,
    }
}
