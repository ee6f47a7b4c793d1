//! Expressions, in brackets or one word.

use super::Writer;
use super::types::{Place, scalar, ty};
use crate::tree::FIELDS;
use almach_syntax::ast::{
    BinaryOp, Binding, Expr, ExprKind, IndexArg, Loop, LoopForm, Param, PatternKind, SliceBound, UnaryOp,
};
use almach_value::{BinOp, ScalarType, UnOp};

impl Writer {
    pub(super) fn fresh(&mut self) -> String {
        self.next += 1;
        format!("made{}", self.next)
    }

    /// A value of a type that is written.
    pub(super) fn typed(&mut self, ty: &str, value: &str) -> String {
        let name = self.fresh();
        format!("((lambda ({name} : {ty}) : {ty} {name}) {value})")
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Option<String> {
        Some(match &expr.kind {
            ExprKind::Int { value, suffix } => format!("{value}{}", suffix.map_or("", ScalarType::name)),
            // Where nothing decides, NOVA's are not Almach's.
            ExprKind::Float { text, suffix } => format!("{text}{}", suffix.as_ref()?.name()),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Var(path) | ExprKind::Annotated { name: path, .. } => variable(&path.name.name)?,
            ExprKind::Constructor(path) => match self.constructors.get(&path.name.name)? {
                0 | 1 => path.name.name.to_string(),
                _ => return None,
            },
            ExprKind::Apply(function, args) => self.apply(function, args)?,
            ExprKind::Lambda(params, body) => self.lambda(params, None, body)?,
            ExprKind::Let(bindings, body) => self.let_in(bindings, body)?,
            ExprKind::If(condition, yes, no) => {
                let [condition, yes, no] = [self.expr(condition)?, self.expr(yes)?, self.expr(no)?];
                format!("(if {condition} then {yes} else {no})")
            }
            ExprKind::Case(scrutinee, arms) => self.case(scrutinee, arms)?,
            ExprKind::Tuple(parts) => format!("({})", self.all(parts)?.join(", ")),
            ExprKind::Record(fields) => {
                let parts: Option<Vec<String>> = fields.iter().map(|(_, field)| self.expr(field)).collect();
                format!("({})", parts?.join(", "))
            }
            ExprKind::Project(whole, at) => format!("({}.{at})", self.expr(whole)?),
            ExprKind::Field(whole, field) => {
                let at = FIELDS.iter().position(|name| **name == *field.name)?;
                format!("({}.{at})", self.expr(whole)?)
            }
            ExprKind::Index(array, indices) => self.index(array, indices)?,
            ExprKind::Array(elements) => {
                let elements = self
                    .all(elements)?
                    .into_iter()
                    .map(|element| format!("(replicate 1 {element})"));
                elements.reduce(|all, one| format!("(concat {all} {one})"))?
            }
            // Of every type of numbers: there is no operator for it.
            ExprKind::Unary(UnaryOp::Scalar(UnOp::Neg), operand) => {
                format!("(* (- 0 1) {})", self.expr(operand)?)
            }
            ExprKind::Unary(UnaryOp::Scalar(UnOp::Not), operand) => format!("(not {})", self.expr(operand)?),
            ExprKind::Unary(UnaryOp::Scalar(UnOp::Complement), operand) => {
                format!("(~ {})", self.expr(operand)?)
            }
            ExprKind::Binary(BinaryOp::PipeRight, _, value, function) => {
                format!("({} {})", self.expr(function)?, self.expr(value)?)
            }
            ExprKind::Binary(op, _, left, right) => {
                format!("({} {} {})", operator(*op)?, self.expr(left)?, self.expr(right)?)
            }
            ExprKind::Operator(op) => operator(*op)?.to_owned(),
            ExprKind::LeftSection(op, left) => format!("({} {})", operator(*op)?, self.expr(left)?),
            ExprKind::RightSection(op, right) => {
                let name = self.fresh();
                format!(
                    "(lambda {name} ({} {name} {}))",
                    operator(*op)?,
                    self.expr(right)?
                )
            }
            ExprKind::Loop(looped) => self.looped(looped)?,
            ExprKind::Ascribe(value, written) | ExprKind::Coerce(value, written) => {
                let value = self.expr(value)?;
                self.typed(&ty(written, Place::Outermost)?, &value)
            }
            ExprKind::Paren(inner) => self.expr(inner)?,
            ExprKind::Str(_)
            | ExprKind::NodeConstructor(_)
            | ExprKind::Range(..)
            | ExprKind::Unary(..)
            | ExprKind::With { .. }
            | ExprKind::Assert { .. }
            | ExprKind::Trace { .. }
            | ExprKind::Foreach { .. }
            | ExprKind::Error => return None,
        })
    }

    fn all(&mut self, exprs: &[Expr]) -> Option<Vec<String>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn apply(&mut self, function: &Expr, args: &[Expr]) -> Option<String> {
        let args = self.all(args)?;
        match &function.kind {
            ExprKind::Constructor(path) => {
                let name = &path.name.name;
                match (*self.constructors.get(name)?, args.as_slice()) {
                    (1, [one]) => Some(format!("({name} {one})")),
                    (count, many) if count == many.len() => Some(format!("({name} ({}))", many.join(", "))),
                    _ => None,
                }
            }
            // An `int` in NOVA.
            ExprKind::Var(path) if &*path.name.name == "length" => {
                Some(format!("(to_int64 (length {}))", args.join(" ")))
            }
            _ => Some(format!("({} {})", self.expr(function)?, args.join(" "))),
        }
    }

    pub(super) fn lambda(&mut self, params: &[Param], result: Option<String>, body: &Expr) -> Option<String> {
        let (mut names, mut around) = (Vec::new(), Vec::new());
        for param in params {
            let (name, written, bound) = self.parameter(&param.pattern)?;
            names.push(match written {
                Some(written) => format!("({name} : {written})"),
                None => format!("({name})"),
            });
            around.extend(bound);
        }
        let mut body = self.expr(body)?;
        if !around.is_empty() {
            body = format!("(let {} in {body})", around.join(" "));
        }
        let result = result.map_or(String::new(), |result| format!(": {result} "));
        Some(format!("(lambda {} {result}{body})", names.join(" ")))
    }

    fn let_in(&mut self, bindings: &[Binding], body: &Expr) -> Option<String> {
        let mut written = Vec::new();
        for binding in bindings {
            match binding {
                Binding::Value { pattern, value, .. } => {
                    let value = self.expr(value)?;
                    let (name, ty, bound) = self.parameter(pattern)?;
                    let value = ty.map_or(value.clone(), |ty| self.typed(&ty, &value));
                    written.push(format!("({name} {value})"));
                    written.extend(bound);
                }
                Binding::Functions(functions) => match functions.as_slice() {
                    [function] => written.push(self.function(function)?),
                    _ => return None,
                },
            }
        }
        Some(format!("(let {} in {})", written.join(" "), self.expr(body)?))
    }

    fn index(&mut self, array: &Expr, indices: &[IndexArg]) -> Option<String> {
        let array = self.expr(array)?;
        if let [
            IndexArg::Slice {
                begin,
                end,
                bound: SliceBound::Before,
                step,
                ..
            },
        ] = indices
        {
            let whole = self.fresh();
            let mut part = |part: &Option<Expr>, otherwise: String| match part {
                Some(part) => Some(format!("(to_int {})", self.expr(part)?)),
                None => Some(otherwise),
            };
            let [begin, end] = [
                part(begin, "0".to_owned())?,
                part(end, format!("(length {whole})"))?,
            ];
            let step = match step.as_ref().map(|step| &step.kind) {
                None => 1,
                Some(ExprKind::Int { value, .. }) => *value,
                Some(_) => return None,
            };
            return Some(format!(
                "(let ({whole} {array}) in (slice {begin} {step} {end} {whole}))"
            ));
        }
        let mut written = Vec::new();
        for index in indices {
            match index {
                IndexArg::At(index) => written.push(self.expr(index)?),
                IndexArg::Slice { .. } => return None,
            }
        }
        Some(match written.as_slice() {
            [one] => format!("({array} ! {one})"),
            many => format!("({array} ! ({}))", many.join(", ")),
        })
    }

    /// A function of the state (and the index) that calls itself last. Its type must be written.
    fn looped(&mut self, looped: &Loop) -> Option<String> {
        let initial = self.expr(looped.initial.as_ref()?)?;
        let PatternKind::Ascribed(..) = looped.pattern.kind else {
            return None;
        };
        let (state, ty, bound) = self.parameter(&looped.pattern)?;
        let ty = ty?;
        let body = self.expr(&looped.body)?;
        let around = match bound.is_empty() {
            true => String::new(),
            false => format!("let {} in ", bound.join(" ")),
        };
        let again = self.fresh();
        Some(match &looped.form {
            LoopForm::While(condition) => {
                let condition = self.expr(condition)?;
                let body = format!("(if {condition} then ({again} {body}) else {state})");
                let body = if around.is_empty() {
                    body
                } else {
                    format!("({around}{body})")
                };
                format!("((mu ({again} : {ty} -> {ty}) (lambda ({state} : {ty}) : {ty} {body})) {initial})")
            }
            LoopForm::For { index, bound } => {
                let (last, index) = (self.fresh(), &index.name);
                let bound = self.expr(bound)?;
                let body = if around.is_empty() {
                    body
                } else {
                    format!("({around}{body})")
                };
                format!(
                    "(let ({last} (to_int64 {bound})) in ((mu ({again} : int64 -> {ty} -> {ty}) (lambda ({index} : int64) ({state} : {ty}) : {ty} \
                     (if (< {index} {last}) then ({again} (+ {index} 1) {body}) else {state}))) 0 {initial}))"
                )
            }
        })
    }
}

/// A name that is not applied.
fn variable(name: &str) -> Option<String> {
    Some(match name {
        // An `int` in NOVA.
        "length" => "(lambda (made) (to_int64 (length made)))".to_owned(),
        // Other functions in NOVA.
        "range" | "slice" => return None,
        _ => match ScalarType::from_name(name) {
            Some(ty) => format!("to_{}", scalar(ty)),
            None => name.to_owned(),
        },
    })
}

fn operator(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::LogicalAnd => "and",
        BinaryOp::LogicalOr => "or",
        BinaryOp::Concat => "concat",
        BinaryOp::PipeRight | BinaryOp::PipeLeft => return None,
        BinaryOp::Scalar(op) => match op {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Pow => "pow",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::Eq => "=",
            BinOp::Ne => "~=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::Min => "min",
            BinOp::Max => "max",
            BinOp::Atan2 => "atan2",
            BinOp::Hypot => "hypot",
            BinOp::CopySign => "copysign",
        },
    })
}
