//! From loaded files to Core.

use crate::load::Loaded;
use crate::updates;
use almach_base::{Diagnostic, Name, SourceMap};
use almach_core::Program;
use almach_core::check::Checked;
use almach_elaborate::{Options, elaborate};
use almach_strategy::effects::check_effects;
use almach_strategy::hierarchy::check_levels;
use almach_syntax::ast;
use almach_types::{DefType, check_program, tree};

/// One more definition for the root file: a test's call, or what was typed at a prompt.
#[derive(Clone, Debug)]
pub struct Extra {
    pub name: Name,
    pub kind: ExtraKind,
    pub expr: ast::Expr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtraKind {
    /// Callable, so its type must be that of a value.
    Entry,
    /// Only its type is of interest.
    Definition,
}

/// What the front end found out.
pub struct Front {
    pub sources: SourceMap,
    /// Errors and warnings, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// Absent where there are errors.
    pub typed: Option<tree::Program>,
    /// The inferred types of the root's definitions, as text.
    pub types: Vec<DefType>,
}

/// Checks a program, with extra definitions at the end of its root file.
pub fn front(mut loaded: Loaded, extras: Vec<Extra>) -> Front {
    if let Some(root) = loaded.root_mut() {
        root.items.extend(extras.into_iter().map(item));
    }
    let checked = check_program(&loaded.modules);
    let mut diagnostics = loaded.diagnostics;
    diagnostics.extend(checked.diagnostics);
    let typed = if diagnostics.iter().any(Diagnostic::is_error) {
        None
    } else {
        checked.program
    };
    let root = loaded.modules.modules.len().saturating_sub(1);
    let types = checked
        .types
        .into_iter()
        .filter(|definition| definition.module == root)
        .collect();
    Front {
        sources: loaded.sources,
        diagnostics,
        typed,
        types,
    }
}

fn item(extra: Extra) -> ast::Item {
    let span = extra.expr.span;
    ast::Item::Def(ast::Def {
        kind: match extra.kind {
            ExtraKind::Entry => ast::DefKind::Entry,
            ExtraKind::Definition => ast::DefKind::Def,
        },
        recursive: ast::Recursive::No,
        name: ast::Ident {
            name: extra.name,
            span,
        },
        sizes: Vec::new(),
        params: Vec::new(),
        result: None,
        body: extra.expr,
        span,
    })
}

impl Front {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The program in Core, checked. The errors are what cannot be made concrete, levels that cannot stand where they do, effects that do not
    /// compose, updates
    /// that would copy and must not, or a bug of the compiler.
    pub fn core(&self) -> Result<Checked<Program>, Vec<Diagnostic>> {
        let Some(typed) = &self.typed else {
            return Err(self.diagnostics.clone());
        };
        let core = elaborate(typed, &Options::default())?;
        let mut wrong = check_levels(&core);
        wrong.extend(check_effects(&core));
        if wrong.is_empty() {
            wrong = updates::refused(&core);
        }
        match wrong.is_empty() {
            true => Ok(core),
            false => Err(wrong),
        }
    }
}
