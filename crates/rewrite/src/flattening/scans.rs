//! `map (scan f e)`: one scan that starts again with each row.
//!
//! ```text
//! let yss: [n][?]f32 = map (\{k} (row: [k]f32): {m} [m]f32 ->
//!   let ys: [k]f32 = scan f e row                                =>  let yss: [n][?]f32 = scan_rows f e xss
//!   in {k} ys) xss
//! ```
//!
//! Nothing is moved that the scan would not have moved, and chunks of elements are shared, not rows. Elements are scalars: a scan of
//! arrays has a state that is one.

use super::{Flattener, OverRows};
use almach_core::{Exp, Op, Type};
use almach_prim::Prim;

impl Flattener<'_> {
    pub(super) fn map_of_scan(&mut self, over: &OverRows<'_>) -> Option<Exp> {
        let (Type::Array(_, element), [start, _]) = (&over.row.ty, over.inner.args.as_slice()) else {
            return None;
        };
        if !element.is_scalars() {
            return None;
        }
        let prim = match over.inner.prim {
            Prim::Scan => Prim::ScanRows,
            _ => Prim::ScanRowsExclusive,
        };
        let text = "`scan` inside of rows of their own sizes is one scan of all elements, which starts again with each row";
        self.log.note(over.span, text);
        Some(Exp::Op(Op {
            prim,
            args: vec![start.clone(), over.rows.clone()],
            ..over.inner.clone()
        }))
    }
}
