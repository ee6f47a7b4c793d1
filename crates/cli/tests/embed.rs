//! `examples/embed`: programs in C, C++ and Rust around an emitted library that calls them back.
#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use support::{Folder, almach, root, strings};

/// The files of the example with what `almach build` made of its program.
fn built(backend: &str) -> Folder {
    let folder = Folder::new();
    for name in ["blend.nova", "functions.c", "main.c", "main.cpp", "main.rs"] {
        let text = std::fs::read(root().join("examples/embed").join(name)).unwrap();
        folder.write(name, &text);
    }
    let args = ["build", "blend.nova", "-o", "blend", "--backend", backend];
    let built = almach(folder.path(), &strings(&args));
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    folder
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// What a command prints, where it ends well.
fn output(folder: &Folder, words: &[&str]) -> String {
    let (program, args) = words.split_first().unwrap();
    let output = Command::new(program)
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}\n{error}");
    assert_eq!(error, "", "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

const EXPECTED: &str = "4 5 21 sum 30\n";
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[test]
fn c_programs_call_it() {
    let folder = built("c");
    let compilers: Vec<&str> = ["gcc", "clang", "cc"]
        .into_iter()
        .filter(|name| is_installed(name))
        .collect();
    assert!(!compilers.is_empty());
    for compiler in compilers {
        let files = [
            "-std=c11",
            "-ffp-contract=off",
            "blend.c",
            "functions.c",
            "main.c",
            "-lm",
            "-o",
            "blend_c",
        ];
        output(&folder, &[&[compiler], &WARNINGS[..], &files[..]].concat());
        assert_eq!(output(&folder, &["./blend_c"]), EXPECTED, "{compiler}");
    }
}

#[test]
fn cpp_programs_call_it() {
    let folder = built("c");
    for (c, cpp) in [("gcc", "g++"), ("clang", "clang++")] {
        if !is_installed(c) || !is_installed(cpp) {
            continue;
        }
        let object = ["-std=c11", "-ffp-contract=off", "-c", "blend.c", "-o", "blend.o"];
        output(&folder, &[&[c], &object[..]].concat());
        let files = ["-std=c++17", "main.cpp", "blend.o", "-lm", "-o", "blend_cpp"];
        output(&folder, &[&[cpp], &WARNINGS[..], &files[..]].concat());
        assert_eq!(output(&folder, &["./blend_cpp"]), EXPECTED, "{cpp}");
    }
}

#[test]
fn rust_programs_call_it() {
    let folder = built("c");
    output(
        &folder,
        &[
            "cc",
            "-std=c11",
            "-ffp-contract=off",
            "-c",
            "blend.c",
            "-o",
            "blend.o",
        ],
    );
    let rustc = ["rustc", "--edition", "2024", "-D", "warnings", "main.rs"];
    let link = ["-C", "link-arg=blend.o", "-C", "link-arg=-lm", "-o", "blend_rust"];
    output(&folder, &[&rustc[..], &link[..]].concat());
    assert_eq!(output(&folder, &["./blend_rust"]), EXPECTED);
}

/// The library with the functions linked into it, for threads; and no function at all.
#[test]
fn foreign_functions_of_nova_are_linked_or_missed() {
    let folder = built("openmp");
    for backend in ["interp", "c", "openmp"] {
        let args = ["run", "blend.nova", "[4, -1, 2.5, 7]", "2", "--backend", backend];
        let run = almach(folder.path(), &strings(&args));
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(
            String::from_utf8(run.stdout).unwrap(),
            "([4.0, 5.0, 21.0], 30.0)\n"
        );
    }
    let text = "((x : int)) (foreign (halve : int -> int)) (halve x)\n";
    folder.write("halve.nova", text.as_bytes());
    folder.write(
        "halve.c",
        b"#include <stdint.h>\nvoid halve(int32_t *r, int32_t x) { *r = x / 2; }\n",
    );
    folder.write(
        "wrong.c",
        b"#include <stdint.h>\nvoid halve(int64_t *r, int32_t x) { *r = x / 2; }\n",
    );
    let run = |backend: &str, link: &[&str]| {
        let args = [&["run", "halve.nova", "7", "--backend", backend], link].concat();
        almach(folder.path(), &strings(&args))
    };
    for backend in ["interp", "c", "openmp"] {
        assert_eq!(run(backend, &["--link", "halve.c"]).stdout, b"3\n");
        let missing = String::from_utf8(run(backend, &[]).stderr).unwrap();
        assert!(missing.contains("`halve` is not linked"), "{backend}: {missing}");
        let wrong = String::from_utf8(run(backend, &["--link", "wrong.c"]).stderr).unwrap();
        assert!(wrong.contains("conflicting types"), "{backend}: {wrong}");
    }
}
