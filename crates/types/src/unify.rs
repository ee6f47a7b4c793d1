//! Making types equal, and using a value of one type where another is expected.

use crate::sizes::{Forgotten, substitute_sizes, var_size};
use crate::solver::{Level, Place, SizeChecks, Solver, TypeBinding, VarKind, size_here, walk_type};
use crate::tree::{Constraint, Dim, FunctionType, Size, Type, TypeVar};
use almach_base::{Name, Span};
use almach_value::ScalarType;

/// Why two types cannot be made to agree. What the message says about whole types, the caller knows.
#[derive(Clone, Debug)]
pub(crate) enum Mismatch {
    Types,
    Sizes {
        found: Size,
        expected: Size,
    },
    /// Rows of one size on one side, rows of their own sizes on the other.
    Jagged,
    /// The type does not satisfy what an operator or a definition asks for.
    Constraint {
        constraint: Constraint,
        ty: Type,
        asked: Span,
    },
    /// The type would contain itself.
    Infinite,
    ReferenceEscapes(u32),
    SizeEscapes(Size),
    RigidEscapes(TypeVar),
}

type Unified = Result<(), Mismatch>;

/// How a value has to be changed to be used at the expected type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Coercion {
    None,
    /// A tree `Forget`.
    Forget,
    /// A function whose parameter or result has to be changed: `\x -> result (f (param x))`.
    Wrap {
        param: Box<Coercion>,
        result: Box<Coercion>,
    },
}

impl Coercion {
    fn from_forgotten(forgotten: Forgotten) -> Coercion {
        match forgotten {
            Forgotten::Nothing => Coercion::None,
            Forgotten::Known | Forgotten::Regularity => Coercion::Forget,
        }
    }

    fn and(self, other: Coercion) -> Coercion {
        match (self, other) {
            (Coercion::None, other) => other,
            (this, Coercion::None) => this,
            (Coercion::Wrap { .. }, Coercion::Wrap { .. })
            | (_, Coercion::Forget)
            | (Coercion::Forget, _) => Coercion::Forget,
        }
    }
}

