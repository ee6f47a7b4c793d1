//! Every scalar operator on every type: compiled C gives the bits of the interpreter.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_emit::Target;
use almach_imp::interp::{Passed, run};
use almach_value::ir_text::{binary_name, scalar_text, unary_name};
use almach_value::{BinOp, Scalar, ScalarType, TernOp, UnOp};
use support::{Random, call, checked, emit, int, load, room, toolchains};

/// The values an operator is tried on.
fn samples(ty: ScalarType, random: &mut Random) -> Vec<Scalar> {
    match ty {
        ScalarType::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        ScalarType::F32 | ScalarType::F64 => floats(ty, random),
        _ => integers(ty, random),
    }
}

fn integers(ty: ScalarType, random: &mut Random) -> Vec<Scalar> {
    let bits = ty.bits();
    let span = 1i128 << bits;
    let (least, greatest) = match ty.is_signed_integer() {
        true => (-span / 2, span / 2 - 1),
        false => (0, span - 1),
    };
    let mut values: Vec<i128> = vec![
        least,
        least + 1,
        greatest - 1,
        greatest,
        greatest / 2,
        greatest / 3,
    ];
    values.extend([
        -129, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127,
    ]);
    values.extend((0..8).map(|_| i128::from(random.next()) % span));
    let wrapped = values.into_iter().map(|value| Scalar::from_raw(ty, value as u64));
    // `from_raw` cuts to the type's width; `to_raw` extends again.
    wrapped
        .map(|scalar| Scalar::from_raw(ty, scalar.to_raw()))
        .collect()
}

fn floats(ty: ScalarType, random: &mut Random) -> Vec<Scalar> {
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.5,
        0.49999997,
        127.0,
        127.9,
        128.0,
        -128.0,
        -128.9,
        -129.0,
        255.9,
        256.0,
        32767.5,
        32768.0,
        -32768.9,
        65535.9,
        65536.0,
        2147483520.0,
        2147483647.0,
        2147483648.0,
        -2147483648.0,
        -2147483649.0,
        4294967295.0,
        4294967296.0,
        9.2e18,
        9223372036854775807.0,
        -9.3e18,
        1.8e19,
        18446744073709551615.0,
        1.9e19,
        1e-10,
        1e10,
        3.7,
        -3.7,
        1e300,
        1e-300,
        16777217.0,
        8388609.0,
        8388608.5,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f32::MAX.into(),
        f32::MIN_POSITIVE.into(),
        1e-45,
        std::f64::consts::PI,
    ];
    values.extend((0..6).map(|_| f64::from_bits(random.next())));
    values.extend((0..6).map(|_| (random.below(2_000_001) as f64 - 1_000_000.0) / 1000.0));
    values
        .into_iter()
        .map(|value| match ty {
            ScalarType::F32 => Scalar::F32(value as f32),
            _ => Scalar::F64(value),
        })
        .collect()
}

/// Whether C's own functions may differ in the last places.
fn is_transcendental(name: &str) -> bool {
    const EXACT: [&str; 16] = [
        "neg",
        "abs",
        "signum",
        "sqrt",
        "rsqrt",
        "floor",
        "ceil",
        "trunc",
        "round",
        "is_nan",
        "is_inf",
        "to_bits",
        "from_bits",
        "not",
        "complement",
        "copysign",
    ];
    const INEXACT: [&str; 21] = [
        "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
        "atan", "sinh", "cosh", "tanh", "erf", "pow", "atan2", "hypot",
    ];
    !EXACT.contains(&name) && INEXACT.contains(&name)
}

fn close(expected: Scalar, found: Scalar) -> bool {
    let ordered = |bits: i64| if bits < 0 { i64::MIN - bits } else { bits };
    let near = |a: i64, b: i64| ordered(a).abs_diff(ordered(b)) <= 2;
    expected.same(found)
        || match (expected, found) {
            (Scalar::F64(a), Scalar::F64(b)) => near(a.to_bits() as i64, b.to_bits() as i64),
            (Scalar::F32(a), Scalar::F32(b)) => {
                near((a.to_bits() as i32).into(), (b.to_bits() as i32).into())
            }
            _ => false,
        }
}

