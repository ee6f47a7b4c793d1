//! Where the arrays are that an expression finds in place: slices, rows, transpositions and the like have the cells of what they
//! are taken from, and only their descriptor differs (FUNMEM, sections 3.1 and 3.5). They cost nothing at run time.

use crate::introduce::same_cells;
use crate::ir::{Home, Memory, Rows, Storage};
use crate::leaves::{Leaf, leaf_count, leaves};
use almach_core::typing::Env;
use almach_core::visit::atom_as_size;
use almach_core::{Atom, Exp, Op, Size, SlicePart, Type};
use almach_lmad::{Dim, Lmad};
use almach_prim::{Effect, Prim};
use almach_value::ScalarType;

/// What an expression's one value is to memory.
pub enum Derived {
    /// It lives where its operands do.
    Same(Vec<Storage>),
    /// It is no view of its operands, or none that a descriptor can say.
    Not,
}

/// `ty` is the type of the value in its pattern.
pub fn derive(exp: &Exp, ty: &Type, memory: &Memory, env: &Env) -> Derived {
    let derivation = Derivation { memory, env, ty };
    derivation.of(exp).map_or(Derived::Not, Derived::Same)
}

struct Derivation<'a> {
    memory: &'a Memory,
    env: &'a Env,
    ty: &'a Type,
}

