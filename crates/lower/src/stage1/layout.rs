//! How values with sizes of their own are held.
//!
//! Data in Dpia is regular. A row whose size no type tells (`?` in Core) is therefore held as its bounds, two numbers `(begin, end)`
//! into a *pool*: one array with the elements of all such rows. Rows in rows have pools of their own, so every level is flat:
//!
//! ```text
//! [n](i32, [?][?]f32)   is   n.(i32, (i64, i64))   with the pools   k.(i64, i64)   and   l.f32
//! ```
//!
//! Whatever rearranges rows (`reverse`, `filter`, `gather`, a slice) only moves bounds; the pools stay as they are. A value is
//! *packed* where its bounds, in order, cut its pools into consecutive pieces without a gap: then begin and end are the
//! offsets of the rows, and the pool is the data (NOVA §5.1). What crosses a procedure, a branch or a loop is packed, so
//! what is no longer needed does not pile up.

use super::Translator;
use crate::error::{Lowering, bug};
use almach_core::{DataDef, DataId, Dim, Type};
use almach_dpia::{Data, Nat, Phrase, Substitution, build};
use almach_value::ScalarType;

/// The type of a sum's tag.
pub(crate) const TAG: ScalarType = ScalarType::U32;

const I64: Data = Data::Scalar(ScalarType::I64);

/// Bounds of a row: where it begins in its pool, and where it ends.
pub(crate) fn bounds() -> Data {
    Data::Tuple(vec![I64, I64])
}

/// A Core type as data and pools.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Layout {
    /// Data without rows.
    Plain(Data),
    Tuple(Vec<Layout>),
    Array(Nat, Box<Layout>),
    /// Bounds into the pool of that number, whose elements have this layout.
    Row(usize, Box<Layout>),
}

/// All elements of the rows at one place of a type.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) size: Nat,
    pub(crate) element: Data,
    /// An array of that size.
    pub(crate) elements: Phrase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packed {
    Yes,
    No,
}

/// A value: its data, and what its rows are in.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) layout: Layout,
    pub(crate) data: Phrase,
    pub(crate) pools: Vec<Pool>,
    pub(crate) packed: Packed,
}

impl Packed {
    pub(crate) fn and(self, other: Packed) -> Packed {
        match (self, other) {
            (Packed::Yes, Packed::Yes) => Packed::Yes,
            _ => Packed::No,
        }
    }
}

impl Layout {
    /// The layout of a tuple, an array: plain where the parts are.
    pub(crate) fn tuple(parts: Vec<Layout>) -> Layout {
        match parts.iter().all(|part| !part.has_rows()) {
            true => Layout::Plain(Data::Tuple(parts.iter().map(Layout::data).collect())),
            false => Layout::Tuple(parts),
        }
    }

    pub(crate) fn array(size: Nat, element: Layout) -> Layout {
        match element {
            Layout::Plain(data) => Layout::Plain(Data::array(size, data)),
            other => Layout::Array(size, Box::new(other)),
        }
    }

    /// The regular part.
    pub(crate) fn data(&self) -> Data {
        match self {
            Layout::Plain(data) => data.clone(),
            Layout::Tuple(parts) => Data::Tuple(parts.iter().map(Layout::data).collect()),
            Layout::Array(size, element) => Data::array(size.clone(), element.data()),
            Layout::Row(..) => bounds(),
        }
    }

    pub(crate) fn has_rows(&self) -> bool {
        match self {
            Layout::Plain(_) => false,
            Layout::Tuple(parts) => parts.iter().any(Layout::has_rows),
            Layout::Array(_, element) => element.has_rows(),
            Layout::Row(..) => true,
        }
    }

    /// The elements of every pool, in order; rows before the rows in them.
    pub(crate) fn pools(&self) -> Vec<Layout> {
        let mut found = Vec::new();
        self.each_pool(&mut |_, element| found.push(element.clone()));
        found
    }

