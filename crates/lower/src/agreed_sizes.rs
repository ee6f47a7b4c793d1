//! A size that is checked to be another one is known before what has it is made, and the other one is its name.
//!
//! ```text
//! alloc made[2*b*h]                                  check n == 2*b*h else …
//! par for i < b { … made[2*h*i + j] = … }      ~~>   alloc made[n]
//! check n == 2*b*h else …                            par for i < b { … made[2*h*i + j] = … }
//! for i < n { next[i] = made[i] }                    copy next[0] = made[0] for n
//! ```
//!
//! Such are coercions (`:>`) of what an operation gives, to the size of a loop's state or of a result: what makes the array then makes it
//! where it goes, as it does where the types say that the sizes are equal.
//!
//! Removes: loops that copy. Introduces: copies. Guarantees: the same results, and errors of the program: a check moves over what can neither fail
//! nor be seen from outside, allocations apart.

use crate::moves::moves;
use crate::rename::binders;
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Proc, Stmt, Touched};
use almach_value::BinOp;
use std::collections::HashSet;

pub(crate) fn agreed_sizes(proc: &mut Proc) {
    block(&mut proc.body);
}

fn block(stmts: &mut Vec<Stmt>) {
    let mut agreed: Vec<(Index, Index)> = Vec::new();
    for at in 0..stmts.len() {
        if let Some((name, number)) = stmts.get(at).and_then(agreement) {
            let first = earliest(stmts, at);
            let over = stmts.get(first..at).unwrap_or_default();
            let is_made = |size: &Index| {
                over.iter()
                    .any(|stmt| matches!(stmt, Stmt::Alloc { size: made, .. } if made == size))
            };
            // A block that is as large as a name says is as large as what that has to be, but where it has that name because the two
            // were found equal before.
            let again = agreed.contains(&(name.clone(), number.clone()));
            let (has_block, size, other) = match (is_made(&number), is_made(&name)) {
                (false, true) if again => (true, name, number),
                (false, true) => (true, number, name),
                (has_block, _) => (has_block, name, number),
            };
            agreed.push((size.clone(), other.clone()));
            if has_block {
                let check = stmts.remove(at);
                stmts.insert(first, check);
            }
            let assigned = assigned_since(stmts, first, &size, &other);
            for stmt in stmts.iter_mut().take(assigned).skip(first) {
                if let Stmt::Alloc { size: made, .. } = stmt
                    && *made == other
                {
                    *made = size.clone();
                }
            }
            for stmt in stmts.iter_mut().take(assigned).skip(first) {
                if let Some(copy) = whole_copy(stmt, &size) {
                    *stmt = copy;
                }
            }
        }
    }
    for stmt in stmts {
        stmt.blocks_mut().into_iter().for_each(block);
    }
}

/// A loop that moves so many cells, from the first ones of both buffers on, as one copy.
fn whole_copy(stmt: &Stmt, size: &Index) -> Option<Stmt> {
    let Stmt::For {
        mode: LoopMode::Seq, ..
    } = stmt
    else {
        return None;
    };
    let found = moves(stmt)?;
    let (to, from) = (found.to.clone(), found.from.clone());
    let starts = to != from && found.in_order(size)?.is_zero();
    starts.then(|| Stmt::Copy {
        to,
        to_index: Index::zero(),
        from,
        from_index: Index::zero(),
        count: size.clone(),
    })
}

/// The name and the number that a check finds equal.
fn agreement(stmt: &Stmt) -> Option<(Index, Index)> {
    let Stmt::Check {
        condition: Expr::Binary(BinOp::Eq, left, right),
        ..
    } = stmt
    else {
        return None;
    };
    let (left, right) = (left.as_index()?, right.as_index()?);
    let is_name = |index: &Index| index.as_var().is_some();
    match (is_name(&left), is_name(&right)) {
        (true, false) => Some((left, right)),
        (false, true) => Some((right, left)),
        _ => None,
    }
}

/// The first place in a block that a check may stand at.
fn earliest(stmts: &[Stmt], check: usize) -> usize {
    let mut needs = HashSet::new();
    if let Some(stmt) = stmts.get(check) {
        let mut reads = crate::tidy::Reads::default();
        reads.stmt(stmt);
        needs = reads.names;
    }
    let before = stmts.get(..check).unwrap_or_default().iter().rev();
    let over = before.take_while(|stmt| is_quiet(stmt) && !gives(stmt, &needs));
    check - over.count()
}

/// Whether a statement binds or changes one of these names.
fn gives(stmt: &Stmt, names: &HashSet<Name>) -> bool {
    let mut own = HashSet::new();
    binders(std::slice::from_ref(stmt), &mut own);
    own.extend(Touched::of([stmt]).assigned);
    !own.is_disjoint(names)
}

