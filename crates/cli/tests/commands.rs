//! The commands, used as people use them.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use support::{Folder, almach, root, strings};

/// Standard output of a command that must succeed.
fn output(folder: &Folder, args: &[&str]) -> String {
    let output = almach(folder.path(), &strings(args));
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn piped(folder: &Folder, args: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_almach"))
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn example(name: &str) -> String {
    root().join("examples").join(name).display().to_string()
}

#[test]
fn run_gives_the_same_on_every_back_end() {
    let folder = Folder::new();
    for backend in ["interp", "c", "openmp"] {
        let args = [
            "run",
            &example("dot.alm"),
            "[1,2,3]",
            "[4,5,6]",
            "--backend",
            backend,
        ];
        assert_eq!(output(&folder, &args), "32.0\n", "{backend}");
    }
}

#[test]
fn recursive_data_go_in_and_come_out_on_every_back_end() {
    let folder = Folder::new();
    let program = "data T = A (List i32) T | B
        data Rose = Rose i32 []Rose
        data Expr = Number f64 | Block []Stmt
        data Stmt = Let (List i32) Expr | Return Expr
        entry main (t: T) (r: Rose) (e: Expr) (ss: []Stmt): (T, Rose, Expr, []Stmt) = (t, r, e, ss)
";
    folder.write("main.alm", program.as_bytes());
    let values = [
        "A (Cons 1 (Cons 2 Nil)) (A Nil B)",
        "Rose 1 [Rose 2 [], Rose 3 [Rose 4 []]]",
        "Block [Let (Cons 1 Nil) (Number 1.5), Return (Block [])]",
        "[Return (Number 2.5), Let Nil (Block [Return (Number 0.5)])]",
    ];
    for backend in ["interp", "c", "openmp"] {
        let mut args = vec!["run", "main.alm", "--backend", backend];
        args.extend(values);
        assert_eq!(
            output(&folder, &args),
            format!("({})\n", values.join(", ")),
            "{backend}"
        );
    }
}

/// The names in front of `--time`'s numbers.
fn laps(folder: &Folder, args: &[&str]) -> Vec<String> {
    let output = almach(folder.path(), &strings(args));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let name = |line: &str| Some(line.trim().rsplit_once("  ")?.0.trim().to_owned());
    text.lines()
        .filter(|line| line.ends_with(" ms"))
        .filter_map(name)
        .collect()
}

#[test]
fn time_says_where_it_went() {
    let folder = Folder::new();
    folder.write("half.alm", b"entry main (x: i32): i32 = x / 2\n");
    let args = ["run", "half.alm", "8", "--time", "--backend", "c"];
    let setting = format!("ALMACH_CACHE={}", folder.path().join("cache").display());
    let first = support::almach_with(folder.path(), &[setting], &strings(&args));
    let first = String::from_utf8_lossy(&first.stderr).into_owned();
    let stages = [
        "parse",
        "types",
        "elaborate",
        "arguments",
        "rewrites",
        "strategy",
        "lower",
        "emit",
        "C compiler",
        "load",
        "run",
        "result",
        "total",
    ];
    let mut at = 0;
    for stage in stages {
        let found = first[at..].find(&format!("{stage}  "));
        at += found.unwrap_or_else(|| panic!("no `{stage}` in order in\n{first}"));
    }
    let interpreted = laps(
        &folder,
        &["run", "half.alm", "8", "--time", "--backend", "interp"],
    );
    assert_eq!(
        interpreted,
        [
            "parse",
            "types",
            "elaborate",
            "arguments",
            "run",
            "result",
            "total"
        ]
    );
}

/// A program still runs where nothing can be kept, and a result that is lost is no success.
#[test]
fn folders_and_disks_may_be_full_or_closed() {
    let folder = Folder::new();
    folder.write("half.alm", b"entry main (x: i32): i32 = x / 2\n");
    folder.write("file", b"");
    let setting = format!("ALMACH_CACHE={}", folder.path().join("file/cache").display());
    let ran = support::almach_with(folder.path(), &[setting], &strings(&["run", "half.alm", "8"]));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "4\n");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("note: interpreting, since"));
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let ran = Command::new(env!("CARGO_BIN_EXE_almach"))
            .args(["run", "half.alm", "8", "--backend", "interp"])
            .current_dir(folder.path())
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&ran.stderr).contains("the disk is full"));
    }
}

