//! Programs under construction: text with holes that are programs again, so that a failing one can be made smaller.
//!
//! `@` in the text of names stands for the number of the program, so that many programs fit in one file.

use almach_value::ScalarType;

/// The types the generator knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    /// Floats of this type hold small integers, so that every grouping of a sum is exact.
    Scalar(ScalarType),
    /// A float of any value, NaN and infinities among them. Nothing regroups operations on it.
    Wild(ScalarType),
    Tuple(Vec<Ty>),
    /// `{a: t, b: u}`.
    Record(Vec<Ty>),
    Maybe(Box<Ty>),
    /// The program's own data type: the fields of each constructor.
    Sum(Vec<Vec<Ty>>),
    Array(Size, Box<Ty>),
    /// An array of a size that nobody knows; inside of an array, a row of its own length.
    Unknown(Box<Ty>),
}

/// A size as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Size {
    Name(String),
    Literal(usize),
}

pub const FIELDS: [&str; 3] = ["a", "b", "c"];

/// The name of the program's own data type.
pub const DATA: &str = "Kind@";

pub fn constructor(at: usize) -> String {
    format!("K{at}@")
}

impl Size {
    pub fn text(&self) -> String {
        match self {
            Size::Name(name) => name.clone(),
            Size::Literal(size) => size.to_string(),
        }
    }
}

impl Ty {
    pub fn array(size: Size, element: Ty) -> Ty {
        Ty::Array(size, Box::new(element))
    }

    /// As it is written in a program.
    pub fn text(&self) -> String {
        self.written("[]")
    }

    fn written(&self, unknown: &str) -> String {
        let list = |parts: &[Ty]| parts.iter().map(Ty::text).collect::<Vec<_>>().join(", ");
        match self {
            Ty::Scalar(scalar) | Ty::Wild(scalar) => scalar.name().to_owned(),
            Ty::Tuple(parts) => format!("({})", list(parts)),
            Ty::Record(parts) => {
                let fields: Vec<String> = FIELDS
                    .iter()
                    .zip(parts)
                    .map(|(name, part)| format!("{name}: {}", part.text()))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Maybe(inner) => format!("(Maybe {})", inner.text()),
            Ty::Sum(_) => DATA.to_owned(),
            Ty::Array(size, inner) => format!("[{}]{}", size.text(), inner.written("[?]")),
            Ty::Unknown(inner) => format!("{unknown}{}", inner.written("[?]")),
        }
    }

    /// The scalar, where it is one.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Ty::Scalar(scalar) | Ty::Wild(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Whether values of the type differ in size although their types are the same.
    pub fn holds_unknown(&self) -> bool {
        match self {
            Ty::Scalar(_) | Ty::Wild(_) => false,
            Ty::Tuple(parts) | Ty::Record(parts) => parts.iter().any(Ty::holds_unknown),
            Ty::Maybe(inner) | Ty::Array(_, inner) => inner.holds_unknown(),
            Ty::Sum(constructors) => constructors.iter().flatten().any(Ty::holds_unknown),
            Ty::Unknown(_) => true,
        }
    }

    pub fn holds_array(&self) -> bool {
        match self {
            Ty::Scalar(_) | Ty::Wild(_) => false,
            Ty::Tuple(parts) | Ty::Record(parts) => parts.iter().any(Ty::holds_array),
            Ty::Maybe(inner) => inner.holds_array(),
            Ty::Sum(constructors) => constructors.iter().flatten().any(Ty::holds_array),
            Ty::Array(..) | Ty::Unknown(_) => true,
        }
    }

    /// Whether arrays of such values can be updated in place.
    pub fn stays_in_place(&self) -> bool {
        match self {
            Ty::Scalar(_) | Ty::Wild(_) => true,
            Ty::Tuple(parts) | Ty::Record(parts) => parts.iter().all(Ty::stays_in_place),
            Ty::Array(_, inner) => inner.stays_in_place(),
            Ty::Maybe(_) | Ty::Sum(_) | Ty::Unknown(_) => false,
        }
    }
}

/// An expression: text and smaller expressions in turn.
#[derive(Clone, Debug)]
pub struct Node {
    pub ty: Ty,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    Node(Node),
}

impl Node {
    pub fn leaf(ty: Ty, text: impl Into<String>) -> Node {
        Node {
            ty,
            parts: vec![Part::Text(text.into())],
        }
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Node(node) => node.write(out),
            }
        }
    }

    /// How many expressions it is made of.
    pub fn size(&self) -> usize {
        1 + self.children().map(Node::size).sum::<usize>()
    }

    pub fn children(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().filter_map(|part| match part {
            Part::Node(node) => Some(node),
            Part::Text(_) => None,
        })
    }

    fn children_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Node(node) => Some(node),
            Part::Text(_) => None,
        })
    }

    /// The expression at a position in depth-first order.
    pub fn at(&self, position: usize) -> Option<&Node> {
        if position == 0 {
            return Some(self);
        }
        let mut left = position - 1;
        for child in self.children() {
            let size = child.size();
            if left < size {
                return child.at(left);
            }
            left -= size;
        }
        None
    }

    /// The same with another expression at that position.
    pub fn with(&self, position: usize, new: &Node) -> Node {
        let mut copy = self.clone();
        copy.replace(position, new);
        copy
    }

    fn replace(&mut self, position: usize, new: &Node) {
        if position == 0 {
            *self = new.clone();
            return;
        }
        let mut left = position - 1;
        for child in self.children_mut() {
            let size = child.size();
            if left < size {
                child.replace(left, new);
                return;
            }
            left -= size;
        }
    }
}

/// `node!(ty; "map (\\x -> ", body, ") ", xs)`: text and expressions in turn.
#[macro_export]
macro_rules! node {
    ($ty:expr; $($part:expr),* $(,)?) => {
        $crate::tree::Node { ty: $ty, parts: vec![$($crate::tree::Part::from($part)),*] }
    };
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_owned())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

impl From<Node> for Part {
    fn from(node: Node) -> Part {
        Part::Node(node)
    }
}
