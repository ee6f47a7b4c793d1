//! `map (map f)`: see `flattening`.

use super::{Flattener, OverRows, op};
use almach_core::{Exp, Op};
use almach_prim::Prim;

impl Flattener<'_> {
    pub(super) fn map_of_map(&mut self, over: &OverRows<'_>) -> Option<Exp> {
        let (flat, offsets) = self.elements(over.rows, over.span)?;
        let all = Op {
            args: vec![flat],
            ..over.inner.clone()
        };
        let made = self.bind(all, "made", over.span)?;
        let text = "`map` inside of rows of their own sizes is one `map` of all elements";
        self.log.note(over.span, text);
        Some(Exp::Op(op(Prim::Unflatten, Vec::new(), vec![offsets, made])))
    }
}
