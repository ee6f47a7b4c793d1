//! Which variables code mentions, as values or in sizes that values depend on. Numbers of variables are unique in the
//! program and environments are lexical, so what the code itself binds is not in any environment it is closed over, and
//! need not be taken out.

use crate::Elaborator;
use almach_prim::Prim;
use almach_types::tree::{Def, Dim, Expr, ExprKind, IndexArg, Instance, LoopForm, Size, Type, Var};
use std::collections::BTreeSet;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    pub(crate) fn mentioned_in_expr(&mut self, expr: &'a Expr) -> Rc<[u32]> {
        let address: *const () = std::ptr::from_ref(expr).cast();
        if let Some(known) = self.mentioned.get(&address) {
            return known.clone();
        }
        let mut found = Mentioned::default();
        found.expr(expr);
        self.remember(address, found)
    }

    pub(crate) fn mentioned_in_defs(&mut self, defs: &'a [(Var, Def)]) -> Rc<[u32]> {
        let address: *const () = defs.as_ptr().cast();
        if let Some(known) = self.mentioned.get(&address) {
            return known.clone();
        }
        let mut found = Mentioned::default();
        defs.iter().for_each(|(_, def)| found.def(def));
        self.remember(address, found)
    }

    fn remember(&mut self, address: *const (), found: Mentioned) -> Rc<[u32]> {
        let ids: Rc<[u32]> = found.ids.into_iter().collect();
        self.mentioned.insert(address, ids.clone());
        ids
    }
}

/// Counting stops here: larger is large enough.
const MAX_WEIGHT: usize = 1_000;

impl<'a> Elaborator<'a> {
    /// How much code an expression is.
    pub(crate) fn weight(&mut self, expr: &'a Expr) -> usize {
        let address: *const () = std::ptr::from_ref(expr).cast();
        if let Some(known) = self.weights.get(&address) {
            return *known;
        }
        let mut weight = Weight { nodes: 0 };
        weight.expr(expr);
        self.weights.insert(address, weight.nodes);
        weight.nodes
    }
}

struct Weight {
    nodes: usize,
}

impl Weight {
    fn expr(&mut self, expr: &Expr) {
        self.nodes += 1;
        if self.nodes < MAX_WEIGHT {
            for_each_part(expr, &mut |part| self.expr(part));
        }
    }
}

#[derive(Default)]
struct Mentioned {
    ids: BTreeSet<u32>,
}

impl Mentioned {
    fn var(&mut self, var: &Var) {
        self.ids.insert(var.id);
    }

    fn size(&mut self, size: &Size) {
        size.occurrences().for_each(|var| self.var(var));
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Scalar(_) | Type::Reference(_) | Type::Var(_) => {}
            Type::Vector(size, element) => {
                self.size(size);
                self.ty(element);
            }
            Type::Tuple(parts) => parts.iter().for_each(|ty| self.ty(ty)),
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty)),
            Type::Array(dim, element) => {
                if let Dim::Size(size) = dim {
                    self.size(size);
                }
                self.ty(element);
            }
            Type::Data(_, args) | Type::Node { args, .. } => args.iter().for_each(|ty| self.ty(ty)),
            Type::Function(function) => {
                self.ty(&function.param);
                self.ty(&function.result);
            }
        }
    }

    fn instance(&mut self, instance: &Instance) {
        instance.types.iter().for_each(|ty| self.ty(ty));
        instance.sizes.iter().for_each(|size| self.size(size));
    }

    fn signature(&mut self, def: &Def) {
        def.params.iter().for_each(|param| self.ty(&param.ty));
        self.ty(&def.result);
    }

    fn def(&mut self, def: &Def) {
        self.signature(def);
        self.expr(&def.body);
    }

    /// The sizes of rows decide whether the result of a `map` is regular.
    fn map_rows(&mut self, ty: &Type, arrays: usize) {
        let mut at = ty;
        for _ in 0..=arrays {
            match at {
                Type::Function(function) => at = &function.result,
                _ => return,
            }
        }
        if let Type::Array(_, element) = at {
            self.ty(element);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Local(var) => self.var(var),
            ExprKind::Size(size) => self.size(size),
            ExprKind::Global(_, instance) | ExprKind::Foreign(_, instance) => self.instance(instance),
            ExprKind::LocalFunction(var, instance) => {
                self.var(var);
                self.instance(instance);
            }
            ExprKind::Prim {
                prim: Prim::Map,
                arrays,
                annotation: _,
            } => self.map_rows(&expr.ty, *arrays),
            ExprKind::LetFunctions(defs, _) => defs.iter().for_each(|(_, def)| self.signature(def)),
            ExprKind::Loop(looped) => self.ty(&looped.pattern.ty),
            ExprKind::Coerce(_, ty) => self.ty(ty),
            _ => {}
        }
        for_each_part(expr, &mut |part| self.expr(part));
    }
}

/// Calls `visit` on every expression directly inside another.
fn for_each_part<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Size(_)
        | ExprKind::Global(..)
        | ExprKind::LocalFunction(..)
        | ExprKind::Foreign(..)
        | ExprKind::Prim { .. }
        | ExprKind::ScalarFunction(_)
        | ExprKind::Operator(_)
        | ExprKind::Constructor { .. } => {}
        ExprKind::Apply(function, args) => {
            visit(function);
            args.iter().for_each(visit);
        }
        ExprKind::Lambda(_, inner)
        | ExprKind::Project(inner, _)
        | ExprKind::Unary(_, inner)
        | ExprKind::Trace { body: inner, .. }
        | ExprKind::Coerce(inner, _)
        | ExprKind::Forget(inner) => visit(inner),
        ExprKind::LetFunctions(defs, body) => {
            defs.iter().for_each(|(_, def)| visit(&def.body));
            visit(body);
        }
        ExprKind::If(condition, then, otherwise) => {
            [condition, then, otherwise]
                .into_iter()
                .for_each(|part| visit(part));
        }
        ExprKind::Case(scrutinee, arms) => {
            visit(scrutinee);
            for arm in arms {
                arm.guard.iter().for_each(&mut *visit);
                visit(&arm.body);
            }
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().for_each(visit),
        ExprKind::Record(fields) => fields.iter().for_each(|(_, field)| visit(field)),
        ExprKind::Let(_, left, right)
        | ExprKind::Range(left, right)
        | ExprKind::Binary(_, left, right)
        | ExprKind::Assert {
            condition: left,
            body: right,
            ..
        } => {
            visit(left);
            visit(right);
        }
        ExprKind::Index(array, indices) => {
            visit(array);
            for_each_index(indices, visit);
        }
        ExprKind::With {
            array,
            indices,
            value,
            in_place: _,
        } => {
            visit(array);
            for_each_index(indices, visit);
            visit(value);
        }
        ExprKind::Loop(looped) => {
            visit(&looped.initial);
            match &looped.form {
                LoopForm::For { bound, .. } => visit(bound),
                LoopForm::While(condition) => visit(condition),
            }
            visit(&looped.body);
        }
        ExprKind::Foreach(foreach) => {
            visit(&foreach.datum);
            visit(&foreach.body);
        }
    }
}

fn for_each_index<'e>(indices: &'e [IndexArg], visit: &mut dyn FnMut(&'e Expr)) {
    for index in indices {
        match index {
            IndexArg::At(at) => visit(at),
            IndexArg::Slice {
                begin,
                end,
                bound: _,
                step,
                span: _,
            } => [begin, end, step].into_iter().flatten().for_each(&mut *visit),
        }
    }
}
