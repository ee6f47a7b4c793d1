//! Foreign functions and traces, on every back end.

#![allow(clippy::unwrap_used)]

mod support;

use support::{Folder, almach, strings};

const BACKENDS: [&str; 3] = ["interp", "c", "openmp"];

/// Standard output and standard error of a run that goes well.
fn run(folder: &Folder, backend: &str, args: &[&str]) -> (String, String) {
    let mut all = vec!["run", "main.alm", "--backend", backend];
    all.extend(args);
    let output = almach(folder.path(), &strings(&all));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let error = text(&output.stderr);
    assert!(output.status.success(), "{backend}: {error}");
    (text(&output.stdout), error)
}

const SHOWN: &str = r#"
data Shape = Point | Circle f32 | Box (i32, i32) (Maybe i8)

entry main (n: i64): i64 =
  let a = trace "count" n
  let b = trace "pair" (i8 n, n > 2)
  let c = trace "array" (map f32 (iota n))
  let d = trace "matrix" (map (\i -> map (\j -> (i * j, f64 j / 3.0)) (iota 2)) (iota n))
  let e = trace "shapes" [Point, Circle (-1.5), Box (1, -2) (Some (-3)), Box (0, 0) None]
  let f = trace "some" (Some (Circle (f32 n)))
  let g = trace "nothing" ()
  let h = trace "vectors" (asVector 2 [1, -2, 3, 4i16])
  let i = trace "empty" (filter (> n) (iota n))
  let j = trace "\"quoted\" 50% \\n" 18446744073709551615u64
  in a + length c
"#;

#[test]
fn traces_print_what_the_interpreter_prints() {
    let folder = Folder::new();
    folder.write("main.alm", SHOWN.as_bytes());
    let expected = run(&folder, "interp", &["5"]);
    assert!(
        expected.1.contains("array: [0.0, 1.0, 2.0, 3.0, 4.0]\n"),
        "{}",
        expected.1
    );
    for backend in BACKENDS {
        assert_eq!(run(&folder, backend, &["5"]), expected, "{backend}");
    }
}

/// Powers of two and of ten, neighbours of them, and numbers from bits.
#[test]
fn traced_floats_are_the_shortest_that_read_back() {
    let folder = Folder::new();
    let text = r#"
def numbers (i: i64): f64 = from_bits (u64 i * 6364136223846793005 + 1442695040888963407)
def small (i: i64): f32 = from_bits (u32 (i * 2654435761 % 4294967296))
entry main (n: i64): i64 =
  let a = trace "twos" (map (\i -> 2.0 ** f64 (i - 1080)) (iota 2110))
  let b = trace "twos" (map (\i -> f32 (2.0 ** f64 (i - 150))) (iota 280))
  let c = trace "tens" (map (\i -> 10.0 ** f64 (i - 30)) (iota 60))
  let d = trace "tens" (map (\i -> f32 (10.0 ** f64 (i - 30))) (iota 60))
  let e = trace "any" (map numbers (iota n))
  let f = trace "any" (map small (iota n))
  let g = trace "few" [0.1, 0.0001, 0.00001, 1e16, 9999999999999998.0, -0.0, 123456.789, 5e-324, 1.7976931348623157e308]
  in n
"#;
    folder.write("main.alm", text.as_bytes());
    let expected = run(&folder, "interp", &["3000"]);
    for backend in ["c", "openmp"] {
        let found = run(&folder, backend, &["3000"]);
        for (found, expected) in found.1.lines().zip(expected.1.lines()) {
            for (found, expected) in found.split(", ").zip(expected.split(", ")) {
                assert_eq!(found, expected, "{backend}");
            }
        }
        assert_eq!(found, expected, "{backend}");
    }
}

