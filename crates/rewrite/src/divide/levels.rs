//! The function of levels, and the one that begins with one call.
//!
//! A level is three steps: what each call does before it calls itself (`before`), the next level for all that it calls, and what each does with the results (`after`). The
//! first gives for each call which of its cases it is (0 where it calls nothing, and has its result), what the other two need in that case, and
//! nothing for the other cases.

mod after;
mod before;
mod cells;

use super::shape::{Shape, lone_size};
use super::slots::Slot;
use crate::recursions::Reason;
use almach_base::{Name, Span};
use almach_core::build::Builder;
use almach_core::check::Rule;
use almach_core::typing::{Signature, TypeError, Typed};
use almach_core::visit::{Substitution, fresh_function};
use almach_core::{
    Atom, Body, ConstructorDef, DataId, Dim, Exp, FunId, Function, Lambda, Op, Param, Program, ResultType,
    Size, Type, Var,
};
use almach_prim::{Annotation, Level, Prim};
use almach_value::{BinOp, Scalar};

/// How many levels are done at most before calls are shared by threads: 64 calls where each makes two.
pub(super) const DEPTH: i64 = 6;

/// A call on arrays of fewer elements in all is not worth levels.
const WORTH: i64 = 1 << 12;

/// The function to call instead, and the two that are made.
pub(super) fn made(
    builder: &mut Builder,
    program: &Program,
    id: FunId,
    function: &Function,
) -> Result<(FunId, [Function; 2]), Reason> {
    let slots = |types: Vec<&Type>| types.into_iter().map(Slot::of).collect::<Result<Vec<_>, _>>();
    let params = slots(function.params.iter().map(|param| &param.ty).collect())?;
    let results = slots(function.result.types.iter().collect())?;
    let mut lift = Lift {
        builder,
        program,
        id,
        function,
        params,
        results,
        span: function.span,
    };
    let wrong = |error: TypeError| format!("what it would become has no type ({})", error.message);
    let (level, levels) = lift.levels().map_err(wrong)?;
    let first = lift.first(level).map_err(wrong)?;
    let first_id = builder.declare(Signature::of(&first));
    Ok((first_id, [levels, first]))
}

struct Lift<'a> {
    builder: &'a mut Builder,
    program: &'a Program,
    id: FunId,
    function: &'a Function,
    params: Vec<Slot>,
    results: Vec<Slot>,
    span: Span,
}

