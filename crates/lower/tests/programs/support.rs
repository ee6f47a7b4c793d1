//! Source text through every room up to Core.

use almach_base::render::{Style, to_text};
use almach_base::{Diagnostic, SourceMap};
use almach_core::Program;
use almach_core::check::Checked;
use almach_elaborate::{Options, elaborate};
use almach_syntax::ast;
use almach_types::{Loader, check_program, load_modules};
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
    pub sources: SourceMap,
}

/// Which tests of a file become entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    All,
    /// Those that are not expected to fail, be it when compiling.
    Succeeding,
}

impl Calls {
    fn includes(self, test: &ast::Test) -> bool {
        match self {
            Calls::All => true,
            Calls::Succeeding => !matches!(test.expected, ast::Expectation::Fails(_)),
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

/// Runs on a stack as large as the compiler's own.
/// Programs nest deep, and so do the functions that walk over them.
pub const STACK_BYTES: usize = 1 << 30;

pub fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap()
}
