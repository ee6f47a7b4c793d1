//! What the names of a procedure hold while it runs.

use super::View;
use almach_base::Name;
use almach_value::Scalar;
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Clone)]
pub(super) enum Slot {
    Scalar(Option<Scalar>),
    Buffer(Option<View>),
}

/// The names of a procedure. A work-item of a group sees those of its procedure and keeps its own apart: a procedure has
/// hundreds of names and a group hundreds of work-items, so what they share is not copied for each.
#[derive(Default)]
pub(super) struct Frame {
    own: FxHashMap<Name, Slot>,
    shared: Option<Rc<Frame>>,
}

impl Frame {
    /// The names of a work-item before it runs.
    pub(super) fn of_item(shared: &Rc<Frame>) -> Frame {
        Frame {
            own: FxHashMap::default(),
            shared: Some(shared.clone()),
        }
    }

    pub(super) fn get(&self, name: &Name) -> Option<&Slot> {
        let own = self.own.get(name);
        own.or_else(|| self.shared.as_ref()?.get(name))
    }

    /// Gives a name something to hold; what it held before.
    pub(super) fn set(&mut self, name: &Name, slot: Slot) -> Option<Slot> {
        if let Some(own) = self.own.get_mut(name) {
            return Some(std::mem::replace(own, slot));
        }
        let before = self.shared.as_ref().and_then(|shared| shared.get(name).cloned());
        self.own.insert(name.clone(), slot);
        before
    }

    /// The number of an iteration.
    pub(super) fn count(&mut self, index: &Name, at: i64) {
        self.set(index, Slot::Scalar(Some(Scalar::I64(at))));
    }
}