#[test]
fn unchecked_leaves_out_checks_and_says_so() {
    let folder = Folder::new();
    folder.write("pick.alm", b"entry main (xs: []i32) (i: i64): i32 = xs[i]\n");
    let args = ["run", "pick.alm", "[7, 8]", "1", "--backend", "c", "--unchecked"];
    let ran = almach(folder.path(), &strings(&args));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "8\n");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("--unchecked: 1 run-time check"));
    output(&folder, &["build", "pick.alm", "-o", "checked"]);
    output(&folder, &["build", "pick.alm", "-o", "unchecked", "--unchecked"]);
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(text("checked.c").contains("out of bounds"));
    assert!(!text("unchecked.c").contains("out of bounds"));
}

#[test]
fn values_come_from_files_and_go_to_files() {
    let folder = Folder::new();
    folder.write(
        "main.alm",
        b"entry main [n] (xs: [n]f32) (p: {x: i64, tag: Maybe i32}) = (map (* 2) xs, p)\n",
    );
    folder.write("xs.txt", b"1 2 3\n");
    folder.write("p.json", b"{\"x\": -7, \"tag\": {\"Some\": 3}}");
    let result = output(&folder, &["run", "main.alm", "xs.txt", "p.json"]);
    assert_eq!(result, "([2.0, 4.0, 6.0], {x = -7, tag = Some 3})\n");
    folder.write("double.alm", b"entry main [n] (xs: [n]f32) = map (* 2) xs\n");
    assert_eq!(
        output(&folder, &["run", "double.alm", "[1, 2]", "-o", "out.npy"]),
        ""
    );
    assert_eq!(
        output(&folder, &["run", "double.alm", "out.npy", "-o", "out.json"]),
        ""
    );
    assert_eq!(
        output(&folder, &["run", "double.alm", "out.json"]),
        "[8.0, 16.0]\n"
    );
    assert_eq!(piped(&folder, &["run", "double.alm", "-"], "[0.5]"), "[1.0]\n");
}

#[test]
fn core_as_text_runs_to_the_same_value() {
    let folder = Folder::new();
    for (file, args) in [
        ("dot.alm", ["[1, 2]", "[3, 4]"]),
        ("bbox.alm", ["[1, 2]", "[3, 4]"]),
    ] {
        let core = output(&folder, &["emit", &example(file), "--stage", "core"]);
        folder.write("program.core", core.as_bytes());
        if file == "dot.alm" {
            assert_eq!(
                output(&folder, &["run", "program.core", args[0], args[1]]),
                "11.0\n"
            );
        } else {
            output(&folder, &["check", "program.core"]);
        }
    }
}

#[test]
fn every_stage_prints() {
    let folder = Folder::new();
    for stage in ["core", "strategy", "dpia", "loops", "imp", "c", "h"] {
        let text = output(&folder, &["emit", &example("dot.alm"), "--stage", stage]);
        assert!(text.contains("main"), "{stage}: {text}");
    }
}

#[test]
fn check_shows_inferred_types_with_sizes() {
    let folder = Folder::new();
    folder.write(
        "main.alm",
        b"def pairs xs ys = zip xs ys\nentry main (xs: []i32): i64 = length (pairs xs xs)\n",
    );
    let types = output(&folder, &["check", "--types", "main.alm"]);
    assert!(
        types.contains("pairs") && types.contains("[n]('a, 'b)"),
        "{types}"
    );
}

#[test]
fn a_new_project_runs_and_passes_its_tests() {
    let folder = Folder::new();
    output(&folder, &["new", "waves"]);
    assert_eq!(output(&folder, &["run", "waves/main.alm", "[1, 2, 3]"]), "14.0\n");
    assert_eq!(output(&folder, &["test", "waves"]), "2 passed, 0 failed\n");
    assert_eq!(output(&folder, &["fmt", "--check", "waves"]), "");
}

