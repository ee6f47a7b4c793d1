//! Seidel2D (Lin, section 7.2): with source views its inner loop asks where the edges are, with destination views it asks nothing. Both are
//! counted in Imp.

#![allow(clippy::unwrap_used)]

use almach_driver::back::{Machine, lowered, strategy};
use almach_driver::{NoFiles, front, load};

/// The Imp of an entry of an example.
fn imp(name: &str, entry: &str) -> String {
    imp_of(&almach_corpus::root().join("examples/views").join(name), entry)
}

fn imp_of(path: &std::path::Path, entry: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let front = front(load(name, &text, &NoFiles), Vec::new());
    let chosen = strategy(front.core().unwrap(), Machine::Sequential).unwrap();
    let wanted = chosen.entries.iter().find(|known| &*known.name == entry).unwrap();
    lowered(&chosen, &[wanted]).unwrap().imp.program().to_string()
}

/// The lines of the innermost loops, each loop's together.
fn inner_loops(imp: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = imp.lines().collect();
    let mut loops = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        if !(head.starts_with("for ") || head.starts_with("parfor ")) {
            continue;
        }
        let body = lines
            .iter()
            .skip(at + 1)
            .take_while(|inner| indent(inner) > indent(line));
        let body: Vec<&str> = body.copied().collect();
        if !body.iter().any(|inner| inner.trim_start().starts_with("for ")) {
            loops.push(body.join("\n"));
        }
    }
    loops
}

fn branches(body: &str) -> usize {
    body.matches("select(").count()
        + body
            .lines()
            .filter(|line| line.trim_start().starts_with("if "))
            .count()
}

/// The branches of the loop that reads the most.
fn of_main_loop(imp: &str) -> usize {
    let loops = inner_loops(imp);
    let reads = |body: &&String| body.matches(['[']).count();
    let main = loops.iter().max_by_key(reads).unwrap();
    branches(main)
}

#[test]
fn seidel_with_destination_views_has_no_branch_in_its_inner_loop() {
    let imp = imp("seidel2d.alm", "destination");
    assert_eq!(of_main_loop(&imp), 0, "{imp}");
}

#[test]
fn seidel_with_source_views_has_branches_in_its_inner_loop() {
    let imp = imp("seidel2d.alm", "source");
    assert!(of_main_loop(&imp) > 8, "{imp}");
}

/// No memory but the result's: the views and their parts have none.
#[test]
fn views_allocate_nothing() {
    for (name, entry) in [
        ("seidel2d.alm", "source"),
        ("seidel2d.alm", "destination"),
        ("three_add.alm", "views"),
        ("jacobi1d.alm", "destination"),
        ("jacobi2d.alm", "destination"),
    ] {
        let imp = imp(name, entry);
        let allocations = imp
            .lines()
            .filter(|line| line.trim_start().starts_with("alloc "))
            .count();
        assert_eq!(allocations, 1, "{name} {entry}\n{imp}");
    }
}

/// Hotspot's indices are clamped at the edges of its grid: inside, its loop asks nothing and clamps nothing.
#[test]
fn clamped_indices_are_left_to_the_edges() {
    let imp = imp_of(&almach_corpus::root().join("examples/hotspot.alm"), "main");
    let loops = inner_loops(&imp);
    assert!(!loops.is_empty());
    for inner in loops {
        assert!(!inner.contains("max(") && !inner.contains("min("), "{inner}");
        assert!(!inner.contains("check "), "{inner}");
    }
}
