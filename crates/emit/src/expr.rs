//! Imp's expressions as C.

use crate::device::Side;
use crate::helpers::{Helper, math};
use crate::index::{Arithmetic, IndexPrinter, integer};
use crate::procedure::{Emitter, Repeated, Role};
use crate::tree::{CBinary, CExpr, CType, CUnary};
use almach_base::{Diagnostic, Name};
use almach_imp::{Expr, Index, Writing};
use almach_value::ir_text::{binary_name, ternary_name, unary_name};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

type Emit<T> = Result<T, Box<Diagnostic>>;

impl Emitter<'_> {
    pub fn expr(&mut self, expr: &Expr) -> Emit<CExpr> {
        Ok(self.typed(expr)?.0)
    }

    /// An expression whose value decides how much is allocated: it must not wrap to something small.
    pub fn size_expr(&mut self, expr: &Expr) -> Emit<CExpr> {
        let before = std::mem::replace(&mut self.arithmetic, Arithmetic::Saturating);
        let result = self.expr(expr);
        self.arithmetic = before;
        result
    }

    /// The value of a scalar.
    pub fn value_of(&mut self, name: &Name, value: &Expr) -> Emit<CExpr> {
        match self.uses.is_size(name) {
            true => self.size_expr(value),
            false => self.expr(value),
        }
    }

    pub fn index(&mut self, index: &Index, arithmetic: Arithmetic) -> CExpr {
        let (names, narrow) = (&self.names, &self.narrow);
        let alone = index.as_var().is_some();
        let name = |name: &Name| {
            let c = CExpr::name(names.get(name).map_or(name.as_str(), |known| &known.c_name));
            // A sum or product of 32 bits could be too large.
            match !alone && narrow.contains(name) {
                true => CExpr::cast(CType::Scalar(ScalarType::I64), c),
                false => c,
            }
        };
        IndexPrinter {
            facts: &self.facts,
            name,
            helpers: self.helpers,
            arithmetic,
        }
        .index(index)
    }

    /// `buffer[index]`.
    pub fn cell(&mut self, buffer: &Name, index: &Index) -> Emit<CExpr> {
        if let Role::Column(_) = self.known(buffer)?.role {
            let place = self.column_place(buffer, index)?;
            return Ok(CExpr::unary(CUnary::Follow, place));
        }
        let array = CExpr::name(self.known(buffer)?.c_name.clone());
        Ok(array.at(self.index(index, Arithmetic::Plain)))
    }

    /// What is in a cell.
    fn load(&mut self, buffer: &Name, index: &Index) -> Emit<CExpr> {
        match self.known(buffer)?.role {
            Role::Column(Writing::Settled) => {
                let place = self.column_place(buffer, index)?;
                Ok(CExpr::call("settled", [place]))
            }
            _ => self.cell(buffer, index),
        }
    }

    /// A pointer to a cell of a column.
    pub fn column_place(&mut self, column: &Name, index: &Index) -> Emit<CExpr> {
        self.helpers.columns.insert(column.clone());
        let function = self.known(column)?.c_name.clone();
        let stores = self.context()?.arrow("stores");
        let row = self.index(index, Arithmetic::Plain);
        Ok(CExpr::call(function, [stores, row]))
    }

    /// An expression with its type.
    pub fn typed(&mut self, expr: &Expr) -> Emit<(CExpr, ScalarType)> {
        match expr {
            Expr::Const(scalar) => Ok((literal(*scalar), scalar.ty())),
            Expr::Var(name) => {
                let known = self.known(name)?;
                Ok((CExpr::name(known.c_name.clone()), known.ty))
            }
            Expr::Index(index) => Ok((self.index(index, self.arithmetic), ScalarType::I64)),
            Expr::Load(buffer, index) => Ok((self.load(buffer, index)?, self.known(buffer)?.ty)),
            Expr::Unary(op, argument) => {
                let (c_argument, ty) = self.typed(argument)?;
                let result = self.applies(op.result_type(ty), op)?;
                // Of a test of something known compilers warn, too.
                let known = is_limited(argument) || is_constant(argument);
                let c = match op {
                    UnOp::Convert(ScalarType::Bool) if known && !ty.is_float() && ty != ScalarType::Bool => {
                        self.help(Helper::Unary(*op, ty), [c_argument])
                    }
                    _ => self.unary(*op, c_argument, ty),
                };
                Ok((c, result))
            }
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::Ternary(op, a, b, c) => {
                let (a, ty) = self.typed(a)?;
                let arguments = [a, self.expr(b)?, self.expr(c)?];
                let result = self.applies(op.result_type(ty), op)?;
                Ok((CExpr::call(math(ternary_name(*op), ty), arguments), result))
            }
            Expr::Select(condition, then, otherwise) => {
                let condition = self.expr(condition)?;
                let (then, ty) = self.typed(then)?;
                let otherwise = self.expr(otherwise)?;
                let c = CExpr::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
                Ok((c, ty))
            }
        }
    }

    /// The type of an expression, where nothing is printed.
    fn type_of(&self, expr: &Expr) -> Emit<ScalarType> {
        match expr {
            Expr::Const(scalar) => Ok(scalar.ty()),
            Expr::Var(name) | Expr::Load(name, _) => Ok(self.known(name)?.ty),
            Expr::Index(_) => Ok(ScalarType::I64),
            Expr::Unary(op, a) => self.applies(op.result_type(self.type_of(a)?), op),
            Expr::Binary(op, a, _) => self.applies(op.result_type(self.type_of(a)?), op),
            Expr::Ternary(op, a, ..) => self.applies(op.result_type(self.type_of(a)?), op),
            Expr::Select(_, then, _) => self.type_of(then),
        }
    }

    fn applies(&self, result: Option<ScalarType>, op: &dyn std::fmt::Debug) -> Emit<ScalarType> {
        result.ok_or_else(|| self.bug(format!("{op:?} does not apply to its operands")))
    }

    /// The opposite of a condition.
    pub fn falsity(&mut self, condition: &Expr) -> Emit<CExpr> {
        match condition {
            Expr::Unary(UnOp::Not, inner) => self.expr(inner),
            Expr::Binary(BinOp::And, left, right) if !has_load(right) => {
                let (left, right) = (self.falsity(left)?, self.falsity(right)?);
                Ok(CExpr::binary(CBinary::Or, left, right))
            }
            Expr::Binary(op, left, right) => {
                // NaN makes both a comparison of floats and its opposite false.
                let ordered = !self.type_of(left)?.is_float();
                match opposite(*op).filter(|_| ordered) {
                    Some(opposite) => Ok(self.binary(opposite, left, right)?.0),
                    None => Ok(CExpr::unary(CUnary::Not, self.expr(condition)?)),
                }
            }
            _ => Ok(CExpr::unary(CUnary::Not, self.expr(condition)?)),
        }
    }

    fn help(&mut self, helper: Helper, arguments: impl Into<Vec<CExpr>>) -> CExpr {
        CExpr::call(self.helpers.need(helper), arguments)
    }

    fn unary(&mut self, op: UnOp, argument: CExpr, ty: ScalarType) -> CExpr {
        match op {
            UnOp::Neg if ty.is_float() => CExpr::unary(CUnary::Minus, argument),
            UnOp::Not => CExpr::unary(CUnary::Not, argument),
            UnOp::Abs if ty.is_float() => CExpr::call(math("fabs", ty), [argument]),
            UnOp::Abs if ty.is_unsigned_integer() => argument,
            UnOp::Sqrt | UnOp::Floor | UnOp::Ceil | UnOp::Trunc => {
                CExpr::call(math(&unary_name(op), ty), [argument])
            }
            // To the nearest, half to even: the rounding mode that C starts with.
            UnOp::Round => CExpr::call(math("rint", ty), [argument]),
            UnOp::Rsqrt => {
                let root = CExpr::call(math("sqrt", ty), [argument]);
                CExpr::binary(CBinary::Divide, literal(one(ty)), root)
            }
            // A device has functions for floats, good to a few units in the last place, and much slower ones for doubles.
            op if op.is_transcendental() && self.side != Side::Host && ty == ScalarType::F32 => {
                CExpr::call(math(&unary_name(op), ty), [argument])
            }
            UnOp::Sin | UnOp::Cos if self.side == Side::Host => {
                let helper = match (op, &self.angles) {
                    (UnOp::Sin, None) => Helper::Sine,
                    (UnOp::Sin, Some(_)) => Helper::NearSine,
                    (_, None) => Helper::Cosine,
                    (_, Some(_)) => Helper::NearCosine,
                };
                let mut call = through_double(&self.helpers.need(helper), vec![argument], ty);
                if let Some(large) = &self.angles {
                    call.add_argument(CExpr::unary(CUnary::Address, CExpr::name(large.clone())));
                }
                call
            }
            UnOp::Exp | UnOp::Log if self.side == Side::Host => self.help(Helper::Unary(op, ty), [argument]),
            op if op.is_transcendental() => through_double(&unary_name(op), vec![argument], ty),
            UnOp::IsNan | UnOp::IsInf => {
                let test = if op == UnOp::IsNan { "isnan" } else { "isinf" };
                CExpr::binary(CBinary::NotEqual, CExpr::call(test, [argument]), integer(0))
            }
            UnOp::Convert(to) => self.convert(argument, ty, to),
            _ => self.help(Helper::Unary(op, ty), [argument]),
        }
    }

    fn convert(&mut self, argument: CExpr, from: ScalarType, to: ScalarType) -> CExpr {
        if from == to {
            return argument;
        }
        if to == ScalarType::Bool {
            return CExpr::binary(CBinary::NotEqual, argument, integer(0));
        }
        match from.is_float() && to.is_integer() {
            true => self.help(Helper::Unary(UnOp::Convert(to), from), [argument]),
            false => CExpr::cast(CType::Scalar(to), argument),
        }
    }

    /// A compiler that need not skip the second operand has it easier where that loads, and on lanes that compute together until the last of
    /// them is done: what is skipped there gcc 12 turns into masks of masks.
    fn second_of(&self, right: &Expr) -> Second {
        match has_load(right) || self.repeated == Repeated::OnLanes {
            true => Second::Computed,
            false => Second::Skipped,
        }
    }

    /// Whether a remainder is that of a sum by a positive number: `(i - 1 + n) % n` is mostly `i - 1`. (A divisor is never zero where a
    /// remainder is computed.)
    fn wraps_around(&self, dividend: &Expr, divisor: &Expr) -> bool {
        let is_sum = match dividend {
            Expr::Binary(BinOp::Add | BinOp::Sub, ..) => true,
            Expr::Index(index) => index.terms().len() > 1,
            _ => false,
        };
        is_sum && self.side == Side::Host && !is_constant(divisor) && self.facts.is_natural(divisor)
    }

    fn binary(&mut self, op: BinOp, left: &Expr, right: &Expr) -> Emit<(CExpr, ScalarType)> {
        let (left_c, ty) = self.typed(left)?;
        let right_c = self.expr(right)?;
        let result = self.applies(op.result_type(ty), &op)?;
        let operands = [left_c, right_c];
        let c = match op {
            BinOp::Pow | BinOp::Atan2 | BinOp::Hypot if ty.is_float() => {
                through_double(binary_name(op), operands.into(), ty)
            }
            BinOp::Rem if ty.is_float() => CExpr::call(math("fmod", ty), operands),
            BinOp::Rem if ty == ScalarType::I64 && self.wraps_around(left, right) => {
                self.help(Helper::NearRemainder, operands)
            }
            _ => match infix(op, ty, self.second_of(right)) {
                Some(symbol)
                    if !surprises(op, left, right, ty) && (ty.is_float() || operands[0] != operands[1]) =>
                {
                    let [left, right] = operands;
                    CExpr::binary(symbol, left, right)
                }
                _ => self.help(Helper::Binary(op, ty), operands),
            },
        };
        Ok((c, result))
    }
}

