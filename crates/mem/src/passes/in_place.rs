//! Updates in place: `a with [i] = v`, `scatter` and histograms write into the array itself where its old value is dead.
//!
//! ```text
//! let @{c_mem: f32 of a_mem = alloc (n) | b_mem} c … =     let @{c_mem: f32 of a_mem = alloc (n) | a_mem} c … =
//!   loop (a: [n]f32 @ a_mem -> … = zeros) for i < n do       loop (a: [n]f32 @ a_mem -> … = zeros) for i < n do
//!     let b_mem: mem = alloc f32 (n)                    ~>     let b: [n]f32 @ a_mem -> … = a with [i] = x
//!     let b: [n]f32 @ b_mem -> … = a with [i] = x              in b
//!     in b
//! ```
//!
//! The old array is dead where, after the update, nothing is used that was bound before it and may be in its block: neither later in
//! the text, nor, inside a loop, anywhere in the loop if it was bound outside. Blocks that statements hand on may be one. A
//! parameter's block belongs to the caller, and a block from outside of a parallel function to all its iterations. What a loop starts
//! with is copied once where that is all that is in the way.
//!
//! - Removes: copies of updated arrays, and the blocks they went to.
//! - Introduces: at most one copy before a loop.
//! - Guarantees: nothing but places changes.

use super::{Log, Note, Obstacle};
use crate::check::Changes;
use crate::copies::{Role, copy_points};
use crate::derive::slice_of;
use crate::draft::Draft;
use crate::index::{BodyInfo, BodyKind, Index, Moment, StmtInfo, direct_uses};
use crate::ir::{Annotated, Given, Home, Memory, Storage, key};
use crate::leaves::Leaf;
use crate::relocate::relocate;
use almach_core::{Atom, Exp, Var};
use almach_lmad::{Verdict, disjoint};
use almach_prim::Prim;
use std::collections::{BTreeSet, HashSet};

pub fn in_place(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut pass = InPlace {
        changes: Changes::of(&index),
        draft: Draft::new(&index, program.memory),
    };
    for info in &index.stmts {
        pass.statement(info, log);
    }
    let memory = pass.draft.into_memory();
    Annotated {
        core: program.core,
        memory,
    }
}

/// What was proved for a step; or what is in the way.
type Attempt = Result<Vec<String>, Obstacle>;

struct InPlace<'i, 'p> {
    draft: Draft<'i, 'p>,
    changes: Changes,
}

impl InPlace<'_, '_> {
    fn statement(&mut self, info: &StmtInfo<'_>, log: &mut Log) {
        let index = self.draft.index();
        let [value] = info.stmt.pattern.values.as_slice() else {
            return;
        };
        let points = copy_points(info.stmt, &self.draft, &index.env);
        for point in points.into_iter().filter(|point| point.role == Role::Old) {
            let Atom::Var(old) = &point.source else {
                continue;
            };
            let home = self
                .draft
                .of(&point.source)
                .get(point.leaf)
                .and_then(Storage::home);
            let Some(home) = home.cloned() else {
                let why = format!("`{}` is in no block, so its update makes one", index.name(old));
                log.notes.push(Note::left(&value.var, why.into()));
                continue;
            };
            if index.same_home(&home, &point.to) {
                continue;
            }
            match self.update(info, (&value.var, point.leaf), &home) {
                Ok(proofs) => {
                    let why = format!(
                        "`{}` is updated in place: nothing uses its old value afterwards",
                        index.name(old)
                    );
                    log.notes.push(Note::done(&value.var, why).proved(proofs));
                }
                Err(obstacle) => log.notes.push(Note::left(&value.var, obstacle)),
            }
        }
    }

    fn update(&mut self, info: &StmtInfo<'_>, (new, leaf): (&Var, usize), home: &Home) -> Attempt {
        let obstacle = match self.try_update(info, (new, leaf), home) {
            Ok(proofs) => return Ok(proofs),
            Err(obstacle) => obstacle,
        };
        for (stmt, item) in loops_that_carry(&self.draft, &home.block) {
            let mark = self.draft.mark();
            let copied = copy_at_the_start(&mut self.draft, stmt, item);
            if copied.is_some()
                && let Ok(proofs) = self.try_update(info, (new, leaf), home)
            {
                return Ok(proofs);
            }
            self.draft.rollback(mark);
        }
        Err(obstacle)
    }

