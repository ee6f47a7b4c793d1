//! What a plan costs: blocks it makes and arrays it copies, as places in the text. A copy is from one block to another; a view that
//! is computed into a block is none.

use crate::copies::{Role, copy_points};
use crate::index::Index;
use crate::ir::{Annotated, Given, Home, Item, Memory, Storage, key};
use crate::leaves::Leaf;
use almach_base::Span;
use almach_core::{Atom, Exp, Size, Stmt, Var};
use almach_lmad::Lmad;
use almach_prim::Prim;

/// Counts of one program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    pub allocations: usize,
    pub copies: usize,
}

/// A place in the text that copies an array.
#[derive(Clone, PartialEq, Debug)]
pub struct Copied {
    /// What is copied.
    pub source: Var,
    /// What the copying statement makes, and where it is; a function's result has none.
    pub made: Option<Var>,
    pub span: Span,
    pub by: By,
}

/// Who copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// An update, of the old array.
    Update,
    /// A statement that puts arrays together.
    Statement,
    /// The end of a branch.
    Branch,
    /// A loop, of what it starts with.
    LoopStart,
    /// A loop, of what an iteration gives.
    LoopNext,
    /// The end of a `map`'s function, of a row.
    Row,
    /// The end of a function.
    Result,
}

pub fn cost(program: &Annotated) -> Cost {
    Cost {
        allocations: program.memory.blocks_made(),
        copies: copies(program).len(),
    }
}

/// All copies that are left.
pub fn copies(program: &Annotated) -> Vec<Copied> {
    let index = Index::new(&program.core);
    let memory = &program.memory;
    let mut copies = Vec::new();
    for info in &index.stmts {
        moved(&index, memory, info.stmt, &mut copies);
        handed_on(&index, memory, info.stmt, &mut copies);
    }
    for (id, function) in program.core.functions.iter().enumerate() {
        let results = results(&index, memory, id, &function.body.values);
        copies.extend(results.into_iter().map(|source| Copied {
            source,
            made: None,
            span: function.span,
            by: By::Result,
        }));
    }
    copies
}

fn copied(source: &Atom, stmt: &Stmt, by: By) -> Option<Copied> {
    match source {
        Atom::Var(source) => Some(Copied {
            source: source.clone(),
            made: key(stmt).cloned(),
            span: stmt.span,
            by,
        }),
        Atom::Const(_) => None,
    }
}

fn moved(index: &Index<'_>, memory: &Memory, stmt: &Stmt, out: &mut Vec<Copied>) {
    for point in copy_points(stmt, memory, &index.env) {
        let home = memory.of(&point.source).get(point.leaf).and_then(Storage::home);
        if home.is_some_and(|home| !index.same_home(home, &point.to)) {
            let by = match point.role {
                Role::Old => By::Update,
                Role::Part => By::Statement,
            };
            out.extend(copied(&point.source, stmt, by));
        }
    }
}

/// Copies at the ends of bodies.
fn handed_on(index: &Index<'_>, memory: &Memory, stmt: &Stmt, out: &mut Vec<Copied>) {
    match &stmt.exp {
        Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_) => {
            let ends = ends(&stmt.exp);
            let head = key(stmt).and_then(|key| memory.heads.get(key));
            let items = head.map_or(&[][..], |head| head.items.as_slice());
            for item in items {
                copied_ends(memory, stmt, item, &ends, out);
            }
            copied_to_one_block(index, memory, stmt, items, out);
        }
        Exp::Op(op) if op.prim == Prim::Map => {
            let counter = key(stmt)
                .and_then(|key| memory.heads.get(key))
                .and_then(|head| head.index.clone());
            let Some(counter) = counter else {
                return;
            };
            let function = op.functions.first();
            let values = function.map_or(&[][..], |function| function.body.values.as_slice());
            for (pattern, value) in stmt.pattern.values.iter().zip(values) {
                for _ in 0..rows(index, memory, &pattern.var, value, &counter) {
                    out.extend(copied(value, stmt, By::Row));
                }
            }
        }
        _ => {}
    }
}

/// What the ends of a statement's bodies give; of a loop, what it starts with and what an iteration gives.
fn ends(exp: &Exp) -> Vec<Vec<&Atom>> {
    match exp {
        Exp::If { then, otherwise, .. } => {
            vec![then.values.iter().collect(), otherwise.values.iter().collect()]
        }
        Exp::Case { arms, default, .. } => {
            let bodies = arms.iter().map(|arm| &arm.body).chain(default);
            bodies.map(|body| body.values.iter().collect()).collect()
        }
        Exp::Loop(looped) => vec![
            looped.params.iter().map(|(_, initial)| initial).collect(),
            looped.body.values.iter().collect(),
        ],
        _ => Vec::new(),
    }
}

