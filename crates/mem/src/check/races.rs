//! MEM-11: what one iteration of a parallel operation writes is provably disjoint from what another one reads or writes.
//!
//! This looks at a whole plan, once it is final; the other rules look at one statement after another, after every pass. An iteration
//! writes what statements inside it make in blocks from outside, and its own element of the result. It reads its own elements of the
//! operands, and any part of what is used inside it. What has no descriptor counts as touching its whole block. Blocks that
//! statements hand on are told apart by name here: that two names are not one block while both are used is the passes' proof.

use super::{Broken, Checked, Rule};
use crate::draft::Draft;
use crate::index::{BodyInfo, BodyKind, Index, StmtInfo, count};
use crate::ir::{Annotated, Home, Memory, Storage, key};
use almach_core::{Atom, Exp, LoopForm, Op, Size, Stmt, Var};
use almach_lmad::{Lmad, Range, iterations_disjoint};
use almach_prim::{Level, Prim};
use std::collections::{BTreeSet, HashMap};

/// Whether no two iterations of a parallel operation meet.
pub fn races(program: &Annotated) -> Checked<()> {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let draft = Draft::new(&index, program.memory.clone());
    for info in &index.stmts {
        let Some((op, counter)) = parallel(info.stmt, &draft) else {
            continue;
        };
        let bodies = index.bodies_of(info).iter();
        let mut bodies = bodies.filter_map(|body| index.bodies.get(body.0));
        let body = bodies.find(|body| body.kind == BodyKind::Lambda);
        let (Some(body), Some(count)) = (body, count(op, &index.env)) else {
            continue;
        };
        let operation = Operation {
            index: &index,
            memory: &draft,
            op,
            info,
            body,
            counter,
            count,
        };
        operation.check()?;
    }
    Ok(())
}

fn parallel<'a>(stmt: &'a Stmt, memory: &Memory) -> Option<(&'a Op, Var)> {
    let Exp::Op(op) = &stmt.exp else {
        return None;
    };
    let counter = key(stmt).and_then(|key| memory.heads.get(key))?.index.clone()?;
    (op.prim == Prim::Map && op.annotation.level != Some(Level::Seq)).then_some((op, counter))
}

/// Cells that an iteration touches.
struct Access {
    var: Var,
    block: Var,
    /// None: any cell of the block.
    lmad: Option<Lmad<Var>>,
}

struct Operation<'a, 'p> {
    index: &'a Index<'p>,
    memory: &'a Draft<'a, 'p>,
    op: &'a Op,
    info: &'a StmtInfo<'p>,
    body: &'a BodyInfo<'p>,
    counter: Var,
    count: Size,
}

impl Operation<'_, '_> {
    fn check(&self) -> Checked<()> {
        let writes = self.writes();
        let written: BTreeSet<&Var> = writes.iter().map(|access| &access.block).collect();
        let reads = self.reads(&written);
        for write in &writes {
            let others = writes.iter().chain(&reads);
            for other in others.filter(|other| other.block == write.block) {
                if !self.apart(write, other) {
                    let message = format!(
                        "an iteration may write `{}` in `{}` where another one uses `{}`",
                        write.var, write.block, other.var
                    );
                    return Err(Broken {
                        rule: Rule::Iterations,
                        message,
                        span: self.info.stmt.span,
                    });
                }
            }
        }
        Ok(())
    }

    fn is_inside(&self, moment: usize) -> bool {
        moment > self.info.start && moment <= self.body.end
    }

    /// Blocks that iterations share.
    fn is_shared(&self, block: &Var) -> bool {
        let bound = self.memory.bound(block);
        bound.is_none_or(|moment| !self.is_inside(moment))
    }

    fn element(&self, var: &Var, home: &Home) -> Access {
        Access {
            var: var.clone(),
            block: home.block.clone(),
            lmad: home.lmad.index(&Size::var(self.counter.clone())),
        }
    }

    fn writes(&self) -> Vec<Access> {
        let mut out = Vec::new();
        for value in &self.info.stmt.pattern.values {
            let homes = self.memory.storage.get(&value.var).into_iter().flatten();
            let homes = homes.filter_map(Storage::home);
            out.extend(homes.map(|home| self.element(&value.var, home)));
        }
        let inside = self.index.stmts_between(self.info.start, self.body.end).iter();
        for info in inside.filter(|info| self.makes(info)) {
            for value in &info.stmt.pattern.values {
                let homes = self.memory.storage.get(&value.var).into_iter().flatten();
                for home in homes.filter_map(Storage::home) {
                    if self.is_shared(&home.block) {
                        out.push(Access {
                            var: value.var.clone(),
                            block: home.block.clone(),
                            lmad: Some(home.lmad.clone()),
                        });
                    }
                }
            }
        }
        out
    }

