//! A program is its root file, what that imports, and the prelude.

use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, FileId, SourceMap};
use almach_nova::{BUILT_INS, BUILT_INS_NAME, read_file};
use almach_syntax::{ast, parse_file};
use almach_types::{Loader, Modules, load_modules};

/// The part of the language that is written in itself.
pub const PRELUDE: &str = include_str!("../../../prelude/prelude.alm");
pub const PRELUDE_NAME: &str = "<prelude>";

/// What comes with the compiler, under the names that imports have for it.
const LIBRARY: [(&str, &str); 4] = [
    (
        "almach/expressions",
        include_str!("../../../library/expressions.alm"),
    ),
    ("almach/graphs", include_str!("../../../library/graphs.alm")),
    ("almach/lists", include_str!("../../../library/lists.alm")),
    ("almach/trees", include_str!("../../../library/trees.alm")),
];

/// Imports that start so are of the library.
const LIBRARY_FOLDER: &str = "almach/";

/// The language of a file, by the end of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Almach,
    Nova,
}

impl Language {
    pub fn of(path: &str) -> Language {
        if path.ends_with(".nova") {
            Language::Nova
        } else {
            Language::Almach
        }
    }
}

/// Where source text comes from. Paths are relative to wherever the root file's path is.
pub trait Files {
    /// The text of a file, or why there is none (shown at the import).
    fn read(&self, path: &str) -> Result<String, String>;
}

/// No file can be imported.
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<String, String> {
        Err("there are no files here".to_owned())
    }
}

/// All files of a program, parsed; the root is the last module.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub sources: SourceMap,
    pub modules: Modules,
    pub diagnostics: Vec<Diagnostic>,
}

impl Loaded {
    pub fn root(&self) -> Option<&ast::File> {
        self.modules.modules.last().map(|module| &module.file)
    }

    pub fn root_mut(&mut self) -> Option<&mut ast::File> {
        self.modules.modules.last_mut().map(|module| &mut module.file)
    }
}

/// The root file in the sources of a [`Loaded`] program: the prelude comes first.
pub const ROOT: FileId = FileId(1);

/// Parses the root file, the prelude and everything they import, each once.
pub fn load(path: &str, text: &str, files: &dyn Files) -> Loaded {
    load_root(path, files, |parsing, key| parsing.parse(key, text.to_owned()))
}

/// A root that was built instead of parsed, with the prelude and everything it imports. Its spans lie in the file [`ROOT`], whose
/// text (what it was built from, in whatever language) is only shown in messages.
pub fn load_built(path: &str, text: &str, root: ast::File, files: &dyn Files) -> Loaded {
    load_root(path, files, |parsing, key| {
        parsing.sources.add(key, text.to_owned());
        root
    })
}

fn load_root(
    path: &str,
    files: &dyn Files,
    root: impl FnOnce(&mut Parsing<'_>, &str) -> ast::File,
) -> Loaded {
    let mut parsing = Parsing {
        files,
        sources: SourceMap::new(),
        diagnostics: Vec::new(),
    };
    let prelude = parsing.parse(PRELUDE_NAME, PRELUDE.to_owned());
    let root_key = normal(path);
    let root = root(&mut parsing, &root_key);
    let (modules, problems) = load_modules(Some(prelude), &root_key, root, &mut parsing);
    let mut diagnostics = parsing.diagnostics;
    diagnostics.extend(problems);
    Loaded {
        sources: parsing.sources,
        modules,
        diagnostics,
    }
}

struct Parsing<'a> {
    files: &'a dyn Files,
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
}

impl Parsing<'_> {
    fn parse(&mut self, path: &str, text: String) -> ast::File {
        let file = self.sources.add(path, text);
        let text = self.sources.file(file).map_or("", |file| file.text.as_str());
        let parsed = match Language::of(path) {
            Language::Almach => parse_file(file, text),
            Language::Nova => read_file(file, text),
        };
        self.diagnostics.extend(parsed.diagnostics);
        parsed.file
    }
}

impl Loader for Parsing<'_> {
    fn key(&mut self, from: &str, path: &str) -> String {
        match path {
            BUILT_INS_NAME => path.to_owned(),
            _ if path.starts_with(LIBRARY_FOLDER) => format!("<{path}>"),
            _ => resolve(from, path),
        }
    }

    fn load(&mut self, key: &str, import: &ast::Import) -> Result<ast::File, Diagnostic> {
        if key == BUILT_INS_NAME {
            return Ok(self.parse(key, BUILT_INS.to_owned()));
        }
        if import.path.starts_with(LIBRARY_FOLDER) {
            let known = LIBRARY.iter().find(|(name, _)| *name == import.path);
            return match known {
                Some((_, text)) => Ok(self.parse(key, (*text).to_owned())),
                None => Err(not_in_the_library(import)),
            };
        }
        match self.files.read(key) {
            Ok(text) => Ok(self.parse(key, text)),
            Err(why) => {
                let title = format!("cannot import \"{}\"", import.path);
                Err(Diagnostic::error(codes::UNREADABLE_FILE, import.path_span, title)
                    .label(format!("looked for `{key}`: {why}"))
                    .help("an import is relative to the file it stands in, and written without `.alm`"))
            }
        }
    }
}

fn not_in_the_library(import: &ast::Import) -> Diagnostic {
    let names: Vec<String> = LIBRARY.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let title = format!("cannot import \"{}\"", import.path);
    Diagnostic::error(codes::UNREADABLE_FILE, import.path_span, title)
        .label("the library that comes with Almach has no such part")
        .help(format!(
            "it has {}; a file of yours in a folder `almach` is `./almach/…`",
            names.join(", ")
        ))
}

/// The path of an import: relative to the importing file's folder, with the extension added.
fn resolve(importer: &str, import: &str) -> String {
    let folder = importer
        .rfind('/')
        .map_or("", |at| importer.get(..=at).unwrap_or(""));
    let joined = if import.starts_with('/') {
        import.to_owned()
    } else {
        format!("{folder}{import}")
    };
    normal(&format!("{joined}.alm"))
}

/// Without `.` and `a/..`, so that one file has one path.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_relative_to_their_file() {
        assert_eq!(resolve("examples/a.alm", "lib/vec3"), "examples/lib/vec3.alm");
        assert_eq!(resolve("a.alm", "../b"), "../b.alm");
        assert_eq!(resolve("x/y/a.alm", "../z/./b"), "x/z/b.alm");
        assert_eq!(resolve("/abs/a.alm", "b"), "/abs/b.alm");
    }
}
