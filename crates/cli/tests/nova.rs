//! `.nova` programs on the command line: every command takes them, and the benchmarks of the paper agree with their `.alm` versions.
#![allow(clippy::unwrap_used)]

mod support;

use support::{Folder, almach, root, strings};

fn output(folder: &Folder, args: &[&str]) -> String {
    let output = almach(folder.path(), &strings(args));
    assert!(
        output.status.success(),
        "almach {args:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn nova(name: &str) -> String {
    let path = root().join("examples/nova").join(name);
    path.display().to_string()
}

/// A benchmark of Table 2, the same in Almach, and inputs for both.
struct Pair {
    nova: &'static str,
    almach: &'static str,
    inputs: &'static [&'static [&'static str]],
}

const PAIRS: &[Pair] = &[
    Pair {
        nova: "bbox.nova",
        almach: "
            type Box = ((f32, f32), (f32, f32))
            def union (a: Box) (b: Box): Box =
              ((min a.0.0 b.0.0, min a.0.1 b.0.1), (max a.1.0 b.1.0, max a.1.1 b.1.1))
            entry main (points: [](f32, f32)): Box = reduce union (points[0], points[0]) (map (\\p -> (p, p)) points)",
        inputs: &[&["[(1, 5), (-2, 3), (4, 0), (7, -8)]"], &["[(0.5, 0.25)]"]],
    },
    Pair {
        nova: "dot.nova",
        almach: "
            entry main (a: [](f32, f32, f32)) (b: [](f32, f32, f32)): []f32 =
              map (\\(x, y, z) (u, v, w) -> x * u + (y * v + z * w)) a b",
        inputs: &[&["[(1, 2, 3), (0.5, 1, -1)]", "[(4, 5, 6), (2, 8, 9)]"], &["[]", "[]"]],
    },
    Pair {
        nova: "norm.nova",
        almach: "entry main (xs: []f32): f32 = sqrt (sum (map (\\x -> x * x) xs))",
        inputs: &[&["[3, 4]"], &["[]"], &["[1, 2, 3, 4, 5]"]],
    },
    Pair {
        nova: "gridred.nova",
        almach: "
            entry main (a: [][]i32): ([]i32, []i32, i32) = (map sum a, map sum (transpose a), sum (join a))",
        inputs: &[&["[[1, 2, 3], [4, 5, 6]]"], &["[[7]]"]],
    },
    Pair {
        nova: "sumstats.nova",
        almach: "
            def mean [n] (xs: [n]f64): f64 = sum xs / f64 n
            entry main (xs: []f64): (i32, f64, f64, f64, f64) =
              let m = mean xs
              in (i32 (length xs), minimum xs, maximum xs, m, mean (map (\\x -> square (x - m)) xs))",
        inputs: &[&["[2, 6]"], &["[1, 1, 1, 1]"], &["[3]"]],
    },
    Pair {
        nova: "sumrows.nova",
        almach: "entry main (a: [][?]i32): []i32 = map sum a",
        inputs: &[&["[[1, 2, 3], [], [4, 5]]"], &["[]"]],
    },
    Pair {
        nova: "wordcount.nova",
        almach: "
            def is_space (c: u8): bool = c == 32 || (c >= 9 && c <= 13)
            entry main [n] (text: [n]u8): i32 =
              i32 (count (\\i -> !is_space text[i] && (i == 0 || is_space text[i - 1])) (iota n))",
        inputs: &[&["\"the cat sat  on the mat \""], &["\"\""]],
    },
    Pair {
        nova: "blackscholes.nova",
        almach: "
            def cdf (d: f32): f32 =
              let k = 1 / (1 + 0.2316419 * abs d)
              let series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
              let tail = 0.39894228040143267794 * exp (-0.5 * (d * d)) * series
              in if d > 0 then 1 - tail else tail
            entry main (spot: []f32) (strike: []f32) (years: []f32) (rate: f32) (volatility: f32): [](f32, f32) =
              map
                (\\s x t ->
                  let spread = volatility * sqrt t
                  let d1 = (log (s / x) + (rate + 0.5 * (volatility * volatility)) * t) / spread
                  let discounted = x * exp ((0 - rate) * t)
                  let call = s * cdf d1 - discounted * cdf (d1 - spread)
                  in (call, call + discounted - s))
                spot strike years",
        inputs: &[&["[100, 42]", "[100, 40]", "[1, 0.5]", "0.05", "0.2"]],
    },
    Pair {
        nova: "nbody.nova",
        almach: "
            type V = (f64, f64, f64)
            type B = (f64, f64, f64, f64)
            def add (a: V) (b: V): V = (a.0 + b.0, a.1 + b.1, a.2 + b.2)
            def pull (p: B) (b: B): V =
              let (x, y, z) = (b.0 - p.0, b.1 - p.1, b.2 - p.2)
              let d = x * x + (y * y + z * z) + 0.01
              let k = b.3 / (d * sqrt d)
              in (k * x, k * y, k * z)
            entry main (bodies: []B) (velocities: []V) (steps: i32) (dt: f64): []B =
              let (moved, _) =
                loop ((bs, vs) = (bodies, velocities)) for i < steps do
                  let faster =
                    map
                      (\\p v -> let (x, y, z) = reduce add (0, 0, 0) (map (pull p) bs) in add v (dt * x, dt * y, dt * z))
                      bs vs
                  in (map (\\p (v: V) -> (p.0 + dt * v.0, p.1 + dt * v.1, p.2 + dt * v.2, p.3)) bs faster, faster)
              in moved",
        inputs: &[
            &["[(0, 0, 0, 1), (2, 0, 0, 8), (0, 1, 0, 2)]", "[(0, 0, 0), (0, 1, 0), (0, 0, 0)]", "3", "0.1"],
            &["[(0, 0, 0, 1)]", "[(1, 0, 0)]", "0", "0.1"],
        ],
    },
    Pair {
        nova: "spmv.nova",
        almach: "
            entry main (columns: [][]i32) (values: [][]f64) (x: []f64): []f64 =
              map (\\cs vs -> sum (map (\\c v -> v * x[c]) cs vs)) columns values",
        inputs: &[&["[[0, 2], [0, 0], [0, 1]]", "[[1, 2], [0, 0], [3, 4]]", "[10, 20, 30]"]],
    },
    Pair {
        nova: "box3x3.nova",
        almach: "
            entry main [h] [w] (image: [h][w]f32): [h][w]f32 =
              let padded = map (pad_edge 1 1) (pad_edge 1 1 image)
              let three (i: i64) (j: i64) = padded[i, j] + padded[i, j + 1] + padded[i, j + 2]
              in tabulate2 h w (\\i j -> (three i j + three (i + 1) j + three (i + 2) j) / 9)",
        inputs: &[&["[[9, 0, 0], [0, 9, 0], [0, 0, 9]]"], &["[[18, 0]]"], &["[[1, 2, 3, 4]]"]],
    },
];

#[test]
fn benchmarks_agree_with_their_almach_versions() {
    for pair in PAIRS {
        let folder = Folder::new();
        let indent = "            ";
        folder.write(
            "main.alm",
            pair.almach.replace(&format!("\n{indent}"), "\n").as_bytes(),
        );
        for inputs in pair.inputs {
            let run = |file: &str| {
                let mut args = vec!["run", file, "--backend", "interp"];
                args.extend(inputs.iter());
                output(&folder, &args)
            };
            assert_eq!(run(&nova(pair.nova)), run("main.alm"), "{} {inputs:?}", pair.nova);
        }
    }
}

/// The paper's bounding box takes 32 lines.
#[test]
fn the_bounding_box_is_no_longer_than_the_papers() {
    let text = std::fs::read_to_string(nova("bbox.nova")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(';')).count();
    assert!(lines <= 32, "{lines} lines");
}

#[test]
fn every_command_takes_nova() {
    let folder = Folder::new();
    folder.write("dot.nova", &std::fs::read(nova("dot.nova")).unwrap());
    let args = ["[(1, 2, 3)]", "[(4, 5, 6)]"];
    for backend in ["interp", "c", "openmp"] {
        let run = ["run", "dot.nova", args[0], args[1], "--backend", backend];
        assert_eq!(output(&folder, &run), "[32.0]\n");
    }
    assert_eq!(
        output(&folder, &["check", "--types", "dot.nova"]),
        "main [n] : [n](f32, f32, f32) -> [n](f32, f32, f32) -> [n]f32\n"
    );
    assert_eq!(output(&folder, &["test", "."]), "2 passed, 0 failed\n");
    for stage in ["core", "strategy", "dpia", "loops", "imp", "c"] {
        assert!(!output(&folder, &["emit", "dot.nova", "--stage", stage]).is_empty());
    }
    output(&folder, &["build", "dot.nova", "-o", "dot", "--backend", "c"]);
    let header = std::fs::read_to_string(folder.path().join("dot.h")).unwrap();
    assert!(header.contains("dot_main("), "{header}");
    output(
        &folder,
        &["bench", "dot.nova", args[0], args[1], "--backend", "interp"],
    );
    let refused = almach(folder.path(), &strings(&["fmt", "dot.nova"]));
    assert_eq!(refused.status.code(), Some(2));
    output(&folder, &["fmt", "--check", "."]);
}

/// Section 4.2: every optimisation can be listed and switched off, and changes no value.
#[test]
fn passes_can_be_listed_and_switched_off() {
    let folder = Folder::new();
    let listed = output(&folder, &["passes"]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(
        names.contains(&"fusion") && names.contains(&"inlining"),
        "{listed}"
    );
    let program = "((X : vector int)) (let (inc (+ 1)) in (reduce + 0 (map inc (map (* 2) (slice 0 2 (length X) X)))))\n";
    folder.write("main.nova", program.as_bytes());
    let run = |without: &[&str]| {
        let mut args = vec!["run", "main.nova", "[1, 2, 3, 4, 5]", "--backend", "c"];
        for pass in without {
            args.extend(["--without", pass]);
        }
        output(&folder, &args)
    };
    for name in &names {
        assert_eq!(run(&[name]), "21\n", "without {name}");
    }
    assert_eq!(run(&names), "21\n");
    let doubled = "((X : vector int)) (map (+ 1) (map (* 2) X))\n";
    folder.write("maps.nova", doubled.as_bytes());
    let maps = |without: &[&str]| {
        let emit = ["emit", "maps.nova", "--stage", "strategy", "--backend", "c"];
        let text = output(&folder, &[&emit, without].concat());
        text.matches("map@").count()
    };
    assert_eq!((maps(&["--without", "fusion"]), maps(&[])), (2, 1));
    let unknown = almach(
        folder.path(),
        &strings(&["run", "main.nova", "--without", "fussion"]),
    );
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        String::from_utf8(unknown.stderr)
            .unwrap()
            .contains("did you mean `fusion`?")
    );
}
