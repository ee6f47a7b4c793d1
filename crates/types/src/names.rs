//! What names mean: local ones, the file's own, imported ones, the prelude's, primitives; and the nearest name where
//! one means nothing.

use crate::checker::{Checker, DefState, GlobalDef};
use crate::scheme::PolyType;
use crate::tree::{DataId, DefId, ForeignId, Type, Var};
use almach_base::codes::names as codes;
use almach_base::suggest::nearest;
use almach_base::{Diagnostic, Name, Span};
use almach_prim::{Prim, ScalarFunction, scalar_function};
use almach_syntax::ast;
use std::collections::{HashMap, HashSet};

#[derive(Clone)]
pub(crate) enum Local {
    Value {
        var: Var,
        ty: Type,
    },
    /// A local function in its own group: at one type.
    Monomorphic {
        var: Var,
        ty: Type,
    },
    Function {
        var: Var,
        ty: PolyType,
    },
    /// Declared with a complete signature and still being inferred.
    Declared {
        var: Var,
        ty: PolyType,
    },
    /// Bound by `[n]`.
    Size(Var),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Def(DefId),
    Foreign(ForeignId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeName {
    Data(DataId),
    Alias(usize),
}

pub(crate) struct AliasEntry<'a> {
    pub ast: &'a ast::TypeAlias,
    pub module: usize,
    /// Being expanded: an alias that is met again means itself.
    pub expanding: bool,
}

/// The top-level names of one file.
#[derive(Default)]
pub(crate) struct Namespace {
    pub values: HashMap<Name, (Value, Span)>,
    pub types: HashMap<Name, (TypeName, Span)>,
    /// Several types may have a constructor of one name: `T.C` says which.
    pub constructors: HashMap<Name, Vec<(DataId, u32, Span)>>,
    /// Files imported without `as`.
    pub open: Vec<usize>,
    pub qualified: HashMap<Name, usize>,
    /// Imports that could not be loaded: what they would have defined is not known.
    pub missing: Missing,
}

#[derive(Default)]
pub(crate) struct Missing {
    pub open: bool,
    pub qualified: HashSet<Name>,
}

/// What a file declares.
#[derive(Default)]
pub(crate) struct Declared<'a> {
    pub defs: Vec<(DefId, &'a ast::Def)>,
    pub data: Vec<(DataId, &'a ast::DataDecl)>,
    pub foreign: Vec<&'a ast::Foreign>,
    pub aliases: Vec<usize>,
}

/// What the name of a value means.
pub(crate) enum Meaning {
    Local(Local),
    Global(Value),
    Prim(Prim),
    Scalar(ScalarFunction),
}

impl<'a> Checker<'a> {
    /// Gives every top-level name of a file its number.
    pub fn declare(&mut self, imports: &[Option<usize>], items: &'a [ast::Item]) -> Declared<'a> {
        let mut declared = Declared::default();
        let mut space = Namespace::default();
        let mut imports = imports.iter();
        for item in items {
            match item {
                ast::Item::Def(def) => self.declare_def(def, &mut space, &mut declared),
                ast::Item::Data(data) => self.declare_data(data, &mut space, &mut declared),
                ast::Item::TypeAlias(alias) => {
                    let id = self.aliases.len();
                    self.aliases.push(AliasEntry {
                        ast: alias,
                        module: self.module,
                        expanding: false,
                    });
                    declared.aliases.push(id);
                    self.declare_type(&alias.name, TypeName::Alias(id), &mut space);
                }
                ast::Item::Foreign(foreign) => {
                    let id = ForeignId((self.foreign.len() + declared.foreign.len()) as u32);
                    declared.foreign.push(foreign);
                    self.declare_value(&foreign.name, Value::Foreign(id), &mut space);
                }
                ast::Item::Import(import) => match (imports.next().copied().flatten(), &import.alias) {
                    (Some(module), Some(alias)) => {
                        space.qualified.insert(alias.name.clone(), module);
                    }
                    (Some(module), None) => space.open.push(module),
                    (None, Some(alias)) => {
                        space.missing.qualified.insert(alias.name.clone());
                    }
                    (None, None) => space.missing.open = true,
                },
                ast::Item::Error(_) => {}
            }
        }
        self.namespaces.push(space);
        declared
    }

    fn declare_def(&mut self, def: &'a ast::Def, space: &mut Namespace, declared: &mut Declared<'a>) {
        let id = DefId(self.defs.len() as u32);
        self.defs.push(GlobalDef {
            ast: def,
            module: self.module,
            state: DefState::NotYet,
            tree: None,
            constant: None,
        });
        declared.defs.push((id, def));
        self.declare_value(&def.name, Value::Def(id), space);
    }

    fn declare_data(&mut self, decl: &'a ast::DataDecl, space: &mut Namespace, declared: &mut Declared<'a>) {
        let id = DataId(self.data.len() as u32);
        self.data.push(crate::tree::DataDef {
            name: decl.name.name.clone(),
            params: Vec::new(),
            constructors: Vec::new(),
            recursive: crate::tree::Recursive::No,
            span: decl.span,
        });
        declared.data.push((id, decl));
        self.declare_type(&decl.name, TypeName::Data(id), space);
        for (at, constructor) in decl.constructors.iter().enumerate() {
            let name = &constructor.name;
            let same = space.constructors.entry(name.name.clone()).or_default();
            match same.iter().find(|(data, ..)| *data == id) {
                Some((_, _, first)) => {
                    let first = *first;
                    self.duplicate("constructor", name, first);
                }
                None => same.push((id, at as u32, name.span)),
            }
        }
    }

    fn declare_value(&mut self, ident: &ast::Ident, value: Value, space: &mut Namespace) {
        match space.values.get(&ident.name) {
            Some((_, first)) => {
                let first = *first;
                self.duplicate("definition", ident, first);
            }
            None => {
                space.values.insert(ident.name.clone(), (value, ident.span));
            }
        }
    }

    fn declare_type(&mut self, ident: &ast::Ident, name: TypeName, space: &mut Namespace) {
        match space.types.get(&ident.name) {
            Some((_, first)) => {
                let first = *first;
                self.duplicate("type", ident, first);
            }
            None => {
                space.types.insert(ident.name.clone(), (name, ident.span));
            }
        }
    }

    fn duplicate(&mut self, what: &str, ident: &ast::Ident, first: Span) {
        let name = &ident.name;
        self.report(
            Diagnostic::error(
                codes::DUPLICATE_DEFINITION,
                ident.span,
                format!("the {what} `{name}` is declared twice in this file"),
            )
            .label("declared again here")
            .also(first, "declared first here")
            .help("rename one of them"),
        );
    }

    /// Reports when two open imports both have the name.
    fn ambiguous(&mut self, path: &ast::Path, places: &[Span]) {
        let name = &path.name.name;
        let mut diagnostic = Diagnostic::error(
            codes::AMBIGUOUS_NAME,
            path.span,
            format!("`{name}` comes from several imports"),
        )
        .label("which one is meant?");
        for place in places {
            diagnostic = diagnostic.also(*place, "declared here");
        }
        self.report(diagnostic.help("import one of the files with `as M` and write `M.name`"));
    }

    /// Looks a name up: in the named file, or in this file, its open imports and the prelude, in that order.
    fn lookup<T: Copy + PartialEq>(
        &mut self,
        path: &ast::Path,
        get: impl Fn(&Namespace, &Name) -> Option<(T, Span)>,
    ) -> Option<T> {
        let name = &path.name.name;
        if let Some(qualifier) = &path.qualifier {
            let module = self
                .namespaces
                .get(self.module)
                .and_then(|space| space.qualified.get(&qualifier.name))
                .copied();
            let Some(module) = module else {
                if !self.may_be_missing(path) {
                    self.unknown_module(qualifier);
                }
                return None;
            };
            return self
                .namespaces
                .get(module)
                .and_then(|space| get(space, name))
                .map(|(found, _)| found);
        }
        let own = self.namespaces.get(self.module)?;
        if let Some((found, _)) = get(own, name) {
            return Some(found);
        }
        let mut found: Vec<(T, Span)> = Vec::new();
        for import in &own.open {
            if let Some(meaning) = self.namespaces.get(*import).and_then(|space| get(space, name))
                && !found.iter().any(|(other, _)| *other == meaning.0)
            {
                found.push(meaning);
            }
        }
        if found.len() > 1 {
            let places: Vec<Span> = found.iter().map(|(_, span)| *span).collect();
            self.ambiguous(path, &places);
        }
        if let Some((meaning, _)) = found.first() {
            return Some(*meaning);
        }
        let prelude = self.prelude?;
        get(self.namespaces.get(prelude)?, name).map(|(found, _)| found)
    }

    fn unknown_module(&mut self, qualifier: &ast::Ident) {
        let known: Vec<Name> = self
            .namespaces
            .get(self.module)
            .map(|space| space.qualified.keys().cloned().collect())
            .unwrap_or_default();
        let diagnostic = Diagnostic::error(
            codes::UNKNOWN_MODULE,
            qualifier.span,
            format!("no import is called `{}`", qualifier.name),
        )
        .label("not an import of this file");
        let diagnostic = match nearest(&qualifier.name, known.iter().map(Name::as_str)) {
            Some(near) => diagnostic.suggest(qualifier.span, near, format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("write `import \"path\" as {}`", qualifier.name)),
        };
        self.report(diagnostic);
    }

    pub fn lookup_value(&mut self, path: &ast::Path) -> Option<Meaning> {
        let name = &path.name.name;
        if path.qualifier.is_none()
            && let Some(local) = self.locals.get(name).and_then(|stack| stack.last())
        {
            return Some(Meaning::Local(local.clone()));
        }
        if let Some(value) = self.lookup(path, |space, name| space.values.get(name).copied()) {
            return Some(Meaning::Global(value));
        }
        if path.qualifier.is_none() {
            if let Some(prim) = Prim::from_name(name) {
                return Some(Meaning::Prim(prim));
            }
            if let Some(function) = scalar_function(name) {
                return Some(Meaning::Scalar(function));
            }
        }
        None
    }

    pub fn lookup_type(&mut self, path: &ast::Path) -> Option<TypeName> {
        self.lookup(path, |space, name| space.types.get(name).copied())
    }

    pub fn lookup_constructor(&mut self, path: &ast::Path) -> Option<(DataId, u32)> {
        if let Some(data) = self.constructors_type(path) {
            let mut all = self
                .namespaces
                .iter()
                .filter_map(|space| space.constructors.get(&path.name.name));
            return all.find_map(|same| {
                let (_, at, _) = same.iter().find(|(of, ..)| *of == data)?;
                Some((data, *at))
            });
        }
        let found = self.lookup(path, |space, name| {
            let (data, at, span) = space.constructors.get(name)?.first()?;
            Some(((*data, *at), *span))
        })?;
        self.refuse_shared_constructor(path, found.0);
        Some(found)
    }

    /// The type in `T.C`, where `T` is no import.
    fn constructors_type(&mut self, path: &ast::Path) -> Option<DataId> {
        let qualifier = path.qualifier.as_ref()?;
        let own = self.namespaces.get(self.module)?;
        if own.qualified.contains_key(&qualifier.name) {
            return None;
        }
        let of_type = ast::Path {
            qualifier: None,
            name: qualifier.clone(),
            span: qualifier.span,
        };
        match self.lookup_type(&of_type)? {
            TypeName::Data(data) => Some(data),
            TypeName::Alias(_) => None,
        }
    }

    /// A constructor of several types of one file, without the type it is meant of.
    fn refuse_shared_constructor(&mut self, path: &ast::Path, found: DataId) {
        let name = &path.name.name;
        let mut spaces = self
            .namespaces
            .iter()
            .filter_map(|space| space.constructors.get(name));
        let Some(same) = spaces.find(|same| same.iter().any(|(data, ..)| *data == found)) else {
            return;
        };
        if same.len() < 2 {
            return;
        }
        let type_name = |data: &DataId| match self.data.get(data.0 as usize) {
            Some(def) => def.name.clone(),
            None => Name::from("T"),
        };
        let places: Vec<(Name, Span)> = same
            .iter()
            .map(|(data, _, span)| (type_name(data), *span))
            .collect();
        let mut diagnostic = Diagnostic::error(
            codes::AMBIGUOUS_NAME,
            path.span,
            format!("several types have a constructor `{name}`"),
        )
        .label("which one is meant?");
        let written: Vec<String> = places.iter().map(|(ty, _)| format!("`{ty}.{name}`")).collect();
        for (ty, span) in &places {
            diagnostic = diagnostic.also(*span, format!("one of `{ty}`"));
        }
        self.report(diagnostic.help(format!("write {}", written.join(" or "))));
    }

    /// The names that could have been meant: of this file, its imports and the prelude.
    fn visible<T>(&self, path: &ast::Path, names: impl Fn(&Namespace) -> &HashMap<Name, T>) -> Vec<Name> {
        let Some(own) = self.namespaces.get(self.module) else {
            return Vec::new();
        };
        let spaces: Vec<usize> = match &path.qualifier {
            Some(qualifier) => own.qualified.get(&qualifier.name).copied().into_iter().collect(),
            None => std::iter::once(self.module)
                .chain(own.open.iter().copied())
                .chain(self.prelude)
                .collect(),
        };
        let mut all: Vec<Name> = spaces
            .into_iter()
            .filter_map(|space| self.namespaces.get(space))
            .flat_map(|space| names(space).keys().cloned())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether the name could be one of an import that was not loaded, for which there is an error already.
    fn may_be_missing(&mut self, path: &ast::Path) -> bool {
        let missing = self
            .namespaces
            .get(self.module)
            .is_some_and(|space| match &path.qualifier {
                Some(qualifier) => space.missing.qualified.contains(&qualifier.name),
                None => space.missing.open,
            });
        if missing {
            self.failed = true;
            self.incomplete = true;
        }
        missing
    }

    fn is_reported(&mut self, path: &ast::Path) -> bool {
        !self.qualifier_is_known(path) || self.may_be_missing(path)
    }

    fn qualifier_is_known(&self, path: &ast::Path) -> bool {
        path.qualifier.as_ref().is_none_or(|qualifier| {
            self.namespaces.get(self.module).is_some_and(|space| {
                space.qualified.contains_key(&qualifier.name) || space.types.contains_key(&qualifier.name)
            })
        })
    }

    pub fn unknown_value(&mut self, path: &ast::Path) {
        if self.is_reported(path) {
            return;
        }
        let mut names: Vec<String> = self
            .visible(path, |space| &space.values)
            .iter()
            .map(Name::to_string)
            .collect();
        if path.qualifier.is_none() {
            names.extend(
                self.locals
                    .iter()
                    .filter(|(_, stack)| !stack.is_empty())
                    .map(|(name, _)| name.to_string()),
            );
            names.extend(Prim::ALL.iter().map(|prim| prim.name().to_string()));
            names.extend(SCALAR_FUNCTION_NAMES.iter().map(|name| (*name).to_string()));
        }
        names.sort_unstable();
        self.unknown(codes::UNKNOWN_NAME, "name", path, &names);
    }

    pub fn unknown_constructor(&mut self, path: &ast::Path) {
        if self.is_reported(path) {
            return;
        }
        let names = self.visible(path, |space| &space.constructors);
        let names: Vec<String> = names.iter().map(Name::to_string).collect();
        self.unknown(codes::UNKNOWN_CONSTRUCTOR, "constructor", path, &names);
    }

    pub fn unknown_type(&mut self, path: &ast::Path) {
        if self.is_reported(path) {
            return;
        }
        let names = self.visible(path, |space| &space.types);
        let mut names: Vec<String> = names.iter().map(Name::to_string).collect();
        names.extend(
            almach_value::ScalarType::ALL
                .iter()
                .map(|scalar| scalar.name().to_string()),
        );
        self.unknown(codes::UNKNOWN_TYPE, "type", path, &names);
    }

    fn unknown(&mut self, code: almach_base::Code, what: &str, path: &ast::Path, names: &[String]) {
        let name = &path.name.name;
        let shown = match &path.qualifier {
            Some(qualifier) => format!("{}.{name}", qualifier.name),
            None => name.to_string(),
        };
        let diagnostic = Diagnostic::error(code, path.span, format!("unknown {what} `{shown}`"))
            .label("not defined here, in an import or in the prelude");
        let diagnostic = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => diagnostic.suggest(path.name.span, near, format!("did you mean `{near}`?")),
            None => diagnostic,
        };
        self.report(diagnostic);
    }
}

const SCALAR_FUNCTION_NAMES: &[&str] = &[
    "abs",
    "signum",
    "sqrt",
    "rsqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "floor",
    "ceil",
    "trunc",
    "round",
    "is_nan",
    "is_inf",
    "popcount",
    "leading_zeros",
    "trailing_zeros",
    "to_bits",
    "from_bits",
    "min",
    "max",
    "atan2",
    "hypot",
    "copysign",
    "pow",
    "fma",
    "cast",
];
