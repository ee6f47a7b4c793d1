//! Every example and every file test of the repository checks without an error.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use almach_base::{Diagnostic, Name, SourceMap};
use almach_syntax::{ast, parse_expr, parse_file};
use almach_types::{Loader, check_program, load_modules};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Files<'s> {
    sources: &'s mut SourceMap,
}

impl Loader for Files<'_> {
    fn key(&mut self, from: &str, path: &str) -> String {
        let folder = Path::new(from).parent().unwrap();
        folder.join(format!("{path}.alm")).to_string_lossy().into_owned()
    }

    fn load(&mut self, key: &str, import: &ast::Import) -> Result<ast::File, Diagnostic> {
        let text = std::fs::read_to_string(key).map_err(|error| {
            Diagnostic::error(
                almach_base::codes::cli::UNREADABLE_FILE,
                import.path_span,
                error.to_string(),
            )
        })?;
        let file = self.sources.add(key, text.as_str());
        Ok(parse_file(file, &text).file)
    }
}

fn show(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let place = |span| match sources.position(span) {
        Some(at) => format!("{}:{}", at.line, at.column),
        None => "-".to_string(),
    };
    let mut text = format!(
        "{} {}: {} [{}] {}",
        diagnostic.code.0,
        place(diagnostic.primary.span),
        diagnostic.title,
        sources.text(diagnostic.primary.span),
        diagnostic.primary.text
    );
    for label in &diagnostic.secondary {
        text.push_str(&format!(
            "\n    {}: {} [{}]",
            place(label.span),
            label.text,
            sources.text(label.span)
        ));
    }
    text
}

/// The call of a test as an entry point without parameters.
fn entry(name: &str, body: ast::Expr) -> ast::Item {
    let span = body.span;
    ast::Item::Def(ast::Def {
        kind: ast::DefKind::Entry,
        recursive: ast::Recursive::No,
        name: ast::Ident {
            name: Name::from(name),
            span,
        },
        sizes: Vec::new(),
        params: Vec::new(),
        result: None,
        body,
        span,
    })
}

fn programs(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            programs(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "alm") {
            into.push(path);
        }
    }
}

/// The errors of a file and of its `-- >` lines that expect a value.
fn errors_of(path: &Path) -> Vec<String> {
    let mut sources = SourceMap::new();
    let prelude_text = std::fs::read_to_string(root().join("prelude/prelude.alm")).unwrap();
    let prelude_id = sources.add("<prelude>", prelude_text.as_str());
    let prelude = parse_file(prelude_id, &prelude_text);
    let key = path.to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let id = sources.add(key.as_str(), text.as_str());
    let is_prelude = text == prelude_text;
    let parsed = parse_file(id, &text);
    let mut errors: Vec<String> = parsed.diagnostics.iter().map(|d| show(&sources, d)).collect();
    let mut file = parsed.file;
    let mut calls = Vec::new();
    for (at, test) in file.tests.iter().enumerate() {
        if matches!(
            test.expected,
            ast::Expectation::Equals(_) | ast::Expectation::Near(_)
        ) {
            let call_id = sources.add("test", test.call.as_str());
            let (expr, _) = parse_expr(call_id, &test.call);
            calls.push(entry(&format!("test {at}"), expr));
        }
    }
    file.items.extend(calls);
    let prelude = (!is_prelude).then_some(prelude.file);
    let (modules, loading) = load_modules(
        prelude,
        &key,
        file,
        &mut Files {
            sources: &mut sources,
        },
    );
    errors.extend(loading.iter().map(|d| show(&sources, d)));
    let result = check_program(&modules);
    errors.extend(
        result
            .diagnostics
            .iter()
            .filter(|d| d.is_error())
            .map(|d| show(&sources, d)),
    );
    assert_eq!(result.program.is_some(), errors.is_empty());
    errors
}

/// On a thread with the stack the compiler gives itself.
fn check_folder(folder: &str) {
    let mut paths = Vec::new();
    programs(&root().join(folder), &mut paths);
    assert!(!paths.is_empty());
    let failures = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || {
            let mut failures = String::new();
            for path in paths {
                let errors = errors_of(&path);
                if !errors.is_empty() {
                    failures.push_str(&format!("{}:\n  {}\n", path.display(), errors.join("\n  ")));
                }
            }
            failures
        })
        .unwrap()
        .join()
        .unwrap();
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn prelude() {
    check_folder("prelude");
}

#[test]
fn examples() {
    check_folder("examples");
}

#[test]
fn file_tests() {
    check_folder("tests/programs");
}
