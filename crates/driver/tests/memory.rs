//! The validity of memory (FUNMEM, Definition 3.1) on every example and file test, after every memory pass: what the heap
//! semantics gives is what the program means.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use almach_base::FileId;
use almach_core::check::Checked;
use almach_core::{Program, Size, Var};
use almach_corpus::{STACK_BYTES, name_of, root};
use almach_driver::back::{self, Machine};
use almach_mem::check::{check, check_final};
use almach_mem::heap::{Heap, Validity};
use almach_mem::{Annotated, Memory, Storage, annotated_to_string, introduce, parse_annotated};
use almach_mem::{passes, plan};
use almach_value::{ArrayValue, Buffer, Value};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::core_of;

#[derive(Default)]
struct Tally {
    valid: usize,
    failing: usize,
    too_long: usize,
    /// How often a pass changed something.
    changed: usize,
    invalid: Vec<String>,
}

/// When the two semantics are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Each {
    Pass,
    Program,
}

/// Statements that a run may take: tests are small.
const STEPS: u64 = 100_000;

impl Tally {
    fn add(&mut self, what: &str, program: &Annotated) {
        if let Err(broken) = check(program) {
            self.invalid
                .push(format!("{what}: {}: {}", broken.rule, broken.message));
            return;
        }
        let heap = Heap::new(program).unwrap();
        for entry in program
            .core
            .entries
            .iter()
            .filter(|entry| entry.params.is_empty())
        {
            match heap.validity(&entry.name, Vec::new(), STEPS) {
                Validity::Valid(_) => self.valid += 1,
                Validity::Fails => self.failing += 1,
                Validity::TooLong => self.too_long += 1,
                Validity::Invalid(why) => self.invalid.push(format!("{what}, {}: {why}", entry.name)),
            }
        }
    }
}

impl Tally {
    fn join(&mut self, other: Tally) {
        self.valid += other.valid;
        self.failing += other.failing;
        self.too_long += other.too_long;
        self.changed += other.changed;
        self.invalid.extend(other.invalid);
    }

    /// After the passes; on some files, and on all where `ALMACH_TEST_FULL` is set, after every pass that changes something.
    fn passes(&mut self, what: &str, program: Annotated, each: Each) {
        let introduced = program.memory.clone();
        let mut program = program;
        for pass in passes::STANDARD {
            let before = program.memory.clone();
            program = (pass.run)(program, &mut passes::Log::default());
            if program.memory != before {
                self.changed += 1;
                if each == Each::Pass {
                    self.add(&format!("{what} after {}", pass.name), &program);
                }
            }
        }
        if each == Each::Program && program.memory != introduced {
            self.add(&format!("{what} after all passes"), &program);
        }
        if let Err(broken) = check_final(&program) {
            self.invalid
                .push(format!("{what}: {}: {}", broken.rule, broken.message));
        }
        for layout in [passes::Layout::Apart, passes::Layout::Interleaved] {
            let expanded = passes::expand(program.clone(), layout, &mut passes::Log::default());
            if each == Each::Pass && expanded.memory != program.memory {
                self.changed += 1;
                self.add(&format!("{what} expanded {layout:?}"), &expanded);
            }
        }
    }

    /// What is printed is read as what it was.
    fn reads_back(&mut self, what: &str, program: &Annotated) {
        let text = annotated_to_string(program);
        match parse_annotated(&text, FileId(0)) {
            Ok(read) if annotated_to_string(&read) == text => {}
            Ok(read) => {
                let again = annotated_to_string(&read);
                let differs = text.lines().zip(again.lines()).find(|(a, b)| a != b);
                self.invalid
                    .push(format!("{what}: reads back differently: {differs:?}"));
            }
            Err(error) => self
                .invalid
                .push(format!("{what}: does not read back: {}", error.title)),
        }
    }
}

/// Core as elaborated, with its functions, and the strategy program.
fn programs(core: Checked<Program>) -> Vec<(&'static str, Program)> {
    let mut all = vec![("core", (*core).clone())];
    if let Ok(strategy) = back::strategy(core, Machine::Threads) {
        all.push(("strategy", strategy.into_inner()));
    }
    all
}

fn file(path: &Path, each: Each, tally: &mut Tally) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = name_of(path);
    let Some(core) = core_of(&name, &text) else {
        return;
    };
    for (stage, program) in programs(core) {
        let what = format!("{name} ({stage})");
        let program = introduce(program);
        tally.add(&what, &program);
        tally.reads_back(&what, &program);
        if stage == "strategy" {
            tally.passes(&what, program, each);
        }
    }
}

/// On all cores.
fn corpus(folders: &[&str]) -> Tally {
    let files = almach_corpus::programs(folders);
    let full = std::env::var_os("ALMACH_TEST_FULL").is_some();
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Tally::default());
    let work = || {
        let mut tally = Tally::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else {
                break;
            };
            let each = if full || at.is_multiple_of(4) {
                Each::Pass
            } else {
                Each::Program
            };
            file(path, each, &mut tally);
        }
        total.lock().unwrap().join(tally);
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let start = || {
            std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, work)
                .unwrap()
        };
        let threads: Vec<_> = (0..workers).map(|_| start()).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    total.into_inner().unwrap()
}