    pub(crate) fn each_pool(&self, visit: &mut impl FnMut(usize, &Layout)) {
        match self {
            Layout::Plain(_) => {}
            Layout::Tuple(parts) => parts.iter().for_each(|part| part.each_pool(visit)),
            Layout::Array(_, element) => element.each_pool(visit),
            Layout::Row(pool, element) => {
                visit(*pool, element);
                element.each_pool(visit);
            }
        }
    }

    /// With pools numbered from `next` on, in order.
    pub(crate) fn numbered(&self, next: &mut usize) -> Layout {
        match self {
            Layout::Plain(_) => self.clone(),
            Layout::Tuple(parts) => Layout::Tuple(parts.iter().map(|part| part.numbered(next)).collect()),
            Layout::Array(size, element) => Layout::Array(size.clone(), Box::new(element.numbered(next))),
            Layout::Row(_, element) => {
                let pool = *next;
                *next += 1;
                Layout::Row(pool, Box::new(element.numbered(next)))
            }
        }
    }

    /// With every array as a row, as the fields of cells are stored; pools are numbered in order.
    pub(crate) fn stored(&self) -> Layout {
        fn rows(layout: &Layout) -> Layout {
            let row = |element: &Layout| Layout::Row(0, Box::new(rows(element)));
            match layout {
                Layout::Plain(Data::Array(_, element)) => row(&Layout::Plain((**element).clone())),
                Layout::Plain(Data::Tuple(parts)) => Layout::tuple(
                    parts
                        .iter()
                        .map(|part| rows(&Layout::Plain(part.clone())))
                        .collect(),
                ),
                Layout::Plain(_) => layout.clone(),
                Layout::Tuple(parts) => Layout::Tuple(parts.iter().map(rows).collect()),
                Layout::Array(_, element) | Layout::Row(_, element) => row(element),
            }
        }
        rows(self).numbered(&mut 0)
    }

    pub(crate) fn subst(&self, by: &Substitution) -> Layout {
        match self {
            Layout::Plain(data) => Layout::Plain(data.subst(by)),
            Layout::Tuple(parts) => Layout::Tuple(parts.iter().map(|part| part.subst(by)).collect()),
            Layout::Array(size, element) => {
                Layout::Array(almach_dpia::subst_nat(size, by), Box::new(element.subst(by)))
            }
            Layout::Row(pool, element) => Layout::Row(*pool, Box::new(element.subst(by))),
        }
    }

    /// The components of a tuple.
    pub(crate) fn parts(&self) -> Option<Vec<Layout>> {
        match self {
            Layout::Tuple(parts) => Some(parts.clone()),
            Layout::Plain(Data::Tuple(parts)) => Some(parts.iter().cloned().map(Layout::Plain).collect()),
            _ => None,
        }
    }

    /// Size and element of an array.
    pub(crate) fn elements(&self) -> Option<(Nat, Layout)> {
        match self {
            Layout::Array(size, element) => Some((size.clone(), (**element).clone())),
            Layout::Plain(Data::Array(size, element)) => {
                Some((size.clone(), Layout::Plain((**element).clone())))
            }
            _ => None,
        }
    }
}

impl Held {
    /// A value without rows.
    pub(crate) fn plain(data: Data, phrase: Phrase) -> Held {
        Held {
            layout: Layout::Plain(data),
            data: phrase,
            pools: Vec::new(),
            packed: Packed::Yes,
        }
    }

    /// A part of this value: a layout whose pools are among this value's.
    pub(crate) fn part(&self, layout: &Layout, data: Phrase, packed: Packed) -> Held {
        let mut pools = Vec::new();
        layout.each_pool(&mut |pool, _| pools.extend(self.pools.get(pool).cloned()));
        Held {
            layout: layout.numbered(&mut 0),
            data,
            packed: match pools.is_empty() {
                true => Packed::Yes,
                false => self.packed.and(packed),
            },
            pools,
        }
    }

    /// Component `at` of a tuple.
    pub(crate) fn component(&self, at: usize) -> Option<Held> {
        let parts = self.layout.parts()?;
        let data = component_of(&self.data, at, &parts);
        Some(self.part(parts.get(at)?, data, Packed::Yes))
    }

