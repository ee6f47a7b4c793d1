//! MEM-12: what is used is what was made. From the moment an array is there to each use of it, nothing is written to its cells; in a
//! loop also not by another iteration, where the array is from outside of it. A statement may write cells that it reads only where
//! it reads each before it is overwritten: a `map` its own element of an operand, an update the array that it updates.
//!
//! ```text
//! let b: [n]f32 @ a_mem -> 0 + {(n : 1)} = map f (rotate 1 a)       -- broken: `a` is in the same cells
//! let b: [n]f32 @ a_mem -> 0 + {(n : 1)} = map f a                  -- broken where `a` is used later
//! ```
//!
//! This looks at a whole plan, once it is final, and knows nothing of how the passes came to it. What has no descriptor counts as
//! its whole block, a view of arrays that have one as those; names that statements hand on count as one block where they may be one.

mod uses;
mod writes;

use super::across::{Across, there_are_iterations};
use super::races::is_seen;
use super::{Broken, Checked, Rule};
use crate::copies::copy_points;
use crate::derive::slice_of;
use crate::draft::Draft;
use crate::index::{BodyId, BodyKind, Index, Moment, StmtInfo, direct_uses};
use crate::ir::{Home, Storage, key};
use almach_core::typing::Env;
use almach_core::{Atom, Exp, LoopForm, Size, SlicePart, Var};
use almach_lmad::{Lmad, Verdict, disjoint};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use uses::Uses;
use writes::{How, Write, writes};

pub(super) fn overwrites(draft: &Draft<'_, '_>) -> Checked<()> {
    let mut written: BTreeMap<Var, Vec<Write>> = BTreeMap::new();
    for (at, info) in draft.index().stmts.iter().enumerate() {
        for write in writes(draft, at, info) {
            written.entry(write.block.clone()).or_default().push(write);
        }
    }
    let mut overwrites = Overwrites {
        index: draft.index(),
        draft,
        readers: HashMap::new(),
        viewed: draft.viewed(),
    };
    overwrites.readers = readers(&overwrites, &written);
    written
        .values()
        .flatten()
        .try_for_each(|write| overwrites.leaves_all_alone(write))
}

/// A name of a block, and who reads from it.
type Readers = Vec<(Var, Rc<Uses>)>;

/// Of each block that is written: the names that may be one with it, and who reads from those.
fn readers(overwrites: &Overwrites<'_, '_>, written: &BTreeMap<Var, Vec<Write>>) -> HashMap<Var, Readers> {
    let mut known: HashMap<Var, Rc<Uses>> = HashMap::new();
    let mut by_name = |block: &Var| {
        let mut names: Vec<Var> = overwrites.draft.may_be(block).into_iter().collect();
        names.sort();
        names
            .into_iter()
            .map(|name| {
                let uses = known.entry(name.clone());
                let uses = uses.or_insert_with(|| Rc::new(overwrites.uses_of(&name)));
                (name, Rc::clone(uses))
            })
            .collect::<Readers>()
    };
    let blocks = written.keys();
    blocks.map(|block| (block.clone(), by_name(block))).collect()
}

struct Overwrites<'a, 'p> {
    index: &'a Index<'p>,
    draft: &'a Draft<'a, 'p>,
    readers: HashMap<Var, Readers>,
    /// What each view looks at.
    viewed: HashMap<&'a Var, Vec<&'a Var>>,
}

/// A use of an array.
struct Use {
    bound: Moment,
    at: Moment,
    /// The cells that are read, each as one or several descriptors that have them all: of some more is known. None: any of the block.
    cells: Vec<Vec<Lmad<Var>>>,
    /// Of an array that is updated in place: the new parts, which may be there already.
    parts: Vec<Home>,
}

