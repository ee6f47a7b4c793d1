//! Rows of their own lengths: a block with where they begin, and their elements, as many as an integer beside them says.
//!
//! ```text
//! let yss: [n][?]f32 = map f xss    ~>    let @{for i, yss_segments: i64, yss_total, yss_mem: f32}
//!                                           yss: [n][?]f32 @ rows yss_segments -> 0 + {(n + 1 : 1)} of (yss_mem -> 0 + {(yss_total : 1)}) = map …
//! ```

use super::{Introduce, placed};
use crate::ir::{Given, Home, Item, Kind, Rows, Storage};
use crate::leaves::Leaf;
use almach_core::{Size, Var};
use almach_lmad::Lmad;
use almach_value::ScalarType;

/// Is told of each block and integer, in order.
type Bind<'b> = &'b mut dyn FnMut(&mut Introduce, &Var, Kind);

impl Introduce {
    /// A place for rows, with new names for its blocks and for how many elements there are. Of anything else, none.
    pub(super) fn rows_place(&mut self, leaf: &Leaf, name: &str, bind: Bind<'_>) -> Storage {
        let Some(segments) = leaf.segments() else {
            return Storage::Held;
        };
        let block = self.bind_new(&format!("{name}_segments"));
        bind(self, &block, Kind::Block(ScalarType::I64));
        let total = self.bind_new(&format!("{name}_total"));
        bind(self, &total, Kind::Integer);
        let mut elements = Vec::new();
        for leaf in leaf.elements(&Size::var(total)) {
            elements.push(match &leaf {
                Leaf::Cells { element, .. } => {
                    let block = self.bind_new(&format!("{name}_mem"));
                    bind(self, &block, Kind::Block(*element));
                    placed(block, &leaf)
                }
                Leaf::Rows { .. } | Leaf::Held => self.rows_place(&leaf, name, bind),
            });
        }
        Storage::Rows(Rows {
            segments: Home {
                block,
                lmad: Lmad::row_major(Size::zero(), &segments.shape()),
            },
            elements,
        })
    }

    /// A place for rows that are at one of several others, and what it is given at each of those.
    pub(super) fn handed_rows(&mut self, leaf: &Leaf, name: &str, ends: &[&Storage]) -> (Storage, Vec<Item>) {
        let parts: Vec<Vec<Given>> = ends.iter().map(|end| given_parts(leaf, end)).collect();
        let mut items: Vec<Item> = Vec::new();
        let place = self.rows_place(leaf, name, &mut |_, var, kind| {
            let at = items.len();
            let given = parts
                .iter()
                .map(|parts| parts.get(at).cloned().unwrap_or(Given::Found));
            items.push(Item {
                var: var.clone(),
                kind,
                inside: None,
                given: given.collect(),
            });
        });
        (place, items)
    }
}

/// The blocks and integers of rows, in the order of their names.
fn given_parts(leaf: &Leaf, storage: &Storage) -> Vec<Given> {
    match storage {
        Storage::Placed(home) => vec![Given::Block(home.block.clone())],
        Storage::Rows(rows) => {
            let total = rows.total();
            let mut parts = vec![
                Given::Block(rows.segments.block.clone()),
                total.clone().map_or(Given::Found, Given::Integer),
            ];
            let leaves = leaf.elements(&total.unwrap_or_else(Size::zero));
            for (leaf, storage) in leaves.iter().zip(&rows.elements) {
                parts.extend(given_parts(leaf, storage));
            }
            parts
        }
        Storage::View | Storage::Held => vec![Given::Found; leaf.parts()],
    }
}