impl Solver {
    pub fn unify(&mut self, a: &Type, b: &Type) -> Unified {
        let (a, b) = (self.head(a).clone(), self.head(b).clone());
        match (&a, &b) {
            (Type::Var(x), Type::Var(y)) if x == y => Ok(()),
            (Type::Var(x), Type::Var(y)) if self.is_open(x) && self.is_open(y) => self.join_metas(x, y),
            (Type::Var(x), _) if self.is_open(x) => self.bind(x, &b),
            (_, Type::Var(y)) if self.is_open(y) => self.bind(y, &a),
            (Type::Scalar(s), Type::Scalar(t)) if s == t => Ok(()),
            (Type::Reference(r), Type::Reference(s)) if r == s => Ok(()),
            (Type::Vector(n, s), Type::Vector(m, t)) => {
                self.equate(n, m)?;
                self.unify(s, t)
            }
            (Type::Array(d, s), Type::Array(e, t)) => {
                match (d, e) {
                    (Dim::Size(n), Dim::Size(m)) => self.equate(n, m)?,
                    (Dim::Unknown, Dim::Unknown) => {}
                    (Dim::Size(_), Dim::Unknown) | (Dim::Unknown, Dim::Size(_)) => {
                        return Err(Mismatch::Jagged);
                    }
                }
                self.unify(s, t)
            }
            (Type::Tuple(xs), Type::Tuple(ys)) if xs.len() == ys.len() => self.unify_all(xs, ys),
            (Type::Record(xs), Type::Record(ys)) if xs.len() == ys.len() => {
                for (name, x) in xs {
                    self.unify(x, field(ys, name).ok_or(Mismatch::Types)?)?;
                }
                Ok(())
            }
            (Type::Data(c, xs), Type::Data(d, ys)) if c == d => self.unify_all(xs, ys),
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
            ) if c == d => {
                self.unify_all(xs, ys)?;
                self.unify(r, s)
            }
            (Type::Function(f), Type::Function(g)) => {
                self.unify(&f.param, &g.param)?;
                let (f, g) = self.same_binder(f, g);
                self.unify(&f, &g)
            }
            _ => Err(Mismatch::Types),
        }
    }

    fn unify_all(&mut self, xs: &[Type], ys: &[Type]) -> Unified {
        xs.iter().zip(ys).try_for_each(|(x, y)| self.unify(x, y))
    }

    /// The results of two function types with one name for both parameters, bound deeper than anything open.
    fn same_binder(&mut self, f: &FunctionType, g: &FunctionType) -> (Type, Type) {
        if f.binder.is_none() && g.binder.is_none() || f.binder == g.binder {
            return (f.result.clone(), g.result.clone());
        }
        self.level += 1;
        let name = f
            .binder
            .as_ref()
            .or(g.binder.as_ref())
            .map(|var| var.name.clone());
        let common = self.fresh_var(
            name.unwrap_or_else(|| Name::from("n")),
            Span::NONE,
            VarKind::Program,
        );
        self.level -= 1;
        let rename = |function: &FunctionType| match &function.binder {
            None => function.result.clone(),
            Some(binder) => substitute_sizes(&self.resolve(&function.result), &|var| {
                (var == binder).then(|| var_size(&common))
            }),
        };
        (rename(f), rename(g))
    }

    pub fn is_open(&self, var: &TypeVar) -> bool {
        matches!(
            self.type_var(var).map(|info| &info.binding),
            Some(TypeBinding::Open)
        )
    }

    /// The older one stays, so that chains of solutions stay short.
    fn join_metas(&mut self, x: &TypeVar, y: &TypeVar) -> Unified {
        let (x, y) = if x.id < y.id { (y, x) } else { (x, y) };
        let Some((level, constraint, asked)) = self
            .type_var(x)
            .map(|info| (info.level, info.constraint, info.constraint_span))
        else {
            return Ok(());
        };
        self.constrain(&Type::Var(y.clone()), constraint, asked)?;
        if let Some(info) = self.type_var_mut(y) {
            info.level = info.level.min(level);
        }
        self.solve_type(x, Type::Var(y.clone()));
        Ok(())
    }

    fn solve_type(&mut self, var: &TypeVar, ty: Type) {
        if let Some(info) = self.type_var_mut(var) {
            info.binding = TypeBinding::Solved(ty);
        }
    }

    /// Solves a metavariable, after checking that the type may stand where the metavariable was made.
    pub fn bind(&mut self, var: &TypeVar, ty: &Type) -> Unified {
        let Some((level, constraint, asked)) = self
            .type_var(var)
            .map(|info| (info.level, info.constraint, info.constraint_span))
        else {
            return Ok(());
        };
        let ty = self.resolve(ty);
        self.check_scope(var, level, &ty)?;
        self.constrain(&ty, constraint, asked)?;
        self.lower(&ty, level);
        self.solve_type(var, ty);
        Ok(())
    }

    fn check_scope(&self, var: &TypeVar, level: Level, ty: &Type) -> Unified {
        let mut bound = Vec::new();
        crate::sizes::collect_binders(ty, &mut bound);
        let mut result = Ok(());
        walk_type(ty, &mut |part| {
            if result.is_err() {
                return;
            }
            match part {
                Type::Var(other) if other == var => result = Err(Mismatch::Infinite),
                Type::Var(other) => {
                    if let Some(info) = self.type_var(other)
                        && matches!(info.binding, TypeBinding::Rigid)
                        && info.level > level
                    {
                        result = Err(Mismatch::RigidEscapes(other.clone()));
                    }
                }
                Type::Reference(reference) => {
                    if let Some(info) = self.references.get(*reference as usize)
                        && info.level > level
                    {
                        result = Err(Mismatch::ReferenceEscapes(*reference));
                    }
                }
                _ => {}
            }
            if let Some(size) = size_here(part)
                && self.escapes(size, level, &bound)
            {
                result = Err(Mismatch::SizeEscapes(size.clone()));
            }
        });
        result
    }

    /// Asks that a type is a number, has an order, …
    pub fn constrain(&mut self, ty: &Type, constraint: Constraint, asked: Span) -> Unified {
        if constraint == Constraint::Any {
            return Ok(());
        }
        let ty = self.head(ty).clone();
        let fails = Err(Mismatch::Constraint {
            constraint,
            ty: ty.clone(),
            asked,
        });
        match &ty {
            Type::Var(var) => {
                let Some(info) = self.type_var_mut(var) else {
                    return Ok(());
                };
                match meet(info.constraint, constraint) {
                    Some(both) if both == info.constraint => Ok(()),
                    Some(both) => {
                        info.constraint = both;
                        info.constraint_span = asked;
                        Ok(())
                    }
                    None => fails,
                }
            }
            Type::Scalar(scalar) if scalar_satisfies(*scalar, constraint) => Ok(()),
            Type::Vector(_, element) if !matches!(constraint, Constraint::Order | Constraint::Scalar) => {
                self.constrain(&element.clone(), constraint, asked)
            }
            Type::Tuple(_) | Type::Record(_) | Type::Array(..) | Type::Data(..) | Type::Node { .. }
                if matches!(constraint, Constraint::Equality | Constraint::Order) =>
            {
                let mut parts = Vec::new();
                children(&ty, &mut parts);
                parts
                    .iter()
                    .try_for_each(|part| self.constrain(part, constraint, asked))
            }
            _ => fails,
        }
    }

    /// A value of type `found` is used where `expected` is. Sizes may be forgotten on the way (design, "jagged or
    /// regular"); everything else must agree.
    pub fn subsume(&mut self, found: &Type, expected: &Type) -> Result<Coercion, Mismatch> {
        self.subsume_at(found, expected, Place::Outer)
    }

    fn subsume_at(&mut self, found: &Type, expected: &Type, place: Place) -> Result<Coercion, Mismatch> {
        if let Some(meta) = self.open_head(expected)
            && self.open_head(found).is_none()
        {
            let level = self.type_var(&meta).map_or(self.level, |info| info.level);
            let (closed, forgotten) = self.close(found, level, &[]);
            self.bind(&meta, &closed)?;
            return Ok(Coercion::from_forgotten(forgotten));
        }
        let (found, expected) = (self.head(found).clone(), self.head(expected).clone());
        match (&found, &expected) {
            (Type::Array(d, s), Type::Array(e, t)) => {
                let here = match (d, e) {
                    (Dim::Size(n), Dim::Size(m)) => {
                        self.equate(n, m)?;
                        Coercion::None
                    }
                    (Dim::Unknown, Dim::Unknown) => Coercion::None,
                    (Dim::Size(_), Dim::Unknown) => Coercion::Forget,
                    (Dim::Unknown, Dim::Size(m)) if place == Place::Outer => {
                        let opened = self.unknown_size(self.cause.span, "the size of this array");
                        self.equate(&opened, m)?;
                        Coercion::None
                    }
                    // Whether the rows have one size shows when the program runs.
                    (Dim::Unknown, Dim::Size(_)) if self.size_checks == SizeChecks::AtRunTime => {
                        Coercion::Forget
                    }
                    (Dim::Unknown, Dim::Size(_)) => return Err(Mismatch::Jagged),
                };
                Ok(here.and(self.subsume_at(s, t, Place::Inner)?))
            }
            (Type::Tuple(xs), Type::Tuple(ys)) if xs.len() == ys.len() => self.subsume_all(xs, ys, place),
            (Type::Record(xs), Type::Record(ys)) if xs.len() == ys.len() => {
                let mut coercion = Coercion::None;
                for (name, x) in xs {
                    let y = field(ys, name).ok_or(Mismatch::Types)?;
                    coercion = coercion.and(self.subsume_at(x, y, place)?);
                }
                Ok(coercion)
            }
            (Type::Data(c, xs), Type::Data(d, ys)) if c == d => self.subsume_all(xs, ys, Place::Field),
            (Type::Function(f), Type::Function(g)) if place == Place::Outer => self.subsume_function(f, g),
            _ => {
                self.unify(&found, &expected)?;
                Ok(Coercion::None)
            }
        }
    }

    fn subsume_all(&mut self, xs: &[Type], ys: &[Type], place: Place) -> Result<Coercion, Mismatch> {
        let mut coercion = Coercion::None;
        for (x, y) in xs.iter().zip(ys) {
            coercion = coercion.and(self.subsume_at(x, y, place)?);
        }
        Ok(coercion)
    }

    /// A function that takes arrays of any one size also takes each row of a jagged array: the `?` of the expected
    /// parameter is opened with a name that the result may not mention.
    fn subsume_function(
        &mut self,
        found: &FunctionType,
        expected: &FunctionType,
    ) -> Result<Coercion, Mismatch> {
        let param = self.subsume(&expected.param, &found.param)?;
        let (from, to) = self.same_binder(found, expected);
        let result = self.subsume(&from, &to)?;
        let result = match result {
            // The caller sees an unknown size; the value is the same.
            Coercion::Forget if !self.becomes_jagged(&from, &to) => Coercion::None,
            other => other,
        };
        Ok(match (&param, &result) {
            (Coercion::None, Coercion::None) => Coercion::None,
            (Coercion::Forget, Coercion::None) if !self.becomes_jagged(&expected.param, &found.param) => {
                Coercion::None
            }
            _ => Coercion::Wrap {
                param: Box::new(param),
                result: Box::new(result),
            },
        })
    }

    /// Whether rows of one size in `from` have sizes of their own in `to`.
    fn becomes_jagged(&self, from: &Type, to: &Type) -> bool {
        fn below(solver: &Solver, from: &Type, to: &Type, inside: bool) -> bool {
            match (solver.head(from), solver.head(to)) {
                (Type::Array(d, s), Type::Array(e, t)) => {
                    inside && d != e && *e == Dim::Unknown || below(solver, s, t, true)
                }
                (Type::Tuple(xs), Type::Tuple(ys)) => {
                    xs.iter().zip(ys).any(|(x, y)| below(solver, x, y, inside))
                }
                (Type::Record(xs), Type::Record(ys)) => xs
                    .iter()
                    .any(|(name, x)| field(ys, name).is_some_and(|y| below(solver, x, y, inside))),
                (Type::Data(_, xs), Type::Data(_, ys)) => {
                    xs.iter().zip(ys).any(|(x, y)| below(solver, x, y, false))
                }
                _ => false,
            }
        }
        below(self, from, to, false)
    }

    /// Makes types equal up to sizes, and up to whether components have names: for `:>`.
    pub fn unify_coercible(&mut self, a: &Type, b: &Type) -> Unified {
        let (a, b) = (self.head(a).clone(), self.head(b).clone());
        match (&a, &b) {
            (Type::Array(_, s), Type::Array(_, t)) => self.unify_coercible(s, t),
            (Type::Tuple(_) | Type::Record(_), Type::Tuple(_) | Type::Record(_)) => {
                let (xs, ys) = (components(&a), components(&b));
                if xs.len() != ys.len() {
                    return Err(Mismatch::Types);
                }
                let mut pairs = xs.into_iter().zip(ys);
                pairs.try_for_each(|(x, y)| self.unify_coercible(x, y))
            }
            _ => self.unify_shapes(&a, &b),
        }
    }

    /// Makes types equal up to sizes: for comparisons.
    pub fn unify_shapes(&mut self, a: &Type, b: &Type) -> Unified {
        let (a, b) = (self.head(a).clone(), self.head(b).clone());
        match (&a, &b) {
            (Type::Var(x), Type::Var(y)) if x == y || self.is_open(x) && self.is_open(y) => {
                self.unify(&a, &b)
            }
            (Type::Var(x), other) | (other, Type::Var(x)) if self.is_open(x) => {
                let span = self.cause.span;
                let copy = self.with_all_sizes_fresh(other, span);
                self.bind(x, &copy)
            }
            (Type::Array(_, s), Type::Array(_, t)) => self.unify_shapes(s, t),
            (Type::Tuple(xs), Type::Tuple(ys)) | (Type::Data(_, xs), Type::Data(_, ys))
                if same_head(&a, &b) && xs.len() == ys.len() =>
            {
                xs.iter().zip(ys).try_for_each(|(x, y)| self.unify_shapes(x, y))
            }
            (Type::Record(xs), Type::Record(ys)) if xs.len() == ys.len() => {
                for (name, x) in xs {
                    self.unify_shapes(x, field(ys, name).ok_or(Mismatch::Types)?)?;
                }
                Ok(())
            }
            _ => self.unify(&a, &b),
        }
    }

    fn with_all_sizes_fresh(&mut self, ty: &Type, span: Span) -> Type {
        use crate::solver::{Flavour, Replaced, map_type};
        let ty = self.resolve(ty);
        map_type(&ty, &mut |_| Replaced::Descend, &mut |dim, _| match dim {
            Dim::Size(_) => Dim::Size(self.fresh_size(Flavour::Flexible, span)),
            Dim::Unknown => Dim::Unknown,
        })
    }
}

