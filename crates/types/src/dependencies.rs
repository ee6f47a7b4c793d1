//! Which definitions of a file use which: the order of inference, and who is recursive.

use almach_base::Name;
use almach_syntax::ast::{
    Binding, Def, Dim, Expr, ExprKind, IndexArg, LoopForm, Param, Pattern, PatternKind, Recursive, SizeExpr,
    SizeKind, TypeExpr, TypeKind,
};
use std::collections::{HashMap, HashSet};

/// A group of definitions that depend on each other.
pub(crate) struct Group {
    pub members: Vec<usize>,
    /// Whether a definition reaches itself.
    pub cyclic: bool,
}

/// The definitions in groups, each after the groups it uses.
pub(crate) fn groups(defs: &[&Def]) -> Vec<Group> {
    let mut by_name = HashMap::new();
    for (at, def) in defs.iter().enumerate() {
        by_name.entry(def.name.name.clone()).or_insert(at);
    }
    let edges: Vec<Vec<usize>> = defs.iter().map(|def| uses(def, &by_name)).collect();
    components(&edges)
}

/// Strongly connected components in the order of dependence (Tarjan).
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<Group> {
    let mut state = Tarjan {
        edges,
        index: vec![None; edges.len()],
        low: vec![0; edges.len()],
        on_stack: vec![false; edges.len()],
        stack: Vec::new(),
        next: 0,
        groups: Vec::new(),
    };
    for at in 0..edges.len() {
        state.visit(at);
    }
    state.groups
}

struct Tarjan<'a> {
    edges: &'a [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    groups: Vec<Group>,
}

impl Tarjan<'_> {
    /// With a work list of its own: a chain of definitions may be long.
    fn visit(&mut self, root: usize) {
        let mut work = vec![(root, 0)];
        while let Some((at, edge)) = work.pop() {
            if edge == 0 {
                if self.index[at].is_some() {
                    continue;
                }
                self.index[at] = Some(self.next);
                self.low[at] = self.next;
                self.next += 1;
                self.stack.push(at);
                self.on_stack[at] = true;
            }
            match self.edges[at].get(edge) {
                Some(&to) => {
                    work.push((at, edge + 1));
                    match self.index[to] {
                        None => work.push((to, 0)),
                        Some(index) if self.on_stack[to] => self.low[at] = self.low[at].min(index),
                        Some(_) => {}
                    }
                }
                None => self.leave(at, &work),
            }
        }
    }

    fn leave(&mut self, at: usize, work: &[(usize, usize)]) {
        if Some(self.low[at]) == self.index[at] {
            let mut members = Vec::new();
            while let Some(member) = self.stack.pop() {
                self.on_stack[member] = false;
                members.push(member);
                if member == at {
                    break;
                }
            }
            members.sort_unstable();
            let cyclic = members.len() > 1 || self.edges[at].contains(&at);
            self.groups.push(Group { members, cyclic });
        }
        if let Some((parent, _)) = work.last() {
            self.low[*parent] = self.low[*parent].min(self.low[at]);
        }
    }
}

/// The definitions whose names occur free in a definition.
fn uses(def: &Def, by_name: &HashMap<Name, usize>) -> Vec<usize> {
    let mut walk = Walk {
        by_name,
        bound: HashMap::new(),
        found: HashSet::new(),
    };
    walk.def(def);
    let mut found: Vec<usize> = walk.found.into_iter().collect();
    found.sort_unstable();
    found
}

struct Walk<'a> {
    by_name: &'a HashMap<Name, usize>,
    bound: HashMap<Name, usize>,
    found: HashSet<usize>,
}

