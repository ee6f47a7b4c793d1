//! Emitted C in programs of their own, under AddressSanitizer (with its search for leaks) and UndefinedBehaviorSanitizer.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_emit::Target;
use almach_imp::interp::Passed;
use almach_imp::{Checked, Param, Passing};
use almach_native::Toolchain;
use almach_value::{Scalar, ScalarType};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use support::programs::{CHAINS, FAILING, FOREIGN, FOREIGN_C, STATEMENTS};
use support::recursive::RECURSIVE;
use support::stores::STORES;
use support::{OUT, OWNED, buffer, int, room};

const FLAGS: [&str; 6] = [
    "-g",
    "-O1",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-Wno-unused-result",
];

fn c_type(ty: ScalarType) -> &'static str {
    almach_emit::tree::scalar_c_name(ty)
}

/// A scalar as C text. (Floats by their bits.)
fn c_scalar(scalar: Scalar) -> String {
    match scalar {
        Scalar::F32(v) if v.is_finite() => format!("{v:?}f"),
        Scalar::F64(v) if v.is_finite() => format!("{v:?}"),
        Scalar::F32(v) => {
            if v.is_nan() {
                "NAN".into()
            } else {
                format!("{}INFINITY", if v < 0.0 { "-" } else { "" })
            }
        }
        Scalar::F64(v) => {
            if v.is_nan() {
                "NAN".into()
            } else {
                format!("{}INFINITY", if v < 0.0 { "-" } else { "" })
            }
        }
        Scalar::U64(v) => format!("UINT64_C({v})"),
        Scalar::I64(i64::MIN) => "INT64_MIN".into(),
        Scalar::I32(i32::MIN) => "INT32_MIN".into(),
        other => other.to_string(),
    }
}

/// C that makes one call and stops unless it ends as the interpreter says. Buffers come from the heap, exactly as large
/// as they are said to be.
fn call_text(checked: &Checked, proc: &str, arguments: &[Passed]) -> String {
    let params = &checked.program().proc(proc).unwrap().params;
    let fails = support::interpreted(checked, proc, arguments.to_vec()).is_err();
    let mut out = String::from("  {\n");
    let (mut names, mut after) = (Vec::new(), String::new());
    for (at, (Param { ty, passing, .. }, argument)) in params.iter().zip(arguments).enumerate() {
        let t = c_type(*ty);
        match (passing, argument) {
            (Passing::Value, Passed::Value(scalar)) => names.push(c_scalar(*scalar)),
            (Passing::Read | Passing::Write, Passed::Buffer(cells)) => {
                writeln!(out, "    {t} *a{at} = calloc({}, sizeof({t}));", cells.len()).unwrap();
                for (cell, value) in cells.iter().enumerate() {
                    if let Some(value) = value {
                        writeln!(out, "    a{at}[{cell}] = {};", c_scalar(*value)).unwrap();
                    }
                }
                writeln!(after, "    free(a{at});").unwrap();
                names.push(format!("a{at}"));
            }
            (Passing::Out, _) => {
                writeln!(out, "    {t} a{at};").unwrap();
                names.push(format!("&a{at}"));
            }
            (Passing::Owned, _) => {
                writeln!(out, "    {t} *a{at} = NULL;").unwrap();
                writeln!(after, "    test_release(ctx, a{at});").unwrap();
                names.push(format!("&a{at}"));
            }
            other => panic!("{other:?}"),
        }
    }
    let names: String = names.iter().map(|name| format!(", {name}")).collect();
    let interface = support::emit(checked, Target::C).interface;
    let symbol = &interface
        .procs
        .iter()
        .find(|exported| &*exported.proc == proc)
        .unwrap()
        .symbol;
    let (compare, text) = if fails { ("==", "!=") } else { ("!=", "==") };
    writeln!(out, "    if ({symbol}(ctx{names}) {compare} 0) return 1;").unwrap();
    writeln!(out, "    if (!(test_error(ctx) {text} NULL)) return 2;").unwrap();
    out.push_str(&after);
    out.push_str("  }\n");
    out
}

