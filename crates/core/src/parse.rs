//! Core from text, as [`crate::print`] writes it. See there for the syntax.
//!
//! Names may be hidden here, which the printer never does: every binder gets a number of its own, so tests may use
//! short names freely. What is read is not checked; the checker does that.

mod entry;
mod exp;
mod lex;
mod ty;

use crate::ir::{
    Body, ConstructorDef, DataDef, DataId, ForeignDef, FunId, Function, Param, Program, Recursive,
    ResultType, Type, Var,
};
use crate::names::is_reserved;
use crate::typing::Supply;
use almach_base::{Diagnostic, FileId, Name, Span};
use lex::{Token, TokenKind};
use std::collections::HashMap;

/// Bodies and types nested deeper than this are refused rather than followed to the end of the stack.
const MAX_DEPTH: usize = 5_000;

/// Reads a program. Statements without a place of their own get that of their text.
pub fn parse_program(text: &str, file: FileId) -> Result<Program, Box<Diagnostic>> {
    let tokens = lex::tokens(text, file)?;
    let mut parser = Parser::new(text, tokens, file);
    parser.declare();
    parser.program()
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    file: FileId,
    depth: usize,
    supply: Supply,
    /// What each name means now, the innermost last, with the data type of what it holds.
    scope: HashMap<&'t str, Vec<(Var, Option<DataId>)>>,
    /// Names bound, in order, to leave scopes.
    trail: Vec<&'t str>,
    data: HashMap<&'t str, DataId>,
    /// By constructor, for expressions that come before a definition is read whole.
    constructors: Vec<Vec<Name>>,
    foreign: HashMap<&'t str, u32>,
    functions: HashMap<&'t str, FunId>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, tokens: Vec<Token>, file: FileId) -> Parser<'t> {
        Parser {
            text,
            tokens,
            at: 0,
            file,
            depth: 0,
            supply: Supply::starting_at(0),
            scope: HashMap::new(),
            trail: Vec::new(),
            data: HashMap::new(),
            constructors: Vec::new(),
            foreign: HashMap::new(),
            functions: HashMap::new(),
        }
    }

    /// Finds the names of all definitions: they may be used before they are read.
    fn declare(&mut self) {
        let (mut data, mut foreign, mut functions) = (0, 0, 0);
        for at in 0..self.tokens.len() {
            let name_at = |offset: usize| {
                let token = self.tokens.get(at + offset)?;
                (token.kind == TokenKind::Word).then(|| token.text(self.text))
            };
            let (Some(keyword), Some(name)) = (name_at(0), name_at(1)) else {
                continue;
            };
            match (keyword, name) {
                ("data", "rec") => {
                    if let Some(name) = name_at(2) {
                        self.data.insert(name, DataId(data));
                        data += 1;
                    }
                }
                ("data", name) => {
                    self.data.insert(name, DataId(data));
                    data += 1;
                }
                ("foreign", name) => {
                    self.foreign.insert(name, foreign);
                    foreign += 1;
                }
                ("fun", name) => {
                    self.functions.insert(name, FunId(functions));
                    functions += 1;
                }
                _ => {}
            }
        }
    }

    fn program(&mut self) -> Parsed<Program> {
        let mut program = Program::default();
        while let Some(token) = self.peek() {
            match token.text(self.text) {
                "data" => program.data.push(self.data_def()?),
                "foreign" => program.foreign.push(self.foreign_def()?),
                "fun" => program.functions.push(self.function()?),
                "entry" => program.entries.push(self.entry()?),
                _ => return Err(self.expected("`data`, `foreign`, `fun` or `entry`")),
            }
        }
        program.next_var = self.supply.next_var();
        Ok(program)
    }

    fn data_def(&mut self) -> Parsed<DataDef> {
        self.keyword("data")?;
        let recursive = match self.eat("rec") {
            true => Recursive::Yes,
            false => Recursive::No,
        };
        let name = self.identifier("the name of a data type")?;
        let mut parts = Vec::new();
        while self.eat("{") {
            let whole = self.data_type()?;
            self.symbol(":")?;
            parts.push((whole, self.data_type()?));
            self.symbol("}")?;
        }
        self.symbol("=")?;
        let mut constructors = Vec::new();
        // A type without constructors ends at once.
        if self.at_definition_end() {
            self.constructors.push(Vec::new());
            return Ok(DataDef {
                name: name.into(),
                recursive,
                constructors,
                parts,
            });
        }
        loop {
            let name = self.name("a constructor")?;
            let mut fields = Vec::new();
            while !self.is("|") && !self.at_definition_end() {
                fields.push(self.ty()?);
            }
            constructors.push(ConstructorDef { name, fields });
            if !self.eat("|") {
                break;
            }
        }
        self.constructors.push(
            constructors
                .iter()
                .map(|constructor| constructor.name.clone())
                .collect(),
        );
        Ok(DataDef {
            name: name.into(),
            recursive,
            constructors,
            parts,
        })
    }

    fn at_definition_end(&self) -> bool {
        self.peek().is_none()
            || ["data", "foreign", "fun", "entry"]
                .iter()
                .any(|word| self.is(word))
    }

    fn foreign_def(&mut self) -> Parsed<ForeignDef> {
        let start = self.position();
        self.keyword("foreign")?;
        let name = self.identifier("the name of a foreign function")?;
        let mark = self.trail.len();
        let context = self.context()?;
        let params = self.params()?;
        self.symbol(":")?;
        let result = self.result()?;
        self.leave(mark);
        Ok(ForeignDef {
            name: name.into(),
            context,
            params,
            result,
            span: self.span_from(start),
        })
    }

    fn function(&mut self) -> Parsed<Function> {
        let start = self.position();
        self.keyword("fun")?;
        let name = self.identifier("the name of a function")?;
        let mark = self.trail.len();
        let context = self.context()?;
        let params = self.params()?;
        self.symbol(":")?;
        let result = self.result()?;
        let span = self.span_from(start);
        self.symbol("=")?;
        let body = self.body()?;
        self.leave(mark);
        Ok(Function {
            name: name.into(),
            context,
            params,
            result,
            body,
            span,
        })
    }

    /// `{n, m}`, or nothing.
    fn context(&mut self) -> Parsed<Vec<Var>> {
        if !self.eat("{") {
            return Ok(Vec::new());
        }
        self.list("}", |parser| parser.binder(None))
    }

    /// `(x: t, y: u)`. A type may mention any of the parameters, so they are bound before their types are read.
    fn params(&mut self) -> Parsed<Vec<Param>> {
        self.symbol("(")?;
        let start = self.at;
        let binders = self.skim_params()?;
        self.at = start;
        let mut binders = binders.into_iter();
        self.list(")", |parser| {
            parser.identifier("a parameter")?;
            parser.symbol(":")?;
            let ty = parser.ty()?;
            let var = match binders.next() {
                Some(var) => var,
                None => parser.supply.fresh("missing"),
            };
            parser.note_data(&var, &ty);
            Ok(Param { var, ty })
        })
    }

    /// Binds the names of parameters: those before a `:` outside brackets, up to the closing parenthesis.
    fn skim_params(&mut self) -> Parsed<Vec<Var>> {
        let mut binders = Vec::new();
        let mut depth = 0;
        let mut first = true;
        loop {
            let Some(token) = self.peek() else {
                return Err(self.expected("`)`"));
            };
            let text = token.text(self.text);
            match text {
                ")" if depth == 0 => return Ok(binders),
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ if depth == 0 && first => {
                    binders.push(self.binder(None)?);
                    first = false;
                    continue;
                }
                _ => {}
            }
            first = depth == 0 && text == ",";
            self.at += 1;
        }
    }

    /// Remembers which data a variable holds.
    fn note_data(&mut self, var: &Var, ty: &Type) {
        if let Type::Data(id) | Type::Node(id) = ty
            && let Some(meanings) = self.scope.get_mut(var.name.as_str())
            && let Some((bound, data)) = meanings.last_mut()
            && bound == var
        {
            *data = Some(*id);
        }
    }

    /// A name that is bound here.
    fn binder(&mut self, data: Option<DataId>) -> Parsed<Var> {
        let name = self.identifier("a name")?;
        let var = self.supply.fresh(name);
        self.bind(name, var.clone(), data);
        Ok(var)
    }

    fn bind(&mut self, name: &'t str, var: Var, data: Option<DataId>) {
        self.scope.entry(name).or_default().push((var, data));
        self.trail.push(name);
    }

    fn leave(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some(name) = self.trail.pop()
                && let Some(meanings) = self.scope.get_mut(name)
            {
                meanings.pop();
            }
        }
    }

    /// A declared result; its context is in scope in its types only.
    fn result(&mut self) -> Parsed<ResultType> {
        let mark = self.trail.len();
        let context = self.context()?;
        let types = self.several(Parser::ty)?;
        self.leave(mark);
        Ok(ResultType { context, types })
    }

    fn body(&mut self) -> Parsed<Body> {
        self.deeper(|parser| {
            let mark = parser.trail.len();
            let mut stmts = Vec::new();
            while parser.is("let") {
                stmts.push(parser.stmt()?);
            }
            if !stmts.is_empty() {
                parser.keyword("in")?;
            }
            let context = match parser.eat("{") {
                true => parser.list("}", Parser::atom)?,
                false => Vec::new(),
            };
            let values = parser.several(Parser::atom)?;
            parser.leave(mark);
            Ok(Body {
                stmts,
                context,
                values,
            })
        })
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Parser<'t>) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("more than {MAX_DEPTH} levels inside each other")));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Items up to a closing bracket, which it takes.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Parser<'t>) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(",") && !self.is(close) {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
        Ok(items)
    }

    /// Whether the bracket that was just closed has a comma before it.
    fn follows_comma(&self) -> bool {
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        before.is_some_and(|token| token.text(self.text) == ",")
    }

    /// One item alone, or none or several in `< >`.
    fn several<T>(&mut self, mut item: impl FnMut(&mut Parser<'t>) -> Parsed<T>) -> Parsed<Vec<T>> {
        if self.eat("<") {
            return self.list(">", item);
        }
        Ok(vec![item(self)?])
    }

    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<&'t str> {
        self.tokens.get(self.at + 1).map(|token| token.text(self.text))
    }

    /// The next token's text; empty at the end.
    fn word(&self) -> &'t str {
        self.peek().map_or("", |token| token.text(self.text))
    }

    fn is(&self, text: &str) -> bool {
        self.peek()
            .is_some_and(|token| token.kind != TokenKind::Text && token.text(self.text) == text)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.at += 1;
        }
        found
    }

    fn symbol(&mut self, text: &str) -> Parsed<()> {
        if self.eat(text) {
            return Ok(());
        }
        Err(self.expected(&format!("`{text}`")))
    }

    fn keyword(&mut self, text: &str) -> Parsed<()> {
        self.symbol(text)
    }

    fn identifier(&mut self, what: &str) -> Parsed<&'t str> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Word && !is_reserved(token.text(self.text)) => {
                self.at += 1;
                Ok(token.text(self.text))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// An identifier, or any name in quotes.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Text => self.string(),
            _ => self.identifier(what).map(Name::from),
        }
    }

    fn string(&mut self) -> Parsed<Name> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Text => {
                let text =
                    lex::unquote(token.text(self.text)).ok_or_else(|| self.expected("a text in quotes"))?;
                self.at += 1;
                Ok(text.into())
            }
            _ => Err(self.expected("a text in quotes")),
        }
    }

    /// Where the next token starts.
    fn position(&self) -> usize {
        self.peek().map_or(self.text.len(), |token| token.start)
    }

    fn span_from(&self, start: usize) -> Span {
        let end = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map_or(start, |token| token.end);
        Span::new(self.file, start, end.max(start))
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        match self.peek() {
            Some(token) => self.error(format!("expected {what}, found `{}`", token.text(self.text))),
            None => self.error(format!("expected {what}, found the end")),
        }
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        let (start, end) = self.peek().map_or((self.text.len(), self.text.len()), |token| {
            (token.start, token.end)
        });
        self.error_at(start, end, message)
    }

    fn error_at(&self, start: usize, end: usize, message: impl Into<String>) -> Box<Diagnostic> {
        lex::error(Span::new(self.file, start, end), message)
    }
}
