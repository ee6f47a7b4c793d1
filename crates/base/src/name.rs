//! Names as cheap-to-clone immutable strings.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A name from source text, or one a pass made up. Cloning is a reference count. Names are what most tables of the compiler are
/// looked up by, so the text is hashed once, when the name is made.
#[derive(Clone)]
pub struct Name(Arc<Text>);

struct Text {
    hash: u64,
    text: Box<str>,
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::from(text.to_owned())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        let hash = BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(text.as_str());
        let text = text.into_boxed_str();
        Name(Arc::new(Text { hash, text }))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.text == other.0.text)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// By text.
impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        match Arc::ptr_eq(&self.0, &other.0) {
            true => Ordering::Equal,
            false => self.0.text.cmp(&other.0.text),
        }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
