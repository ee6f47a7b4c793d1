//! Checking programs from tests: files from memory or from the repository, with the prelude.
#![allow(dead_code, clippy::unwrap_used)]

use almach_base::codes::cli::UNREADABLE_FILE;
use almach_base::render::{Style, to_text};
use almach_base::{Diagnostic, Name, SourceMap};
use almach_corpus::root;
use almach_syntax::{ast, parse_file};
use almach_types::{CheckResult, Loader, check_program, load_modules};
use std::path::Path;

pub fn prelude_text() -> String {
    std::fs::read_to_string(root().join("prelude/prelude.alm")).unwrap()
}

/// Where imports are found.
pub enum Files<'f> {
    Disk,
    Memory(&'f [(&'f str, &'f str)]),
}

struct Source<'f> {
    files: Files<'f>,
    sources: &'f mut SourceMap,
}

impl Loader for Source<'_> {
    fn key(&mut self, from: &str, path: &str) -> String {
        let folder = Path::new(from).parent().unwrap();
        folder.join(format!("{path}.alm")).to_string_lossy().into_owned()
    }

    fn load(&mut self, key: &str, import: &ast::Import) -> Result<ast::File, Diagnostic> {
        let text = match &self.files {
            Files::Disk => std::fs::read_to_string(key).ok(),
            Files::Memory(files) => files
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, text)| (*text).to_string()),
        };
        let text = text
            .ok_or_else(|| Diagnostic::error(UNREADABLE_FILE, import.path_span, "there is no such file"))?;
        let file = self.sources.add(key, text.as_str());
        Ok(parse_file(file, &text).file)
    }
}

/// A program that has been checked.
pub struct Outcome {
    pub result: CheckResult,
    pub sources: SourceMap,
}

impl Outcome {
    pub fn rendered(&self) -> String {
        to_text(&self.result.diagnostics, &self.sources, Style::Plain)
    }

    pub fn codes(&self) -> Vec<&'static str> {
        self.result.diagnostics.iter().map(|d| d.code.0).collect()
    }

    /// The types of the root's definitions, one a line.
    pub fn types(&self) -> String {
        let last = self.result.types.iter().map(|ty| ty.module).max().unwrap_or(0);
        let of_root = self.result.types.iter().filter(|ty| ty.module == last);
        of_root.map(|ty| format!("{}\n", ty.text)).collect()
    }
}

/// Checks a file with its imports and the prelude. `add` may add to its items.
pub fn check_file(
    name: &str,
    text: &str,
    files: Files<'_>,
    add: impl FnOnce(&ast::File, &mut SourceMap) -> Vec<ast::Item>,
) -> Outcome {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let parsed = parse_file(id, text);
    let mut file = parsed.file;
    let added = add(&file, &mut sources);
    file.items.extend(added);
    let prelude_text = prelude_text();
    let prelude_id = sources.add("<prelude>", prelude_text.as_str());
    let prelude = (text != prelude_text).then(|| parse_file(prelude_id, &prelude_text).file);
    let loader = &mut Source {
        files,
        sources: &mut sources,
    };
    let (modules, loading) = load_modules(prelude, name, file, loader);
    let mut result = check_program(&modules);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(loading);
    diagnostics.append(&mut result.diagnostics);
    result.diagnostics = diagnostics;
    Outcome { result, sources }
}

/// Checks a file without imports.
pub fn check(text: &str) -> Outcome {
    check_file("example.alm", text, Files::Memory(&[]), |_, _| Vec::new())
}

/// An expression as an entry point without parameters.
pub fn entry(name: &str, body: ast::Expr) -> ast::Item {
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
