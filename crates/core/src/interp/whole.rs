//! First-order operations on whole values: what the primitives mean, but for those with functions.

mod data;
mod indexed;
mod layout;
mod part;

pub(super) use layout::{coerce, resolve};
pub(super) use part::{Part, slice, update};

use super::Limits;
use super::code::WholeOp;
use super::error::FailKind;
use almach_prim::Prim;
use almach_value::{ArrayValue, Buffer, ElementShape, Elements, Failure, Value};
use std::sync::Arc;

pub(super) type Outcome<T> = Result<T, FailKind>;

/// A size that is not negative.
pub(super) fn size(size: i64) -> Outcome<usize> {
    usize::try_from(size).map_err(|_| FailKind::failure(Failure::NegativeSize, [size.into()]))
}

/// Applies an operation to its arguments, in the order of its type in the table of primitives.
pub(super) fn apply(op: &WholeOp, args: Vec<Value>, limits: &Limits) -> Outcome<Value> {
    let mut args = Args(args.into_iter());
    match op {
        WholeOp::Prim(prim) => primitive(*prim, &mut args, limits),
        WholeOp::Select => {
            let (positions, array) = (args.array()?, args.array()?);
            indexed::select(&positions, &array)
        }
        WholeOp::Nodes(references) => data::nodes(&args.next()?, references),
        WholeOp::RootOf => data::root_of(&args.next()?),
        WholeOp::FromNodes(references) => {
            let (root, nodes) = (args.integer()?, args.array()?);
            data::from_nodes(root, nodes, references)
        }
        WholeOp::Reach(references) => data::reach(&args.next()?, references),
        WholeOp::Constructed {
            references,
            constants,
        } => data::constructed(args.array()?, references, constants),
    }
}

fn primitive(prim: Prim, args: &mut Args, limits: &Limits) -> Outcome<Value> {
    match prim {
        Prim::Gather => indexed::gather(&*args.array()?, &*args.array()?, limits),
        Prim::Permute => indexed::permute(&*args.array()?, &*args.array()?),
        Prim::Scatter => indexed::scatter(args.array()?, &*args.array()?, &*args.array()?),
        Prim::Iota => {
            let count = size(args.integer()?)?;
            limits.room_for(count, &ElementShape::Scalar(almach_value::ScalarType::I64))?;
            Ok(Value::from((0..count as i64).collect::<Vec<i64>>()))
        }
        Prim::Range => layout::range(args.integer()?, args.integer()?, args.integer()?, limits),
        Prim::Replicate => layout::replicate(args.integer()?, &args.next()?, limits),
        Prim::Zip => {
            let (left, right) = (args.array()?, args.array()?);
            let array = ArrayValue::tuples(left.len, vec![left, right]);
            Ok(Value::array(array.map_err(misshapen)?))
        }
        Prim::Unzip => match &args.array()?.elements {
            Elements::Tuples(parts) => Ok(Value::tuple(
                parts.iter().map(|part| Value::Array(Arc::clone(part))),
            )),
            _ => Err(FailKind::bug("`unzip` of what are no tuples")),
        },
        Prim::Concat => layout::concat(args.array()?, &*args.array()?, limits),
        Prim::Reverse => {
            let array = args.array()?;
            layout::picked(&array, (0..array.len).rev())
        }
        Prim::Rotate => layout::rotate(args.integer()?, &*args.array()?),
        Prim::Transpose => layout::transpose(&*args.array()?),
        Prim::Split => layout::split(args.integer()?, args.array()?),
        Prim::Join | Prim::Flatten => layout::join(&*args.array()?),
        Prim::Slide => layout::slide(args.integer()?, args.integer()?, &*args.array()?, limits),
        Prim::Pad => {
            let (left, right, value) = (args.integer()?, args.integer()?, args.next()?);
            layout::pad(left, right, &value, &*args.array()?, limits)
        }
        Prim::PadEdge => layout::pad_edge(args.integer()?, args.integer()?, &*args.array()?, limits),
        Prim::Take => layout::take(args.integer()?, &*args.array()?),
        Prim::Drop => layout::drop_first(args.integer()?, &*args.array()?),
        Prim::Unflatten => layout::unflatten(&*args.array()?, args.array()?),
        Prim::Segments => layout::segments(&*args.array()?),
        Prim::Jagged => layout::jagged(&*args.array()?).map(Value::array),
        Prim::AsVector => layout::as_vector(args.integer()?, &*args.array()?),
        Prim::AsScalar => layout::as_scalar(&*args.array()?),
        Prim::Map
        | Prim::Reduce
        | Prim::ReduceComm
        | Prim::ReduceSeq
        | Prim::Scan
        | Prim::ScanExclusive
        | Prim::ScanRows
        | Prim::ScanRowsExclusive
        | Prim::Filter
        | Prim::Partition
        | Prim::ReduceByIndex
        | Prim::Length
        | Prim::ToGlobal
        | Prim::ToLocal
        | Prim::ToPrivate
        | Prim::Materialise
        | Prim::Nodes
        | Prim::RootOf
        | Prim::FromNodes
        | Prim::Reach
        | Prim::Constructed
        | Prim::Build => Err(FailKind::bug(format!(
            "`{}` is no operation on whole values",
            prim.name()
        ))),
    }
}

/// Arguments, one after the other.
struct Args(std::vec::IntoIter<Value>);

impl Args {
    fn next(&mut self) -> Outcome<Value> {
        self.0.next().ok_or_else(|| FailKind::bug("too few arguments"))
    }

    fn array(&mut self) -> Outcome<Arc<ArrayValue>> {
        match self.next()? {
            Value::Array(array) => Ok(array),
            _ => Err(FailKind::bug("an argument is no array")),
        }
    }

    fn integer(&mut self) -> Outcome<i64> {
        self.next()?
            .as_i64()
            .ok_or_else(|| FailKind::bug("an argument is no i64"))
    }
}

fn misshapen(error: almach_value::ShapeError) -> FailKind {
    FailKind::bug(error.to_string())
}

/// The buffer of an array of scalars.
fn buffer(array: &ArrayValue) -> Outcome<&Buffer> {
    array
        .buffer()
        .ok_or_else(|| FailKind::bug("expected an array of scalars"))
}
