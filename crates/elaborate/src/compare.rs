//! Structural equality and order.
//!
//! Equality and order of tuples are written out where they are used; arrays and data have a function per type. Order is a
//! number: -1, 0, 1, or 2 where a NaN makes the values neither less, equal nor greater. Arrays are ordered like words in
//! a dictionary; different constructors in the order they are declared in.

mod tables;

use crate::emit::i64_atom;
use crate::errors::{bug, ill_typed};
use crate::statics::Static;
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::typing::Signature;
use almach_core::{Arm, Atom, Body, DataId, Dim, Exp, FunId, Lambda, Op, Param, ResultType, Size, Type, Var};
use almach_prim::{Annotation, Prim};
use almach_value::{BinOp, Scalar, ScalarType};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Comparison {
    /// Gives a boolean.
    Equal,
    /// Gives an order.
    Order,
}

const LESS: i32 = -1;
const EQUAL: i32 = 0;
const GREATER: i32 = 1;
const UNORDERED: i32 = 2;

fn order(value: i32) -> Atom {
    Atom::Const(Scalar::I32(value))
}

fn boolean(value: bool) -> Atom {
    Atom::Const(Scalar::Bool(value))
}

impl Comparison {
    fn result(self) -> Type {
        match self {
            Comparison::Equal => Type::BOOL,
            Comparison::Order => Type::Scalar(ScalarType::I32),
        }
    }

    /// The result for equal values.
    fn equal(self) -> Atom {
        match self {
            Comparison::Equal => boolean(true),
            Comparison::Order => order(EQUAL),
        }
    }
}

impl<'a> Elaborator<'a> {
    /// A comparison operator on values that are not scalars.
    pub(crate) fn structural(
        &mut self,
        op: BinOp,
        left: &Static<'a>,
        right: &Static<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let kind = match op {
            BinOp::Eq | BinOp::Ne => Comparison::Equal,
            _ => Comparison::Order,
        };
        let compared = self.compare(kind, left, right, span)?;
        let result = match op {
            BinOp::Eq => compared,
            BinOp::Ne => self.emit(Exp::Unary(almach_value::UnOp::Not, compared), "t", span)?,
            BinOp::Lt => self.emit_binary(BinOp::Eq, compared, order(LESS), span)?,
            BinOp::Le => self.emit_binary(BinOp::Le, compared, order(EQUAL), span)?,
            BinOp::Gt => self.emit_binary(BinOp::Eq, compared, order(GREATER), span)?,
            BinOp::Ge => {
                let equal = self.emit_binary(BinOp::Eq, compared.clone(), order(EQUAL), span)?;
                let greater = self.emit_binary(BinOp::Eq, compared, order(GREATER), span)?;
                self.emit_binary(BinOp::Or, equal, greater, span)?
            }
            _ => return Err(bug(span, "not a comparison")),
        };
        Ok(Static::Dynamic(result))
    }

    fn compare(&mut self, kind: Comparison, left: &Static<'a>, right: &Static<'a>, span: Span) -> Res<Atom> {
        if let (Static::Tuple(_), _) | (_, Static::Tuple(_)) = (left, right) {
            let left = self.components(left, span)?;
            let right = self.components(right, span)?;
            return self.compare_all(kind, &left, &right, span);
        }
        let left = self.atom(left, span)?;
        let right = self.atom(right, span)?;
        self.compare_atoms(kind, left, right, span)
    }

    fn compare_atoms(&mut self, kind: Comparison, left: Atom, right: Atom, span: Span) -> Res<Atom> {
        match self.type_of(&left, span)? {
            Type::Scalar(ty) => match kind {
                Comparison::Equal => self.emit_binary(BinOp::Eq, left, right, span),
                Comparison::Order => self.order_scalars(ty, left, right, span),
            },
            Type::Tuple(_) => {
                let left = self.components(&Static::Dynamic(left), span)?;
                let right = self.components(&Static::Dynamic(right), span)?;
                self.compare_all(kind, &left, &right, span)
            }
            Type::Array(..) | Type::Data(_) | Type::Node(_) => self.call_comparison(kind, left, right, span),
            Type::Vector(..) => {
                let (left, right) = (self.lanes(left, span)?, self.lanes(right, span)?);
                self.call_comparison(kind, left, right, span)
            }
        }
    }

