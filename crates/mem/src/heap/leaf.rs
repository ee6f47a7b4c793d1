//! Statements on whole values: Core's interpreter runs them, on values read from the heap.

use super::items::Item;
use super::{Ran, Run, Stop, Trace, fault};
use almach_base::Span;
use almach_core::interp::{Interpreter, NoHost};
use almach_core::visit::Vars;
use almach_core::{Atom, Body, Entry, FunId, Function, Op, Param, Program, ResultType, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::{Value, ValueType};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A statement as a program of its own, and the variables it takes.
pub(super) struct LeafCode {
    interpreter: Interpreter,
    vars: Vec<Var>,
}

/// Sizes, values, and the cells that were read for them.
type LeafResult = (Vec<i64>, Vec<Value>, Vec<(usize, usize)>);

const NAME: &str = "leaf";

/// Operations with functions that are run whole: `build` and scans of rows of their own sizes, which make nothing in a block, and
/// what works in chunks, whose grouping and private cells are the collective's own.
pub(super) fn runs_whole(op: &Op) -> bool {
    let communicates = matches!(
        op.prim,
        Prim::Reduce | Prim::ReduceComm | Prim::Scan | Prim::ScanExclusive | Prim::ReduceByIndex
    );
    let is_whole = matches!(op.prim, Prim::Build | Prim::ScanRows | Prim::ScanRowsExclusive);
    is_whole || (communicates && op.annotation.chunk.is_some())
}

impl Run<'_> {
    /// Runs a statement; its sizes, its values, and the cells that were read for them.
    pub(super) fn leaf(&mut self, stmt: &Stmt) -> Ran<LeafResult> {
        let code = self.leaf_code(stmt)?;
        self.traces.push(Trace::default());
        let args: Ran<Vec<Value>> = code
            .vars
            .iter()
            .map(|var| {
                let ty = self.type_of(&Atom::Var(var.clone()));
                let item = self.atom(&Atom::Var(var.clone()))?;
                self.value(&item, &ty)
            })
            .collect();
        let trace = self.traces.pop().unwrap_or_default();
        let read: Vec<(usize, usize)> = trace.reads.iter().copied().collect();
        if let Some(outer) = self.traces.last_mut() {
            outer.reads.extend(trace.reads);
        }
        let (sizes, values) = code
            .interpreter
            .call_as_core(NAME, &[], args?, &mut NoHost)
            .map_err(Stop::Error)?;
        Ok((sizes, values, read))
    }

    fn leaf_code(&mut self, stmt: &Stmt) -> Ran<Rc<LeafCode>> {
        let key = crate::ir::key(stmt).cloned();
        if let Some(key) = &key
            && let Some(code) = self.leaves.get(key)
        {
            return Ok(Rc::clone(code));
        }
        let code = Rc::new(self.compile(stmt)?);
        if let Some(key) = key {
            self.leaves.insert(key, Rc::clone(&code));
        }
        Ok(code)
    }

    fn compile(&self, stmt: &Stmt) -> Ran<LeafCode> {
        let vars = self.vars_of(stmt);
        let params = vars.iter().map(|var| Param {
            var: var.clone(),
            ty: self.type_of(&Atom::Var(var.clone())),
        });
        let pattern = &stmt.pattern;
        let function = Function {
            name: NAME.into(),
            context: Vec::new(),
            params: params.collect(),
            result: ResultType {
                context: pattern.context.clone(),
                types: pattern.values.iter().map(|value| value.ty.clone()).collect(),
            },
            body: Body {
                stmts: vec![stmt.clone()],
                context: pattern.context.iter().cloned().map(Atom::Var).collect(),
                values: pattern
                    .values
                    .iter()
                    .map(|value| Atom::Var(value.var.clone()))
                    .collect(),
            },
            span: Span::NONE,
        };
        let core = &self.program.core;
        let mut functions = match &stmt.exp {
            almach_core::Exp::Op(op) if !op.functions.is_empty() => core.functions.clone(),
            _ => Vec::new(),
        };
        functions.push(function);
        let program = Program {
            data: core.data.clone(),
            foreign: core.foreign.clone(),
            entries: vec![Entry {
                name: NAME.into(),
                function: FunId(functions.len() as u32 - 1),
                params: Vec::new(),
                result: ValueType::Tuple(Vec::new()),
                span: Span::NONE,
            }],
            functions,
            next_var: core.next_var,
        };
        match Interpreter::new(&program) {
            Ok(interpreter) => Ok(LeafCode { interpreter, vars }),
            Err(bug) => fault(format!("a statement cannot be run alone: {}", bug.title)),
        }
    }

    /// What a statement takes: what it uses, and the sizes in the types of that.
    fn vars_of(&self, stmt: &Stmt) -> Vec<Var> {
        let mut found: BTreeSet<Var> = BTreeSet::new();
        let mut open: Vec<Var> = Vars::of_exp(&stmt.exp).free().cloned().collect();
        let bound = &stmt.pattern.context;
        for value in &stmt.pattern.values {
            value.ty.for_each_size_var(&mut |var| open.push(var.clone()));
        }
        while let Some(var) = open.pop() {
            if bound.contains(&var) || !found.insert(var.clone()) {
                continue;
            }
            let ty = self.type_of(&Atom::Var(var));
            ty.for_each_size_var(&mut |var| open.push(var.clone()));
        }
        found.into_iter().collect()
    }

    /// Sizes that a context binds, found in the value they are sizes of.
    pub(super) fn bind_sizes(&mut self, context: &[Var], ty: &Type, item: &Item) -> Ran<()> {
        if context.is_empty() {
            return Ok(());
        }
        self.traces.push(Trace::default());
        let value = self.value(item, ty);
        self.traces.pop();
        let mut sizes = Vec::new();
        find_sizes(&value?, ty, &mut |var, size| {
            if context.contains(var) {
                sizes.push((var.clone(), size));
            }
        });
        for (var, size) in sizes {
            self.bind(&var, super::Bound::Integer(size));
        }
        Ok(())
    }
}

fn find_sizes(value: &Value, ty: &Type, found: &mut dyn FnMut(&Var, i64)) {
    use almach_core::Dim;
    match (value, ty) {
        (Value::Tuple(parts), Type::Tuple(types)) => {
            for (part, ty) in parts.iter().zip(types) {
                find_sizes(part, ty, found);
            }
        }
        (Value::Array(array), Type::Array(dim, element)) => {
            if let Dim::Size(size) = dim
                && let Some(var) = size.as_var()
            {
                found(var, array.len as i64);
            }
            row_sizes(array, element, found);
        }
        _ => {}
    }
}

fn row_sizes(array: &almach_value::ArrayValue, element: &Type, found: &mut dyn FnMut(&Var, i64)) {
    use almach_core::Dim;
    use almach_value::Elements;
    match (&array.elements, element) {
        (Elements::Tuples(parts), Type::Tuple(types)) => {
            for (part, ty) in parts.iter().zip(types) {
                row_sizes(part, ty, found);
            }
        }
        (Elements::Rows { row, inner }, Type::Array(Dim::Size(size), element)) => {
            if let Some(var) = size.as_var() {
                found(var, *row as i64);
            }
            row_sizes(inner, element, found);
        }
        (Elements::Jagged { inner, .. }, Type::Array(_, element)) => row_sizes(inner, element, found),
        _ => {}
    }
}