    /// Changes nothing where something is in the way.
    fn try_update(&mut self, info: &StmtInfo<'_>, (new, leaf): (&Var, usize), home: &Home) -> Attempt {
        let draft = &mut self.draft;
        let class = draft.may_be(&home.block);
        owned(draft, info, &class)?;
        // In a loop whose blocks take turns the others are other ones, whichever they are.
        let class = draft.not_kept_apart(class, &home.block, info.body);
        let since = made_since(draft, &home.block);
        let proofs = dead(draft, info, new, (&class, since))?;
        let mark = draft.mark();
        let moved = match relocate(draft, new, leaf, home) {
            Some(()) => self.changes.check(draft, mark).map_err(|broken| broken.message),
            None => Err("its block is handed on in a way that the other cannot be".to_string()),
        };
        match moved {
            Ok(()) => Ok(proofs),
            Err(why) => {
                draft.rollback(mark);
                Err(why.into())
            }
        }
    }
}

/// The loops that carry what may be a block, and as which item. The outermost first: those inside it start with its block.
fn loops_that_carry(draft: &Draft<'_, '_>, block: &Var) -> Vec<(usize, usize)> {
    let mut loops = BTreeSet::new();
    for block in draft.may_be(block) {
        let Some((item, info)) = draft.item(&block) else {
            continue;
        };
        let head = key(info.stmt).and_then(|key| draft.heads.get(key));
        let at = head.and_then(|head| head.items.iter().position(|other| other.var == item.var));
        if let (Some(inside), Some(at)) = (&item.inside, at)
            && *inside == block
            && let Some(stmt) = key(info.stmt).and_then(|key| draft.index().defs.get(key))
        {
            loops.insert((*stmt, at));
        }
    }
    loops.into_iter().collect()
}

/// Lets a loop start with a copy of its own, so that its block is nobody else's.
fn copy_at_the_start(draft: &mut Draft<'_, '_>, stmt: usize, at: usize) -> Option<()> {
    let index = draft.index();
    let info = index.stmts.get(stmt)?;
    let key = key(info.stmt)?;
    let mut head = draft.heads.get(key)?.clone();
    let block = match head.items.get(at)?.given.first()? {
        Given::Block(block) => block.clone(),
        Given::Alloc(_) | Given::Integer(_) | Given::Found => return None,
    };
    // The initial value that is in this block, for its size.
    let Exp::Loop(looped) = &info.stmt.exp else {
        return None;
    };
    let cells = looped.params.iter().find_map(|(_, initial)| {
        let Atom::Var(var) = initial else {
            return None;
        };
        let storage = draft.storage.get(var)?;
        let at = storage
            .iter()
            .position(|one| one.home().is_some_and(|home| home.block == block))?;
        index.leaves(var).get(at).map(Leaf::cells)
    })?;
    *head.items.get_mut(at)?.given.first_mut()? = Given::Alloc(cells);
    draft.set_head(key, head);
    Some(())
}

