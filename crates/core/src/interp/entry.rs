//! The border: arguments of an entry into registers, results out of them.
//!
//! A size of the function's context is found where a parameter has it alone as a dimension; then every other dimension
//! is checked. Rows of an array that has none may have any size: they take the one their type says.

use super::EntryPoint;
use super::error::RuntimeError;
use super::machine::Values;
use crate::ir::{Dim, Type};
use almach_base::{Span, codes};
use almach_value::{ArrayValue, Elements, Failure, Scalar, Sizes, Value, conforms_with};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn unknown(entry: &str) -> RuntimeError {
    RuntimeError {
        code: codes::cli::NO_ENTRY,
        span: Span::NONE,
        message: format!("there is no entry `{entry}`"),
        notes: Vec::new(),
    }
}

/// A size that an argument gave, and which one.
struct Known {
    size: i64,
    from: String,
}

/// What sizes of variables are known, by number.
type Env = HashMap<u32, Known>;

pub(super) fn arguments(point: &EntryPoint, args: Vec<Value>) -> Result<Values, RuntimeError> {
    let entry = &point.entry;
    let wrong = |code, message: String| RuntimeError {
        code,
        span: entry.span,
        message,
        notes: Vec::new(),
    };
    if args.len() != entry.params.len() || args.len() != point.params.len() {
        let message = format!(
            "`{}` takes {} arguments, found {}",
            entry.name,
            entry.params.len(),
            args.len()
        );
        return Err(wrong(codes::cli::ARGUMENT_COUNT, message));
    }
    // Named sizes are compared below, where it is known which argument each came from.
    for (arg, (name, ty)) in args.iter().zip(&entry.params) {
        conforms_with(arg, ty, &mut Sizes::new()).map_err(|wrong_part| {
            let message = format!("argument `{name}` is not of type `{ty}`: {wrong_part}");
            wrong(codes::cli::BAD_ARGUMENT, message)
        })?;
    }
    let env = solve(point, &args);
    let mut values = Values::default();
    for var in &point.context {
        let size = env.get(&var.id).map_or(0, |known| known.size);
        values.scalars.push(size as u64);
    }
    for ((param, arg), (name, _)) in point.params.iter().zip(args).zip(&entry.params) {
        let fitted = fit(arg, &param.ty, &env).map_err(|mismatch| {
            let mut error = wrong(Failure::SizeMismatch.code(), mismatch.message(name));
            error.notes.extend(mismatch.note);
            error
        })?;
        let arrived = point.arrivals.value(fitted, &param.ty);
        flatten(arrived, &param.ty, &mut values);
    }
    Ok(values)
}