    /// The lanes of a short vector as an array.
    fn lanes(&mut self, vector: Atom, span: Span) -> Res<Atom> {
        let ty = self.type_of(&vector, span)?;
        let alone = self.emit(Exp::Array(vec![vector], ty), "alone", span)?;
        let exp = Exp::Op(Op {
            prim: Prim::AsScalar,
            annotation: Annotation::NONE,
            functions: Vec::new(),
            args: vec![alone],
        });
        self.emit(exp, "lanes", span)
    }

    /// Parts from left to right, as far as they are needed.
    fn compare_all(
        &mut self,
        kind: Comparison,
        left: &[Static<'a>],
        right: &[Static<'a>],
        span: Span,
    ) -> Res<Atom> {
        let (Some((first, others)), Some((other_first, other_others))) =
            (left.split_first(), right.split_first())
        else {
            return Ok(kind.equal());
        };
        let compared = self.compare(kind, first, other_first, span)?;
        if others.is_empty() {
            return Ok(compared);
        }
        let goes_on = match kind {
            Comparison::Equal => compared.clone(),
            Comparison::Order => self.emit_binary(BinOp::Eq, compared.clone(), order(EQUAL), span)?,
        };
        let (stmts, rest) = self.in_body(|this| this.compare_all(kind, others, other_others, span))?;
        let exp = Exp::If {
            condition: goes_on,
            then: body(stmts, rest),
            otherwise: body(Vec::new(), compared),
            result: ResultType::one(kind.result()),
        };
        self.emit(exp, "compared", span)
    }

    fn order_scalars(&mut self, ty: ScalarType, left: Atom, right: Atom, span: Span) -> Res<Atom> {
        let less = self.emit_binary(BinOp::Lt, left.clone(), right.clone(), span)?;
        let (stmts, not_less) = self.in_body(|this| {
            let greater = this.emit_binary(BinOp::Gt, left.clone(), right.clone(), span)?;
            let (stmts, rest) = this.in_body(|this| {
                if !ty.is_float() {
                    return Ok(order(EQUAL));
                }
                let equal = this.emit_binary(BinOp::Eq, left, right, span)?;
                this.select(equal, order(EQUAL), order(UNORDERED), span)
            })?;
            let exp = Exp::If {
                condition: greater,
                then: body(Vec::new(), order(GREATER)),
                otherwise: body(stmts, rest),
                result: ResultType::one(Comparison::Order.result()),
            };
            this.emit(exp, "order", span)
        })?;
        let exp = Exp::If {
            condition: less,
            then: body(Vec::new(), order(LESS)),
            otherwise: body(stmts, not_less),
            result: ResultType::one(Comparison::Order.result()),
        };
        self.emit(exp, "order", span)
    }

    fn select(&mut self, condition: Atom, then: Atom, otherwise: Atom, span: Span) -> Res<Atom> {
        let exp = Exp::If {
            condition,
            then: body(Vec::new(), then),
            otherwise: body(Vec::new(), otherwise),
            result: ResultType::one(Comparison::Order.result()),
        };
        self.emit(exp, "order", span)
    }

    fn call_comparison(&mut self, kind: Comparison, left: Atom, right: Atom, span: Span) -> Res<Atom> {
        let (left_type, right_type) = (self.type_of(&left, span)?, self.type_of(&right, span)?);
        let function = self.comparison(kind, &left_type, &right_type, span)?;
        let mut sizes = Vec::new();
        for ty in [&left_type, &right_type] {
            ty.for_each_dim(&mut |dim| {
                if let Dim::Size(size) = dim {
                    sizes.push(size.clone());
                }
            });
        }
        let context: Res<Vec<Atom>> = sizes.iter().map(|size| self.size_atom(size, span)).collect();
        let exp = Exp::Call {
            function,
            context: context?,
            args: vec![left, right],
        };
        self.emit(exp, "compared", span)
    }

    /// The function that compares values of two types, equal up to sizes.
    fn comparison(&mut self, kind: Comparison, left: &Type, right: &Type, span: Span) -> Res<FunId> {
        let key = (kind, without_sizes(left), without_sizes(right));
        if let Some(known) = self.comparisons.get(&key) {
            return Ok(*known);
        }
        let mut context = Vec::new();
        let left = self.comparison_param("a", left, &mut context);
        let right = self.comparison_param("b", right, &mut context);
        let name: Name = match kind {
            Comparison::Equal => "equal".into(),
            Comparison::Order => "order".into(),
        };
        let params = vec![left.clone(), right.clone()];
        let result = ResultType::one(kind.result());
        let id = self.builder.declare(Signature {
            name: name.clone(),
            context: context.clone(),
            params: params.clone(),
            result: result.clone(),
        });
        self.functions.push(None);
        self.comparisons.insert(key, id);
        let (stmts, value) = self.in_body(|this| this.comparison_body(kind, &left, &right, span))?;
        if let Some(slot) = self.functions.get_mut(id.0 as usize) {
            *slot = Some(core::Function {
                name,
                context,
                params,
                result,
                body: body(stmts, value),
                span,
            });
        }
        Ok(id)
    }

    fn comparison_param(&mut self, name: &str, ty: &Type, context: &mut Vec<Var>) -> Param {
        let builder = &mut self.builder;
        let ty = ty.map_dims(&mut |dim| match dim {
            Dim::Size(_) => {
                let var = builder.size_var("n");
                context.push(var.clone());
                Dim::Size(Size::var(var))
            }
            Dim::Jagged => Dim::Jagged,
        });
        self.builder.param(name, ty)
    }

    fn comparison_body(&mut self, kind: Comparison, left: &Param, right: &Param, span: Span) -> Res<Atom> {
        let (a, b) = (Atom::Var(left.var.clone()), Atom::Var(right.var.clone()));
        match (&left.ty, kind) {
            (Type::Array(..), Comparison::Equal) => self.equal_arrays(a, b, span),
            (Type::Array(..), Comparison::Order) => self.order_arrays(a, b, span),
            (Type::Data(data), Comparison::Equal) if self.refers_to_itself(*data, span)? => {
                self.equal_unfoldings(*data, a, b, span)
            }
            (Type::Data(data) | Type::Node(data), _) => self.compare_data(kind, *data, a, b, span),
            (Type::Scalar(_) | Type::Vector(..) | Type::Tuple(_), _) => {
                Err(bug(span, "a function to compare values that need none"))
            }
        }
    }

    fn equal_arrays(&mut self, a: Atom, b: Atom, span: Span) -> Res<Atom> {
        let (n, element) = self.array_type(&a, span)?;
        let (m, other) = self.array_type(&b, span)?;
        let (n_atom, m_atom) = (self.size_atom(&n, span)?, self.size_atom(&m, span)?);
        let same_length = self.emit_binary(BinOp::Eq, n_atom, m_atom, span)?;
        let (stmts, equal) = self.in_body(|this| {
            let b = this.coerce(b, &Type::array(n, other.clone()), span)?;
            let (mut context, mut params) = (Vec::new(), Vec::new());
            for ty in [element, other] {
                let builder = &mut this.builder;
                let opened = ty.open(&mut || {
                    let var = builder.size_var("rows");
                    context.push(var.clone());
                    var
                });
                params.push(this.builder.param("x", opened));
            }
            let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var.clone())).collect();
            let (stmts, equal) = this.in_body(|this| match atoms.as_slice() {
                [x, y] => this.compare_atoms(Comparison::Equal, x.clone(), y.clone(), span),
                _ => Err(bug(span, "two elements are compared")),
            })?;
            let function = Lambda {
                context,
                params,
                result: ResultType::one(Type::BOOL),
                body: body(stmts, equal),
            };
            let same = this.emit(operation(Prim::Map, function, vec![a, b]), "same", span)?;
            this.all_true(same, span)
        })?;
        let exp = Exp::If {
            condition: same_length,
            then: body(stmts, equal),
            otherwise: body(Vec::new(), boolean(false)),
            result: ResultType::one(Type::BOOL),
        };
        self.emit(exp, "equal", span)
    }

