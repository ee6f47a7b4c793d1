//! Equality of programs up to the numbers of variables.
#![allow(dead_code)]

use almach_base::Span;
use almach_core::print::Spans;
use almach_core::visit::{WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Program, Size, Stmt, Type, Var};
use std::collections::HashMap;

/// A program with variables numbered in the order of their binders and without names, as text.
pub fn canonical(program: &Program, spans: Spans) -> String {
    let mut program = program.clone();
    let mut renamer = Renamer {
        numbers: HashMap::new(),
        spans,
    };
    for def in &mut program.foreign {
        for var in &mut def.context {
            renamer.binder(var);
        }
        for param in &mut def.params {
            renamer.binder(&mut param.var);
        }
        for param in &mut def.params {
            renamer.ty(&mut param.ty);
        }
        for var in &mut def.result.context {
            renamer.binder(var);
        }
        for ty in &mut def.result.types {
            renamer.ty(ty);
        }
        def.span = Span::NONE;
    }
    for function in &mut program.functions {
        walk_function_mut(&mut renamer, function);
        function.span = Span::NONE;
        function.name = "f".into();
    }
    for entry in &mut program.entries {
        entry.span = Span::NONE;
    }
    program.next_var = 0;
    format!("{program:?}")
}

struct Renamer {
    numbers: HashMap<u32, u32>,
    spans: Spans,
}

impl Renamer {
    fn renamed(&self, var: &Var) -> Var {
        Var {
            id: self.numbers.get(&var.id).copied().unwrap_or(u32::MAX),
            name: "v".into(),
        }
    }
}

impl WalkMut for Renamer {
    fn binder(&mut self, var: &mut Var) {
        let next = self.numbers.len() as u32;
        self.numbers.insert(var.id, next);
        *var = self.renamed(var);
    }

    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(var) = atom {
            *var = self.renamed(var);
        }
    }

    fn ty(&mut self, ty: &mut Type) {
        *ty = ty.substitute(&|var| Some(Size::var(self.renamed(var))));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        if self.spans == Spans::Omit {
            stmt.span = Span::NONE;
        }
        walk_stmt_mut(self, stmt);
    }
}