#[test]
fn rows_and_recursive_data_are_traced() {
    let folder = Folder::new();
    let text = r#"
data Tree = Leaf | Node f64 Forest
data Forest = None | More Tree Forest
data Wrap = W (List i32) | V [][]i32
entry main (n: i64): i64 =
  let a = trace "rows" ([([[1.5], []], true), ([], false)] : []([?][?]f64, bool))
  let b = trace "wrap" [V [[1, 2], [3, 4]], V []]
  let c = trace "lists" (n, [list_of [1i64, -2], Nil])
  let d = trace "forest" (More (Node 1.5 None) (More Leaf None))
  let e = trace "held" (W (list_of [7]))
  in n
"#;
    folder.write("main.alm", text.as_bytes());
    let rows = "rows: [([[1.5], []], true), ([], false)]\nwrap: [V [[1, 2], [3, 4]], V []]\n";
    let tables = "lists: (3, [from_nodes 0 [#Cons 1 1, #Cons (-2) 2, #Nil], from_nodes 0 [#Nil]])
forest: from_nodes 0 [#More 1 3, #Node 1.5 2, #None, #More 4 2, #Leaf]
held: W (from_nodes 0 [#Cons 7 1, #Nil])\n";
    for backend in ["c", "openmp"] {
        assert_eq!(
            run(&folder, backend, &["3"]).1,
            format!("{rows}{tables}"),
            "{backend}"
        );
    }
    let constructed = "lists: (3, [Cons 1 (Cons (-2) Nil), Nil])
forest: More (Node 1.5 None) (More Leaf None)\nheld: W (Cons 7 Nil)\n";
    assert_eq!(run(&folder, "interp", &["3"]).1, format!("{rows}{constructed}"));
}

#[test]
fn traces_of_parallel_loops_are_whole_lines() {
    let folder = Folder::new();
    let text = "entry main (n: i64): i64 = sum (map (\\i -> trace \"i\" (replicate 50 i))[0]) (iota n))\n"
        .replace("trace \"i\" (replicate 50 i))", "(trace \"i\" (replicate 50 i))");
    folder.write("main.alm", text.as_bytes());
    let (value, error) = run(&folder, "openmp", &["200"]);
    assert_eq!(value, "19900\n");
    let mut lines: Vec<&str> = error.lines().collect();
    let mut expected: Vec<String> = (0..200)
        .map(|i| format!("i: [{}]", vec![i.to_string(); 50].join(", ")))
        .collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

const HALVE: &str = "#include <stdint.h>\nvoid halve(int32_t *result, int32_t x) { *result = x / 2; }\n";

#[test]
fn foreign_functions_are_linked() {
    let folder = Folder::new();
    folder.write(
        "main.alm",
        b"foreign halve : i32 -> i32\nentry main (x: i32): i32 = halve (halve x)\n",
    );
    folder.write("halve.c", HALVE.as_bytes());
    for backend in BACKENDS {
        let (value, _) = run(&folder, backend, &["41", "--link", "halve.c"]);
        assert_eq!(value, "10\n", "{backend}");
    }
    // As an object, and by a line of the file.
    let compiled = std::process::Command::new("cc")
        .args(["-c", "-fPIC", "halve.c", "-o", "halve.o"])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(compiled.success());
    let (value, _) = run(&folder, "c", &["41", "--link", "halve.o"]);
    assert_eq!(value, "10\n");
    folder.write(
        "main.alm",
        b"-- link: halve.c\nforeign halve : i32 -> i32\nentry main (x: i32): i32 = halve x\n",
    );
    for backend in BACKENDS {
        assert_eq!(run(&folder, backend, &["41"]).0, "20\n", "{backend}");
    }
    let tested = almach(folder.path(), &strings(&["test", "main.alm", "--backend", "c"]));
    assert!(tested.status.success());
}

/// A function whose definition is not what the program declares is an error of the C compiler, with its words.
#[test]
fn a_wrong_signature_is_an_error() {
    let folder = Folder::new();
    folder.write(
        "main.alm",
        b"foreign halve : i64 -> i32\nentry main (x: i64): i32 = halve x\n",
    );
    folder.write("halve.c", HALVE.as_bytes());
    for backend in BACKENDS {
        let args = ["run", "main.alm", "41", "--backend", backend, "--link", "halve.c"];
        let output = almach(folder.path(), &strings(&args));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(error.contains("conflicting types"), "{backend}: {error}");
    }
}

#[test]
fn kernels_have_their_own_version_of_a_foreign_function() {
    let folder = Folder::new();
    folder.write(
        "main.alm",
        b"foreign halve : i32 -> i32\nentry main (xs: []i32): []i32 = map halve xs\n",
    );
    folder.write("halve.c", HALVE.as_bytes());
    folder.write("halve.cl", b"#include <stdint.h>\n#include \"inner.h\"\n");
    folder.write(
        "inner.h",
        b"/* halve(x) */\nvoid halve(int32_t *r, int32_t x) { *r = x + 1000; }\n",
    );
    folder.write(
        "wrong.cl",
        b"void halve(int32_t *r, int64_t x) { *r = (int32_t)x; }\n",
    );
    let run = |links: &[&str]| {
        let mut args = strings(&["run", "main.alm", "[4, 6]", "--backend", "opencl"]);
        args.extend(links.iter().flat_map(|link| strings(&["--link", link])));
        let output = almach(folder.path(), &args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(run(&["halve.c", "halve.cl"]).0, "[1004, 1006]\n");
    assert_eq!(run(&["halve.c"]).0, "[2, 3]\n");
    let (_, error) = run(&["halve.c", "wrong.cl"]);
    assert!(error.contains("conflicting types for 'halve'"), "{error}");
    let explain = strings(&["explain", "main.alm", "--backend", "opencl"]);
    let explained = almach(folder.path(), &explain);
    let explained = String::from_utf8_lossy(&explained.stdout);
    assert!(
        explained.contains("there is no version for kernels"),
        "{explained}"
    );
}

#[test]
fn shared_libraries_are_found_where_they_were_linked() {
    let folder = Folder::new();
    let program = "foreign half : i64 -> i64\nentry main (x: i64): i64 = half x\n";
    folder.write("main.alm", program.as_bytes());
    let whole = "#include <stdint.h>\nvoid half(int64_t *r, int64_t x) { *r = x / 2; }\n";
    let broken =
        "#include <stdint.h>\nvoid nowhere(void);\nvoid half(int64_t *r, int64_t x) { nowhere(); *r = x; }\n";
    for (name, text) in [("whole", whole), ("broken", broken)] {
        let source = folder.write(&format!("{name}.c"), text.as_bytes());
        let compiled = std::process::Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
            .args(["-shared", "-fPIC", "-o"])
            .arg(folder.path().join(format!("{name}.so")))
            .arg(source)
            .status()
            .unwrap();
        assert!(compiled.success());
    }
    for backend in BACKENDS {
        assert_eq!(
            run(&folder, backend, &["10", "--link", "whole.so"]).0,
            "5\n",
            "{backend}"
        );
        let args = [
            "run",
            "main.alm",
            "10",
            "--link",
            "broken.so",
            "--backend",
            backend,
        ];
        let output = almach(folder.path(), &strings(&args));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("E0817") && error.contains("nowhere"),
            "{backend}: {error}"
        );
    }
}

#[test]
fn running_out_of_memory_is_reported_at_the_operation() {
    let folder = Folder::new();
    let program =
        "entry main (n: i64): i64 =\n  let a = scan (+) 0 (map (+ 1) (iota n))\n  in a[0] + a[n - 1]\n";
    folder.write("main.alm", program.as_bytes());
    for backend in BACKENDS {
        let args = ["run", "main.alm", "100000000000000", "--backend", backend];
        let output = almach(folder.path(), &strings(&args));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("E0812") && error.contains("main.alm:2:"),
            "{backend}: {error}"
        );
    }
}
