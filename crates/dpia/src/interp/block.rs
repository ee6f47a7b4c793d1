//! What is in a cell: a tree along the paths of its scalars.

use super::store::Step;
use almach_value::Scalar;

/// Scalars by their paths. A step finds its part by its number, so reading and writing take the length of the path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    root: Tree,
}

#[derive(Clone, PartialEq, Debug, Default)]
enum Tree {
    #[default]
    Unwritten,
    Scalar(Scalar),
    /// Elements of an array, components of a tuple or lanes of a vector. What lies behind the last was not written.
    Parts(Kind, Vec<Tree>),
    /// Sizes, and what has them.
    Sized(Vec<Tree>, Box<Tree>),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Elements,
    Components,
    Lanes,
}

/// No array of a program that this interpreter can run has more elements: a write beyond is a mistake of the program, and must
/// not take memory for all that lies before it.
const MOST_ELEMENTS: usize = 1 << 26;

impl Block {
    pub fn get(&self, path: &[Step]) -> Option<Scalar> {
        let mut tree = &self.root;
        for step in path {
            tree = match (tree, *step) {
                (Tree::Parts(_, parts), Step::At(at)) => parts.get(usize::try_from(at).ok()?)?,
                (Tree::Parts(_, parts), Step::Field(at)) => parts.get(at)?,
                (Tree::Parts(_, parts), Step::Lane(at)) => parts.get(at as usize)?,
                (Tree::Sized(sizes, _), Step::Size(at)) => sizes.get(at)?,
                (Tree::Sized(sizes, _), Step::Grown) => sizes.first()?,
                (Tree::Sized(_, contents), Step::Contents) => contents,
                _ => return None,
            };
        }
        match tree {
            Tree::Scalar(scalar) => Some(*scalar),
            Tree::Unwritten | Tree::Parts(..) | Tree::Sized(..) => None,
        }
    }

    /// Writes a scalar, if its path is one that a block can have. With a new first size, what had the old one is gone.
    pub fn set(&mut self, path: &[Step], scalar: Scalar) -> Option<()> {
        let mut tree = &mut self.root;
        for step in path {
            tree = match *step {
                Step::At(at) => tree.part(Kind::Elements, usize::try_from(at).ok()?)?,
                Step::Field(at) => tree.part(Kind::Components, at)?,
                Step::Lane(at) => tree.part(Kind::Lanes, at as usize)?,
                Step::Size(0) => {
                    *tree = Tree::Unwritten;
                    numbered(tree.sized()?.0, 0)?
                }
                Step::Size(at) => numbered(tree.sized()?.0, at)?,
                Step::Grown => numbered(tree.sized()?.0, 0)?,
                Step::Contents => tree.sized()?.1,
            };
        }
        *tree = Tree::Scalar(scalar);
        Some(())
    }

    /// All that was written, with paths, in their order.
    pub fn scalars(&self) -> Vec<(Vec<Step>, Scalar)> {
        let mut found = Vec::new();
        self.root.collect(&mut Vec::new(), &mut found);
        found
    }
}

impl Tree {
    fn part(&mut self, kind: Kind, at: usize) -> Option<&mut Tree> {
        if !matches!(self, Tree::Parts(..)) {
            *self = Tree::Parts(kind, Vec::new());
        }
        match self {
            Tree::Parts(_, parts) => numbered(parts, at),
            Tree::Unwritten | Tree::Scalar(_) | Tree::Sized(..) => None,
        }
    }

    fn sized(&mut self) -> Option<(&mut Vec<Tree>, &mut Tree)> {
        if !matches!(self, Tree::Sized(..)) {
            *self = Tree::Sized(Vec::new(), Box::default());
        }
        match self {
            Tree::Sized(sizes, contents) => Some((sizes, contents)),
            Tree::Unwritten | Tree::Scalar(_) | Tree::Parts(..) => None,
        }
    }

    fn collect(&self, path: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, Scalar)>) {
        let mut under = |step: Step, tree: &Tree| {
            path.push(step);
            tree.collect(path, found);
            path.pop();
        };
        match self {
            Tree::Unwritten => {}
            Tree::Scalar(scalar) => found.push((path.clone(), *scalar)),
            Tree::Parts(kind, parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let step = match kind {
                        Kind::Elements => Step::At(at as i64),
                        Kind::Components => Step::Field(at),
                        Kind::Lanes => Step::Lane(at as u32),
                    };
                    under(step, part);
                }
            }
            Tree::Sized(sizes, contents) => {
                for (at, size) in sizes.iter().enumerate() {
                    under(Step::Size(at), size);
                }
                under(Step::Contents, contents);
            }
        }
    }
}

/// The part with a number, which is there from now on.
fn numbered(parts: &mut Vec<Tree>, at: usize) -> Option<&mut Tree> {
    if at >= MOST_ELEMENTS {
        return None;
    }
    if parts.len() <= at {
        parts.resize(at + 1, Tree::Unwritten);
    }
    parts.get_mut(at)
}
