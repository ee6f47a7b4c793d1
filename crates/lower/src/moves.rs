//! Statements that do nothing but move cells from one buffer to another.

use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Stmt};
use almach_nat::Atom;

/// Where a copy, or a nest of loops around one, moves cells: from and to which first cell, and how far each loop goes.
pub(crate) struct Moves<'a> {
    pub(crate) to: &'a Name,
    pub(crate) to_first: Index,
    pub(crate) from: &'a Name,
    pub(crate) from_first: Index,
    pub(crate) turns: Vec<Turn>,
}

/// A loop: how far one iteration goes in both buffers.
pub(crate) struct Turn {
    pub(crate) length: Index,
    pub(crate) to: Index,
    pub(crate) from: Index,
}

pub(crate) fn moves(stmt: &Stmt) -> Option<Moves<'_>> {
    let mut loops: Vec<(&Name, &Index)> = Vec::new();
    let mut inner = stmt;
    let mut read = None;
    while let Stmt::For {
        index,
        count,
        mode: LoopMode::Seq | LoopMode::Par | LoopMode::Simd,
        body,
        ..
    } = inner
    {
        loops.push((index, count));
        let mut body = body.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
        (inner, read) = match (body.next()?, body.next(), body.next()) {
            (one, None, _) => (one, None),
            (Stmt::Let { name, value, .. }, Some(store), None) => (store, Some((name, value))),
            _ => return None,
        };
        if read.is_some() {
            break;
        }
    }
    let (to, to_first, from, from_first, whole) = match (inner, read) {
        (Stmt::Store { buffer, index, value }, read) => {
            let (from, cell) = match (value, read) {
                (Expr::Load(from, cell), None) => (from, cell),
                (Expr::Var(stored), Some((name, Expr::Load(from, cell)))) if stored == name => (from, cell),
                _ => return None,
            };
            (buffer, index, from, cell, None)
        }
        (
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            },
            None,
        ) => (to, to_index, from, from_index, Some(count)),
        _ => return None,
    };
    let mut found = Moves {
        to,
        to_first: to_first.clone(),
        from,
        from_first: from_first.clone(),
        turns: Vec::new(),
    };
    for (index, count) in &loops {
        let atom = Atom::Var((*index).clone());
        let (to, to_rest) = found.to_first.linear_in(&atom)?;
        let (from, from_rest) = found
            .from_first
            .linear_in(&atom)
            .unwrap_or_else(|| (Index::zero(), found.from_first.clone()));
        (found.to_first, found.from_first) = (to_rest, from_rest);
        found.turns.push(Turn {
            length: (*count).clone(),
            to,
            from,
        });
    }
    found.turns.extend(whole.map(|count| Turn {
        length: count.clone(),
        to: Index::one(),
        from: Index::one(),
    }));
    let is_outside = |index: &Index| loops.iter().all(|(name, _)| !index.mentions(name));
    let all_outside = found
        .turns
        .iter()
        .flat_map(|turn| [&turn.length, &turn.to, &turn.from])
        .chain([&found.to_first, &found.from_first])
        .all(is_outside);
    all_outside.then_some(found)
}

impl Moves<'_> {
    /// Whether every cell is moved to where it is.
    pub(crate) fn stay(&self) -> bool {
        self.to == self.from
            && self.to_first == self.from_first
            && self.turns.iter().all(|turn| turn.to == turn.from)
    }

    /// The first cell of the copy, where so many cells are moved, from the first one on, and stay in order.
    pub(crate) fn in_order(self, size: &Index) -> Option<Index> {
        let mut turns = self.turns;
        let mut cells = Index::one();
        while !turns.is_empty() {
            let at = turns
                .iter()
                .position(|turn| turn.from == cells && turn.to == cells)?;
            cells = &cells * &turns.remove(at).length;
        }
        (self.from_first.is_zero() && cells == *size).then_some(self.to_first)
    }
}
