//! Index polynomials as C, and what is known about the variables in them.
//!
//! `/` of C truncates, a quotient of an index is a floor: they agree where the dividend is not negative and the divisor
//! positive. Where that follows from the loops and tests around, `/` and `%` are printed; elsewhere a helper.

use crate::helpers::{Helper, Helpers};
use crate::tree::{CBinary, CExpr, CUnary};
use almach_base::Name;
use almach_imp::{Expr, Index};
use almach_nat::{Atom, Monomial, Poly, Range, Ranges, Ratio, UnfoldedOp};
use almach_value::{BinOp, Scalar, ScalarType};

/// How the sums and products of an index are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// With C's operators: the index of a cell that exists, and so no part of it is too large.
    Plain,
    /// Modulo 2^64: defined whatever the values are.
    Wrapping,
    /// A size to allocate: where it is too large, it is the largest number.
    Saturating,
}

/// What is known about names that keep their value.
#[derive(Clone, Debug)]
pub struct Facts {
    ranges: Ranges<Name>,
}

impl Facts {
    pub fn new() -> Facts {
        Facts {
            ranges: Ranges::unknown(),
        }
    }

    pub fn set_natural(&mut self, name: &Name) {
        self.ranges.set(name.clone(), Range::natural());
    }

    /// Whether an expression is an index that is never negative, unless the names it is made of change their values.
    pub fn is_natural(&self, expr: &Expr) -> bool {
        as_index(expr).is_some_and(|index| self.ranges.is_nonneg(&index))
    }

    /// Inside a loop: the index is below the count, and there is at least one iteration.
    pub fn enter_loop(&mut self, index: &Name, count: &Index) {
        self.ranges.set(index.clone(), Range::below(count));
        self.ranges.assume_nonneg(count - &Poly::one());
    }

    /// A name is bound to the value of an index.
    pub fn define(&mut self, name: &Name, index: &Index) {
        self.ranges
            .set(name.clone(), Range::between(index.clone(), index.clone()));
    }

    pub fn assume_nonneg(&mut self, index: Index) {
        self.ranges.assume_nonneg(index);
    }

    /// What follows from a condition that holds, where it compares indices. `stays` says which names keep their value.
    pub fn assume(&mut self, condition: &Expr, stays: &impl Fn(&Name) -> bool) {
        let Expr::Binary(op, left, right) = condition else {
            return;
        };
        if *op == BinOp::And {
            self.assume(left, stays);
            self.assume(right, stays);
            return;
        }
        let (Some(left), Some(right)) = (as_index(left), as_index(right)) else {
            return;
        };
        if !left.free_vars().chain(right.free_vars()).all(stays) {
            return;
        }
        match op {
            BinOp::Lt => self.assume_nonneg(right - left - Poly::one()),
            BinOp::Le => self.assume_nonneg(right - left),
            BinOp::Gt => self.assume_nonneg(left - right - Poly::one()),
            BinOp::Ge => self.assume_nonneg(left - right),
            BinOp::Eq => {
                self.assume_nonneg(&left - &right);
                self.assume_nonneg(right - left);
            }
            _ => {}
        }
    }

    /// Whether C's division of these is the floor. (A divisor is never zero where a quotient is computed.)
    fn divides_like_c(&self, ratio: &Ratio<Name>) -> bool {
        self.ranges.is_nonneg(&ratio.dividend) && self.ranges.is_nonneg(&ratio.divisor)
    }
}

/// An `i64` expression as an index, where it is one without wrapping.
fn as_index(expr: &Expr) -> Option<Index> {
    match expr {
        Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
        Expr::Var(name) => Some(Index::var(name.clone())),
        Expr::Index(index) => Some(index.clone()),
        _ => None,
    }
}

/// Prints indices: the facts, the C names of variables, and the helpers that were needed.
pub struct IndexPrinter<'a, F> {
    pub facts: &'a Facts,
    pub name: F,
    pub helpers: &'a mut Helpers,
    pub arithmetic: Arithmetic,
}