#[test]
fn fmt_formats_in_place_and_once() {
    let folder = Folder::new();
    let path = folder.write("main.alm", b"entry   main (x:i32) : i32=x+1 -- one more\n");
    let args = strings(&["fmt", "--check", "main.alm"]);
    assert_eq!(almach(folder.path(), &args).status.code(), Some(1));
    output(&folder, &["fmt", "main.alm"]);
    let formatted = std::fs::read_to_string(path).unwrap();
    assert_eq!(formatted, "entry main (x: i32): i32 = x + 1 -- one more\n");
    assert_eq!(output(&folder, &["fmt", "--check", "main.alm"]), "");
}

#[test]
fn the_prompt_evaluates_keeps_and_explains() {
    let folder = Folder::new();
    let input =
        "let xs = [1, 2, 3]\ndef twice x =\n  x * 2\n\nmap twice xs\n:type twice\n1 / 0\nlength xs\n:quit\n";
    let said = piped(&folder, &["repl"], input);
    assert!(said.contains("[2, 4, 6]"), "{said}");
    assert!(said.contains("twice"), "{said}");
    assert!(said.contains("division by zero"), "{said}");
    assert!(said.contains("\n3\n"), "{said}");
}

#[test]
fn bench_prints_a_table() {
    let folder = Folder::new();
    let args = [
        "bench",
        &example("dot.alm"),
        "--size",
        "1000",
        "--runs",
        "2",
        "--backend",
        "interp",
    ];
    let table = output(&folder, &args);
    assert!(
        table.starts_with("entry") && table.contains("median") && table.lines().count() >= 2,
        "{table}"
    );
}

#[test]
fn explain_says_how_rows_and_trees_run_and_nothing_against_it() {
    let folder = Folder::new();
    let program = "data Tree = Leaf i32 | Node Tree Tree
def rec total (t: Tree): i32 = case t of | Leaf x -> x | Node l r -> total l + total r
entry tree (t: Tree): i32 = total t
entry loops [n] (xs: [n]i64): [n][?]i64 = map (\\x -> loop (ys = [x]) for i < x do ys ++ [i]) xs
entry passes [n] (xss: [n][?]i64): [n][?]i64 = map (\\xs -> let ys = filter (> 2) xs in scan (+) 0 (concat ys ys)) xss
entry views [n] (xss: [n][?]i64): [n][?]i64 = map (\\xs -> map (* 2) (concat xs (reverse xs))) xss
";
    folder.write("rows.alm", program.as_bytes());
    let said = output(&folder, &["explain", "rows.alm"]);
    assert_eq!(said.matches("`total` folds a tree").count(), 1, "{said}");
    assert!(!said.contains("`total` stays a recursion"), "{said}");
    assert_eq!(
        said.matches("has its rows made by all threads").count(),
        2,
        "{said}"
    );
    assert_eq!(said.matches("`map` runs in order").count(), 1, "{said}");
}

#[test]
fn tune_finds_something_faster_to_write_and_says_what() {
    let folder = Folder::new();
    // Stored columns are read in their order: any variant that lets the usual tiles be is as good.
    let program = "entry main [n] [k] [m] (a: [n][k]f64) (b: [k][m]f64): [n][m]f64 =
  map (\\row -> map (\\column -> reduce (+) 0 (map (*) row column)) (transpose b)) a
";
    folder.write("mm.alm", program.as_bytes());
    let args = [
        "tune",
        "mm.alm",
        "--size",
        "n=40,k=30,m=50",
        "--backend",
        "c",
        "--budget",
        "6",
        "--runs",
        "2",
        "--out",
        "best.alm",
        "--svg",
        "best.svg",
    ];
    let said = output(&folder, &args);
    assert!(
        said.contains("measured on C") && said.contains("0 wrong"),
        "{said}"
    );
    assert!(said.contains("found by") && said.contains("default"), "{said}");
    assert!(said.contains("times of variants of `main` of mm.alm"), "{said}");
    assert!(
        said.contains("wrote best.alm") && said.contains("wrote best.svg"),
        "{said}"
    );
    let best = std::fs::read_to_string(folder.path().join("best.alm")).unwrap();
    assert!(
        best.starts_with("-- `main` of mm.alm, tuned at sizes n=40,k=30,m=50"),
        "{best}"
    );
    let run = [
        "run",
        "best.alm",
        "[[1, 2], [3, 4]]",
        "[[5, 6], [7, 8]]",
        "--backend",
        "c",
    ];
    assert_eq!(output(&folder, &run), "[[19.0, 22.0], [43.0, 50.0]]\n");
    assert!(
        std::fs::read_to_string(folder.path().join("best.svg"))
            .unwrap()
            .starts_with("<svg")
    );
}

