//! Where branches meet: `if`, `case`, applications of chosen functions.
//!
//! Static values join part by part. Tuples stay apart, so a branch may give several Core values; what is the same in
//! every branch and known before needs no value at all; functions with equal templates join by their leaves, others
//! become a choice. A size that differs between branches, or that only a branch knows, is in the result's context.

use crate::emit::Moment;
use crate::errors::{bug, ill_typed};
use crate::statics::{Alternative, Chosen, Function, Static};
use crate::template::{Abstraction, Instantiation, Leaf, Template};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Atom, Body, DataId, Dim, Exp, ResultType, Size, Stmt, Type, Var};
use std::rc::Rc;

/// Statements, and what they lead to.
pub(crate) struct Branch<'a> {
    pub stmts: Vec<Stmt>,
    pub value: Static<'a>,
}

impl<'a> Branch<'a> {
    pub fn of((stmts, value): (Vec<Stmt>, Static<'a>)) -> Branch<'a> {
        Branch { stmts, value }
    }
}

/// How to get the joined value from the values that the branching statement binds.
pub(crate) enum Merged<'a> {
    /// The value with this number.
    Value(usize),
    Same(Static<'a>),
    Tuple(Vec<Merged<'a>>),
    Template(Template<'a>, Vec<Merged<'a>>),
    Chosen {
        data: DataId,
        tag: usize,
        alternatives: Rc<[Alternative<'a>]>,
    },
}

/// What the branches give, as far as it is known.
pub(crate) struct Join {
    pub bodies: Vec<Vec<Stmt>>,
    /// What was bound before is in scope behind the branches as well.
    pub since: Moment,
    /// Sizes of the result's context, and what each branch has there.
    context: Vec<(Var, Vec<Size>)>,
    types: Vec<Type>,
    /// By branch.
    values: Vec<Vec<Atom>>,
}

impl Join {
    /// Adds a value of the result.
    pub fn add(&mut self, ty: Type, atoms: Vec<Atom>) -> usize {
        for (values, atom) in self.values.iter_mut().zip(atoms) {
            values.push(atom);
        }
        self.types.push(ty);
        self.types.len() - 1
    }
}

impl<'a> Elaborator<'a> {
    /// Emits the branching expression that `make` builds from its bodies, and gives the joined value.
    pub(crate) fn joined(
        &mut self,
        branches: Vec<Branch<'a>>,
        since: Moment,
        span: Span,
        make: impl FnOnce(Vec<Body>, ResultType) -> Option<Exp>,
    ) -> Res<Static<'a>> {
        let (bodies, result, merged) = self.join(branches, since, span)?;
        let exp = make(bodies, result).ok_or_else(|| bug(span, "a branch is missing"))?;
        let atoms = self.emit_all(exp, "r", span)?;
        self.unmerge(&merged, &atoms, span)
    }

    fn join(
        &mut self,
        branches: Vec<Branch<'a>>,
        since: Moment,
        span: Span,
    ) -> Res<(Vec<Body>, ResultType, Merged<'a>)> {
        let count = branches.len();
        let (bodies, values): (Vec<_>, Vec<_>) = branches.into_iter().map(|it| (it.stmts, it.value)).unzip();
        let mut join = Join {
            bodies,
            since,
            context: Vec::new(),
            types: Vec::new(),
            values: vec![Vec::new(); count],
        };
        let merged = self.merge(&values, &mut join, span)?;
        let mut bodies = Vec::with_capacity(count);
        for (at, (mut stmts, values)) in join.bodies.into_iter().zip(join.values).enumerate() {
            let sizes = join.context.iter().filter_map(|(_, sizes)| sizes.get(at));
            let context = self.resume(&mut stmts, |this| {
                sizes
                    .map(|size| this.size_atom(size, span))
                    .collect::<Res<Vec<Atom>>>()
            })?;
            bodies.push(Body {
                stmts,
                context,
                values,
            });
        }
        let result = ResultType {
            context: join.context.into_iter().map(|(var, _)| var).collect(),
            types: join.types,
        };
        Ok((bodies, result, merged))
    }

    fn merge(&mut self, values: &[Static<'a>], join: &mut Join, span: Span) -> Res<Merged<'a>> {
        if let Some(same) = same_outside(values, join.since) {
            return Ok(Merged::Same(same));
        }
        if values
            .iter()
            .any(|it| matches!(it, Static::Function(_) | Static::Scope(_)))
        {
            return self.merge_functions(values, join, span);
        }
        let tuples: Res<Vec<bool>> = values.iter().map(|value| self.is_tuple(value, span)).collect();
        if tuples?.into_iter().any(|is_tuple| is_tuple) {
            return self.merge_tuples(values, join, span);
        }
        self.merge_atoms(values, join, span)
    }

    fn is_tuple(&self, value: &Static<'a>, span: Span) -> Res<bool> {
        match value {
            Static::Tuple(_) => Ok(true),
            Static::Dynamic(atom) => Ok(matches!(self.type_of(atom, span)?, Type::Tuple(_))),
            Static::Size(_) | Static::Function(_) | Static::Scope(_) => Ok(false),
        }
    }

    fn merge_tuples(&mut self, values: &[Static<'a>], join: &mut Join, span: Span) -> Res<Merged<'a>> {
        let mut parts = Vec::with_capacity(values.len());
        for (value, stmts) in values.iter().zip(&mut join.bodies) {
            parts.push(self.resume(stmts, |this| this.components(value, span))?);
        }
        let count = parts.first().map_or(0, |parts| parts.len());
        let mut merged = Vec::with_capacity(count);
        for at in 0..count {
            let column: Option<Vec<Static<'a>>> = parts.iter().map(|parts| parts.get(at).cloned()).collect();
            let column = column.ok_or_else(|| bug(span, "branches give different tuples"))?;
            merged.push(self.merge(&column, join, span)?);
        }
        Ok(Merged::Tuple(merged))
    }

    fn merge_atoms(&mut self, values: &[Static<'a>], join: &mut Join, span: Span) -> Res<Merged<'a>> {
        let mut atoms = Vec::with_capacity(values.len());
        let mut types = Vec::with_capacity(values.len());
        for (value, stmts) in values.iter().zip(&mut join.bodies) {
            let atom = self.resume(stmts, |this| this.atom(value, span))?;
            types.push(self.type_of(&atom, span)?);
            atoms.push(atom);
        }
        let references: Vec<&Type> = types.iter().collect();
        let joined = self.join_types(&references, join);
        let context = &join.context;
        for (at, (atom, stmts)) in atoms.iter_mut().zip(&mut join.bodies).enumerate() {
            let own = joined.substitute(&|var| {
                let (_, sizes) = context.iter().find(|(bound, _)| bound == var)?;
                sizes.get(at).cloned()
            });
            *atom = self.resume(stmts, |this| this.coerce(atom.clone(), &own, span))?;
        }
        Ok(Merged::Value(join.add(joined, atoms)))
    }

    /// The type of a value that has these types in the branches.
    fn join_types(&mut self, types: &[&Type], join: &mut Join) -> Type {
        match types.first() {
            Some(Type::Array(..)) => {
                let mut elements = Vec::with_capacity(types.len());
                let mut sizes = Vec::with_capacity(types.len());
                for ty in types {
                    if let Type::Array(dim, element) = ty {
                        elements.push(&**element);
                        if let Dim::Size(size) = dim {
                            sizes.push(size.clone());
                        }
                    }
                }
                let dim = match sizes.len() == types.len() {
                    true => Dim::Size(self.join_sizes(sizes, join)),
                    false => Dim::Jagged,
                };
                Type::Array(dim, Box::new(self.join_types(&elements, join)))
            }
            Some(Type::Tuple(parts)) => {
                let columns = (0..parts.len()).map(|at| {
                    let part = |ty: &&'_ Type| match ty {
                        Type::Tuple(parts) => parts.get(at).cloned(),
                        _ => None,
                    };
                    types.iter().filter_map(part).collect::<Vec<Type>>()
                });
                let columns: Vec<Vec<Type>> = columns.collect();
                let join_column =
                    |column: Vec<Type>| self.join_types(&column.iter().collect::<Vec<_>>(), join);
                Type::Tuple(columns.into_iter().map(join_column).collect())
            }
            Some(other) => (*other).clone(),
            None => Type::unit(),
        }
    }

    fn join_sizes(&mut self, sizes: Vec<Size>, join: &mut Join) -> Size {
        let first = sizes.first();
        let outside = |size: &Size| size.occurrences().all(|var| join.since.is_after(var));
        if let Some(first) = first
            && outside(first)
            && sizes.iter().all(|size| size == first)
        {
            return first.clone();
        }
        if let Some((var, _)) = join.context.iter().find(|(_, known)| *known == sizes) {
            return Size::var(var.clone());
        }
        let var = self.builder.fresh("n");
        join.context.push((var.clone(), sizes));
        Size::var(var)
    }

    fn merge_functions(&mut self, values: &[Static<'a>], join: &mut Join, span: Span) -> Res<Merged<'a>> {
        let mut templates = Vec::with_capacity(values.len());
        let mut leaves = Vec::with_capacity(values.len());
        for value in values {
            if !matches!(value, Static::Function(_)) {
                return Err(bug(span, "a function in one branch, something else in another"));
            }
            let mut parts = Abstraction::default();
            templates.push(self.template(value, &mut parts));
            leaves.push(parts.leaves);
        }
        let first = templates.first().cloned();
        let first = first.ok_or_else(|| bug(span, "no branch"))?;
        if templates.iter().any(|template| *template != first) {
            return self.merge_choice(templates, leaves, join, span);
        }
        let count = leaves.first().map_or(0, Vec::len);
        let mut merged = Vec::with_capacity(count);
        for at in 0..count {
            let column: Option<Vec<Static<'a>>> = leaves
                .iter()
                .map(|leaves| leaves.get(at).map(leaf_value))
                .collect();
            let column = column.ok_or_else(|| bug(span, "equal functions with different captures"))?;
            merged.push(self.merge(&column, join, span)?);
        }
        Ok(Merged::Template(first, merged))
    }

    fn unmerge(&mut self, merged: &Merged<'a>, atoms: &[Atom], span: Span) -> Res<Static<'a>> {
        let atom = |at: &usize| {
            atoms
                .get(*at)
                .cloned()
                .ok_or_else(|| bug(span, "too few results"))
        };
        Ok(match merged {
            Merged::Value(at) => Static::Dynamic(atom(at)?),
            Merged::Same(value) => value.clone(),
            Merged::Tuple(parts) => {
                let parts: Res<Rc<[Static<'a>]>> =
                    parts.iter().map(|part| self.unmerge(part, atoms, span)).collect();
                Static::Tuple(parts?)
            }
            Merged::Template(template, leaves) => {
                let leaves: Res<Vec<Static<'a>>> = leaves
                    .iter()
                    .map(|leaf| self.unmerge(leaf, atoms, span))
                    .collect();
                Instantiation::new(&leaves?).value(template)
            }
            Merged::Chosen {
                data,
                tag,
                alternatives,
            } => Static::function(Function::Chosen(Chosen {
                data: *data,
                tag: atom(tag)?,
                alternatives: alternatives.clone(),
            })),
        })
    }

    /// A declared result for a body that gives these values: sizes the body alone knows are in its context. Gives the
    /// context's values too.
    pub(crate) fn declare_result(
        &mut self,
        atoms: &[Atom],
        known_outside: &dyn Fn(&Var) -> bool,
        span: Span,
    ) -> Res<(ResultType, Vec<Atom>)> {
        self.declare_open(atoms, known_outside, &[], span)
    }

    /// The same, where some dimensions, counted in the order of the types, are in the context whoever knows them.
    pub(crate) fn declare_open(
        &mut self,
        atoms: &[Atom],
        known_outside: &dyn Fn(&Var) -> bool,
        open: &[bool],
        span: Span,
    ) -> Res<(ResultType, Vec<Atom>)> {
        let mut open = open.iter().copied();
        let mut context: Vec<(Var, Size)> = Vec::new();
        let mut types = Vec::with_capacity(atoms.len());
        for atom in atoms {
            let ty = self.type_of(atom, span)?;
            let builder = &mut self.builder;
            types.push(ty.map_dims(&mut |dim| match (open.next().unwrap_or(false), dim) {
                (is_open, Dim::Size(size)) if is_open || !size.occurrences().all(known_outside) => {
                    let known = context.iter().find(|(_, known)| known == size);
                    let var = match known {
                        Some((var, _)) => var.clone(),
                        None => {
                            let var = builder.fresh("n");
                            context.push((var.clone(), size.clone()));
                            var
                        }
                    };
                    Dim::Size(Size::var(var))
                }
                (_, Dim::Size(_) | Dim::Jagged) => dim.clone(),
            }));
        }
        let (context, sizes): (Vec<Var>, Vec<Size>) = context.into_iter().unzip();
        let atoms: Result<Vec<Atom>, _> = sizes
            .iter()
            .map(|size| self.builder.size_atom(size, span))
            .collect();
        let atoms = atoms.map_err(|error| ill_typed(span, &error))?;
        Ok((ResultType { context, types }, atoms))
    }
}

pub(crate) fn leaf_value<'a>(leaf: &Leaf) -> Static<'a> {
    match leaf {
        Leaf::Atom(atom) => Static::Dynamic(atom.clone()),
        Leaf::Size(size) => Static::Size(size.clone()),
    }
}

/// The value all branches have, where it was known before.
fn same_outside<'a>(values: &[Static<'a>], since: Moment) -> Option<Static<'a>> {
    let first = values.first()?;
    let same = match first {
        Static::Dynamic(Atom::Var(var)) if since.is_after(var) => values
            .iter()
            .all(|value| matches!(value, Static::Dynamic(Atom::Var(other)) if other == var)),
        Static::Dynamic(Atom::Const(scalar)) => values
            .iter()
            .all(|value| matches!(value, Static::Dynamic(Atom::Const(other)) if other.same(*scalar))),
        Static::Size(size) if size.occurrences().all(|var| since.is_after(var)) => values
            .iter()
            .all(|value| matches!(value, Static::Size(other) if other == size)),
        Static::Dynamic(_) | Static::Size(_) | Static::Tuple(_) | Static::Function(_) | Static::Scope(_) => {
            false
        }
    };
    same.then(|| first.clone())
}