impl<'p> Overwrites<'_, 'p> {
    fn leaves_all_alone(&self, write: &Write) -> Checked<()> {
        let loops = self.draft.loops_around(write.body);
        let (start, end) = self.repeated(write);
        for (name, uses) in self.readers.get(&write.block).into_iter().flatten() {
            let mut may_meet = None;
            for found in uses.between(start, end) {
                if !self.concerns(write, &found.var, found.bound, found.at) {
                    continue;
                }
                let read = self.reads(&found.var, name, found.bound, found.at);
                let may_meet =
                    *may_meet.get_or_insert_with(|| self.draft.may_meet(&write.block, name, &loops));
                if may_meet && !self.leaves_alone(write, &read) {
                    return Err(self.broken(write, &found.var, found.at));
                }
            }
        }
        Ok(())
    }

    /// All uses of arrays that are in a block of that name.
    fn uses_of(&self, name: &Var) -> Uses {
        let mut all = Vec::new();
        for var in self.draft.readers([name]) {
            let bound = self.made(&var, name);
            let moments = self.index.uses.get(&var).into_iter().flatten();
            all.extend(moments.map(|at| uses::Found {
                bound,
                at: *at,
                var: var.clone(),
            }));
        }
        Uses::new(all)
    }

    /// When a write may take place: while it is made, or while the outermost statement runs that makes it several times.
    fn repeated(&self, write: &Write) -> (Moment, Moment) {
        let bodies = self.index.around(write.body).into_iter();
        let again = bodies.filter_map(|body| {
            let info = self.index.bodies.get(body.0)?;
            let is_repeated = matches!(info.kind, BodyKind::Loop | BodyKind::Lambda);
            self.index.stmts.get(info.around.filter(|_| is_repeated)?)
        });
        again.fold((write.start, write.end), |(start, end), info| {
            (start.min(info.start), end.max(info.end))
        })
    }

    fn broken(&self, write: &Write, var: &Var, at: Moment) -> Broken {
        let info = self.index.stmts.get(write.stmt);
        Broken {
            rule: Rule::Overwrites,
            message: format!(
                "`{}` is written in `{}` where `{var}` may be, which is used then or later",
                write.made, write.block
            ),
            span: self
                .index
                .span_at(at)
                .or_else(|| info.map(|info| info.stmt.span))
                .unwrap_or(almach_base::Span::NONE),
        }
    }

    /// When the elements of an array in a block were there: where it is derived, those of the array that it is derived from.
    fn made(&self, var: &Var, block: &Var) -> Moment {
        let is_there = |var: &Var| {
            let storage = self.draft.storage.get(var).into_iter().flatten();
            storage.flat_map(Storage::homes).any(|home| home.block == *block)
        };
        let bound = |var: &Var| self.index.bound.get(var).copied().unwrap_or(0);
        let mut earliest = bound(var);
        let mut open = vec![var.clone()];
        while let Some(var) = open.pop() {
            earliest = earliest.min(bound(&var));
            let stmt = self
                .index
                .defs
                .get(&var)
                .filter(|stmt| self.draft.is_derived(**stmt));
            let Some(info) = stmt.and_then(|stmt| self.index.stmts.get(*stmt)) else {
                continue;
            };
            direct_uses(&info.stmt.exp, &mut |atom| match atom {
                Atom::Var(used) if is_there(used) => open.push(used.clone()),
                Atom::Var(_) | Atom::Const(_) => {}
            });
        }
        earliest
    }

    /// Where the arrays are that a view looks at, in this block, each whole.
    fn behind(&self, view: &Var, block: &Var) -> Vec<Vec<Lmad<Var>>> {
        let (mut found, mut seen) = (Vec::new(), HashSet::from([view]));
        let mut open: Vec<&Var> = self.viewed.get(view).into_iter().flatten().copied().collect();
        while let Some(var) = open.pop() {
            if !seen.insert(var) {
                continue;
            }
            let storage = self.draft.storage.get(var).into_iter().flatten();
            for home in storage.flat_map(Storage::homes) {
                if home.block == *block {
                    found.push(vec![home.lmad.clone()]);
                }
            }
            open.extend(self.viewed.get(var).into_iter().flatten());
        }
        found
    }

    fn reads(&self, var: &Var, block: &Var, bound: Moment, at: Moment) -> Use {
        let storage = self.draft.storage.get(var).into_iter().flatten();
        let homes = storage
            .flat_map(Storage::homes)
            .filter(|home| home.block == *block);
        let (mut cells, mut parts) = (Vec::new(), Vec::new());
        for home in homes {
            if let Some(update) = self.updated_at(var, at) {
                let part = slice_of(&home.lmad, update, &self.index.env);
                parts.extend(part.map(|lmad| Home {
                    block: home.block.clone(),
                    lmad,
                }));
                let left = kept(&home.lmad, update, &self.index.env);
                let left = left.unwrap_or_else(|| vec![home.lmad.clone()]);
                cells.extend(left.into_iter().map(|slab| vec![slab]));
                continue;
            }
            let cell = self.draft.element_read(at, &home.lmad);
            cells.push(cell.into_iter().chain([home.lmad.clone()]).collect());
        }
        if cells.is_empty() {
            cells = self.behind(var, block);
        }
        if cells.is_empty() {
            cells.push(Vec::new());
        }
        Use {
            bound,
            at,
            cells,
            parts,
        }
    }

    /// The part of an array that is updated in place at a moment: what it leaves as it is counts as read.
    fn updated_at(&self, var: &Var, at: Moment) -> Option<&'p [SlicePart]> {
        let taker = self.index.taker(at)?;
        let Exp::Update {
            array: Atom::Var(old),
            parts,
            ..
        } = &taker.stmt.exp
        else {
            return None;
        };
        (old == var && self.is_in_place(taker, var)).then_some(parts.as_slice())
    }

    /// Whether a write may come between an array and a use of it, by what is looked up quickly.
    fn concerns(&self, write: &Write, var: &Var, bound: Moment, at: Moment) -> bool {
        let in_order = write.end > bound && write.start < at;
        let again = || !self.bodies_of_both(write, bound, at).is_empty();
        (in_order || again()) && !self.draft.is_derivation(at) && !self.is_read_first(write, var, at)
    }

    /// The loops and functions around both a write and a use, of an array that is from outside of them: then another iteration may
    /// write what this one reads.
    fn bodies_of_both(&self, write: &Write, bound: Moment, at: Moment) -> Vec<BodyId> {
        let bodies = self.index.around(write.body).into_iter();
        let repeated = bodies.filter(|body| {
            let Some(info) = self.index.bodies.get(body.0) else {
                return false;
            };
            let around = info.around.and_then(|stmt| self.index.stmts.get(stmt));
            matches!(info.kind, BodyKind::Loop | BodyKind::Lambda)
                && around.is_some_and(|stmt| bound <= stmt.start && at > stmt.start && at < stmt.end)
        });
        repeated.collect()
    }

    /// Whether a use reads each cell before the write overwrites it.
    fn is_read_first(&self, write: &Write, var: &Var, at: Moment) -> bool {
        let Some(taker) = self.index.taker(at) else {
            return self.is_inside_seen(write, at);
        };
        let is_own = self
            .index
            .stmts
            .get(write.stmt)
            .is_some_and(|info| info.start == taker.start);
        if is_own && write.how == How::AtOnce {
            return self.is_in_place(taker, var);
        }
        let is_within = write.start >= taker.start && write.end <= taker.end;
        if is_within && is_start_of_fold(&taker.stmt.exp, var) {
            return true;
        }
        let storage = self.draft.storage.get(var).map_or(&[][..], Vec::as_slice);
        let placed = storage.iter().all(|one| one.home().is_some());
        // An iteration takes its elements before it writes anything; what others write is MEM-11's.
        let takes_elements = is_within && placed && is_seen(self.draft, taker);
        takes_elements || self.is_inside_seen(write, at)
    }

    /// Whether a use is inside an iteration at the end of which the write takes place: those of other iterations are MEM-11's.
    fn is_inside_seen(&self, write: &Write, at: Moment) -> bool {
        let info = self.index.stmts.get(write.stmt);
        write.how == How::ByIterations
            && info.is_some_and(|info| at > info.start && at < info.end && is_seen(self.draft, info))
    }

    /// Whether a statement takes an array only to leave it where it is.
    fn is_in_place(&self, info: &StmtInfo<'_>, var: &Var) -> bool {
        let mut operands = 0;
        direct_uses(&info.stmt.exp, &mut |atom| {
            operands += usize::from(matches!(atom, Atom::Var(used) if used == var));
        });
        let points = copy_points(info.stmt, self.draft, &self.index.env);
        let mut own = points
            .iter()
            .filter(|point| matches!(&point.source, Atom::Var(source) if source == var))
            .peekable();
        operands == 1
            && own.peek().is_some()
            && own.all(|point| {
                let home = self.draft.of(&point.source).get(point.leaf);
                let home = home.and_then(Storage::home);
                home.is_some_and(|home| self.index.same_home(home, &point.to))
            })
    }

    fn leaves_alone(&self, write: &Write, read: &Use) -> bool {
        let in_order = write.end > read.bound && write.start < read.at;
        let once = !in_order || self.is_elsewhere(write, read.at) || self.are_apart(write, read);
        once && self.is_left_alone_by_others(write, read)
    }

    /// Whether a use is in a branch that is taken only where the write is not made.
    fn is_elsewhere(&self, write: &Write, at: Moment) -> bool {
        let bodies = self.index.around(write.body).into_iter();
        let mut branches = bodies
            .filter_map(|body| self.index.bodies.get(body.0))
            .filter(|body| body.kind == BodyKind::Branch);
        branches.any(|body| {
            let stmt = body.around.and_then(|stmt| self.index.stmts.get(stmt));
            stmt.is_some_and(|stmt| at > stmt.start && at < stmt.end && !(at > body.start && at <= body.end))
        })
    }

    fn are_apart(&self, write: &Write, read: &Use) -> bool {
        // Where the two meet, both are there.
        let mut known = self
            .index
            .known_at(&[write.start, write.end, read.bound, read.at]);
        there_are_iterations(self.draft, write.body, &mut known);
        if read.parts.iter().any(|part| self.is_inside(write, part)) {
            return true;
        }
        is_apart(write, read, &|written, cells| {
            let (written, cells) = (self.index.normalised(written), self.index.normalised(cells));
            matches!(disjoint(&written, &cells, &known), Verdict::Disjoint(_))
        })
    }

    /// Whether a write is to a part, or to the row of it that an iteration around the write makes.
    fn is_inside(&self, write: &Write, part: &Home) -> bool {
        let bodies = self.index.around(write.body).into_iter();
        let counters = bodies.filter_map(|body| {
            let around = self.index.bodies.get(body.0)?.around?;
            let stmt = key(self.index.stmts.get(around)?.stmt)?;
            self.draft.heads.get(stmt)?.index.clone()
        });
        let mut rows = vec![part.lmad.clone()];
        // The outermost first: rows of rows are of the inner one.
        for counter in counters.collect::<Vec<Var>>().into_iter().rev() {
            let at = Size::var(counter);
            let inner: Vec<_> = rows.iter().filter_map(|row| row.index(&at)).collect();
            rows.extend(inner);
        }
        let rows: Vec<_> = rows.iter().map(|row| self.index.normalised(row)).collect();
        let mut written = write.lmad.iter().chain(&write.among);
        part.block == write.block
            && written.any(|cells| {
                let cells = self.index.normalised(cells);
                // Of the same lengths, too: a part may start where the whole does.
                rows.contains(&cells)
            })
    }

    /// Whether no other iteration of a loop around both writes what is read.
    fn is_left_alone_by_others(&self, write: &Write, read: &Use) -> bool {
        let bodies = self.bodies_of_both(write, read.bound, read.at);
        let mut around = bodies.iter().filter_map(|body| {
            let info = self.index.bodies.get(body.0)?;
            self.index.stmts.get(info.around?)
        });
        around.all(|info| self.is_left_alone_in(info, write, read))
    }

    fn is_left_alone_in(&self, info: &StmtInfo<'_>, write: &Write, read: &Use) -> bool {
        if is_seen(self.draft, info) {
            return true;
        }
        let counted = match &info.stmt.exp {
            Exp::Loop(looped) => match &looped.form {
                LoopForm::For { index, bound } => {
                    let bound = self.index.env.size(bound).ok();
                    bound.map(|bound| (index.var.clone(), bound))
                }
                LoopForm::While(_) => None,
            },
            _ => None,
        };
        let across = Across {
            memory: self.draft,
            inside: (info.start, info.end),
            counted,
            around: info.body,
        };
        let moments = [write.start, write.end, read.bound, read.at];
        is_apart(write, read, &|written, cells| {
            across.apart(written, cells, &moments)
        })
    }
}

