//! The header, and the functions that take their arguments through pointers.

use crate::print::{declarator, signature};
use crate::tree::{CParam, CType};
use crate::{Exported, Target};
use almach_imp::{Param, Passing};

/// A parameter's type as callers see it.
fn public_type(param: &Param) -> CType {
    let scalar = CType::Scalar(param.ty);
    match param.passing {
        Passing::Value => scalar,
        Passing::Out | Passing::Write => scalar.pointer(),
        Passing::Read => scalar.const_pointer(),
        Passing::Owned => scalar.pointer().pointer(),
    }
}

fn context_param(name: &str) -> CParam {
    CParam {
        ty: CType::Named(format!("struct {name}_ctx")).pointer(),
        name: "ctx".into(),
    }
}

pub fn header(name: &str, target: Target, exports: &[Exported], foreign: &str) -> String {
    let guard = format!("{}_H", name.to_ascii_uppercase());
    let macro_name = name.to_ascii_uppercase();
    let mut out = TEMPLATE
        .replace("GUARD", &guard)
        .replace("MACRO", &macro_name)
        .replace("VERSION_TEXT", env!("CARGO_PKG_VERSION"))
        .replace(
            "STDDEF\n",
            if target.has_device() {
                "#include <stddef.h>\n"
            } else {
                ""
            },
        )
        .replace("DEVICE\n", if target.has_device() { SET_DEVICE } else { "" })
        .replace("NAME", name);
    out.push_str(foreign);
    for exported in exports {
        out.push('\n');
        out.push_str(&prototype(name, exported));
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// The documented prototypes of one procedure.
fn prototype(name: &str, exported: &Exported) -> String {
    let mut scope = crate::names::Scope::file();
    let mut params = vec![context_param(name)];
    let mut lines = Vec::new();
    for param in &exported.params {
        let c_name = scope.fresh(&param.name);
        let role = match param.passing {
            Passing::Value => "",
            Passing::Out => "receives a result",
            Passing::Read => "is read",
            Passing::Write => "is written",
            Passing::Owned => "receives a block with a result; give it back with NAME_release",
        };
        if !role.is_empty() {
            lines.push(format!(" * {c_name} {}\n", role.replace("NAME", name)));
        }
        params.push(CParam {
            ty: public_type(param),
            name: c_name,
        });
    }
    let mut comment = String::from("/*");
    for line in exported.doc.lines() {
        comment.push_str(&format!(" {}\n *", crate::print::comment_text(line)));
    }
    comment.push_str(&format!(
        " {} is 0, or not where it failed: then {name}_error says why, and no result was written.\n",
        exported.symbol
    ));
    comment.push_str(&lines.concat());
    comment.push_str(" */\n");
    let int = CType::Named("int".into());
    format!(
        "{comment}{};\n{};\n",
        signature(&int, &exported.symbol, &params),
        signature(&int, &exported.call_symbol, &call_params(name))
    )
}

fn call_params(name: &str) -> Vec<CParam> {
    let args = CParam {
        ty: CType::Void.pointer().pointer(),
        name: "args".into(),
    };
    vec![context_param(name), args]
}

/// `int NAME_call_f(ctx, args)`.
pub fn call_function(name: &str, exported: &Exported) -> String {
    let int = CType::Named("int".into());
    let head = signature(&int, &exported.call_symbol, &call_params(name));
    let mut arguments = vec!["ctx".to_string()];
    for (at, param) in exported.params.iter().enumerate() {
        let ty = public_type(param);
        arguments.push(match param.passing {
            // The cell holds the scalar, or the pointer.
            Passing::Value | Passing::Read | Passing::Write => {
                format!("*({})args[{at}]", declarator(&ty.pointer(), ""))
            }
            // The cell receives the scalar, or the pointer.
            Passing::Out | Passing::Owned => format!("({})args[{at}]", declarator(&ty, "")),
        });
    }
    let unused = if exported.params.is_empty() {
        "  (void)args;\n"
    } else {
        ""
    };
    let line = format!("{}({})", exported.symbol, arguments.join(", "));
    let call = match line.len() > 100 {
        true => format!("{}(\n    {})", exported.symbol, arguments.join(",\n    ")),
        false => line,
    };
    format!("{head} {{\n{unused}  return {call};\n}}\n")
}

const TEMPLATE: &str = r#"/* Made by Almach VERSION_TEXT. */

#ifndef GUARD
#define GUARD

#include <stdbool.h>
STDDEF
#include <stdint.h>

#define MACRO_ALMACH_VERSION "VERSION_TEXT"

#ifdef __cplusplus
extern "C" {
#endif

/* What calls need besides their arguments. One context serves one call at a time. */
struct NAME_ctx;

/* A new context; NULL where there is no memory for it. */
struct NAME_ctx *NAME_new(void);
void NAME_free(struct NAME_ctx *ctx);

/* How many threads calls use. 0: as many as the environment variable ALMACH_NUM_THREADS says, else one for each
 * processor. Results do not depend on it. */
void NAME_set_threads(struct NAME_ctx *ctx, int threads);

/* How many calls may wait for others before a recursion is stopped with an error. 0: ten million. */
void NAME_set_max_depth(struct NAME_ctx *ctx, int64_t depth);
DEVICE

/* Why the last call failed, with the place in the source: valid until the next call. NULL where it did not fail. */
const char *NAME_error(struct NAME_ctx *ctx);

/* The number of the place where the last call failed, from 1, or 0; and the values its message mentions, each in 64
 * bits: signed integers sign-extended, the bits of floats. */
int NAME_failure(const struct NAME_ctx *ctx, const uint64_t **values);

/* Blocks that calls give as results: how many elements one has, and giving it back (NULL is fine), to the context of the
 * call, while no call of it runs. Without a context (NULL), which may be gone by then, it is freed. */
int64_t NAME_size(const void *block);
void NAME_release(struct NAME_ctx *ctx, void *block);

/* A context keeps a few large blocks that were given back for the next calls; this frees them. */
void NAME_trim(struct NAME_ctx *ctx);

/* Every function below has a second form, NAME_call_…, for callers that only know its type when they run. args[i]
 * points to the i-th argument: to a scalar, to a pointer to elements, or to where a scalar or a pointer to a block is to be
 * put. */
"#;

const SET_DEVICE: &str = r"
/* Which device kernels run on: its number, or a part of its name. NULL: what the environment variable ALMACH_DEVICE says, else the first
 * GPU. Arrays on the device that was used before must have been given back. */
void NAME_set_device(struct NAME_ctx *ctx, const char *device);

/* Arrays on the device. They have addresses as arrays of the host have, and calls take them wherever they take elements, but their
 * elements are on the device: the host does not look at them there. NAME_release gives one back, with its context.
 *
 * A new one, of so many elements, each of so many bytes, with anything in them. NULL where it cannot be had: NAME_error says why. */
void *NAME_new_array(struct NAME_ctx *ctx, int64_t count, size_t size);

/* One whose elements are memory that other code has on the device (see NAME_device_memory), and keeps there until the array is given
 * back. Behind the elements there must be 64 bytes that nobody else uses. */
void *NAME_borrow_array(struct NAME_ctx *ctx, void *memory, int64_t count, size_t size);

/* Copies from the host to some elements of an array, and back. 0, or not where it failed. */
int NAME_write_array(struct NAME_ctx *ctx, void *elements, const void *from, size_t bytes);
int NAME_read_array(struct NAME_ctx *ctx, const void *elements, void *to, size_t bytes);

/* Whether results of many elements stay on the device, as such arrays, from now on. Calls then wait for the device only for scalars, and
 * where something in a kernel can fail; NAME_wait waits until all is done. 0, or not where something failed meanwhile. */
void NAME_keep_results(struct NAME_ctx *ctx, bool kept);
int NAME_wait(struct NAME_ctx *ctx);

/* Where an array is for other code on the device: an address of CUDA's (in the primary context; calls use the default stream), or a cl_mem. NULL
 * where it is not there. */
void *NAME_device_memory(struct NAME_ctx *ctx, const void *array);

/* Measures from now on how long kernels take, and transfers. 0, or not where the device cannot. */
int NAME_time_kernels(struct NAME_ctx *ctx, bool timed);

/* What was measured of one kernel, by its number from 0: its name, the seconds of all of its launches and of the fastest, and how many. The
 * last three numbers are transfers to the device, transfers from it, and calls from the start of their first kernel to the end of their
 * last. Not 0 where there is no such number. */
int NAME_kernel_time(struct NAME_ctx *ctx, int number, const char **name, double *seconds, double *least, int64_t *count);
";
