//! The small functions of kernels: those of the host, but for what only one of the two has.

use crate::atomics::local_form;
use crate::helpers::{Helper, Helpers};
use crate::tree::scalar_c_name;
use almach_imp::Order;
use almach_value::{BinOp, ScalarType, UnOp};

impl Helpers {
    pub fn kernel_texts(&self) -> impl Iterator<Item = String> {
        self.all().map(kernel_text).chain(self.local_texts())
    }

    /// Atomic steps once more, for local memory, which is not the same in OpenCL.
    fn local_texts(&self) -> impl Iterator<Item = String> {
        let atomics = self.all().filter(|helper| {
            matches!(
                helper,
                Helper::AtomicLoad(..)
                    | Helper::AtomicStore(..)
                    | Helper::AtomicExchange(..)
                    | Helper::AtomicUpdate(..)
            )
        });
        atomics.filter(|_| self.local_atomics).map(|helper| {
            let name = helper.name();
            kernel_text(helper)
                .replace(&name, &local_form(&name))
                .replace("GLOBAL", "LOCAL_CELLS")
        })
    }
}

fn kernel_text(helper: Helper) -> String {
    let name = helper.name();
    match helper {
        Helper::Unary(op @ (UnOp::ToBits | UnOp::FromBits), ty) => bits(op, ty, &name),
        Helper::AtomicLoad(Order::Relaxed | Order::Acquire, ty) => {
            let c = cell_type(ty);
            format!("FUNCTION {c} {name}(volatile GLOBAL const {c} *cell) {{\n  return *cell;\n}}\n")
        }
        Helper::AtomicStore(_, ty) => {
            let c = cell_type(ty);
            format!("FUNCTION void {name}(volatile GLOBAL {c} *cell, {c} value) {{\n  *cell = value;\n}}\n")
        }
        Helper::AtomicExchange(_, ScalarType::Bool) => exchange_bool(&name),
        Helper::AtomicExchange(_, ty @ (ScalarType::I32 | ScalarType::U32)) => format!(
            "FUNCTION {c} {name}(volatile GLOBAL {c} *cell, {c} value) {{\n  \
             return ({c})EXCHANGE_32((volatile GLOBAL uint32_t *)cell, (uint32_t)value);\n}}\n",
            c = cell_type(ty)
        ),
        Helper::AtomicExchange(_, ty) => step(&name, ty, "value"),
        Helper::AtomicUpdate(op, _, ty) => match one_instruction(op, ty) {
            Some(instruction) => format!(
                "FUNCTION void {name}(volatile GLOBAL {c} *cell, {c} value) {{\n  \
                 {instruction}((volatile GLOBAL uint32_t *)cell, (uint32_t)value);\n}}\n",
                c = cell_type(ty)
            ),
            None => {
                let combine = Helper::Binary(op, ty).name();
                step(&name, ty, &format!("{combine}(before, value)"))
            }
        },
        Helper::Binary(op @ (BinOp::Min | BinOp::Max), ty @ (ScalarType::F32 | ScalarType::F64)) => {
            extreme(op, ty, helper)
        }
        _ => helper
            .text_without_builtins()
            .replace("static inline", "FUNCTION"),
    }
}

/// The lesser or greater of two floats. CUDA's instruction means the same: a number before NaN, -0 below 0 (PTX ISA, 9.7.3.11).
fn extreme(op: BinOp, ty: ScalarType, helper: Helper) -> String {
    let text = helper
        .text_without_builtins()
        .replace("static inline", "FUNCTION");
    let (instruction, letter) = match (op, ty) {
        (BinOp::Min, ScalarType::F32) => ("min.f32", 'f'),
        (BinOp::Min, _) => ("min.f64", 'd'),
        (_, ScalarType::F32) => ("max.f32", 'f'),
        _ => ("max.f64", 'd'),
    };
    let Some((head, rest)) = text.split_once("{\n") else {
        return text;
    };
    format!(
        "{head}{{\n#if defined(__CUDACC__)\n  {c} found;\n  \
         asm(\"{instruction} %0, %1, %2;\" : \"={letter}\"(found) : \"{letter}\"(x), \"{letter}\"(y));\n  \
         return found;\n#else\n{}#endif\n}}\n",
        rest.trim_end().trim_end_matches('}'),
        c = scalar_c_name(ty)
    )
}