impl Walk<'_> {
    fn name(&mut self, name: &Name) {
        if self.bound.get(name).is_none_or(|count| *count == 0)
            && let Some(at) = self.by_name.get(name)
        {
            self.found.insert(*at);
        }
    }

    fn within(&mut self, names: &[Name], inside: impl FnOnce(&mut Self)) {
        for name in names {
            *self.bound.entry(name.clone()).or_insert(0) += 1;
        }
        inside(self);
        for name in names {
            if let Some(count) = self.bound.get_mut(name) {
                *count -= 1;
            }
        }
    }

    /// The definition's own name counts as free.
    fn def(&mut self, def: &Def) {
        let sizes: Vec<Name> = def.sizes.iter().map(|size| size.name.clone()).collect();
        self.within(&sizes, |walk| {
            walk.params(&def.params, |walk| {
                if let Some(result) = &def.result {
                    walk.ty(result);
                }
                walk.expr(&def.body);
            });
        });
    }

    fn params(&mut self, params: &[Param], inside: impl FnOnce(&mut Self)) {
        let mut names = Vec::new();
        for param in params {
            self.pattern(&param.pattern, &mut names);
        }
        self.within(&names, inside);
    }

    fn pattern(&mut self, pattern: &Pattern, names: &mut Vec<Name>) {
        match &pattern.kind {
            PatternKind::Wildcard
            | PatternKind::Int { .. }
            | PatternKind::Float { .. }
            | PatternKind::Bool(_)
            | PatternKind::Error => {}
            PatternKind::Var(name) => names.push(name.clone()),
            PatternKind::Tuple(parts)
            | PatternKind::Constructor(_, parts)
            | PatternKind::NodeConstructor(_, parts) => {
                parts.iter().for_each(|part| self.pattern(part, names));
            }
            PatternKind::Record(fields) => fields.iter().for_each(|(_, part)| self.pattern(part, names)),
            PatternKind::Ascribed(inner, ty) => {
                let bound = names.clone();
                self.within(&bound, |walk| walk.ty(ty));
                self.pattern(inner, names);
            }
            PatternKind::Paren(inner) => self.pattern(inner, names),
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Scalar(_) | TypeKind::Var(_) | TypeKind::Error => {}
            TypeKind::Named(_, parts) | TypeKind::Tuple(parts) => parts.iter().for_each(|part| self.ty(part)),
            TypeKind::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty)),
            TypeKind::Array(dim, element) => {
                if let Dim::Size(size) = dim {
                    self.size(size);
                }
                self.ty(element);
            }
            TypeKind::Vector(size, element) => {
                self.size(size);
                self.ty(element);
            }
            TypeKind::Function {
                param_name,
                param,
                result,
            } => {
                self.ty(param);
                let names: Vec<Name> = param_name.iter().map(|ident| ident.name.clone()).collect();
                self.within(&names, |walk| walk.ty(result));
            }
        }
    }

    fn size(&mut self, size: &SizeExpr) {
        match &size.kind {
            SizeKind::Literal(_) | SizeKind::Error => {}
            SizeKind::Var(name) => self.name(name),
            SizeKind::Binary(_, left, right) => {
                self.size(left);
                self.size(right);
            }
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn indices(&mut self, indices: &[IndexArg]) {
        for index in indices {
            match index {
                IndexArg::At(at) => self.expr(at),
                IndexArg::Slice { begin, end, step, .. } => {
                    self.exprs([begin, end, step].into_iter().flatten());
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Constructor(_)
            | ExprKind::NodeConstructor(_)
            | ExprKind::Operator(_)
            | ExprKind::Error => {}
            ExprKind::Var(path) | ExprKind::Annotated { name: path, .. } => {
                if path.qualifier.is_none() {
                    self.name(&path.name.name);
                }
            }
            ExprKind::Apply(function, args) => {
                self.expr(function);
                self.exprs(args);
            }
            ExprKind::Lambda(params, body) => self.params(params, |walk| walk.expr(body)),
            ExprKind::Let(bindings, body) => self.bindings(bindings, body),
            ExprKind::If(a, b, c) => self.exprs([&**a, &**b, &**c]),
            ExprKind::Case(scrutinee, arms) => {
                self.expr(scrutinee);
                for arm in arms {
                    let mut names = Vec::new();
                    self.pattern(&arm.pattern, &mut names);
                    self.within(&names, |walk| {
                        walk.exprs(&arm.guard);
                        walk.expr(&arm.body);
                    });
                }
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => self.exprs(parts),
            ExprKind::Record(fields) => self.exprs(fields.iter().map(|(_, expr)| expr)),
            ExprKind::Project(inner, _)
            | ExprKind::Field(inner, _)
            | ExprKind::Unary(_, inner)
            | ExprKind::LeftSection(_, inner)
            | ExprKind::RightSection(_, inner)
            | ExprKind::Trace { body: inner, .. }
            | ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Index(array, indices) => {
                self.expr(array);
                self.indices(indices);
            }
            ExprKind::Range(a, b) | ExprKind::Binary(_, _, a, b) => self.exprs([&**a, &**b]),
            ExprKind::Loop(it) => self.loop_(it),
            ExprKind::With {
                array,
                indices,
                value,
                ..
            } => {
                self.expr(array);
                self.indices(indices);
                self.expr(value);
            }
            ExprKind::Assert { condition, body, .. } => self.exprs([&**condition, &**body]),
            ExprKind::Ascribe(inner, ty) | ExprKind::Coerce(inner, ty) => {
                self.expr(inner);
                self.ty(ty);
            }
            ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => {
                self.expr(datum);
                let mut names = vec![rename.name.clone(), down.name.clone()];
                self.pattern(node, &mut names);
                self.within(&names, |walk| walk.expr(body));
            }
        }
    }

    fn loop_(&mut self, it: &almach_syntax::ast::Loop) {
        self.exprs(&it.initial);
        let mut names = Vec::new();
        self.pattern(&it.pattern, &mut names);
        if it.initial.is_none() {
            names.clone().iter().for_each(|name| self.name(name));
        }
        match &it.form {
            LoopForm::For { index, bound } => {
                self.expr(bound);
                names.push(index.name.clone());
                self.within(&names, |walk| walk.expr(&it.body));
            }
            LoopForm::While(condition) => self.within(&names, |walk| walk.exprs([condition, &it.body])),
        }
    }

    fn bindings(&mut self, bindings: &[Binding], body: &Expr) {
        let Some((first, rest)) = bindings.split_first() else {
            return self.expr(body);
        };
        match first {
            Binding::Value { pattern, value, .. } => {
                self.expr(value);
                let mut names = Vec::new();
                self.pattern(pattern, &mut names);
                self.within(&names, |walk| walk.bindings(rest, body));
            }
            Binding::Functions(defs) => {
                let names: Vec<Name> = defs.iter().map(|def| def.name.name.clone()).collect();
                let (recursive, plain): (Vec<&Def>, Vec<&Def>) =
                    defs.iter().partition(|def| def.recursive == Recursive::Yes);
                plain.into_iter().for_each(|def| self.def(def));
                self.within(&names, |walk| {
                    recursive.into_iter().for_each(|def| walk.def(def));
                    walk.bindings(rest, body);
                });
            }
        }
    }
}
