//! C names for Imp names: the same where C allows it.

mod system;

use crate::Form;
use std::collections::{HashMap, HashSet};

/// Words that C, or a header that emitted code includes, gives a meaning.
const TAKEN: &[&str] = &[
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "true",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "typeof",
    "nullptr",
    "constexpr",
    "alignas",
    "alignof",
    "thread_local",
    "static_assert",
    "main",
    "NULL",
    "NAN",
    "INFINITY",
    "EOF",
    "errno",
    "linux",
    "unix",
    "I",
    "complex",
    "imaginary",
    "free",
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "memcpy",
    "memset",
    "memmove",
    "getenv",
    "strtol",
    "strtod",
    "strtof",
    "abs",
    "snprintf",
    "printf",
    "strlen",
    "abort",
    "exit",
    "signbit",
    "isnan",
    "isinf",
    "ctx",
    "own",
    "args",
    "index",
    "y0",
    "y1",
    "yn",
    "j0",
    "j1",
    "jn",
    "gamma",
    "lgamma",
    "tgamma",
    "signgam",
    "div",
    "labs",
    "remove",
    "rename",
    "time",
    "clock",
    "signal",
    "raise",
    "stdin",
    "stdout",
    "stderr",
    "threads",
    "random",
    "select",
    "release",
    "allocate",
    "account",
    "account_take",
    "account_give",
    "counted_copy",
    "reused",
    "memory_for",
    "head",
    "LARGE",
    "BLOCK_HEAD",
    "PAGE",
    "KEPT_BLOCKS",
    "fail",
    "sites",
    "LANES",
    "quarter_turns",
    "either_part",
    "near_sin_f64",
    "near_cos_f64",
    "LARGE_ANGLE",
    "sin_f64",
    "cos_f64",
    "floor_div",
    "floor_rem",
    "size_sum",
    "size_difference",
    "size_product",
    "stack",
    "push_frame",
    "pop_frame",
    "run_frames",
    "grow_stack",
    "release_chunks",
    "adopt",
    "put_text",
    "put_chars",
    "end_line",
    "show_float",
    "shortest",
    "next_digits",
    "is_half_way",
    "reads_back",
    "fwrite",
    "resumes",
    "shrink",
    "take_next",
    "pause_a_while",
    "sched_yield",
    "clone",
    "stores",
    "store",
    "reserve",
    "add_chunk",
    "release_stores",
    "cell_place",
    "chunk_of",
    "settle",
    "settle_own",
    "settled",
];

/// Functions of `math.h` that exist for `double`, with `f` for `float` and with `l` for `long double`.
const MATH: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "ldexp",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "scalbn",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// The names in use in one scope; gives new ones that differ from all of them.
#[derive(Clone, Debug)]
pub struct Scope {
    used: HashSet<String>,
    /// Where to go on counting for a stem, so that many names of one stem take no quadratic time.
    next: HashMap<String, usize>,
}

impl Scope {
    /// What no name of a file may be.
    pub fn file() -> Scope {
        let math = MATH
            .iter()
            .flat_map(|name| [name.to_string(), format!("{name}f"), format!("{name}l")]);
        Scope {
            used: TAKEN.iter().map(|name| name.to_string()).chain(math).collect(),
            next: HashMap::new(),
        }
    }

    /// What no name of a file with kernels may be.
    pub fn file_with_kernels(form: Form) -> Scope {
        let of_form: [&[&str]; 2] = match form {
            Form::C => [&[], &[]],
            Form::Nvcc => [CPP_WORDS, NVCC_WORDS],
        };
        let words = DEVICE_WORDS.iter().chain(of_form.into_iter().flatten());
        let mut scope = Scope::file();
        scope.used.extend(words.map(|name| name.to_string()));
        scope
    }

    /// What no name of a kernel may be, in OpenCL C and in CUDA C++.
    pub fn kernels() -> Scope {
        let mut scope = Scope::file();
        scope
            .used
            .extend(KERNEL_WORDS.iter().chain(CPP_WORDS).map(|name| name.to_string()));
        scope
    }

    /// A C name for a function, which no function of a header may have.
    pub fn fresh_function(&mut self, name: &str) -> String {
        let stem = sanitise(name);
        if system::declares(&stem) {
            self.used.insert(stem);
        }
        self.fresh(name)
    }

    /// A C name as close to `name` as possible.
    pub fn fresh(&mut self, name: &str) -> String {
        let stem = sanitise(name);
        if self.used.insert(stem.clone()) {
            return stem;
        }
        let next = self.next.entry(stem.clone()).or_insert(1);
        loop {
            let candidate = format!("{stem}_{next}");
            *next += 1;
            if self.used.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Letters, digits and single underscores; no digit or underscore first, since C keeps those names for itself. Helper
/// functions end in the name of a type behind an underscore (`add_i32`), so no other name does.
pub fn sanitise(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(c),
            '\'' => out.push_str("_prime"),
            // Of columns, and procedures of stores.
            '$' => out.push('_'),
            _ => out.push_str(&format!("_u{:x}", u32::from(c))),
        }
    }
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'v');
    }
    let ends_in_type = out
        .rsplit_once('_')
        .is_some_and(|(_, last)| almach_value::ScalarType::from_name(last).is_some());
    let is_type_name = out.ends_with("_t") || out.starts_with("omp_") || out.starts_with("almach_");
    if ends_in_type || is_type_name {
        out.push('_');
    }
    // Macros of the standard headers are in upper case.
    let shouts = out.len() > 3
        && out
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if shouts {
        out.push_str("_v");
    }
    out
}

