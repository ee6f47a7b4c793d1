//! A recursion over a list as operations on arrays.
//!
//! ```text
//! let {k} cells: [k]#L = reach l
//! let end: #L = cells[k - 1]                  a list that goes round in a circle has no end
//! assert (case end of | #Cons (_, _) -> false | _ -> true)
//! let xs: [k]t = map (\c -> case c of | #Cons (x, _) -> … | _ -> the identity) cells
//! let r: t = reduce (op) (what the end gives) xs                                       a fold
//! let ys: [k]t = reverse (scan (op) (what stands behind the last) (reverse xs))        suffixes
//! let new: [k]#M = map (\i c y -> case c of | #Cons (x, _) -> #MCons … y … (i + 1) | …) (iota k) cells ys
//! let m: M = constructed new
//! ```

use super::shape::{Combined, Field, Gives, Made, Operator, Scalars, Shape, Step};
use almach_base::{Name, Span};
use almach_core::build::{Builder, op};
use almach_core::typing::Typed;
use almach_core::visit::{Substitution, Vars, fresh_exp};
use almach_core::{Arm, Atom, Body, DataId, Exp, Function, Lambda, Param, Pattern, ResultType, Stmt, Type};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar};

/// What a list that has no end is told.
const CIRCLE: &str = "the recursion has no end, since the list goes round in a circle";

/// The function without recursion; `function` is one with names of its own.
pub(super) fn function(builder: &mut Builder, shape: &Shape, function: &Function) -> Typed<Function> {
    builder.enter_signature(&function.context, &function.params);
    let mut made = Parallel {
        builder,
        shape,
        span: function.span,
    };
    made.builder.enter();
    let result = made.results(function);
    let values = match result {
        Ok(values) => values,
        Err(error) => {
            made.builder.leave(Vec::new(), Vec::new());
            return Err(error);
        }
    };
    let body = made.builder.leave(Vec::new(), values);
    Ok(Function {
        name: Name::from(format!("{}_at_once", function.name)),
        body,
        ..function.clone()
    })
}

struct Parallel<'a> {
    builder: &'a mut Builder,
    shape: &'a Shape,
    span: Span,
}

/// The cells of the list.
struct Cells {
    array: Atom,
    count: Atom,
    end: Atom,
}

