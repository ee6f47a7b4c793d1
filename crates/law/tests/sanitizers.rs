//! Examples and file tests as programs of their own, under AddressSanitizer with UndefinedBehaviorSanitizer and under
//! ThreadSanitizer, with gcc and with clang: nothing is reported, and every `-- >` call gives what the interpreter gives.
//!
//! The short test takes the examples and the first compiler; the long one (`--ignored`) everything, and prints a table.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use almach_base::codes::concreteness::NOT_COMPILED_YET;
use almach_core::interp::Interpreter;
use almach_corpus::programs;
use almach_driver::back::{self, Target};
use almach_driver::tests::{TestCall, calls};
use almach_driver::{Files, NativeEntry, front, load};
use almach_emit::tree::scalar_c_name;
use almach_emit::{CSource, Exported};
use almach_imp::Passing;
use almach_imp::interface::Slot as SlotKind;
use almach_imp::marshal::{Slot, buffer_from, from_slots};
use almach_value::{Scalar, ScalarType, Value, approximately_equal};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that become one program. The linker is started once for all of them.
const GROUP: usize = 24;
/// Transcendental functions may differ in their last bits.
const TOLERANCE: f64 = 1e-5;

/// A compiler with sanitizers.
#[derive(Clone, Debug)]
struct Setting {
    compiler: String,
    sanitizer: Sanitizer,
    target: Target,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sanitizer {
    AddressAndUndefined,
    Thread,
}

struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

/// The calls of one file, compiled to C.
struct Prepared {
    path: PathBuf,
    source: CSource,
    entries: Vec<NativeEntry>,
    /// What the interpreter says of each.
    expected: Vec<Result<Value, String>>,
}

/// None where the file has no call that the back end can run.
fn prepare(path: &Path, name: &str, target: Target) -> Option<Prepared> {
    let text = std::fs::read_to_string(path).unwrap();
    // C from elsewhere is not there to be linked.
    if text.contains("\nforeign ") || text.starts_with("foreign ") {
        return None;
    }
    let loaded = load(&path.display().to_string(), &text, &Disk);
    let extras = calls(&loaded).iter().map(TestCall::extra).collect();
    let front = front(loaded, extras);
    let core = front.core().ok()?;
    let strategy = back::strategy(core, back::machine(target)).unwrap();
    let compiles = |entry: &&almach_core::Entry| match back::lowered(&strategy, &[entry]) {
        Ok(_) => true,
        Err(problems) if problems.iter().all(|problem| problem.code == NOT_COMPILED_YET) => false,
        Err(problems) => panic!("{}: {problems:?}", path.display()),
    };
    let runnable: Vec<_> = strategy
        .entries
        .iter()
        .filter(|entry| entry.name.starts_with("test "))
        .filter(compiles)
        .collect();
    if runnable.is_empty() {
        return None;
    }
    let interpreter = Interpreter::new(&strategy).unwrap();
    let expected = runnable
        .iter()
        .map(|entry| {
            interpreter
                .call(&entry.name, Vec::new())
                .map_err(|error| error.message)
        })
        .collect();
    let lowered = back::lowered(&strategy, &runnable).unwrap();
    let source = back::c_source(&lowered, &front.sources, name, target).unwrap();
    Some(Prepared {
        path: path.to_owned(),
        source,
        entries: lowered.entries,
        expected,
    })
}

/// A C program that makes all calls and prints what they give, cell by cell.
fn main_text(group: &[Prepared]) -> String {
    let mut out =
        String::from("#include <stdio.h>\n#include <stdint.h>\n#include <string.h>\n#include <stdbool.h>\n");
    for prepared in group {
        writeln!(out, "#include \"{}\"", prepared.source.header_name).unwrap();
    }
    out.push_str(
        "\nstatic void show(const void *from, size_t cell, int64_t count) {\n  printf(\"cells\");\n  \
         for (int64_t i = 0; i < count; i++) {\n    uint64_t bits = 0;\n    memcpy(&bits, (const char *)from + (size_t)i * cell, cell);\n    \
         printf(\" %llx\", (unsigned long long)bits);\n  }\n  printf(\"\\n\");\n}\n\nint main(void) {\n",
    );
    for (at, prepared) in group.iter().enumerate() {
        let name = &prepared.source.interface.name;
        writeln!(
            out,
            "  {{\n  struct {name}_ctx *ctx = {name}_new();\n  {name}_set_threads(ctx, 3);"
        )
        .unwrap();
        for (which, entry) in prepared.entries.iter().enumerate() {
            let mut exported = prepared.source.interface.procs.iter();
            let exported = exported.find(|exported| exported.proc == entry.proc).unwrap();
            out.push_str(&call_text(exported, name, at, which));
        }
        writeln!(out, "  {name}_free(ctx);\n  }}").unwrap();
    }
    out.push_str("  return 0;\n}\n");
    out
}

fn call_text(exported: &Exported, name: &str, file: usize, which: usize) -> String {
    let (mut declared, mut passed, mut shown, mut released) =
        (String::new(), String::new(), String::new(), String::new());
    for (at, param) in exported.params.iter().enumerate() {
        let t = scalar_c_name(param.ty);
        write!(passed, ", &a{at}").unwrap();
        match param.passing {
            Passing::Out => {
                writeln!(declared, "    {t} a{at};").unwrap();
                writeln!(shown, "      show(&a{at}, sizeof a{at}, 1);").unwrap();
            }
            Passing::Owned => {
                writeln!(declared, "    {t} *a{at} = NULL;").unwrap();
                writeln!(shown, "      show(a{at}, sizeof *a{at}, {name}_size(a{at}));").unwrap();
                writeln!(released, "    {name}_release(ctx, a{at});").unwrap();
            }
            other => panic!("a call takes {other:?}"),
        }
    }
    let symbol = &exported.symbol;
    format!(
        "  {{\n{declared}    printf(\"call {file} {which}\\n\");\n    fflush(stdout);\n    \
         if ({symbol}(ctx{passed}) == 0) {{\n      printf(\"done\\n\");\n{shown}    }} else {{\n      printf(\"failed\\n\");\n    }}\n{released}  }}\n"
    )
}

impl Setting {
    fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![
            "-std=c11",
            "-O1",
            "-ffp-contract=off",
            "-fno-omit-frame-pointer",
            "-g1",
        ];
        flags.extend(match self.sanitizer {
            Sanitizer::AddressAndUndefined => {
                &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..]
            }
            Sanitizer::Thread => &["-fsanitize=thread"],
        });
        flags
    }

    /// Compiles and runs a group. ThreadSanitizer knows the barriers of clang's run time only, so gcc's code is linked with that.
    fn run(&self, group: &[Prepared], folder: &Path) -> Result<String, String> {
        std::fs::create_dir_all(folder).unwrap();
        let mut files = vec![folder.join("main.c")];
        std::fs::write(&files[0], main_text(group)).unwrap();
        for prepared in group {
            let CSource {
                header_name,
                header,
                source,
                ..
            } = &prepared.source;
            std::fs::write(folder.join(header_name), header).unwrap();
            let file = folder.join(header_name).with_extension("c");
            std::fs::write(&file, source).unwrap();
            files.push(file);
        }
        let program = folder.join("program");
        let mut command = Command::new(&self.compiler);
        command.args(self.flags()).arg("-I").arg(folder);
        let foreign_run_time = self.sanitizer == Sanitizer::Thread && !self.compiler.contains("clang");
        match (self.target, foreign_run_time) {
            (Target::C | Target::OpenCl | Target::Cuda, _) => {}
            (Target::OpenMp, false) => {
                command.arg("-fopenmp");
            }
            (Target::OpenMp, true) => {
                let library = clangs_openmp().ok_or("no run time")?;
                let place = library.display();
                command.args([
                    "-fopenmp",
                    "-nodefaultlibs",
                    &format!("-L{place}"),
                    &format!("-Wl,-rpath,{place}"),
                    "-lomp",
                ]);
            }
        }
        command.args(&files).arg("-o").arg(&program).arg("-lm");
        if foreign_run_time {
            command.args(["-ltsan", "-lomp", "-lgcc_s", "-lgcc", "-lpthread", "-lc"]);
        }
        let made = command.output().map_err(|error| error.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let mut command = Command::new(&program);
        command.env("ASAN_OPTIONS", "allocator_may_return_null=1").env(
            "TSAN_OPTIONS",
            "ignore_noninstrumented_modules=1:allocator_may_return_null=1",
        );
        if let Some(library) = clangs_openmp() {
            command.env("OMP_TOOL_LIBRARIES", library.join("libarcher.so"));
        }
        let output = command.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rev().find_map(|line| line.strip_prefix("call "));
            let file = last.and_then(|last| group.get(last.split(' ').next()?.parse::<usize>().ok()?));
            let file = file.map_or(String::new(), |prepared| prepared.path.display().to_string());
            return Err(format!("{file} ({last:?}): {}\n{said}", output.status));
        }
        Ok(text)
    }
}