impl Lift<'_> {
    /// `fun f_levels {c} (d: i64, …) = if d <= 0 || c <= 0 then map f … else …`.
    fn levels(&mut self) -> Typed<(FunId, Function)> {
        let calls = self.builder.fresh("calls");
        let count = Size::var(calls.clone());
        let depth = self.builder.param("depth", Type::I64);
        let mut params = vec![depth.clone()];
        for slot in self.params.clone() {
            params.push(self.builder.param("given", slot.array(&count)));
        }
        let arrays = variables(params.get(1..).unwrap_or_default());
        let types: Vec<Type> = self.results.iter().map(|slot| slot.array(&count)).collect();
        let result = ResultType {
            context: Vec::new(),
            types,
        };
        let mut function = Function {
            name: Name::from(format!("{}_levels", self.function.name)),
            context: vec![calls.clone()],
            params,
            result: result.clone(),
            body: Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: Vec::new(),
            },
            span: self.span,
        };
        let level = self.builder.declare(Signature::of(&function));
        self.builder.enter_signature(&function.context, &function.params);
        let depth = Atom::Var(depth.var);
        function.body = self.inside(|lift| {
            let last = lift.binary(BinOp::Le, depth.clone(), int(0), "last")?;
            let none = lift.binary(BinOp::Le, Atom::Var(calls), int(0), "none")?;
            let is_last = lift.binary(BinOp::Or, last, none, "is_last")?;
            let then = lift.inside(|lift| lift.all_calls(&arrays))?;
            let otherwise = lift.inside(|lift| lift.one_level(level, &count, depth, &arrays))?;
            let choice = Exp::If {
                condition: is_last,
                then,
                otherwise,
                result,
            };
            lift.bind_all(choice, "result")
        })?;
        Ok((level, function))
    }

    /// `map f` of all calls.
    fn all_calls(&mut self, arrays: &[Atom]) -> Typed<Vec<Atom>> {
        let results = self.results.clone();
        self.shared(&results, arrays, |lift, values| {
            let mut known = Substitution::new();
            let function = lift.function;
            lift.adopt(&mut known, &function.params, &values)?;
            let of = |var: &Var| known.of_atom(&Atom::Var(var.clone()));
            let call = Exp::Call {
                function: lift.id,
                context: function.context.iter().map(of).collect(),
                args: function.params.iter().map(|param| of(&param.var)).collect(),
            };
            lift.bind_all(call, "result")
        })
    }

    /// What all calls do before they call, the next level, and what they do afterwards.
    fn one_level(&mut self, level: FunId, count: &Size, depth: Atom, arrays: &[Atom]) -> Typed<Vec<Atom>> {
        let copy = fresh_function(self.function, &mut self.builder.supply);
        let shape = Shape::of(self.program, self.id, &copy).map_err(|_| broken())?;
        let outputs = self.outputs(&shape)?;
        let params = self.params.clone();
        let before = self.each(&params, &outputs.slots(), |lift, values| {
            lift.before(&copy, &shape, &outputs, &values)
        })?;
        let made = self.bind_all(in_order(Prim::Map, vec![before], arrays.to_vec()), "made")?;
        let next = self.next_calls(count, &shape, &outputs, &made)?;
        let mut args = vec![self.binary(BinOp::Sub, depth, int(1), "depth")?];
        args.extend(next.args.iter().cloned());
        let size = next.args.first().map(|array| self.outer_size(array));
        let size = size.ok_or_else(broken)??;
        let size = self.builder.size_atom(&size, self.span)?;
        let call = Exp::Call {
            function: level,
            context: vec![size],
            args,
        };
        let found = self.bind_all(call, "found")?;
        self.after(&outputs, &made, &next, &found)
    }

    /// The function with one call, in levels where that is worth it.
    fn first(&mut self, level: FunId) -> Typed<Function> {
        let outer = fresh_function(self.function, &mut self.builder.supply);
        self.builder.enter_signature(&outer.context, &outer.params);
        let mut context = Vec::new();
        let mut body = self.inside(|lift| {
            let depth = lift.depth(&outer.params)?;
            let mut args = vec![depth];
            for (param, slot) in outer.params.iter().zip(lift.params.clone()) {
                let element = match slot {
                    Slot::One(ty) => ty,
                    Slot::Row(element) => Type::jagged(element),
                };
                let one = Exp::Array(vec![Atom::Var(param.var.clone())], element);
                args.push(lift.builder.bind(one, "one", lift.span)?);
            }
            let call = Exp::Call {
                function: level,
                context: vec![int(1)],
                args,
            };
            let all = lift.bind_all(call, "all")?;
            let mut values = Vec::new();
            for array in all {
                values.push(lift.at(&array, &int(0))?);
            }
            let mut known = Substitution::new();
            for size in &outer.context {
                known.insert(size.clone(), Atom::Var(size.clone()));
            }
            let names: Vec<Param> = outer
                .result
                .types
                .iter()
                .map(|ty| Param {
                    var: lift.builder.fresh("result"),
                    ty: ty.clone(),
                })
                .collect();
            lift.adopt(&mut known, &names, &values)?;
            let sizes = outer.result.context.iter();
            context = sizes
                .map(|size| known.of_atom(&Atom::Var(size.clone())))
                .collect();
            Ok(names
                .into_iter()
                .map(|name| known.of_atom(&Atom::Var(name.var)))
                .collect())
        })?;
        body.context = context;
        Ok(Function {
            name: Name::from(format!("{}_first", self.function.name)),
            body,
            ..outer
        })
    }

    /// How many levels calls with these arguments are worth.
    fn depth(&mut self, params: &[Param]) -> Typed<Atom> {
        let mut total: Option<Atom> = None;
        for param in params {
            if let Type::Array(..) = param.ty {
                let length = self.builder.length(&Atom::Var(param.var.clone()), self.span)?;
                total = Some(match total {
                    None => length,
                    Some(total) => self.binary(BinOp::Add, total, length, "total")?,
                });
            }
        }
        let Some(total) = total else {
            return Ok(int(DEPTH));
        };
        let is_much = self.binary(BinOp::Gt, total, int(WORTH), "is_much")?;
        let depths = [DEPTH, 0].map(|depth| Body {
            stmts: Vec::new(),
            context: Vec::new(),
            values: vec![int(depth)],
        });
        let [then, otherwise] = depths;
        let depth = Exp::If {
            condition: is_much,
            then,
            otherwise,
            result: ResultType::one(Type::I64),
        };
        self.builder.bind(depth, "depth", self.span)
    }
}

/// A body, and the sizes of the arrays that it gives.
struct Packed {
    body: Body,
    sizes: Vec<Size>,
}

