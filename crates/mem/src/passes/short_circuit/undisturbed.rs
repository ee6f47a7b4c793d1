//! Whether anything uses the cells that an array is to be built in, from when it is made to when it is copied.

use super::Copy;
use crate::draft::Draft;
use crate::index::{Index, Moment, StmtInfo};
use crate::ir::{Home, Storage, key};
use crate::leaves::Leaf;
use crate::passes::Obstacle;
use almach_core::{Atom, Exp, Size, Var};
use almach_lmad::{Lmad, Verdict, disjoint};
use almach_prim::Prim;
use std::collections::HashSet;

/// Nothing else is read from or written to the new place in between. Gives the proofs that what is in the same block is elsewhere.
pub(super) fn undisturbed(
    draft: &Draft<'_, '_>,
    to: &Home,
    from: &Home,
    making: &StmtInfo<'_>,
    copy: &Copy,
) -> Result<Vec<String>, Obstacle> {
    let index = draft.index();
    let mut class = draft.not_kept_apart(draft.class(&to.block), &to.block, making.body);
    // A block that was there before this one was made is another, whatever hands both on afterwards.
    if let Some((_, made)) = draft.alloc(&to.block) {
        let since = |block: &Var| draft.bound(block).is_none_or(|moment| moment > made.start);
        class.retain(|block| *block == to.block || since(block));
    }
    let mut between = Between {
        index,
        draft,
        to,
        from,
        making,
        class,
        end: copy.at,
        overwritten: HashSet::new(),
    };
    between.overwritten = between.overwritten_as_read();
    // What the copying statement itself makes.
    let results = copy
        .stmt
        .and_then(|at| index.stmts.get(at))
        .map_or(&[][..], |info| info.stmt.pattern.values.as_slice());
    let mut proofs = Vec::new();
    for var in draft.readers(&between.class) {
        if results.iter().all(|value| value.var != var) {
            between.leaves_alone(&var, &mut proofs)?;
        }
    }
    Ok(proofs)
}

struct Between<'a, 'i, 'p> {
    index: &'a Index<'p>,
    draft: &'a Draft<'i, 'p>,
    to: &'a Home,
    from: &'a Home,
    making: &'a StmtInfo<'a>,
    /// Blocks that may be the one of `to`.
    class: HashSet<Var>,
    end: Moment,
    /// What is only read by the `map` that makes the array in its place, each cell by the iteration that then overwrites it.
    overwritten: HashSet<Var>,
}

impl<'p> Between<'_, '_, 'p> {
    fn leaves_alone(&self, var: &Var, proofs: &mut Vec<String>) -> Result<(), Obstacle> {
        let (index, to) = (self.index, self.to);
        let bound = index.bound.get(var).copied().unwrap_or(0);
        let made = bound > self.making.start && bound <= self.end;
        let uses = index.uses.get(var).into_iter().flatten().copied();
        let read: Vec<Moment> = uses
            .filter(|at| *at > self.making.start && *at <= self.end && !self.draft.is_derivation(*at))
            .collect();
        if self.overwritten.contains(var) || (!made && read.is_empty()) {
            return Ok(());
        }
        let meets = |why: String| {
            Obstacle::from(why)
                .at(read.first().and_then(|at| index.span_at(*at)))
                .help("use it before, or copy it (`materialise`)")
        };
        let storage = self.draft.storage.get(var).map_or(&[][..], Vec::as_slice);
        for storage in storage {
            match storage {
                Storage::Placed(home)
                    if home.block == self.from.block || !self.class.contains(&home.block) => {}
                Storage::Placed(home) if home.block == to.block => {
                    // What is made in between is written, and so all of it counts.
                    let elements: Option<Vec<Lmad<Var>>> = match made {
                        true => None,
                        false => read
                            .iter()
                            .map(|at| self.draft.element_read(*at, &home.lmad))
                            .collect(),
                    };
                    let one_by_one = elements.and_then(|elements| {
                        let proofs = elements.iter().map(|cell| self.apart(var, cell).ok());
                        proofs.collect::<Option<Vec<String>>>()
                    });
                    match one_by_one {
                        Some(found) => proofs.extend(found),
                        None => proofs.push(self.apart(var, &home.lmad).map_err(meets)?),
                    }
                }
                _ => {
                    return Err(meets(format!(
                        "`{}` may use the same cells of `{}` in between",
                        var.name, to.block.name
                    )));
                }
            }
        }
        match storage.iter().any(|storage| storage.home().is_none()) {
            true => Err(meets(format!(
                "the view `{}` reads `{}` in between",
                var.name, to.block.name
            ))),
            false => Ok(()),
        }
    }