    fn all_true(&mut self, array: Atom, span: Span) -> Res<Atom> {
        let (x, y) = (
            self.builder.param("x", Type::BOOL),
            self.builder.param("y", Type::BOOL),
        );
        let (left, right) = (Atom::Var(x.var.clone()), Atom::Var(y.var.clone()));
        let (stmts, both) = self.in_body(|this| this.emit_binary(BinOp::And, left, right, span))?;
        let function = Lambda {
            context: Vec::new(),
            params: vec![x, y],
            result: ResultType::one(Type::BOOL),
            body: body(stmts, both),
        };
        let exp = operation(Prim::ReduceComm, function, vec![boolean(true), array]);
        self.emit(exp, "equal", span)
    }

    /// Up to the first elements that are not equal; then the shorter array is less.
    fn order_arrays(&mut self, a: Atom, b: Atom, span: Span) -> Res<Atom> {
        let (n, _) = self.array_type(&a, span)?;
        let (m, _) = self.array_type(&b, span)?;
        let (n, m) = (self.size_atom(&n, span)?, self.size_atom(&m, span)?);
        let shorter = self.emit_binary(BinOp::Min, n.clone(), m.clone(), span)?;
        let so_far = self.builder.param("so_far", Comparison::Order.result());
        let at = self.builder.param("i", Type::I64);
        let (state, i) = (Atom::Var(so_far.var.clone()), Atom::Var(at.var.clone()));
        let (condition_stmts, goes_on) = self.in_body(|this| {
            let equal = this.emit_binary(BinOp::Eq, state.clone(), order(EQUAL), span)?;
            let inside = this.emit_binary(BinOp::Lt, i.clone(), shorter.clone(), span)?;
            this.emit_binary(BinOp::And, equal, inside, span)
        })?;
        let (stmts, (next, next_at)) = self.in_body(|this| {
            let mut elements = Vec::with_capacity(2);
            for array in [&a, &b] {
                let element = Exp::Index {
                    array: array.clone(),
                    indices: vec![i.clone()],
                };
                elements.push(Static::Dynamic(this.emit(element, "x", span)?));
            }
            let next = match elements.as_slice() {
                [x, y] => this.compare(Comparison::Order, x, y, span)?,
                _ => return Err(bug(span, "two elements are compared")),
            };
            let next_at = this.emit_binary(BinOp::Add, i.clone(), i64_atom(1), span)?;
            Ok((next, next_at))
        })?;
        let exp = Exp::Loop(Box::new(core::Loop {
            context: Vec::new(),
            params: vec![(so_far, order(EQUAL)), (at, i64_atom(0))],
            form: core::LoopForm::While(body(condition_stmts, goes_on)),
            body: Body {
                stmts,
                context: Vec::new(),
                values: vec![next, next_at],
            },
        }));
        let results = self.emit_all(exp, "order", span)?;
        let found = results
            .into_iter()
            .next()
            .ok_or_else(|| bug(span, "a loop without a result"))?;
        let equal = self.emit_binary(BinOp::Eq, found.clone(), order(EQUAL), span)?;
        let (stmts, lengths) = self.in_body(|this| this.order_scalars(ScalarType::I64, n, m, span))?;
        let exp = Exp::If {
            condition: equal,
            then: body(stmts, lengths),
            otherwise: body(Vec::new(), found),
            result: ResultType::one(Comparison::Order.result()),
        };
        self.emit(exp, "order", span)
    }