/// One procedure that applies an operator to whole buffers.
struct Table {
    proc: String,
    operator: String,
    arguments: Vec<Vec<Scalar>>,
    text: String,
}

fn table(
    proc: String,
    operator: String,
    ty: ScalarType,
    result: ScalarType,
    arguments: Vec<Vec<Scalar>>,
) -> Table {
    let names: Vec<&str> = ["a", "b", "c"].into_iter().take(arguments.len()).collect();
    let params: String = names.iter().map(|name| format!("{name}: read {ty}, ")).collect();
    let cells: Vec<String> = names.iter().map(|name| format!("{name}[i]")).collect();
    let text = format!(
        "proc {proc}(n: i64, {params}result: write {result}) {{\n  for i < n {{\n    result[i] = {operator}({})\n  }}\n}}\n",
        cells.join(", ")
    );
    Table {
        proc,
        operator,
        arguments,
        text,
    }
}

fn all_pairs(ty: ScalarType, op: BinOp, random: &mut Random) -> Vec<Vec<Scalar>> {
    let values = samples(ty, random);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for a in &values {
        for b in &values {
            // Where there is no result, a check stands before the operation.
            if let Some(Ok(_)) = op.eval(*a, *b) {
                left.push(*a);
                right.push(*b);
            }
        }
    }
    vec![left, right]
}

fn tables() -> Vec<Table> {
    let mut random = Random(1);
    let mut tables = Vec::new();
    for ty in ScalarType::ALL {
        for op in UnOp::all() {
            if let Some(result) = op.result_type(ty) {
                let name = unary_name(op);
                let values = samples(ty, &mut random);
                tables.push(table(format!("{name}_on_{ty}"), name, ty, result, vec![values]));
            }
        }
        for op in BinOp::ALL {
            if let Some(result) = op.result_type(ty) {
                let name = binary_name(op).to_string();
                let pairs = all_pairs(ty, op, &mut random);
                tables.push(table(format!("{name}_on_{ty}"), name, ty, result, pairs));
            }
        }
        if let Some(result) = TernOp::Fma.result_type(ty) {
            let values = samples(ty, &mut random);
            let mut pick = || {
                (0..3000)
                    .map(|_| values[random.below(values.len() as u64) as usize])
                    .collect()
            };
            tables.push(table(
                format!("fma_on_{ty}"),
                "fma".into(),
                ty,
                result,
                vec![pick(), pick(), pick()],
            ));
        }
    }
    tables
}

#[test]
fn compiled_operators_mean_what_the_interpreter_says() {
    let tables = tables();
    let text: String = tables.iter().map(|table| table.text.as_str()).collect();
    let program = checked(&text);
    let source = emit(&program, Target::C);
    for (at, toolchain) in toolchains().iter().enumerate() {
        let mut library = load(toolchain, &source, Target::C);
        for table in &tables {
            let count = table.arguments[0].len();
            let mut arguments = vec![int(count as i64)];
            arguments.extend(
                table
                    .arguments
                    .iter()
                    .map(|cells| Passed::Buffer(cells.iter().copied().map(Some).collect())),
            );
            arguments.push(room(count));
            let params = &program.program().proc(&table.proc).unwrap().params;
            let expected = run(&program, &table.proc, arguments.clone()).unwrap();
            let found = call(&mut library, &table.proc, params, arguments).unwrap();
            let (Some(Passed::Buffer(expected)), Some(Passed::Buffer(found))) =
                (expected.last(), found.last())
            else {
                panic!("{} gives no buffer", table.proc);
            };
            for (cell, (expected, found)) in expected.iter().zip(found).enumerate() {
                let (expected, found) = (expected.unwrap(), found.unwrap());
                let agree = match is_transcendental(&table.operator) && expected.ty().is_float() {
                    true => close(expected, found),
                    false => expected.same(found),
                };
                let operands: Vec<Scalar> = table.arguments.iter().map(|cells| cells[cell]).collect();
                assert!(
                    agree,
                    "{} of {operands:?} with compiler {at}: expected {expected:?}, found {found:?}",
                    table.proc
                );
            }
        }
    }
}

