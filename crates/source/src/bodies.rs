//! Statements and what they lead to.

use crate::items::{Printer, put, several};
use crate::names::INNER_SIZE;
use crate::scalars::{constant, quoted};
use crate::types::{Unnamed, Writing};
use almach_core::{Atom, Body, Dim, Exp, Param, Size, Stmt, Type, Var};
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
        let writing = Writing {
            hidden: &|var| stmt.pattern.context.contains(var),
            unnamed: Unnamed::Inferred,
        };
        let said = self.uses.said_type(stmt);
        if let Some(ty) = said.and_then(|ty| self.ty(ty, None, &writing)) {
            put!(out, " :> {ty}");
        }
        out.push('\n');
        for line in self.size_names(&stmt.pattern.context, &stmt.pattern.values) {
            put!(out, "{line}\n");
        }
    }

    /// Definitions of the sizes that values show and that are needed by name.
    pub fn size_names(&self, context: &[Var], values: &[Param]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut inner = Vec::new();
        for var in context.iter().filter(|var| self.uses.contains(var)) {
            let name = self.names.var(var);
            let outermost = values
                .iter()
                .find_map(|value| length(var, self.names.var(&value.var).to_owned(), &value.ty));
            if let Some(length) = outermost {
                lines.push(format!("let {name} = {length}"));
            } else if let Some(size) = values.iter().find_map(|value| self.inner_size(var, value)) {
                lines.push(format!("let {name} = {size}"));
                inner.push(var);
            }
        }
        lines.extend(
            values
                .iter()
                .filter_map(|value| self.with_inner_sizes(value, &inner, context)),
        );
        lines
    }

    /// `let xss = xss :> [][k]t`: inference knows what the length of an array is, and not that `k` is the size of its rows.
    fn with_inner_sizes(&self, value: &Param, inner: &[&Var], context: &[Var]) -> Option<String> {
        if !value.ty.mentions(&|var| inner.contains(&var)) {
            return None;
        }
        let writing = Writing {
            hidden: &|var| context.contains(var) && !self.uses.contains(var),
            unnamed: Unnamed::Inferred,
        };
        let ty = self.ty(&value.ty, None, &writing)?;
        let name = self.names.var(&value.var);
        Some(format!("let {name} = {name} :> {ty}"))
    }

    /// The expression that gives a size which the value has further in, where there may be no row to ask: a function binds the
    /// sizes of its argument.
    fn inner_size(&self, var: &Var, value: &Param) -> Option<String> {
        let mut sizes = Vec::new();
        let ty = self.with_own_sizes(&value.ty, &mut sizes)?;
        let at = sizes.iter().position(|size| size.as_var() == Some(var))?;
        let bound: Vec<String> = (0..sizes.len()).map(|at| format!("[size_{at}]")).collect();
        let (bound, value) = (bound.join(" "), self.names.var(&value.var));
        Some(format!(
            "(let {INNER_SIZE} {bound} (shown: {ty}): i64 = size_{at} in {INNER_SIZE} {value})"
        ))
    }

    /// The type with a name of its own for every size; none where it has no surface syntax.
    fn with_own_sizes(&self, ty: &Type, sizes: &mut Vec<Size>) -> Option<String> {
        Some(match ty {
            Type::Array(dim, element) => {
                let dim = match dim {
                    Dim::Size(size) => {
                        sizes.push(size.clone());
                        format!("size_{}", sizes.len() - 1)
                    }
                    Dim::Jagged => "?".to_owned(),
                };
                format!("[{dim}]{}", self.with_own_sizes(element, sizes)?)
            }
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.with_own_sizes(part, sizes));
                let parts: Vec<String> = parts.collect::<Option<_>>()?;
                crate::types::tuple_type(&parts, None)
            }
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => {
                let writing = Writing {
                    hidden: &|_| false,
                    unnamed: Unnamed::Inferred,
                };
                self.ty(ty, None, &writing)?
            }
        })
    }
}

/// The expression that gives a size which the value has outermost.
fn length(var: &Var, value: String, ty: &Type) -> Option<String> {
    match ty {
        Type::Array(Dim::Size(size), _) => (size.as_var() == Some(var)).then(|| format!("length {value}")),
        Type::Tuple(parts) => parts
            .iter()
            .enumerate()
            .find_map(|(at, part)| length(var, format!("{value}.{at}"), part)),
        Type::Array(..) | Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => None,
    }
}