    /// Values as one tuple.
    pub(crate) fn tuple(parts: Vec<Held>) -> Held {
        let datas: Vec<Data> = parts.iter().map(|part| part.layout.data()).collect();
        let data = build::tuple(&datas, parts.iter().map(|part| part.data.clone()).collect());
        Held {
            layout: Layout::tuple(parts.iter().map(|part| part.layout.clone()).collect()).numbered(&mut 0),
            data,
            packed: parts
                .iter()
                .fold(Packed::Yes, |packed, part| packed.and(part.packed)),
            pools: parts.into_iter().flat_map(|part| part.pools).collect(),
        }
    }
}

/// A component of a tuple; one made just now has its components at hand.
fn component_of(tuple: &Phrase, at: usize, parts: &[Layout]) -> Phrase {
    let (head, components) = tuple.spine();
    if let Phrase::Prim(instance) = head
        && let almach_dpia::Prim::Tuple(_) = instance.prim
        && let Some(component) = components.get(at)
    {
        return (*component).clone();
    }
    let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
    build::get(at, &datas, tuple.clone())
}

/// Where a row begins and ends.
pub(crate) fn ends(row: &Phrase) -> (Phrase, Phrase) {
    let parts = [Layout::Plain(I64), Layout::Plain(I64)];
    (component_of(row, 0, &parts), component_of(row, 1, &parts))
}

impl Translator<'_> {
    /// How values of a type are held; pools are numbered in order.
    pub(crate) fn layout(&self, ty: &Type) -> Lowering<Layout> {
        Ok(self.layout_of(ty)?.numbered(&mut 0))
    }

    fn layout_of(&self, ty: &Type) -> Lowering<Layout> {
        Ok(match ty {
            Type::Scalar(scalar) => Layout::Plain(Data::Scalar(*scalar)),
            Type::Vector(width, scalar) => Layout::Plain(Data::Vector(*width, *scalar)),
            Type::Tuple(parts) => Layout::tuple(
                parts
                    .iter()
                    .map(|part| self.layout_of(part))
                    .collect::<Lowering<_>>()?,
            ),
            Type::Array(Dim::Size(size), element) => Layout::array(self.nat(size), self.layout_of(element)?),
            Type::Array(Dim::Jagged, element) => Layout::Row(0, Box::new(self.layout_of(element)?)),
            // A recursive datum is the number of its row.
            Type::Data(id) if self.is_recursive(*id) => Layout::Plain(I64),
            Type::Data(_) | Type::Node(_) => self.sum(ty)?,
        })
    }

    /// A sum is its tag and the fields of every constructor.
    fn sum(&self, ty: &Type) -> Lowering<Layout> {
        let mut parts = vec![Layout::Plain(Data::Scalar(TAG))];
        for fields in self.fields_of_sum(ty)? {
            let fields = fields.iter().map(|field| self.layout_of(field));
            parts.push(Layout::tuple(fields.collect::<Lowering<_>>()?));
        }
        Ok(Layout::tuple(parts))
    }

    /// The fields of every constructor of a sum or node; a node has positions where its type mentions itself.
    pub(crate) fn fields_of_sum(&self, ty: &Type) -> Lowering<Vec<Vec<Type>>> {
        let (Type::Data(id) | Type::Node(id)) = ty else {
            return bug("a sum that is none", self.span);
        };
        let def = self.data_def(*id)?;
        let constructors = def.constructors.iter();
        let fields = constructors.map(|constructor| match ty {
            Type::Node(_) => {
                let fields = constructor.fields.iter();
                fields.map(|field| def.with_positions(*id, field)).collect()
            }
            _ => constructor.fields.clone(),
        });
        Ok(fields.collect())
    }

    pub(crate) fn data_def(&self, id: DataId) -> Lowering<&DataDef> {
        match self.program.data.get(id.0 as usize) {
            Some(def) => Ok(def),
            None => bug("a data type that is not there", self.span),
        }
    }

    /// The regular part of values of a type.
    pub(crate) fn data(&self, ty: &Type) -> Lowering<Data> {
        Ok(self.layout_of(ty)?.data())
    }
}