/// Building blocks.
impl Lift<'_> {
    fn inside(&mut self, make: impl FnOnce(&mut Self) -> Typed<Vec<Atom>>) -> Typed<Body> {
        self.builder.enter();
        let values = make(self);
        let body = self.builder.leave(Vec::new(), values.clone().unwrap_or_default());
        values.map(|_| body)
    }

    /// A body that gives these values, and the sizes of the arrays among them.
    fn packed(&mut self, slots: &[Slot], make: impl FnOnce(&mut Self) -> Typed<Vec<Atom>>) -> Typed<Packed> {
        let (mut sizes, mut context) = (Vec::new(), Vec::new());
        let mut body = self.inside(|lift| {
            let values = make(lift)?;
            for (slot, value) in slots.iter().zip(&values) {
                if let Slot::Row(_) = slot {
                    let size = lift.outer_size(value)?;
                    context.push(lift.builder.size_atom(&size, lift.span)?);
                    sizes.push(size);
                }
            }
            Ok(values)
        })?;
        body.context = context;
        Ok(Packed { body, sizes })
    }

    /// What these bodies give, one or the other. Arrays of one size in each of them have one size, as they would have if this was written.
    fn given(&mut self, slots: &[Slot], bodies: Vec<Packed>) -> (ResultType, Vec<Body>) {
        let rows = slots.iter().filter(|slot| matches!(slot, Slot::Row(_))).count();
        let same = |one: usize, other: usize| {
            let mut all = bodies.iter();
            all.all(|packed| packed.sizes.get(one) == packed.sizes.get(other))
        };
        let firsts: Vec<usize> = (0..rows)
            .map(|row| (0..row).find(|earlier| same(*earlier, row)).unwrap_or(row))
            .collect();
        let names: Vec<Var> = (0..rows).map(|_| self.builder.size_var("row")).collect();
        let is_first = |row: &usize| firsts.get(*row) == Some(row);
        let context = (0..rows)
            .filter(is_first)
            .filter_map(|row| names.get(row).cloned());
        let mut sizes = firsts.iter().filter_map(|row| names.get(*row).cloned());
        let types = slots.iter().map(|slot| match slot {
            Slot::One(ty) => ty.clone(),
            Slot::Row(element) => {
                let size = sizes.next().map_or_else(Size::zero, Size::var);
                Type::array(size, element.clone())
            }
        });
        let result = ResultType {
            types: types.collect(),
            context: context.collect(),
        };
        let bodies = bodies.into_iter().map(|Packed { mut body, .. }| {
            let mut row = 0..rows;
            body.context
                .retain(|_| row.next().is_some_and(|row| firsts.get(row) == Some(&row)));
            body
        });
        (result, bodies.collect())
    }

    /// The same of two bodies.
    fn given_by_two(
        &mut self,
        slots: &[Slot],
        one: Packed,
        other: Packed,
    ) -> Typed<(ResultType, Body, Body)> {
        let (result, bodies) = self.given(slots, vec![one, other]);
        let mut bodies = bodies.into_iter();
        match (bodies.next(), bodies.next()) {
            (Some(one), Some(other)) => Ok((result, one, other)),
            _ => Err(broken()),
        }
    }

    /// Parameters for these, each array with a size of its own.
    fn taken_as(&mut self, slots: &[Slot], name: &str) -> (Vec<Var>, Vec<Param>) {
        let (mut context, mut params) = (Vec::new(), Vec::new());
        for slot in slots {
            let ty = match slot {
                Slot::One(ty) => ty.clone(),
                Slot::Row(element) => {
                    let size = self.builder.size_var("row");
                    context.push(size.clone());
                    Type::array(Size::var(size), element.clone())
                }
            };
            params.push(self.builder.param(name, ty));
        }
        (context, params)
    }

    /// A function of one call: of what it takes, to what it gives.
    fn each(
        &mut self,
        takes: &[Slot],
        gives: &[Slot],
        make: impl FnOnce(&mut Self, Vec<Atom>) -> Typed<Vec<Atom>>,
    ) -> Typed<Lambda> {
        let (context, params) = self.taken_as(takes, "given");
        let values = variables(&params);
        let body = self.packed(gives, |lift| make(lift, values))?;
        let (result, bodies) = self.given(gives, vec![body]);
        let body = bodies.into_iter().next().ok_or_else(broken)?;
        Ok(Lambda {
            context,
            params,
            result,
            body,
        })
    }

    /// `if condition then … else …`, of which each gives these.
    fn choose(
        &mut self,
        gives: &[Slot],
        condition: Atom,
        then: impl FnOnce(&mut Self) -> Typed<Vec<Atom>>,
        otherwise: impl FnOnce(&mut Self) -> Typed<Vec<Atom>>,
    ) -> Typed<Vec<Atom>> {
        let (then, otherwise) = (self.packed(gives, then)?, self.packed(gives, otherwise)?);
        let (result, then, otherwise) = self.given_by_two(gives, then, otherwise)?;
        let choice = Exp::If {
            condition,
            then,
            otherwise,
            result,
        };
        self.bind_all(choice, "chosen")
    }

    /// From now on these values stand for these variables. An array's size stands for the variable that its size is; where that is known
    /// already, or is more than a variable, the two are equal, and the array gets the type that says so.
    fn adopt(&mut self, known: &mut Substitution, names: &[Param], values: &[Atom]) -> Typed<()> {
        let mut rest = Vec::new();
        for (name, value) in names.iter().zip(values) {
            match lone_size(&name.ty) {
                Some(size) if known.get(size).is_none() => {
                    let found = self.outer_size(value)?;
                    let found = self.builder.size_atom(&found, self.span)?;
                    known.insert(size.clone(), found);
                    known.insert(name.var.clone(), value.clone());
                }
                None if !matches!(name.ty, Type::Array(..)) => known.insert(name.var.clone(), value.clone()),
                _ => rest.push((name, value)),
            }
        }
        for (name, value) in rest {
            let to = known.of_type(&name.ty);
            let coerced = Exp::Coerce {
                value: value.clone(),
                to,
            };
            let coerced = self.builder.bind(coerced, "same", self.span)?;
            known.insert(name.var.clone(), coerced);
        }
        Ok(())
    }

    fn outer_size(&self, array: &Atom) -> Typed<Size> {
        match self.builder.type_of(array)? {
            Type::Array(Dim::Size(size), _) => Ok(size),
            _ => Err(broken()),
        }
    }

    fn at(&mut self, array: &Atom, index: &Atom) -> Typed<Atom> {
        let exp = Exp::Index {
            array: array.clone(),
            indices: vec![index.clone()],
        };
        self.builder.bind(exp, "one", self.span)
    }

    fn binary(&mut self, op: BinOp, left: Atom, right: Atom, name: &str) -> Typed<Atom> {
        self.builder.bind(Exp::Binary(op, left, right), name, self.span)
    }

    fn bind_all(&mut self, exp: Exp, name: &str) -> Typed<Vec<Atom>> {
        let pattern = self.builder.bind_all(exp, &[name.into()], self.span)?;
        Ok(variables(&pattern.values))
    }

    /// A value that nobody looks at.
    fn nothing(&mut self, slot: &Slot) -> Typed<Atom> {
        match slot {
            Slot::One(ty) => self.nothing_of(ty),
            Slot::Row(element) => {
                let none = Exp::Array(Vec::new(), element.clone());
                self.builder.bind(none, "nothing", self.span)
            }
        }
    }

    fn nothing_of(&mut self, ty: &Type) -> Typed<Atom> {
        let exp = match ty {
            Type::Scalar(scalar) => return Ok(Atom::Const(Scalar::zero(*scalar))),
            Type::Tuple(parts) => {
                let parts: Typed<Vec<Atom>> = parts.iter().map(|part| self.nothing_of(part)).collect();
                Exp::Tuple(parts?)
            }
            Type::Array(Dim::Jagged, element) => Exp::Array(Vec::new(), (**element).clone()),
            Type::Data(data) => {
                let (constructor, fields) = self.plainest(*data)?;
                let fields: Typed<Vec<Atom>> = fields.iter().map(|field| self.nothing_of(field)).collect();
                Exp::Construct {
                    data: *data,
                    constructor,
                    fields: fields?,
                }
            }
            Type::Vector(..) | Type::Array(Dim::Size(_), _) | Type::Node(_) => return Err(broken()),
        };
        self.builder.bind(exp, "nothing", self.span)
    }

    /// A constructor without data, and its fields.
    fn plainest(&self, data: DataId) -> Typed<(u32, Vec<Type>)> {
        fn is_plain(ty: &Type) -> bool {
            match ty {
                Type::Scalar(_) | Type::Array(Dim::Jagged, _) => true,
                Type::Tuple(parts) => parts.iter().all(is_plain),
                Type::Vector(..) | Type::Array(Dim::Size(_), _) | Type::Data(_) | Type::Node(_) => false,
            }
        }
        let def = self.builder.signatures.data(data)?;
        let constructors = (0u32..).zip(&def.constructors);
        let plain = |(_, constructor): &(u32, &ConstructorDef)| constructor.fields.iter().all(is_plain);
        let mut plain = constructors.filter(plain);
        let (number, constructor) = plain.next().ok_or_else(broken)?;
        Ok((number, constructor.fields.clone()))
    }
}

fn in_order(prim: Prim, functions: Vec<Lambda>, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation {
            level: Some(Level::Seq),
            ..Annotation::NONE
        },
        functions,
        args,
    })
}

fn variables(params: &[Param]) -> Vec<Atom> {
    params.iter().map(|param| Atom::Var(param.var.clone())).collect()
}

fn int(value: i64) -> Atom {
    Atom::Const(Scalar::I64(value))
}

fn broken() -> TypeError {
    TypeError::new(Rule::Arity, "a part of a call that is not there")
}