#[test]
fn heap_semantics_is_value_semantics_on_the_corpus() {
    let tally = corpus(&["examples", "tests/programs"]);
    let Tally {
        valid,
        failing,
        too_long,
        changed,
        invalid,
    } = &tally;
    eprintln!(
        "{valid} valid, {failing} fail as they should, {too_long} too long, {} invalid",
        invalid.len()
    );
    assert!(*changed > 200, "passes changed something only {changed} times");
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
    assert!(
        *valid > 6 * too_long,
        "{too_long} of {valid} programs were not run to their end"
    );
}

/// The memory of a program's strategy, after the standard passes.
fn planned(text: &str) -> Annotated {
    let core = core_of("plan.alm", text).unwrap();
    let strategy = back::strategy(core, Machine::Threads).unwrap();
    let program = introduce(strategy.into_inner());
    passes::run(program, passes::STANDARD, &mut passes::Log::default()).unwrap()
}

/// Allocations and copies of a plan.
fn cost(text: &str) -> (usize, usize) {
    let plan::Cost { allocations, copies } = plan::cost(&planned(text));
    (allocations, copies)
}

#[test]
fn parts_of_a_concatenation_are_built_in_place() {
    let text = "entry main [n][m] (xs: [n]f32) (ys: [m]f32): []f32 = concat (map (+ 1) xs) (map (* 2) ys)";
    assert_eq!(cost(text), (1, 0));
}

#[test]
fn a_transposed_result_is_built_transposed() {
    let text = "entry main [n][m] (xss: [n][m]f32): [m][n]f32 = transpose (map (map (+ 1)) xss)";
    assert_eq!(cost(text), (1, 0));
}

#[test]
fn a_loop_that_updates_a_row_has_one_block() {
    let text = "
        entry main [m] (n: i64) (xs: [m]f32): [n][m]f32 =
          loop (a = replicate n (replicate m 0)) for i < n do
            a with [i] = map (\\x -> x * f32 i) xs";
    assert_eq!(cost(text), (1, 0));
}

#[test]
fn rows_of_what_a_loop_carries_are_built_in_place() {
    let text = "
        entry main [n][m] (k: i64) (xss: [n][m]f32): [n][m]f32 =
          loop (a = xss) for i < k do
            map (\\xs -> map (\\x -> x * a[0, 0]) xs) a";
    assert_eq!(cost(text), (2, 1));
}

#[test]
fn a_stencil_over_many_steps_swaps_two_blocks() {
    let text = "
        entry main [n] (k: i64) (xs: [n]f32): [n]f32 =
          loop (a = xs) for i < k do
            map (\\i -> a[i] + a[(i + 1) % n]) (iota n)";
    // One copy: the caller's array is not the loop's own.
    assert_eq!(cost(text), (2, 1));
}

/// The lines of a program in Imp that are inside a loop.
fn in_loops(text: &str) -> Vec<String> {
    let mut around: Vec<bool> = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('}') {
            around.pop();
        }
        if around.contains(&true) {
            lines.push(line.to_owned());
        }
        if line.ends_with('{') {
            around.push(line.contains("for ") || line.starts_with("while"));
        }
    }
    lines
}

/// Whether a line of Imp moves a cell to where it is: a copy that the plan has not, left over as a loop.
fn is_moved_to_itself(line: &str) -> bool {
    let cell = |text: &str| {
        let (buffer, rest) = text.split_once('[')?;
        let is_cell = rest.ends_with(']') && !rest.contains('[');
        is_cell.then(|| buffer.to_owned())
    };
    line.split_once(" = ")
        .and_then(|(to, from)| Some(cell(to)? == cell(from)?))
        .unwrap_or(false)
}

#[test]
fn main_loops_copy_nothing_and_allocate_nothing() {
    for (name, copies) in [
        ("examples/lu", 1),
        ("examples/lu_blocked", 1),
        ("examples/hotspot", 1),
        ("examples/stencil_2d", 1),
        ("examples/lattice_boltzmann", 1),
        ("examples/needleman_wunsch", 0),
        ("examples/needleman_wunsch_blocked", 0),
        ("bench/workloads/hotspot", 1),
        ("bench/workloads/lbm", 1),
        // Three blocks take turns.
        ("bench/workloads/nw", 0),
    ] {
        let text = std::fs::read_to_string(root().join(format!("{name}.alm"))).unwrap();
        // The copies are those that loops start with: their first array is the caller's. A view is no array to copy.
        let tests = text.find("-- >").unwrap_or(text.len());
        let mut found = plan::copies(&planned(&text));
        found.retain(|copied| (copied.span.start as usize) < tests);
        let starts = found.iter().filter(|copied| copied.by == plan::By::LoopStart);
        assert_eq!(
            (starts.count(), found.len()),
            (copies, copies),
            "{name}: {found:?}"
        );
        let core = core_of(name, &text).unwrap();
        let strategy = back::strategy(core, Machine::Threads).unwrap();
        let entries: Vec<_> = strategy
            .entries
            .iter()
            .filter(|entry| entry.name.as_str() == "main")
            .collect();
        let lowered = back::lowered(&strategy, &entries).unwrap();
        let lines = in_loops(&lowered.imp.program().to_string());
        assert!(!lines.is_empty(), "{name}");
        // A few cells are on the stack.
        let is_on_stack = |line: &str| line.ends_with("[9]");
        let moved = lines.iter().find(|line| {
            line.starts_with("copy ")
                || (line.starts_with("alloc ") && !is_on_stack(line))
                || is_moved_to_itself(line)
        });
        assert_eq!(moved, None, "{name}");
    }
}