/// No block of the class belongs to a caller, or to what is outside of a function whose iterations may run at once.
fn owned(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, class: &HashSet<Var>) -> Result<(), Obstacle> {
    let index = draft.index();
    let first = |found: &dyn Fn(&Var) -> bool| class.iter().filter(|block| found(block)).min();
    if let Some(block) = first(&|block| draft.taken(block).is_some()) {
        let whose = array_in(draft, block);
        let why = format!("it may be in the memory of {whose}, which belongs to the caller");
        return Err(Obstacle::from(why)
            .help("update an array that the program makes, or copy the caller's first (`materialise`)"));
    }
    if let Some(array) = class
        .iter()
        .flat_map(|block| draft.placed_in(block))
        .find(|array| has_kind(index, array))
    {
        let why = format!(
            "it may be in the memory of `{}`, whose kind the program says",
            array.name
        );
        return Err(Obstacle::from(why)
            .help("update an array that is not given to `toGlobal`, `toLocal` or `toPrivate`"));
    }
    let lambda = index
        .around(info.body)
        .into_iter()
        .filter_map(|body| index.bodies.get(body.0))
        .find(|body| body.kind == BodyKind::Lambda);
    let Some(lambda) = lambda else {
        return Ok(());
    };
    match first(&|block| draft.bound(block).is_none_or(|moment| moment < lambda.start)) {
        Some(block) => {
            let whose = array_in(draft, block);
            let why = format!("it may be in the memory of {whose}, which all iterations share");
            Err(Obstacle::from(why).help("update an array that the iteration makes itself"))
        }
        None => Ok(()),
    }
}

/// Whether an array is in memory of a kind that the program says: it is not where the plan would have it.
fn has_kind(index: &Index<'_>, array: &Var) -> bool {
    index.stmt_of(array).is_some_and(|info| {
        matches!(&info.stmt.exp, Exp::Op(op) if matches!(op.prim, Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate))
    })
}

/// The first array that is in a block, in words; the block where there is none.
fn array_in(draft: &Draft<'_, '_>, block: &Var) -> String {
    let arrays = draft.placed_in(block);
    format!("`{}`", arrays.first().unwrap_or(block).name)
}

/// Nothing that was bound before the update and may be in the block is used after it, nor read while it is written. Gives the
/// proofs that a new part has other cells than what it is taken from.
fn dead(
    draft: &Draft<'_, '_>,
    info: &StmtInfo<'_>,
    new: &Var,
    (class, since): (&HashSet<Var>, Moment),
) -> Attempt {
    let index = draft.index();
    let around: Vec<&BodyInfo<'_>> = index
        .around(info.body)
        .into_iter()
        .filter_map(|body| index.bodies.get(body.0))
        .collect();
    let mut proofs = Vec::new();
    for var in draft.readers(class) {
        if var == *new {
            continue;
        }
        let bound = index.bound.get(&var).copied().unwrap_or(0);
        // What was there before the block was made is in another one, whatever the blocks of other iterations were.
        if bound > info.start || bound < since {
            continue;
        }
        let uses = || index.uses.get(&var).into_iter().flatten().copied();
        let later = uses().find(|at| *at > info.end && !elsewhere(index, &around, *at));
        if let Some(at) = later {
            let why = format!("`{}`, which may be in the same memory, is used later", var.name);
            return Err(Obstacle::from(why)
                .at(index.span_at(at))
                .help("use the old value before the update, or only the new one after it"));
        }
        let repeated = around
            .iter()
            .filter(|body| matches!(body.kind, BodyKind::Loop | BodyKind::Lambda));
        for body in repeated {
            let inside = uses().find(|at| *at > body.start && *at <= body.end);
            if let Some(at) = inside.filter(|_| bound < body.start && !is_state(index, body, &var)) {
                let why = format!(
                    "`{}`, which may be in the same memory, is used in the next iteration",
                    var.name
                );
                return Err(Obstacle::from(why)
                    .at(index.span_at(at))
                    .help("let the loop carry the array, so that each iteration updates what the one before it gave"));
            }
        }
        if let Some(at) = uses().find(|at| *at > info.start && *at <= info.end) {
            let proof = read_meanwhile(index, draft, info, &var).map_err(|why| {
                Obstacle::from(why).at(index.span_at(at)).help(
                    "make what is written first (`materialise`), or from other cells than those it goes to",
                )
            })?;
            proofs.extend(proof);
        }
    }
    Ok(proofs)
}

