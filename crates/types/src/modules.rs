//! The files of a program in the order they depend on each other.

use almach_base::codes::names as codes;
use almach_base::{Diagnostic, Span};
use almach_syntax::ast;
use std::collections::HashMap;

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Module {
    /// What identifies the file: its path as the loader knows it.
    pub key: String,
    pub file: ast::File,
    /// The module behind each import, in the order of the file; none where it could not be loaded.
    pub imports: Vec<Option<usize>>,
}

/// All files of a program; each stands after those it imports. The root is the last.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    pub modules: Vec<Module>,
    /// Its names are visible everywhere, and hidden by all others.
    pub prelude: Option<usize>,
}

impl Modules {
    pub fn root(&self) -> Option<&Module> {
        self.modules.last()
    }
}

/// Finds and reads files. The checker touches none itself.
pub trait Loader {
    /// What identifies the file that `path` means in the file `from`.
    fn key(&mut self, from: &str, path: &str) -> String;

    /// Reads and parses it. Problems inside the file are the loader's to report; an error says why there is no file.
    #[expect(clippy::result_large_err, reason = "at most one per import")]
    fn load(&mut self, key: &str, import: &ast::Import) -> Result<ast::File, Diagnostic>;
}

/// The imports of a file in their order.
pub fn imports_of(file: &ast::File) -> impl Iterator<Item = &ast::Import> {
    file.items.iter().filter_map(|item| match item {
        ast::Item::Import(import) => Some(import),
        ast::Item::Def(_)
        | ast::Item::Data(_)
        | ast::Item::TypeAlias(_)
        | ast::Item::Foreign(_)
        | ast::Item::Error(_) => None,
    })
}

/// Loads everything the root imports, directly or not. A cycle of imports is an error and is cut.
pub fn load_modules(
    prelude: Option<ast::File>,
    root_key: &str,
    root: ast::File,
    loader: &mut dyn Loader,
) -> (Modules, Vec<Diagnostic>) {
    let mut loading = Loading {
        loader,
        result: Modules::default(),
        done: HashMap::new(),
        path: Vec::new(),
        diagnostics: Vec::new(),
    };
    if let Some(file) = prelude {
        loading.result.prelude = loading.module("<prelude>", file);
    }
    loading.module(root_key, root);
    (loading.result, loading.diagnostics)
}

struct Loading<'a> {
    loader: &'a mut dyn Loader,
    result: Modules,
    done: HashMap<String, Option<usize>>,
    /// The files now being loaded, each with the import that led on from it.
    path: Vec<(String, Span)>,
    diagnostics: Vec<Diagnostic>,
}

impl Loading<'_> {
    fn module(&mut self, key: &str, file: ast::File) -> Option<usize> {
        let mut imports = Vec::new();
        for import in imports_of(&file) {
            imports.push(self.import(key, import));
        }
        self.result.modules.push(Module {
            key: key.to_string(),
            file,
            imports,
        });
        Some(self.result.modules.len() - 1)
    }

    fn import(&mut self, from: &str, import: &ast::Import) -> Option<usize> {
        let key = self.loader.key(from, &import.path);
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        self.path.push((from.to_string(), import.path_span));
        let cycle = self.path.iter().position(|(loading, _)| *loading == key);
        let module = match cycle {
            Some(start) => {
                self.report_cycle(start, &key, import);
                None
            }
            None => match self.loader.load(&key, import) {
                Ok(file) => {
                    let module = self.module(&key, file);
                    self.done.insert(key, module);
                    module
                }
                Err(diagnostic) => {
                    self.diagnostics.push(diagnostic);
                    self.done.insert(key, None);
                    None
                }
            },
        };
        self.path.pop();
        module
    }

    fn report_cycle(&mut self, start: usize, key: &str, import: &ast::Import) {
        let cycle = self.path.get(start..).unwrap_or_default();
        let mut names: Vec<&str> = cycle.iter().map(|(name, _)| name.as_str()).collect();
        names.push(key);
        let mut diagnostic = Diagnostic::error(
            codes::IMPORT_CYCLE,
            import.path_span,
            format!("`{key}` imports itself: {}", names.join(" -> ")),
        )
        .label("this import closes the cycle");
        for (_, span) in cycle.iter().take(cycle.len().saturating_sub(1)) {
            diagnostic = diagnostic.also(*span, "which is reached through this import");
        }
        self.diagnostics
            .push(diagnostic.help("move what both files need into a third one"));
    }
}
