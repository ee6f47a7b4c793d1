//! `.nova` programs on the command line: every command takes them.
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
    let rewrites = listed
        .lines()
        .skip_while(|line| !line.starts_with("rewrites"))
        .skip(1);
    let names: Vec<&str> = rewrites
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(listed.contains("  monomorphisation "), "{listed}");
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