    /// Whether a statement writes cells itself: not what is derived, nor what its bodies hand on.
    fn makes(&self, info: &StmtInfo<'_>) -> bool {
        let control = matches!(&info.stmt.exp, Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_));
        let number = key(info.stmt).and_then(|key| self.index.defs.get(key));
        !control && !number.is_some_and(|stmt| self.memory.is_derived(*stmt))
    }

    fn reads(&self, written: &BTreeSet<&Var>) -> Vec<Access> {
        let mut out = Vec::new();
        for argument in &self.op.args {
            for home in self.memory.of(argument).iter().filter_map(Storage::home) {
                if let Atom::Var(var) = argument
                    && written.contains(&home.block)
                {
                    out.push(self.element(var, home));
                }
            }
        }
        for block in written {
            for var in self.memory.readers([*block]) {
                let mut uses = self.index.uses.get(&var).into_iter().flatten();
                if !uses.any(|at| self.is_inside(*at)) {
                    continue;
                }
                let homes = self.memory.storage.get(&var).into_iter().flatten();
                let here = homes
                    .filter_map(Storage::home)
                    .filter(|home| home.block == **block);
                let mut lmads: Vec<_> = here.map(|home| Some(home.lmad.clone())).collect();
                if lmads.is_empty() {
                    lmads.push(None);
                }
                out.extend(lmads.into_iter().map(|lmad| Access {
                    var: var.clone(),
                    block: (*block).clone(),
                    lmad,
                }));
            }
        }
        out
    }

    /// Whether what one iteration writes is not what another one touches.
    fn apart(&self, write: &Access, other: &Access) -> bool {
        let (Some(write), Some(other)) = (&write.lmad, &other.lmad) else {
            return false;
        };
        let (write, other) = (self.index.normalised(write), self.index.normalised(other));
        // What is bound inside an iteration is another one's in another iteration.
        let mut known = self.index.known.clone();
        let mut renamed: HashMap<Var, Var> = HashMap::new();
        let mut next = self.memory.next_var + 1;
        for var in parts(&write).chain(parts(&other)).flat_map(Size::free_vars) {
            let own = self.memory.when(var).is_some_and(|moment| self.is_inside(moment));
            if own && !renamed.contains_key(var) {
                let range = self.range_of(var);
                let new = Var {
                    id: next,
                    name: var.name.clone(),
                };
                next += 1;
                known.set(var.clone(), range.clone());
                known.set(new.clone(), range);
                renamed.insert(var.clone(), new);
            }
        }
        let other = other.substitute(|var| renamed.get(var).map(|new| Size::var(new.clone())));
        let later = Var {
            id: self.memory.next_var,
            name: "later".into(),
        };
        let count = self.index.env.normalise_size(&self.count);
        let range = Range::below(&count);
        known.assume_nonneg(&count - &Size::one());
        for count in self.counts_around() {
            known.assume_nonneg(count - Size::one());
        }
        iterations_disjoint(&self.counter, &range, &later, (&write, &other), &known).is_disjoint()
    }

    /// How many iterations the operations and loops around have: one at least, or this one would not run.
    fn counts_around(&self) -> Vec<Size> {
        let bodies = self.index.around(self.info.body).into_iter();
        let around = bodies.filter_map(|body| self.index.bodies.get(body.0)?.around);
        let stmts = around.filter_map(|at| self.index.stmts.get(at));
        let counts = stmts.filter_map(|info| match &info.stmt.exp {
            Exp::Op(op) => count(op, &self.index.env),
            Exp::Loop(looped) => match &looped.form {
                LoopForm::For { bound, .. } => self.index.env.size(bound).ok(),
                LoopForm::While(_) => None,
            },
            _ => None,
        });
        counts
            .map(|count| self.index.env.normalise_size(&count))
            .collect()
    }

    /// What is known of a number from inside, whichever iteration it is of.
    fn range_of(&self, var: &Var) -> Range<Var> {
        let outside = |size: &Size| {
            let mut vars = size.free_vars();
            vars.all(|var| {
                let moment = self.memory.when(var);
                *var != self.counter && moment.is_none_or(|moment| !self.is_inside(moment))
            })
        };
        let known = self.index.known.range(var);
        Range {
            lower: known.lower.clone().filter(outside),
            upper: known.upper.clone().filter(outside),
        }
    }
}

fn parts(lmad: &Lmad<Var>) -> impl Iterator<Item = &Size> {
    let dims = lmad.dims.iter().flat_map(|dim| [&dim.length, &dim.stride]);
    dims.chain([&lmad.offset])
}
