//! Names that a procedure does not have yet.

use almach_base::Name;
use almach_imp::{Proc, Touched};
use std::collections::HashSet;

pub(crate) struct Fresh(HashSet<Name>);

impl Fresh {
    pub(crate) fn of(proc: &Proc) -> Fresh {
        let touched = Touched::of(&proc.body);
        let params = proc.params.iter().map(|param| param.name.clone());
        let bound = touched.bound.into_keys();
        Fresh(params.chain(bound).chain(touched.declared).collect())
    }

    pub(crate) fn name(&mut self, stem: &str) -> Name {
        let mut number = 1;
        let mut found = Name::from(stem);
        while !self.0.insert(found.clone()) {
            number += 1;
            found = Name::from(format!("{stem}_{number}"));
        }
        found
    }
}