/// Whether a statement ends, does not fail unless there is no memory, and shows nothing.
fn is_quiet(stmt: &Stmt) -> bool {
    let is_quiet_itself = match stmt {
        Stmt::Let { .. }
        | Stmt::Var { .. }
        | Stmt::Assign { .. }
        | Stmt::Store { .. }
        | Stmt::Buffer { .. }
        | Stmt::Alloc { .. }
        | Stmt::Free(_)
        | Stmt::Copy { .. }
        | Stmt::For { .. }
        | Stmt::If { .. }
        | Stmt::At(_) => true,
        Stmt::Check { .. }
        | Stmt::Reserve { .. }
        | Stmt::Shrink { .. }
        | Stmt::Borrow { .. }
        | Stmt::Swap(..)
        | Stmt::Atomic { .. }
        | Stmt::Await { .. }
        | Stmt::While { .. }
        | Stmt::Call { .. }
        | Stmt::Foreign { .. }
        | Stmt::Trace { .. }
        | Stmt::Barrier
        | Stmt::Kernel { .. }
        | Stmt::Transfer(_) => false,
    };
    is_quiet_itself && stmt.blocks().into_iter().all(|inner| inner.iter().all(is_quiet))
}

/// Where one of the names in two numbers changes, behind a place.
fn assigned_since(stmts: &[Stmt], from: usize, size: &Index, other: &Index) -> usize {
    let names: HashSet<Name> = size.free_vars().chain(other.free_vars()).cloned().collect();
    let changes = |stmt: &Stmt| {
        let assigned = Touched::of([stmt]).assigned;
        assigned.iter().any(|name| names.contains(name))
    };
    let after = stmts.iter().skip(from).position(changes);
    after.map_or(stmts.len(), |after| from + after)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn after(body: &str) -> String {
        let text = format!(
            "proc p(n: i64, b: i64, h: i64, xs: read i64, out: write i64) {{ check b >= 0i64 else E0806(\"b\" 0:0-0) check h >= 0i64 else E0806(\"h\" 0:0-0) {body} }}"
        );
        let mut program = almach_imp::parse(&text).unwrap();
        program.procs.iter_mut().for_each(agreed_sizes);
        almach_imp::check(program).unwrap().program().to_string()
    }

    const CHECK: &str = "check n == {b*h} else E0805(\"sizes\" 0:0-0)";

    #[test]
    fn what_is_made_has_the_size_that_it_is_checked_to_have() {
        let text = after(&format!(
            "buffer made: i64 alloc made[b*h]
             par for i < b {{ for j < h {{ made[h*i + j] = xs[0] }} }}
             {CHECK}
             for k < n {{ out[k] = made[k] }} free made"
        ));
        assert!(text.contains("alloc made[n]"), "{text}");
        assert!(text.contains("copy out[0] = made[0] for n"), "{text}");
        assert!(text.find("check n ==") < text.find("alloc"), "{text}");
    }

    #[test]
    fn what_has_a_size_with_a_name_as_well() {
        let text = after(
            "let m: i64 = xs[0] buffer made: i64 alloc made[m]
             for i < m { made[i] = xs[i] }
             check {b*h} == m else E0805(\"sizes\" 0:0-0)
             copy out[n] = made[0] for b*h free made",
        );
        assert!(text.contains("alloc made[b*h]"), "{text}");
        assert!(text.find("check b*h ==") < text.find("alloc"), "{text}");
    }

    #[test]
    fn a_check_stays_behind_what_may_fail() {
        let text = after(&format!(
            "buffer made: i64 alloc made[b*h]
             for i < b {{ check xs[i] > 0i64 else E0811(\"positive\" 0:0-0) for j < h {{ made[h*i + j] = xs[i] }} }}
             {CHECK}
             for k < n - 1 {{ out[k] = made[k] }} free made"
        ));
        assert!(
            text.contains("alloc made[b*h]") && !text.contains("copy"),
            "{text}"
        );
    }

    #[test]
    fn of_two_arrays_that_are_checked_alike_both_go() {
        let text = after(&format!(
            "buffer a: i64 alloc a[b*h] buffer c: i64 alloc c[b*h]
             par for i < b {{ for j < h {{ a[h*i + j] = xs[0] c[h*i + j] = xs[1] }} }}
             {CHECK} copy out[0] = a[0] for n free a
             {CHECK} copy out[n] = c[0] for n free c"
        ));
        assert!(
            text.contains("alloc a[n]") && text.contains("alloc c[n]"),
            "{text}"
        );
    }

    #[test]
    fn a_size_that_changes_is_another_one() {
        let text = after(
            "var m: i64 = n buffer made: i64 m = {b*h}
             check m == {b*h} else E0805(\"sizes\" 0:0-0) m = 7i64 alloc made[b*h] made[0] = 1i64 out[0] = made[0] free made"
        );
        assert!(text.contains("alloc made[b*h]"), "{text}");
    }
}