    /// The constructors are compared by number, then the fields of equal ones.
    fn compare_data(&mut self, kind: Comparison, data: DataId, a: Atom, b: Atom, span: Span) -> Res<Atom> {
        let a_number = self.constructor_number(data, &a, span)?;
        let b_number = self.constructor_number(data, &b, span)?;
        let numbers = match kind {
            Comparison::Equal => self.emit_binary(BinOp::Eq, a_number, b_number, span)?,
            Comparison::Order => self.order_scalars(ScalarType::I32, a_number, b_number, span)?,
        };
        let same = match kind {
            Comparison::Equal => numbers.clone(),
            Comparison::Order => self.emit_binary(BinOp::Eq, numbers.clone(), order(EQUAL), span)?,
        };
        let (stmts, fields) = self.in_body(|this| this.compare_fields(kind, data, &a, &b, span))?;
        let exp = Exp::If {
            condition: same,
            then: body(stmts, fields),
            otherwise: body(Vec::new(), numbers),
            result: ResultType::one(kind.result()),
        };
        self.emit(exp, "compared", span)
    }

    fn constructor_number(&mut self, data: DataId, value: &Atom, span: Span) -> Res<Atom> {
        let count = self.constructor_count(data, span)?;
        let mut arms = Vec::with_capacity(count);
        for at in 0..count as u32 {
            let (arm, _) = self.comparison_arm(data, value, at, span)?;
            arms.push(Arm {
                body: body(Vec::new(), order(at as i32)),
                ..arm
            });
        }
        let exp = Exp::Case {
            scrutinee: value.clone(),
            arms,
            default: None,
            result: ResultType::one(Type::Scalar(ScalarType::I32)),
        };
        self.emit(exp, "constructor", span)
    }

