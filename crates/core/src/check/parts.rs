//! A program taken apart and put together again. Functions that no chain of calls connects have nothing to say to each other: a
//! part is what calls connect, with its entries, as a program of its own.
//!
//! ```text
//! fun f … = … g …     fun h …            part 0:  fun f … = … g …     part 1:  fun h …
//! fun g …                           =>            fun g …                      entry c = h
//! entry a = f   entry b = g   entry c = h         entry a = f   entry b = g
//! ```
//!
//! Every part has all data types and foreign functions. A part of a program that satisfies the rules satisfies them. Variables stay
//! what they are: who adds some to a part takes numbers that the parts before it have not taken.

use super::Checked;
use crate::ir::{Entry, Exp, FunId, Function, Program};
use crate::visit::{Walk, WalkMut, walk_exp, walk_exp_mut, walk_function, walk_function_mut};

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

    /// Leaves the variables below this number to others.
    pub fn take_variables_from(&mut self, next_var: u32) {
        let own = &mut self.program.0.next_var;
        *own = next_var.max(*own);
    }

    /// The parts of a part, in the order of their first functions; the part itself where it has no others.
    pub fn split(self) -> Vec<Part> {
        if !falls_apart(&self.program) {
            return vec![self];
        }
        let groups = groups(&self.program.functions);
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
    program.functions.len() > 1 && groups(&program.functions).iter().any(|group| *group > 0)
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

/// For each function the number of its group; groups are numbered in the order of their first functions.
fn groups(functions: &[Function]) -> Vec<usize> {
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