/// The folder of LLVM's OpenMP run time and of the tool that explains it to ThreadSanitizer.
fn clangs_openmp() -> Option<PathBuf> {
    let output = Command::new("clang").arg("-print-resource-dir").output().ok()?;
    let resources = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let folder = resources.parent()?.parent()?.to_owned();
    folder.join("libarcher.so").exists().then_some(folder)
}

/// The value that a call printed; none where it failed.
fn printed<'t>(entry: &NativeEntry, lines: &mut impl Iterator<Item = &'t str>) -> Option<Value> {
    if lines.next()? != "done" {
        return None;
    }
    let mut slots = Vec::new();
    for kind in entry.results.iter().flat_map(|shape| shape.slots()) {
        let cells = lines.next()?.strip_prefix("cells")?.split_whitespace();
        let bits: Vec<u64> = cells.map(|cell| u64::from_str_radix(cell, 16).unwrap()).collect();
        slots.push(match kind {
            SlotKind::Scalar(ty) => Slot::Scalar(Scalar::from_raw(ty, *bits.first()?)),
            SlotKind::Size => Slot::Size(*bits.first()? as i64),
            SlotKind::Buffer(ty) => Slot::Buffer(buffer(ty, &bits)),
        });
    }
    let mut slots = slots.into_iter();
    let mut values: Vec<Value> = entry
        .results
        .iter()
        .map(|shape| from_slots(shape, &mut slots).unwrap())
        .collect();
    match values.len() {
        1 => values.pop(),
        _ => Some(Value::tuple(values)),
    }
}

