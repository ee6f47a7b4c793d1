//! The places where a call can end with an error, numbered from 1.

use almach_imp::Site;
use almach_value::ScalarType;
use std::collections::HashMap;

/// A place with the types of the values in its message.
#[derive(Clone, PartialEq, Debug)]
pub struct FailureSite {
    pub site: Site,
    pub types: Vec<ScalarType>,
}

#[derive(Default, Debug)]
pub struct Sites {
    all: Vec<FailureSite>,
    numbers: HashMap<String, usize>,
}

impl Sites {
    /// The number of a site, which is new unless an equal one is known.
    pub fn number(&mut self, site: &Site, types: Vec<ScalarType>) -> usize {
        let key = format!("{} {:?} {types:?} {}", site.code.0, site.span, site.text);
        let next = self.all.len() + 1;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.all.push(FailureSite {
                site: site.clone(),
                types,
            });
        }
        number
    }

    pub fn all(&self) -> &[FailureSite] {
        &self.all
    }

    pub fn into_all(self) -> Vec<FailureSite> {
        self.all
    }
}