/// Whether compilers warn of an operator on these operands, because its result is known: both are numbers, or an
/// integer is compared with the end of its range, or divided by 0. They also see through what is made of numbers. Of floats, gcc (12 and
/// 13 at least) takes `0.0 - e` for `-e` where it sees that `e` is not `-0.0`, which is wrong for `0.0`.
fn surprises(op: BinOp, left: &Expr, right: &Expr, ty: ScalarType) -> bool {
    let orders = matches!(op, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge);
    let compares = orders || matches!(op, BinOp::Eq | BinOp::Ne);
    let divides = matches!(op, BinOp::Div | BinOp::Rem);
    if ty.is_float() {
        let is_zero = |expr: &Expr| matches!(expr, Expr::Const(Scalar::F32(0.0) | Scalar::F64(0.0)));
        return matches!(op, BinOp::Add | BinOp::Sub) && (is_zero(left) || is_zero(right));
    }
    let known_result = |expr: &Expr| match expr {
        Expr::Const(_) => is_extreme(expr),
        _ => is_constant(expr),
    };
    (is_constant(left) && is_constant(right))
        || (orders && ty == ScalarType::Bool)
        || (compares && (known_result(left) || known_result(right)))
        || (compares && (is_limited(left) && is_constant(right) || is_constant(left) && is_limited(right)))
        || (divides && known_result(right))
}