fn buffer(ty: ScalarType, bits: &[u64]) -> almach_value::Buffer {
    buffer_from(ty, bits.iter().map(|bits| Scalar::from_raw(ty, *bits))).unwrap()
}

/// How many calls agreed, and what is wrong.
fn compare(group: &[Prepared], text: &str, problems: &mut Vec<String>) -> usize {
    let mut agreed = 0;
    let mut lines = text.lines();
    for prepared in group {
        for (entry, expected) in prepared.entries.iter().zip(&prepared.expected) {
            assert!(lines.next().unwrap().starts_with("call "));
            let found = printed(entry, &mut lines);
            let agrees = match (expected, &found) {
                (Ok(expected), Some(found)) => approximately_equal(expected, found, TOLERANCE),
                (Err(_), None) => true,
                _ => false,
            };
            match agrees {
                true => agreed += 1,
                false => problems.push(format!(
                    "{}, {}: expected {expected:?}, found {found:?}",
                    prepared.path.display(),
                    entry.name
                )),
            }
        }
    }
    agreed
}

/// How many calls of a group agreed. Where the group fails as a whole its halves are looked at, so that one file is to blame.
fn checked(setting: &Setting, group: &[Prepared], folder: &Path, problems: &mut Vec<String>) -> usize {
    let known = problems.len();
    let agreed = match setting.run(group, folder) {
        Ok(text) => compare(group, &text, problems),
        Err(_) if group.len() > 1 => {
            let (left, right) = group.split_at(group.len() / 2);
            return checked(setting, left, folder, problems) + checked(setting, right, folder, problems);
        }
        Err(problem) => {
            problems.push(format!("{setting:?}: {problem}"));
            0
        }
    };
    problems
        .iter()
        .skip(known)
        .for_each(|problem| println!("{problem}"));
    agreed
}

/// Runs files under a setting; a row of the table.
fn run(setting: &Setting, files: &[PathBuf], problems: &mut Vec<String>) -> String {
    let prepared: Vec<Prepared> = files
        .iter()
        .enumerate()
        .filter_map(|(at, path)| prepare(path, &format!("t{at}"), setting.target))
        .collect();
    let (count, mut agreed) = (prepared.iter().map(|one| one.entries.len()).sum::<usize>(), 0);
    let mut left = prepared.as_slice();
    let mut number = 0;
    while !left.is_empty() {
        let (group, rest) = left.split_at(GROUP.min(left.len()));
        left = rest;
        number += 1;
        let name = format!(
            "{}-{:?}-{:?}-{number}",
            setting.compiler, setting.sanitizer, setting.target
        );
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join("sanitizers")
            .join(name);
        agreed += checked(setting, group, &folder, problems);
        let _ = std::fs::remove_dir_all(&folder);
    }
    let Setting {
        compiler,
        sanitizer,
        target,
    } = setting;
    format!(
        "| {compiler} | {sanitizer:?} | {target:?} | {} | {count} | {agreed} |",
        prepared.len()
    )
}

fn works(compiler: &str) -> bool {
    Command::new(compiler)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn examples_are_clean() {
    let files = programs(&["examples"]);
    let setting = Setting {
        compiler: "cc".to_owned(),
        sanitizer: Sanitizer::AddressAndUndefined,
        target: Target::OpenMp,
    };
    let mut problems = Vec::new();
    run(&setting, &files, &mut problems);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "takes long"]
fn everything_is_clean() {
    clean_under_every_setting(&programs(&["examples", "prelude", "library", "tests/programs"]));
}

#[test]
#[ignore = "takes long"]
fn everything_is_clean_in_the_examples() {
    clean_under_every_setting(&programs(&["examples"]));
}

fn clean_under_every_setting(files: &[PathBuf]) {
    let mut problems = Vec::new();
    println!(
        "| compiler | sanitizer | target | files | calls | agreed |\n| --- | --- | --- | --- | --- | --- |"
    );
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| works(compiler)) {
        for (sanitizer, target) in [
            (Sanitizer::AddressAndUndefined, Target::C),
            (Sanitizer::AddressAndUndefined, Target::OpenMp),
            (Sanitizer::Thread, Target::OpenMp),
        ] {
            // Without LLVM's run time ThreadSanitizer takes every barrier for a race.
            if sanitizer == Sanitizer::Thread && clangs_openmp().is_none() {
                println!("| {compiler} | {sanitizer:?} | {target:?} | - | no LLVM OpenMP run time | - |");
                continue;
            }
            let setting = Setting {
                compiler: compiler.to_owned(),
                sanitizer,
                target,
            };
            println!("{}", run(&setting, files, &mut problems));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
