//! Printing in the syntax of sizes: `2*m*n + k/2 - 1`.

use crate::poly::{Atom, Monomial, Poly, Ratio, Unfolded, UnfoldedOp};
use std::fmt;

/// A polynomial with a way to print its variables. See [`Poly::display`].
pub struct Displayed<'a, V: Ord + Clone, F> {
    poly: &'a Poly<V>,
    var: F,
}

impl<V: Ord + Clone> Poly<V> {
    /// Prints with `var` for the variables. Terms stand in their order, but a positive one first where there is one.
    pub fn display<F>(&self, var: F) -> Displayed<'_, V, F>
    where
        F: Fn(&V, &mut fmt::Formatter<'_>) -> fmt::Result,
    {
        Displayed { poly: self, var }
    }
}

impl<V: Ord + Clone + fmt::Display> fmt::Display for Poly<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sum(self, &V::fmt, f)
    }
}

impl<V: Ord + Clone, F> fmt::Display for Displayed<'_, V, F>
where
    F: Fn(&V, &mut fmt::Formatter<'_>) -> fmt::Result,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sum(self.poly, &self.var, f)
    }
}

type VarPrinter<'a, V> = &'a dyn Fn(&V, &mut fmt::Formatter<'_>) -> fmt::Result;

fn sum<V: Ord + Clone>(poly: &Poly<V>, var: VarPrinter<'_, V>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let terms = poly.terms();
    let first = terms
        .iter()
        .position(|(_, coefficient)| *coefficient > 0)
        .unwrap_or(0);
    let Some((monomial, coefficient)) = terms.get(first) else {
        return f.write_str("0");
    };
    if *coefficient < 0 {
        f.write_str("-")?;
    }
    let alone = terms.len() == 1;
    term(monomial, coefficient.unsigned_abs(), alone, var, f)?;
    for (at, (monomial, coefficient)) in terms.iter().enumerate() {
        if at != first {
            f.write_str(if *coefficient < 0 { " - " } else { " + " })?;
            term(monomial, coefficient.unsigned_abs(), false, var, f)?;
        }
    }
    Ok(())
}

/// One term without its sign. Quotients are in parentheses where they have a factor, since `2*n/m` is `(2*n)/m`.
fn term<V: Ord + Clone>(
    monomial: &Monomial<V>,
    coefficient: u64,
    alone: bool,
    var: VarPrinter<'_, V>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let factors = monomial.factors();
    if factors.is_empty() {
        return write!(f, "{coefficient}");
    }
    let bare = coefficient == 1 && matches!(factors, [(_, 1)]);
    let mut separator = "";
    if coefficient != 1 {
        write!(f, "{coefficient}")?;
        separator = "*";
    }
    for (factor, power) in factors {
        for _ in 0..*power {
            f.write_str(separator)?;
            separator = "*";
            match factor {
                Atom::Var(name) => var(name, f)?,
                Atom::Quotient(ratio) if bare => self::ratio(ratio, "/", var, f)?,
                Atom::Remainder(ratio) if bare => self::ratio(ratio, " % ", var, f)?,
                Atom::Unfolded(operation) if bare && alone => unfolded(operation, var, f)?,
                Atom::Quotient(ratio) => parenthesised(f, |f| self::ratio(ratio, "/", var, f))?,
                Atom::Remainder(ratio) => parenthesised(f, |f| self::ratio(ratio, " % ", var, f))?,
                Atom::Unfolded(operation) => parenthesised(f, |f| unfolded(operation, var, f))?,
            }
        }
    }
    Ok(())
}

fn ratio<V: Ord + Clone>(
    ratio: &Ratio<V>,
    operator: &str,
    var: VarPrinter<'_, V>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match ratio.dividend.terms() {
        [] => f.write_str("0")?,
        [(monomial, coefficient)] if *coefficient > 0 && !holds_unfolded(monomial) => {
            term(monomial, coefficient.unsigned_abs(), false, var, f)?;
        }
        _ => parenthesised(f, |f| sum(&ratio.dividend, var, f))?,
    }
    f.write_str(operator)?;
    let simple = ratio.divisor.as_var().is_some() || ratio.divisor.as_constant().is_some_and(|c| c >= 0);
    if simple {
        sum(&ratio.divisor, var, f)
    } else {
        parenthesised(f, |f| sum(&ratio.divisor, var, f))
    }
}

fn holds_unfolded<V: Ord + Clone>(monomial: &Monomial<V>) -> bool {
    monomial
        .factors()
        .iter()
        .any(|(atom, _)| matches!(atom, Atom::Unfolded(_)))
}

fn unfolded<V: Ord + Clone>(
    operation: &Unfolded<V>,
    var: VarPrinter<'_, V>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    parenthesised(f, |f| sum(&operation.left, var, f))?;
    f.write_str(match operation.op {
        UnfoldedOp::Sum => " + ",
        UnfoldedOp::Product => "*",
    })?;
    parenthesised(f, |f| sum(&operation.right, var, f))
}

fn parenthesised(
    f: &mut fmt::Formatter<'_>,
    inside: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    f.write_str("(")?;
    inside(f)?;
    f.write_str(")")
}