/// Of a byte that is 0 or 1 one bit changes, which takes one step on the word around it.
fn exchange_bool(name: &str) -> String {
    format!(
        "FUNCTION uint8_t {name}(volatile GLOBAL uint8_t *cell, uint8_t value) {{\n  \
         const uint64_t address = (uint64_t)cell;\n  const uint32_t bit = 1u << (uint32_t)(address & 3) * 8;\n  \
         volatile GLOBAL uint32_t *const word = (volatile GLOBAL uint32_t *)(address & ~UINT64_C(3));\n  \
         const uint32_t before = value != 0 ? OR_32(word, bit) : AND_32(word, ~bit);\n  \
         return (before & bit) != 0;\n}}\n"
    )
}

/// The C type of a cell; a `bool` is a byte.
fn cell_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "uint8_t",
        _ => scalar_c_name(ty),
    }
}

fn bits(op: UnOp, ty: ScalarType, name: &str) -> String {
    let result = op.result_type(ty).map_or("void", scalar_c_name);
    let value = match (op, ty) {
        (UnOp::ToBits, ScalarType::F32) => "x != x ? 0x7fc00000u : BITS_OF_FLOAT(x)",
        (UnOp::ToBits, _) => "x != x ? UINT64_C(0x7ff8000000000000) : BITS_OF_DOUBLE(x)",
        (_, ScalarType::U32) => "FLOAT_OF_BITS(x)",
        _ => "DOUBLE_OF_BITS(x)",
    };
    format!(
        "FUNCTION {result} {name}({} x) {{\n  return {value};\n}}\n",
        scalar_c_name(ty)
    )
}

fn one_instruction(op: BinOp, ty: ScalarType) -> Option<&'static str> {
    if !matches!(ty, ScalarType::I32 | ScalarType::U32) {
        return None;
    }
    match op {
        BinOp::Add => Some("ADD_32"),
        BinOp::And => Some("AND_32"),
        BinOp::Or => Some("OR_32"),
        BinOp::Xor => Some("XOR_32"),
        _ => None,
    }
}

/// Exchanges what is in a cell for something made of it; gives what was there. Devices do so with words: where cells are smaller, the
/// word around one is used. Another work-item may be faster: then once more.
fn step(name: &str, ty: ScalarType, after: &str) -> String {
    let c = cell_type(ty);
    let (word, peek, compare) = match ty.bytes() {
        8 => ("uint64_t", "PEEK_64", "COMPARE_64"),
        _ => ("uint32_t", "PEEK_32", "COMPARE_32"),
    };
    let head = format!("FUNCTION {c} {name}(volatile GLOBAL {c} *cell, {c} value) {{\n");
    let (place, before, whole) = match ty {
        ScalarType::F32 => (
            String::new(),
            "FLOAT_OF_BITS(old)".into(),
            "BITS_OF_FLOAT(after)".into(),
        ),
        ScalarType::F64 => (
            String::new(),
            "DOUBLE_OF_BITS(old)".into(),
            "BITS_OF_DOUBLE(after)".into(),
        ),
        _ if ty.bytes() >= 4 => (String::new(), format!("({c})old"), format!("({word})after")),
        _ => {
            let mask = if ty.bytes() == 1 { "0xffu" } else { "0xffffu" };
            let unsigned = if ty.bytes() == 1 { "uint8_t" } else { "uint16_t" };
            (
                format!(
                    "  const uint64_t address = (uint64_t)cell;\n  const uint32_t shift = (uint32_t)(address & 3) * 8;\n  \
                     const uint32_t mask = {mask} << shift;\n"
                ),
                format!("({c})({unsigned})((old & mask) >> shift)"),
                format!("(old & ~mask) | ((uint32_t)({unsigned})after << shift)"),
            )
        }
    };
    let address = match place.is_empty() {
        true => "cell",
        false => "(address & ~UINT64_C(3))",
    };
    format!(
        "{head}{place}  volatile GLOBAL {word} *const word = (volatile GLOBAL {word} *){address};\n  \
         {word} old, seen = {peek}(word);\n  {c} before;\n  do {{\n    old = seen;\n    before = {before};\n    const {c} after = {after};\n    \
         seen = {compare}(word, old, {whole});\n  }} while (seen != old);\n  return before;\n}}\n"
    )
}
