//! MEM-11: what one iteration of a parallel operation writes is provably disjoint from what another one reads or writes.
//!
//! This looks at a whole plan, once it is final; the other rules look at one statement after another, after every pass. An iteration
//! writes what statements inside it make in blocks from outside, and its own element of the result. It reads its own elements of the
//! operands, and any part of what is used inside it. What has no descriptor counts as touching its whole block.
//!
//! Iterations of a `map` that runs in order are looked at as well, for MEM-12: none may write what another one reads that is from
//! outside, nor the elements that others have made. What they write and read one after another, in the same cells, is their own.

use super::across::Across;
use super::{Broken, Checked, Rule};
use crate::draft::Draft;
use crate::index::{BodyInfo, BodyKind, Index, Moment, StmtInfo, count};
use crate::introduce::same_cells;
use crate::ir::{Home, Memory, Storage, key};
use almach_core::{Atom, Exp, Op, Size, Stmt, Var};
use almach_lmad::Lmad;
use almach_prim::{Level, Prim};
use std::collections::{BTreeSet, HashMap};

/// Whether no two iterations of a `map` meet.
pub(super) fn races(draft: &Draft<'_, '_>) -> Checked<()> {
    let index = draft.index();
    let mut readers = Readers::default();
    for info in &index.stmts {
        if let Some(operation) = Operation::of(draft, info) {
            operation.check(&mut readers)?;
        }
    }
    Ok(())
}

/// Of each block that is asked for: the uses of all that reads from it, in order, so that an operation looks only at its own.
#[derive(Default)]
struct Readers(HashMap<Var, Vec<(Moment, Var)>>);

impl Readers {
    /// Who is used between two moments.
    fn between(
        &mut self,
        draft: &Draft<'_, '_>,
        block: &Var,
        (first, last): (Moment, Moment),
    ) -> BTreeSet<Var> {
        let all = self.0.entry(block.clone()).or_insert_with(|| {
            let uses = &draft.index().uses;
            let readers = draft.readers([block]).into_iter();
            let mut all: Vec<(Moment, Var)> = readers
                .flat_map(|var| {
                    let moments = uses.get(&var).into_iter().flatten();
                    moments.map(|at| (*at, var.clone())).collect::<Vec<_>>()
                })
                .collect();
            all.sort();
            all
        });
        let start = all.partition_point(|(at, _)| *at < first);
        let found = all.iter().skip(start).take_while(|(at, _)| *at <= last);
        found.map(|(_, var)| var.clone()).collect()
    }
}

/// Whether this rule looks at the iterations of a statement.
pub(super) fn is_seen(draft: &Draft<'_, '_>, info: &StmtInfo<'_>) -> bool {
    counted_map(info.stmt, draft).is_some_and(|(op, _)| count(op, &draft.index().env).is_some())
}

fn counted_map<'a>(stmt: &'a Stmt, memory: &Memory) -> Option<(&'a Op, Var)> {
    let Exp::Op(op) = &stmt.exp else {
        return None;
    };
    let counter = key(stmt).and_then(|key| memory.heads.get(key))?.index.clone()?;
    (op.prim == Prim::Map).then_some((op, counter))
}

/// Cells that an iteration touches.
struct Access {
    var: Var,
    block: Var,
    /// None: any cell of the block.
    lmad: Option<Lmad<Var>>,
    /// The one cell of these that is read, where it is one. Sometimes more is known of all of them.
    cell: Option<Lmad<Var>>,
}

impl Access {
    /// Which cells these are, in words.
    fn cells(&self) -> String {
        (self.lmad.as_ref()).map_or_else(|| ", anywhere".to_owned(), |lmad| format!(" at `{lmad}`"))
    }
}

struct Operation<'a, 'p> {
    index: &'a Index<'p>,
    memory: &'a Draft<'a, 'p>,
    op: &'a Op,
    info: &'a StmtInfo<'p>,
    body: &'a BodyInfo<'p>,
    counter: Var,
    across: Across<'a, 'p>,
}

impl<'a, 'p> Operation<'a, 'p> {
    fn of(memory: &'a Draft<'a, 'p>, info: &'a StmtInfo<'p>) -> Option<Operation<'a, 'p>> {
        let index = memory.index();
        let (op, counter) = counted_map(info.stmt, memory)?;
        let bodies = index.bodies_of(info).iter();
        let mut bodies = bodies.filter_map(|body| index.bodies.get(body.0));
        let body = bodies.find(|body| body.kind == BodyKind::Lambda)?;
        let count = count(op, &index.env)?;
        Some(Operation {
            index,
            memory,
            op,
            info,
            body,
            counter: counter.clone(),
            across: Across {
                memory,
                inside: (info.start, body.end),
                counted: Some((counter, count)),
                around: info.body,
            },
        })
    }

    fn check(&self, readers: &mut Readers) -> Checked<()> {
        let elements = self.elements();
        let writes: Vec<Access> = self.elements().into_iter().chain(self.inside()).collect();
        let written: BTreeSet<&Var> = writes.iter().map(|access| &access.block).collect();
        let reads = self.reads(&written, readers);
        let is_in_order = self.op.annotation.level == Some(Level::Seq);
        for write in &writes {
            // Two elements of the result have different cells (MEM-09).
            let is_element = elements.iter().any(|element| self.are_the_same(element, write));
            let others = match is_in_order {
                true if is_element => [].iter().chain(&reads),
                true => elements.iter().chain(&reads),
                false => writes.iter().chain(&reads),
            };
            for other in others.filter(|other| other.block == write.block) {
                if !self.apart(write, other) {
                    let message = format!(
                        "an iteration may write `{}`{} in `{}` where another one uses `{}`{}",
                        write.var,
                        write.cells(),
                        write.block,
                        other.var,
                        other.cells()
                    );
                    return Err(Broken {
                        rule: match self.op.annotation.level {
                            Some(Level::Seq) => Rule::Overwrites,
                            _ => Rule::Iterations,
                        },
                        message,
                        span: self.info.stmt.span,
                    });
                }
            }
        }
        Ok(())
    }

