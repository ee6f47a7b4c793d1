//! Application.

use crate::errors::bug;
use crate::statics::{Closure, DefAt, Function, Static};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Exp, Type};
use almach_prim::{Annotation, ScalarFunction};
use almach_types::tree::{ConstructorForm, Operator};
use almach_value::{BinOp, UnOp};
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    pub(crate) fn apply(
        &mut self,
        function: &Static<'a>,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        match function {
            Static::Function(function) => self.apply_function(function, args, span),
            _ if args.is_empty() => Ok(function.clone()),
            Static::Dynamic(_) | Static::Size(_) | Static::Tuple(_) | Static::Scope(_) => {
                Err(bug(span, "what is applied is not a function"))
            }
        }
    }

    fn apply_function(
        &mut self,
        function: &Rc<Function<'a>>,
        mut args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        if args.is_empty() {
            return Ok(Static::Function(function.clone()));
        }
        if let Function::Chosen(chosen) = &**function {
            return self.apply_chosen(chosen, &args, span);
        }
        let arity = self.arity(function, span)?;
        if args.len() < arity {
            return Ok(Static::function(Function::Partial(function.clone(), args, span)));
        }
        let more = args.split_off(arity);
        let result = self.apply_saturated(function, args, span)?;
        self.apply(&result, more, span)
    }

    /// How many arguments a function waits for before anything happens.
    fn arity(&mut self, function: &Function<'a>, span: Span) -> Res<usize> {
        Ok(match function {
            Function::Lambda(closure) => closure.params.len(),
            Function::Def(def) => self.def_arity(def, span)?,
            Function::Partial(function, given, _) => self.arity(function, span)?.saturating_sub(given.len()),
            Function::Prim { prim, arrays, ty, .. } => crate::prims::arity(*prim, *arrays, &ty.ty),
            Function::Scalar(ScalarFunction::Unary(_) | ScalarFunction::Cast, _) => 1,
            Function::Scalar(ScalarFunction::Binary(_), _) => 2,
            Function::Scalar(ScalarFunction::Ternary(_), _) => 3,
            Function::Operator(..) => 2,
            Function::Constructor { arity, .. } | Function::Foreign { arity, .. } => *arity,
            Function::Identity | Function::Lookup(_) | Function::Chosen(_) => 1,
        })
    }

    /// A recursive definition that gives a function waits for that function's arguments too: where the function
    /// is not the same for all calls, there is no other way to know what runs.
    fn def_arity(&mut self, at: &DefAt<'a>, span: Span) -> Res<usize> {
        let params = at.def.params.len();
        if at.def.group.is_none() {
            return Ok(params);
        }
        let env = self.def_env(at);
        let mut result = &self.close(&at.def.result, &env, span)?.ty;
        let mut arity = params;
        while let Ty::Function(function) = result {
            arity += 1;
            result = &function.1;
        }
        Ok(arity)
    }

    fn apply_saturated(
        &mut self,
        function: &Rc<Function<'a>>,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        match &**function {
            Function::Lambda(closure) => self.call_closure(closure, args, span),
            Function::Def(at) => self.call_def(at, args, span),
            Function::Partial(function, given, place) => {
                let args = given.iter().cloned().chain(args).collect();
                self.apply_function(function, args, written(function, *place, span))
            }
            Function::Prim {
                prim,
                annotation,
                arrays: _,
                ty,
            } => self.prim(*prim, *annotation, ty, args, span),
            Function::Scalar(function, ty) => self.scalar_function(*function, ty, &args, span),
            Function::Operator(operator, ty) => self.operator(*operator, ty, args, span),
            Function::Constructor {
                constructor,
                form,
                arity,
                ty,
            } => {
                let (_, result) = ty.ty.arrows(*arity);
                self.construct(*constructor, *form, result, &args, span)
            }
            Function::Foreign {
                function,
                arity,
                sizes,
                ty,
            } => self.call_foreign(*function, sizes, &ty.after(*arity), args, span),
            Function::Identity => args.into_iter().next().ok_or_else(|| bug(span, "no argument")),
            Function::Lookup(table) => {
                let at = args.first().ok_or_else(|| bug(span, "no argument"))?;
                let at = self.atom(at, span)?;
                let exp = Exp::Index {
                    array: table.clone(),
                    indices: vec![at],
                };
                self.emit_value(exp, "node", span)
            }
            Function::Chosen(chosen) => self.apply_chosen(chosen, &args, span),
        }
    }

    /// A closure's body with its parameters bound, in place.
    pub(crate) fn inline_closure(&mut self, closure: &Closure<'a>, args: Vec<Static<'a>>) -> Res<Static<'a>> {
        let mut env = closure.env.clone();
        for (param, arg) in closure.params.iter().zip(&args) {
            self.bind_pattern(param, arg, &mut env)?;
        }
        self.expr(closure.body, &env)
    }

    fn scalar_function(
        &mut self,
        function: ScalarFunction,
        ty: &SizedTy,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let atoms: Res<Vec<_>> = args.iter().map(|arg| self.atom(arg, span)).collect();
        let exp = match (function, atoms?.as_slice()) {
            (ScalarFunction::Unary(op), [a]) => Exp::Unary(op, a.clone()),
            (ScalarFunction::Cast, [a]) => match ty.ty.arrows(1).1 {
                Ty::Scalar(to) => Exp::Unary(UnOp::Convert(*to), a.clone()),
                _ => return Err(bug(span, "a cast to what is not a scalar")),
            },
            (ScalarFunction::Binary(op), [a, b]) => Exp::Binary(op, a.clone(), b.clone()),
            (ScalarFunction::Ternary(op), [a, b, c]) => Exp::Ternary(op, a.clone(), b.clone(), c.clone()),
            _ => return Err(bug(span, "a scalar function with the wrong number of arguments")),
        };
        self.emit_value(exp, "t", span)
    }

    fn operator(
        &mut self,
        operator: Operator,
        ty: &SizedTy,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        let Ok([left, right]) = <[Static<'a>; 2]>::try_from(args) else {
            return Err(bug(span, "an operator with the wrong number of arguments"));
        };
        match operator {
            Operator::Scalar(op) => {
                let (params, _) = ty.ty.arrows(1);
                let operand = params.first().map_or_else(Ty::unit, |ty| (*ty).clone());
                self.scalar_binary(op, &operand, left, right, span)
            }
            // As a function both operands are there already.
            Operator::LogicalAnd => self.scalar_binary(BinOp::And, &Ty::unit(), left, right, span),
            Operator::LogicalOr => self.scalar_binary(BinOp::Or, &Ty::unit(), left, right, span),
            Operator::Concat => self.concat(&left, &right, Annotation::NONE, span),
        }
    }

    /// A constructor with all its fields; `ty` is what it gives.
    pub(crate) fn construct(
        &mut self,
        constructor: u32,
        form: ConstructorForm,
        ty: &Ty,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let (Ty::Data(id, type_args) | Ty::Node(id, type_args)) = ty else {
            return Err(bug(span, format!("a constructor gives {ty:?}")));
        };
        let data = self.data_type(*id, type_args, span)?;
        let wanted: Vec<Type> = self
            .builder
            .signatures
            .constructor(data, constructor)
            .map_err(|error| crate::errors::ill_typed(span, &error))?
            .fields
            .clone();
        let mut fields = Vec::with_capacity(args.len());
        for (arg, wanted) in args.iter().zip(&wanted) {
            let atom = self.atom(arg, span)?;
            let found = self.type_of(&atom, span)?;
            let to = crate::data::as_field(&found, wanted);
            fields.push(self.coerce(atom, &to, span)?);
        }
        let exp = match form {
            ConstructorForm::Datum => Exp::Construct {
                data,
                constructor,
                fields,
            },
            ConstructorForm::Node => Exp::ConstructNode {
                data,
                constructor,
                fields,
            },
        };
        self.emit_value(exp, "c", span)
    }
}

/// Where an operation that got its first arguments at `place` and the last at `span` was written.
pub(crate) fn written(function: &Function<'_>, place: Span, span: Span) -> Span {
    match function {
        Function::Prim { .. } if !place.is_none() => place,
        _ => span,
    }
}
