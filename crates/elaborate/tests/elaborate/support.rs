//! Source text through every room up to Core.

use almach_base::render::{Style, to_text};
use almach_base::{Diagnostic, SourceMap};
use almach_core::Program;
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_corpus::{each_file, name_of, programs, root};
use almach_elaborate::{Options, elaborate};
use almach_syntax::ast::{self, Expectation};
use almach_types::{Loader, check_program, load_modules};
use almach_value::{Extent, approximately_equal, parse, print, same};
use std::path::{Path, PathBuf};

pub const PRELUDE: &str = include_str!("../../../../prelude/prelude.alm");

/// Reads imported files from the folder of the importing one.
struct Files<'s> {
    sources: &'s mut SourceMap,
    folder: PathBuf,
    diagnostics: Vec<Diagnostic>,
}

impl Loader for Files<'_> {
    fn key(&mut self, from: &str, path: &str) -> String {
        let folder = Path::new(from)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        folder.join(format!("{path}.alm")).to_string_lossy().into_owned()
    }

    fn load(&mut self, key: &str, import: &ast::Import) -> Result<ast::File, Diagnostic> {
        let text = std::fs::read_to_string(self.folder.join(key)).map_err(|error| {
            Diagnostic::error(
                almach_base::codes::bugs::COMPILER_BUG,
                import.span,
                format!("{key}: {error}"),
            )
        })?;
        let id = self.sources.add(key, text.clone());
        let parsed = almach_syntax::parse_file(id, &text);
        self.diagnostics.extend(parsed.diagnostics);
        Ok(parsed.file)
    }
}

/// A program with the calls of its tests as entries `test_0`, `test_1` …
pub struct Compiled {
    pub result: Result<Checked<Program>, String>,
    pub tests: Vec<ast::Test>,
    /// For those who go on from here.
    #[allow(dead_code, reason = "read by the tests of later rooms")]
    pub sources: SourceMap,
}

/// Which tests of a file become entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    All,
    /// Those that are not expected to fail, be it when compiling.
    Succeeding,
    None,
}

impl Calls {
    fn includes(self, test: &ast::Test) -> bool {
        match self {
            Calls::All => true,
            Calls::Succeeding => !matches!(test.expected, ast::Expectation::Fails(_)),
            Calls::None => false,
        }
    }
}

pub fn compile(name: &str, folder: &Path, text: &str, calls: Calls) -> Compiled {
    let mut sources = SourceMap::new();
    let prelude_id = sources.add("prelude.alm", PRELUDE);
    let prelude = almach_syntax::parse_file(prelude_id, PRELUDE).file;
    let id = sources.add(name, text);
    let parsed = almach_syntax::parse_file(id, text);
    let mut diagnostics = parsed.diagnostics;
    let mut root = parsed.file;
    let mut tests = root.tests.clone();
    tests.retain(|test| calls.includes(test));
    for (at, test) in tests.iter().enumerate() {
        let id = sources.add(format!("{name}:{at}"), test.call.clone());
        let (expr, errors) = almach_syntax::parse_expr(id, &test.call);
        diagnostics.extend(errors);
        root.items.push(entry(format!("test_{at}"), expr));
    }
    let mut files = Files {
        sources: &mut sources,
        folder: folder.to_path_buf(),
        diagnostics: Vec::new(),
    };
    let (modules, of_modules) = load_modules(Some(prelude), name, root, &mut files);
    diagnostics.append(&mut files.diagnostics);
    diagnostics.extend(of_modules);
    let checked = check_program(&modules);
    diagnostics.extend(checked.diagnostics);
    diagnostics.retain(Diagnostic::is_error);
    let result = match checked.program {
        Some(program) if diagnostics.is_empty() => elaborate(&program, &Options::default()),
        _ => Err(diagnostics),
    };
    let render = |errors: Vec<Diagnostic>| to_text(&errors, &sources, Style::Plain);
    let result = result.map_err(render);
    Compiled {
        result,
        tests,
        sources,
    }
}

/// An expression as an entry without parameters.
fn entry(name: String, body: ast::Expr) -> ast::Item {
    let span = body.span;
    ast::Item::Def(ast::Def {
        kind: ast::DefKind::Entry,
        recursive: ast::Recursive::No,
        name: ast::Ident {
            name: name.into(),
            span,
        },
        sizes: Vec::new(),
        params: Vec::new(),
        result: None,
        body,
        span,
    })
}

/// What of the tests of a file does not come out as it says; `excused` are those that need not fail.
pub fn wrong_results(name: &str, program: &Program, tests: &[ast::Test], excused: &[&str]) -> Vec<String> {
    let interpreter = match Interpreter::new(program) {
        Ok(interpreter) => interpreter,
        Err(bug) => return vec![format!("{name}: {}", bug.title)],
    };
    let mut wrong = Vec::new();
    for (at, test) in tests.iter().enumerate() {
        let entry = format!("test_{at}");
        let found = interpreter.call(&entry, Vec::new());
        let ty = interpreter.entry(&entry).unwrap().result.clone();
        let is_right = match (&test.expected, &found) {
            (Expectation::Equals(text), Ok(found)) => {
                parse(text, &ty).is_ok_and(|expected| same(&expected, found))
            }
            (Expectation::Near(text), Ok(found)) => {
                parse(text, &ty).is_ok_and(|expected| approximately_equal(&expected, found, 1e-5))
            }
            (Expectation::Fails(text), Err(error)) => error.message.contains(text),
            (Expectation::Fails(_), Ok(_)) => excused.contains(&test.call.as_str()),
            _ => false,
        };
        if !is_right {
            let found = match found {
                Ok(value) => print(&value, &ty, Extent::Full),
                Err(error) => format!("error: {}", error.message),
            };
            let call = &test.call;
            wrong.push(format!("{name}: {call} gives {found}, not {:?}", test.expected));
        }
    }
    wrong
}

/// All programs of the repository: `failures` says what is wrong with one, given its name, the folder it imports from and its text.
pub fn assert_all(failures: fn(&str, &Path, &str) -> Vec<String>) {
    let places = [
        "examples",
        "tests/programs",
        "crates/elaborate/tests/programs",
        "prelude/prelude.alm",
    ];
    let found = each_file(&programs(&places), |path| {
        let text = std::fs::read_to_string(path).unwrap();
        // C functions are linked by the command line alone.
        match text.contains("-- link:") {
            true => Vec::new(),
            false => failures(&name_of(path), &root(), &text),
        }
    });
    let wrong: Vec<String> = found.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
