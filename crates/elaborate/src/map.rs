//! A persistent map from numbers: environments are captured by every closure and extended at every binding, so both
//! must cost next to nothing.

use std::rc::Rc;

const BITS: u32 = 4;
const FAN: usize = 1 << BITS;
const LEVELS: u32 = u32::BITS / BITS;

/// A radix tree. Cloning is a reference count; an insertion copies one path (or nothing, where it is not shared).
#[derive(Clone)]
pub(crate) struct Map<T> {
    root: Option<Rc<Branch<T>>>,
}

#[derive(Clone)]
enum Branch<T> {
    Inner([Option<Rc<Branch<T>>>; FAN]),
    Leaf(T),
}

impl<T: Clone> Map<T> {
    pub fn new() -> Map<T> {
        Map { root: None }
    }

    pub fn get(&self, key: u32) -> Option<&T> {
        let mut at = self.root.as_deref()?;
        let mut rest = key;
        loop {
            match at {
                Branch::Leaf(value) => return Some(value),
                Branch::Inner(children) => {
                    at = children.get(rest as usize % FAN)?.as_deref()?;
                    rest >>= BITS;
                }
            }
        }
    }

    pub fn insert(&mut self, key: u32, value: T) {
        insert(&mut self.root, key, LEVELS, value);
    }
}

fn insert<T: Clone>(slot: &mut Option<Rc<Branch<T>>>, key: u32, levels: u32, value: T) {
    if levels == 0 {
        *slot = Some(Rc::new(Branch::Leaf(value)));
        return;
    }
    let branch = slot.get_or_insert_with(|| Rc::new(Branch::Inner(std::array::from_fn(|_| None))));
    if let Branch::Inner(children) = Rc::make_mut(branch)
        && let Some(child) = children.get_mut(key as usize % FAN)
    {
        insert(child, key >> BITS, levels - 1, value);
    }
}

#[cfg(test)]
mod tests {
    use super::Map;

    #[test]
    fn older_versions_stay_as_they_were() {
        let mut map = Map::new();
        for key in 0..1000_u32 {
            map.insert(key.wrapping_mul(2_654_435_761), key);
        }
        let before = map.clone();
        map.insert(0, 7);
        map.insert(u32::MAX, 8);
        assert_eq!(before.get(0), Some(&0));
        assert_eq!(before.get(u32::MAX), None);
        assert_eq!(map.get(0), Some(&7));
        assert_eq!(map.get(u32::MAX), Some(&8));
        assert_eq!(map.get(2_654_435_761), Some(&1));
    }
}
