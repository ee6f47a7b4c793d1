//! An array that branches make, each in a block of its own, is built by each of them where it will be copied to.
//!
//! ```text
//! let @{b_mem: f32 = s_mem | t_mem} b = if c                 let b: [m]f32 @ a_mem -> k + {(m : 1)} = if c
//!   then let s_mem: mem = alloc f32 (m)                        then
//!        let s: [m]f32 @ s_mem -> … = map f xs in s     ~>          let s: [m]f32 @ a_mem -> k + {(m : 1)} = map f xs in s
//!   else let t_mem: mem = alloc f32 (m)                        else
//!        let t: [m]f32 @ t_mem -> … = map g xs in t                 let t: [m]f32 @ a_mem -> k + {(m : 1)} = map g xs in t
//! let d = a with [k:k + m] = b                               let d = a with [k:k + m] = b
//! ```
//!
//! Only where every branch makes it: one that gives what is there already would have to copy it, and does not now.

use super::{
    Array, Attempt, Copy, cannot_follow, has_own_block, owner_of, put_there, there_before, unchanged_after,
    undisturbed,
};
use crate::draft::Draft;
use crate::index::{BodyId, StmtInfo};
use crate::ir::{Given, Head, Home, Storage, key};
use crate::relocate::empty;
use almach_core::{Atom, Var};

/// Builds it there in all branches; the draft is to be rolled back where something is in the way.
pub(super) fn build_there<'i, 'p>(
    draft: &mut Draft<'i, 'p>,
    array: &Array<'i, 'p>,
    to: &Home,
    copy: &Copy,
) -> Attempt {
    let index = draft.index();
    let made = array.made;
    let Some((stmt, head, given)) = handed_on(draft, array) else {
        let why = format!(
            "`{}` is in a block that others have made",
            index.name(&array.owner)
        );
        return Err(why.into());
    };
    // What happens inside of a branch is looked at there.
    let behind = StmtInfo {
        stmt: made.stmt,
        body: made.body,
        start: made.end,
        end: made.end,
    };
    let mut proofs = undisturbed(draft, to, &array.home, &behind, copy)?;
    unchanged_after(draft, to, &array.home, copy)?;
    let mut results = Vec::new();
    for (body, block) in index.bodies_of(made).iter().zip(&given) {
        let (result, place, end) = result_of(draft, array, *body, to)?;
        if result.home.block != *block {
            return Err(format!("`{}` is there before the branch", index.name(&result.owner)).into());
        }
        has_own_block(draft, &result)?;
        there_before(draft, &place, result.made.start)?;
        proofs.extend(undisturbed(draft, &place, &result.home, result.made, &end)?);
        results.push((result, place));
    }
    draft.set_head(&stmt, head);
    let stays = cannot_follow(index, array, to);
    empty(draft, &array.home, to).ok_or(stays)?;
    for (result, place) in &results {
        put_there(draft, result, place)?;
    }
    Ok(proofs)
}

/// The statement, what it hands on without the block of an array, and which block each branch gives for it.
fn handed_on(draft: &Draft<'_, '_>, array: &Array<'_, '_>) -> Option<(Var, Head, Vec<Var>)> {
    let stmt = key(array.made.stmt)?.clone();
    let mut head = draft.heads.get(&stmt)?.clone();
    let at = head.items.iter().position(|item| item.var == array.home.block)?;
    let item = head.items.remove(at);
    let blocks = item.given.iter().map(|given| match given {
        Given::Block(block) => Some(block.clone()),
        Given::Alloc(_) | Given::Integer(_) | Given::Found => None,
    });
    let blocks: Vec<Var> = blocks.collect::<Option<_>>()?;
    let bodies = draft.index().bodies_of(array.made).len();
    (blocks.len() == bodies).then_some((stmt, head, blocks))
}

/// What a branch makes for an array, the place that it is to have, and the copy at the end of the branch that there would be.
fn result_of<'i, 'p>(
    draft: &Draft<'i, 'p>,
    array: &Array<'i, 'p>,
    body: BodyId,
    to: &Home,
) -> Result<(Array<'i, 'p>, Home, Copy), String> {
    let index = draft.index();
    let mut values = array.made.stmt.pattern.values.iter();
    let at = values.position(|value| value.var == array.owner);
    let info = index.bodies.get(body.0);
    let given = at.and_then(|at| info?.body.values.get(at));
    let (Some(Atom::Var(source)), Some(info)) = (given, info) else {
        return Err(format!("`{}` is no array in a branch", index.name(&array.owner)));
    };
    let end = Copy {
        source: source.clone(),
        leaf: array.leaf,
        to: to.clone(),
        body,
        at: info.end,
        stmt: None,
        fresh: None,
    };
    let (owner, leaf, lmad) = owner_of(index, draft, &end)?;
    let made = index.stmt_of(&owner).filter(|made| made.body == body);
    let Some(made) = made else {
        return Err(format!(
            "a branch gives `{}`, which it does not make",
            index.name(&owner)
        ));
    };
    let home = draft.storage.get(&owner).and_then(|all| all.get(leaf));
    let Some(home) = home.and_then(Storage::home).cloned() else {
        return Err(format!("`{}` is in no block", index.name(&owner)));
    };
    let place = Home {
        block: to.block.clone(),
        lmad,
    };
    Ok((
        Array {
            owner,
            leaf,
            home,
            made,
        },
        place,
        end,
    ))
}