    fn constructor_count(&self, data: DataId, span: Span) -> Res<usize> {
        let def = self.builder.signatures.data(data);
        Ok(def.map_err(|error| ill_typed(span, &error))?.constructors.len())
    }

    /// An arm without a body, and its fields.
    fn comparison_arm(
        &mut self,
        data: DataId,
        value: &Atom,
        constructor: u32,
        span: Span,
    ) -> Res<(Arm, Vec<Static<'a>>)> {
        let signatures = &self.builder.signatures;
        let types = match self.type_of(value, span)? {
            Type::Node(_) => signatures.node_fields(data, constructor),
            _ => signatures
                .constructor(data, constructor)
                .map(|it| it.fields.clone()),
        };
        let types = types.map_err(|error| ill_typed(span, &error))?;
        let mut context = Vec::new();
        let mut fields = Vec::with_capacity(types.len());
        for ty in &types {
            let builder = &mut self.builder;
            let opened = ty.open(&mut || {
                let var = builder.size_var("n");
                context.push(var.clone());
                var
            });
            fields.push(self.builder.param("field", opened));
        }
        let values = fields
            .iter()
            .map(|param| Static::var(param.var.clone()))
            .collect();
        let arm = Arm {
            constructor,
            context,
            fields,
            body: Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: Vec::new(),
            },
        };
        Ok((arm, values))
    }

    /// The fields of two values with the same constructor.
    fn compare_fields(
        &mut self,
        kind: Comparison,
        data: DataId,
        a: &Atom,
        b: &Atom,
        span: Span,
    ) -> Res<Atom> {
        let count = self.constructor_count(data, span)?;
        let mut arms = Vec::with_capacity(count);
        for at in 0..count as u32 {
            let (arm, fields) = self.comparison_arm(data, a, at, span)?;
            let (stmts, value) = self.in_body(|this| {
                if fields.is_empty() {
                    return Ok(kind.equal());
                }
                let (inner, others) = this.comparison_arm(data, b, at, span)?;
                let (stmts, value) = this.in_body(|this| this.compare_all(kind, &fields, &others, span))?;
                let exp = Exp::Case {
                    scrutinee: b.clone(),
                    arms: vec![Arm {
                        body: body(stmts, value),
                        ..inner
                    }],
                    // Not reached: the constructors are the same.
                    default: (count > 1).then(|| body(Vec::new(), kind.equal())),
                    result: ResultType::one(kind.result()),
                };
                this.emit(exp, "compared", span)
            })?;
            arms.push(Arm {
                body: body(stmts, value),
                ..arm
            });
        }
        let exp = Exp::Case {
            scrutinee: a.clone(),
            arms,
            default: None,
            result: ResultType::one(kind.result()),
        };
        self.emit(exp, "compared", span)
    }
}

fn body(stmts: Vec<core::Stmt>, value: Atom) -> Body {
    Body {
        stmts,
        context: Vec::new(),
        values: vec![value],
    }
}

fn operation(prim: Prim, function: Lambda, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation::NONE,
        functions: vec![function],
        args,
    })
}

fn without_sizes(ty: &Type) -> Type {
    ty.map_dims(&mut |dim| match dim {
        Dim::Size(_) => Dim::Size(Size::zero()),
        Dim::Jagged => Dim::Jagged,
    })
}
