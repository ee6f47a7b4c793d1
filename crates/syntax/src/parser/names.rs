//! Names: binders, paths, annotations.

use super::{Failed, Parse, Parser};
use crate::ast::{Expr, ExprKind, Ident, Path};
use crate::codes;
use crate::paper_names::{Part, add_part, annotation_word, at_dimension, paper_name};
use crate::token::{Tok, Token};
use almach_base::{Diagnostic, Name, Span};
use almach_prim::Annotation;

impl Parser<'_> {
    pub(super) fn ident_of(&mut self, token: Token) -> Ident {
        Ident {
            name: self.name(token),
            span: token.span(self.file),
        }
    }

    /// A name that is being bound: of a function, a size, a loop's index.
    pub(super) fn binder(&mut self, what: &str) -> Parse<Ident> {
        if self.peek() != Tok::Lower {
            return Err(self.not_a_binder(what));
        }
        let token = self.bump();
        self.check_binder(token);
        Ok(self.ident_of(token))
    }

    /// The papers' names mean annotated operations wherever they stand, so nothing else can be called that.
    pub(super) fn check_binder(&mut self, token: Token) {
        let text = self.text_of(token);
        if let Some((operation, level)) = paper_name(text) {
            let error = Diagnostic::error(
                codes::RESERVED_NAME,
                token.span(self.file),
                format!("`{text}` cannot be defined: it is another spelling of `{operation}@{level}`"),
            )
            .label("choose another name");
            self.report_about(error);
        }
    }

    fn not_a_binder(&mut self, what: &str) -> Failed {
        let error = self.unexpected_diagnostic(what);
        let kind = self.peek();
        let error = match kind {
            Tok::Upper => error.help(
                "names of values begin with a lower-case letter; capitals are for types and constructors",
            ),
            _ if kind.is_keyword() && kind != Tok::Underscore => {
                error.help(format!("{} is a keyword and cannot be a name", kind.describe()))
            }
            _ => error,
        };
        self.report(error)
    }

    pub(super) fn upper(&mut self, what: &str) -> Parse<Ident> {
        if self.peek() == Tok::Upper {
            let token = self.bump();
            return Ok(self.ident_of(token));
        }
        let error = self.unexpected_diagnostic(what);
        let error = match self.peek() {
            Tok::Lower => error.help("names of types and constructors begin with a capital letter"),
            _ => error,
        };
        Err(self.report(error))
    }

    /// `'a`, as a name without the quote.
    pub(super) fn type_variable(&mut self) -> Ident {
        let token = self.bump();
        let text = self.text_of(token);
        Ident {
            name: Name::from(text.strip_prefix('\'').unwrap_or(text)),
            span: token.span(self.file),
        }
    }

    /// Whether `M.x` starts here, and not a constructor by itself.
    fn qualifier_here(&self) -> bool {
        let dot = self.token_at(self.at + 1);
        let name = self.token_at(self.at + 2);
        dot.kind == Tok::Dot
            && dot.is_glued()
            && name.is_glued()
            && matches!(name.kind, Tok::Lower | Tok::Upper)
    }

    /// A path that starts with a capital: `Some`, `M.Some`, `M.f`. Also says what its last name is.
    pub(super) fn upper_path(&mut self) -> (Path, Tok) {
        let qualified = self.qualifier_here();
        let first = self.bump();
        let first_ident = self.ident_of(first);
        if !qualified {
            let span = first_ident.span;
            let path = Path {
                qualifier: None,
                name: first_ident,
                span,
            };
            return (path, Tok::Upper);
        }
        self.bump();
        let last = self.bump();
        let name = self.ident_of(last);
        let span = first_ident.span.to(name.span);
        let path = Path {
            qualifier: Some(first_ident),
            name,
            span,
        };
        (path, last.kind)
    }

    /// A lower-case name with the annotations behind it.
    pub(super) fn lower_name(&mut self) -> Parse<Expr> {
        let token = self.bump();
        let mut name = self.ident_of(token);
        let span = name.span;
        let mut annotation = Annotation::NONE;
        if let Some((operation, level)) = paper_name(&name.name) {
            name.name = Name::from(operation);
            annotation.level = Some(level);
        }
        let path = Path {
            qualifier: None,
            name,
            span,
        };
        self.annotated(path, annotation)
    }

    /// The path, with `@…` where they follow.
    pub(super) fn annotated(&mut self, name: Path, mut annotation: Annotation) -> Parse<Expr> {
        let start = name.span;
        while self.peek() == Tok::At && self.token().is_glued() {
            self.bump();
            self.annotation_part(&mut annotation)?;
        }
        let span = self.since(start);
        let kind = if annotation.is_none() {
            ExprKind::Var(name)
        } else {
            ExprKind::Annotated { name, annotation }
        };
        Ok(Expr { kind, span })
    }

    fn annotation_part(&mut self, annotation: &mut Annotation) -> Parse<()> {
        let token = self.token();
        let text = self.text_of(token);
        let Some(mut part) = annotation_word(text).filter(|_| token.is_glued()) else {
            return Err(self.unknown_annotation());
        };
        self.bump();
        let mut span = token.span(self.file);
        if let Some((dimension, dimension_span)) = self.dimension() {
            span = span.to(dimension_span);
            let at = match part {
                Part::Level(level) => dimension.and_then(|dimension| at_dimension(level, dimension)),
                Part::Effect(_) | Part::Chunk(_) => None,
            };
            match at {
                Some(level) => part = Part::Level(level),
                None => self.bad_dimension(text, span),
            }
        }
        if let Err(what) = add_part(annotation, part) {
            let error = Diagnostic::error(
                codes::BAD_ANNOTATION,
                span,
                format!("this is a second {what} on one operation"),
            )
            .label(format!("the operation has its {what} already"))
            .help(
                "one level (`@seq @vec @par @grid @group @local`), one chunk (`@4096`) and one effect (`@S @D @E`) may be written",
            );
            self.report_about(error);
        }
        Ok(())
    }

    /// `.1` behind a level.
    fn dimension(&mut self) -> Option<(Option<u32>, Span)> {
        let dot = self.token();
        let digits = self.token_at(self.at + 1);
        if dot.kind == Tok::Dot && dot.is_glued() && digits.kind == Tok::Int && digits.is_glued() {
            self.bump();
            self.bump();
            let dimension = self.text_of(digits).parse().ok();
            return Some((dimension, digits.span(self.file)));
        }
        None
    }

    fn bad_dimension(&mut self, word: &str, span: Span) {
        let error = Diagnostic::error(
            codes::BAD_ANNOTATION,
            span,
            format!("`@{word}` does not have this dimension"),
        )
        .label("no such dimension")
        .help("`@grid`, `@group` and `@local` have dimensions 0, 1 and 2; the others have none");
        self.report_about(error);
    }

    fn unknown_annotation(&mut self) -> Failed {
        let found = self.describe_found();
        let error = Diagnostic::error(
            codes::BAD_ANNOTATION,
            self.here(),
            format!("expected a level, a chunk or an effect after `@`, found {found}"),
        )
        .label("not an annotation")
        .help("levels are `@seq @vec @par @grid @group @local`, a chunk is a number of at least 1, effects are `@S @D @E`");
        self.report(error)
    }
}
