//! A file: inputs, `types`, `foreign`, and the expression that is the program.

use crate::BUILT_INS_NAME;
use crate::codes;
use crate::constructors::declared;
use crate::lexer::{Kind, lex};
use crate::reader::{Failed, Read, Reader, binder, describe, ident};
use crate::tree::{List, Tree, trees};
use almach_base::{Diagnostic, FileId, Span};
use almach_syntax::ast::{
    DataDecl, Def, DefKind, Dialect, Expr, File, Foreign, Ident, Import, Item, Param, Pattern, PatternKind,
    Recursive, TypeAlias,
};
use almach_syntax::{Parsed, tests_in_comments};

/// The name of the entry point that a program is.
const ENTRY: &str = "main";

const INPUTS: &str = "inputs are `((x : int) (ys : vector float))`, and `()` where there are none";
const TYPES: &str = "types are `(types (Name : int) (Sum 'a : (+ (A : 'a) (B : unit))))`";
const FOREIGN: &str = "foreign functions are `(foreign (f : int -> int))`";
const PROGRAM: &str =
    "a program is its inputs, `types` and `foreign` where it needs them, and one expression";

/// Reads a `.nova` file. The result is the whole file, with error nodes where something could not be read.
pub fn read_file(file: FileId, text: &str) -> Parsed {
    if u32::try_from(text.len()).is_err() {
        return too_large(file);
    }
    let lexed = lex(file, text);
    let mut reader = Reader::new(lexed.errors);
    let whole = Span::new(file, 0, text.len());
    let items = match trees(&lexed.tokens, &mut reader.errors) {
        Some(forms) => reader.program(&forms, whole),
        None => vec![Item::Error(whole)],
    };
    Parsed {
        file: File {
            dialect: Dialect::Nova,
            items,
            tests: tests_in_comments(text, &lexed.comments, ";"),
        },
        diagnostics: reader.errors.into_sorted(),
        comments: lexed.comments,
    }
}

fn too_large(file: FileId) -> Parsed {
    let start = Span::new(file, 0, 0);
    let diagnostic = Diagnostic::error(codes::FILE_TOO_LARGE, start, "this file is larger than 4 GiB")
        .label("the file starts here")
        .help("large data belongs in a file of its own, given to the program as an argument");
    Parsed {
        file: File {
            dialect: Dialect::Nova,
            items: vec![Item::Error(start)],
            tests: Vec::new(),
        },
        diagnostics: vec![diagnostic],
        comments: Vec::new(),
    }
}

/// The forms of a file, sorted by what they are.
#[derive(Default)]
struct Sections<'t, 's> {
    inputs: Option<&'t List<'s>>,
    types: Vec<&'t List<'s>>,
    foreign: Vec<&'t List<'s>>,
    program: Option<&'t Tree<'s>>,
}

