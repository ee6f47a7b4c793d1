//! What a session keeps: definitions as source text, bindings as a chain of `let`s.

use crate::machine::{Machine, RunSettings};
use crate::options::Backend;
use crate::program::{Disk, Program};
use crate::terminal::{self, LONGEST, Style};
use crate::times::Times;
use almach_base::{Diagnostic, Name, SourceMap};
use almach_driver::{Extra, ExtraKind, Front, front, load};
use almach_syntax::ast::Item;
use almach_syntax::{ReplInput, parse_expr, parse_repl};
use almach_value::{Extent, print};
use std::path::Path;

/// The name of what is evaluated.
const IT: &str = "it";

pub struct Session {
    style: Style,
    definitions: Vec<Definition>,
    /// `let …`, in order.
    bindings: Vec<String>,
    /// Imports are relative to this file.
    path: String,
}

#[derive(Clone)]
struct Definition {
    names: Vec<Name>,
    text: String,
}

impl Session {
    pub fn new(style: Style) -> Session {
        Session {
            style,
            definitions: Vec::new(),
            bindings: Vec::new(),
            path: "<input>".to_owned(),
        }
    }

    pub fn reset(&mut self) {
        self.definitions.clear();
        self.bindings.clear();
    }

    pub fn complain(&self, diagnostic: Diagnostic) {
        terminal::report(&[diagnostic], &SourceMap::new(), self.style);
    }

    pub fn show_definitions(&self) {
        for definition in &self.definitions {
            terminal::say(definition.text.trim_end());
        }
        for binding in &self.bindings {
            terminal::say(binding.trim_end());
        }
    }

    pub fn load(&mut self, path: &Path, text: String) {
        self.path = path.display().to_string();
        self.define(text);
    }

    pub fn input(&mut self, text: &str) {
        let mut sources = SourceMap::new();
        let file = sources.add("<input>", text);
        let parsed = parse_repl(file, text);
        if !parsed.diagnostics.is_empty() {
            terminal::report(&parsed.diagnostics, &sources, self.style);
            return;
        }
        match parsed.input {
            ReplInput::Empty => {}
            ReplInput::Items(_) => self.define(text.to_owned()),
            ReplInput::Bindings(_) => self.bind(text),
            ReplInput::Expr(_) => self.evaluate(text),
        }
    }

    /// Keeps definitions when everything still checks with them; older ones of the same name go.
    fn define(&mut self, text: String) {
        let names = defined_names(&text);
        let mut definitions: Vec<Definition> = self
            .definitions
            .iter()
            .filter(|old| !old.names.iter().any(|name| names.contains(name)))
            .cloned()
            .collect();
        definitions.push(Definition { names, text });
        let before = std::mem::replace(&mut self.definitions, definitions);
        if self.check(None).is_none() {
            self.definitions = before;
        }
    }

    fn bind(&mut self, text: &str) {
        self.bindings.push(text.to_owned());
        if self.check(Some(("()", ExtraKind::Definition))).is_none() {
            self.bindings.pop();
        }
    }

    pub fn show_type(&self, text: &str) {
        if let Some(front) = self.check(Some((text, ExtraKind::Definition))) {
            match front
                .types
                .iter()
                .rev()
                .find(|definition| definition.name.as_str() == IT)
            {
                Some(definition) => {
                    let ty = definition.text.strip_prefix(IT).unwrap_or(&definition.text);
                    terminal::say(&format!("{}{ty}", text.trim()));
                }
                None => terminal::complain("error: the expression has no type"),
            }
        }
    }

    fn evaluate(&self, text: &str) {
        let Some(front) = self.check(Some((text, ExtraKind::Entry))) else {
            return;
        };
        let program = Program::Source(front);
        let Ok(core) = program.core(self.style) else {
            return;
        };
        let Some(entry) = core.entries.iter().rev().find(|entry| entry.name.as_str() == IT) else {
            return;
        };
        // Typed lines are short; waiting for a C compiler would cost more than it saves.
        let settings = RunSettings {
            backend: Some(Backend::Interp),
            ..RunSettings::default()
        };
        let result = Machine::new(&program, &core, &[entry], settings, &mut Times::new())
            .and_then(|machine| machine.call(&entry.name, Vec::new()));
        match result {
            Ok(value) => terminal::say(&print(
                &value,
                &entry.result,
                Extent::Abridged { longest: LONGEST },
            )),
            Err(diagnostic) => {
                program.report(&[diagnostic], self.style);
            }
        }
    }

    /// Checks all definitions, with one expression under the bindings. Errors are shown.
    fn check(&self, expression: Option<(&str, ExtraKind)>) -> Option<Front> {
        let definitions: Vec<&str> = self.definitions.iter().map(|one| one.text.as_str()).collect();
        let mut loaded = load(&self.path, &definitions.join("\n"), &Disk);
        let mut extras = Vec::new();
        if let Some((text, kind)) = expression {
            let text = match self.bindings.as_slice() {
                [] => text.to_owned(),
                bindings => format!("{}\nin\n{text}", bindings.join("\n")),
            };
            let file = loaded.sources.add("<input>", text.clone());
            let (expr, diagnostics) = parse_expr(file, &text);
            loaded.diagnostics.extend(diagnostics);
            extras.push(Extra {
                name: Name::from(IT),
                kind,
                expr,
            });
        }
        let front = front(loaded, extras);
        terminal::report(&front.diagnostics, &front.sources, self.style);
        (!front.has_errors()).then_some(front)
    }
}

fn defined_names(text: &str) -> Vec<Name> {
    let ReplInput::Items(items) = parse_repl(almach_base::FileId(0), text).input else {
        return Vec::new();
    };
    items.iter().flat_map(names_of).collect()
}

fn names_of(item: &Item) -> Vec<Name> {
    match item {
        Item::Def(def) => vec![def.name.name.clone()],
        Item::Data(data) => vec![data.name.name.clone()],
        Item::TypeAlias(alias) => vec![alias.name.name.clone()],
        Item::Foreign(foreign) => vec![foreign.name.name.clone()],
        Item::Import(_) | Item::Error(_) => Vec::new(),
    }
}