/// The time is not asserted; passes that looked at the whole function in each step would take minutes.
#[test]
fn a_function_of_a_thousand_lines_is_planned() {
    let mut text = String::from("entry main (xs: []f32) (k: i64): f32 =\n  let a0 = scan (+) 0 xs\n");
    for line in 1..1000 {
        let before = line - 1;
        text += &match line % 5 {
            0 => format!("  let a{line} = a{before} with [k] = f32 k\n"),
            1 => format!("  let a{line} = loop (a = a{before}) for i < k do map (+ 1) (rotate 1 a)\n"),
            2 => format!(
                "  let a{line} = map (* 2) (concat (map (+ 1) a{before}) (scan (+) 0 a{before}))[0:length xs]\n"
            ),
            3 => format!("  let a{line} = if k > {line} then a{before} else scan (+) 0 a{before}\n"),
            _ => format!("  let a{line} = scan (+) (a{before}[k]) a{before}\n"),
        };
    }
    text += "  in a999[0]\n";
    let program = planned(&text);
    check(&program).unwrap();
    assert!(plan::cost(&program).allocations < 1000);
}

#[test]
fn an_old_array_that_is_needed_is_copied() {
    let text = "
        entry main [n] (xs: [n]f32): ([n]f32, [n]f32) =
          let a = scan (+) 0 xs
          let b = a with [0] = 7
          in (a, b)";
    assert_eq!(cost(text), (2, 1));
}

/// A program whose memory was broken on purpose, by the name of a variable.
fn damaged(text: &str, damage: impl Fn(&mut Memory, &dyn Fn(&str) -> Var)) -> Annotated {
    let core = core_of("damaged.alm", text).unwrap();
    let mut program = introduce(core.into_inner());
    let vars: Vec<Var> = program.memory.storage.keys().cloned().collect();
    let named = |name: &str| vars.iter().find(|var| var.name.as_str() == name).unwrap().clone();
    damage(&mut program.memory, &named);
    program
}

/// The checker, or else the comparison of the two semantics, finds the damage.
fn is_caught(program: &Annotated) -> bool {
    let args = vec![Value::array(ArrayValue::scalars(Buffer::I64(vec![3, 1, 2])))];
    check(program).is_err()
        || matches!(
            Heap::new(program).unwrap().validity("main", args, STEPS),
            Validity::Invalid(_)
        )
}

const BOTH_NEEDED: &str = "
    entry main [n] (xs: [n]i64): ([n]i64, [n]i64) =
      let a = scan (+) 0 xs
      let b = a with [0] = 7
      in (a, b)";

#[test]
fn memory_that_is_right_is_not_blamed() {
    assert!(!is_caught(&damaged(BOTH_NEEDED, |_, _| ())));
}

#[test]
fn a_merge_of_blocks_that_are_both_needed_is_caught() {
    let program = damaged(BOTH_NEEDED, |memory, named| {
        let home = memory.storage[&named("a")].clone();
        memory.storage.insert(named("b"), home);
    });
    assert!(is_caught(&program));
}

#[test]
fn a_wrong_stride_is_caught() {
    for stride in [0, 2, -1] {
        let program = damaged(BOTH_NEEDED, |memory, named| {
            let Some([Storage::Placed(home)]) = memory.storage.get_mut(&named("a")).map(Vec::as_mut_slice)
            else {
                panic!("`a` is one array in a block");
            };
            home.lmad.dims[0].stride = Size::constant(stride);
        });
        assert!(is_caught(&program), "stride {stride}");
    }
}

#[test]
fn building_in_place_past_a_live_read_is_caught() {
    let text = "
        entry main [n] (xs: [n]i64): []i64 =
          let a = scan (+) 0 xs
          let b = scan (*) 1 xs
          let s = a[0] + b[0]
          let c = scan (\\x y -> x + y * s) 0 a
          in concat b c";
    // `c` is built where `a` is, which is read while it is written.
    let program = damaged(text, |memory, named| {
        let home = memory.storage[&named("a")].clone();
        memory.storage.insert(named("b"), home);
    });
    assert!(is_caught(&program));
}