/// Whether compilers see that an expression has only some of its type's values.
fn is_limited(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(UnOp::Convert(_), _) | Expr::Binary(BinOp::And | BinOp::Or, ..) | Expr::Select(..) => {
            true
        }
        Expr::Unary(..) | Expr::Binary(..) | Expr::Ternary(..) => false,
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => false,
    }
}

/// Whether an expression is made of numbers only.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) => true,
        Expr::Var(_) | Expr::Load(..) => false,
        Expr::Index(index) => index.as_constant().is_some(),
        Expr::Unary(_, a) => is_constant(a),
        Expr::Binary(_, a, b) => is_constant(a) && is_constant(b),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            is_constant(a) && is_constant(b) && is_constant(c)
        }
    }
}

/// The least or the greatest number of its type.
fn is_extreme(expr: &Expr) -> bool {
    let Expr::Const(scalar) = expr else {
        return false;
    };
    let Some(value) = scalar.as_integer() else {
        // Both booleans are; floats that matter here have none.
        return scalar.ty() == ScalarType::Bool;
    };
    let (ty, span) = (scalar.ty(), 1i128 << scalar.ty().bits());
    match ty.is_signed_integer() {
        true => value == -span / 2 || value == span / 2 - 1,
        false => value == 0 || value == span - 1,
    }
}

