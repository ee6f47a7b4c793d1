//! What a use of an array reads.

use super::Draft;
use crate::index::Moment;
use almach_core::{Exp, Var};
use almach_lmad::Lmad;

impl Draft<'_, '_> {
    /// Whether a use only says where another array is: that one's uses count.
    pub fn is_derivation(&self, at: Moment) -> bool {
        let index = self.index();
        let (Some(number), Some(info)) = (index.taker_number(at), index.taker(at)) else {
            return false;
        };
        let [value] = info.stmt.pattern.values.as_slice() else {
            return false;
        };
        let placed = self.storage.get(&value.var).is_some_and(|all| {
            let mut all = all.iter();
            all.len() > 0 && all.all(|one| one.home().is_some())
        });
        placed && self.is_derived(number)
    }

    /// The cell of an array that is read at a moment, where it is one.
    pub fn element_read(&self, at: Moment, lmad: &Lmad<Var>) -> Option<Lmad<Var>> {
        let Exp::Index { indices, .. } = &self.index().taker(at)?.stmt.exp else {
            return None;
        };
        let mut indices = indices.iter();
        indices.try_fold(lmad.clone(), |lmad, index| {
            lmad.index(&self.index().env.size(index).ok()?)
        })
    }
}
