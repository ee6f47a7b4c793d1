//! Statements and what they lead to.

use crate::items::{Printer, put, several};
use crate::scalars::{constant, quoted};
use almach_core::{Atom, Body, Exp, Param, Stmt, Type, Var};
use std::fmt::Write;

/// Whether a chain of `let`s is waiting for its `in`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Open,
    Closed,
}

impl Printer<'_> {
    pub fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Var(var) => self.names.var(var).to_owned(),
            Atom::Const(scalar) => constant(*scalar),
        }
    }

    pub fn atoms(&self, atoms: &[Atom]) -> Vec<String> {
        atoms.iter().map(|atom| self.atom(atom)).collect()
    }

    /// What a body gives.
    pub fn tuple(&self, values: &[Atom]) -> String {
        several(&self.atoms(values))
    }

    pub fn body(&self, body: &Body, out: &mut String) {
        let result = self.tuple(&body.values);
        self.body_giving(body, &result, out);
    }

    /// The body with another text for its result.
    pub fn body_giving(&self, body: &Body, result: &str, out: &mut String) {
        self.body_after(&[], body, result, out);
    }

    /// The body after definitions of sizes.
    pub fn body_after(&self, lead: &[String], body: &Body, result: &str, out: &mut String) {
        let mut chain = Chain::Closed;
        for line in lead {
            put!(out, "{line}\n");
            chain = Chain::Open;
        }
        for stmt in &body.stmts {
            if let Exp::Assert { condition, text } = &stmt.exp {
                if chain == Chain::Open {
                    out.push_str("in ");
                }
                put!(out, "assert {}, {} in\n", self.atom(condition), quoted(text));
                chain = Chain::Closed;
            } else {
                self.stmt(stmt, out);
                chain = Chain::Open;
            }
        }
        if chain == Chain::Open {
            out.push_str("in ");
        }
        put!(out, "{result}\n");
    }

    fn stmt(&self, stmt: &Stmt, out: &mut String) {
        let names: Vec<String> = stmt
            .pattern
            .values
            .iter()
            .map(|value| self.names.var(&value.var).to_owned())
            .collect();
        put!(out, "let {} = ", several(&names));
        self.exp(&stmt.exp, &stmt.pattern, out);
        out.push('\n');
        for line in self.size_names(&stmt.pattern.context, &stmt.pattern.values) {
            put!(out, "{line}\n");
        }
    }

    /// Definitions of the sizes that values show and that are needed by name.
    pub fn size_names(&self, context: &[Var], values: &[Param]) -> Vec<String> {
        let mut lines = Vec::new();
        for var in context.iter().filter(|var| self.uses.contains(var)) {
            let name = self.names.var(var);
            let shown = values
                .iter()
                .find_map(|value| length(var, self.names.var(&value.var).to_owned(), &value.ty));
            if let Some(length) = shown {
                lines.push(format!("let {name} = {length}"));
            } else {
                lines.push(format!("let {name} = SIZE_WITHOUT_NAME"));
            }
        }
        lines
    }
}

/// The expression that gives a size which the value has outermost.
fn length(var: &Var, value: String, ty: &Type) -> Option<String> {
    match ty {
        Type::Array(almach_core::Dim::Size(size), _) => {
            (size.as_var() == Some(var)).then(|| format!("length {value}"))
        }
        Type::Tuple(parts) => parts
            .iter()
            .enumerate()
            .find_map(|(at, part)| length(var, format!("{value}.{at}"), part)),
        Type::Array(..) | Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => None,
    }
}