#[test]
fn tune_measures_given_arguments_by_one_search_alone() {
    let folder = Folder::new();
    for search in ["heuristic", "random"] {
        let args = [
            "tune",
            &example("dot.alm"),
            "[1, 2, 3, 4]",
            "[5, 6, 7, 8]",
            "--backend",
            "c",
            "--budget",
            "3",
            "--runs",
            "1",
            "--search",
            search,
        ];
        let said = output(&folder, &args);
        let other = if search == "random" {
            "heuristic  "
        } else {
            "random  "
        };
        assert!(said.contains("default") && !said.contains(other), "{said}");
    }
}

const CALLER: &str = r#"
#include "twice.h"
#include <stdio.h>

int main(void) {
  struct twice_ctx *ctx = twice_new();
  const int32_t xs[3] = {1, 2, 3};
  int64_t size = 0;
  int32_t *doubled = NULL;
  if (ctx == NULL || twice_twice(ctx, 3, xs, &size, &doubled) != 0) return 1;
  for (int64_t i = 0; i < size; i++) printf("%d ", (int)doubled[i]);
  twice_release(ctx, doubled);
  int32_t picked = 0;
  if (twice_pick(ctx, 3, xs, 7, &picked) == 0) return 1;
  printf("%s", twice_error(ctx));
  twice_free(ctx);
  return 0;
}
"#;

#[test]
fn build_makes_files_that_a_c_program_uses() {
    let folder = Folder::new();
    let program = b"entry twice [n] (xs: [n]i32): [n]i32 = map (* 2) xs\nentry pick (xs: []i32) (i: i64): i32 = xs[i]\n";
    folder.write("twice.alm", program);
    folder.write("caller.c", CALLER.as_bytes());
    let made = output(&folder, &["build", "twice.alm", "-o", "twice", "--backend", "c"]);
    assert_eq!(made, "twice.h\ntwice.c\ntwice.so\n");
    let expected = "2 4 6 twice.alm:2:40: error[E0801]: index 7 is out of bounds for an array of size 3";
    assert_eq!(compiled_caller_says(&folder, "twice.c"), expected);
}