/// What the sanitizers find is found: a leak, and an overflow.
#[test]
fn the_sanitizers_work() {
    let checked = support::checked("proc nothing() { }");
    let folder = PathBuf::from(format!("{}/sanitizers", support::cache()));
    std::fs::create_dir_all(&folder).unwrap();
    let toolchain = Toolchain::of("cc").unwrap().with_flags(FLAGS);
    let faults = [
        (
            "leak",
            "char *volatile kept = malloc(3); kept = 0; return kept != 0;",
        ),
        ("overflow", "volatile int x = 2147483647; x = x + 1; return 0;"),
    ];
    for (name, body) in faults {
        let main = folder.join(format!("{name}.c"));
        std::fs::write(
            &main,
            format!("#include <stdlib.h>\nint main(void) {{ {body} }}\n"),
        )
        .unwrap();
        let program = folder.join(name);
        let source = support::emit(&checked, Target::C);
        toolchain
            .program(&source, Target::C, std::slice::from_ref(&main), &program)
            .unwrap();
        let output = Command::new(&program).output().unwrap();
        assert!(!output.status.success(), "{name} is not found");
    }
}

fn main_text(checked: &Checked, calls: &[(&str, Vec<Passed>)]) -> String {
    let mut out = String::from(
        "#include \"test.h\"\n#include <math.h>\n#include <stdlib.h>\n\nint main(void) {\n  \
         struct test_ctx *ctx = test_new();\n  test_set_threads(ctx, 3);\n",
    );
    for (proc, arguments) in calls {
        out.push_str(&call_text(checked, proc, arguments));
    }
    out.push_str("  test_free(ctx);\n  return 0;\n}\n");
    out
}

/// Compiles the calls with a program's emitted C and runs them.
fn clean(text: &str, name: &str, calls: &[(&str, Vec<Passed>)]) {
    let checked = support::checked(text);
    let folder = PathBuf::from(format!("{}/sanitizers", support::cache()));
    std::fs::create_dir_all(&folder).unwrap();
    let main = folder.join(format!("{name}.c"));
    std::fs::write(&main, main_text(&checked, calls)).unwrap();
    let toolchain = Toolchain::of("cc").unwrap().with_flags(FLAGS);
    for target in [Target::C, Target::OpenMp] {
        let program = folder.join(format!("{name}-{target:?}"));
        let source = support::emit(&checked, target);
        if let Err(error) = toolchain.program(&source, target, std::slice::from_ref(&main), &program) {
            panic!("{error:?}");
        }
        let output = Command::new(&program)
            .env("ASAN_OPTIONS", "allocator_may_return_null=1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target:?}: {:?}\n{said}", output.status);
    }
}

#[test]
fn every_statement_is_clean() {
    let mut calls: Vec<(&str, Vec<Passed>)> = vec![("nothing", vec![])];
    for n in [0, 1, 4, 11] {
        let size = n as usize;
        let xs: Vec<f32> = (0..n).map(|x| x as f32 / 4.0).collect();
        let flags: Vec<bool> = (0..n).map(|x| x % 3 != 0).collect();
        calls.extend([
            ("loops", vec![int(n), OUT]),
            ("squares", vec![int(n), OWNED, OUT]),
            ("calls", vec![int(n), room(size + 2), OUT]),
            ("small", vec![int(n), room(size)]),
            ("scratch", vec![int(n), int(3), room(size)]),
            ("grows", vec![int(n), OWNED, OUT]),
            (
                "picks",
                vec![int(n), buffer(&xs), buffer(&flags), room(size), OUT],
            ),
        ]);
    }
    for (x, y) in [(0, 0.0), (i32::MAX, 1e10), (i32::MIN, f64::NAN)] {
        let (x, y) = (Passed::Value(Scalar::I32(x)), Passed::Value(Scalar::F64(y)));
        calls.push(("scalars", vec![x, y, OUT, OUT, int(i64::MIN)]));
    }
    clean(STATEMENTS, "statements", &calls);
}

#[test]
fn failures_lose_nothing() {
    let mut calls: Vec<(&str, Vec<Passed>)> = Vec::new();
    for bad_at in [0, 3, 9, 100] {
        for worse_at in [0, 5, 9, 100] {
            let bad: Vec<bool> = (0..10)
                .map(|at| at == bad_at || at == 7 && bad_at < 100)
                .collect();
            let worse: Vec<bool> = (0..10).map(|at| at == worse_at).collect();
            calls.push((
                "first",
                vec![int(10), buffer(&bad), buffer(&worse), room(10), OUT],
            ));
        }
    }
    calls.push((
        "divide",
        vec![int(2), buffer(&[6i32, 7]), buffer(&[1i32, 0]), OWNED],
    ));
    calls.push((
        "divide",
        vec![int(2), buffer(&[i32::MIN, 7]), buffer(&[-1i32, 2]), OWNED],
    ));
    calls.push(("cubes", vec![int(0), int(1 << 40), int(1 << 40), OUT]));
    clean(FAILING, "failing", &calls);
}

