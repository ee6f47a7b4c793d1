//! C programs around emitted code for devices: arrays that stay there, and kernels that are kept on disk. They run on OpenCL's first device.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{Folder, almach, root, strings};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A program in C around the kernels of a program, built without a warning.
fn built(backend: &str) -> Folder {
    let folder = Folder::new();
    for name in ["heat.alm", "main.c"] {
        let text = std::fs::read(root().join("examples/embed/device").join(name)).unwrap();
        folder.write(name, &text);
    }
    let args = ["build", "heat.alm", "-o", "heat", "--backend", backend];
    succeeded(&almach(folder.path(), &strings(&args)));
    let files = [
        "-std=c11",
        "-ffp-contract=off",
        "heat.c",
        "main.c",
        "-lm",
        "-ldl",
        "-o",
        "heat",
    ];
    let words = [&WARNINGS[..], &files[..]].concat();
    let compiled = Command::new("cc").args(words).current_dir(folder.path()).output();
    succeeded(&compiled.unwrap());
    folder
}

fn succeeded(output: &Output) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

fn run(folder: &Folder, cache: &Path) -> String {
    let output = Command::new("./heat")
        .env("ALMACH_KERNELS", cache)
        .current_dir(folder.path())
        .output()
        .unwrap();
    succeeded(&output);
    String::from_utf8(output.stdout).unwrap()
}

const EXPECTED: &str = "\
error: an argument reaches beyond the end of the array on the device that it is in
1024.000 483.150, in the middle 57.130 57.701 57.130
error: heat.alm:14:30: error[E0811]: it is too warm
warmest 57.701, of 65536
1 transfers there, 1 back
";

/// The kernels that a folder keeps.
fn kept(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "kernels"))
        .collect()
}

#[test]
fn arrays_stay_on_the_device_and_kernels_on_disk() {
    let folder = built("opencl");
    let cache = folder.path().join("cache");
    assert_eq!(run(&folder, &cache), EXPECTED);
    let [file] = &kept(&cache)[..] else {
        panic!("one file is kept");
    };
    let cells = std::fs::read(file).unwrap();
    let written = std::fs::metadata(file).unwrap().modified().unwrap();
    // What is kept is used, and stays as it is.
    assert_eq!(run(&folder, &cache), EXPECTED);
    assert_eq!(std::fs::metadata(file).unwrap().modified().unwrap(), written);
    // What is not whole is made anew.
    std::fs::write(file, &cells[..cells.len() / 2]).unwrap();
    assert_eq!(run(&folder, &cache), EXPECTED);
    let made_anew = std::fs::read(file).unwrap();
    assert!(made_anew.len() > cells.len() / 2, "{} bytes", made_anew.len());
    assert_eq!(run(&folder, &cache), EXPECTED);
    assert_eq!(std::fs::read(file).unwrap(), made_anew);
    // A folder that cannot be made is none.
    assert_eq!(run(&folder, Path::new("heat.c/cache")), EXPECTED);
    assert_eq!(run(&folder, Path::new("")), EXPECTED);
}

/// Without a driver the program says so; with one it runs as it does elsewhere.
#[test]
fn cuda_says_what_is_missing() {
    let folder = built("cuda");
    let output = Command::new("./heat")
        .current_dir(folder.path())
        .output()
        .unwrap();
    match output.status.success() {
        true => assert_eq!(String::from_utf8(output.stdout).unwrap(), EXPECTED),
        false => {
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains("CUDA"), "{error}");
        }
    }
}

