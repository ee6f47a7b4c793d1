//! Moves each `let` to right before the first statement of its block that uses it.
//!
//! ```text
//! let width: f32 = to_f32(n)           let small: bool = n < 8
//! let small: bool = n < 8              if small { … }
//! if small { … }                 ~~>   let width: f32 = to_f32(n)
//! result = width                       result = width
//! ```
//!
//! Rewrites that take values apart and put them together again leave scalars in an order that nothing asks for. Behind this
//! pass it is the order of their uses, however the program above was written; and whoever reads the code finds a value where
//! it is used.
//!
//! Removes: nothing. Introduces: nothing. Guarantees: the same results and errors. Expressions have no effects, and what moves
//! reads neither memory nor variables, so that its value is the same anywhere.

use crate::tidy::{Reads, touches};
use almach_base::{Name, Span};
use almach_imp::{Expr, Passing, Proc, Stmt};
use std::collections::{HashMap, HashSet};

pub(crate) fn near_use(proc: &mut Proc) {
    let outs = proc
        .params
        .iter()
        .filter(|param| matches!(param.passing, Passing::Out));
    let mut variables: HashSet<Name> = outs.map(|param| param.name.clone()).collect();
    collect_variables(&proc.body, &mut variables);
    block(&mut proc.body, &variables);
}

/// The scalars of a procedure that change.
fn collect_variables(stmts: &[Stmt], variables: &mut HashSet<Name>) {
    for stmt in stmts {
        if let Stmt::Var { name, .. } = stmt {
            variables.insert(name.clone());
        }
        stmt.blocks()
            .into_iter()
            .for_each(|inner| collect_variables(inner, variables));
    }
}

fn block(stmts: &mut Vec<Stmt>, variables: &HashSet<Name>) {
    let mut walk = Moving {
        variables,
        held: HashMap::new(),
        place: None,
        last_place: None,
        result: Vec::with_capacity(stmts.len()),
    };
    for stmt in std::mem::take(stmts) {
        walk.stmt(stmt);
    }
    *stmts = walk.result;
}

/// A `let` that nothing has used yet.
struct Held {
    stmt: Stmt,
    place: Option<Span>,
    /// What it uses, by where.
    needs: Vec<Name>,
}

struct Moving<'a> {
    variables: &'a HashSet<Name>,
    held: HashMap<Name, Held>,
    /// Where in the source what comes now is from, and what stands last in the result.
    place: Option<Span>,
    last_place: Option<Span>,
    result: Vec<Stmt>,
}

impl Moving<'_> {
    fn stmt(&mut self, mut stmt: Stmt) {
        match stmt {
            Stmt::At(span) => self.place = Some(span),
            Stmt::Let {
                ref name, ref value, ..
            } if self.is_constant(value) => {
                let mut reads = Reads::default();
                reads.expr(value);
                let held = Held {
                    needs: reads.in_order,
                    place: self.place,
                    stmt: stmt.clone(),
                };
                self.held.insert(name.clone(), held);
            }
            _ => {
                stmt.blocks_mut()
                    .into_iter()
                    .for_each(|inner| block(inner, self.variables));
                let mut used = Reads::default();
                touches(&stmt, &mut used);
                used.in_order.iter().for_each(|name| self.place(name));
                self.push(stmt, self.place);
            }
        }
    }

    /// Places a `let`, behind those that it needs.
    fn place(&mut self, name: &Name) {
        let mut open = vec![name.clone()];
        while let Some(name) = open.last() {
            let needs = self.held.get(name).map(|held| held.needs.iter());
            let needed = needs.and_then(|mut needs| needs.find(|need| self.held.contains_key(*need)));
            match needed {
                Some(need) => open.push(need.clone()),
                None => {
                    if let Some(held) = open.pop().and_then(|name| self.held.remove(&name)) {
                        self.push(held.stmt, held.place);
                    }
                }
            }
        }
    }

    /// Whether an expression has the same value anywhere.
    fn is_constant(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) => true,
            Expr::Var(name) => !self.variables.contains(name),
            Expr::Index(index) => index.free_vars().all(|name| !self.variables.contains(name)),
            Expr::Load(..) => false,
            Expr::Unary(_, a) => self.is_constant(a),
            Expr::Binary(_, a, b) => self.is_constant(a) && self.is_constant(b),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().all(|part| self.is_constant(part))
            }
        }
    }

    fn push(&mut self, stmt: Stmt, place: Option<Span>) {
        if let Some(span) = place
            && place != self.last_place
        {
            self.result.push(Stmt::At(span));
            self.last_place = place;
        }
        self.result.push(stmt);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_imp::canonical::canonical_text;

    fn moved(body: &str) -> String {
        let text = format!("proc p(n: i64, m: i64, xs: read i64, out: write i64) {{\n{body}\n}}");
        let mut program = almach_imp::parse(&text).unwrap();
        program.procs.iter_mut().for_each(near_use);
        canonical_text(almach_imp::check(program).unwrap().program())
    }

    #[test]
    fn the_order_of_constants_is_that_of_their_uses() {
        let uses = "if small {\nout[0] = n\n}\nout[1] = product";
        let one = format!("let product: i64 = n * m\nlet small: bool = n < 8i64\n{uses}");
        let other = format!("let small: bool = n < 8i64\nlet product: i64 = n * m\n{uses}");
        assert_eq!(moved(&one), moved(&other));
        let placed = "let small: bool = n < 8i64\nif small {\nout[0] = n\n}\nlet product: i64 = n * m\nout[1] = product";
        let text = format!("proc p(n: i64, m: i64, xs: read i64, out: write i64) {{\n{placed}\n}}");
        assert_eq!(moved(&one), canonical_text(&almach_imp::parse(&text).unwrap()));
    }

    #[test]
    fn what_reads_memory_or_variables_stays() {
        let body = "var sum: i64 = 0i64\nlet first: i64 = xs[0]\nlet before: i64 = sum\nsum = n\nout[0] = before\nout[1] = first";
        let text = format!("proc p(n: i64, m: i64, xs: read i64, out: write i64) {{\n{body}\n}}");
        assert_eq!(moved(body), canonical_text(&almach_imp::parse(&text).unwrap()));
    }
}
