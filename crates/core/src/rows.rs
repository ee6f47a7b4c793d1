//! What a function says about the row that it gives, before it runs.

use crate::{Atom, Dim, Lambda, Size, Type};

/// Where a function of a `map` gives one row that is as long as a row it is given: which of those in its context.
///
/// ```text
/// \{k} (xs: [k]f32): {m} [m]f32 -> let ys: [k]f32 = map f xs in {k} ys        the first: k
/// \{k} (xs: [k]f32): {m} [m]f32 -> let {l} ys: [l]f32 = filter p xs in {l} ys  none
/// ```
pub fn row_of_own_length(function: &Lambda) -> Option<usize> {
    let ([_], [Atom::Var(row)]) = (
        function.result.context.as_slice(),
        function.body.values.as_slice(),
    ) else {
        return None;
    };
    let bound = function.body.stmts.iter().flat_map(|stmt| &stmt.pattern.values);
    let row = bound.chain(&function.params).find(|value| value.var == *row)?;
    let Type::Array(Dim::Size(size), _) = &row.ty else {
        return None;
    };
    let mut context = function.context.iter();
    context.position(|own| *size == Size::var(own.clone()))
}