/// What a tuple or record is made of, in order. Records with the same fields have them in one order.
pub(crate) fn components(ty: &Type) -> Vec<&Type> {
    match ty {
        Type::Tuple(parts) => parts.iter().collect(),
        Type::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
        _ => Vec::new(),
    }
}

fn same_head(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Data(c, _), Type::Data(d, _)) => c == d,
        (Type::Tuple(_), Type::Tuple(_)) => true,
        _ => false,
    }
}

pub(crate) fn field<'a>(fields: &'a [(Name, Type)], name: &Name) -> Option<&'a Type> {
    fields
        .iter()
        .find_map(|(other, ty)| (other == name).then_some(ty))
}

/// The types directly inside a structure.
fn children(ty: &Type, into: &mut Vec<Type>) {
    match ty {
        Type::Scalar(_) | Type::Reference(_) | Type::Var(_) | Type::Function(_) => {}
        Type::Vector(_, element) | Type::Array(_, element) => into.push((**element).clone()),
        Type::Tuple(parts) | Type::Data(_, parts) => into.extend(parts.iter().cloned()),
        Type::Record(fields) => into.extend(fields.iter().map(|(_, ty)| ty.clone())),
        Type::Node { args, reference, .. } => {
            into.extend(args.iter().cloned());
            into.push((**reference).clone());
        }
    }
}

pub(crate) fn scalar_satisfies(scalar: ScalarType, constraint: Constraint) -> bool {
    match constraint {
        Constraint::Any | Constraint::Equality | Constraint::Order | Constraint::Scalar => true,
        Constraint::Number => scalar.is_number(),
        Constraint::Bits => scalar.is_integer() || scalar == ScalarType::Bool,
        Constraint::Integer => scalar.is_integer(),
        Constraint::Float => scalar.is_float(),
    }
}

/// The constraint that holds when both do; none where no type satisfies both.
fn meet(a: Constraint, b: Constraint) -> Option<Constraint> {
    use Constraint::{Any, Bits, Equality, Float, Integer, Number, Order, Scalar};
    Some(match (a, b) {
        (Any, other) | (other, Any) => other,
        (Equality, other) | (other, Equality) => other,
        (Order, other) | (other, Order) => other,
        (Scalar, other) | (other, Scalar) => other,
        (Number, Bits) | (Bits, Number) => Integer,
        (Number, other) | (other, Number) => other,
        (Integer, Bits | Integer) | (Bits, Integer) => Integer,
        (Bits, Bits) => Bits,
        (Float, Float) => Float,
        (Float, Bits | Integer) | (Bits | Integer, Float) => return None,
    })
}