#[test]
fn recursion_is_clean() {
    let xs = [5i32, 3, 9, 3, 1, 8, 5, 0, 7];
    let mut calls: Vec<(&str, Vec<Passed>)> = vec![
        ("fib", vec![int(12), OUT]),
        ("is_even", vec![int(7), OUT]),
        ("ends", vec![int(5), buffer(&[0i32]), OUT]),
        ("sorted", vec![int(9), buffer(&xs), OUT, OWNED]),
        ("deep", vec![int(100_000), OUT]),
    ];
    for bad in [-1, 0, 3, 60] {
        calls.push(("fails", vec![int(60), int(bad), OUT]));
        calls.push(("each", vec![int(20), int(bad), room(20)]));
    }
    clean(RECURSIVE, "recursion", &calls);
}

/// Calls of the procedures whose iterations communicate.
fn chain_calls() -> Vec<(&'static str, Vec<Passed>)> {
    let mut calls = Vec::new();
    for n in [0usize, 1, 5, 60] {
        let size = n as i64;
        let (xs, is): (Vec<i64>, Vec<i64>) = (0..size).map(|x| (x * x, x % 3)).unzip();
        let small: Vec<i32> = (0..size).map(|x| x as i32 * 7 % 11).collect();
        calls.push(("prefix", vec![int(size), buffer(&xs), room(n), OUT]));
        calls.push(("halves", vec![int(size), OWNED, OUT]));
        for bad in [0, n / 2, n] {
            let early: Vec<bool> = (0..n).map(|at| at > bad).collect();
            let late: Vec<bool> = (0..n).map(|at| at == bad).collect();
            calls.push((
                "fails",
                vec![int(size), buffer(&early), buffer(&late), room(n), OUT],
            ));
        }
        calls.push((
            "updates",
            vec![
                int(size),
                int(3),
                buffer(&is),
                buffer(&small),
                buffer(&[0i64; 3]),
                buffer(&[1u8; 9]),
                buffer(&[0i32; 6]),
                buffer(&[false; 3]),
                buffer(&[0.5f32; 3]),
                buffer(&[0.5f64; 3]),
            ],
        ));
        calls.push((
            "claims",
            vec![
                int(size),
                buffer(&is),
                buffer(&[false; 3]),
                buffer(&[0i64; 3]),
                buffer(&[0i32]),
            ],
        ));
    }
    calls
}

#[test]
fn chains_lose_nothing() {
    clean(CHAINS, "chains", &chain_calls());
}