impl Derivation<'_> {
    fn of(&self, exp: &Exp) -> Option<Vec<Storage>> {
        match exp {
            Exp::Atom(atom)
            | Exp::Trace {
                label: _,
                value: atom,
            } => Some(self.atom(atom)),
            Exp::Tuple(parts) => Some(parts.iter().flat_map(|part| self.atom(part)).collect()),
            Exp::Project(tuple, at) => self.component(tuple, *at as usize),
            Exp::Index { array, indices } => {
                let parts = indices.iter().map(|index| SlicePart::At(index.clone()));
                self.slice(array, &parts.collect::<Vec<_>>())
            }
            Exp::Slice { array, parts } => self.slice(array, parts),
            Exp::Coerce { value, to: _ } => self.coerce(value),
            Exp::Op(op) if is_view(op) => self.view(op),
            _ => None,
        }
    }

    fn atom(&self, atom: &Atom) -> Vec<Storage> {
        self.memory.of(atom).to_vec()
    }

    fn component(&self, tuple: &Atom, at: usize) -> Option<Vec<Storage>> {
        let Type::Tuple(parts) = self.env.atom_type(tuple).ok()? else {
            return None;
        };
        let before: usize = parts.iter().take(at).map(leaf_count).sum();
        let count = leaf_count(parts.get(at)?);
        Some(
            self.memory
                .of(tuple)
                .iter()
                .skip(before)
                .take(count)
                .cloned()
                .collect(),
        )
    }

    fn slice(&self, array: &Atom, parts: &[SlicePart]) -> Option<Vec<Storage>> {
        let ty = self.env.atom_type(array).ok()?;
        let found = leaves(&ty);
        // Rows of their own lengths begin where only the program knows.
        if found.iter().any(|leaf| !matches!(leaf, Leaf::Cells { .. })) {
            return Some(leaves(self.ty).iter().map(|_| Storage::Held).collect());
        }
        let fixed = parts
            .iter()
            .filter(|part| matches!(part, SlicePart::At(_)))
            .count();
        let mut out = Vec::new();
        for (leaf, storage) in found.iter().zip(self.memory.of(array)) {
            if matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > fixed) {
                out.push(self.moved(storage, |lmad| slice_of(lmad, parts, self.env))?);
            }
        }
        Some(out)
    }

    /// The same cells, with the lengths that the new type says.
    fn coerce(&self, value: &Atom) -> Option<Vec<Storage>> {
        let old = leaves(&self.env.atom_type(value).ok()?);
        let new = leaves(&self.env.normalise(self.ty));
        let has_cells = |leaf: &Leaf| matches!(leaf, Leaf::Cells { .. });
        if old.len() != new.len() || !old.iter().chain(&new).all(has_cells) {
            return Some(new.iter().map(|_| Storage::Held).collect());
        }
        let pairs = new.iter().zip(self.memory.of(value));
        pairs
            .map(|(leaf, storage)| self.moved(storage, |lmad| with_lengths(lmad, &leaf.shape())))
            .collect()
    }

    fn view(&self, op: &Op) -> Option<Vec<Storage>> {
        let all = || op.args.iter().flat_map(|arg| self.atom(arg)).collect::<Vec<_>>();
        let each =
            |array: &Atom, change: &dyn Fn(&Lmad<almach_core::Var>) -> Option<Lmad<almach_core::Var>>| {
                let storage = self.memory.of(array).iter();
                storage.map(|storage| self.moved(storage, change)).collect()
            };
        let size = |atom: &Atom| self.env.size(atom).ok();
        match (op.prim, op.args.as_slice()) {
            (Prim::Zip | Prim::Unzip, _) => Some(all()),
            (Prim::Reverse, [array]) => each(array, &|lmad| lmad.reverse(0)),
            (Prim::Transpose, [array]) => each(array, &|lmad| {
                let order: Vec<usize> = [1, 0].into_iter().chain(2..lmad.dims.len()).collect();
                lmad.permute(&order)
            }),
            (Prim::Take, [count, array]) => {
                let count = size(count)?;
                each(array, &|lmad| lmad.slice(0, &Size::zero(), &count, &Size::one()))
            }
            (Prim::Drop, [count, array]) => {
                let count = size(count)?;
                each(array, &|lmad| {
                    let left = &lmad.dims.first()?.length - &count;
                    lmad.slice(0, &count, &left, &Size::one())
                })
            }
            (Prim::Flatten, [array]) => self.flatten(array),
            (Prim::Segments, [array]) => match self.memory.of(array) {
                [Storage::Rows(rows)] => Some(vec![Storage::Placed(rows.segments.clone())]),
                _ => None,
            },
            (Prim::Unflatten, [segments, array]) => self.unflatten(segments, array),
            (Prim::Split, [_, array]) => self.split(array),
            (Prim::AsVector, [_, array]) => self.split(array),
            (Prim::Join | Prim::AsScalar, [array]) => each(array, &|lmad| lmad.join(0)),
            (Prim::Slide, [window, step, array]) => {
                let (window, step) = (size(window)?, size(step)?);
                let count = outer_size(&self.env.normalise(self.ty))?;
                each(array, &|lmad| slide(lmad, &count, &window, &step))
            }
            (Prim::Replicate, [_, value]) if matches!(self.env.atom_type(value), Ok(Type::Array(..))) => {
                let count = outer_size(&self.env.normalise(self.ty))?;
                each(value, &|lmad| Some(repeated(lmad, &count)))
            }
            _ => None,
        }
    }

    fn split(&self, array: &Atom) -> Option<Vec<Storage>> {
        let shapes: Vec<Vec<Size>> = leaves(&self.env.normalise(self.ty))
            .iter()
            .map(Leaf::shape)
            .collect();
        let mut out = Vec::new();
        for (shape, storage) in shapes.iter().zip(self.memory.of(array)) {
            out.push(self.moved(storage, |lmad| lmad.split(0, shape.first()?, shape.get(1)?))?);
        }
        Some(out)
    }

    /// The elements of all rows are where they are.
    fn flatten(&self, array: &Atom) -> Option<Vec<Storage>> {
        let [Storage::Rows(rows)] = self.memory.of(array) else {
            return None;
        };
        let leaves = leaves(&self.env.normalise(self.ty));
        let placed = leaves
            .iter()
            .zip(&rows.elements)
            .map(|(leaf, storage)| match storage {
                Storage::Placed(home) => Some(Storage::Placed(Home {
                    block: home.block.clone(),
                    lmad: with_lengths(&home.lmad, &leaf.shape())?,
                })),
                Storage::Rows(_) | Storage::View | Storage::Held => None,
            });
        placed.collect()
    }

    /// Rows of what fills its blocks are there.
    fn unflatten(&self, segments: &Atom, array: &Atom) -> Option<Vec<Storage>> {
        let [Storage::Placed(segments)] = self.memory.of(segments) else {
            return None;
        };
        let elements = self.memory.of(array).to_vec();
        let fills = |storage: &Storage| storage.home().is_some_and(fills_its_block);
        (fills_its_block(segments) && elements.iter().all(fills)).then(|| {
            vec![Storage::Rows(Rows {
                segments: segments.clone(),
                elements,
            })]
        })
    }

    fn moved(
        &self,
        storage: &Storage,
        change: impl Fn(&Lmad<almach_core::Var>) -> Option<Lmad<almach_core::Var>>,
    ) -> Option<Storage> {
        Some(match storage {
            Storage::Placed(home) => Storage::Placed(Home {
                block: home.block.clone(),
                lmad: change(&home.lmad)?,
            }),
            Storage::View => Storage::View,
            Storage::Rows(_) | Storage::Held => Storage::Held,
        })
    }
}