pub fn opposite(op: BinOp) -> Option<BinOp> {
    match op {
        BinOp::Eq => Some(BinOp::Ne),
        BinOp::Ne => Some(BinOp::Eq),
        BinOp::Lt => Some(BinOp::Ge),
        BinOp::Le => Some(BinOp::Gt),
        BinOp::Gt => Some(BinOp::Le),
        BinOp::Ge => Some(BinOp::Lt),
        _ => None,
    }
}

/// Whether the second operand of `&` and `|` on booleans may be skipped. Both are defined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    Skipped,
    /// As in the arguments of a helper.
    Computed,
}

/// The operator of C that means the same on a type.
fn infix(op: BinOp, ty: ScalarType, second: Second) -> Option<CBinary> {
    let wide_unsigned = matches!(ty, ScalarType::U32 | ScalarType::U64);
    let arithmetic = ty.is_float() || wide_unsigned;
    match op {
        BinOp::And | BinOp::Or if ty == ScalarType::Bool && second == Second::Computed => None,
        BinOp::And if ty == ScalarType::Bool => Some(CBinary::And),
        BinOp::Or if ty == ScalarType::Bool => Some(CBinary::Or),
        BinOp::Add if arithmetic => Some(CBinary::Add),
        BinOp::Sub if arithmetic => Some(CBinary::Subtract),
        BinOp::Mul if arithmetic => Some(CBinary::Multiply),
        BinOp::Div if ty.is_float() || ty.is_unsigned_integer() => Some(CBinary::Divide),
        BinOp::Rem if ty.is_unsigned_integer() => Some(CBinary::Remainder),
        BinOp::And => Some(CBinary::BitAnd),
        BinOp::Or => Some(CBinary::BitOr),
        BinOp::Xor => Some(CBinary::BitXor),
        BinOp::Eq => Some(CBinary::Equal),
        BinOp::Ne => Some(CBinary::NotEqual),
        BinOp::Lt => Some(CBinary::Less),
        BinOp::Le => Some(CBinary::LessEqual),
        BinOp::Gt => Some(CBinary::Greater),
        BinOp::Ge => Some(CBinary::GreaterEqual),
        _ => None,
    }
}

