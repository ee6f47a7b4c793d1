//! Statements and expressions.

use super::lex::TokenKind;
use super::{Parsed, Parser};
use crate::ir::{
    Arm, Atom, DataId, Exp, ForeignId, InPlace, Lambda, Loop, LoopForm, Op, Param, Pattern, SlicePart, Stmt,
};
use crate::names::{BinaryForm, binary, ternary, unary};
use almach_base::{FileId, Span};
use almach_prim::{Annotation, Effect, Level, Prim};

impl<'t> Parser<'t> {
    pub(super) fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.position();
        self.keyword("let")?;
        let written = match self.eat("@") {
            true => Some(self.written_span()?),
            false => None,
        };
        // The names are bound after the expression, but their types are read before: remember and bind later.
        let mark = self.trail.len();
        let pattern = self.pattern()?;
        let bound = self.hide(mark);
        self.symbol("=")?;
        let exp = self.exp()?;
        for (name, var, data) in bound {
            self.bind(name, var, data);
        }
        Ok(Stmt {
            pattern,
            exp,
            span: written.unwrap_or_else(|| self.span_from(start)),
        })
    }

    /// Takes the names bound since out of scope, to bind them again later.
    fn hide(&mut self, mark: usize) -> Vec<(&'t str, crate::ir::Var, Option<DataId>)> {
        let names: Vec<&'t str> = self.trail.drain(mark..).collect();
        let mut hidden = Vec::with_capacity(names.len());
        for name in names.into_iter().rev() {
            if let Some((var, data)) = self.scope.get_mut(name).and_then(Vec::pop) {
                hidden.push((name, var, data));
            }
        }
        hidden.reverse();
        hidden
    }

    fn written_span(&mut self) -> Parsed<Span> {
        let file = self.plain_number("the number of a file")?;
        self.symbol(":")?;
        let start = self.plain_number("a position")?;
        self.symbol(":")?;
        let end = self.plain_number("a position")?;
        Ok(Span {
            file: FileId(file),
            start,
            end,
        })
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        let context = self.context()?;
        let values = self.several(Parser::param)?;
        Ok(Pattern { context, values })
    }

    fn param(&mut self) -> Parsed<Param> {
        let name = self.identifier("a name")?;
        self.symbol(":")?;
        let ty = self.ty()?;
        let var = self.supply.fresh(name);
        self.bind(name, var.clone(), None);
        self.note_data(&var, &ty);
        Ok(Param { var, ty })
    }

    fn exp(&mut self) -> Parsed<Exp> {
        match self.word() {
            "(" => {
                self.symbol("(")?;
                self.list(")", Parser::atom).map(Exp::Tuple)
            }
            "array" => {
                self.keyword("array")?;
                let ty = self.ty()?;
                self.symbol("[")?;
                Ok(Exp::Array(self.list("]", Parser::atom)?, ty))
            }
            "new" => {
                self.keyword("new")?;
                let (data, constructor, fields) = self.construct()?;
                Ok(Exp::Construct {
                    data,
                    constructor,
                    fields,
                })
            }
            "node" => {
                self.keyword("node")?;
                let (data, constructor, fields) = self.construct()?;
                Ok(Exp::ConstructNode {
                    data,
                    constructor,
                    fields,
                })
            }
            "if" => self.branch(),
            "case" => self.case(),
            "loop" => self.looped(),
            "ccall" => self.foreign_call(),
            "slice" => {
                self.keyword("slice")?;
                let array = self.atom()?;
                let parts = self.parts()?;
                Ok(Exp::Slice { array, parts })
            }
            "assert" => {
                self.keyword("assert")?;
                let condition = self.atom()?;
                self.symbol(",")?;
                let text = self.string()?;
                Ok(Exp::Assert { condition, text })
            }
            "trace" => {
                self.keyword("trace")?;
                let label = self.string()?;
                let value = self.atom()?;
                Ok(Exp::Trace { label, value })
            }
            word => self.application(word),
        }
    }

    /// A primitive, a scalar operator by name, a call, or what starts with an atom.
    fn application(&mut self, word: &'t str) -> Parsed<Exp> {
        let is_word = self.peek().is_some_and(|token| token.kind == TokenKind::Word);
        if is_word && !self.is_special_float() {
            if let Some(prim) = Prim::from_name(word) {
                self.at += 1;
                return self.op(prim);
            }
            if let Some(op) = unary(word) {
                self.at += 1;
                return Ok(Exp::Unary(op, self.atom()?));
            }
            if let Some(op) = binary(BinaryForm::Prefix, word) {
                self.at += 1;
                return Ok(Exp::Binary(op, self.atom()?, self.atom()?));
            }
            if let Some(op) = ternary(word) {
                self.at += 1;
                return Ok(Exp::Ternary(op, self.atom()?, self.atom()?, self.atom()?));
            }
            if matches!(self.peek_second(), Some("{" | "(")) {
                let function = self.function_name()?;
                let (context, args) = self.arguments()?;
                return Ok(Exp::Call {
                    function,
                    context,
                    args,
                });
            }
        }
        let atom = self.atom()?;
        self.after_atom(atom)
    }

    fn after_atom(&mut self, atom: Atom) -> Parsed<Exp> {
        if self.eat(".") {
            return Ok(Exp::Project(atom, self.plain_number("a component")?));
        }
        if self.eat("[") {
            let indices = self.list("]", Parser::atom)?;
            return Ok(Exp::Index { array: atom, indices });
        }
        if self.eat("with") {
            let in_place = match self.eat("!") {
                true => InPlace::Required,
                false => InPlace::WherePossible,
            };
            let parts = self.parts()?;
            self.symbol("=")?;
            return Ok(Exp::Update {
                array: atom,
                parts,
                value: self.atom()?,
                in_place,
            });
        }
        if self.eat(":>") {
            let to = self.ty()?;
            return Ok(Exp::Coerce { value: atom, to });
        }
        let is_symbol = self.peek().is_some_and(|token| token.kind == TokenKind::Symbol);
        match binary(BinaryForm::Infix, self.word()) {
            Some(op) if is_symbol => {
                self.at += 1;
                Ok(Exp::Binary(op, atom, self.atom()?))
            }
            _ => Ok(Exp::Atom(atom)),
        }
    }

    fn construct(&mut self) -> Parsed<(DataId, u32, Vec<Atom>)> {
        let data = self.data_type()?;
        let constructor = self.constructor(Some(data))?;
        self.symbol("(")?;
        Ok((data, constructor, self.list(")", Parser::atom)?))
    }

    /// By name where the type is known, or by number.
    fn constructor(&mut self, data: Option<DataId>) -> Parsed<u32> {
        if self.peek().is_some_and(|token| token.kind == TokenKind::Number) {
            return self.plain_number("a constructor");
        }
        let unknown = self.expected("a constructor");
        let name = self.name("a constructor")?;
        data.and_then(|id| self.constructors.get(id.0 as usize))
            .and_then(|names| names.iter().position(|known| *known == name))
            .map(|at| at as u32)
            .ok_or(unknown)
    }

    fn branch(&mut self) -> Parsed<Exp> {
        self.keyword("if")?;
        let condition = self.atom()?;
        self.symbol(":")?;
        let result = self.result()?;
        self.keyword("then")?;
        let then = self.body()?;
        self.keyword("else")?;
        let otherwise = self.body()?;
        Ok(Exp::If {
            condition,
            then,
            otherwise,
            result,
        })
    }

    fn case(&mut self) -> Parsed<Exp> {
        self.keyword("case")?;
        let data = self
            .scope
            .get(self.word())
            .and_then(|meanings| meanings.last())
            .and_then(|(_, data)| *data);
        let scrutinee = self.atom()?;
        self.symbol(":")?;
        let result = self.result()?;
        self.keyword("of")?;
        let mut arms = Vec::new();
        let mut default = None;
        while self.eat("|") {
            if self.eat("_") {
                self.symbol("->")?;
                default = Some(self.body()?);
                break;
            }
            let constructor = self.constructor(data)?;
            let mark = self.trail.len();
            let context = self.context()?;
            let fields = self.params()?;
            self.symbol("->")?;
            let body = self.body()?;
            self.leave(mark);
            arms.push(Arm {
                constructor,
                context,
                fields,
                body,
            });
        }
        self.keyword("end")?;
        Ok(Exp::Case {
            scrutinee,
            arms,
            default,
            result,
        })
    }

    fn looped(&mut self) -> Parsed<Exp> {
        self.keyword("loop")?;
        let mark = self.trail.len();
        let context = match self.eat("{") {
            true => self.loop_context()?,
            false => Vec::new(),
        };
        let params = self.loop_params()?;
        let form = if self.eat("for") {
            // The bound is read before the index is bound.
            let name = self.identifier("the index")?;
            self.symbol(":")?;
            let ty = self.ty()?;
            self.symbol("<")?;
            let bound = self.outside(mark, Parser::atom)?;
            let var = self.supply.fresh(name);
            self.bind(name, var.clone(), None);
            let index = Param { var, ty };
            LoopForm::For { index, bound }
        } else {
            self.keyword("while")?;
            LoopForm::While(self.body()?)
        };
        self.keyword("do")?;
        let body = self.body()?;
        self.leave(mark);
        Ok(Exp::Loop(Box::new(Loop {
            context,
            params,
            form,
            body,
        })))
    }

    /// Reads something in the scope of `mark`, and returns to the present one.
    fn outside<T>(&mut self, mark: usize, read: impl FnOnce(&mut Parser<'t>) -> Parsed<T>) -> Parsed<T> {
        let hidden = self.hide(mark);
        let result = read(self);
        for (name, var, data) in hidden {
            self.bind(name, var, data);
        }
        result
    }

    fn loop_context(&mut self) -> Parsed<Vec<(crate::ir::Var, Atom)>> {
        let mark = self.trail.len();
        self.list("}", |parser| {
            let var = parser.binder(None)?;
            parser.symbol("=")?;
            let initial = parser.outside(mark, Parser::atom)?;
            Ok((var, initial))
        })
    }

    fn loop_params(&mut self) -> Parsed<Vec<(Param, Atom)>> {
        self.symbol("(")?;
        let mut bound = Vec::new();
        let params = self.list(")", |parser| {
            let mark = parser.trail.len();
            let param = parser.param()?;
            bound.extend(parser.hide(mark));
            parser.symbol("=")?;
            let initial = parser.atom()?;
            Ok((param, initial))
        })?;
        for (name, var, data) in bound {
            self.bind(name, var, data);
        }
        Ok(params)
    }

    fn foreign_call(&mut self) -> Parsed<Exp> {
        self.keyword("ccall")?;
        let unknown = self.error(format!("there is no foreign function `{}`", self.word()));
        let name = self.identifier("the name of a foreign function")?;
        let function = self.foreign.get(name).copied().map(ForeignId).ok_or(unknown)?;
        let (context, args) = self.arguments()?;
        Ok(Exp::Foreign {
            function,
            context,
            args,
        })
    }

    /// `{n} (x, y)`.
    fn arguments(&mut self) -> Parsed<(Vec<Atom>, Vec<Atom>)> {
        let context = match self.eat("{") {
            true => self.list("}", Parser::atom)?,
            false => Vec::new(),
        };
        self.symbol("(")?;
        Ok((context, self.list(")", Parser::atom)?))
    }

    fn op(&mut self, prim: Prim) -> Parsed<Exp> {
        let annotation = self.annotation()?;
        let mut functions = Vec::new();
        while self.eat("(") {
            functions.push(self.lambda()?);
            self.symbol(")")?;
        }
        let mut args = Vec::new();
        while self.starts_atom() {
            args.push(self.atom()?);
        }
        Ok(Exp::Op(Op {
            prim,
            annotation,
            functions,
            args,
        }))
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let mut annotation = Annotation::NONE;
        while self.eat("@") {
            let unknown = self.expected("a level, a chunk or an effect");
            let word = self.word();
            self.at += 1;
            match word {
                "S" => annotation.effect = Some(Effect::Source),
                "D" => annotation.effect = Some(Effect::Destination),
                "E" => annotation.effect = Some(Effect::Eager),
                "seq" => annotation.level = Some(Level::Seq),
                "vec" => annotation.level = Some(Level::Vec),
                "par" => annotation.level = Some(Level::Par),
                "grid" | "group" | "local" => {
                    let dimension = match self.eat(".") {
                        true => self.plain_number("a dimension")?,
                        false => 0,
                    };
                    annotation.level = Some(match word {
                        "grid" => Level::Grid(dimension),
                        "group" => Level::Group(dimension),
                        _ => Level::Local(dimension),
                    });
                }
                number => annotation.chunk = Some(number.parse().map_err(|_| unknown)?),
            }
        }
        Ok(annotation)
    }

    fn lambda(&mut self) -> Parsed<Lambda> {
        self.symbol("\\")?;
        let mark = self.trail.len();
        let context = self.context()?;
        let params = self.params()?;
        self.symbol(":")?;
        let result = self.result()?;
        self.symbol("->")?;
        let body = self.body()?;
        self.leave(mark);
        Ok(Lambda {
            context,
            params,
            result,
            body,
        })
    }

    fn parts(&mut self) -> Parsed<Vec<SlicePart>> {
        self.symbol("[")?;
        self.list("]", |parser| {
            let begin = parser.atom()?;
            if !parser.eat(":") {
                return Ok(SlicePart::At(begin));
            }
            let count = parser.atom()?;
            parser.symbol(":")?;
            let step = parser.atom()?;
            Ok(SlicePart::Slice { begin, count, step })
        })
    }
}