impl Parallel<'_> {
    fn results(&mut self, function: &Function) -> Typed<Vec<Atom>> {
        let cells = self.cells()?;
        match &self.shape.made {
            Made::Fold(states) => {
                let starts = self.ended(&cells, function, &Substitution::new())?;
                self.folded(&cells, states.iter().zip(starts).collect())
            }
            Made::Accumulated(states) => {
                let starts = states.iter();
                let starts = starts.map(|(param, state)| (state, Atom::Var(param.var.clone())));
                let folded = self.folded(&cells, starts.collect())?;
                let mut known = Substitution::new();
                for ((param, _), value) in states.iter().zip(folded) {
                    known.insert(param.var.clone(), value);
                }
                self.ended(&cells, function, &known)
            }
            Made::List { data, .. } => Ok(vec![self.list(&cells, *data)?]),
        }
    }

    fn cells(&mut self) -> Typed<Cells> {
        let list = Atom::Var(self.shape.list.var.clone());
        let array = self.bind(op(Prim::Reach, vec![], vec![list]), "cells")?;
        let count = self.builder.length(&array, self.span)?;
        let last = self.bind(Exp::Binary(BinOp::Sub, count.clone(), one()), "last")?;
        let end = Exp::Index {
            array: array.clone(),
            indices: vec![last],
        };
        let end = self.bind(end, "end")?;
        let no = |step: &Step| self.shape.node_arm(step, Vec::new(), vec![truth(false)]);
        let mut arms: Vec<Arm> = self.shape.steps.iter().map(no).collect();
        arms.sort_by_key(|arm| arm.constructor);
        let is_end = Exp::Case {
            scrutinee: end.clone(),
            arms,
            default: Some(giving(vec![truth(true)])),
            result: ResultType::one(Type::BOOL),
        };
        let is_end = fresh_exp(&is_end, &mut self.builder.supply);
        let condition = self.bind(is_end, "is_end")?;
        let check = Exp::Assert {
            condition,
            text: CIRCLE.into(),
        };
        self.bind(check, "checked")?;
        Ok(Cells { array, count, end })
    }

    fn bind(&mut self, exp: Exp, name: &str) -> Typed<Atom> {
        self.builder.bind(exp, name, self.span)
    }

    /// What the end of the list gives.
    fn ended(&mut self, cells: &Cells, function: &Function, known: &Substitution) -> Typed<Vec<Atom>> {
        let types = &function.result.types;
        let mut known = known.clone();
        if let Some(body) = self.shape.only_end() {
            let mut exp = Exp::If {
                condition: truth(true),
                then: body.clone(),
                otherwise: giving(Vec::new()),
                result: function.result.clone(),
            };
            known.apply_exp(&mut exp);
            let Exp::If { then, .. } = fresh_exp(&exp, &mut self.builder.supply) else {
                return Ok(Vec::new());
            };
            for stmt in then.stmts {
                self.builder.push(stmt.pattern, stmt.exp, stmt.span);
            }
            return Ok(then.values);
        }
        // A step is no end; what it would give means nothing.
        self.builder.enter();
        let stand_ins: Typed<Vec<Atom>> = types.iter().map(|ty| self.nothing(ty)).collect();
        let nothing = self.builder.leave(Vec::new(), stand_ins?);
        let steps = self.shape.steps.iter();
        let mut arms: Vec<Arm> = match self.shape.ends.default {
            None => Vec::new(),
            Some(_) => steps
                .map(|step| {
                    self.shape
                        .node_arm(step, nothing.stmts.clone(), nothing.values.clone())
                })
                .collect(),
        };
        arms.extend(self.shape.ends.arms.iter().cloned());
        arms.sort_by_key(|arm| arm.constructor);
        let mut exp = Exp::Case {
            scrutinee: cells.end.clone(),
            arms,
            default: Some(self.shape.ends.default.clone().unwrap_or(nothing)),
            result: function.result.clone(),
        };
        known.apply_exp(&mut exp);
        let exp = fresh_exp(&exp, &mut self.builder.supply);
        let pattern = self.builder.bind_all(exp, &["ended".into()], self.span)?;
        Ok(variables(&pattern))
    }

    /// Some value of a type of scalars.
    fn nothing(&mut self, ty: &Type) -> Typed<Atom> {
        match ty {
            Type::Scalar(ty) => Ok(Atom::Const(Scalar::zero(*ty))),
            Type::Tuple(types) => {
                let parts: Typed<Vec<Atom>> = types.iter().map(|ty| self.nothing(ty)).collect();
                self.bind(Exp::Tuple(parts?), "nothing")
            }
            // A shape whose ends need a value of another type is refused.
            Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => Ok(truth(false)),
        }
    }

    /// States after all cells.
    fn folded(&mut self, cells: &Cells, states: Vec<(&Scalars, Atom)>) -> Typed<Vec<Atom>> {
        let operators: Vec<Operator> = states.iter().flat_map(|(state, _)| state.leaves()).collect();
        let mut arrays = self.elements(cells, &operators)?.into_iter();
        let mut folded = Vec::new();
        for (state, start) in states {
            folded.push(self.fold(state, start, &mut arrays)?);
        }
        Ok(folded)
    }

    fn fold(&mut self, state: &Scalars, start: Atom, arrays: &mut dyn Iterator<Item = Atom>) -> Typed<Atom> {
        match state {
            Scalars::One(operator) => match arrays.next() {
                Some(array) => {
                    let function = self.operator(*operator)?;
                    self.bind(op(Prim::Reduce, vec![function], vec![start, array]), "folded")
                }
                None => Ok(start),
            },
            Scalars::Tuple(parts) => {
                let mut folded = Vec::new();
                for (at, part) in (0u32..).zip(parts) {
                    let start = self.bind(Exp::Project(start.clone(), at), "start")?;
                    folded.push(self.fold(part, start, arrays)?);
                }
                self.bind(Exp::Tuple(folded), "folded")
            }
        }
    }

    fn operator(&mut self, operator: Operator) -> Typed<Lambda> {
        let ty = Type::Scalar(operator.ty);
        let (a, b) = (
            self.builder.param("a", ty.clone()),
            self.builder.param("b", ty.clone()),
        );
        self.builder.enter();
        let (left, right) = (Atom::Var(a.var.clone()), Atom::Var(b.var.clone()));
        let value = self.bind(Exp::Binary(operator.op, left, right), "c")?;
        let body = self.builder.leave(Vec::new(), vec![value]);
        Ok(Lambda {
            context: Vec::new(),
            params: vec![a, b],
            result: ResultType::one(ty),
            body,
        })
    }

    /// Of every cell what it has for these operators: an array for each.
    fn elements(&mut self, cells: &Cells, operators: &[Operator]) -> Typed<Vec<Atom>> {
        let node = self.builder.param("cell", Type::Node(self.shape.data));
        let mut arms = Vec::new();
        for step in &self.shape.steps {
            let (mut stmts, mut values) = (step.stmts.clone(), Vec::new());
            for (combined, operator) in step.combined().into_iter().zip(operators) {
                values.push(self.combined(combined, *operator, &mut stmts));
            }
            arms.push(self.shape.node_arm(step, stmts, values));
        }
        arms.sort_by_key(|arm| arm.constructor);
        let identities = operators.iter().map(|operator| Atom::Const(operator.identity()));
        let types: Vec<Type> = operators
            .iter()
            .map(|operator| Type::Scalar(operator.ty))
            .collect();
        let exp = Exp::Case {
            scrutinee: Atom::Var(node.var.clone()),
            arms,
            default: Some(giving(identities.collect())),
            result: result(types.clone()),
        };
        let exp = fresh_exp(&exp, &mut self.builder.supply);
        let function = self.function(vec![node], exp, types)?;
        let map = op(Prim::Map, vec![function], vec![cells.array.clone()]);
        let pattern = self.builder.bind_all(map, &["elements".into()], self.span)?;
        Ok(variables(&pattern))
    }

    /// A function that is one expression.
    fn function(&mut self, params: Vec<Param>, exp: Exp, types: Vec<Type>) -> Typed<Lambda> {
        self.builder.enter();
        let pattern = self.builder.bind_all(exp, &["given".into()], self.span);
        let values = match pattern {
            Ok(pattern) => variables(&pattern),
            Err(error) => {
                self.builder.leave(Vec::new(), Vec::new());
                return Err(error);
            }
        };
        let body = self.builder.leave(Vec::new(), values);
        Ok(Lambda {
            context: Vec::new(),
            params,
            result: result(types),
            body,
        })
    }

    /// Everything that a cell combines with a state.
    fn combined(&mut self, combined: &Combined, operator: Operator, stmts: &mut Vec<Stmt>) -> Atom {
        let mut all = combined.with.iter().cloned();
        let Some(first) = all.next() else {
            return Atom::Const(operator.identity());
        };
        all.fold(first, |left, right| {
            let ty = Type::Scalar(operator.ty);
            self.plain(Exp::Binary(operator.op, left, right), ty, stmts)
        })
    }

    /// A statement for a body that is not built in place.
    fn plain(&mut self, exp: Exp, ty: Type, stmts: &mut Vec<Stmt>) -> Atom {
        let var = self.builder.fresh("t");
        stmts.push(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: vec![Param { var: var.clone(), ty }],
            },
            exp,
            span: self.span,
        });
        Atom::Var(var)
    }

    /// The list that the steps make.
    fn list(&mut self, cells: &Cells, data: DataId) -> Typed<Atom> {
        let Made::List { suffixes, .. } = &self.shape.made else {
            return Ok(cells.array.clone());
        };
        let operators: Vec<Operator> = suffixes.iter().map(|suffix| suffix.operator).collect();
        let mut arrays = Vec::new();
        if !suffixes.is_empty() {
            let elements = self.elements(cells, &operators)?;
            for (suffix, array) in suffixes.iter().zip(elements) {
                let function = self.operator(suffix.operator)?;
                let backwards = self.bind(op(Prim::Reverse, vec![], vec![array]), "backwards")?;
                let behind = Atom::Const(suffix.behind);
                let scanned = op(Prim::Scan, vec![function], vec![behind, backwards]);
                let scanned = self.bind(scanned, "scanned")?;
                arrays.push(self.bind(op(Prim::Reverse, vec![], vec![scanned]), "suffixes")?);
            }
        }
        let positions = self.bind(op(Prim::Iota, vec![], vec![cells.count.clone()]), "positions")?;
        let position = self.builder.param("position", Type::I64);
        let node = self.builder.param("cell", Type::Node(self.shape.data));
        let found = suffixes.iter().map(|suffix| {
            let ty = Type::Scalar(suffix.operator.ty);
            self.builder.param("suffix", ty)
        });
        let found: Vec<Param> = found.collect();
        let exp = self.new_cells(data, &position, &node, &found);
        let exp = fresh_exp(&exp, &mut self.builder.supply);
        let mut params = vec![position, node];
        params.extend(found);
        let function = self.function(params, exp, vec![Type::Node(data)])?;
        let args = [positions, cells.array.clone()].into_iter().chain(arrays);
        let made = op(Prim::Map, vec![function], args.collect());
        let made = self.bind(made, "new")?;
        self.bind(op(Prim::Constructed, vec![], vec![made]), "made")
    }

    /// The node of a cell.
    fn new_cells(&mut self, data: DataId, position: &Param, node: &Param, found: &[Param]) -> Exp {
        let mut arms = Vec::new();
        for step in &self.shape.steps {
            let Gives::Cell { constructor, fields } = &step.gives else {
                continue;
            };
            let mut stmts = step.stmts.clone();
            let next = Exp::Binary(BinOp::Add, Atom::Var(position.var.clone()), one());
            let next = self.plain(next, Type::I64, &mut stmts);
            let mut found = found.iter();
            let fields = fields.iter().map(|field| match field {
                Field::Rest => next.clone(),
                Field::Own(atom) => atom.clone(),
                Field::Suffix(_) => found
                    .next()
                    .map_or(next.clone(), |param| Atom::Var(param.var.clone())),
            });
            let made = Exp::ConstructNode {
                data,
                constructor: *constructor,
                fields: fields.collect(),
            };
            let made = self.plain(made, Type::Node(data), &mut stmts);
            arms.push(self.shape.node_arm(step, stmts, vec![made]));
        }
        for arm in &self.shape.ends.arms {
            arms.push(Arm {
                body: self.end_node(&arm.body),
                ..arm.clone()
            });
        }
        // As elaboration has them, so that the program's own source gives the same again.
        arms.sort_by_key(|arm| arm.constructor);
        let default = self.shape.ends.default.clone();
        Exp::Case {
            scrutinee: Atom::Var(node.var.clone()),
            arms,
            default: default.map(|body| self.end_node(&body)),
            result: ResultType::one(Type::Node(data)),
        }
    }

    /// An end makes a node where it made a cell.
    fn end_node(&mut self, body: &Body) -> Body {
        let mut body = body.clone();
        let mut made = None;
        for stmt in &body.stmts {
            if let (
                Exp::Construct {
                    data,
                    constructor,
                    fields,
                },
                [value],
            ) = (&stmt.exp, stmt.pattern.values.as_slice())
                && body.values.contains(&Atom::Var(value.var.clone()))
            {
                made = Some((*data, *constructor, fields.clone()));
            }
        }
        if let Some((data, constructor, fields)) = made {
            let exp = Exp::ConstructNode {
                data,
                constructor,
                fields,
            };
            let node = self.plain(exp, Type::Node(data), &mut body.stmts);
            body.values = vec![node];
        }
        body
    }
}

