//! What becomes of the contents of buffers, found in one walk.

use crate::tidy::Reads;
use almach_base::Name;
use almach_imp::Stmt;
use std::collections::{HashMap, HashSet};

/// Which buffers statements look at, and which they swap.
#[derive(Default)]
pub(crate) struct Looked {
    read: HashSet<Name>,
    swapped: HashMap<Name, HashSet<Name>>,
}

impl Looked {
    pub(crate) fn at(stmts: &[Stmt]) -> Looked {
        let mut looked = Looked::default();
        looked.block(stmts);
        looked
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Swap(a, b) => {
                    for (one, other) in [(a, b), (b, a)] {
                        self.swapped.entry(one.clone()).or_default().insert(other.clone());
                    }
                }
                Stmt::Shrink { buffer, .. } => {
                    self.read.insert(buffer.clone());
                }
                _ => {
                    let mut reads = Reads::default();
                    reads.stmt(stmt);
                    self.read.extend(reads.in_order);
                }
            }
            stmt.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    /// Whether nobody looks at what is in a buffer, but for swapping it with another one.
    pub(crate) fn is_only_written(&self, buffer: &Name, other: &Name) -> bool {
        let swapped = self.swapped.get(buffer).into_iter().flatten();
        !self.read.contains(buffer) && swapped.into_iter().all(|with| with == other)
    }
}