/// Solves the context from the shapes of arguments; sizes of rows that are there count before those that are not.
fn solve(point: &EntryPoint, args: &[Value]) -> Env {
    let mut env = Env::new();
    for certain in [Certain::Only, Certain::Also] {
        for ((param, arg), (name, _)) in point.params.iter().zip(args).zip(&point.entry.params) {
            if let (Type::Scalar(_), Some(size)) = (&param.ty, arg.as_i64()) {
                env.entry(param.var.id).or_insert_with(|| Known {
                    size,
                    from: name.to_string(),
                });
            }
            find_sizes(arg, &param.ty, &mut |var, size, is_certain| {
                if is_certain || certain == Certain::Also {
                    env.entry(var).or_insert_with(|| Known {
                        size,
                        from: name.to_string(),
                    });
                }
            });
        }
    }
    env
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certain {
    Only,
    Also,
}

/// Calls `found` for every dimension that is a variable alone, with its size and whether there is a row to see it.
fn find_sizes(value: &Value, ty: &Type, found: &mut dyn FnMut(u32, i64, bool)) {
    match (value, ty) {
        (Value::Tuple(parts), Type::Tuple(types)) => {
            for (part, ty) in parts.iter().zip(types) {
                find_sizes(part, ty, found);
            }
        }
        (Value::Array(array), Type::Array(dim, element)) => {
            if let Some(var) = alone(dim) {
                found(var, array.len as i64, true);
            }
            find_row_sizes(array, element, true, found);
        }
        _ => {}
    }
}

fn alone(dim: &Dim) -> Option<u32> {
    match dim {
        Dim::Size(size) => size.as_var().map(|var| var.id),
        Dim::Jagged => None,
    }
}

fn find_row_sizes(array: &ArrayValue, element: &Type, certain: bool, found: &mut dyn FnMut(u32, i64, bool)) {
    let certain = certain && array.len > 0;
    match (&array.elements, element) {
        (Elements::Tuples(parts), Type::Tuple(types)) => {
            for (part, ty) in parts.iter().zip(types) {
                find_row_sizes(part, ty, certain, found);
            }
        }
        (Elements::Rows { row, inner }, Type::Array(dim, element)) => {
            if let Some(var) = alone(dim) {
                found(var, *row as i64, certain);
            }
            find_row_sizes(inner, element, certain, found);
        }
        (Elements::Jagged { inner, .. }, Type::Array(_, element)) => {
            find_row_sizes(inner, element, certain, found);
        }
        _ => {}
    }
}

/// A dimension that is not what its type says.
struct Mismatch {
    expected: i64,
    found: usize,
    note: Option<String>,
}

impl Mismatch {
    fn message(&self, argument: &str) -> String {
        format!(
            "argument `{argument}` has size {} where {} is expected",
            self.found, self.expected
        )
    }
}

/// The size a dimension must have, where that is known.
fn expected(dim: &Dim, env: &Env) -> Option<(i64, Option<String>)> {
    let Dim::Size(size) = dim else {
        return None;
    };
    let value = size.eval(&|var| env.get(&var.id).map(|known| known.size))?;
    let note = size.as_var().and_then(|var| {
        let known = env.get(&var.id)?;
        Some(format!(
            "`{}` is {} by argument `{}`",
            var.name, known.size, known.from
        ))
    });
    Some((value, note))
}

fn check(dim: &Dim, found: usize, env: &Env) -> Result<(), Mismatch> {
    match expected(dim, env) {
        Some((expected, note)) if usize::try_from(expected) != Ok(found) => Err(Mismatch {
            expected,
            found,
            note,
        }),
        _ => Ok(()),
    }
}

/// The value with every dimension checked, and with the sizes its type says where there are no rows.
fn fit(value: Value, ty: &Type, env: &Env) -> Result<Value, Mismatch> {
    match (value, ty) {
        (Value::Tuple(parts), Type::Tuple(types)) => {
            let fitted: Result<Vec<Value>, Mismatch> = parts
                .iter()
                .zip(types)
                .map(|(part, ty)| fit(part.clone(), ty, env))
                .collect();
            Ok(Value::tuple(fitted?))
        }
        (Value::Array(array), Type::Array(dim, element)) => {
            check(dim, array.len, env)?;
            Ok(Value::Array(fit_rows(array, element, env)?))
        }
        (value, _) => Ok(value),
    }
}

fn fit_rows(array: Arc<ArrayValue>, element: &Type, env: &Env) -> Result<Arc<ArrayValue>, Mismatch> {
    let len = array.len;
    let elements = match (&array.elements, element) {
        (Elements::Tuples(parts), Type::Tuple(types)) => {
            let parts: Result<Vec<_>, Mismatch> = parts
                .iter()
                .zip(types)
                .map(|(part, ty)| fit_rows(Arc::clone(part), ty, env))
                .collect();
            Elements::Tuples(parts?)
        }
        (Elements::Rows { row, inner }, Type::Array(dim, element)) => {
            let row = match expected(dim, env) {
                Some((size, _)) if len == 0 => usize::try_from(size).unwrap_or(*row),
                _ => {
                    check(dim, *row, env)?;
                    *row
                }
            };
            let inner = fit_rows(Arc::clone(inner), element, env)?;
            Elements::Rows { row, inner }
        }
        (Elements::Jagged { lengths, inner }, Type::Array(_, element)) => {
            let inner = fit_rows(Arc::clone(inner), element, env)?;
            let lengths = lengths.clone();
            Elements::Jagged { lengths, inner }
        }
        _ => return Ok(array),
    };
    Ok(Arc::new(ArrayValue { len, elements }))
}

/// A value's registers, in the order of lowering.
fn flatten(value: Value, ty: &Type, values: &mut Values) {
    match (value, ty) {
        (Value::Scalar(scalar), _) => values.scalars.push(scalar.to_raw()),
        (Value::Vector(lanes), _) => values.scalars.extend(lanes.iter().map(|lane| lane.to_raw())),
        (Value::Tuple(parts), Type::Tuple(types)) => {
            for (part, ty) in parts.iter().zip(types) {
                flatten(part.clone(), ty, values);
            }
        }
        (value, _) => values.boxed.push(value),
    }
}

/// Arguments that are known to fit.
pub(super) fn core_arguments(point: &EntryPoint, sizes: &[i64], args: Vec<Value>) -> Values {
    let mut values = Values::default();
    values.scalars.extend(sizes.iter().map(|size| *size as u64));
    for (param, arg) in point.params.iter().zip(args) {
        flatten(arg, &param.ty, &mut values);
    }
    values
}

/// Sizes, and arguments as values.
pub(super) fn separate_arguments(
    point: &EntryPoint,
    args: Values,
) -> Result<(Vec<i64>, Vec<Value>), RuntimeError> {
    let mut scalars = args.scalars.into_iter();
    let sizes = scalars
        .by_ref()
        .take(point.context.len())
        .map(|size| size as i64)
        .collect();
    let mut boxed = args.boxed.into_iter();
    let types = point.params.iter().map(|param| &param.ty);
    let values: Option<Vec<Value>> = types.map(|ty| gather(ty, &mut scalars, &mut boxed)).collect();
    values.map(|values| (sizes, values)).ok_or_else(|| too_few(point))
}

/// The sizes of the result, and its values.
pub(super) fn core_results(
    point: &EntryPoint,
    results: Values,
) -> Result<(Vec<i64>, Vec<Value>), RuntimeError> {
    let mut scalars = results.scalars.into_iter();
    let sizes = scalars
        .by_ref()
        .take(point.context_results)
        .map(|size| size as i64)
        .collect();
    let mut boxed = results.boxed.into_iter();
    let types = point.results.iter();
    let values: Option<Vec<Value>> = types.map(|ty| gather(ty, &mut scalars, &mut boxed)).collect();
    values.map(|values| (sizes, values)).ok_or_else(|| too_few(point))
}

fn too_few(point: &EntryPoint) -> RuntimeError {
    RuntimeError {
        code: codes::bugs::COMPILER_BUG,
        span: point.entry.span,
        message: format!("`{}` gave fewer results than its type says", point.entry.name),
        notes: Vec::new(),
    }
}

/// The results as the one value the user sees.
pub(super) fn result(point: &EntryPoint, results: Values) -> Result<Value, RuntimeError> {
    let mut scalars = results.scalars.into_iter().skip(point.context_results);
    let mut boxed = results.boxed.into_iter();
    let values: Option<Vec<Value>> = point
        .results
        .iter()
        .map(|ty| gather(ty, &mut scalars, &mut boxed))
        .collect();
    match values.map(<[Value; 1]>::try_from) {
        Some(Ok([value])) => Ok(value),
        Some(Err(values)) => Ok(Value::tuple(values)),
        None => Err(too_few(point)),
    }
}

fn gather(
    ty: &Type,
    scalars: &mut impl Iterator<Item = u64>,
    boxed: &mut impl Iterator<Item = Value>,
) -> Option<Value> {
    Some(match ty {
        Type::Scalar(ty) => Value::Scalar(Scalar::from_raw(*ty, scalars.next()?)),
        Type::Vector(width, ty) => {
            let lanes: Vec<Scalar> = scalars
                .by_ref()
                .take(*width as usize)
                .map(|raw| Scalar::from_raw(*ty, raw))
                .collect();
            Value::vector(lanes)
        }
        Type::Tuple(parts) => {
            let mut values = Vec::with_capacity(parts.len());
            for part in parts {
                values.push(gather(part, scalars, boxed)?);
            }
            Value::tuple(values)
        }
        Type::Array(..) | Type::Data(_) | Type::Node(_) => boxed.next()?,
    })
}
