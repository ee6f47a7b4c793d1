//! Tables of constants: a loop of a few iterations that looks up one of them by its index is written out, and what it finds is there.
//!
//! ```text
//! for q < 3 {                                 sum = sum + 1i64 * xs[0]
//!   buffer weights: i64                       sum = sum + 2i64 * xs[1]
//!   alloc weights[3]                    ~~>   sum = sum + 1i64 * xs[2]
//!   weights[0] = 1i64 …
//!   sum = sum + weights[q] * xs[q]
//! }
//! ```
//!
//! Neighbours in a stencil, weights of a filter, small matrices: the proofs that follow know the constants, and so does the C compiler.
//!
//! A loop for lanes that only computes with what it finds stays a loop, which reads its tables as vectors: they are made in front of it.
//!
//! Removes: loops of a few iterations, loads of constants. Introduces: copies of loop bodies. Guarantees: the same statements run, in the same order.
//! Tables that nothing reads any more go.

use crate::edges::replace;
use crate::rename::{binders, copied};
use crate::tidy::tidy;
use almach_base::Name;
use almach_imp::{Argument, Expr, Index, LoopMode, Proc, Space, Stmt, Transfer};
use almach_value::Scalar;
use std::collections::{HashMap, HashSet};

/// Cells that a table may have at most.
const MOST_CELLS: usize = 64;

/// Iterations that a loop may have at most, and statements when it is written out, tables apart.
const MOST_ITERATIONS: i64 = 16;
const MOST_STATEMENTS: usize = 200;

/// Iterations that a loop for lanes has at least.
const LEAST_LANES: i64 = 8;

pub(crate) fn constant_tables(proc: &mut Proc) {
    let mut tables = Tables::default();
    tables.find(&proc.body);
    tables.known.retain(|name, _| !tables.others.contains(name));
    if tables.known.is_empty() {
        return;
    }
    let mut taken = HashSet::new();
    binders(&proc.body, &mut taken);
    taken.extend(proc.params.iter().map(|param| param.name.clone()));
    let mut writer = Writer {
        tables: tables.known,
        taken,
        copies: 0,
    };
    writer.block(&mut proc.body);
    if writer.copies > 0 {
        // Every copy made its tables, and all that follows would look at that.
        tidy(proc);
    }
}

/// Arrays whose cells have one value each. Names are bound once in a procedure.
#[derive(Default)]
struct Tables {
    known: HashMap<Name, Vec<Option<Scalar>>>,
    /// What is used otherwise than cell by cell.
    others: HashSet<Name>,
}

impl Tables {
    fn find(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
            stmt.blocks().into_iter().for_each(|inner| self.find(inner));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Buffer { name, space, .. } if *space == Space::Borrowed => self.other(name),
            Stmt::Alloc { buffer, size, .. } => {
                let cells = size.as_constant().and_then(|size| usize::try_from(size).ok());
                match cells.filter(|cells| *cells <= MOST_CELLS && !self.known.contains_key(buffer)) {
                    Some(cells) => {
                        self.known.insert(buffer.clone(), vec![None; cells]);
                    }
                    None => self.other(buffer),
                }
            }
            Stmt::Store { buffer, index, value } => {
                let at = index.as_constant().and_then(|at| usize::try_from(at).ok());
                let cells = self.known.get_mut(buffer);
                let cell = cells.and_then(|cells| cells.get_mut(at?));
                match (cell, value) {
                    (Some(cell @ None), Expr::Const(value)) => *cell = Some(*value),
                    _ => self.other(buffer),
                }
            }
            Stmt::Shrink { buffer, .. } | Stmt::Atomic { buffer, .. } | Stmt::Await { buffer, .. } => {
                self.other(buffer);
            }
            Stmt::Borrow { buffer, from, .. } => [buffer, from].into_iter().for_each(|name| self.other(name)),
            Stmt::Copy { to, from, .. } => [to, from].into_iter().for_each(|name| self.other(name)),
            Stmt::Swap(a, b) => [a, b].into_iter().for_each(|name| self.other(name)),
            Stmt::Transfer(
                Transfer::Attach { buffer, .. }
                | Transfer::Copied { buffer, .. }
                | Transfer::Cell { column: buffer, .. }
                | Transfer::Fetch { buffer, .. }
                | Transfer::Fresh { buffer },
            ) => self.other(buffer),
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => arguments.iter().for_each(|argument| match argument {
                Argument::Buffer(name, _) | Argument::Out(name) | Argument::Owned(name) => self.other(name),
                Argument::Value(_) => {}
            }),
            Stmt::Buffer { .. }
            | Stmt::Free(_)
            | Stmt::Let { .. }
            | Stmt::Var { .. }
            | Stmt::Assign { .. }
            | Stmt::Check { .. }
            | Stmt::Reserve { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Barrier
            | Stmt::Kernel { .. }
            | Stmt::At(_) => {}
        }
    }