/// Whether what is written is apart from all that is read, by one descriptor of each or another.
fn is_apart(write: &Write, read: &Use, apart: &dyn Fn(&Lmad<Var>, &Lmad<Var>) -> bool) -> bool {
    let Some(lmad) = &write.lmad else {
        return false;
    };
    let written = || [lmad].into_iter().chain(&write.among);
    let mut cells = read.cells.iter();
    cells.all(|cells| {
        cells
            .iter()
            .any(|cells| written().any(|written| apart(written, cells)))
    })
}

/// What an update leaves as it is, slab by slab: along each dimension what is before and behind the part. None where the part has gaps.
fn kept(lmad: &Lmad<Var>, parts: &[SlicePart], env: &Env) -> Option<Vec<Lmad<Var>>> {
    let (mut slabs, mut lmad) = (Vec::new(), lmad.clone());
    let one = Size::one();
    for (dim, part) in parts.iter().enumerate() {
        let (begin, count) = match part {
            SlicePart::At(index) => (env.size(index).ok()?, one.clone()),
            SlicePart::Slice { begin, count, step } => {
                let (begin, count) = (env.size(begin).ok()?, env.size(count).ok()?);
                match env.size(step).ok()?.as_constant()? {
                    1 => (begin, count),
                    -1 => (&(&begin - &count) + &one, count),
                    _ => return None,
                }
            }
        };
        let end = &begin + &count;
        let behind = &lmad.dims.get(dim)?.length - &end;
        slabs.push(lmad.slice(dim, &Size::zero(), &begin, &one)?);
        slabs.push(lmad.slice(dim, &end, &behind, &one)?);
        lmad = lmad.slice(dim, &begin, &count, &one)?;
    }
    Some(slabs)
}

/// Whether a fold starts with an array, and takes it for nothing else: it is read before all that the fold does.
fn is_start_of_fold(exp: &Exp, var: &Var) -> bool {
    let Exp::Op(op) = exp else {
        return false;
    };
    let is_var = |atom: &Atom| matches!(atom, Atom::Var(used) if used == var);
    let taken = op.args.iter().filter(|atom| is_var(atom)).count();
    writes::is_fold(op) && taken == 1 && op.args.first().is_some_and(is_var)
}