/// What foreign functions allocate is freed, also when what they give is refused.
#[test]
fn foreign_functions_are_clean() {
    let checked = support::checked(FOREIGN);
    let folder = PathBuf::from(format!("{}/sanitizers", support::cache()));
    std::fs::create_dir_all(&folder).unwrap();
    let (main, functions) = (folder.join("foreign-main.c"), folder.join("foreign.c"));
    std::fs::write(&functions, FOREIGN_C).unwrap();
    std::fs::write(
        &main,
        r#"#include "test.h"
#include <string.h>
int main(void) {
  struct test_ctx *ctx = test_new();
  test_set_threads(ctx, 3);
  double xs[20] = {1, 2, 3, 4};
  for (int64_t n = 0; n < 20; n++) {
    int64_t size = -1;
    double *out = NULL;
    const int status = test_main(ctx, n, xs, &size, &out);
    if ((status != 0) != (n == 3 || n > 13)) return 1;
    if (status != 0 && strstr(test_error(ctx), "E0818") == NULL) return 2;
    if (status == 0 && (size != n || (n > 1 && out[1] != 3))) return 3;
    test_release(ctx, out);
  }
  test_free(ctx);
  return 0;
}
"#,
    )
    .unwrap();
    for compiler in ["cc", "clang"] {
        let Ok(toolchain) = Toolchain::of(compiler) else {
            continue;
        };
        let toolchain = toolchain
            .with_flags(FLAGS)
            .with_flags(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
        for target in [Target::C, Target::OpenMp] {
            let program = folder.join(format!("foreign-{compiler}-{target:?}"));
            let source = support::emit(&checked, target);
            let links = [main.clone(), functions.clone()];
            if let Err(error) = toolchain.program(&source, target, &links, &program) {
                panic!("{error:?}");
            }
            let output = Command::new(&program).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{target:?}: {:?}\n{said}", output.status);
        }
    }
}

/// Operators at the ends of their ranges, where C would be undefined.
#[test]
fn operators_are_defined_everywhere() {
    let mut text = String::new();
    let mut calls: Vec<(String, Vec<Passed>)> = Vec::new();
    for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_integer()) {
        let operators = ["add", "sub", "mul", "div", "rem", "shl", "shr", "pow", "min"];
        let mut body = String::new();
        for (at, op) in operators.iter().enumerate() {
            writeln!(body, "  result[{at}] = {op}(a, b)").unwrap();
        }
        for (at, op) in ["neg", "abs", "complement", "signum"].iter().enumerate() {
            writeln!(body, "  result[{}] = {op}(a)", at + operators.len()).unwrap();
        }
        writeln!(
            body,
            "  result[13] = to_{ty}(x)\n  result[14] = to_{ty}(to_f32(x))"
        )
        .unwrap();
        for (at, count) in ["popcount", "leading_zeros", "trailing_zeros"].iter().enumerate() {
            writeln!(body, "  counts[{at}] = {count}(a)").unwrap();
        }
        writeln!(
            text,
            "proc on_{ty}(a: {ty}, b: {ty}, x: f64, result: write {ty}, counts: write i32) {{\n{body}}}"
        )
        .unwrap();
        let extremes: &[i128] = match ty.is_signed_integer() {
            true => &[i128::MIN, -1, 0, 1, i128::MAX],
            false => &[0, 1, i128::MAX],
        };
        let span = 1i128 << ty.bits();
        let (least, greatest) = if ty.is_signed_integer() {
            (-span / 2, span / 2 - 1)
        } else {
            (0, span - 1)
        };
        for a in extremes {
            for b in extremes {
                let (a, b) = ((*a).clamp(least, greatest), (*b).clamp(least, greatest));
                let scalar = |value: i128| Scalar::from_raw(ty, value as u64);
                let x = [f64::NAN, f64::INFINITY, -1e30, 1e30, -0.5][calls.len() % 5];
                // Division, shifts and powers have checks before them.
                let (a, b) = (scalar(a), scalar(if b <= 0 { greatest } else { b }));
                let (a, b) = (Passed::Value(a), Passed::Value(b));
                let x = Passed::Value(Scalar::F64(x));
                calls.push((format!("on_{ty}"), vec![a, b, x, room(15), room(3)]));
            }
        }
    }
    // The one division that overflows.
    for ty in ["i8", "i16", "i32", "i64"] {
        writeln!(
            text,
            "proc least_{ty}(a: {ty}, b: {ty}, q: out {ty}, r: out {ty}) {{\n  q = a / b\n  r = a % b\n}}"
        )
        .unwrap();
        let ty = ScalarType::from_name(ty).unwrap();
        let least = Scalar::from_raw(ty, (-(1i128 << (ty.bits() - 1))) as u64);
        let minus = Scalar::from_raw(ty, u64::MAX);
        calls.push((
            format!("least_{ty}"),
            vec![Passed::Value(least), Passed::Value(minus), OUT, OUT],
        ));
    }
    let calls: Vec<(&str, Vec<Passed>)> = calls
        .iter()
        .map(|(proc, args)| (proc.as_str(), args.clone()))
        .collect();
    clean(&text, "operators", &calls);
}

#[test]
fn stores_are_clean() {
    let calls = [
        ("cells", vec![int(70), room(70)]),
        ("shared", vec![int(20), room(20)]),
        ("runs", vec![int(100), OUT]),
        ("runs", vec![int(0), OUT]),
    ];
    clean(STORES, "stores", &calls);
}

