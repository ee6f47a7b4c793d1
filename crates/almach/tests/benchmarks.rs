//! The benchmarks of the NOVA paper's Table 2, and `box3x3`: the programs in NOVA (`examples/nova`) on every back end against the
//! same in Almach, in C, and in NumPy where Python has it (`examples/nova/reference`).
#![allow(clippy::unwrap_used)]

use almach::{Machine, NoFiles, Program, Settings, Target, Value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Inputs that depend on a size and on nothing else.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // Splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % limit
    }

    /// Between a bound and another, in steps of an eighth.
    fn floats(&mut self, count: usize, from: f32, to: f32) -> Vec<f32> {
        let steps = ((to - from) * 8.0) as u64;
        (0..count)
            .map(|_| from + self.below(steps) as f32 / 8.0)
            .collect()
    }

    fn doubles(&mut self, count: usize) -> Vec<f64> {
        self.floats(count, -4.0, 4.0).into_iter().map(f64::from).collect()
    }

    fn ints(&mut self, count: usize, limit: u64) -> Vec<i32> {
        (0..count).map(|_| self.below(limit) as i32).collect()
    }

    fn points(&mut self, count: usize, components: usize) -> Value {
        Value::zip((0..components).map(|_| Value::from(self.floats(count, -8.0, 8.0)))).unwrap()
    }

    fn places(&mut self, count: usize, components: usize) -> Value {
        Value::zip((0..components).map(|_| Value::from(self.doubles(count)))).unwrap()
    }
}

const NAMES: [&str; 11] = [
    "bbox",
    "dot",
    "norm",
    "gridred",
    "sumstats",
    "sumrows",
    "wordcount",
    "blackscholes",
    "nbody",
    "spmv",
    "box3x3",
];

fn inputs(name: &str, n: usize) -> Vec<Value> {
    let mut random = Random(n as u64);
    // Grids are about as large as vectors.
    let (h, w) = (1 + n / 64, 1 + n.min(63));
    match name {
        "bbox" => vec![random.points(n, 2)],
        "dot" => vec![random.points(n, 3), random.points(n, 3)],
        "norm" => vec![random.floats(n, -4.0, 4.0).into()],
        "gridred" => vec![Value::matrix(h, w, random.ints(h * w, 100)).unwrap()],
        "sumstats" => vec![random.doubles(n).into()],
        "sumrows" => {
            let lengths: Vec<usize> = (0..n).map(|_| random.below(5) as usize).collect();
            let all = random.ints(lengths.iter().sum(), 100);
            vec![Value::from(all).jagged(&lengths).unwrap()]
        }
        "wordcount" => {
            let letters = b"ab \n";
            let text: Vec<u8> = (0..n).map(|_| letters[random.below(4) as usize]).collect();
            vec![text.into()]
        }
        "blackscholes" => {
            let prices = |random: &mut Random| Value::from(random.floats(n, 20.0, 60.0));
            let (spot, strike) = (prices(&mut random), prices(&mut random));
            let years = random.floats(n, 0.5, 3.0);
            vec![spot, strike, years.into(), 0.05f32.into(), 0.25f32.into()]
        }
        "nbody" => {
            let n = n.min(40);
            vec![random.places(n, 4), random.places(n, 3), 3.into(), 0.01f64.into()]
        }
        "spmv" => {
            let columns = random.ints(h * w, n as u64);
            let values = random.doubles(h * w);
            let columns = Value::matrix(h, w, columns).unwrap();
            vec![
                columns,
                Value::matrix(h, w, values).unwrap(),
                random.doubles(n).into(),
            ]
        }
        "box3x3" => vec![Value::matrix(h, w, random.floats(h * w, 0.0, 8.0)).unwrap()],
        _ => panic!("what is {name}?"),
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nova")
}

fn read(file: &str) -> Program {
    let text = std::fs::read_to_string(examples().join(file)).unwrap();
    Program::read(file, &text, &NoFiles).unwrap_or_else(|errors| panic!("{errors}"))
}

/// All numbers of a text, in order: tuples and arrays have the same order in Almach's syntax and in JSON.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().unwrap())
        .collect()
}

