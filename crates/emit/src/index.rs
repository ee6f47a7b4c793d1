//! Index polynomials as C.
//!
//! `/` of C truncates, a quotient of an index is a floor: they agree where the dividend is not negative and the divisor
//! positive. Where that follows from the loops and tests around, `/` and `%` are printed; elsewhere a helper.

use crate::helpers::{Helper, Helpers};
use crate::tree::{CBinary, CExpr, CUnary};
use almach_base::Name;
use almach_imp::Index;
use almach_imp::facts::Facts;
use almach_nat::{Atom, Monomial, Poly, Ratio, UnfoldedOp};
use almach_value::{BinOp, ScalarType};

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
