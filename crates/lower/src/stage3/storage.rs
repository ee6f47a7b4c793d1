//! How data lies in memory: a tree of the data type whose leaves are scalar variables or buffers.

use super::{Path, Step};
use almach_base::Name;
use almach_dpia::Data;
use almach_imp::{Index, Param, Passing};
use almach_value::ScalarType;

/// Memory for data of a type.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    /// Names of the sizes, where the data is a cell.
    pub(crate) sizes: Vec<Name>,
    /// How many elements there is room for, where the cell grows.
    pub(crate) capacity: Option<Name>,
    pub(crate) tree: Tree,
}

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Scalar(Name, ScalarType),
    /// Lanes that are scalars, or (below an array) the innermost dimension of a buffer.
    Lanes(Vec<Tree>),
    Tuple(Vec<Tree>),
    /// One dimension of every leaf below.
    Array(Index, Box<Tree>),
    Buffer(Name, ScalarType, Part),
    /// Lanes of a buffer.
    BufferLanes(Name, ScalarType, u32),
    /// One of several variables, by a number that is only known when the program runs.
    ChosenLane(Vec<Name>, Index),
    /// No memory: what is written here is not kept (Lin, the `None` of Fig. 5.6).
    Nowhere,
}

/// What of a buffer is meant.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Part {
    /// All of it: it is there for this variable.
    Own,
    /// The cells from this one on, of a buffer that is there for another.
    From(Index),
    /// Cells of a buffer that is there for another: the first, and how far apart the elements of each dimension are.
    Strided(Index, Vec<Index>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Tree {
    fn variable(&self) -> Option<Name> {
        match self {
            Tree::Scalar(name, _) => Some(name.clone()),
            _ => None,
        }
    }
}

/// One leaf: a scalar variable, or a buffer with its number of cells.
pub(crate) struct Leaf {
    pub(crate) name: Name,
    pub(crate) ty: ScalarType,
    /// None for a scalar variable.
    pub(crate) cells: Option<Index>,
    pub(crate) part: Part,
    /// The path to the leaf, through arrays with any index.
    pub(crate) path: Vec<LeafStep>,
}

impl Leaf {
    /// All cells of it.
    pub(crate) fn all(&self) -> Cells {
        let place = Place {
            tree: Tree::Tuple(Vec::new()),
            ..Place::nowhere()
        };
        place.cells(self)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LeafStep {
    Field(usize),
    Lane(u32),
    /// An array of that size.
    Each(Index),
    /// All lanes of a vector in a buffer.
    EachLane(u32),
}

/// The storage of a parameter: buffers and scalars named after it.
pub(crate) fn of_param(data: Data, name: &Name, access: Access) -> Storage {
    let storage = of(&data, name);
    // A cell is only ever passed to be filled.
    debug_assert!(storage.sizes.is_empty() || access == Access::Write);
    storage
}

/// New storage with names that start with `name`.
pub(crate) fn of(data: &Data, name: &Name) -> Storage {
    match data {
        Data::Some(bound, body) => {
            let sizes: Vec<Name> = (0..bound.len())
                .map(|at| Name::from(format!("{name}_size_{at}")))
                .collect();
            let mut renaming = almach_dpia::Substitution::default();
            for (from, to) in bound.iter().zip(&sizes) {
                renaming.nats.insert(from.clone(), Index::var(to.clone()));
            }
            Storage {
                tree: tree(&body.subst(&renaming), name, InBuffer::No),
                sizes,
                capacity: None,
            }
        }
        _ => Storage {
            sizes: Vec::new(),
            capacity: None,
            tree: tree(data, name, InBuffer::No),
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InBuffer {
    No,
    Yes,
}

fn tree(data: &Data, name: &Name, place: InBuffer) -> Tree {
    let leaf = |name: &Name, scalar: ScalarType| match place {
        InBuffer::No => Tree::Scalar(name.clone(), scalar),
        InBuffer::Yes => Tree::Buffer(name.clone(), scalar, Part::Own),
    };
    let part = |at: usize| Name::from(format!("{name}_{at}"));
    match data {
        Data::Scalar(scalar) => leaf(name, *scalar),
        Data::Index(_) => leaf(name, ScalarType::I64),
        Data::Vector(width, scalar) => match place {
            InBuffer::Yes => Tree::BufferLanes(name.clone(), *scalar, *width),
            InBuffer::No => {
                let lanes = (0..*width).map(|at| Tree::Scalar(part(at as usize), *scalar));
                Tree::Lanes(lanes.collect())
            }
        },
        Data::Tuple(parts) => {
            let trees = parts
                .iter()
                .enumerate()
                .map(|(at, data)| tree(data, &part(at), place));
            Tree::Tuple(trees.collect())
        }
        Data::Array(size, element) => Tree::Array(size.clone(), Box::new(tree(element, name, InBuffer::Yes))),
        // Cells do not nest, and types are closed by now.
        Data::Some(..) | Data::Var(_) => Tree::Tuple(Vec::new()),
    }
}

impl Storage {
    pub(crate) fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        collect(&self.tree, &Index::one(), &mut Vec::new(), &mut leaves);
        leaves
    }

    /// The parameters that pass this storage to a procedure.
    pub(crate) fn params(&self, access: Access) -> Vec<Param> {
        let mut params = Vec::new();
        for name in &self.sizes {
            params.push(Param {
                name: name.clone(),
                ty: ScalarType::I64,
                passing: Passing::Out,
            });
        }
        for leaf in self.leaves() {
            let passing = match (leaf.cells.is_some(), access) {
                (false, Access::Read) => Passing::Value,
                (false, Access::Write) => Passing::Out,
                (true, Access::Read) => Passing::Read,
                (true, Access::Write) if self.sizes.is_empty() => Passing::Write,
                (true, Access::Write) => Passing::Owned,
            };
            params.push(Param {
                name: leaf.name,
                ty: leaf.ty,
                passing,
            });
        }
        params
    }
}

fn collect(tree: &Tree, cells: &Index, path: &mut Vec<LeafStep>, leaves: &mut Vec<Leaf>) {
    let mut push = |name: &Name, ty: ScalarType, cells: Option<Index>, part: &Part, path: &[LeafStep]| {
        leaves.push(Leaf {
            name: name.clone(),
            ty,
            cells,
            part: part.clone(),
            path: path.to_vec(),
        });
    };
    match tree {
        Tree::Scalar(name, ty) => push(name, *ty, None, &Part::Own, path),
        // Only paths make these, never types.
        Tree::ChosenLane(..) | Tree::Nowhere => {}
        Tree::Buffer(name, ty, part) => push(name, *ty, Some(cells.clone()), part, path),
        Tree::BufferLanes(name, ty, width) => {
            path.push(LeafStep::EachLane(*width));
            let cells = cells * &Index::constant((*width).into());
            push(name, *ty, Some(cells), &Part::Own, path);
            path.pop();
        }
        Tree::Lanes(lanes) => {
            for (at, lane) in (0u32..).zip(lanes) {
                path.push(LeafStep::Lane(at));
                collect(lane, cells, path, leaves);
                path.pop();
            }
        }
        Tree::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                path.push(LeafStep::Field(at));
                collect(part, cells, path, leaves);
                path.pop();
            }
        }
        Tree::Array(size, element) => {
            path.push(LeafStep::Each(size.clone()));
            collect(element, &(cells * size), path, leaves);
            path.pop();
        }
    }
}

/// A place in storage: part of the tree, and where in the buffers of that part it starts.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) tree: Tree,
    /// The indices on the way, each with the size of its dimension.
    pub(crate) indices: Vec<(Index, Index)>,
    /// Where the place is some elements of an array: the size of that array, and the first element.
    pub(crate) slice: Option<(Index, Index)>,
    /// Numbers that must be equal in pairs for something to be written here.
    pub(crate) kept_where: Vec<(Index, Index)>,
}

impl Place {
    pub(crate) fn nowhere() -> Place {
        Place {
            tree: Tree::Nowhere,
            indices: Vec::new(),
            slice: None,
            kept_where: Vec::new(),
        }
    }

    /// Follows a path; none where it does not fit the tree.
    pub(crate) fn follow(tree: &Tree, path: &Path) -> Option<Place> {
        let mut place = Place {
            tree: tree.clone(),
            indices: Vec::new(),
            slice: None,
            kept_where: Vec::new(),
        };
        for step in path {
            place.tree = match (place.tree, step) {
                (Tree::Array(size, element), Step::At(index)) => {
                    place.indices.push((index.clone(), size));
                    *element
                }
                (Tree::Tuple(parts), Step::Field(at)) => parts.into_iter().nth(*at)?,
                (Tree::Lanes(lanes), Step::Lane(at)) => match at.as_constant() {
                    Some(at) => lanes.into_iter().nth(usize::try_from(at).ok()?)?,
                    None => Tree::ChosenLane(lanes.iter().filter_map(Tree::variable).collect(), at.clone()),
                },
                (Tree::BufferLanes(name, ty, width), Step::Lane(at)) => {
                    place.indices.push((at.clone(), Index::constant(width.into())));
                    Tree::Buffer(name, ty, Part::Own)
                }
                _ => return None,
            };
        }
        Some(place)
    }

    /// The cells of a leaf below.
    pub(crate) fn cells(&self, leaf: &Leaf) -> Cells {
        let below = leaf.path.iter().filter_map(|step| match step {
            LeafStep::Each(size) => Some(size.clone()),
            LeafStep::EachLane(width) => Some(Index::constant((*width).into())),
            LeafStep::Field(_) | LeafStep::Lane(_) => None,
        });
        let lengths: Vec<Index> = below.collect();
        let mut sizes: Vec<Index> = self.indices.iter().map(|(_, size)| size.clone()).collect();
        sizes.extend(lengths.iter().cloned());
        let outside = self.indices.len();
        if let (Some((size, _)), Some(slot)) = (&self.slice, sizes.get_mut(outside)) {
            *slot = size.clone();
        }
        let strides = match &leaf.part {
            Part::Own | Part::From(_) => row_major(&sizes),
            Part::Strided(_, strides) => strides.clone(),
        };
        let indices = self.indices.iter().map(|(index, _)| index);
        let begin = self.slice.iter().map(|(_, first)| first);
        let first = indices
            .chain(begin)
            .zip(&strides)
            .fold(leaf.part.first(), |cell, (index, stride)| cell + index * stride);
        Cells {
            buffer: leaf.name.clone(),
            first,
            dims: lengths
                .into_iter()
                .zip(strides.into_iter().skip(outside))
                .collect(),
        }
    }

    /// Where in its buffer a scalar is.
    pub(crate) fn offset(&self) -> Index {
        match &self.tree {
            Tree::Buffer(_, _, Part::Strided(first, strides)) => self
                .indices
                .iter()
                .zip(strides)
                .fold(first.clone(), |cell, ((index, _), stride)| cell + index * stride),
            Tree::Buffer(_, _, part) => self.flat() + part.first(),
            _ => self.flat(),
        }
    }

    /// The flat index: Horner's rule over the dimensions.
    fn flat(&self) -> Index {
        self.indices
            .iter()
            .fold(Index::zero(), |flat, (index, size)| flat * size + index)
    }
}

/// Cells of a buffer: the first, and the length and stride of each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) buffer: Name,
    pub(crate) first: Index,
    pub(crate) dims: Vec<(Index, Index)>,
}

impl Cells {
    /// How many cells there are, where they are consecutive and in order.
    pub(crate) fn consecutive(&self) -> Option<Index> {
        let lengths: Vec<Index> = self.dims.iter().map(|(length, _)| length.clone()).collect();
        let wanted = row_major(&lengths);
        let are = self
            .dims
            .iter()
            .zip(wanted)
            .all(|((length, stride), wanted)| *length == Index::one() || *stride == wanted);
        are.then(|| lengths.iter().fold(Index::one(), |cells, length| cells * length))
    }

    /// One element of the outermost dimension.
    pub(crate) fn at(&self, index: &Index) -> Cells {
        let mut inner = self.clone();
        if !inner.dims.is_empty() {
            let (_, stride) = inner.dims.remove(0);
            inner.first = inner.first + index * &stride;
        }
        inner
    }
}

/// How far apart elements are, by dimension, where an array of that shape fills its memory.
fn row_major(sizes: &[Index]) -> Vec<Index> {
    let mut stride = Index::one();
    let mut strides = Vec::new();
    for size in sizes.iter().rev() {
        strides.push(stride.clone());
        stride = stride * size;
    }
    strides.reverse();
    strides
}

impl Part {
    pub(crate) fn first(&self) -> Index {
        match self {
            Part::Own => Index::zero(),
            Part::From(first) | Part::Strided(first, _) => first.clone(),
        }
    }
}

impl Storage {
    /// The same with some of its buffers in others: for each leaf, a buffer and what of it, or none for its own.
    pub(crate) fn placed(mut self, homes: &[Option<(Name, Part)>]) -> Storage {
        let mut homes = homes.iter();
        place(&mut self.tree, &mut homes);
        self
    }
}

fn place<'h>(tree: &mut Tree, homes: &mut impl Iterator<Item = &'h Option<(Name, Part)>>) {
    match tree {
        Tree::Buffer(name, _, part) => {
            if let Some(Some((buffer, cells))) = homes.next() {
                *name = buffer.clone();
                *part = cells.clone();
            }
        }
        Tree::Scalar(..) | Tree::BufferLanes(..) | Tree::ChosenLane(..) | Tree::Nowhere => {
            homes.next();
        }
        Tree::Tuple(parts) | Tree::Lanes(parts) => parts.iter_mut().for_each(|part| place(part, homes)),
        Tree::Array(_, element) => place(element, homes),
    }
}
