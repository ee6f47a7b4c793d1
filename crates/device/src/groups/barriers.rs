//! Where the work-items of a group wait for each other: between two uses of one cell by different items, one of which writes.
//!
//! Between two barriers an item touches cells that no other one touches, or all only read. An access is that of an iteration's own
//! cell where its index is the iteration plus what is the same for all; two such accesses with the same index are one item's.

use super::Node;
use almach_base::Name;
use almach_imp::{Expr, Index, Stmt, Touched};
use std::collections::BTreeSet;

/// Whose the cells are that statements use.
pub(super) enum Cells {
    /// Of the item that does this iteration.
    Iteration(Name),
    /// Of the first item.
    First,
    Anyone,
}

/// A use of cells of a buffer.
#[derive(Clone, PartialEq)]
pub(super) struct Access {
    buffer: Name,
    writes: bool,
    whose: Whose,
}

#[derive(Clone, PartialEq)]
enum Whose {
    /// That of the item whose iteration it is: the index, with [`ITERATION`] in it.
    Iteration(Index),
    First,
    Anyone,
}

/// Stands for the iteration, whatever its loop calls it.
const ITERATION: &str = "·";

/// Stands for the place where a failure is noted.
const FAILURE: &str = "!";

impl Access {
    fn conflicts(&self, other: &Access) -> bool {
        let one_item = match (&self.whose, &other.whose) {
            (Whose::Iteration(a), Whose::Iteration(b)) => a == b,
            (Whose::First, Whose::First) => true,
            _ => false,
        };
        self.buffer == other.buffer && (self.writes || other.writes) && !one_item
    }
}

/// Whether statements may end the call.
pub(super) fn fails(stmts: &[Stmt]) -> bool {
    stmts
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Check { .. }) || stmt.blocks().into_iter().any(|block| fails(block)))
}

/// The cells that statements use.
pub(super) fn accesses(stmts: &[Stmt], cells: &Cells) -> Vec<Access> {
    let own = Touched::of(stmts).declared;
    let mut found = Vec::new();
    collect(stmts, cells, &mut found);
    found.retain(|access| !own.contains(&access.buffer));
    if fails(stmts) {
        found.push(Access {
            buffer: Name::from(FAILURE),
            writes: true,
            whose: Whose::Anyone,
        });
    }
    found
}

fn collect(stmts: &[Stmt], cells: &Cells, found: &mut Vec<Access>) {
    for stmt in stmts {
        stmt.for_each_expr(&mut |expr| found.extend(reads(expr, cells)));
        match stmt {
            Stmt::Store { buffer, index, .. } => found.push(access(buffer, index, true, cells)),
            Stmt::Atomic { buffer, .. } => found.push(anywhere(buffer, true)),
            Stmt::Copy { to, from, .. } => {
                found.push(anywhere(to, true));
                found.push(anywhere(from, false));
            }
            Stmt::Foreign { arguments, .. } => {
                for argument in arguments {
                    if let almach_imp::Argument::Buffer(buffer, _) = argument {
                        found.push(anywhere(buffer, true));
                    }
                }
            }
            _ => {}
        }
        stmt.blocks()
            .into_iter()
            .for_each(|block| collect(block, cells, found));
    }
}

/// The cells that an expression reads.
pub(super) fn reads(expr: &Expr, cells: &Cells) -> Vec<Access> {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => Vec::new(),
        Expr::Load(buffer, index) => vec![access(buffer, index, false, cells)],
        Expr::Unary(_, a) => reads(a, cells),
        Expr::Binary(_, a, b) => [a, b].into_iter().flat_map(|part| reads(part, cells)).collect(),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => [a, b, c]
            .into_iter()
            .flat_map(|part| reads(part, cells))
            .collect(),
    }
}

fn anywhere(buffer: &Name, writes: bool) -> Access {
    Access {
        buffer: buffer.clone(),
        writes,
        whose: Whose::Anyone,
    }
}

fn access(buffer: &Name, index: &Index, writes: bool, cells: &Cells) -> Access {
    let whose = match cells {
        Cells::First => Whose::First,
        Cells::Anyone => Whose::Anyone,
        Cells::Iteration(iteration) => {
            let rest = index - &Index::var(iteration.clone());
            match rest.mentions(iteration) {
                true => Whose::Anyone,
                false => Whose::Iteration(&rest + &Index::var(Name::from(ITERATION))),
            }
        }
    };
    Access {
        buffer: buffer.clone(),
        writes,
        whose,
    }
}

/// The statements of a group, with barriers.
pub(super) fn place(nodes: Vec<Node>) -> Vec<Stmt> {
    let mut placer = Placer::default();
    placer.block(&nodes)
}

/// What was used since the last barrier.
#[derive(Clone, Default)]
struct Placer {
    pending: Vec<Access>,
}

impl Placer {
    fn block(&mut self, nodes: &[Node]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for node in nodes {
            match node {
                Node::Piece(stmts, accesses) => {
                    self.meet(accesses, &mut out);
                    out.extend(stmts.iter().cloned());
                }
                Node::Shared(stmt, blocks, accesses) => {
                    self.meet(accesses, &mut out);
                    out.push(self.shared(stmt, blocks, accesses));
                }
            }
        }
        out
    }

    /// A barrier where what comes may not be used with what was.
    fn meet(&mut self, accesses: &[Access], out: &mut Vec<Stmt>) {
        let apart = |access: &Access| self.pending.iter().any(|before| before.conflicts(access));
        // Behind what may fail nobody goes on before all know whether it did.
        let failed = self
            .pending
            .iter()
            .any(|before| before.buffer.as_str() == FAILURE);
        if failed && !accesses.is_empty() || accesses.iter().any(apart) {
            out.push(Stmt::Barrier);
            self.pending.clear();
        }
        self.pend(accesses);
    }

    fn pend(&mut self, accesses: &[Access]) {
        for access in accesses {
            if !self.pending.contains(access) {
                self.pending.push(access.clone());
            }
        }
    }

    /// `own`: what its own expressions read, which a loop does again after every round.
    fn shared(&mut self, stmt: &Stmt, blocks: &[Vec<Node>], own: &[Access]) -> Stmt {
        let mut stmt = stmt.clone();
        let repeats = !matches!(stmt, Stmt::If { .. });
        let bound = bound(&stmt);
        let before = self.clone();
        let mut after = before.clone();
        for (inner, block) in stmt.blocks_mut().into_iter().zip(blocks) {
            let mut within = before.clone();
            if repeats {
                // What the round before leaves is pending when the next one starts.
                let mut round = before.clone();
                let mut again = round.block(block);
                round.meet(own, &mut again);
                within.pend(&round.widened(&bound));
            }
            *inner = within.block(block);
            if repeats {
                within.meet(own, inner);
            }
            after.pend(&within.widened(&bound));
        }
        *self = after;
        stmt
    }

    /// What is pending, as seen from outside of the scope of some names: another round has other values for them.
    fn widened(&self, bound: &BTreeSet<Name>) -> Vec<Access> {
        let pending = self.pending.iter().cloned();
        pending
            .map(|access| match &access.whose {
                Whose::Iteration(index) if index.free_vars().any(|name| bound.contains(name)) => Access {
                    whose: Whose::Anyone,
                    ..access
                },
                _ => access,
            })
            .collect()
    }
}

fn bound(stmt: &Stmt) -> BTreeSet<Name> {
    Touched::of([stmt]).bound.into_keys().collect()
}