    /// The proof that cells are not those of the new place, in words.
    fn apart(&self, var: &Var, cells: &Lmad<Var>) -> Result<String, String> {
        let index = self.index;
        let (theirs, ours) = (index.normalised(cells), index.normalised(&self.to.lmad));
        let block = &self.to.block.name;
        // Where the two meet, both are there.
        let bound = index.bound.get(var).copied().unwrap_or(0);
        let known = index.known_at(&[self.making.start, bound]);
        match disjoint(&theirs, &ours, &known) {
            Verdict::Disjoint(proof) => Ok(format!(
                "the cells {theirs} of `{}` are not its cells {ours}: {proof}",
                var.name
            )),
            Verdict::Overlapping => Err(format!(
                "`{}` uses the cells {theirs} of `{block}` in between, and the cells {ours} would be written",
                var.name
            )),
            Verdict::Unknown => Err(format!(
                "`{}` uses the cells {theirs} of `{block}` in between, which may be some of the cells {ours} that would be written",
                var.name
            )),
        }
    }

    fn overwritten_as_read(&self) -> HashSet<Var> {
        let mut found = HashSet::new();
        let Exp::Op(op) = &self.making.stmt.exp else {
            return found;
        };
        for arg in &op.args {
            let Atom::Var(var) = arg else {
                continue;
            };
            let there = match self.draft.storage.get(var).map(Vec::as_slice) {
                Some([Storage::Placed(home)]) => self.index.same_home(home, self.to),
                _ => false,
            };
            if there && let Some(vars) = self.read_cell_by_cell(self.making, self.from, var) {
                found.extend(vars);
            }
        }
        found
    }

    /// `var` and what stands for its parts, where a `map` that makes an array in `home` takes it, and every element of it is read
    /// before the element of that number is written, by whoever writes it. An element that is a row must itself be read
    /// so: an iteration that writes more than one cell may else read the next one afterwards.
    fn read_cell_by_cell(&self, making: &StmtInfo<'_>, home: &Home, var: &Var) -> Option<Vec<Var>> {
        let index = self.index;
        let (Exp::Op(op), [made]) = (&making.stmt.exp, making.stmt.pattern.values.as_slice()) else {
            return None;
        };
        let leaves = index.leaves(&made.var);
        let [
            Leaf::Cells {
                dims, lanes: None, ..
            },
        ] = leaves.as_slice()
        else {
            return None;
        };
        let is_var = |atom: &Atom| matches!(atom, Atom::Var(used) if used == var);
        let uses = index.uses.get(var).into_iter().flatten();
        let in_between = uses.filter(|at| **at > making.start && **at <= self.end).count();
        let arguments = op.args.iter().filter(|atom| is_var(atom)).count();
        if op.prim != Prim::Map || op.annotation.effect.is_some() || in_between != arguments {
            return None;
        }
        let mut found = vec![var.clone()];
        if dims.len() == 1 {
            return Some(found);
        }
        let counter = self.draft.heads.get(key(making.stmt)?)?.index.clone()?;
        let function = op.functions.first()?;
        let [Atom::Var(row)] = function.body.values.as_slice() else {
            return None;
        };
        let row_home = Home {
            block: home.block.clone(),
            lmad: home.lmad.index(&Size::var(counter))?,
        };
        let [Storage::Placed(made)] = self.draft.storage.get(row)?.as_slice() else {
            return None;
        };
        let inner = index.stmt_of(row)?;
        let here = std::ptr::eq(index.bodies.get(inner.body.0)?.body, &function.body);
        if !here || !index.same_home(made, &row_home) {
            return None;
        }
        for (param, arg) in function.params.iter().zip(&op.args) {
            if is_var(arg) {
                let inside = self.read_cell_by_cell(inner, &row_home, &param.var);
                found.extend(inside.or_else(|| self.carried_on(inner, &row_home, row, &param.var))?);
            }
        }
        Some(found)
    }

    /// `var`, where a loop that makes `made` in `home` starts with `var`, which is there already and is used for nothing else.
    fn carried_on(&self, making: &StmtInfo<'_>, home: &Home, made: &Var, var: &Var) -> Option<Vec<Var>> {
        let Exp::Loop(looped) = &making.stmt.exp else {
            return None;
        };
        let uses = self.index.uses.get(var).map_or(0, Vec::len);
        let values = making.stmt.pattern.values.iter();
        let mut carried = values.zip(&looped.params).filter(|(value, (param, initial))| {
            let there = match self.draft.storage.get(&param.var).map(Vec::as_slice) {
                Some([Storage::Placed(param)]) => self.index.same_home(param, home),
                _ => false,
            };
            value.var == *made && matches!(initial, Atom::Var(used) if used == var) && there
        });
        (uses == 1 && carried.next().is_some()).then(|| vec![var.clone()])
    }
}
