//! What a statement itself writes, and when: of what its bodies hand on, only what is copied at their ends.

use crate::copies::{CopyPoint, Role, copy_points};
use crate::derive::slice_of;
use crate::draft::Draft;
use crate::index::{BodyId, Moment, StmtInfo};
use crate::ir::{Home, Storage, key};
use crate::leaves::Leaf;
use almach_core::{Atom, Exp, Op, Size, SlicePart, Var};
use almach_lmad::Lmad;
use almach_prim::Prim;

/// Cells that are written between two moments.
pub(super) struct Write {
    /// What is there afterwards.
    pub(super) made: Var,
    pub(super) block: Var,
    /// None: any cell of the block.
    pub(super) lmad: Option<Lmad<Var>>,
    /// All cells of what is there afterwards, where these are some of them.
    pub(super) among: Option<Lmad<Var>>,
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) stmt: usize,
    pub(super) body: BodyId,
    pub(super) how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    AtOnce,
    /// Element by element, by the iterations of a `map`, each at its end.
    ByIterations,
}

pub(super) fn writes(draft: &Draft<'_, '_>, at: usize, info: &StmtInfo<'_>) -> Vec<Write> {
    let mut statement = Statement {
        draft,
        at,
        info,
        out: Vec::new(),
    };
    statement.exp();
    statement.out
}

struct Statement<'a, 'p> {
    draft: &'a Draft<'a, 'p>,
    at: usize,
    info: &'a StmtInfo<'p>,
    out: Vec<Write>,
}

impl Statement<'_, '_> {
    fn exp(&mut self) {
        if self.draft.is_derived(self.at) {
            return;
        }
        match &self.info.stmt.exp {
            Exp::If { .. } | Exp::Case { .. } => self.branches(),
            Exp::Loop(looped) => {
                let initial: Vec<&Atom> = looped.params.iter().map(|(_, initial)| initial).collect();
                let params: Vec<Var> = looped.params.iter().map(|(param, _)| param.var.clone()).collect();
                self.arrivals(&params, &initial, self.info.start, self.info.body);
                if let Some((body, end)) = self.bodies().pop() {
                    let next: Vec<&Atom> = looped.body.values.iter().collect();
                    self.arrivals(&params, &next, end, body);
                }
            }
            Exp::Op(op) if op.prim == Prim::Map => self.map(op),
            Exp::Op(op) if is_fold(op) => self.fold(op),
            Exp::Op(op) => self.operation(op),
            Exp::Update { parts, .. } => self.update(parts),
            Exp::Array(..) => self.literal(),
            _ => self.whole(How::AtOnce),
        }
    }

    /// The bodies of the statement, and when they end.
    fn bodies(&self) -> Vec<(BodyId, Moment)> {
        let index = self.draft.index();
        let bodies = index.bodies_of(self.info).iter();
        bodies
            .filter_map(|body| Some((*body, index.bodies.get(body.0)?.end)))
            .collect()
    }

    fn write(&mut self, made: &Var, home: &Home, how: How) {
        let storage = self.draft.storage.get(made).into_iter().flatten();
        let mut homes = storage.filter_map(Storage::home);
        let whole = homes.find(|whole| whole.block == home.block);
        self.out.push(Write {
            made: made.clone(),
            block: home.block.clone(),
            lmad: Some(home.lmad.clone()),
            among: whole.map(|whole| whole.lmad.clone()),
            start: self.info.start,
            end: self.info.end,
            stmt: self.at,
            body: self.info.body,
            how,
        });
    }

    /// What a statement makes for itself is in no other's memory.
    fn is_new(&self, block: &Var) -> bool {
        let head = key(self.info.stmt).and_then(|key| self.draft.heads.get(key));
        let mut items = head.into_iter().flat_map(|head| &head.items);
        items.any(|item| item.var == *block || item.inside.as_ref() == Some(block))
    }

    fn homes(&self, var: &Var) -> Vec<(Leaf, Home)> {
        let storage = self.draft.storage.get(var).map_or(&[][..], Vec::as_slice);
        let leaves = self.draft.index().leaves(var);
        let pairs = leaves.into_iter().zip(storage);
        pairs
            .filter_map(|(leaf, storage)| Some((leaf, storage.home()?.clone())))
            .filter(|(_, home)| !self.is_new(&home.block))
            .collect()
    }

    fn whole(&mut self, how: How) {
        for value in &self.info.stmt.pattern.values {
            for (_, home) in self.homes(&value.var) {
                self.write(&value.var, &home, how);
            }
        }
    }

    fn branches(&mut self) {
        let made: Vec<Var> = self
            .info
            .stmt
            .pattern
            .values
            .iter()
            .map(|value| value.var.clone())
            .collect();
        for (body, end) in self.bodies() {
            if let Some(info) = self.draft.index().bodies.get(body.0) {
                let values: Vec<&Atom> = info.body.values.iter().collect();
                self.arrivals(&made, &values, end, body);
            }
        }
    }

    /// Arrays that are copied to where their names say, at a moment.
    fn arrivals(&mut self, made: &[Var], values: &[&Atom], at: Moment, body: BodyId) {
        for (made, value) in made.iter().zip(values) {
            let storage = self.draft.storage.get(made).into_iter().flatten();
            for (leaf, storage) in storage.enumerate() {
                let Some(home) = storage.home().filter(|home| !self.is_new(&home.block)) else {
                    continue;
                };
                let from = self.draft.of(value).get(leaf).and_then(Storage::home);
                if !from.is_some_and(|from| self.draft.index().same_home(from, home)) {
                    self.out.push(Write {
                        made: made.clone(),
                        block: home.block.clone(),
                        lmad: Some(home.lmad.clone()),
                        among: None,
                        start: at.saturating_sub(1),
                        end: at,
                        stmt: self.at,
                        body,
                        how: How::AtOnce,
                    });
                }
            }
        }
    }

