//! Copies of a function that came out the same are one again.
//!
//! ```text
//! fun f {n} (xs: [n]f32) = … map@seq … xs          fun f {n} (xs: [n]f32) = … map@seq … xs
//! fun f_inside {n} (xs: [n]f32) = … map@seq … xs   …
//! ```
//!
//! Copies that call each other are the same where they are under the assumption that they are: all copies of a function start
//! out in one class, and what differs is taken apart until nothing does.

use almach_core::typing::Supply;
use almach_core::visit::fresh_function;
use almach_core::{FunId, Function};
use almach_rewrite::facts::redirect_calls;

/// The first copy that is the same, for each copy; `originals` says of which function each is one.
pub(crate) fn representatives(functions: &[Function], originals: &[FunId]) -> Vec<FunId> {
    let mut classes = firsts(originals.len(), |a, b| originals.get(a) == originals.get(b));
    loop {
        let texts: Vec<Option<Function>> = functions
            .iter()
            .zip(&classes)
            .map(|(function, class)| has_others(&classes, *class).then(|| canonical(function, &classes)))
            .collect();
        let refined = firsts(classes.len(), |a, b| {
            classes.get(a) == classes.get(b) && texts.get(a) == texts.get(b)
        });
        if refined == classes {
            return classes;
        }
        classes = refined;
    }
}

/// For each of so many the first one that is like it.
fn firsts(count: usize, alike: impl Fn(usize, usize) -> bool) -> Vec<FunId> {
    let first = |at: usize| (0..at).find(|before| alike(*before, at)).unwrap_or(at);
    (0..count).map(|at| FunId(first(at) as u32)).collect()
}

fn has_others(classes: &[FunId], class: FunId) -> bool {
    classes.iter().filter(|other| **other == class).count() > 1
}

/// The function with numbers and a name of its own, calling the classes of what it calls.
fn canonical(function: &Function, classes: &[FunId]) -> Function {
    let mut canonical = fresh_function(function, &mut Supply::starting_at(0));
    canonical.name = "".into();
    redirect_calls(&mut canonical, &|id| {
        classes.get(id.0 as usize).copied().unwrap_or(id)
    });
    canonical
}