/// Compiles `caller.c` with a source of the folder; what it prints.
fn compiled_caller_says(folder: &Folder, source: &str) -> String {
    let flags = [
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-ffp-contract=off",
    ];
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(compiler)
        .args(flags)
        .args(["caller.c", source, "-o", "caller", "-lm"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let said = Command::new(folder.path().join("caller")).output().unwrap();
    assert!(said.status.success());
    String::from_utf8(said.stdout).unwrap()
}

const CALLER_WITH_ROWS: &str = r#"
#include "rows.h"
#include <stdio.h>

static int call(struct rows_ctx *ctx, int64_t n, const int64_t *offsets, int64_t count, const int32_t *data) {
  int64_t rows = 0, kept = 0, first = 0;
  int64_t *ends = NULL;
  int32_t *elements = NULL, *row = NULL;
  uint32_t constructor = 9;
  if (rows_rows(ctx, n, offsets, count, data, &rows, &ends, &kept, &elements, &constructor, &first, &row) != 0) {
    printf("%s\n", rows_error(ctx));
    return 1;
  }
  for (int64_t i = 0; i <= rows; i++) printf("%d ", (int)ends[i]);
  printf("| ");
  for (int64_t i = 0; i < kept; i++) printf("%d ", (int)elements[i]);
  printf("| %u ", (unsigned)constructor);
  for (int64_t i = 0; i < first; i++) printf("%d ", (int)row[i]);
  printf("\n");
  rows_release(ctx, ends);
  rows_release(ctx, elements);
  rows_release(ctx, row);
  return 0;
}

int main(void) {
  struct rows_ctx *ctx = rows_new();
  if (ctx == NULL) return 1;
  const int32_t data[5] = {1, 2, 3, 1, 4};
  const int64_t good[5] = {0, 3, 3, 4, 5}, late[2] = {1, 5}, falling[4] = {0, 4, 3, 5}, none[1] = {0};
  if (call(ctx, 4, good, 5, data) != 0) return 1;
  if (call(ctx, 0, none, 0, NULL) != 0) return 1;
  if (call(ctx, 1, late, 5, data) == 0) return 1;
  if (call(ctx, 3, falling, 5, data) == 0) return 1;
  if (call(ctx, 4, good, 4, data) == 0) return 1;
  rows_free(ctx);
  return 0;
}
"#;

#[test]
fn c_programs_pass_rows_as_offsets_and_elements() {
    let folder = Folder::new();
    let program = b"entry rows (xss: [][?]i32): ([][?]i32, Maybe []i32) =
  (map (filter (> 1)) xss, if length xss > 0 then Some (xss[0]) else None)
";
    folder.write("rows.alm", program);
    folder.write("caller.c", CALLER_WITH_ROWS.as_bytes());
    output(&folder, &["build", "rows.alm", "-o", "rows", "--backend", "c"]);
    let bad = "rows.alm:1:1: error[E0816]: the offsets do not start at 0, increase, and end at the size of the data\n";
    let expected = format!("0 2 2 2 3 | 2 3 4 | 1 1 2 3 \n0 | | 0 \n{bad}{bad}{bad}");
    assert_eq!(compiled_caller_says(&folder, "rows.c"), expected);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            output(&folder, &["completions", shell]).contains("explain-error"),
            "{shell}"
        );
    }
}

#[test]
fn json_diagnostics_are_one_document() {
    let folder = Folder::new();
    folder.write("main.alm", b"entry main (x: i32) = y\n");
    let output = almach(folder.path(), &strings(&["check", "--json", "main.alm"]));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("\"code\":\"E0201\"") && text.contains("main.alm"),
        "{text}"
    );
}