    fn other(&mut self, name: &Name) {
        self.others.insert(name.clone());
    }
}

struct Writer {
    tables: HashMap<Name, Vec<Option<Scalar>>>,
    taken: HashSet<Name>,
    copies: usize,
}

impl Writer {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        let mut result = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
            stmt.for_each_expr_mut(&mut |expr| self.looked_up(expr));
            match self.on_lanes(&stmt).or_else(|| self.written_out(&stmt)) {
                Some(instead) => result.extend(instead),
                None => result.push(stmt),
            }
        }
        *stmts = result;
    }

    /// A loop for lanes, between making its tables and giving them back.
    fn on_lanes(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Stmt::For {
            index,
            width,
            count,
            mode: LoopMode::Simd,
            body,
        } = stmt
        else {
            return None;
        };
        let has_lanes = count.as_constant().is_some_and(|count| count >= LEAST_LANES);
        if !has_lanes || !self.looks_up(body, index) {
            return None;
        }
        let (tables, work): (Vec<Stmt>, Vec<Stmt>) =
            body.iter().cloned().partition(|stmt| self.makes_table(stmt));
        if !only_computes(&work) {
            return None;
        }
        let is_end = |stmt: &Stmt| matches!(stmt, Stmt::Free(_));
        let (ends, mut result): (Vec<Stmt>, Vec<Stmt>) = tables.into_iter().partition(is_end);
        result.push(Stmt::For {
            index: index.clone(),
            width: *width,
            count: count.clone(),
            mode: LoopMode::Simd,
            body: work,
        });
        result.extend(ends);
        Some(result)
    }

    /// Whether a statement is one of those that make a table, or give it back.
    fn makes_table(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Buffer { name, .. } | Stmt::Free(name) => self.tables.contains_key(name),
            Stmt::Alloc { buffer, .. } | Stmt::Store { buffer, .. } => self.tables.contains_key(buffer),
            _ => false,
        }
    }

    /// The iterations of a loop over a table, one after the other.
    fn written_out(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Stmt::For {
            index,
            count,
            mode: LoopMode::Seq | LoopMode::Simd,
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let iterations = count.as_constant().filter(|count| *count <= MOST_ITERATIONS)?;
        let statements = self.statements(body) * usize::try_from(iterations).ok()?;
        if statements > MOST_STATEMENTS || !self.looks_up(body, index) {
            return None;
        }
        let mut result = Vec::new();
        for at in 0..iterations {
            let mut copy = body.clone();
            replace(&mut copy, index, &almach_imp::Index::constant(at));
            // Under the names that the tables have here.
            self.look_up_all(&mut copy);
            result.extend(copied(&copy, &self.suffix()));
        }
        binders(&result, &mut self.taken);
        Some(result)
    }

    fn suffix(&mut self) -> String {
        loop {
            self.copies += 1;
            let suffix = format!("_t{}", self.copies);
            if !self.taken.iter().any(|name| name.ends_with(&suffix)) {
                return suffix;
            }
        }
    }

    /// Statements, without those that make tables.
    fn statements(&self, stmts: &[Stmt]) -> usize {
        let own = stmts
            .iter()
            .filter(|stmt| !matches!(stmt, Stmt::At(_)) && !self.makes_table(stmt));
        own.map(|stmt| {
            let inside = stmt.blocks().into_iter().map(|inner| self.statements(inner));
            1 + inside.sum::<usize>()
        })
        .sum()
    }

    /// Whether a table is looked up by the index of a loop.
    fn looks_up(&self, stmts: &[Stmt], index: &Name) -> bool {
        let mut found = false;
        for stmt in stmts {
            stmt.for_each_expr(&mut |expr| found |= self.is_looked_up(expr, index));
            found |= stmt.blocks().into_iter().any(|inner| self.looks_up(inner, index));
        }
        found
    }

    fn is_looked_up(&self, expr: &Expr, by: &Name) -> bool {
        match expr {
            Expr::Load(buffer, index) => self.tables.contains_key(buffer) && index.mentions(by),
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => false,
            Expr::Unary(_, a) => self.is_looked_up(a, by),
            Expr::Binary(_, a, b) => self.is_looked_up(a, by) || self.is_looked_up(b, by),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().any(|part| self.is_looked_up(part, by))
            }
        }
    }

    fn look_up_all(&self, stmts: &mut [Stmt]) {
        for stmt in stmts {
            stmt.for_each_expr_mut(&mut |expr| self.looked_up(expr));
            stmt.blocks_mut()
                .into_iter()
                .for_each(|inner| self.look_up_all(inner));
        }
    }

    /// Constants in the place of cells that are known.
    fn looked_up(&self, expr: &mut Expr) {
        match expr {
            Expr::Load(buffer, index) => {
                let at = index.as_constant().and_then(|at| usize::try_from(at).ok());
                let cells = self.tables.get(buffer);
                if let Some(Some(value)) = cells.and_then(|cells| cells.get(at?)) {
                    *expr = Expr::Const(*value);
                }
            }
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
            Expr::Unary(_, a) => self.looked_up(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.looked_up(part)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.looked_up(part));
            }
        }
    }
}

