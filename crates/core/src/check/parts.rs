//! A program taken apart and put together again. Functions that no chain of calls connects have nothing to say to each other: a
//! part is what calls connect, with its entries, as a program of its own.
//!
//! ```text
//! fun f … = … g …     fun h …            part 0:  fun f … = … g …     part 1:  fun h …
//! fun g …                           =>            fun g …                      entry c = h
//! entry a = f   entry b = g   entry c = h         entry a = f   entry b = g
//! ```
//!
//! Every part has all data types and foreign functions. A part of a program that satisfies the rules satisfies them. Variables and
//! data types stay what they are. Parts are worked on one after another, and each follows the one before: who adds variables or data
//! types to it takes numbers that no part has taken.

use super::Checked;
use crate::ir::{Entry, Exp, FunId, Function, Program};
use crate::visit::{Walk, WalkMut, walk_exp, walk_exp_mut, walk_function, walk_function_mut};
use std::collections::HashSet;

/// One part.
#[derive(Clone, Debug)]
pub struct Part {
    pub program: Checked<Program>,
    /// Where its entries stand among those of the whole.
    pub places: Vec<usize>,
}

impl Part {
    /// A program in one part.
    pub fn whole(program: Checked<Program>) -> Part {
        Part {
            places: (0..program.entries.len()).collect(),
            program,
        }
    }

    /// Leaves to a part that was worked on before what that has taken: numbers of variables, and of data types, of which a part
    /// that has come later knows all.
    pub fn follow(&mut self, before: &Part) {
        let (own, before) = (&mut self.program.0, &before.program);
        own.next_var = own.next_var.max(before.next_var);
        if own.data.len() < before.data.len() {
            own.data.clone_from(&before.data);
        }
    }

    /// The parts of a part, in the order of their first functions; the part itself where it has no others.
    pub fn split(self) -> Vec<Part> {
        if !falls_apart(&self.program) {
            return vec![self];
        }
        let groups = groups(&self.program);
        let count = groups.iter().max().map_or(0, |last| last + 1);
        let (program, places) = (self.program.into_inner(), self.places);
        let empty = Part {
            program: Checked(Program {
                data: program.data,
                foreign: program.foreign,
                functions: Vec::new(),
                entries: Vec::new(),
                next_var: program.next_var,
            }),
            places: Vec::new(),
        };
        let mut parts = vec![empty; count];
        let mut numbers = Vec::with_capacity(groups.len());
        for (function, group) in program.functions.into_iter().zip(&groups) {
            let functions = parts.get_mut(*group).map(|part| &mut part.program.0.functions);
            numbers.push(functions.as_ref().map_or(0, |functions| functions.len() as u32));
            functions
                .into_iter()
                .for_each(|functions| functions.push(function.clone()));
        }
        let renumbered = |id: FunId| numbers.get(id.0 as usize).map_or(id, |number| FunId(*number));
        for part in &mut parts {
            renumber(&mut part.program.0.functions, &renumbered);
        }
        for (entry, place) in program.entries.into_iter().zip(places) {
            let group = groups.get(entry.function.0 as usize).copied();
            if let Some(part) = group.and_then(|group| parts.get_mut(group)) {
                part.places.push(place);
                part.program.0.entries.push(Entry {
                    function: renumbered(entry.function),
                    ..entry
                });
            }
        }
        parts
    }

    /// The whole again. That the parts bind different variables is for the checker to see.
    pub fn join(parts: Vec<Part>) -> Program {
        let mut whole = Program::default();
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        for part in parts {
            let before = whole.functions.len() as u32;
            let moved = |id: FunId| FunId(id.0 + before);
            let mut program = part.program.into_inner();
            renumber(&mut program.functions, &moved);
            let moved_entries = program.entries.into_iter().map(|entry| Entry {
                function: moved(entry.function),
                ..entry
            });
            entries.extend(part.places.into_iter().zip(moved_entries));
            whole.functions.append(&mut program.functions);
            (whole.data, whole.foreign) = (program.data, program.foreign);
            whole.next_var = whole.next_var.max(program.next_var);
        }
        entries.sort_by_key(|(place, _)| *place);
        whole.entries = entries.into_iter().map(|(_, entry)| entry).collect();
        whole
    }
}

/// Whether there are functions that no calls connect.
pub fn falls_apart(program: &Program) -> bool {
    program.functions.len() > 1 && groups(program).iter().any(|group| *group > 0)
}

fn renumber(functions: &mut [Function], to: &dyn Fn(FunId) -> FunId) {
    struct Renumber<'r>(&'r dyn Fn(FunId) -> FunId);
    impl WalkMut for Renumber<'_> {
        fn exp(&mut self, exp: &mut Exp) {
            if let Exp::Call { function, .. } = exp {
                *function = (self.0)(*function);
            }
            walk_exp_mut(self, exp);
        }
    }
    for function in functions {
        walk_function_mut(&mut Renumber(to), function);
    }
}

