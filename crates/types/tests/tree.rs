//! The typed tree keeps its promises to elaboration, for the prelude, every example and every file test: nothing is left
//! open, names are bound, the types of applications, patterns and projections fit (sizes apart, which are only proofs).
#![allow(clippy::unwrap_used)]

mod support;

use almach_corpus::on_large_stack;
use almach_syntax::{ast, parse_expr};
use almach_types::tree::*;
use std::collections::{HashMap, HashSet};
use support::{Files, check_file, entry};

struct Validator<'p> {
    program: &'p Program,
    vars: HashSet<u32>,
    types: HashSet<u32>,
    functions: HashMap<u32, Scheme>,
    name: String,
}

impl Validator<'_> {
    fn fail(&self, what: impl std::fmt::Display, span: almach_base::Span) -> ! {
        panic!("in {}: {what} at {span:?}", self.name);
    }

    fn def(&mut self, def: &Def) {
        for (var, _) in &def.scheme.types {
            self.types.insert(var.id);
        }
        for var in &def.scheme.sizes {
            self.vars.insert(var.id);
        }
        for pattern in &def.params {
            self.pattern(pattern);
        }
        self.ty(&def.result, def.span);
        self.expr(&def.body);
        self.same(&def.result, &def.body.ty, def.span, "result and body");
    }

    fn ty(&self, ty: &Type, span: almach_base::Span) {
        match ty {
            Type::Scalar(_) | Type::Reference(_) => {}
            Type::Vector(_, element) | Type::Array(_, element) => self.ty(element, span),
            Type::Tuple(parts) => parts.iter().for_each(|part| self.ty(part, span)),
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty, span)),
            Type::Data(data, args) => self.data(*data, args, span),
            Type::Node {
                data,
                args,
                reference,
            } => {
                self.data(*data, args, span);
                self.ty(reference, span);
            }
            Type::Function(function) => {
                self.ty(&function.param, span);
                self.ty(&function.result, span);
            }
            Type::Var(var) => {
                if !self.types.contains(&var.id) {
                    self.fail(format!("'{} (number {}) is not bound", var.name, var.id), span);
                }
            }
        }
    }

    fn data(&self, data: DataId, args: &[Type], span: almach_base::Span) {
        let def = &self.program.data[data.0 as usize];
        assert_eq!(def.params.len(), args.len());
        args.iter().for_each(|arg| self.ty(arg, span));
    }

    /// Equal up to sizes, and up to a vector's broadcast scalars.
    fn same(&self, a: &Type, b: &Type, span: almach_base::Span, what: &str) {
        if !same_shape(a, b) {
            self.fail(format!("{what}: {a:?}\n  is not {b:?}"), span);
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let span = pattern.span;
        self.ty(&pattern.ty, span);
        match (&pattern.kind, &pattern.ty) {
            (PatternKind::Var(var), _) => {
                self.vars.insert(var.id);
            }
            (PatternKind::Tuple(parts), Type::Tuple(types)) if parts.len() == types.len() => {
                for (part, ty) in parts.iter().zip(types) {
                    self.same(&part.ty, ty, span, "component of a pattern");
                    self.pattern(part);
                }
            }
            (PatternKind::Record(fields), Type::Record(types)) => {
                for (at, part) in fields {
                    self.same(&part.ty, &types[*at as usize].1, span, "field of a pattern");
                    self.pattern(part);
                }
            }
            (
                PatternKind::Constructor {
                    data,
                    constructor,
                    fields,
                    ..
                },
                Type::Data(of, _) | Type::Node { data: of, .. },
            ) => {
                assert_eq!(data, of);
                let declared = &self.program.data[data.0 as usize].constructors[*constructor as usize];
                assert_eq!(declared.fields.len(), fields.len());
                fields.iter().for_each(|field| self.pattern(field));
            }
            (
                PatternKind::Wildcard | PatternKind::Int(_) | PatternKind::Float(_) | PatternKind::Bool(_),
                _,
            ) => {}
            _ => self.fail("a pattern of another type", span),
        }
    }

    fn instance(&self, instance: &Instance, scheme: &Scheme, span: almach_base::Span) {
        assert_eq!(
            instance.types.len(),
            scheme.types.len(),
            "types of an instance in {}",
            self.name
        );
        assert_eq!(
            instance.sizes.len(),
            scheme.sizes.len(),
            "sizes of an instance in {}",
            self.name
        );
        instance.types.iter().for_each(|ty| self.ty(ty, span));
    }

    fn apply(&self, head: &Expr, args: &[Expr], result: &Type, span: almach_base::Span) {
        let mut ty = &head.ty;
        for arg in args {
            let Type::Function(function) = ty else {
                self.fail("applied without being a function", span)
            };
            self.same(&function.param, &arg.ty, arg.span, "parameter and argument");
            ty = &function.result;
        }
        self.same(ty, result, span, "result of an application");
    }

    fn indices(&mut self, indices: &[IndexArg]) {
        for index in indices {
            match index {
                IndexArg::At(at) => self.expr(at),
                IndexArg::Slice { begin, end, step, .. } => {
                    [begin, end, step]
                        .into_iter()
                        .flatten()
                        .for_each(|part| self.expr(part));
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let span = expr.span;
        self.ty(&expr.ty, span);
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Prim { .. }
            | ExprKind::ScalarFunction(_)
            | ExprKind::Operator(_)
            | ExprKind::Constructor { .. } => {}
            ExprKind::Local(var) => {
                if !self.vars.contains(&var.id) {
                    self.fail(format!("`{}` is not bound", var.name), span);
                }
            }
            ExprKind::Size(size) => {
                for var in size.free_vars() {
                    if !self.vars.contains(&var.id) {
                        self.fail(format!("the size `{}` is not bound", var.name), span);
                    }
                }
            }
            ExprKind::Global(def, instance) => {
                self.instance(instance, &self.program.defs[def.0 as usize].scheme, span);
            }
            ExprKind::LocalFunction(var, instance) => {
                let Some(scheme) = self.functions.get(&var.id) else {
                    self.fail(format!("the function `{}` is not bound", var.name), span)
                };
                self.instance(instance, scheme, span);
            }
            ExprKind::Foreign(..) => {}
            ExprKind::Apply(head, args) => {
                self.expr(head);
                args.iter().for_each(|arg| self.expr(arg));
                self.apply(head, args, &expr.ty, span);
            }
            ExprKind::Lambda(params, body) => {
                let mut ty = &expr.ty;
                for param in params {
                    self.pattern(param);
                    let Type::Function(function) = ty else {
                        self.fail("a lambda that is no function", span)
                    };
                    self.same(&function.param, &param.ty, param.span, "parameter of a lambda");
                    ty = &function.result;
                }
                self.expr(body);
                self.same(ty, &body.ty, span, "body of a lambda");
            }
            ExprKind::Let(pattern, value, body) => {
                self.expr(value);
                self.pattern(pattern);
                self.same(&pattern.ty, &value.ty, span, "let");
                self.expr(body);
            }
            ExprKind::LetFunctions(functions, body) => {
                for (var, def) in functions {
                    self.functions.insert(var.id, def.scheme.clone());
                }
                functions.iter().for_each(|(_, def)| self.def(def));
                self.expr(body);
            }
            ExprKind::If(condition, yes, no) => {
                [condition, yes, no].into_iter().for_each(|e| self.expr(e));
                self.same(&yes.ty, &expr.ty, span, "then");
                self.same(&no.ty, &expr.ty, span, "else");
            }
            ExprKind::Case(scrutinee, arms) => {
                self.expr(scrutinee);
                for arm in arms {
                    self.same(&arm.pattern.ty, &scrutinee.ty, arm.span, "pattern of a case");
                    self.pattern(&arm.pattern);
                    arm.guard.iter().for_each(|guard| self.expr(guard));
                    self.expr(&arm.body);
                    self.same(&arm.body.ty, &expr.ty, arm.span, "body of a case");
                }
            }
            ExprKind::Tuple(parts) => {
                parts.iter().for_each(|part| self.expr(part));
                let types = parts.iter().map(|part| part.ty.clone()).collect();
                self.same(&Type::Tuple(types), &expr.ty, span, "tuple");
            }
            ExprKind::Array(elements) => {
                let Type::Array(_, element) = &expr.ty else {
                    self.fail("an array of another type", span)
                };
                for e in elements {
                    self.expr(e);
                    self.same(&e.ty, element, e.span, "element");
                }
            }
            ExprKind::Record(fields) => {
                let Type::Record(types) = &expr.ty else {
                    self.fail("a record of another type", span)
                };
                assert_eq!(fields.len(), types.len());
                for (at, value) in fields {
                    self.expr(value);
                    self.same(&value.ty, &types[*at as usize].1, value.span, "field");
                }
            }
            ExprKind::Project(inner, at) => {
                self.expr(inner);
                let part = match &inner.ty {
                    Type::Tuple(parts) => parts.get(*at as usize),
                    Type::Record(fields) => fields.get(*at as usize).map(|(_, ty)| ty),
                    _ => None,
                };
                match part {
                    Some(part) => self.same(part, &expr.ty, span, "projection"),
                    None => self.fail("a projection out of nothing", span),
                }
            }
            ExprKind::Index(array, indices) => {
                self.expr(array);
                self.indices(indices);
            }
            ExprKind::Range(a, b) => {
                self.expr(a);
                self.expr(b);
                self.same(&a.ty, &b.ty, span, "range");
            }
            ExprKind::Binary(operator, a, b) => {
                self.expr(a);
                self.expr(b);
                let broadcast = matches!(
                    (&a.ty, &b.ty),
                    (Type::Vector(..), Type::Scalar(_)) | (Type::Scalar(_), Type::Vector(..))
                );
                if !broadcast && *operator != Operator::Concat {
                    self.same(&a.ty, &b.ty, span, "operands");
                }
            }
            ExprKind::Unary(_, inner) | ExprKind::Trace { body: inner, .. } => {
                self.expr(inner);
                self.same(&inner.ty, &expr.ty, span, "operand");
            }
            ExprKind::Forget(inner) => {
                self.expr(inner);
                self.same(&inner.ty, &expr.ty, span, "forget");
            }
            ExprKind::Coerce(inner, ty) => {
                self.expr(inner);
                self.same(&without_names(&inner.ty), &without_names(ty), span, "coercion");
                self.same(ty, &expr.ty, span, "coercion");
            }
            ExprKind::Loop(it) => {
                self.expr(&it.initial);
                match &it.form {
                    LoopForm::For { index, bound, .. } => {
                        self.expr(bound);
                        self.vars.insert(index.id);
                        self.pattern(&it.pattern);
                    }
                    LoopForm::While(condition) => {
                        self.pattern(&it.pattern);
                        self.expr(condition);
                    }
                }
                self.expr(&it.body);
                self.same(&it.initial.ty, &it.pattern.ty, span, "initial state");
                self.same(&it.body.ty, &it.pattern.ty, span, "next state");
                self.same(&expr.ty, &it.pattern.ty, span, "final state");
            }
            ExprKind::With {
                array,
                indices,
                value,
                ..
            } => {
                self.expr(array);
                self.indices(indices);
                self.expr(value);
                self.same(&array.ty, &expr.ty, span, "update");
            }
            ExprKind::Assert { condition, body, .. } => {
                self.expr(condition);
                self.expr(body);
                self.same(&body.ty, &expr.ty, span, "assert");
            }
            ExprKind::Foreach(it) => {
                self.expr(&it.datum);
                self.vars.extend([it.rename.id, it.down.id]);
                self.pattern(&it.node);
                self.expr(&it.body);
                assert!(matches!(it.body.ty, Type::Node { .. }) && matches!(expr.ty, Type::Data(..)));
            }
        }
    }
}

/// A coercion goes between tuples and records.
fn without_names(ty: &Type) -> Type {
    match ty {
        Type::Record(fields) => Type::Tuple(fields.iter().map(|(_, field)| without_names(field)).collect()),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(without_names).collect()),
        Type::Array(size, element) => Type::Array(size.clone(), Box::new(without_names(element))),
        other => other.clone(),
    }
}

fn same_shape(a: &Type, b: &Type) -> bool {
    let all =
        |xs: &[Type], ys: &[Type]| xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same_shape(x, y));
    match (a, b) {
        (Type::Array(_, s), Type::Array(_, t)) | (Type::Vector(_, s), Type::Vector(_, t)) => same_shape(s, t),
        (Type::Tuple(xs), Type::Tuple(ys)) => all(xs, ys),
        // Fields stand in one order everywhere.
        (Type::Record(xs), Type::Record(ys)) => {
            xs.len() == ys.len()
                && xs
                    .iter()
                    .zip(ys)
                    .all(|((n, x), (m, y))| n == m && same_shape(x, y))
        }
        (Type::Data(c, xs), Type::Data(d, ys)) => c == d && all(xs, ys),
        (
            Type::Node {
                data: c,
                args: xs,
                reference: r,
            },
            Type::Node {
                data: d,
                args: ys,
                reference: s,
            },
        ) => c == d && all(xs, ys) && same_shape(r, s),
        (Type::Function(f), Type::Function(g)) => {
            same_shape(&f.param, &g.param) && same_shape(&f.result, &g.result)
        }
        _ => a == b,
    }
}

fn calls(file: &ast::File, sources: &mut almach_base::SourceMap) -> Vec<ast::Item> {
    let calls = file
        .tests
        .iter()
        .filter(|test| matches!(test.expected, ast::Expectation::Equals(_)));
    calls
        .enumerate()
        .map(|(at, test)| {
            let id = sources.add("call", test.call.as_str());
            entry(&format!("call {at}"), parse_expr(id, &test.call).0)
        })
        .collect()
}

#[test]
fn trees_are_consistent() {
    on_large_stack(|| {
        for path in almach_corpus::programs(&["prelude", "examples", "tests/programs"]) {
            let text = std::fs::read_to_string(&path).unwrap();
            let outcome = check_file(&path.to_string_lossy(), &text, Files::Disk, calls);
            let program = outcome.result.program.unwrap();
            for def in &program.defs {
                Validator {
                    program: &program,
                    vars: HashSet::new(),
                    types: HashSet::new(),
                    functions: HashMap::new(),
                    name: format!("{} of {}", def.name, path.display()),
                }
                .def(def);
            }
        }
    });
}
