//! A function has a copy for every level it is called at.
//!
//! ```text
//! fun f {n} (xs: [n]f32) = … map … xs              fun f {n} (xs: [n]f32) = … map@par … xs
//! fun main … =                                     fun f_2 {n} (xs: [n]f32) = … map@vec … xs
//!   let a = f {n} (xs)                         =>  fun main … =
//!   let b = map (\x -> … f {m} (x) …) xss            let a = f {n} (xs)
//!   …                                                let b = map@par (\x -> … f_2 {m} (x) …) xss
//! ```
//!
//! What a function's operations may use depends on where it is called: on the host all threads are free, inside a parallel
//! operation none is. Work starts at the functions nobody calls and at entries.
//!
//! Introduces: copies of functions. Removes: functions that nothing reaches. Guarantees: names stay unique.

use crate::same_copies::representatives;
use crate::{Around, Choice, Chooser, Decision};
use almach_base::Name;
use almach_core::typing::Typed;
use almach_core::visit::{UseCounts, fresh_function};
use almach_core::{FunId, Function, Program};
use almach_prim::Prim;
use almach_rewrite::facts::{callees, redirect_calls};
use std::collections::{HashMap, HashSet};

/// The copies that are asked for so far.
#[derive(Default, Debug)]
pub(crate) struct Variants {
    ids: HashMap<(FunId, Around), FunId>,
    /// In the order of their new numbers.
    order: Vec<(FunId, Around)>,
}

impl Variants {
    /// The copy of a function for calls from that place.
    pub(crate) fn of(&mut self, function: FunId, around: Around) -> FunId {
        let next = FunId(self.order.len() as u32);
        *self.ids.entry((function, around)).or_insert_with(|| {
            self.order.push((function, around));
            next
        })
    }
}

impl Chooser {
    pub(crate) fn program(&mut self, program: &Program) -> Typed<Program> {
        let around = Around::on(self.machine);
        for root in roots(program) {
            self.variants.of(root, around);
        }
        let mut first_copies = HashSet::new();
        let mut functions = Vec::new();
        while let Some((id, around)) = self.variants.order.get(functions.len()).copied() {
            let Some(function) = program.functions.get(id.0 as usize) else {
                break;
            };
            let chosen = match first_copies.insert(id) {
                true => self.function(function, around)?,
                false => {
                    let copy = self.copy(program, function);
                    self.function(&copy, around)?
                }
            };
            functions.push(chosen);
        }
        let mut entries = program.entries.clone();
        for entry in &mut entries {
            entry.function = self.variants.of(entry.function, around);
        }
        let mut chosen = Program {
            data: program.data.clone(),
            foreign: program.foreign.clone(),
            functions,
            entries,
            next_var: self.builder.supply.next_var(),
        };
        let originals: Vec<FunId> = self
            .variants
            .order
            .iter()
            .map(|(original, _)| *original)
            .collect();
        let representatives = representatives(&chosen.functions, &originals);
        let kept = keep(&mut chosen, &representatives);
        self.explain_copies(program, kept.iter().filter_map(|id| originals.get(id.0 as usize)));
        Ok(chosen)
    }

    /// Says which functions there is more than one copy of.
    fn explain_copies<'i>(&mut self, program: &Program, originals: impl Iterator<Item = &'i FunId>) {
        let mut seen = HashSet::new();
        for original in originals {
            if seen.insert(*original) {
                continue;
            }
            if let Some(function) = program.functions.get(original.0 as usize) {
                self.decisions.push(Decision {
                    span: function.span,
                    operation: Prim::Map,
                    choice: Choice::Cloned,
                    reason: format!(
                        "`{}` is called both on the host and inside a parallel operation",
                        function.name
                    ),
                });
            }
        }
    }

    /// A copy with names of its own, known to the facts.
    fn copy(&mut self, program: &Program, function: &Function) -> Function {
        let mut copy = fresh_function(function, &mut self.builder.supply);
        copy.name = Name::from(format!("{}_inside", function.name));
        self.facts.learn_function(program, &copy);
        copy
    }

    fn function(&mut self, function: &Function, around: Around) -> Typed<Function> {
        self.uses = UseCounts::of_function(function);
        self.transposed = crate::interchange::transposed(function);
        self.numbers = crate::within::numbers(function);
        self.builder.enter_function(function);
        self.builder.enter_signature(&function.context, &function.params);
        let body = self.body(&function.body, around)?;
        Ok(Function {
            body,
            ..function.clone()
        })
    }
}

/// Keeps the functions that stand for themselves, calls them in place of the others, and gives back their numbers.
fn keep(program: &mut Program, representatives: &[FunId]) -> Vec<FunId> {
    let stands_for_itself = |id: &FunId| representatives.get(id.0 as usize) == Some(id);
    let all = (0..program.functions.len() as u32).map(FunId);
    let kept: Vec<FunId> = all.filter(stands_for_itself).collect();
    let number = |id: FunId| {
        let representative = representatives.get(id.0 as usize).copied().unwrap_or(id);
        let place = kept.iter().position(|kept| *kept == representative);
        place.map_or(id, |place| FunId(place as u32))
    };
    let functions = std::mem::take(&mut program.functions);
    program.functions = (0..)
        .map(FunId)
        .zip(functions)
        .filter(|(id, _)| stands_for_itself(id))
        .map(|(_, function)| function)
        .collect();
    for function in &mut program.functions {
        redirect_calls(function, &number);
    }
    for entry in &mut program.entries {
        entry.function = number(entry.function);
    }
    kept
}

/// Entries' functions first, in their order, then those that no other function calls.
fn roots(program: &Program) -> Vec<FunId> {
    let mut called: HashSet<FunId> = HashSet::new();
    for (at, function) in (0u32..).zip(&program.functions) {
        called.extend(
            callees(&function.body)
                .into_iter()
                .filter(|callee| callee.0 != at),
        );
    }
    let entries = program.entries.iter().map(|entry| entry.function);
    let others = (0..program.functions.len() as u32).map(FunId);
    entries.chain(others.filter(|id| !called.contains(id))).collect()
}