/// A function that has no exact result, computed in doubles and then rounded, as `almach_value::raw` does.
fn through_double(name: &str, arguments: Vec<CExpr>, ty: ScalarType) -> CExpr {
    let double = |argument| CExpr::cast(CType::Scalar(ScalarType::F64), argument);
    match ty {
        ScalarType::F32 => {
            let arguments: Vec<CExpr> = arguments.into_iter().map(double).collect();
            CExpr::cast(CType::Scalar(ScalarType::F32), CExpr::call(name, arguments))
        }
        _ => CExpr::call(name, arguments),
    }
}

fn one(ty: ScalarType) -> Scalar {
    match ty {
        ScalarType::F32 => Scalar::F32(1.0),
        _ => Scalar::F64(1.0),
    }
}

fn has_load(expr: &Expr) -> bool {
    match expr {
        Expr::Load(..) => true,
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => false,
        Expr::Unary(_, a) => has_load(a),
        Expr::Binary(_, a, b) => has_load(a) || has_load(b),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => has_load(a) || has_load(b) || has_load(c),
    }
}

/// A scalar in C; its type there is that of the scalar, or `int` where that holds the same value.
pub fn literal(scalar: Scalar) -> CExpr {
    let float = |value: f64, text: String, suffix: &str| match value {
        _ if value.is_nan() => "NAN".to_string(),
        f64::INFINITY => "INFINITY".to_string(),
        f64::NEG_INFINITY => "-INFINITY".to_string(),
        _ => format!("{text}{suffix}"),
    };
    CExpr::literal(match scalar {
        Scalar::I8(v) => v.to_string(),
        Scalar::I16(v) => v.to_string(),
        Scalar::I32(i32::MIN) => "INT32_MIN".to_string(),
        Scalar::I32(v) => v.to_string(),
        Scalar::I64(v) => return integer(v),
        Scalar::U8(v) => v.to_string(),
        Scalar::U16(v) => v.to_string(),
        Scalar::U32(v) => format!("{v}u"),
        Scalar::U64(v) => format!("UINT64_C({v})"),
        Scalar::F32(v) => float(v.into(), format!("{v:?}"), "f"),
        // These are of type `float`, and functions of OpenCL C are chosen by type.
        Scalar::F64(v) if !v.is_finite() => {
            let text = CExpr::literal(float(v, String::new(), ""));
            return CExpr::cast(CType::Scalar(ScalarType::F64), text);
        }
        Scalar::F64(v) => float(v, format!("{v:?}"), ""),
        Scalar::Bool(v) => v.to_string(),
    })
}