impl<'s> Reader<'s> {
    fn program(&mut self, forms: &[Tree<'s>], whole: Span) -> Vec<Item> {
        let Ok(sections) = self.sections(forms, whole) else {
            return vec![Item::Error(whole)];
        };
        let mut items = vec![built_ins(whole)];
        for section in &sections.types {
            for declaration in section.items.iter().skip(1) {
                let item = self.type_declaration(declaration);
                items.push(item.unwrap_or(Item::Error(declaration.span())));
            }
        }
        for section in &sections.foreign {
            for declaration in section.items.iter().skip(1) {
                let item = self.foreign_declaration(declaration);
                items.push(item.unwrap_or(Item::Error(declaration.span())));
            }
        }
        items.push(self.entry(&sections, whole));
        items
    }

    fn sections<'t>(&mut self, forms: &'t [Tree<'s>], whole: Span) -> Read<Sections<'t, 's>> {
        let mut sections = Sections::default();
        let several = forms.iter().filter(|form| keyword(form).is_none()).count() > 1;
        for form in forms {
            match (keyword(form), form.list()) {
                (Some("types"), Some(list)) => sections.types.push(list),
                (Some(_), Some(list)) => sections.foreign.push(list),
                (None, Some(list))
                    if is_inputs(list, several && sections.inputs.is_none())
                        && sections.program.is_none() =>
                {
                    if sections.inputs.is_some() {
                        return self.wrong_section(list.span, "the program has its inputs already", INPUTS);
                    }
                    sections.inputs = Some(list);
                }
                _ => match sections.program {
                    None => sections.program = Some(form),
                    Some(_) => {
                        return self.wrong_section(
                            form.span(),
                            "the program has its expression already",
                            PROGRAM,
                        );
                    }
                },
            }
            if keyword(form).is_some() && sections.program.is_some() {
                return self.wrong_section(
                    form.span(),
                    "this section stands behind the program's expression",
                    PROGRAM,
                );
            }
        }
        if sections.program.is_none() {
            let end = Span {
                start: whole.end,
                ..whole
            };
            let place = forms.last().map_or(end, Tree::span);
            return self.wrong_section(place, "the program has no expression", PROGRAM);
        }
        Ok(sections)
    }

    fn wrong_section<T>(&mut self, span: Span, title: &str, help: &str) -> Read<T> {
        self.fail(codes::NOVA_SECTION, span, title, "", help)
    }

    /// `(Name 'a : type)`: a sum with its constructors, or another name for a type.
    fn type_declaration(&mut self, tree: &Tree<'s>) -> Read<Item> {
        let Some(list) = tree.list() else {
            let found = describe(tree);
            return self.wrong_type(
                tree.span(),
                format!("expected a declaration in brackets, found {found}"),
                TYPES,
            );
        };
        let colon = list.items.iter().position(|item| item.is(Kind::Colon));
        let (Some(colon), Some(name)) = (colon, list.items.first()) else {
            return self.wrong_type(list.span, "this declaration has no `:`", TYPES);
        };
        let (_, name) = self.capital_name(name, "the name of a type")?;
        let mut params = Vec::new();
        for param in list.items.get(1..colon).unwrap_or_default() {
            match param.token().filter(|token| token.kind == Kind::TypeVar) {
                Some(token) => params.push(ident(token.text, token.span)),
                None => {
                    let found = describe(param);
                    return self.wrong_type(
                        param.span(),
                        format!("expected a type variable or `:`, found {found}"),
                        TYPES,
                    );
                }
            }
        }
        let meaning = list.items.get(colon + 1..).unwrap_or_default();
        match constructors_of(meaning) {
            Some(constructors) => self.sum(name, params, constructors, list.span),
            None => Ok(Item::TypeAlias(TypeAlias {
                name,
                params,
                ty: self.ty(meaning, list.span)?,
                span: list.span,
            })),
        }
    }

    fn sum(&mut self, name: Ident, params: Vec<Ident>, constructors: &[Tree<'s>], span: Span) -> Read<Item> {
        if constructors.is_empty() {
            return self.wrong_type(span, "this sum has no constructors", TYPES);
        }
        let mut decls = Vec::new();
        for tree in constructors {
            let parts = tree.list().map(|list| list.items.as_slice());
            let Some([constructor, colon, payload @ ..]) = parts.filter(|parts| is_typed(parts)) else {
                return self.wrong_type(tree.span(), "expected a constructor with its type", TYPES);
            };
            let (word, constructor) = self.capital_name(constructor, "a constructor")?;
            let payload = self.type_or_error(payload, colon.span());
            let (decl, payload) = declared(constructor, payload, tree.span());
            self.constructors.insert(word, payload);
            decls.push(decl);
        }
        Ok(Item::Data(DataDecl {
            name,
            params,
            constructors: decls,
            span,
        }))
    }

    fn foreign_declaration(&mut self, tree: &Tree<'s>) -> Read<Item> {
        let parts = tree.list().map(|list| list.items.as_slice());
        let Some([name, colon, ty @ ..]) = parts.filter(|parts| is_typed(parts)) else {
            return self.wrong_section(tree.span(), "expected a function with its type", FOREIGN);
        };
        let (_, name) = self.name(name, "the name of a foreign function")?;
        Ok(Item::Foreign(Foreign {
            name,
            ty: self.ty(ty, colon.span())?,
            span: tree.span(),
        }))
    }

    /// The inputs are the parameters of the entry point.
    fn entry(&mut self, sections: &Sections<'_, 's>, whole: Span) -> Item {
        let mut params = Vec::new();
        let mut names = Vec::new();
        let mut complete = true;
        for tree in sections.inputs.map_or(&[][..], |list| &list.items) {
            match self.input(tree) {
                Ok((name, param)) => {
                    names.push(name);
                    params.push(param);
                }
                Err(Failed) => complete = false,
            }
        }
        let span = sections.program.map_or(whole, Tree::span);
        let body: Expr = self.binding(&names, |this| match sections.program {
            Some(form) => this.expr_or_error(std::slice::from_ref(form), span),
            None => crate::reader::error(whole),
        });
        if !complete {
            return Item::Error(span);
        }
        Item::Def(Def {
            kind: DefKind::Entry,
            recursive: Recursive::No,
            name: ident(ENTRY, span),
            sizes: Vec::new(),
            params,
            result: None,
            body,
            span,
        })
    }

    fn input(&mut self, tree: &Tree<'s>) -> Read<(&'s str, Param)> {
        let parts = tree.list().map(|list| list.items.as_slice());
        let Some([name, colon, ty @ ..]) = parts.filter(|parts| is_typed(parts)) else {
            return self.wrong_section(tree.span(), "expected an input with its type", INPUTS);
        };
        let (word, name) = self.name(name, "an input")?;
        let ty = self.ty(ty, colon.span())?;
        let pattern = Pattern {
            span: tree.span(),
            kind: PatternKind::Ascribed(Box::new(binder(word, name.span)), ty),
        };
        Ok((word, Param { pattern }))
    }
}

/// NOVA's built-ins are found before Almach's.
fn built_ins(whole: Span) -> Item {
    let start = Span {
        end: whole.start,
        ..whole
    };
    Item::Import(Import {
        path: BUILT_INS_NAME.to_owned(),
        path_span: start,
        alias: None,
        span: start,
    })
}

/// The word that starts a section.
fn keyword<'s>(form: &Tree<'s>) -> Option<&'s str> {
    form.list()?
        .items
        .first()?
        .word()
        .filter(|word| matches!(*word, "types" | "foreign"))
}

/// `(x : …)`.
fn is_typed(parts: &[Tree<'_>]) -> bool {
    parts.get(1).is_some_and(|colon| colon.is(Kind::Colon))
}

/// Lists of names with types. Where another form is the expression, a list of lists is meant as inputs even if a type is missing.
fn is_inputs(list: &List<'_>, another_expression: bool) -> bool {
    let all_lists = list.items.iter().all(|item| item.list().is_some());
    let typed = list
        .items
        .first()
        .and_then(Tree::list)
        .is_some_and(|first| is_typed(&first.items));
    all_lists && (typed || another_expression)
}

/// The constructors of `(+ (A : t) (B : u))`, with or without the brackets.
fn constructors_of<'t, 's>(items: &'t [Tree<'s>]) -> Option<&'t [Tree<'s>]> {
    match items {
        [Tree::List(list)] => constructors_of(&list.items),
        [plus, rest @ ..] if plus.is_symbol("+") => Some(rest),
        _ => None,
    }
}