/// The moment before which nothing that a block may be was made: `loop (b = replicate n x) for i < n do b with [i] = a[i]` inside
/// a loop that carries `a` makes the memory of `b` in every iteration, after `a` was bound.
fn made_since(draft: &Draft<'_, '_>, block: &Var) -> Moment {
    let (mut since, mut seen, mut left) = (Moment::MAX, HashSet::new(), vec![block]);
    while let Some(block) = left.pop() {
        if !seen.insert(block) {
            continue;
        }
        since = since.min(match (draft.alloc(block), draft.item(block)) {
            (Some((_, made)), _) => made.start,
            (None, Some((item, binder))) if !item.given.is_empty() => {
                let mut made = Moment::MAX;
                for given in &item.given {
                    match given {
                        Given::Block(block) => left.push(block),
                        Given::Alloc(_) | Given::Found => made = binder.start,
                        Given::Integer(_) => {}
                    }
                }
                made
            }
            // A caller's, or one that a call gives.
            (None, _) => 0,
        });
    }
    since
}

/// Whether a moment is in a branch that is taken only where the update is not made.
fn elsewhere(index: &Index<'_>, around: &[&BodyInfo<'_>], at: Moment) -> bool {
    around
        .iter()
        .filter(|body| body.kind == BodyKind::Branch)
        .any(|body| {
            let stmt = body.around.and_then(|stmt| index.stmts.get(stmt));
            stmt.is_some_and(|stmt| at > stmt.start && at < stmt.end && !(at > body.start && at <= body.end))
        })
}

/// An operand in the block, besides the old array itself: a new part that provably has other cells than those it goes to.
fn read_meanwhile(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    var: &Var,
) -> Result<Vec<String>, String> {
    let refused = || {
        Err(format!(
            "`{}`, which may be in the same memory, is read while it is written",
            var.name
        ))
    };
    let mut operands = 0;
    direct_uses(&info.stmt.exp, &mut |atom| {
        operands += usize::from(matches!(atom, Atom::Var(used) if used == var));
    });
    let inside = index
        .uses
        .get(var)
        .into_iter()
        .flatten()
        .any(|at| *at > info.start && *at < info.end);
    let points = copy_points(info.stmt, memory, &index.env);
    let of = |role: Role| {
        let points = points.iter();
        points.filter(move |point| {
            point.role == role && matches!(&point.source, Atom::Var(source) if source == var)
        })
    };
    if inside || operands != 1 {
        return refused();
    }
    if of(Role::Old).next().is_some() {
        return Ok(Vec::new());
    }
    if !matches!(&info.stmt.exp, Exp::Update { .. }) || of(Role::Part).next().is_none() {
        return refused();
    }
    // The place of the new part, were the array updated where it is.
    let Exp::Update { array, parts, .. } = &info.stmt.exp else {
        return refused();
    };
    let mut proofs = Vec::new();
    for old in memory.of(array).iter().filter_map(Storage::home) {
        let Some(part) = slice_of(&old.lmad, parts, &index.env) else {
            return refused();
        };
        let part = index.normalised(&part);
        for from in memory.storage.get(var).into_iter().flatten() {
            let Some(from) = from.home() else {
                return refused();
            };
            if from.block != old.block {
                continue;
            }
            let from = index.normalised(&from.lmad);
            match disjoint(&from, &part, &index.known_at(&[info.start])) {
                Verdict::Disjoint(proof) => proofs.push(format!(
                    "the cells {from} of `{}` are not the cells {part} that it goes to: {proof}",
                    var.name
                )),
                Verdict::Overlapping | Verdict::Unknown => {
                    return Err(format!(
                        "`{}`, the cells {from} of that memory, is read while the cells {part} are written, and the two may meet",
                        var.name
                    ));
                }
            }
        }
    }
    Ok(proofs)
}

/// Whether a loop binds a variable anew before each iteration.
fn is_state(index: &Index<'_>, body: &BodyInfo<'_>, var: &Var) -> bool {
    let stmt = body
        .around
        .and_then(|at| index.stmts.get(at))
        .map(|info| &info.stmt.exp);
    match stmt {
        Some(Exp::Loop(looped)) => looped.params.iter().any(|(param, _)| param.var == *var),
        Some(Exp::Op(op)) => op
            .functions
            .iter()
            .any(|f| f.params.iter().any(|param| param.var == *var)),
        _ => false,
    }
}