/// What `device/*.c` define; tags of structs are no names that others could not have.
const DEVICE_WORDS: &[&str] = &[
    "CUcontext",
    "CUdevice",
    "CUfunction",
    "CUmodule",
    "CUresult",
    "add_argument",
    "add_block",
    "argument",
    "array_at",
    "attach",
    "block",
    "block_of",
    "blocks_up_to",
    "bring",
    "catch_up",
    "cl_bits",
    "cl_command_queue",
    "cl_context",
    "cl_device_id",
    "cl_int",
    "cl_kernel",
    "cl_mem",
    "cl_platform_id",
    "cl_program",
    "cl_uint",
    "close_device",
    "closedir",
    "collect",
    "column",
    "columns",
    "compiled",
    "complete_rows",
    "device",
    "device_memory",
    "digest",
    "dirent",
    "dlopen",
    "dlsym",
    "driver",
    "driver_address",
    "driver_build",
    "driver_choose",
    "driver_close",
    "driver_copy",
    "driver_elapsed",
    "driver_enter",
    "driver_give",
    "driver_keep",
    "driver_launch",
    "driver_load",
    "driver_measure",
    "driver_message",
    "driver_open",
    "driver_part",
    "driver_rebuild",
    "driver_receive",
    "driver_send",
    "driver_take",
    "driver_wait",
    "driver_zero",
    "drop_kept",
    "earlier_row",
    "end_call",
    "fetch",
    "fetch_row",
    "fetch_rows",
    "find_block",
    "find_functions",
    "forget",
    "forget_rows",
    "fresh",
    "getpid",
    "give_memory",
    "hand_over",
    "kept_folder",
    "kept_key",
    "kept_magic",
    "kept_path",
    "kept_prune",
    "kept_read",
    "kept_write",
    "kernel_names",
    "kernel_source",
    "know",
    "known_rows",
    "launch",
    "load_compiler",
    "mailbox",
    "make_room",
    "mark_rows",
    "memory_bytes",
    "mirror_bytes",
    "mkdir",
    "move_rows",
    "no_memory",
    "note_kernels",
    "note_time",
    "nvrtcProgram",
    "open_device",
    "open_first",
    "opendir",
    "part_of",
    "passing",
    "prepare",
    "prepare_rows",
    "readdir",
    "receive_cells",
    "refused",
    "remove",
    "remove_block",
    "rename",
    "row_cell",
    "rows_of",
    "scalar",
    "seconds_now",
    "send_cells",
    "shrunk",
    "start",
    "stat",
    "stay_busy",
    "store_of",
    "sum_of",
    "take_memory",
    "trouble",
    "wanted_device",
    "whole_source",
];

/// Words of OpenCL C and CUDA C++ that C does not have, and those of the prelude.
const KERNEL_WORDS: &[&str] = &[
    "kernel",
    "global",
    "local",
    "constant",
    "private",
    "read_only",
    "write_only",
    "read_write",
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "size_t",
    "event_t",
    "sampler_t",
    "vec_step",
    "box",
    "launch",
    "fail",
    "is_over",
    "mailbox",
    "values",
    "min",
    "max",
    "clamp",
    "select",
    "all",
    "any",
    "dot",
    "cross",
    "length",
    "sign",
    "step",
    "mix",
    "rotate",
    "distance",
    "normalize",
    "barrier",
    "printf",
    "float2",
    "float3",
    "float4",
    "int2",
    "int3",
    "int4",
    "pipe",
    "image",
    "register",
    "dim3",
    "LOCAL",
    "LOCAL_CELLS",
    "GROUP",
    "ITEM",
    "PART",
    "MEET",
    "MEET_ANY",
    "LIVING",
    "WORK_ITEM",
    "dead",
    "over",
    "somebody_is_dead",
    "has_failed_before",
    "meet_any",
];

/// Keywords of C++.
const CPP_WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// What `nvcc.rs` and `device/nvcc*.c` define, and what they use of CUDA and of C++.
const NVCC_WORDS: &[&str] = &["cells", "dim3", "kernel_functions", "kernels", "pointer", "std"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_what_they_are_where_they_can() {
        let mut scope = Scope::file();
        for (given, expected) in [
            ("xs", "xs"),
            ("x'", "x_prime"),
            ("exp", "exp_1"),
            ("sqrtf", "sqrtf_1"),
            ("_x", "v_x"),
            ("while", "while_1"),
            ("while", "while_2"),
            ("add_i32", "add_i32_"),
            ("é", "v_ue9"),
            ("INT_MAX", "INT_MAX_v"),
            ("xs_1", "xs_1"),
            ("xs", "xs_2"),
        ] {
            assert_eq!(scope.fresh(given), expected);
        }
    }
}