impl Step {
    fn combined(&self) -> Vec<&Combined> {
        match &self.gives {
            Gives::States(states) => states.iter().collect(),
            Gives::Cell { fields, .. } => fields
                .iter()
                .filter_map(|field| match field {
                    Field::Suffix(combined) => Some(combined),
                    Field::Rest | Field::Own(_) => None,
                })
                .collect(),
        }
    }
}

impl Shape {
    /// The arm of a step for nodes: what refers to the rest is a position there.
    fn node_arm(&self, step: &Step, stmts: Vec<Stmt>, values: Vec<Atom>) -> Arm {
        let mut arm = Arm {
            body: Body {
                stmts,
                context: Vec::new(),
                values,
            },
            ..step.arm.clone()
        };
        if let Some(field) = arm.fields.get_mut(step.link) {
            field.ty = Type::I64;
        }
        arm
    }

    /// What the end gives where there is one kind of it, whose fields do not matter: then it need not be looked at.
    fn only_end(&self) -> Option<&Body> {
        let (arm, default) = (self.ends.arms.as_slice(), &self.ends.default);
        match (arm, default) {
            ([], Some(body)) => Some(body),
            ([arm], None) => {
                let vars = Vars::of_body(&arm.body);
                let fields = arm.fields.iter().map(|field| &field.var).chain(&arm.context);
                let mut used = fields.filter(|var| vars.used.contains(*var));
                used.next().is_none().then_some(&arm.body)
            }
            _ => None,
        }
    }

    /// Whether what the ends give can be told from the last cell.
    pub(super) fn ends_are_plain(&self, function: &Function) -> bool {
        self.only_end().is_some() || function.result.types.iter().all(Type::is_scalars)
    }
}

fn result(types: Vec<Type>) -> ResultType {
    ResultType {
        context: Vec::new(),
        types,
    }
}

fn giving(values: Vec<Atom>) -> Body {
    Body {
        stmts: Vec::new(),
        context: Vec::new(),
        values,
    }
}

fn variables(pattern: &Pattern) -> Vec<Atom> {
    let values = pattern.values.iter();
    values.map(|value| Atom::Var(value.var.clone())).collect()
}

fn truth(value: bool) -> Atom {
    Atom::Const(Scalar::Bool(value))
}

fn one() -> Atom {
    Atom::Const(Scalar::I64(1))
}
