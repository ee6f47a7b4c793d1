//! Programs of the vector language, on every back end, and what it refuses.
#![allow(clippy::unwrap_used)]

use almach::{Settings, Target, Value};
use almach_vectors::compile;

/// The value of `main` on the interpreter and the compiled back ends, which must agree.
fn run(text: &str, args: &[Value]) -> Result<Value, String> {
    let program = compile("main.r", text)?;
    let machines = [
        program.interpreter(),
        program.compile(&Settings::new(Target::C)),
        program.compile(&Settings::new(Target::OpenMp)),
        program.compile(&Settings::new(Target::OpenCl)),
    ];
    let results = machines.map(|machine| {
        let called = machine.unwrap().call("main", args);
        called.map_err(|error| error.to_string())
    });
    let [first, rest @ ..] = results;
    for other in rest {
        match (&first, other) {
            (Ok(first), Ok(other)) => assert!(close(first, &other), "{first:?} and {other:?} in {text}"),
            (Err(_), Err(_)) => {}
            (first, other) => panic!("{first:?} and {other:?} in {text}"),
        }
    }
    first
}

/// Sums of floats may be grouped in other ways.
fn close(left: &Value, right: &Value) -> bool {
    let near = |left: f64, right: f64| (left - right).abs() <= 1e-12 * left.abs();
    match (left.slice::<f64>(), right.slice::<f64>()) {
        (Some(left), Some(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| near(*left, *right))
        }
        _ => match (left.scalar(), right.scalar()) {
            (Some(left), Some(right)) => near(left, right),
            _ => left == right,
        },
    }
}

fn numbers(text: &str, args: &[Value]) -> Vec<f64> {
    let value = run(text, args).unwrap();
    match value.slice::<f64>() {
        Some(numbers) => numbers.to_vec(),
        None => vec![value.scalar::<f64>().unwrap()],
    }
}

