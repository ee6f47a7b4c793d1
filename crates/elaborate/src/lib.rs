//! Elaboration: the typed tree becomes Core.
//!
//! ```text
//! def twice f x = f (f x)                        fun main {} (a: f32): f32 =
//! entry main (a: f32): f32 = twice (* a) 2         let x: f32 = 2.0f32 * a
//!                                                  let y: f32 = x * a
//!                                                  in y
//! ```
//!
//! It is a partial evaluator. Expressions evaluate to *static values* ([`statics`]): functions, which are known here and
//! nowhere later; tuples and records, component by component; and atoms of the Core program that is being built on the way.
//!
//! Removes: polymorphism and functions as values (a definition is specialised for the types and functions it is used
//! with, [`specialise`]; functions that only running the program chooses become sums, [`choose`]), nested patterns
//! ([`decide`]), structural equality ([`compare`]), records, sugar of primitives.
//! Introduces: contexts. Sizes are computed from Core's own rules, bottom up; where two must be equal and are not
//! provably so, a checked coercion says it.
//! Guarantees: the result passes Core's checker; evaluation is strict, from left to right, and `if`, `case`, `&&` and `||`
//! evaluate only what they need.

mod apply;
mod choose;
mod close;
mod compare;
mod conform;
mod data;
mod decide;
mod emit;
mod entry;
mod errors;
mod expr;
mod foreign;
mod free;
mod index;
mod join;
mod lift;
mod literal;
mod loops;
mod make;
mod map;
mod matching;
mod prims;
mod signature;
mod specialise;
mod statics;
mod template;
mod ty;

use almach_base::{Diagnostic, Name, Span};
use almach_core as core;
use almach_core::build::Builder;
use almach_core::check::{Checked, check};
use almach_core::visit::{WalkMut, walk_function_mut};
use almach_types::tree;
use std::collections::HashMap;
use std::rc::Rc;
use ty::Ty;

/// What to elaborate besides the program's entries.
#[derive(Default)]
pub struct Options<'a> {
    /// Closed expressions that become entries without parameters: a line of the REPL, the call of a test.
    pub expressions: Vec<(Name, &'a tree::Expr)>,
}

/// The program in Core: its entries, then those of the options, with everything they need.
pub fn elaborate<'a>(
    program: &'a tree::Program,
    options: &Options<'a>,
) -> Result<Checked<core::Program>, Vec<Diagnostic>> {
    let mut elaborator = Elaborator::new(program);
    let mut errors: Vec<Diagnostic> = Vec::new();
    // All that are declared: the files that define them see them in the generated header.
    for (at, foreign) in (0u32..).zip(&program.foreign) {
        if let Err(error) = elaborator.foreign_function(tree::ForeignId(at), foreign.span) {
            errors.push(*error);
        }
    }
    for entry in &program.entries {
        if let Err(error) = elaborator.entry(*entry) {
            errors.push(*error);
        }
    }
    for (name, expr) in &options.expressions {
        if let Err(error) = elaborator.expression_entry(name, expr) {
            errors.push(*error);
        }
    }
    match errors.is_empty() {
        true => elaborator.finish().map_err(|error| vec![*error]),
        false => Err(errors),
    }
}

/// Boxed because results are passed by value everywhere.
pub(crate) type Res<T> = Result<T, Box<Diagnostic>>;

pub(crate) struct Elaborator<'a> {
    program: &'a tree::Program,
    builder: Builder,
    /// By `FunId`; absent while the body is being made.
    functions: Vec<Option<core::Function>>,
    entries: Vec<core::Entry>,
    /// The order of fields in Core for each set of names.
    record_orders: HashMap<Vec<Name>, Rc<[Name]>>,
    data: HashMap<(tree::DataId, Rc<[Ty]>), core::DataId>,
    foreign: HashMap<tree::ForeignId, core::ForeignId>,
    /// Sums that hold functions, by the types of their fields.
    choices: HashMap<Vec<Vec<core::Type>>, core::DataId>,
    specialised: HashMap<specialise::Key<'a>, specialise::State>,
    /// Specialisations under way, outermost first.
    active: Vec<specialise::Active<'a>>,
    mentioned: HashMap<*const (), Rc<[u32]>>,
    weights: HashMap<*const (), usize>,
    /// What the user called the values of Core variables.
    names: HashMap<u32, Name>,
    comparisons: HashMap<(compare::Comparison, core::Type, core::Type), core::FunId>,
}

impl<'a> Elaborator<'a> {
    fn new(program: &'a tree::Program) -> Elaborator<'a> {
        Elaborator {
            program,
            builder: Builder::default(),
            functions: Vec::new(),
            entries: Vec::new(),
            record_orders: HashMap::new(),
            data: HashMap::new(),
            foreign: HashMap::new(),
            choices: HashMap::new(),
            specialised: HashMap::new(),
            active: Vec::new(),
            mentioned: HashMap::new(),
            weights: HashMap::new(),
            names: HashMap::new(),
            comparisons: HashMap::new(),
        }
    }

    fn finish(self) -> Res<Checked<core::Program>> {
        let functions: Option<Vec<core::Function>> = self.functions.into_iter().collect();
        let mut functions = functions.ok_or_else(|| errors::bug(Span::NONE, "a function has no body"))?;
        let mut names = UserNames(self.names);
        for function in &mut functions {
            walk_function_mut(&mut names, function);
        }
        let program = core::Program {
            data: self.builder.signatures.data,
            foreign: self.builder.signatures.foreign,
            functions,
            entries: self.entries,
            next_var: self.builder.supply.next_var(),
        };
        check(program, "elaborate").map_err(|failure| Box::new(failure.diagnostic))
    }
}

/// Gives variables the names that the user gave their values.
struct UserNames(HashMap<u32, Name>);

impl WalkMut for UserNames {
    fn binder(&mut self, var: &mut core::Var) {
        if let Some(name) = self.0.get(&var.id) {
            var.name = name.clone();
        }
    }
}
