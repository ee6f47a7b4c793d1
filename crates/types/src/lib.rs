//! Names resolved, types and sizes inferred, cases checked. The result is the typed tree.
//!
//! [`load_modules`] brings the files of a program into order; [`check_program`] checks them. Definitions are inferred in
//! groups that depend on each other ([`dependencies`]); what inference knows so far is in [`solver`]; types agree by
//! [`unify`] and [`sizes`]; [`finish`] ends each group.

mod annotate;
mod checker;
mod data;
mod dependencies;
mod errors;
pub mod exhaustive;
mod finish;
mod infer;
mod modules;
mod names;
pub mod parts;
mod patterns;
mod pending;
pub mod print;
mod scheme;
mod sizes;
mod solver;
pub mod tree;
mod unify;

use almach_base::{Diagnostic, Name, Span};
use checker::{Checker, DefState};

pub use modules::{Loader, Module, Modules, imports_of, load_modules};

/// What checking a program gives.
#[derive(Debug)]
pub struct CheckResult {
    /// Where there is no error.
    pub program: Option<tree::Program>,
    pub diagnostics: Vec<Diagnostic>,
    /// The type of every top-level definition, those without errors of their own in programs with errors too.
    pub types: Vec<DefType>,
}

/// The inferred type of a top-level definition.
#[derive(Clone, Debug)]
pub struct DefType {
    /// Which of the modules it stands in.
    pub module: usize,
    pub name: Name,
    /// In Almach's syntax: `dot [n] : [n]f32 -> [n]f32 -> f32`.
    pub text: String,
    pub span: Span,
}

/// Checks a whole program. The entry points are those of the root.
pub fn check_program(modules: &Modules) -> CheckResult {
    let mut checker = Checker::new(modules);
    for module in &modules.modules {
        checker.check_module(&module.imports, &module.file);
    }
    let types = checker
        .defs
        .iter()
        .filter_map(|def| match &def.state {
            DefState::Done(poly) => Some(DefType {
                module: def.module,
                name: def.ast.name.name.clone(),
                text: print::scheme_text(
                    &def.ast.name.name,
                    &poly.scheme,
                    poly.ty.as_ref()?,
                    &checker.names(),
                ),
                span: def.ast.name.span,
            }),
            DefState::NotYet | DefState::Monomorphic(_) | DefState::Declared(_) => None,
        })
        .collect();
    let (program, diagnostics) = checker.finish();
    CheckResult {
        program,
        diagnostics,
        types,
    }
}