fn agree(found: &[f64], expected: &[f64]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 2e-4 * b.abs().max(1.0);
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}

/// The numbers of a call's result.
fn call(program: &Program, machine: &Machine, entry: &str, args: &[Value]) -> Vec<f64> {
    let value = machine
        .call(entry, args)
        .unwrap_or_else(|errors| panic!("{entry}: {errors}"));
    numbers(&program.entry(entry).unwrap().result.show(&value).unwrap())
}

fn machines(program: &Program) -> Vec<Machine> {
    vec![
        program.interpreter().unwrap(),
        program.compile(&Settings::new(Target::C)).unwrap(),
        program.compile(&Settings::new(Target::OpenMp)).unwrap(),
        program.compile(&Settings::new(Target::OpenCl)).unwrap(),
    ]
}

const SIZES: [usize; 3] = [1, 37, 5000];

#[test]
fn benchmarks_agree_with_almach_and_c() {
    let almach = read("reference/almach.alm");
    let almach_machines = machines(&almach);
    let reference = read("reference/reference.alm");
    let settings = Settings::new(Target::C).link(examples().join("reference/reference.c"));
    let c = reference.compile(&settings).unwrap();
    for name in NAMES {
        let nova = read(&format!("{name}.nova"));
        let nova_machines = machines(&nova);
        // These need an element.
        let empty = match name {
            "bbox" | "sumstats" | "spmv" => None,
            _ => Some(0),
        };
        for size in SIZES.into_iter().chain(empty) {
            let args = inputs(name, size);
            let expected = call(&reference, &c, name, &args);
            assert!(!expected.is_empty() || size == 0);
            for (at, (nova_machine, almach_machine)) in nova_machines.iter().zip(&almach_machines).enumerate()
            {
                let nova = call(&nova, nova_machine, "main", &args);
                assert!(
                    agree(&nova, &expected),
                    "{name} of {size} in NOVA on back end {at}"
                );
                let almach = call(&almach, almach_machine, name, &args);
                assert!(
                    agree(&almach, &expected),
                    "{name} of {size} in Almach on back end {at}"
                );
            }
        }
    }
}

/// Python with NumPy: `ALMACH_TEST_PYTHON`, else `python3`; none where NumPy is not installed.
fn python() -> Option<String> {
    let python = std::env::var("ALMACH_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import numpy"]).output();
    found
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[test]
fn benchmarks_agree_with_numpy() {
    let Some(python) = python() else {
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        {
            eprintln!("skipped: there is no Python with NumPy (ALMACH_TEST_PYTHON names another)");
        }
        return;
    };
    let mut requests = String::new();
    let mut found = Vec::new();
    for name in NAMES {
        let program = read(&format!("{name}.nova"));
        let machine = program.compile(&Settings::new(Target::C)).unwrap();
        for size in SIZES {
            let args = inputs(name, size);
            found.push((name, size, call(&program, &machine, "main", &args)));
            let entry = program.entry("main").unwrap();
            let shown = entry
                .params
                .iter()
                .zip(&args)
                .map(|(param, arg)| match arg.slice::<u8>() {
                    Some(bytes) => format!("{bytes:?}"),
                    None => param.ty.show(arg).unwrap().replace('(', "[").replace(')', "]"),
                });
            let shown: Vec<String> = shown.collect();
            requests += &format!(
                "{{\"benchmark\": \"{name}\", \"inputs\": [{}]}}\n",
                shown.join(", ")
            );
        }
    }
    let mut child = Command::new(python)
        .arg(examples().join("reference/reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(requests.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), found.len());
    for (line, (name, size, found)) in lines.lines().zip(found) {
        assert!(agree(&found, &numbers(line)), "{name} of {size}");
    }
}
