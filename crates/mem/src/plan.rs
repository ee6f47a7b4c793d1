//! What a plan costs: blocks it makes and arrays it copies, as places in the text. A copy is from one block to another; a view that
//! is computed into a block is none.

use crate::copies::copy_points;
use crate::index::Index;
use crate::ir::{Annotated, Given, Home, Item, Memory, Storage, key};
use crate::leaves::Leaf;
use almach_core::{Atom, Exp, Size, Stmt, Var};
use almach_lmad::Lmad;
use almach_prim::Prim;

/// Counts of one program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    pub allocations: usize,
    pub copies: usize,
}

pub fn cost(program: &Annotated) -> Cost {
    let index = Index::new(&program.core);
    let memory = &program.memory;
    let mut copies = 0;
    for info in &index.stmts {
        copies += moved(&index, memory, info.stmt);
        copies += handed_on(&index, memory, info.stmt);
    }
    for (id, function) in program.core.functions.iter().enumerate() {
        copies += results(&index, memory, id, &function.body.values);
    }
    Cost {
        allocations: memory.blocks_made(),
        copies,
    }
}

fn moved(index: &Index<'_>, memory: &Memory, stmt: &Stmt) -> usize {
    let points = copy_points(stmt, memory, &index.env);
    let away = points.iter().filter(|point| {
        let home = memory.of(&point.source).get(point.leaf).and_then(Storage::home);
        home.is_some_and(|home| !index.same_home(home, &point.to))
    });
    away.count()
}

/// Copies at the ends of bodies.
fn handed_on(index: &Index<'_>, memory: &Memory, stmt: &Stmt) -> usize {
    match &stmt.exp {
        Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_) => {
            let ends = ends(&stmt.exp);
            let head = key(stmt).and_then(|key| memory.heads.get(key));
            let items = head.into_iter().flat_map(|head| &head.items);
            items.map(|item| copied_ends(memory, stmt, item, &ends)).sum()
        }
        Exp::Op(op) if op.prim == Prim::Map => {
            let counter = key(stmt)
                .and_then(|key| memory.heads.get(key))
                .and_then(|head| head.index.clone());
            let Some(counter) = counter else {
                return 0;
            };
            let function = op.functions.first();
            let values = function.map_or(&[][..], |function| function.body.values.as_slice());
            let pairs = stmt.pattern.values.iter().zip(values);
            pairs
                .map(|(pattern, value)| rows(index, memory, &pattern.var, value, &counter))
                .sum()
        }
        _ => 0,
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

/// How many ends copy an array into a block that is made for it.
fn copied_ends(memory: &Memory, stmt: &Stmt, item: &Item, ends: &[Vec<&Atom>]) -> usize {
    let leaves = stmt
        .pattern
        .values
        .iter()
        .flat_map(|value| memory.storage.get(&value.var))
        .flatten();
    let leaf = leaves
        .into_iter()
        .position(|storage| storage.home().is_some_and(|home| home.block == item.var));
    let copied = item.given.iter().zip(ends).filter(|(given, values)| {
        let mut leaves = values.iter().flat_map(|value| memory.of(value));
        let from = leaf.and_then(|leaf| leaves.nth(leaf));
        matches!(given, Given::Alloc(_)) && from.is_some_and(|from| from.home().is_some())
    });
    copied.count()
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

fn results(index: &Index<'_>, memory: &Memory, function: usize, values: &[Atom]) -> usize {
    let mut items = memory
        .functions
        .get(function)
        .map_or(&[][..], |function| &function.results)
        .iter();
    let mut copies = 0;
    for value in values {
        let leaves = match value {
            Atom::Var(var) => index.leaves(var),
            Atom::Const(_) => Vec::new(),
        };
        for (leaf, storage) in leaves.iter().zip(memory.of(value)) {
            let (Leaf::Cells { .. }, Some(item)) =
                (leaf, (*leaf != Leaf::Held).then(|| items.next()).flatten())
            else {
                continue;
            };
            let there = storage.home().is_none_or(|home| {
                let whole = Lmad::row_major(Size::zero(), &leaf.shape());
                let given = matches!(item.given.as_slice(), [Given::Block(block)] if *block == home.block);
                given && crate::introduce::same_cells(&index.normalised(&home.lmad), &whole)
            });
            copies += usize::from(!there);
        }
    }
    copies
}