    /// Blocks that iterations share.
    fn is_shared(&self, block: &Var) -> bool {
        let bound = self.memory.bound(block);
        bound.is_none_or(|moment| !self.across.is_inside(moment))
    }

    fn element(&self, var: &Var, home: &Home) -> Access {
        Access {
            var: var.clone(),
            block: home.block.clone(),
            lmad: home.lmad.index(&Size::var(self.counter.clone())),
            cell: None,
        }
    }

    /// What an iteration takes of an operand: an element, or of rows of their own lengths any part.
    fn taken(&self, var: &Var, storage: &Storage, home: &Home) -> Access {
        match storage {
            Storage::Rows(_) => Access {
                var: var.clone(),
                block: home.block.clone(),
                lmad: Some(home.lmad.clone()),
                cell: None,
            },
            Storage::Placed(_) | Storage::View | Storage::Held => self.element(var, home),
        }
    }

    fn are_the_same(&self, a: &Access, b: &Access) -> bool {
        let same = |(a, b): (&Lmad<Var>, &Lmad<Var>)| {
            same_cells(&self.index.normalised(a), &self.index.normalised(b))
        };
        a.block == b.block && a.lmad.as_ref().zip(b.lmad.as_ref()).is_some_and(same)
    }

    /// What an iteration gives.
    fn elements(&self) -> Vec<Access> {
        let mut out = Vec::new();
        for value in &self.info.stmt.pattern.values {
            let homes = self.memory.storage.get(&value.var).into_iter().flatten();
            let homes = homes.filter_map(Storage::home);
            out.extend(homes.map(|home| self.element(&value.var, home)));
        }
        out
    }

    /// What statements inside an iteration write that others can see.
    fn inside(&self) -> Vec<Access> {
        let mut out = Vec::new();
        let inside = self.index.stmts_between(self.info.start, self.body.end).iter();
        for info in inside.filter(|info| self.makes(info)) {
            for value in &info.stmt.pattern.values {
                let homes = self.memory.storage.get(&value.var).into_iter().flatten();
                for home in homes.flat_map(Storage::homes) {
                    if self.is_shared(&home.block) {
                        out.push(Access {
                            var: value.var.clone(),
                            block: home.block.clone(),
                            lmad: Some(home.lmad.clone()),
                            cell: None,
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

    fn reads(&self, written: &BTreeSet<&Var>, readers: &mut Readers) -> Vec<Access> {
        let mut out = Vec::new();
        for argument in &self.op.args {
            for storage in self.memory.of(argument) {
                for home in storage.homes() {
                    if let Atom::Var(var) = argument
                        && written.contains(&home.block)
                    {
                        out.push(self.taken(var, storage, home));
                    }
                }
            }
        }
        for block in written {
            for var in readers.between(self.memory, block, (self.info.start, self.body.end)) {
                out.extend(self.reads_of(&var, block));
            }
        }
        out
    }

    /// What is read of a variable whose elements are in a block: inside an iteration; or, of a view, also as an operand.
    fn reads_of(&self, var: &Var, block: &Var) -> Vec<Access> {
        let uses = self.index.uses.get(var).into_iter().flatten();
        let mut inside: Vec<usize> = uses.copied().filter(|at| self.across.is_inside(*at)).collect();
        let bound = self.index.bound.get(var).copied().unwrap_or(0);
        if self.op.annotation.level == Some(Level::Seq) && self.across.is_inside(bound) {
            inside.clear();
        }
        let storage = self.memory.storage.get(var).into_iter().flatten();
        let homes = storage
            .flat_map(Storage::homes)
            .filter(|home| home.block == *block);
        let homes: Vec<&Home> = homes.collect();
        let access = |lmad: Option<Lmad<Var>>, cell: Option<Lmad<Var>>| Access {
            var: var.clone(),
            block: block.clone(),
            lmad,
            cell,
        };
        if homes.is_empty() {
            let taken = (self.op.args.iter()).any(|arg| matches!(arg, Atom::Var(used) if used == var));
            let read = taken || !inside.is_empty();
            return read.then(|| access(None, None)).into_iter().collect();
        }
        let read = inside.iter().filter(|at| !self.memory.is_derivation(**at));
        let accesses = read.flat_map(|at| {
            let accesses = homes.iter().map(|home| {
                let cell = self.memory.element_read(*at, &home.lmad);
                access(Some(home.lmad.clone()), cell)
            });
            accesses.collect::<Vec<_>>()
        });
        accesses.collect()
    }

    /// Whether what one iteration writes is not what another one touches.
    fn apart(&self, write: &Access, other: &Access) -> bool {
        // Where the two meet, both are there.
        let bound = [&write.var, &other.var].map(|var| self.index.bound.get(var).copied().unwrap_or(0));
        let Some(write) = &write.lmad else {
            return false;
        };
        let mut others = other.lmad.iter().chain(&other.cell);
        others.any(|other| self.across.apart(write, other, &bound))
    }
}
