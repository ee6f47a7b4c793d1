//! Files and their items.

use super::Printer;
use super::doc::{Doc, Lines, choice, concat, group, nest, text};
use super::leaf::string_text;
use super::types::Place;
use crate::ast::{ConstructorDecl, DataDecl, File, Ident, Item};
use almach_base::Span;

impl Printer<'_> {
    /// All items and comments, with the empty lines that stand between them in the source, but never two.
    pub(super) fn file(&mut self, file: &File) -> Doc {
        let mut docs = Vec::new();
        for (at, item) in file.items.iter().enumerate() {
            let span = item_span(item);
            if at > 0 {
                docs.push(self.comments.line_before(span.start));
            }
            docs.push(self.comments.before_block(span.start));
            docs.push(self.item(item));
            docs.push(self.comments.after(span.end));
            self.comments.printed_to(span.end);
        }
        if !file.items.is_empty() {
            docs.push(self.comments.line_before(u32::MAX));
        }
        docs.push(self.comments.rest());
        concat(docs)
    }

    fn item(&mut self, item: &Item) -> Doc {
        match item {
            Item::Def(def) => self.def(Self::def_keyword(def), def),
            Item::Data(data) => self.data(data),
            Item::TypeAlias(alias) => {
                let head = declared("type", &alias.name, &alias.params);
                let ty = self.ty(&alias.ty);
                concat([text(format!("{head} =")), group(nest(2, concat([Doc::Line, ty])))])
            }
            Item::Import(import) => {
                let path = string_text(import.path.as_bytes());
                text(match &import.alias {
                    Some(alias) => format!("import {path} as {}", alias.name),
                    None => format!("import {path}"),
                })
            }
            Item::Foreign(foreign) => {
                let ty = self.ty(&foreign.ty);
                let head = text(format!("foreign {} :", foreign.name.name));
                concat([head, group(nest(2, concat([Doc::Line, ty])))])
            }
            Item::Error(_) => concat([]),
        }
    }

    /// On one line, or one constructor to a line, the first behind a `|` too.
    fn data(&mut self, data: &DataDecl) -> Doc {
        let lines = self.lines(data.span.start, data.span.end);
        let head = declared("data", &data.name, &data.params);
        let constructors: Vec<Doc> = data
            .constructors
            .iter()
            .map(|constructor| {
                let lead = self.comments.before(constructor.span.start);
                concat([lead, self.constructor(constructor)])
            })
            .collect();
        let mut on_one_line = vec![text(format!("{head} = "))];
        let mut on_several = vec![text(format!("{head} ="))];
        for (at, constructor) in constructors.into_iter().enumerate() {
            if at > 0 {
                on_one_line.push(text(" | "));
            }
            on_one_line.push(constructor.clone());
            on_several.push(nest(2, concat([Doc::HardLine, text("| "), constructor])));
        }
        match lines {
            Lines::One => choice(group(concat(on_one_line)), concat(on_several)),
            Lines::Several => concat(on_several),
        }
    }

    fn constructor(&mut self, constructor: &ConstructorDecl) -> Doc {
        let mut docs = vec![text(constructor.name.name.to_string())];
        for field in &constructor.fields {
            docs.push(Doc::Line);
            docs.push(self.type_at(field, Place::Argument));
        }
        let trail = self.comments.after(constructor.span.end);
        concat([group(nest(2, concat(docs))), trail])
    }
}

fn declared(keyword: &str, name: &Ident, params: &[Ident]) -> String {
    let params: String = params.iter().map(|param| format!(" '{}", param.name)).collect();
    format!("{keyword} {}{params}", name.name)
}

fn item_span(item: &Item) -> Span {
    match item {
        Item::Def(def) => def.span,
        Item::Data(data) => data.span,
        Item::TypeAlias(alias) => alias.span,
        Item::Import(import) => import.span,
        Item::Foreign(foreign) => foreign.span,
        Item::Error(span) => *span,
    }
}