/// What is wrong with the device that the user wants is said, with what to do.
#[test]
fn devices_that_are_not_there_are_errors() {
    let folder = Folder::new();
    folder.write(
        "twice.alm",
        b"entry main [n] (xs: [n]f32): [n]f32 = map (\\x -> 2 * x) xs\n",
    );
    let run = |words: &[&str], variables: &[(&str, &str)]| {
        let args = [&["run", "twice.alm", "[1, 2]", "--backend", "opencl"], words].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_almach"));
        command.args(args).current_dir(folder.path());
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = run(&["--device", "quantum"], &[]);
    assert!(missing.contains("error[E0819]"), "{missing}");
    assert!(
        missing.contains("OpenCL finds no such device: quantum"),
        "{missing}"
    );
    assert!(missing.contains("--device"), "{missing}");
    let without = run(&[], &[("ALMACH_OPENCL", "libnothing.so")]);
    assert!(without.contains("there is no OpenCL here"), "{without}");
}

/// An array that the device has no memory for.
#[test]
fn memory_that_the_device_does_not_have_is_an_error() {
    let folder = Folder::new();
    folder.write(
        "many.alm",
        b"entry main (n: i64): f32 = sum (materialise (map f32 (iota n)))\n",
    );
    let args = ["run", "many.alm", "1000000000000000", "--backend", "opencl"];
    let output = almach(folder.path(), &strings(&args));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("error[E0812]"), "{error}");
}

/// The form for nvcc, as far as a C++ compiler can look at it: host and kernels in one source.
#[test]
fn sources_for_nvcc_are_cpp() {
    let folder = Folder::new();
    let stub = include_str!("nvcc/cuda_runtime.h");
    folder.write("cuda_runtime.h", stub.as_bytes());
    let programs = [
        "examples/embed/device/heat.alm",
        "examples/primes.alm",
        "examples/jagged.alm",
        "examples/kmeans.alm",
        "examples/list_ranking.alm",
        // Columns of a store are memory of the device.
        "tests/programs/recursive_data/build_makes_nodes_in_parallel.alm",
    ];
    for program in programs {
        let path = root().join(program);
        let path = path.to_string_lossy();
        let args = ["build", &*path, "-o", "program.cu", "--backend", "cuda"];
        succeeded(&almach(folder.path(), &strings(&args)));
        let source = std::fs::read_to_string(folder.path().join("program.cu")).unwrap();
        assert!(source.contains("namespace kernels {"), "{program}");
        assert!(source.contains("cudaLaunchKernel"), "{program}");
        let words = ["-std=c++20", "-x", "c++", "-fsyntax-only", "-D__CUDACC__"];
        let include = ["-I", ".", "program.cu"];
        let checked = Command::new("g++")
            .args([&words[..], &include[..]].concat())
            .current_dir(folder.path())
            .output();
        match checked {
            Ok(output) => succeeded(&output),
            // There is no C++ compiler here.
            Err(_) => return,
        }
    }
    let refused = |program: &str, backend: &str| {
        let path = root().join("examples").join(program);
        let path = path.to_string_lossy();
        let args = ["build", &*path, "-o", "program.cu", "--backend", backend];
        let output = almach(folder.path(), &strings(&args));
        assert!(!output.status.success(), "{program}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = refused("dot.alm", "opencl");
    assert!(
        error.contains("a source for nvcc is one of --backend cuda"),
        "{error}"
    );
    let error = refused("tree_fold.alm", "cuda");
    assert!(
        error.contains("recursion on the host has no form for nvcc"),
        "{error}"
    );
}

/// Local memory that a program asks for is there, or the error says how much is missing.
#[test]
fn local_memory_that_does_not_fit_is_an_error() {
    let folder = Folder::new();
    let program = |size: i64| {
        format!(
            "entry main [n] (xs: [n]f32): []f32 =\n  mapWorkgroup (\\row ->\n    \
             let t = toLocal (mapLocal (\\x -> x * 2)) row\n    \
             in reduceSeq (+) 0 (mapLocal (\\i -> t[{size} - 1 - i] + 1) (iota {size}))) (split {size} xs)\n"
        )
    };
    let emit = |size: i64| {
        folder.write("program.alm", program(size).as_bytes());
        let args = ["emit", "program.alm", "--stage", "kernels", "--backend", "opencl"];
        almach(folder.path(), &strings(&args))
    };
    succeeded(&emit(1024));
    let error = String::from_utf8(emit(16384).stderr).unwrap();
    let expected =
        "error[E0812]: a group has 32768 bytes of local memory, and this needs 65536: 32768 too many";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("program.alm:3"), "{error}");
}
