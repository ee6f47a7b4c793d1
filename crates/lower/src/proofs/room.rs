//! What follows from memory that is there: a block of `n * m` cells was allocated, so where there is a row, `n` is no more than memory
//! holds, and a few times `n` is an `i64`.
//!
//! ```text
//! alloc out[9*n*m]
//! for i < n { for j < m { let at: i64 = i - 1i64 + n … } }         the sum does not wrap
//! ```

use super::Prover;
use almach_base::Name;
use almach_imp::Index;
use almach_nat::{Atom, Monomial, Poly};

/// No block has more cells: processors have no more than so many addresses.
const MOST_CELLS: i64 = 1 << 57;

impl Prover {
    /// A block of so many cells is there from here on.
    pub(super) fn learn_block(&mut self, size: &Index) {
        if let [(cells, 1..)] = size.terms()
            && !cells.is_one()
            && self.stays(size)
            && !self.blocks.contains(cells)
        {
            self.blocks.push(cells.clone());
        }
    }

    /// Whether an index is at most a few times a number of cells that are there.
    pub(super) fn is_in_memory(&self, index: &Index) -> bool {
        let mut times: i64 = 0;
        for (monomial, coefficient) in index.terms() {
            if *coefficient < 0 {
                if !self.facts.is_nonneg(&Poly::term(monomial.clone(), 1)) {
                    return false;
                }
                continue;
            }
            let is_few = match monomial.is_one() {
                true => *coefficient <= MOST_CELLS,
                false => self.blocks.iter().any(|block| self.is_part(monomial, block)),
            };
            let more = if monomial.is_one() { 1 } else { *coefficient };
            times = times.saturating_add(more);
            if !is_few || times > i64::MAX / 2 / MOST_CELLS {
                return false;
            }
        }
        true
    }

    /// Whether a product of names is at most the number of cells of a block: each is a factor of it, or below one, and none of the
    /// other factors is zero.
    fn is_part(&self, product: &Monomial<Name>, block: &Monomial<Name>) -> bool {
        let Some(mut left) = names(block) else {
            return false;
        };
        let Some(factors) = names(product) else {
            return false;
        };
        for factor in factors {
            let room = |name: &Name| Index::var(name.clone()) - Index::var(factor.clone());
            let covers = |name: &Name| *name == factor || self.facts.is_nonneg(&room(name));
            let Some(at) = left.iter().position(covers) else {
                return false;
            };
            left.swap_remove(at);
            if !self.facts.is_nonneg(&Index::var(factor)) {
                return false;
            }
        }
        left.iter()
            .all(|name| self.facts.is_nonneg(&(Index::var(name.clone()) - Poly::one())))
    }
}

/// The factors of a product of names.
fn names(product: &Monomial<Name>) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    for (atom, power) in product.factors() {
        match atom {
            Atom::Var(name) => names.extend(std::iter::repeat_n(name.clone(), *power as usize)),
            _ => return None,
        }
    }
    Some(names)
}
