//! The form of a file that nvcc builds: host and kernels in one source, which is C++.
//!
//! ```text
//! if (…) goto failed;                     int64_t size;
//! int64_t size = 0;                 ~~>   if (…) goto failed;
//! fail(…, (const uint64_t[]){n});         size = 0;
//! failed:                                 fail(…, cells<uint64_t>({n}));
//!                                         failed:
//! ```
//!
//! C++ lets nobody jump over a declaration with a value, has no literals for arrays, and converts no `void *`. The first two are
//! changed here, in the tree; for the third `malloc` and its kind give something that converts itself ([`CONVERSIONS`]).

use crate::device::PRELUDE;
use crate::print;
use crate::tree::{CExpr, CFunction, CStmt, CType};

/// What C does by itself.
pub const CONVERSIONS: &str = r"
/* What C does by itself: a pointer to anything becomes one to something, and cells may stand where they are used. */
#define restrict __restrict__
namespace {
struct pointer {
  void *to;
  pointer(void *to) : to(to) {}
  template <class T> operator T *() const { return (T *)to; }
};
template <class T> inline const T *cells(std::initializer_list<T> all) { return all.begin(); }
}
#define malloc(...) pointer(malloc(__VA_ARGS__))
#define calloc(...) pointer(calloc(__VA_ARGS__))
#define realloc(...) pointer(realloc(__VA_ARGS__))
#define aligned_alloc(...) pointer(aligned_alloc(__VA_ARGS__))
";

/// Behind the definition of `allocate`.
pub const ALLOCATE: &str = "#define allocate(...) pointer(allocate(__VA_ARGS__))\n";

/// Functions of a file that give a `void *`.
const GIVE_POINTERS: [&str; 2] = ["shrink", "adopt"];

/// The kernels, in a namespace of their own. What they define for the preprocessor ends with them.
pub fn kernels(source: &str) -> String {
    let own = PRELUDE
        .lines()
        .filter_map(|line| line.strip_prefix("#define "))
        .filter_map(|rest| rest.split([' ', '(']).next())
        .filter(|name| !name.starts_with("INT") && !name.starts_with("UINT"))
        .filter(|name| !["INFINITY", "NAN", "restrict"].contains(name));
    let mut names: Vec<&str> = own.collect();
    names.sort_unstable();
    names.dedup();
    let ended: String = names.iter().map(|name| format!("#undef {name}\n")).collect();
    format!(
        "/* The kernels; not all use everything. */\n#define WITH_HOST\n#pragma nv_diag_suppress 177\nnamespace kernels {{\n\n{source}\n}}\n#pragma nv_diag_default 177\n{ended}#undef WITH_HOST\n\n"
    )
}

pub fn function(function: CFunction) -> CFunction {
    CFunction {
        body: block(function.body),
        ..function
    }
}

/// Declarations of a block with a label come first, without a value.
fn block(stmts: Vec<CStmt>) -> Vec<CStmt> {
    let has_label = stmts.iter().any(|stmt| matches!(stmt, CStmt::Label(_)));
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for stmt in stmts.into_iter().map(statement) {
        match stmt {
            CStmt::Declare {
                ty,
                name,
                value: Some(value),
            } if has_label => {
                first.push(CStmt::Declare {
                    ty: changing(ty),
                    name: name.clone(),
                    value: None,
                });
                rest.push(CStmt::Assign(CExpr::name(name), value));
            }
            CStmt::Declare { .. } | CStmt::DeclareCells { .. } if has_label => first.push(stmt),
            other => rest.push(other),
        }
    }
    first.append(&mut rest);
    first
}

fn changing(ty: CType) -> CType {
    match ty {
        CType::Const(inner) => *inner,
        other => other,
    }
}

fn statement(stmt: CStmt) -> CStmt {
    match stmt {
        CStmt::Declare { ty, name, value } => CStmt::Declare {
            ty,
            name,
            value: value.map(expression),
        },
        CStmt::Do(value) => CStmt::Do(expression(value)),
        CStmt::Assign(to, value) => CStmt::Assign(expression(to), expression(value)),
        CStmt::If {
            condition,
            then,
            otherwise,
        } => CStmt::If {
            condition: expression(condition),
            then: block(then),
            otherwise: block(otherwise),
        },
        CStmt::Count {
            index,
            width,
            count,
            body,
        } => CStmt::Count {
            index,
            width,
            count: expression(count),
            body: block(body),
        },
        CStmt::CountPlace { place, count, body } => CStmt::CountPlace {
            place: expression(place),
            count: expression(count),
            body: block(body),
        },
        CStmt::Take {
            index,
            take,
            count,
            body,
        } => CStmt::Take {
            index,
            take: expression(take),
            count: expression(count),
            body: block(body),
        },
        CStmt::While(condition, body) => CStmt::While(expression(condition), block(body)),
        CStmt::Switch(value, body) => CStmt::Switch(expression(value), block(body)),
        CStmt::Block(body) => CStmt::Block(block(body)),
        CStmt::Return(value) => CStmt::Return(value.map(expression)),
        CStmt::DeclareCells { .. }
        | CStmt::Case(_)
        | CStmt::Goto(_)
        | CStmt::Label(_)
        | CStmt::Continue
        | CStmt::Break
        | CStmt::Pragma(_)
        | CStmt::Mark(_)
        | CStmt::Comment(_) => stmt,
    }
}

fn expression(expr: CExpr) -> CExpr {
    let all = |exprs: Vec<CExpr>| exprs.into_iter().map(expression).collect::<Vec<_>>();
    let one = |inner: Box<CExpr>| Box::new(expression(*inner));
    match expr {
        CExpr::Literal(_) | CExpr::Name(_) => expr,
        CExpr::Call(function, arguments) => {
            let gives_pointer = GIVE_POINTERS.contains(&function.as_str());
            let call = CExpr::Call(function, all(arguments));
            match gives_pointer {
                true => CExpr::call("pointer", [call]),
                false => call,
            }
        }
        CExpr::Unary(op, argument) => CExpr::Unary(op, one(argument)),
        CExpr::Binary(op, left, right) => CExpr::Binary(op, one(left), one(right)),
        CExpr::Conditional(condition, then, otherwise) => {
            CExpr::Conditional(one(condition), one(then), one(otherwise))
        }
        CExpr::Cast(ty, argument) => CExpr::Cast(ty, one(argument)),
        CExpr::Subscript(array, index) => CExpr::Subscript(one(array), one(index)),
        CExpr::Arrow(pointer, field) => CExpr::Arrow(one(pointer), field),
        CExpr::Dot(object, field) => CExpr::Dot(one(object), field),
        CExpr::SizeOfCell(pointer) => CExpr::SizeOfCell(one(pointer)),
        CExpr::Cells(ty, values) => {
            let values: Vec<String> = all(values).iter().map(print::expression).collect();
            let function = format!("cells<{}>", print::declarator(&ty, ""));
            CExpr::call(function, [CExpr::literal(format!("{{{}}}", values.join(", ")))])
        }
    }
}