/// Whether statements are straight-line code in which no index depends on what was computed before.
fn only_computes(stmts: &[Stmt]) -> bool {
    let mut names = HashSet::new();
    binders(stmts, &mut names);
    is_straight_line(stmts) && !is_indexed_by(stmts, &names)
}

fn is_straight_line(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } => true,
        Stmt::Check { .. } | Stmt::At(_) => true,
        Stmt::If { then, otherwise, .. } => is_straight_line(then) && is_straight_line(otherwise),
        _ => false,
    })
}

/// Whether a cell is written or read at an index with such a name in it.
fn is_indexed_by(stmts: &[Stmt], names: &HashSet<Name>) -> bool {
    let mentions = |index: &Index| index.free_vars().any(|var| names.contains(var));
    stmts.iter().any(|stmt| {
        let mut found = matches!(stmt, Stmt::Store { index, .. } if mentions(index));
        stmt.for_each_expr(&mut |expr| found |= loads_at(expr, &mentions));
        found || stmt.blocks().into_iter().any(|inner| is_indexed_by(inner, names))
    })
}

fn loads_at(expr: &Expr, mentions: &impl Fn(&Index) -> bool) -> bool {
    match expr {
        Expr::Load(_, index) => mentions(index),
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => false,
        Expr::Unary(_, a) => loads_at(a, mentions),
        Expr::Binary(_, a, b) => [a, b].into_iter().any(|part| loads_at(part, mentions)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().any(|part| loads_at(part, mentions))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_imp::canonical::canonical_text;

    fn text(body: &str) -> String {
        format!("proc p(n: i64, xs: read i64, out: write i64) {{\n{body}\n}}")
    }

    fn after(body: &str) -> String {
        let mut program = almach_imp::parse(&text(body)).unwrap();
        program.procs.iter_mut().for_each(|proc| {
            constant_tables(proc);
            tidy(proc);
        });
        canonical_text(almach_imp::check(program).unwrap().program())
    }

    fn as_it_is(body: &str) -> String {
        canonical_text(&almach_imp::parse(&text(body)).unwrap())
    }

    #[test]
    fn a_loop_over_a_table_is_written_out() {
        let found = after(
            "for i < n {\nfor q < 2 {\nbuffer w: i64\nalloc w[2]\nw[0] = 5i64\nw[1] = 7i64\nlet y: i64 = w[q]\nout[2*i + q] = y * xs[i]\nfree w\n}\n}",
        );
        let expected = "for i < n {\nlet y: i64 = 5i64\nout[2*i] = y * xs[i]\nlet z: i64 = 7i64\nout[2*i + 1] = z * xs[i]\n}";
        assert_eq!(found, as_it_is(expected));
    }

    #[test]
    fn a_loop_for_lanes_reads_its_tables() {
        let table: String = (0..8).map(|at| format!("w[{at}] = {at}i64\n")).collect();
        let work = |index: &str| format!("let y: i64 = w[q]\nout[8*i + {index}] = y * xs[i]\n");
        let found = after(&format!(
            "for i < n {{\nsimd for q < 8 {{\nbuffer w: i64\nalloc w[8]\n{table}{}free w\n}}\n}}",
            work("q")
        ));
        let expected = format!(
            "for i < n {{\nbuffer w: i64\nalloc w[8]\n{table}simd for q < 8 {{\n{}}}\nfree w\n}}",
            work("q")
        );
        assert_eq!(found, as_it_is(&expected));
        let permuted = after(&format!(
            "for i < n {{\nsimd for q < 8 {{\nbuffer w: i64\nalloc w[8]\n{table}{}free w\n}}\n}}",
            work("y")
        ));
        assert!(!permuted.contains("simd"), "{permuted}");
    }

    #[test]
    fn what_is_no_table_stays_and_so_do_long_loops() {
        for body in [
            "buffer w: i64\nalloc w[2]\nw[0] = 5i64\nw[1] = xs[0]\nfor q < 2 {\nout[q] = w[q]\n}\nfree w",
            "buffer w: i64\nalloc w[2]\nw[0] = 5i64\nw[1] = 7i64\nw[1] = 8i64\nfor q < 2 {\nout[q] = w[q]\n}\nfree w",
            "buffer w: i64\nalloc w[2]\nw[0] = 5i64\nw[1] = 7i64\nfor q < 64 {\nout[q] = w[q / 32]\n}\nfree w",
        ] {
            assert_eq!(after(body), as_it_is(body));
        }
    }
}
