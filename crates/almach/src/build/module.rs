//! Definitions.

use super::{Expr, NOWHERE, Pattern, Ty, ident};
use crate::error::Errors;
use crate::program::Program;
use almach_driver::{NoFiles, load_built};
use almach_syntax::ast;

/// When sizes that must agree, and are not known to, are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// Never: it is an error of the program, as in Almach.
    WhenChecked,
    /// When the program runs, as in NOVA: for languages without sizes in types.
    WhenRun,
}

/// The definitions of a program.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    text: String,
    sizes: Sizes,
    items: Vec<ast::Item>,
}

impl Module {
    /// An empty program; messages name it so.
    pub fn new(name: &str) -> Module {
        Module {
            name: name.to_owned(),
            text: String::new(),
            sizes: Sizes::WhenChecked,
            items: Vec::new(),
        }
    }

    /// The text it is built from, which messages show.
    #[must_use]
    pub fn source(mut self, text: &str) -> Module {
        self.text = text.to_owned();
        self
    }

    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Module {
        self.sizes = sizes;
        self
    }

    /// `entry name params: result = body`: a definition that can be called from outside.
    #[must_use]
    pub fn entry(
        self,
        name: &str,
        params: impl IntoIterator<Item = impl Into<Pattern>>,
        result: Ty,
        body: Expr,
    ) -> Module {
        self.define(
            ast::DefKind::Entry,
            ast::Recursive::No,
            name,
            params,
            Some(result),
            body,
        )
    }

    /// `def name params = body`.
    #[must_use]
    pub fn def(
        self,
        name: &str,
        params: impl IntoIterator<Item = impl Into<Pattern>>,
        result: Option<Ty>,
        body: Expr,
    ) -> Module {
        self.define(ast::DefKind::Def, ast::Recursive::No, name, params, result, body)
    }

    /// `def rec name params = body`.
    #[must_use]
    pub fn def_rec(
        self,
        name: &str,
        params: impl IntoIterator<Item = impl Into<Pattern>>,
        result: Option<Ty>,
        body: Expr,
    ) -> Module {
        self.define(ast::DefKind::Def, ast::Recursive::Yes, name, params, result, body)
    }

    fn define(
        mut self,
        kind: ast::DefKind,
        recursive: ast::Recursive,
        name: &str,
        params: impl IntoIterator<Item = impl Into<Pattern>>,
        result: Option<Ty>,
        body: Expr,
    ) -> Module {
        let params: Vec<ast::Param> = params.into_iter().map(|param| param.into().param()).collect();
        let mut sizes = Vec::new();
        for param in &params {
            if let ast::PatternKind::Ascribed(_, ty) = &param.pattern.kind {
                Ty::sizes(ty, &mut sizes);
            }
        }
        self.items.push(ast::Item::Def(ast::Def {
            kind,
            recursive,
            name: ident(name),
            sizes: sizes.iter().map(|size| ident(size)).collect(),
            params,
            result: result.map(|result| result.0),
            span: body.0.span,
            body: body.0,
        }));
        self
    }

    /// `data name 'params = constructors`, each with the types of its fields.
    #[must_use]
    pub fn data<'n>(
        mut self,
        name: &str,
        params: &[&str],
        constructors: impl IntoIterator<Item = (&'n str, Vec<Ty>)>,
    ) -> Module {
        let constructor = |(name, fields): (&str, Vec<Ty>)| ast::ConstructorDecl {
            name: ident(name),
            fields: fields.into_iter().map(|field| field.0).collect(),
            span: NOWHERE,
        };
        self.items.push(ast::Item::Data(ast::DataDecl {
            name: ident(name),
            params: params.iter().map(|param| ident(param)).collect(),
            constructors: constructors.into_iter().map(constructor).collect(),
            span: NOWHERE,
        }));
        self
    }

    /// `foreign name : ty`: a function in C.
    #[must_use]
    pub fn foreign(mut self, name: &str, ty: Ty) -> Module {
        self.items.push(ast::Item::Foreign(ast::Foreign {
            name: ident(name),
            ty: ty.0,
            span: NOWHERE,
        }));
        self
    }

    /// Checks what was built.
    pub fn finish(self) -> Result<Program, Errors> {
        let Module {
            name,
            text,
            sizes,
            items,
        } = self;
        let dialect = match sizes {
            Sizes::WhenChecked => ast::Dialect::Almach,
            Sizes::WhenRun => ast::Dialect::Nova,
        };
        let file = ast::File {
            dialect,
            items,
            tests: Vec::new(),
        };
        Program::checked(move || load_built(&name, &text, file, &NoFiles))
            .map_err(Errors::without_suggestions)
    }
}
