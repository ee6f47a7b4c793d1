//! C functions that random programs call: in Rust for interpreters, in C for what is compiled, kernels included.

use almach_base::codes::runtime::FOREIGN_FAILED;
use almach_core::ForeignDef;
use almach_core::interp::{ForeignError, Host};
use almach_imp::interp::Host as ImpHost;
use almach_imp::marshal::Slot;
use almach_value::{Buffer, ForeignType, Scalar, Value};

/// What the names of all of them start with.
const PREFIX: &str = "law_";

const DECLARATIONS: &str = "\
foreign law_mix : i64 -> i64 -> i64
foreign law_swap : (i32, bool) -> (bool, i32)
foreign law_pick : []i64 -> i64 -> i64
";

/// As kernels have it; the host sees `int64_t` in the emitted header.
pub(crate) const SOURCE: &str = "\
#ifndef GLOBAL
#define GLOBAL
#endif

void law_mix(int64_t *result, int64_t x, int64_t y) { *result = (int64_t)((uint64_t)x ^ ((uint64_t)y * 31u)); }

void law_swap(struct almach_tuple_bool_i32 *result, struct almach_tuple_i32_bool x) {
  result->v0 = x.v1;
  result->v1 = x.v0;
}

void law_pick(int64_t *result, int64_t n, GLOBAL const int64_t *xs, int64_t i) { *result = i >= 0 && i < n ? xs[i] : i; }
";

/// What has to stand in front of programs.
pub(crate) fn declarations(programs: &str) -> &'static str {
    match programs.contains(PREFIX) {
        true => DECLARATIONS,
        false => "",
    }
}

fn mix(x: i64, y: i64) -> i64 {
    x ^ y.wrapping_mul(31)
}

fn pick(xs: &Buffer, at: i64) -> i64 {
    let found = usize::try_from(at).ok().filter(|at| *at < xs.len());
    match found.map(|at| xs.get(at)) {
        Some(Some(Scalar::I64(found))) => found,
        _ => at,
    }
}

pub(crate) struct Outside;

impl Host for Outside {
    fn foreign(&mut self, function: &ForeignDef, args: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        let scalar = |value: Scalar| Ok(vec![Value::Scalar(value)]);
        match (function.name.as_str(), args.as_slice()) {
            ("law_mix", [Value::Scalar(Scalar::I64(x)), Value::Scalar(Scalar::I64(y))]) => {
                scalar(Scalar::I64(mix(*x, *y)))
            }
            ("law_swap", [Value::Tuple(parts)]) => {
                let mut parts = parts.to_vec();
                parts.reverse();
                Ok(vec![Value::Tuple(parts.into())])
            }
            ("law_pick", [Value::Array(xs), Value::Scalar(Scalar::I64(at))])
                if let Some(xs) = xs.buffer() =>
            {
                scalar(Scalar::I64(pick(xs, *at)))
            }
            _ => Err(ForeignError {
                code: FOREIGN_FAILED,
                message: format!("what is {}?", function.name),
            }),
        }
    }
}

impl ImpHost for Outside {
    fn foreign(&mut self, function: &ForeignType, arguments: Vec<Slot>) -> Result<Vec<Slot>, String> {
        match (function.name.as_str(), arguments.as_slice()) {
            ("law_mix", [Slot::Scalar(Scalar::I64(x)), Slot::Scalar(Scalar::I64(y))]) => {
                Ok(vec![Slot::Scalar(Scalar::I64(mix(*x, *y)))])
            }
            ("law_swap", [Slot::Scalar(x), Slot::Scalar(y)]) => Ok(vec![Slot::Scalar(*y), Slot::Scalar(*x)]),
            ("law_pick", [Slot::Size(_), Slot::Buffer(xs), Slot::Scalar(Scalar::I64(at))]) => {
                Ok(vec![Slot::Scalar(Scalar::I64(pick(xs, *at)))])
            }
            (name, _) => Err(format!("what is {name}?")),
        }
    }
}