/// What `--stats` says of a run's memory. What it says of threads depends on how many there are.
fn stats(folder: &Folder, args: &[&str]) -> String {
    let output = almach(folder.path(), &strings(args));
    assert!(output.status.success(), "{args:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    said.trim().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn stats_count_allocations_and_copies() {
    let folder = Folder::new();
    let text = "\
entry joined (xs: []f32) (ys: []f32): []f32 = concat (map (+ 1) xs) (map (* 2) ys)
entry turned [n] [m] (xss: [n][m]f32): [m][n]f32 = transpose (map (map (+ 1)) xss)
entry rows [n] [m] (xss: [n][m]f32): [n][m]f32 =
  loop (a = map (map (+ 1)) xss) for i < n do a with [i] = map (* 2) a[i]
entry picked (c: bool) (xs: []f32) (ys: []f32): f32 =
  let a = scan (+) 0 xs
  let b = scan (+) 1 ys
  let r = if c then a else b
  in reduceSeq (\\x y -> x + y) 0 r + r[0]
entry steps (k: i64) (xs: []f32): []f32 =
  loop (a = xs) for i < k do map (\\(x, y) -> x + y) (zip a (rotate 1 a))
entry counted (n: i64): []i64 = loop (a = replicate n 0) for i < n do a with! [i] = i * i
entry layouts [n] (c: bool) (xss: [n][n]f32): f32 =
  let a = materialise (map (\\xs -> scan (+) 0 xs) xss)
  let r = if c then a else transpose a
  in reduceSeq (\\s xs -> s + reduceSeq (\\x y -> 3 * x + y) 0 xs) 0 r
entry written (c: bool) (xs: []f32): []f32 =
  let a = scan (+) 0 xs
  let b = scan (+) 1 xs
  let s = a[0] + b[1]
  let r = if c && s > 1 then a else b
  in r with! [1] = s
def rec go [n] (i: i64) (a: [n]f32) (b: [n]f32): [n]f32 =
  if i == 0 then a
  else if i % 2 == 0 then go (i - 1) (map (+ 1) a) b
  else go (i - 1) b (map (\\x -> x * a[0]) a)
entry tail_calls (k: i64) (xs: []f32): []f32 = go k (scan (+) 1 xs) (scan (+) 0 xs)
";
    std::fs::write(folder.path().join("memory.alm"), text).unwrap();
    for (entry, args, allocated) in [
        (
            "joined",
            &["[1, 2]", "[3]"][..],
            "1 allocation, 128 bytes at most at once (predicted: 128)",
        ),
        (
            "turned",
            &["[[1, 2], [3, 4]]"],
            "1 allocation, 128 bytes at most at once (predicted: 128)",
        ),
        (
            "rows",
            &["[[1, 2], [3, 4]]"],
            "1 allocation, 128 bytes at most at once (predicted: 128)",
        ),
        (
            "picked",
            &["false", "[1, 2]", "[3]"],
            "2 allocations, 256 bytes at most at once (predicted: 256)",
        ),
        (
            "steps",
            &["5", "[1, 2, 3]"],
            "2 allocations, 256 bytes at most at once (predicted: 256)",
        ),
        (
            "counted",
            &["1000000"],
            "1 allocation, 8007680 bytes at most at once (predicted: 8007680)",
        ),
        (
            "layouts",
            &["false", "[[1, 2], [3, 4]]"],
            "1 allocation, 128 bytes at most at once (predicted: 128)",
        ),
        (
            "written",
            &["true", "[1, 2, 3]"],
            "2 allocations, 256 bytes at most at once (predicted: 256)",
        ),
        (
            "tail_calls",
            &["5", "[1, 2, 3]"],
            "4 allocations, 512 bytes at most at once (predicted: 512)",
        ),
    ] {
        for backend in ["c", "openmp"] {
            let run = [
                "run",
                "memory.alm",
                "--entry",
                entry,
                "--backend",
                backend,
                "--stats",
            ];
            let said = stats(&folder, &[&run[..], args].concat());
            assert_eq!(
                said,
                format!("{allocated}, 0 bytes copied"),
                "{entry} on {backend}"
            );
        }
    }
    let run = [
        "run",
        "memory.alm",
        "--entry",
        "rows",
        "--backend",
        "interp",
        "--stats",
    ];
    let said = stats(&folder, &[&run[..], &["[[1, 2], [3, 4]]"]].concat());
    assert_eq!(
        said,
        "by the memory plan: 1 allocation, 16 bytes at most at once, 0 bytes copied"
    );
}

/// What `--stats` says of copies of a run of a program of the repository.
fn copied(folder: &Folder, backend: &str, program: &str, args: &[&str]) -> String {
    let file = format!("{}/../../{program}.alm", env!("CARGO_MANIFEST_DIR"));
    let run = ["run", &file, "--entry", "main", "--backend", backend, "--stats"];
    let said = stats(folder, &[&run[..], args].concat());
    said.rsplit(", ").next().unwrap().to_owned()
}

/// What `--stats` says of allocations of a run of a program of the repository.
fn allocated(folder: &Folder, backend: &str, program: &str, args: &[&str]) -> String {
    let file = format!("{}/../../{program}.alm", env!("CARGO_MANIFEST_DIR"));
    let run = ["run", &file, "--entry", "main", "--backend", backend, "--stats"];
    let said = stats(folder, &[&run[..], args].concat());
    said.split(", ").next().unwrap().to_owned()
}

/// However many steps there are, as many blocks are made.
#[test]
fn main_loops_allocate_nothing_at_run_time() {
    let folder = Folder::new();
    let grid = matrix(6);
    let lattice = format!("[{0}, {0}, {0}]", matrix(9));
    let sequences = ["\"ACGTTGCA\"", "\"AGTTCAGG\""];
    for backend in ["c", "openmp"] {
        let same = |program: &str, calls: &[&[&str]]| {
            let found: Vec<String> = calls
                .iter()
                .map(|args| allocated(&folder, backend, program, args))
                .collect();
            assert!(
                found.iter().all(|one| Some(one) == found.first()),
                "{program} on {backend}: {found:?}"
            );
        };
        let hotspot: &[&[&str]] = &[&["1", &grid, &grid], &["9", &grid, &grid]];
        same("examples/hotspot", hotspot);
        same("bench/workloads/hotspot", hotspot);
        same("examples/stencil_2d", &[&["1", &grid], &["9", &grid]]);
        let lbm: &[&[&str]] = &[&["1", "0.5", &lattice], &["9", "0.5", &lattice]];
        same("examples/lattice_boltzmann", lbm);
        for lu in ["examples/lu_blocked", "bench/workloads/lud"] {
            same(lu, &[&["6", &grid], &["3", &grid], &["1", &grid]]);
        }
        let nw = |block: &'static str| [block, sequences[0], sequences[1]];
        let calls = [nw("8"), nw("2"), nw("1")];
        let calls: Vec<&[&str]> = calls.iter().map(|call| &call[..]).collect();
        same("bench/workloads/nw", &calls);
        same("examples/needleman_wunsch_blocked", &calls);
    }
}

/// A square matrix, as text. Its LU decomposition has no small pivots.
fn matrix(n: usize) -> String {
    let row = |i: usize| -> Vec<String> {
        let cell = |j| if i == j { 10 * n } else { (3 * i + j) % 7 + 1 };
        (0..n).map(|j| cell(j).to_string()).collect()
    };
    let rows: Vec<String> = (0..n).map(|i| format!("[{}]", row(i).join(", "))).collect();
    format!("[{}]", rows.join(", "))
}

#[test]
fn main_loops_copy_nothing_at_run_time() {
    let folder = Folder::new();
    let grid = matrix(6);
    let lattice = format!("[{0}, {0}, {0}]", matrix(9));
    let sequences = ["\"ACGTTGCA\"", "\"AGTTCAGG\""];
    for backend in ["c", "openmp"] {
        let is_free = |program: &str, args: &[&str]| {
            let found = copied(&folder, backend, program, args);
            assert_eq!(found, "0 bytes copied", "{program} {args:?} on {backend}");
        };
        for steps in ["1", "2", "9"] {
            is_free("examples/hotspot", &[steps, &grid, &grid]);
            is_free("examples/stencil_2d", &[steps, &grid]);
            is_free("examples/lattice_boltzmann", &[steps, "0.5", &lattice]);
        }
        is_free("examples/needleman_wunsch", &sequences);
        for block in ["1", "2", "4", "8"] {
            for blocked in ["examples/needleman_wunsch_blocked", "bench/workloads/nw"] {
                is_free(blocked, &[block, sequences[0], sequences[1]]);
            }
        }
        // The matrix is the caller's, so that the loop starts with a copy of it: once, however many steps there are.
        for block in ["1", "2", "3", "6"] {
            let found = copied(&folder, backend, "examples/lu_blocked", &[block, &grid]);
            assert_eq!(
                found, "288 bytes copied",
                "blocks of {block} on {backend}: 6*6 cells of 8 bytes"
            );
        }
    }
}

/// Copies that kernels make, and those that became kernels, are counted. A loop that swaps two blocks starts with a copy of its caller's on a
/// device; the loop itself copies nothing.
#[test]
fn kernels_count_what_they_copy() {
    let folder = Folder::new();
    let text = "\
entry rows (xss: [][]f32): [][]f32 = map (\\xs -> let ys = xs with [0] = 1 in ys with [1] = ys[0] + xs[1]) xss
entry twice (xs: []f32): []f32 = xs ++ xs
";
    std::fs::write(folder.path().join("kernels.alm"), text).unwrap();
    let run = |entry: &str, args: &[&str]| {
        let run = [
            "run",
            "kernels.alm",
            "--entry",
            entry,
            "--backend",
            "opencl",
            "--stats",
        ];
        stats(&folder, &[&run[..], args].concat())
    };
    let rows = run("rows", &["[[1, 2, 3], [4, 5, 6]]"]);
    assert!(rows.ends_with(", 24 bytes copied"), "{rows}");
    let twice = run("twice", &["[1, 2, 3, 4]"]);
    assert!(twice.ends_with(", 32 bytes copied"), "{twice}");
    let grid = matrix(6);
    for steps in ["1", "2", "9"] {
        let found = copied(&folder, "opencl", "examples/hotspot", &[steps, &grid, &grid]);
        assert_eq!(found, "144 bytes copied", "{steps} steps");
        let found = copied(&folder, "opencl", "examples/stencil_2d", &[steps, &grid]);
        assert_eq!(found, "288 bytes copied", "{steps} steps");
    }
    let sequences = ["\"ACGTTGCA\"", "\"AGTTCAGG\""];
    let nw = ["2", sequences[0], sequences[1]];
    for blocked in ["examples/needleman_wunsch_blocked", "bench/workloads/nw"] {
        assert_eq!(
            copied(&folder, "opencl", blocked, &nw),
            "0 bytes copied",
            "{blocked}"
        );
    }
}

/// On the interpreter the plan is run on blocks, and what it copies is counted.
#[test]
fn main_loops_copy_nothing_by_the_plan() {
    let folder = Folder::new();
    let (grid, lattice) = (matrix(4), format!("[{0}, {0}, {0}]", matrix(9)));
    let sequences = ["\"ACGTTGCA\"", "\"AGTTCAGG\""];
    let nw = ["2", sequences[0], sequences[1]];
    for (program, args, bytes) in [
        ("examples/needleman_wunsch", &sequences[..], 0),
        ("examples/needleman_wunsch_blocked", &nw[..], 0),
        ("bench/workloads/nw", &nw[..], 0),
        // What a loop starts with is the caller's.
        ("examples/lu_blocked", &["2", &grid], 128),
        ("examples/hotspot", &["3", &grid, &grid], 64),
        ("examples/stencil_2d", &["3", &grid], 128),
        ("examples/lattice_boltzmann", &["2", "0.5", &lattice], 1944),
    ] {
        let found = copied(&folder, "interp", program, args);
        assert_eq!(found, format!("{bytes} bytes copied"), "{program}");
    }
}

/// A loop over a million elements that updates in place copies nothing; where it would copy, it is refused with the reason.
#[test]
fn an_update_that_would_copy_is_refused() {
    let folder = Folder::new();
    let text = "entry main (n: i64): i64 =
  let a = replicate n 0i64
  let b = loop (a = a) for i < n do a with! [i] = i + a[0]
  let old = scan (+) 0 b
  let new = old with! [0] = 1
  in new[0] + old[0]
";
    std::fs::write(folder.path().join("kept.alm"), text).unwrap();
    let output = almach(folder.path(), &strings(&["check", "kept.alm"]));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("E0607") && said.contains("kept.alm:5"), "{said}");
}

#[test]
fn memory_has_a_limit_where_one_is_asked_for() {
    let folder = Folder::new();
    std::fs::write(
        folder.path().join("large.alm"),
        "entry main (n: i64): []i64 = scan (+) 0 (iota n)\n",
    )
    .unwrap();
    let run = |backend: &str, most: &str| {
        let args = [
            "run",
            "large.alm",
            "--backend",
            backend,
            "--max-memory",
            most,
            "100000",
            "-o",
            "out.npy",
        ];
        almach(folder.path(), &strings(&args))
    };
    for (backend, refusal) in [
        // The formula is exact here, so that the call is not even started.
        ("c", "would hold 800064 bytes at once"),
        ("opencl", "would hold 802368 bytes at once"),
        // Without a device, too.
        ("cuda", "would hold 802368 bytes at once"),
        ("interp", "not enough memory for 100000 elements"),
    ] {
        if backend != "cuda" {
            assert!(run(backend, "1M").status.success(), "{backend}");
        }
        let refused = run(backend, "100k");
        assert_eq!(refused.status.code(), Some(1), "{backend}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            said.contains("E0812") && said.contains(refusal),
            "{backend}: {said}"
        );
    }
}