/// The ends that copy an array into a block that is made for it.
fn copied_ends(memory: &Memory, stmt: &Stmt, item: &Item, ends: &[Vec<&Atom>], out: &mut Vec<Copied>) {
    let leaves = stmt
        .pattern
        .values
        .iter()
        .flat_map(|value| memory.storage.get(&value.var))
        .flatten();
    let leaf = leaves
        .into_iter()
        .position(|storage| storage.home().is_some_and(|home| home.block == item.var));
    let Some(leaf) = leaf else {
        return;
    };
    for (end, (given, values)) in item.given.iter().zip(ends).enumerate() {
        let mut leaves = values
            .iter()
            .flat_map(|value| memory.of(value).iter().map(move |storage| (*value, storage)));
        let by = match (&stmt.exp, end) {
            (Exp::Loop(_), 0) => By::LoopStart,
            (Exp::Loop(_), _) => By::LoopNext,
            _ => By::Branch,
        };
        if let Some((value, from)) = leaves.nth(leaf)
            && matches!(given, Given::Alloc(_))
            && from.home().is_some()
        {
            out.extend(copied(value, stmt, by));
        }
    }
}

/// The arrays that a loop copies to where it carries them, of those that it has one block for.
fn copied_to_one_block(
    index: &Index<'_>,
    memory: &Memory,
    stmt: &Stmt,
    items: &[Item],
    out: &mut Vec<Copied>,
) {
    let Exp::Loop(looped) = &stmt.exp else {
        return;
    };
    let is_handed_on = |block: &Var| items.iter().any(|item| item.inside.as_ref() == Some(block));
    for ((param, initial), next) in looped.params.iter().zip(&looped.body.values) {
        let carried = memory.storage.get(&param.var).into_iter().flatten();
        for (leaf, carried) in carried.enumerate() {
            let Some(carried) = carried.home().filter(|home| !is_handed_on(&home.block)) else {
                continue;
            };
            for (value, by) in [(initial, By::LoopStart), (next, By::LoopNext)] {
                let from = memory.of(value).get(leaf).and_then(Storage::home);
                if from.is_some_and(|from| !index.same_home(from, carried)) {
                    out.extend(copied(value, stmt, by));
                }
            }
        }
    }
}

fn rows(index: &Index<'_>, memory: &Memory, pattern: &Var, value: &Atom, counter: &Var) -> usize {
    let at = Size::var(counter.clone());
    let whole = index.leaves(pattern);
    let storage = memory.storage.get(pattern).map_or(&[][..], Vec::as_slice);
    let rows = whole
        .iter()
        .zip(storage)
        .filter(|(leaf, _)| matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > 1));
    rows.zip(memory.of(value))
        .filter(|((_, to), from)| {
            let to = to.home().and_then(|home| {
                Some(Home {
                    block: home.block.clone(),
                    lmad: home.lmad.index(&at)?,
                })
            });
            match (to, from.home()) {
                (Some(to), Some(from)) => !index.same_home(&to, from),
                _ => false,
            }
        })
        .count()
}

fn results(index: &Index<'_>, memory: &Memory, function: usize, values: &[Atom]) -> Vec<Var> {
    let mut items = memory
        .functions
        .get(function)
        .map_or(&[][..], |function| &function.results)
        .iter();
    let mut copies = Vec::new();
    for value in values {
        let Atom::Var(var) = value else {
            continue;
        };
        for (leaf, storage) in index.leaves(var).iter().zip(memory.of(value)) {
            let parts: Vec<&Item> = items.by_ref().take(leaf.parts()).collect();
            let (Leaf::Cells { .. }, [item]) = (leaf, parts.as_slice()) else {
                continue;
            };
            let there = storage.home().is_none_or(|home| {
                let whole = Lmad::row_major(Size::zero(), &leaf.shape());
                let given = matches!(item.given.as_slice(), [Given::Block(block)] if *block == home.block);
                given && crate::introduce::same_cells(&index.normalised(&home.lmad), &whole)
            });
            copies.extend((!there).then(|| var.clone()));
        }
    }
    copies
}