    /// Scalars are written at the end of each iteration; rows where they are not built in place.
    fn map(&mut self, op: &Op) {
        let head = key(self.info.stmt).and_then(|key| self.draft.heads.get(key));
        let counter = head.and_then(|head| head.index.clone());
        let bodies = self.bodies();
        let (Some(counter), Some((body, end)), Some(function)) =
            (counter, bodies.first(), op.functions.first())
        else {
            return self.whole(How::AtOnce);
        };
        let iteration = Size::var(counter);
        for (value, given) in self.info.stmt.pattern.values.iter().zip(&function.body.values) {
            let mut row = 0;
            for (leaf, home) in self.homes(&value.var) {
                if !matches!(&leaf, Leaf::Cells { dims, .. } if dims.len() > 1) {
                    self.write(&value.var, &home, How::ByIterations);
                    continue;
                }
                let from = self.draft.of(given).get(row).and_then(Storage::home);
                row += 1;
                let to = home.lmad.index(&iteration).map(|lmad| Home {
                    block: home.block.clone(),
                    lmad,
                });
                let same = |(from, to): (&Home, &Home)| self.draft.index().same_home(from, to);
                if !from.zip(to.as_ref()).is_some_and(same) {
                    self.out.push(Write {
                        made: value.var.clone(),
                        block: home.block.clone(),
                        lmad: to.map(|to| to.lmad),
                        among: None,
                        start: end.saturating_sub(1),
                        end: *end,
                        stmt: self.at,
                        body: *body,
                        how: How::AtOnce,
                    });
                }
            }
        }
    }

    /// The state arrives where it is kept, before the first iteration and after each, and at the end where the result is.
    fn fold(&mut self, op: &Op) {
        let bodies = self.bodies();
        let (Some(function), Some((body, end))) = (op.functions.first(), bodies.first()) else {
            return self.whole(How::AtOnce);
        };
        let (Some(state), Some(initial), Some(next)) = (
            function.params.first(),
            op.args.first(),
            function.body.values.first(),
        ) else {
            return self.whole(How::AtOnce);
        };
        let kept = std::slice::from_ref(&state.var);
        self.arrivals(kept, &[initial], self.info.start, self.info.body);
        self.arrivals(kept, &[next], *end, *body);
        let made: Vec<Var> = self
            .info
            .stmt
            .pattern
            .values
            .iter()
            .map(|value| value.var.clone())
            .collect();
        let last = Atom::Var(state.var.clone());
        self.arrivals(&made, &[&last], self.info.end, self.info.body);
    }

    fn points(&self) -> Vec<CopyPoint> {
        copy_points(self.info.stmt, self.draft, &self.draft.index().env)
    }

    fn is_there(&self, point: &CopyPoint) -> bool {
        let home = self.draft.of(&point.source).get(point.leaf);
        let home = home.and_then(Storage::home);
        home.is_some_and(|home| self.draft.index().same_home(home, &point.to))
    }

    fn copied(&mut self, points: &[CopyPoint]) {
        for point in points {
            if let Some(value) = self.info.stmt.pattern.values.first()
                && !self.is_there(point)
            {
                self.write(&value.var, &point.to, How::AtOnce);
            }
        }
    }

    fn operation(&mut self, op: &Op) {
        let parts = match op.prim {
            Prim::Concat => 2,
            Prim::Materialise | Prim::Reverse | Prim::Transpose | Prim::Join | Prim::Split => 1,
            _ => return self.whole(How::AtOnce),
        };
        let points = self.points();
        let values = self.info.stmt.pattern.values.iter();
        let leaves: usize = values.map(|value| self.homes(&value.var).len()).sum();
        match points.len() == parts * leaves {
            true => self.copied(&points),
            false => self.whole(How::AtOnce),
        }
    }

    /// The old array, where it is copied, and the new part.
    fn update(&mut self, parts: &[SlicePart]) {
        let points = self.points();
        let fixed = parts
            .iter()
            .filter(|part| matches!(part, SlicePart::At(_)))
            .count();
        let [value] = self.info.stmt.pattern.values.as_slice() else {
            return self.whole(How::AtOnce);
        };
        let homes = self.homes(&value.var);
        let old = points.iter().filter(|point| point.role == Role::Old).count();
        if old != homes.len() {
            return self.whole(How::AtOnce);
        }
        for (leaf, home) in homes {
            if matches!(&leaf, Leaf::Cells { dims, .. } if dims.len() <= fixed) {
                let lmad = slice_of(&home.lmad, parts, &self.draft.index().env);
                let cell = lmad.map(|lmad| Home {
                    block: home.block.clone(),
                    lmad,
                });
                self.write(&value.var, &cell.unwrap_or(home), How::AtOnce);
            }
        }
        self.copied(&points);
    }

    fn literal(&mut self) {
        let [value] = self.info.stmt.pattern.values.as_slice() else {
            return;
        };
        for (leaf, home) in self.homes(&value.var) {
            if matches!(&leaf, Leaf::Cells { dims, .. } if dims.len() == 1) {
                self.write(&value.var, &home, How::AtOnce);
            }
        }
        let points = self.points();
        self.copied(&points);
    }
}

/// Whether an operation keeps a state, and gives the last.
pub(super) fn is_fold(op: &Op) -> bool {
    matches!(op.prim, Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq)
}