/// Threads race in no loop. The run time of clang tells ThreadSanitizer what its barriers mean; where that does not work (a
/// program without a race is blamed, or one with a race is not), there is nothing to learn.
#[test]
fn threads_do_not_race() {
    let Ok(clang) = Toolchain::of("clang") else {
        return;
    };
    let toolchain = clang.with_flags(["-g", "-O1", "-fsanitize=thread"]);
    let folder = PathBuf::from(format!("{}/threads", support::cache()));
    std::fs::create_dir_all(&folder).unwrap();
    let passes = |source: &almach_emit::CSource, name: &str, main_text: &str| {
        let (main, program) = (folder.join(format!("{name}.c")), folder.join(name));
        std::fs::write(&main, main_text).unwrap();
        toolchain
            .program(source, Target::OpenMp, &[main], &program)
            .ok()?;
        let output = Command::new(&program)
            .env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1")
            .output()
            .unwrap();
        Some((
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    };
    let nothing = support::emit(&support::checked("proc nothing() { }"), Target::OpenMp);
    let control = |body: &str| {
        format!(
            "int cells[100];\nint main(void) {{\n  for (int k = 0; k < 9; k++) {{\n    cells[k] = k;\n\
             #pragma omp parallel for num_threads(3)\n    for (int i = 0; i < 99; i++) {{ {body} }}\n  }}\n  return 0;\n}}\n"
        )
    };
    let clean = passes(&nothing, "clean", &control("cells[i] += i;"));
    let racy = passes(&nothing, "racy", &control("cells[0] += i;"));
    if !matches!((clean, racy), (Some((true, _)), Some((false, _)))) {
        return;
    }
    let flags: Vec<bool> = (0..50).map(|at| at % 9 == 7).collect();
    let none = vec![false; 50];
    let failing = support::checked(FAILING);
    let calls = [
        (
            "first",
            vec![int(50), buffer(&flags), buffer(&none), room(50), OUT],
        ),
        (
            "first",
            vec![int(50), buffer(&none), buffer(&none), room(50), OUT],
        ),
        (
            "divide",
            vec![int(2), buffer(&[6i32, 7]), buffer(&[0i32, 0]), OWNED],
        ),
    ];
    let source = support::emit(&failing, Target::OpenMp);
    let (good, said) = passes(&source, "failing", &main_text(&failing, &calls)).unwrap();
    assert!(good, "{said}");
    let recursive = support::checked(RECURSIVE);
    let calls = [
        ("each", vec![int(20), int(7), room(20)]),
        ("each", vec![int(20), int(-1), room(20)]),
        ("sorted", vec![int(5), buffer(&[4i32, 2, 5, 1, 3]), OUT, OWNED]),
    ];
    let source = support::emit(&recursive, Target::OpenMp);
    let (good, said) = passes(&source, "recursive", &main_text(&recursive, &calls)).unwrap();
    assert!(good, "{said}");
    let stores = support::checked(STORES);
    let calls = [
        ("cells", vec![int(80), room(80)]),
        ("shared", vec![int(80), room(80)]),
        ("runs", vec![int(300), OUT]),
    ];
    let source = support::emit(&stores, Target::OpenMp);
    let (good, said) = passes(&source, "stores", &main_text(&stores, &calls)).unwrap();
    assert!(good, "{said}");
    let statements = support::checked(STATEMENTS);
    let calls = [
        ("small", vec![int(40), room(40)]),
        ("scratch", vec![int(40), int(5), room(40)]),
    ];
    let source = support::emit(&statements, Target::OpenMp);
    let (good, said) = passes(&source, "statements", &main_text(&statements, &calls)).unwrap();
    assert!(good, "{said}");
    let chains = support::checked(CHAINS);
    let source = support::emit(&chains, Target::OpenMp);
    let (good, said) = passes(&source, "chains", &main_text(&chains, &chain_calls())).unwrap();
    assert!(good, "{said}");
}

/// C++ programs can include the header.
#[test]
fn the_header_is_also_cxx() {
    let Ok(output) = Command::new("c++").arg("--version").output() else {
        return;
    };
    assert!(output.status.success());
    let folder = PathBuf::from(format!("{}/cxx", support::cache()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = support::emit(&support::checked(STATEMENTS), Target::C);
    std::fs::write(folder.join(&source.header_name), &source.header).unwrap();
    let main = folder.join("main.cc");
    std::fs::write(
        &main,
        "#include \"test.h\"\nint main() { test_free(test_new()); }\n",
    )
    .unwrap();
    let mut command = Command::new("c++");
    command
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
        .arg(&main);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
