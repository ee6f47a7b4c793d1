//! Items: what stands at the top of a file.

use super::{Parse, Parser, Recovered};
use crate::ast::{ConstructorDecl, DataDecl, DefKind, Foreign, Ident, Import, Item, Recursive, TypeAlias};
use crate::codes;
use crate::token::Tok;
use almach_base::{Diagnostic, Span};

impl Parser<'_> {
    /// All items up to the end.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while self.peek() != Tok::Eof {
            self.recovered = Recovered::No;
            let start = self.here();
            match self.item() {
                Ok(item) => items.push(item),
                Err(_) => {
                    self.skip_to_item();
                    items.push(Item::Error(self.since(start)));
                    continue;
                }
            }
            let kind = self.peek();
            if kind != Tok::Eof && !self.starts_item_here() {
                if self.recovered == Recovered::No {
                    self.left_over("an operator, an argument or the next definition");
                }
                self.skip_to_item();
            }
        }
        items
    }

    fn skip_to_item(&mut self) {
        while self.peek() != Tok::Eof && !self.peek().starts_item() {
            self.bump();
        }
    }

    /// At an item's place the item words count wherever they stand on their line.
    fn item_kind(&self) -> Tok {
        let token = self.token();
        match token.kind {
            Tok::Lower => Tok::item_word(self.text_of(token)).unwrap_or(Tok::Lower),
            kind => kind,
        }
    }

    /// Whether what is here can only be the next item.
    fn starts_item_here(&self) -> bool {
        self.item_kind().starts_item()
    }

    /// One item. Something is always read, or an error is returned at a token that starts no item.
    fn item(&mut self) -> Parse<Item> {
        let start = self.here();
        match self.item_kind() {
            Tok::Def => {
                self.bump();
                self.def_item(start, DefKind::Def)
            }
            Tok::Entry => {
                self.bump();
                self.def_item(start, DefKind::Entry)
            }
            Tok::Data => self.data(start),
            Tok::Type => self.alias(start),
            Tok::Import => self.import(start),
            Tok::Foreign => self.foreign(start),
            Tok::Let => {
                let error = Diagnostic::error(
                    codes::OTHER_LANGUAGE,
                    start,
                    "`let` cannot stand at the top of a file",
                )
                .label("a definition here starts with `def`")
                .suggest(start, "def", "write `def`");
                self.report_about(error);
                self.bump();
                self.def_item(start, DefKind::Def)
            }
            Tok::Lower if self.is_foreign_definition() => {
                self.other_definition(start);
                self.def_item(start, DefKind::Def)
            }
            _ => {
                let failed = if self.peek().is_closer() {
                    self.left_over("a definition")
                } else {
                    let error = self
                        .unexpected_diagnostic("a definition")
                        .help("a file holds `def`, `entry`, `data`, `type`, `import` and `foreign`");
                    self.report(error)
                };
                self.bump();
                Err(failed)
            }
        }
    }

    /// `fun f x = …` and the like.
    fn is_foreign_definition(&self) -> bool {
        matches!(
            self.text_of(self.token()),
            "fun" | "fn" | "func" | "function" | "val" | "const" | "define"
        ) && self.peek_at(1) == Tok::Lower
    }

    fn other_definition(&mut self, place: Span) {
        let word = self.text_of(self.token());
        self.other_language(
            place,
            word,
            "def",
            "a definition at the top of a file starts with `def`",
        );
        self.bump();
    }

    fn def_item(&mut self, start: Span, kind: DefKind) -> Parse<Item> {
        let recursive = if self.eat(Tok::Rec) {
            Recursive::Yes
        } else {
            Recursive::No
        };
        self.def_after_keyword(start, kind, recursive).map(Item::Def)
    }

    fn type_params(&mut self) -> Vec<Ident> {
        let mut params = Vec::new();
        while self.peek() == Tok::TypeVar {
            params.push(self.type_variable());
        }
        params
    }

    fn data(&mut self, start: Span) -> Parse<Item> {
        self.bump();
        let name = self.upper("the name of a type")?;
        let params = self.type_params();
        self.expect_equals("a type variable or `=`")?;
        let mut constructors = Vec::new();
        self.eat(Tok::Bar);
        loop {
            constructors.push(self.constructor()?);
            if !self.eat(Tok::Bar) {
                break;
            }
        }
        Ok(Item::Data(DataDecl {
            name,
            params,
            constructors,
            span: self.since(start),
        }))
    }

    fn constructor(&mut self) -> Parse<ConstructorDecl> {
        let start = self.here();
        let name = self.upper("a constructor")?;
        let mut fields = Vec::new();
        while self.starts_type_atom() {
            fields.push(self.type_atom()?);
        }
        Ok(ConstructorDecl {
            name,
            fields,
            span: self.since(start),
        })
    }

    fn alias(&mut self, start: Span) -> Parse<Item> {
        self.bump();
        let name = self.upper("the name of a type")?;
        let params = self.type_params();
        self.expect_equals("a type variable or `=`")?;
        let ty = self.ty()?;
        Ok(Item::TypeAlias(TypeAlias {
            name,
            params,
            ty,
            span: self.since(start),
        }))
    }

    fn import(&mut self, start: Span) -> Parse<Item> {
        self.bump();
        let path_span = self.here();
        let path = self.text_literal("the path of a file in quotes")?;
        let names_module = self.peek() == Tok::Lower && self.text_of(self.token()) == "as";
        let alias = if names_module {
            self.bump();
            Some(self.upper("a capitalised name for the module")?)
        } else {
            None
        };
        Ok(Item::Import(Import {
            path: path.as_str().to_string(),
            path_span,
            alias,
            span: self.since(start),
        }))
    }

    fn foreign(&mut self, start: Span) -> Parse<Item> {
        self.bump();
        let name = self.binder("the name of a C function")?;
        if self.peek() != Tok::Colon {
            return Err(self.unexpected("`:` and a type"));
        }
        self.bump();
        let ty = self.ty()?;
        Ok(Item::Foreign(Foreign {
            name,
            ty,
            span: self.since(start),
        }))
    }
}