fn program(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn the_example_programs_run() {
    let spread = numbers(&program("standardise.r"), &[Value::from([1.0, 2.0, 3.0])]);
    assert_eq!(spread, [1.0]);
    let pi = numbers(&program("pi.r"), &[1000.0.into()]);
    assert!((pi[0] - std::f64::consts::PI).abs() < 1e-6);
    let line = [
        Value::from([0.0, 1.0, 2.0, 3.0]),
        Value::from([1.0, 3.0, 5.0, 7.0]),
    ];
    assert_eq!(numbers(&program("regression.r"), &line), [2.0, 1.0, 1.0]);
}

#[test]
fn vectors_meet_numbers_and_vectors() {
    let x = || Value::from([1.0, 2.0, 3.0, 4.0]);
    let cases: &[(&str, &[f64])] = &[
        ("2 * x + 1", &[3.0, 5.0, 7.0, 9.0]),
        ("x * x - x", &[0.0, 2.0, 6.0, 12.0]),
        ("-x ^ 2", &[-1.0, -4.0, -9.0, -16.0]),
        ("2 ^ 3 ^ 2", &[512.0]),
        ("x %% 3", &[1.0, 2.0, 0.0, 1.0]),
        ("-5 %% 3", &[1.0]),
        ("x[2]", &[2.0]),
        ("x[c(4, 1)]", &[4.0, 1.0]),
        ("x[x %% 2 == 0 | x > 3]", &[2.0, 4.0]),
        ("sum(x > 1)", &[3.0]),
        ("ifelse(x > 2, 0, x)", &[1.0, 2.0, 0.0, 0.0]),
        (
            "if (all(x > 0) & !any(x > 9)) rev(x) else x",
            &[4.0, 3.0, 2.0, 1.0],
        ),
        ("c(length(x), mean(x), var(x))", &[4.0, 2.5, 5.0 / 3.0]),
        ("cumsum(x)", &[1.0, 3.0, 6.0, 10.0]),
        ("sort(c(3, 1, x[3:2]))", &[1.0, 2.0, 3.0, 3.0]),
        ("seq_along(x) * rep(10, 4)", &[10.0, 20.0, 30.0, 40.0]),
        ("5:3", &[5.0, 4.0, 3.0]),
        (
            "sapply(x, function(v) if (v > 2) v else 0)",
            &[0.0, 0.0, 3.0, 4.0],
        ),
        ("Filter(function(v) v != 2, x)", &[1.0, 3.0, 4.0]),
        ("Reduce(function(a, b) a * 10 + b, x, 0)", &[1234.0]),
        (
            "{ f <- function(a, g) g(a) + 1; f(x, function(v) v * 2) }",
            &[3.0, 5.0, 7.0, 9.0],
        ),
        ("{ y <- 2; y <- y + 1; x * y }", &[3.0, 6.0, 9.0, 12.0]),
        ("max(sqrt(abs(-x * 4)))", &[4.0]),
        ("1.5e1 - 5e-1", &[14.5]),
    ];
    let all: Vec<&str> = cases.iter().map(|(expr, _)| *expr).collect();
    let text = format!("main <- function(x) c(\n{}\n) # the end\n", all.join(",\n"));
    let expected: Vec<f64> = cases
        .iter()
        .flat_map(|(_, expected)| expected.iter().copied())
        .collect();
    assert_eq!(numbers(&text, &[x()]), expected);
}

#[test]
fn programs_are_fused() {
    let text = "main <- function(x, y) sum(sqrt(abs(x - y)) * 2)";
    let program = compile("main.r", text).unwrap();
    let strategy = program
        .stage(almach::Stage::Strategy, &Settings::new(Target::C))
        .unwrap();
    assert_eq!(strategy.matches("materialise").count(), 0, "{strategy}");
    let imp = program
        .stage(almach::Stage::Imp, &Settings::new(Target::C))
        .unwrap();
    let own = imp.split("proc entry_main").next().unwrap();
    assert!(!own.contains("alloc f64[n"), "{own}");
}

#[test]
fn what_is_wrong_has_a_place() {
    let cases = [
        ("main <- function(x) x +", "1:24: expected a name"),
        ("main <- function(x)\n  y", "2:3: `y` has no value here"),
        ("f <- 3", "1:6: `f` is not a function: write `f <- function(x) …`"),
        ("f <- function(x) x", "1:1: there is no `main`"),
        (
            "main <- function(x) if (x > 0) x else 0",
            "1:21: `if` takes (logical, logical, logical) or (logical, number, number) or",
        ),
        ("main <- function(x) if (TRUE) x", "1:32: an `if` is a value"),
        (
            "main <- function(x) if (TRUE) x else 0",
            "not (logical, numbers, number)",
        ),
        (
            "main <- function(x) sqroot(x)",
            "there is no function `sqroot`; there are sin, sqrt, sum",
        ),
        (
            "main <- function(x) x & x",
            "`&` takes (logical, logical), not (numbers, numbers)",
        ),
        ("main <- function(x) x[TRUE]", "not (numbers, logical)"),
        ("main <- function(x) x[1][2]", "not (number, number)"),
        (
            "main <- function(x) 1:x",
            "`:` takes (number, number), not (number, numbers)",
        ),
        (
            "main <- function(x) sum(3)",
            "`sum` takes (numbers), not (number)",
        ),
        (
            "main <- function(x) sapply(x, function(v) c(v, v))",
            "this function gives a vector",
        ),
        (
            "main <- function(x) (function(a) a)(1, 2)",
            "takes 1 arguments, and 2 came",
        ),
        ("main <- function(x) function(y) y", "a function is not a value"),
        ("main <- function(x) { x; 1 }", "1:23: this value goes nowhere"),
        (
            "main <- function(x) sapply(1, function(v) v)",
            "expected a vector",
        ),
        ("main <- function(x) x ~ 1", "`~` means nothing here"),
        (
            "main <- function(x: vector) x",
            "1:18: expected `x`, a vector, or `x: number`",
        ),
    ];
    for (text, expected) in cases {
        let error = compile("main.r", text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(error.contains(expected), "{text}: {error}");
    }
    let deep = format!("main <- function(x) {}x{}", "(".repeat(5000), ")".repeat(5000));
    assert!(
        compile("main.r", &deep)
            .err()
            .unwrap()
            .to_string()
            .contains("deep")
    );
}

#[test]
fn what_fails_when_it_runs_points_into_the_program() {
    let text = "main <- function(x, y) {\n  z <- x[x > 0] + y[y > 0]\n  z[9]\n}\n";
    let lengths = run(text, &[Value::from([1.0, 2.0]), Value::from([1.0, -2.0])]).unwrap_err();
    assert!(
        lengths.contains("main.r:2:") && lengths.contains("E0805"),
        "{lengths}"
    );
    let index = run(text, &[Value::from([1.0]), Value::from([1.0])]).unwrap_err();
    assert!(index.contains("main.r:3:3"), "{index}");
}