impl<F: Fn(&Name) -> CExpr> IndexPrinter<'_, F> {
    pub fn index(&mut self, index: &Index) -> CExpr {
        self.sum(&index.with_remainders())
    }

    /// The terms in their order, but a positive one first where there is one.
    fn sum(&mut self, poly: &Poly<Name>) -> CExpr {
        let terms = poly.terms();
        let first = terms
            .iter()
            .position(|(_, coefficient)| *coefficient > 0)
            .unwrap_or(0);
        let Some((monomial, coefficient)) = terms.get(first) else {
            return integer(0);
        };
        let mut sum = self.first_term(monomial, *coefficient);
        for (at, (monomial, coefficient)) in terms.iter().enumerate() {
            if at == first {
                continue;
            }
            sum = match (*coefficient < 0, coefficient.checked_neg()) {
                (true, Some(positive)) => {
                    let term = self.term(monomial, positive);
                    self.combine(CBinary::Subtract, sum, term)
                }
                _ => {
                    let term = self.term(monomial, *coefficient);
                    self.combine(CBinary::Add, sum, term)
                }
            };
        }
        sum
    }

    fn first_term(&mut self, monomial: &Monomial<Name>, coefficient: i64) -> CExpr {
        match coefficient.checked_neg() {
            Some(positive) if coefficient < 0 && !monomial.is_one() => {
                let term = self.term(monomial, positive);
                match self.arithmetic {
                    Arithmetic::Plain => CExpr::unary(CUnary::Minus, term),
                    _ => self.combine(CBinary::Subtract, integer(0), term),
                }
            }
            _ => self.term(monomial, coefficient),
        }
    }

    fn term(&mut self, monomial: &Monomial<Name>, coefficient: i64) -> CExpr {
        let mut product = match coefficient {
            1 if !monomial.is_one() => None,
            _ => Some(integer(coefficient)),
        };
        for (atom, power) in monomial.factors() {
            let factor = self.atom(atom);
            for _ in 0..*power {
                product = Some(match product {
                    None => factor.clone(),
                    Some(product) => self.combine(CBinary::Multiply, product, factor.clone()),
                });
            }
        }
        product.unwrap_or_else(|| integer(1))
    }

    fn atom(&mut self, atom: &Atom<Name>) -> CExpr {
        match atom {
            Atom::Var(name) => (self.name)(name),
            Atom::Quotient(ratio) => self.ratio(ratio, CBinary::Divide, Helper::FloorDivision),
            Atom::Remainder(ratio) => self.ratio(ratio, CBinary::Remainder, Helper::FloorRemainder),
            Atom::Unfolded(operation) => {
                let (left, right) = (self.index(&operation.left), self.index(&operation.right));
                let op = match operation.op {
                    UnfoldedOp::Sum => CBinary::Add,
                    UnfoldedOp::Product => CBinary::Multiply,
                };
                self.combine(op, left, right)
            }
        }
    }

    fn ratio(&mut self, ratio: &Ratio<Name>, op: CBinary, helper: Helper) -> CExpr {
        let (dividend, divisor) = (self.index(&ratio.dividend), self.index(&ratio.divisor));
        match self.facts.divides_like_c(ratio) {
            true => CExpr::binary(op, dividend, divisor),
            false => CExpr::call(self.helpers.need(helper), [dividend, divisor]),
        }
    }

    fn combine(&mut self, op: CBinary, left: CExpr, right: CExpr) -> CExpr {
        let helper = match (self.arithmetic, op) {
            (Arithmetic::Plain, _) => return CExpr::binary(op, left, right),
            (Arithmetic::Wrapping, CBinary::Multiply) => Helper::Binary(BinOp::Mul, ScalarType::I64),
            (Arithmetic::Wrapping, CBinary::Subtract) => Helper::Binary(BinOp::Sub, ScalarType::I64),
            (Arithmetic::Wrapping, _) => Helper::Binary(BinOp::Add, ScalarType::I64),
            (Arithmetic::Saturating, CBinary::Multiply) => Helper::SizeProduct,
            (Arithmetic::Saturating, CBinary::Subtract) => Helper::SizeDifference,
            (Arithmetic::Saturating, _) => Helper::SizeSum,
        };
        CExpr::call(self.helpers.need(helper), [left, right])
    }
}

/// An `i64` literal.
pub fn integer(value: i64) -> CExpr {
    CExpr::literal(match value {
        i64::MIN => "INT64_MIN".to_string(),
        _ if i32::try_from(value).is_ok_and(|small| small != i32::MIN) => value.to_string(),
        _ if value < 0 => format!("-INT64_C({})", value.unsigned_abs()),
        _ => format!("INT64_C({value})"),
    })
}