/// Operators on numbers that stand in the program: compilers fold them, and warn of some.
#[test]
fn literals_mean_themselves() {
    let mut random = Random(2);
    let mut text = String::new();
    let mut expected = Vec::new();
    for ty in ScalarType::ALL {
        let values = samples(ty, &mut random);
        text.push_str(&format!("proc literals_of_{ty}(result: write {ty}) {{\n"));
        for (at, value) in values.iter().enumerate() {
            text.push_str(&format!("  result[{at}] = {}\n", scalar_text(*value)));
        }
        text.push_str("}\n");
        expected.push((format!("literals_of_{ty}"), vec![room(values.len())]));
        let (first, last) = (scalar_text(values[0]), scalar_text(values[values.len() / 2]));
        let x = scalar_text(values[1]);
        text.push_str(&format!(
            "proc comparisons_of_{ty}(x: {ty}, xs: read {ty}, result: write bool) {{\n"
        ));
        let mut cell = 0;
        for op in ["eq", "ne", "lt", "le", "gt", "ge"] {
            let minimum = scalar_text(samples(ty, &mut random)[0]);
            let maximum = match ty.is_integer() {
                true => scalar_text(samples(ty, &mut random)[3]),
                false => last.clone(),
            };
            let zero = scalar_text(Scalar::zero(ty));
            for (a, b) in [
                ("x", "x"),
                ("xs[0]", "xs[0]"),
                ("x", zero.as_str()),
                (zero.as_str(), "x"),
                ("x", &minimum),
                ("x", &maximum),
                (&maximum, "x"),
                (&first, &last),
                (&first, &first),
            ] {
                text.push_str(&format!("  result[{cell}] = {op}({a}, {b})\n"));
                cell += 1;
            }
        }
        text.push_str("}\n");
        let value: Scalar = values[1];
        let arguments = vec![
            Passed::Value(value),
            Passed::Buffer(vec![Some(value)]),
            room(cell),
        ];
        expected.push((format!("comparisons_of_{ty}"), arguments));
        if ty.is_integer() {
            text.push_str(&format!("proc bits_of_{ty}(x: {ty}, result: write {ty}) {{\n"));
            let mut cell = 0;
            for op in [
                "and", "or", "xor", "add", "sub", "mul", "shl", "shr", "div", "rem",
            ] {
                for (a, b) in [
                    ("x", "x"),
                    ("x", x.as_str()),
                    (x.as_str(), "x"),
                    ("2", "8"),
                    ("10", "5"),
                    ("x", "7"),
                ] {
                    let typed = |word: &str| match word.parse::<u32>() {
                        Ok(_) => format!("{word}{ty}"),
                        Err(_) => word.to_string(),
                    };
                    let (a, b) = (typed(a), typed(b));
                    if matches!(op, "shl" | "shr" | "div" | "rem") && !b.starts_with(['5', '7', '8']) {
                        continue;
                    }
                    text.push_str(&format!("  result[{cell}] = {op}(complement({a}), {b})\n"));
                    text.push_str(&format!("  result[{}] = {op}({a}, {b})\n", cell + 1));
                    cell += 2;
                }
            }
            text.push_str("}\n");
            expected.push((format!("bits_of_{ty}"), vec![Passed::Value(value), room(cell)]));
        }
    }
    let mut compiled = support::Compiled::new(&text);
    for (proc, arguments) in expected {
        compiled.agree(&proc, arguments).unwrap();
    }
}