/// For each function the number of its group; groups are numbered in the order of their first functions. What no entry calls is in
/// the group of the first entry: there it can be seen to be dead.
fn groups(program: &Program) -> Vec<usize> {
    let functions = &program.functions;
    struct Calls<'c> {
        caller: usize,
        joined: &'c mut [usize],
    }
    impl Walk for Calls<'_> {
        fn exp(&mut self, exp: &Exp) {
            if let Exp::Call { function, .. } = exp {
                join(self.joined, self.caller, function.0 as usize);
            }
            walk_exp(self, exp);
        }
    }
    // Each function refers to one of its group with a smaller number, the first one to itself.
    let mut joined: Vec<usize> = (0..functions.len()).collect();
    for (caller, function) in functions.iter().enumerate() {
        let mut calls = Calls {
            caller,
            joined: &mut joined,
        };
        walk_function(&mut calls, function);
    }
    if let Some(entry) = program.entries.first() {
        let entries = program.entries.iter().map(|entry| entry.function.0 as usize);
        let live: HashSet<usize> = entries.map(|function| first_of(&joined, function)).collect();
        for at in 0..functions.len() {
            if !live.contains(&first_of(&joined, at)) {
                join(&mut joined, at, entry.function.0 as usize);
            }
        }
    }
    let mut numbers: Vec<usize> = Vec::with_capacity(functions.len());
    let mut count = 0;
    for at in 0..functions.len() {
        let first = first_of(&joined, at);
        let number = numbers.get(first).copied().unwrap_or(count);
        count = count.max(number + 1);
        numbers.push(number);
    }
    numbers
}

fn first_of(joined: &[usize], mut at: usize) -> usize {
    while let Some(smaller) = joined.get(at).copied()
        && smaller != at
    {
        at = smaller;
    }
    at
}

fn join(joined: &mut [usize], left: usize, right: usize) {
    let (left, right) = (first_of(joined, left), first_of(joined, right));
    if let Some(slot) = joined.get_mut(left.max(right)) {
        *slot = left.min(right);
    }
}

#[cfg(test)]
mod tests {
    use super::Part;
    use crate::check::check;
    use crate::parse::parse_program;
    use crate::print::{Spans, program_to_string};
    use almach_base::FileId;

    const PROGRAM: &str = "
        fun twice (x: i64): i64 = let y: i64 = x * 2i64 in y
        fun alone (x: i64): i64 = let y: i64 = x - 1i64 in y
        fun once_more (x: i64): i64 = let y: i64 = twice(x) let z: i64 = twice(y) in z
        entry last = once_more (x: i64): i64
        entry middle = alone (x: i64): i64
        entry first = twice (x: i64): i64";

    fn whole() -> Part {
        let program = parse_program(PROGRAM, FileId(0)).expect("a program");
        Part::whole(check(program, "test").expect("a program that satisfies the rules"))
    }

    #[test]
    fn calls_hold_functions_together() {
        let parts = whole().split();
        let functions = parts.iter().map(|part| {
            let names = part
                .program
                .functions
                .iter()
                .map(|function| function.name.as_str());
            names.collect::<Vec<_>>()
        });
        assert_eq!(
            functions.collect::<Vec<_>>(),
            [vec!["twice", "once_more"], vec!["alone"]]
        );
        for part in parts {
            check(part.program.into_inner(), "split").expect("a part that satisfies the rules");
        }
    }

    #[test]
    fn parts_make_the_whole_again() {
        let before = program_to_string(&whole().program, Spans::Omit);
        let mut parts = whole().split();
        assert_eq!(program_to_string(&Part::join(vec![whole()]), Spans::Omit), before);
        // Functions come in the order of the parts, entries in that of the program.
        parts.reverse();
        let joined = check(Part::join(parts), "join").expect("a whole that satisfies the rules");
        let entries: Vec<&str> = joined.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, ["last", "middle", "first"]);
        let called = joined.entries.iter().map(|entry| {
            let function = joined.functions.get(entry.function.0 as usize);
            function.map(|function| function.name.as_str())
        });
        assert_eq!(
            called.collect::<Vec<_>>(),
            [Some("once_more"), Some("alone"), Some("twice")]
        );
    }

    #[test]
    fn what_no_entry_calls_is_beside_an_entry() {
        let program = "
            fun dead (x: i64): i64 = let y: i64 = x * 2i64 in y
            fun one (x: i64): i64 = let y: i64 = x - 1i64 in y
            fun other (x: i64): i64 = let y: i64 = x + 1i64 in y
            entry one = one (x: i64): i64
            entry other = other (x: i64): i64";
        let program = parse_program(program, FileId(0)).expect("a program");
        let program = check(program, "test").expect("a program that satisfies the rules");
        let parts = Part::whole(program).split();
        let functions = parts.iter().map(|part| part.program.functions.len());
        assert_eq!(functions.collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_part_follows_what_the_one_before_it_took() {
        let mut parts = whole().split();
        let mut second = parts.pop().expect("two parts");
        let mut first = parts.pop().expect("two parts");
        first.program.0.next_var += 5;
        second.follow(&first);
        assert_eq!(second.program.next_var, first.program.next_var);
    }
}