/// Whether an array is in row-major order from the first cell of its block on.
fn fills_its_block(home: &Home) -> bool {
    let shape: Vec<Size> = home.lmad.dims.iter().map(|dim| dim.length.clone()).collect();
    same_cells(&home.lmad, &Lmad::row_major(Size::zero(), &shape))
}

/// Whether an operation is left to be a view of its operands. What is annotated as eager or as a destination view makes an
/// array.
pub fn is_view(op: &Op) -> bool {
    !matches!(op.annotation.effect, Some(Effect::Eager | Effect::Destination))
}

/// `a[i, b:c:s]`.
pub fn slice_of(
    lmad: &Lmad<almach_core::Var>,
    parts: &[SlicePart],
    env: &Env,
) -> Option<Lmad<almach_core::Var>> {
    let mut result = lmad.clone();
    let mut dim = 0;
    for part in parts {
        match part {
            SlicePart::At(index) => {
                let index = index_size(index, env)?;
                let fixed = result.slice(dim, &index, &Size::one(), &Size::one())?;
                result = fixed;
                result.dims.remove(dim);
            }
            SlicePart::Slice { begin, count, step } => {
                let (begin, count, step) =
                    (env.size(begin).ok()?, env.size(count).ok()?, env.size(step).ok()?);
                result = result.slice(dim, &begin, &count, &step)?;
                dim += 1;
            }
        }
    }
    Some(result)
}

/// An index of any integer type.
pub fn index_size(index: &Atom, env: &Env) -> Option<Size> {
    match (index, env.atom_type(index).ok()?) {
        (_, Type::Scalar(ScalarType::I64)) => env.size(index).ok(),
        (Atom::Const(scalar), _) => scalar
            .as_integer()
            .and_then(|value| i64::try_from(value).ok())
            .map(Size::constant),
        (Atom::Var(_), _) => atom_as_size(index),
    }
}

/// The same cells under lengths that are known to be equal.
pub fn with_lengths(lmad: &Lmad<almach_core::Var>, shape: &[Size]) -> Option<Lmad<almach_core::Var>> {
    if lmad.dims.len() != shape.len() {
        return None;
    }
    let dims = lmad.dims.iter().zip(shape).map(|(dim, length)| Dim {
        length: length.clone(),
        stride: dim.stride.clone(),
    });
    Some(Lmad {
        offset: lmad.offset.clone(),
        dims: dims.collect(),
    })
}

fn slide(
    lmad: &Lmad<almach_core::Var>,
    count: &Size,
    window: &Size,
    step: &Size,
) -> Option<Lmad<almach_core::Var>> {
    let (outer, inner) = lmad.dims.split_first()?;
    let windows = Dim {
        length: count.clone(),
        stride: step * &outer.stride,
    };
    let elements = Dim {
        length: window.clone(),
        stride: outer.stride.clone(),
    };
    Some(Lmad {
        offset: lmad.offset.clone(),
        dims: [windows, elements]
            .into_iter()
            .chain(inner.iter().cloned())
            .collect(),
    })
}

fn repeated(lmad: &Lmad<almach_core::Var>, count: &Size) -> Lmad<almach_core::Var> {
    let again = Dim {
        length: count.clone(),
        stride: Size::zero(),
    };
    Lmad {
        offset: lmad.offset.clone(),
        dims: [again].into_iter().chain(lmad.dims.iter().cloned()).collect(),
    }
}

fn outer_size(ty: &Type) -> Option<Size> {
    match ty {
        Type::Array(almach_core::Dim::Size(size), _) => Some(size.clone()),
        _ => None,
    }
}
