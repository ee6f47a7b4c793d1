//! Expressions.

use crate::items::{Printer, is_shown, put, several};
use crate::parts::declared;
use crate::records::differs;
use crate::scalars::{binary, quoted, ternary, unary};
use crate::types::{ONLY_FIELD, Unnamed, Writing};
use crate::uses::StateType;
use almach_core::{
    Arm, Atom, Body, DataId, Dim, Exp, InPlace, Lambda, Loop, LoopForm, Op, Param, Pattern, SlicePart, Type,
    Var,
};
use almach_prim::Prim;
use std::fmt::Write;

/// Whether a constructor makes a datum or a node value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Datum,
    Node,
}

impl Form {
    fn prefix(self) -> &'static str {
        match self {
            Form::Datum => "",
            Form::Node => "#",
        }
    }
}

impl Printer<'_> {
    pub fn exp(&self, exp: &Exp, pattern: &Pattern, out: &mut String) {
        match exp {
            Exp::Atom(atom) => out.push_str(&self.atom(atom)),
            Exp::Unary(op, a) => out.push_str(&unary(*op, &self.atom(a))),
            Exp::Binary(op, a, b) => out.push_str(&binary(*op, &self.atom(a), &self.atom(b))),
            Exp::Ternary(op, a, b, c) => {
                let operands = [self.atom(a), self.atom(b), self.atom(c)];
                out.push_str(&ternary(*op, operands.each_ref().map(String::as_str)));
            }
            Exp::Tuple(parts) => match parts.as_slice() {
                [part] => put!(out, "{{{ONLY_FIELD} = {}}}", self.atom(part)),
                _ => out.push_str(&several(&self.atoms(parts))),
            },
            Exp::Project(tuple, at) => self.project(tuple, *at, out),
            Exp::Array(elements, ty) => self.array(elements, ty, out),
            Exp::Construct {
                data,
                constructor,
                fields,
            } => self.construct(Form::Datum, *data, *constructor, fields, out),
            Exp::ConstructNode {
                data,
                constructor,
                fields,
            } => self.construct(Form::Node, *data, *constructor, fields, out),
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                put!(out, "if {} then\n", self.atom(condition));
                self.body(then, out);
                out.push_str("else\n");
                self.body(otherwise, out);
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => self.case(scrutinee, arms, default.as_ref(), out),
            Exp::Loop(looped) => self.looped(looped, out),
            Exp::Call {
                function,
                context,
                args,
            } => self.call(function.0, context, args, out),
            Exp::Foreign { function, args, .. } => {
                put!(out, "{}", self.names.foreign(*function));
                self.arguments(args, out);
            }
            Exp::Op(op) => self.op(op, pattern, out),
            Exp::Index { array, indices } => {
                put!(out, "{}[{}]", self.atom(array), self.atoms(indices).join(", "));
            }
            Exp::Slice { array, parts } => put!(out, "{}{}", self.atom(array), self.parts(parts)),
            Exp::Update {
                array,
                parts,
                value,
                in_place,
            } => {
                let with = match in_place {
                    InPlace::Required => "with!",
                    InPlace::WherePossible => "with",
                };
                put!(
                    out,
                    "{} {with} {} = {}",
                    self.atom(array),
                    self.parts(parts),
                    self.atom(value)
                );
            }
            Exp::Coerce { value, to } => {
                let writing = Writing {
                    hidden: &|_| false,
                    unnamed: Unnamed::Inferred,
                };
                put!(out, "{}", self.atom(value));
                if let Some(ty) = self.ty(to, None, &writing) {
                    put!(out, " :> {ty}");
                }
            }
            // A statement of its own kind, see `bodies`.
            Exp::Assert { .. } => out.push_str("()"),
            Exp::Trace { label, value } => put!(out, "trace {} {}", quoted(label), self.atom(value)),
        }
    }

    fn arguments(&self, args: &[Atom], out: &mut String) {
        for arg in args {
            put!(out, " {}", self.atom(arg));
        }
    }

    fn type_of(&self, atom: &Atom) -> Option<&Type> {
        match atom {
            Atom::Var(var) => self.uses.type_of(var),
            Atom::Const(_) => None,
        }
    }

    fn project(&self, tuple: &Atom, at: u32, out: &mut String) {
        match self.type_of(tuple) {
            Some(Type::Tuple(parts)) if parts.len() == 1 => {
                put!(out, "{}.{ONLY_FIELD}", self.atom(tuple));
            }
            _ => put!(out, "{}.{at}", self.atom(tuple)),
        }
    }

    /// An empty array, and one whose rows have sizes of their own, says its type.
    fn array(&self, elements: &[Atom], ty: &Type, out: &mut String) {
        let mut has_jagged = false;
        ty.for_each_dim(&mut |dim| has_jagged |= *dim == Dim::Jagged);
        let literal = format!("[{}]", self.atoms(elements).join(", "));
        let writing = Writing {
            hidden: &|_| false,
            unnamed: Unnamed::Inferred,
        };
        let whole = Type::array(almach_nat::Poly::constant(elements.len() as i64), ty.clone());
        match self.ty(&whole, None, &writing) {
            Some(ty) if elements.is_empty() || has_jagged => put!(out, "({literal} : {ty})"),
            _ => out.push_str(&literal),
        }
    }

    fn construct(&self, form: Form, data: DataId, constructor: u32, fields: &[Atom], out: &mut String) {
        put!(
            out,
            "{}{}",
            form.prefix(),
            self.names.constructor(declared(self.program, data), constructor)
        );
        let writing = Writing {
            hidden: &|_| false,
            unnamed: Unnamed::Inferred,
        };
        for (at, field) in fields.iter().enumerate() {
            let border = self.borders.field(data, constructor, at);
            match (border, self.type_of(field)) {
                (Some(border), Some(ty)) if differs(ty, border) => {
                    let shown = self.ty(ty, Some(border), &writing).unwrap_or_default();
                    put!(out, " ({} :> {shown})", self.atom(field));
                }
                _ => put!(out, " {}", self.atom(field)),
            }
        }
    }

    fn case(&self, scrutinee: &Atom, arms: &[Arm], default: Option<&Body>, out: &mut String) {
        let (data, form) = match self.type_of(scrutinee) {
            Some(Type::Data(id)) => (*id, Form::Datum),
            Some(Type::Node(id)) => (*id, Form::Node),
            _ => return,
        };
        put!(out, "(case {} of\n", self.atom(scrutinee));
        for arm in arms {
            self.arm(data, form, arm, out);
        }
        if let Some(body) = default {
            out.push_str("| _ ->\n");
            self.body(body, out);
        }
        out.push(')');
    }

    fn arm(&self, data: DataId, form: Form, arm: &Arm, out: &mut String) {
        put!(
            out,
            "| {}{}",
            form.prefix(),
            self.names
                .constructor(declared(self.program, data), arm.constructor)
        );
        let writing = Writing {
            hidden: &|var| arm.context.contains(var),
            unnamed: Unnamed::Inferred,
        };
        let mut lead = Vec::new();
        for (at, field) in arm.fields.iter().enumerate() {
            let name = self.names.var(&field.var);
            put!(out, " {name}");
            let border = self.borders.field(data, arm.constructor, at);
            if border.is_some_and(|border| differs(&field.ty, border))
                && let Some(ty) = self.ty(&field.ty, None, &writing)
            {
                lead.push(format!("let {name} = {name} :> {ty}"));
            }
        }
        lead.extend(self.size_names(&arm.context, &arm.fields));
        out.push_str(" ->\n");
        let result = self.tuple(&arm.body.values);
        self.body_after(&lead, &arm.body, &result, out);
    }

    /// A loop's state, with its type where inference might find other sizes.
    fn state(&self, looped: &Loop, param: &Param) -> String {
        let changing = |var: &Var| looped.context.iter().any(|(own, _)| own == var);
        let name = self.names.var(&param.var);
        let written = match StateType::of(looped, &param.ty) {
            StateType::Left => None,
            StateType::Sizes => self.ty(
                &param.ty,
                None,
                &Writing {
                    hidden: &|_| false,
                    unnamed: Unnamed::Inferred,
                },
            ),
            StateType::Changing => self.ty(
                &param.ty,
                None,
                &Writing {
                    hidden: &changing,
                    unnamed: Unnamed::Unknown,
                },
            ),
        };
        match written {
            Some(ty) => format!("({name}: {ty})"),
            None => name.to_owned(),
        }
    }

    fn looped(&self, looped: &Loop, out: &mut String) {
        let names: Vec<String> = looped
            .params
            .iter()
            .map(|(param, _)| self.state(looped, param))
            .collect();
        let initial: Vec<String> = looped
            .params
            .iter()
            .map(|(_, initial)| self.atom(initial))
            .collect();
        put!(out, "loop ({} = {})", several(&names), several(&initial));
        let context: Vec<Var> = looped.context.iter().map(|(var, _)| var.clone()).collect();
        let params: Vec<Param> = looped.params.iter().map(|(param, _)| param.clone()).collect();
        let sizes = self.size_names(&context, &params);
        match &looped.form {
            LoopForm::For { index, bound } => {
                put!(
                    out,
                    " for {} < {} do\n",
                    self.names.var(&index.var),
                    self.atom(bound)
                );
            }
            LoopForm::While(condition) => {
                out.push_str(" while (\n");
                let result = self.tuple(&condition.values);
                self.body_after(&sizes, condition, &result, out);
                out.push_str(") do\n");
            }
        }
        let result = self.tuple(&looped.body.values);
        self.body_after(&sizes, &looped.body, &result, out);
    }

    fn call(&self, function: u32, context: &[Atom], args: &[Atom], out: &mut String) {
        let Some(called) = self.program.functions.get(function as usize) else {
            return;
        };
        put!(out, "{}", self.names.function(almach_core::FunId(function)));
        for (var, atom) in called.context.iter().zip(context) {
            if !is_shown(var, &called.params) {
                put!(out, " {}", self.atom(atom));
            }
        }
        self.arguments(args, out);
    }

    fn op(&self, op: &Op, pattern: &Pattern, out: &mut String) {
        let name = format!("{}{}", op.prim.name(), op.annotation);
        match (op.prim, op.functions.as_slice(), op.args.as_slice()) {
            (Prim::ReduceByIndex, [function], [dest, rest @ ..]) => {
                put!(out, "{name} {}", self.atom(dest));
                self.lambda(function, out);
                self.arguments(rest, out);
            }
            (Prim::Map, [function], args) => {
                let results = pattern.values.len();
                let mut map = name;
                self.rows(function, &mut map);
                self.arguments(args, &mut map);
                match results {
                    0 | 1 => out.push_str(&map),
                    2 => put!(out, "unzip ({map})"),
                    _ => out.push_str(&unzipped(&map, results)),
                }
            }
            (_, functions, args) => {
                out.push_str(&name);
                functions.iter().for_each(|function| self.lambda(function, out));
                self.arguments(args, out);
            }
        }
    }

    fn lambda(&self, lambda: &Lambda, out: &mut String) {
        let result = self.tuple(&lambda.body.values);
        self.lambda_giving(lambda, &result, out);
    }

    /// The function of a `map`. Rows that are jagged although all might have one size say so. Several are pairs of pairs, as
    /// `unzip` takes them.
    fn rows(&self, lambda: &Lambda, out: &mut String) {
        let writing = Writing {
            hidden: &|var| lambda.result.context.contains(var),
            unnamed: Unnamed::Unknown,
        };
        let row = |(value, ty): (&Atom, &Type)| {
            let mut is_open = false;
            ty.for_each_dim(&mut |dim| {
                is_open |= matches!(dim, Dim::Size(size) if size.occurrences().any(writing.hidden));
            });
            match self.ty(ty, None, &writing) {
                Some(ty) if is_open => format!("({} : {ty})", self.atom(value)),
                _ => self.atom(value),
            }
        };
        let values = lambda.body.values.iter().zip(&lambda.result.types).map(row);
        let pairs = values.rev().reduce(|pairs, value| format!("({value}, {pairs})"));
        self.lambda_giving(lambda, &pairs.unwrap_or_else(|| several(&[])), out);
    }

    fn lambda_giving(&self, lambda: &Lambda, result: &str, out: &mut String) {
        out.push_str(" (\\");
        for (at, param) in lambda.params.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            put!(out, "{blank}{}", self.names.var(&param.var));
        }
        out.push_str(" ->\n");
        let sizes = self.size_names(&lambda.context, &lambda.params);
        self.body_after(&sizes, &lambda.body, result, out);
        out.push(')');
    }

    fn parts(&self, parts: &[SlicePart]) -> String {
        let part = |part: &SlicePart| match part {
            SlicePart::At(at) => self.atom(at),
            SlicePart::Slice { begin, count, step } => {
                format!("{}:+{}:{}", self.atom(begin), self.atom(count), self.atom(step))
            }
        };
        let parts: Vec<String> = parts.iter().map(part).collect();
        format!("[{}]", parts.join(", "))
    }
}

/// The arrays of a map that gives pairs of pairs, as one tuple.
fn unzipped(map: &str, results: usize) -> String {
    let mut text = "(".to_owned();
    let mut pairs = format!("({map})");
    for at in 0..results - 1 {
        let rest = if at + 2 == results { "last" } else { "rest" };
        put!(text, "let (array_{at}, {rest}) = unzip {pairs}\n");
        pairs = "rest".to_owned();
    }
    let arrays: Vec<String> = (0..results - 1).map(|at| format!("array_{at}")).collect();
    put!(text, "in ({}, last))", arrays.join(", "));
    text
}
