//! The parser's part for phrases and programs.

use crate::build;
use crate::lex::{ParseError, Token};
use crate::parse::Parser;
use crate::phrase::{Phrase, Proc, Program};
use crate::prim::{Home, Operand, Output, Prim, ScanKind, Site, Space};
use crate::store::{Reference, Row, Store};
use crate::ty::Data;
use almach_base::{FileId, Name, Span, codes};
use almach_prim::{Chunk, Level};
use almach_value::ir_text::{binary_from_name, scalar_from_text, ternary_from_name, unary_from_name};
use almach_value::ir_types::parse_type;
use almach_value::{ForeignType, ScalarType, UnOp};

/// A phrase, alone.
pub fn parse_phrase(text: &str) -> Result<Phrase, ParseError> {
    let mut parser = Parser::new(text)?;
    let phrase = parser.phrase()?;
    parser.finish(phrase)
}

/// A program: its stores, then `proc name : type = phrase …`.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    let mut parser = Parser::new(text)?;
    let mut program = Program::default();
    while parser.is_ident("store") {
        program.stores.push(parser.store()?);
    }
    while parser.is_ident("proc") {
        parser.advance();
        let name = parser.ident("a name")?;
        parser.expect(":")?;
        let ty = parser.phrase_type()?;
        parser.expect("=")?;
        let body = parser.phrase()?;
        program.procs.push(Proc {
            name,
            ty,
            body,
            span: Span::NONE,
        });
    }
    parser.finish(program)
}

impl Parser {
    /// `store List(i64, i64) [] [1] constant 0`.
    fn store(&mut self) -> Result<Store, ParseError> {
        self.advance();
        let name = self.ident("a name")?;
        self.expect("(")?;
        let mut columns = Vec::new();
        while !self.take(")") {
            columns.push(self.scalar_type()?);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        let mut references = Vec::new();
        while self.take("[") {
            references.push(self.references()?);
        }
        let mut links = Vec::new();
        if self.is_ident("links") {
            self.advance();
            while self.take("[") {
                links.push(self.references()?);
            }
        }
        let mut constants = Vec::new();
        while self.is_ident("constant") {
            self.advance();
            constants.push(self.small_number("a constructor")?);
        }
        let zeros = match self.is_ident("zeros") {
            true => {
                self.advance();
                self.small_number("a number of rows")?
            }
            false => 0,
        };
        Ok(Store {
            name,
            columns,
            references,
            links,
            constants,
            zeros,
        })
    }

    /// `under tag number [references]`.
    fn references_of_a_sum(&mut self) -> Result<Reference, ParseError> {
        self.advance();
        let tag = self.small_number("a column")?;
        let number = self.small_number("a constructor")?;
        self.expect("[")?;
        Ok(Reference::Under {
            tag,
            number,
            within: self.references()?,
        })
    }

    /// What follows `[`: columns, and bounds of rows of other stores.
    fn references(&mut self) -> Result<Vec<Reference>, ParseError> {
        let mut found = Vec::new();
        while !self.take("]") {
            if self.is_ident("under") {
                found.push(self.references_of_a_sum()?);
                if !self.take(",") {
                    self.expect("]")?;
                    break;
                }
                continue;
            }
            let begin = self.small_number("a column")?;
            found.push(match self.is_ident("to") {
                false => Reference::Cell(begin),
                true => {
                    self.advance();
                    let end = self.small_number("a column")?;
                    if !self.is_ident("in") {
                        return Err(self.expected("`in`"));
                    }
                    self.advance();
                    let store = self.ident("a store")?;
                    self.expect("[")?;
                    Reference::Rows {
                        begin,
                        end,
                        store,
                        within: self.references()?,
                    }
                }
            });
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(found)
    }

    fn small_number(&mut self, what: &str) -> Result<u32, ParseError> {
        u32::try_from(self.number()?).map_err(|_| self.expected(what))
    }

    pub(crate) fn phrase(&mut self) -> Result<Phrase, ParseError> {
        if self.take("\\") {
            let name = self.ident("a name")?;
            self.expect(":")?;
            let ty = self.phrase_type()?;
            self.expect(".")?;
            return Ok(Phrase::lam(name, ty, self.phrase()?));
        }
        if self.take("/\\") {
            let name = self.ident("a name")?;
            self.expect(":")?;
            let kind = self.kind()?;
            self.expect(".")?;
            return Ok(Phrase::TypeLam(name, kind, Box::new(self.phrase()?)));
        }
        let first = self.command()?;
        match self.take(";") {
            true => {
                let pair = Phrase::pair(first, self.phrase()?);
                Ok(Phrase::prim(Prim::Seq, vec![], vec![]).app(pair))
            }
            false => Ok(first),
        }
    }

    fn command(&mut self) -> Result<Phrase, ParseError> {
        if self.is_ident("if") {
            self.advance();
            let condition = self.atom()?;
            self.keyword("then")?;
            let then = self.atom()?;
            self.keyword("else")?;
            return Ok(build::if_then_else(condition, then, self.atom()?));
        }
        if self.is_ident("while") {
            self.advance();
            let condition = self.atom()?;
            self.keyword("do")?;
            return Ok(build::while_loop(condition, self.atom()?));
        }
        let head = self.application()?;
        if self.take(":=") {
            self.expect("{")?;
            let data = self.data()?;
            self.expect("}")?;
            return Ok(build::assign(data, head, self.application()?));
        }
        Ok(head)
    }

    fn application(&mut self) -> Result<Phrase, ParseError> {
        let mut head = self.atom()?;
        while self.starts_atom() {
            head = head.app(self.atom()?);
        }
        Ok(head)
    }

    fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        match self.is_ident(word) {
            true => {
                self.advance();
                Ok(())
            }
            false => Err(self.expected(&format!("`{word}`"))),
        }
    }

    fn starts_atom(&self) -> bool {
        match self.peek() {
            Token::Ident(name) => !matches!(name.as_str(), "proc" | "then" | "else" | "do"),
            Token::Literal(_) => true,
            Token::Symbol(symbol) => *symbol == "(",
            Token::Number(_) | Token::Text(_) | Token::End => false,
        }
    }

    fn atom(&mut self) -> Result<Phrase, ParseError> {
        let mut phrase = self.simple()?;
        loop {
            match () {
                () if self.take("[") => {
                    let nat = self.nat()?;
                    self.expect("]")?;
                    match &mut phrase {
                        Phrase::Prim(instance) => instance.nats.push(nat),
                        _ => phrase = Phrase::NatApp(Box::new(phrase), nat),
                    }
                }
                () if self.take("{") => {
                    let data = self.data()?;
                    self.expect("}")?;
                    match &mut phrase {
                        Phrase::Prim(instance) => instance.datas.push(data),
                        _ => phrase = Phrase::DataApp(Box::new(phrase), data),
                    }
                }
                () if self.take(".") => {
                    phrase = match self.number()? {
                        1 => phrase.writer(),
                        2 => phrase.reader(),
                        _ => return Err(self.expected("component 1 or 2")),
                    }
                }
                () => return Ok(phrase),
            }
        }
    }

    fn simple(&mut self) -> Result<Phrase, ParseError> {
        match self.peek().clone() {
            Token::Symbol("(") => {
                self.advance();
                let first = self.phrase()?;
                let result = match self.take("&") {
                    true => Phrase::pair(first, self.phrase()?),
                    false => first,
                };
                self.expect(")")?;
                Ok(result)
            }
            Token::Literal(text) => {
                let scalar =
                    scalar_from_text(&text).ok_or_else(|| self.expected("a literal with its type"))?;
                self.advance();
                Ok(build::literal(scalar))
            }
            Token::Ident(name) => {
                let known = self.prim(&name)?;
                match known {
                    Some(prim) => Ok(Phrase::prim(prim, vec![], vec![])),
                    None => Ok(Phrase::Var(self.ident("a phrase")?)),
                }
            }
            _ => Err(self.expected("a phrase")),
        }
    }

    /// The primitive that starts here, if one does.
    fn prim(&mut self, name: &str) -> Result<Option<Prim>, ParseError> {
        if *self.peek_at(1) != Token::Symbol("<") {
            let plain = match name {
                "new" => Some(Prim::New(Space::Any)),
                "fill" => Some(Prim::Fill),
                "open" => Some(Prim::Open),
                _ => Prim::plain(name),
            };
            if plain.is_some() {
                self.advance();
            }
            return Ok(plain);
        }
        self.advance();
        self.expect("<")?;
        let prim = self.family(name)?;
        self.expect(">")?;
        Ok(Some(prim))
    }

    fn family(&mut self, name: &str) -> Result<Prim, ParseError> {
        Ok(match name {
            "tuple" => Prim::Tuple(self.count()?),
            "zip" => Prim::Zip(self.count()?),
            "get" => self.component(Prim::Get)?,
            "tupleAcc" => self.component(Prim::TupleAcc)?,
            "onlyAcc" => self.component(Prim::OnlyAcc)?,
            "unzip" => self.component(Prim::Unzip)?,
            "zipAcc" => self.component(Prim::ZipAcc)?,
            "unzipAcc" => Prim::UnzipAcc(self.count()?),
            "gather" => Prim::Gather(self.scalar_type()?),
            "permuteAcc" => Prim::PermuteAcc(self.scalar_type()?),
            "asVector" => self.lanes(Prim::AsVector)?,
            "asScalar" => self.lanes(Prim::AsScalar)?,
            "asVectorAcc" => self.lanes(Prim::AsVectorAcc)?,
            "asScalarAcc" => self.lanes(Prim::AsScalarAcc)?,
            "splat" => self.lanes(Prim::Splat)?,
            "map" => Prim::Map(self.level()?),
            "mapI" => Prim::MapI(self.level()?),
            "parfor" => Prim::ParFor(self.level()?),
            "parrows" => Prim::ParRows(self.level()?),
            "filterI" => {
                let (level, (chunk, output)) = (self.level()?, self.chunk_and_output()?);
                Prim::FilterI(level, chunk, output)
            }
            "partitionI" => Prim::PartitionI(self.level()?, self.chunk()?),
            "new" if self.at_home() => Prim::NewIn(self.homes()?),
            "new" => Prim::New(self.space()?),
            "scanI" => {
                let level = self.level()?;
                self.expect(",")?;
                let (kind, (chunk, output)) = (self.scan_kind()?, self.chunk_and_output()?);
                Prim::ScanI(level, kind, chunk, output)
            }
            "scanRowsI" => {
                let level = self.level()?;
                self.expect(",")?;
                Prim::ScanRowsI(level, self.scan_kind()?, self.chunk()?)
            }
            "reduceChunksI" => {
                let level = self.level()?;
                let chunk = self.chunk()?.ok_or_else(|| self.expected("a chunk"))?;
                Prim::ReduceChunksI(level, chunk)
            }
            "scatterI" | "permuteI" => {
                let level = self.level()?;
                self.expect(",")?;
                let scalar = self.scalar_type()?;
                self.expect(",")?;
                let site = Box::new(self.site()?);
                match name {
                    "scatterI" => Prim::ScatterI(level, scalar, site),
                    _ => Prim::PermuteI(level, scalar, site),
                }
            }
            "reduceByIndexI" => {
                let level = self.level()?;
                self.expect(",")?;
                Prim::ReduceByIndexI(level, self.scalar_type()?, self.chunk()?)
            }
            "check" => {
                let site = Box::new(self.site()?);
                let mut arguments = Vec::new();
                while self.take(",") {
                    arguments.push(self.scalar_type()?);
                }
                Prim::Check(site, arguments)
            }
            "tag" => Prim::Tag(self.ident("a store")?),
            "orderOf" => Prim::OrderOf(self.ident("a store")?),
            "orderIn" => Prim::OrderIn(self.scalar_type()?),
            "reachOf" => Prim::ReachOf(self.ident("a store")?),
            "tableOf" => Prim::TableOf(self.ident("a store")?),
            "column" => {
                let store = self.ident("a store")?;
                self.expect(",")?;
                let at = self.small_number("a column")?;
                self.expect(",")?;
                Prim::Column(store, at, self.scalar_type()?)
            }
            "construct" => {
                let store = self.ident("a store")?;
                self.expect(",")?;
                let tag = self.small_number("a constructor")?;
                let mut columns = Vec::new();
                while self.take(",") {
                    let at = self.small_number("a column")?;
                    self.expect(":")?;
                    columns.push((at, self.scalar_type()?));
                }
                Prim::Construct(Box::new(Row { store, tag, columns }))
            }
            "groupOf" => Prim::GroupOf(self.ident("a store")?),
            "newTable" | "newCells" | "newGroup" | "newRows" => {
                let level = self.level()?;
                self.expect(",")?;
                let store = self.ident("a store")?;
                let mut columns = Vec::new();
                while self.take(",") {
                    columns.push(self.scalar_type()?);
                }
                match name {
                    "newTable" => Prim::NewTable(level, store, columns),
                    "newCells" => Prim::NewCells(level, store, columns),
                    "newGroup" => Prim::NewGroup(level, store, columns),
                    _ => Prim::NewRows(level, store, columns),
                }
            }
            "foreign" => {
                let (name, text) = self.named_type()?;
                let function =
                    ForeignType::parse(name, &text).ok_or_else(|| self.expected("a function's type"))?;
                Prim::Foreign(Box::new(function))
            }
            "trace" => {
                let (label, text) = self.named_type()?;
                let ty = parse_type(&text).ok_or_else(|| self.expected("a type"))?;
                Prim::Trace(label, Box::new(ty))
            }
            _ => self.operator(name)?,
        })
    }

    /// `"name","type"`.
    fn named_type(&mut self) -> Result<(Name, String), ParseError> {
        let Token::Text(name) = self.advance() else {
            return Err(self.expected("a name"));
        };
        self.expect(",")?;
        let Token::Text(text) = self.advance() else {
            return Err(self.expected("a type"));
        };
        Ok((Name::from(name), text))
    }

    fn operator(&mut self, name: &str) -> Result<Prim, ParseError> {
        let operand = match self.data()? {
            Data::Scalar(scalar) => Operand::scalar(scalar),
            Data::Vector(width, scalar) => Operand {
                scalar,
                width: Some(width),
            },
            _ => return Err(self.expected("the type of an operand")),
        };
        // A conversion and `to_bits` share a prefix; the table of names tells them apart.
        let unary: Option<UnOp> = unary_from_name(name);
        unary
            .map(|op| Prim::Unary(op, operand))
            .or_else(|| binary_from_name(name).map(|op| Prim::Binary(op, operand)))
            .or_else(|| ternary_from_name(name).map(|op| Prim::Ternary(op, operand)))
            .ok_or_else(|| self.expected("a primitive"))
    }

    fn count(&mut self) -> Result<usize, ParseError> {
        let number = self.number()?;
        usize::try_from(number).map_err(|_| self.expected("a count"))
    }

    fn component(&mut self, of: fn(usize, usize) -> Prim) -> Result<Prim, ParseError> {
        let at = self.count()?;
        self.expect(",")?;
        let count = self.count()?;
        match at < count {
            true => Ok(of(at, count)),
            false => Err(self.expected("a component of the tuple")),
        }
    }

    fn lanes(&mut self, of: fn(u32, ScalarType) -> Prim) -> Result<Prim, ParseError> {
        let width = u32::try_from(self.number()?).map_err(|_| self.expected("a vector width"))?;
        self.expect(",")?;
        Ok(of(width, self.scalar_type()?))
    }

    fn scalar_type(&mut self) -> Result<ScalarType, ParseError> {
        let name = self.ident("a scalar type")?;
        ScalarType::from_name(&name).ok_or_else(|| self.expected("a scalar type"))
    }

    fn level(&mut self) -> Result<Level, ParseError> {
        let name = self.ident("a level")?;
        let dimension = match self.take(".") {
            true => u8::try_from(self.number()?).map_err(|_| self.expected("a dimension"))?,
            false => 0,
        };
        Ok(match name.as_str() {
            "seq" => Level::Seq,
            "vec" => Level::Vec,
            "par" => Level::Par,
            "grid" => Level::Grid(dimension),
            "group" => Level::Group(dimension),
            "local" => Level::Local(dimension),
            _ => return Err(self.expected("a level")),
        })
    }

    /// `,4096`.
    fn chunk(&mut self) -> Result<Option<Chunk>, ParseError> {
        if !self.take(",") {
            return Ok(None);
        }
        let number = u32::try_from(self.number()?).ok().and_then(Chunk::new);
        number.map(Some).ok_or_else(|| self.expected("a chunk"))
    }

    /// `,4096,mapped`.
    fn chunk_and_output(&mut self) -> Result<(Option<Chunk>, Output), ParseError> {
        let (mut chunk, mut output) = (None, Output::Element);
        while self.take(",") {
            if matches!(self.peek(), Token::Ident(_)) {
                let word = self.ident("`mapped`")?;
                match word.as_str() {
                    "mapped" => output = Output::Mapped,
                    _ => return Err(self.expected("`mapped`")),
                }
            } else {
                let number = u32::try_from(self.number()?).ok().and_then(Chunk::new);
                chunk = Some(number.ok_or_else(|| self.expected("a chunk"))?);
            }
        }
        Ok((chunk, output))
    }

    fn at_home(&self) -> bool {
        matches!(self.peek(), Token::Ident(word) if matches!(word.as_str(), "in" | "as" | "own"))
    }

    /// Where the buffers of a variable are: `in b 0,in c 1 by 2,as o,own`.
    fn homes(&mut self) -> Result<Vec<Home>, ParseError> {
        let mut homes = Vec::new();
        loop {
            homes.push(match self.ident("`in`, `as` or `own`")?.as_str() {
                "own" => Home::Own,
                "in" => Home::Inside {
                    variable: self.ident("a variable")?,
                    buffer: self.count()?,
                    strides: self.strides()?,
                },
                "as" => Home::Same {
                    acceptor: self.ident("an acceptor")?,
                    component: match matches!(self.peek(), Token::Number(_)) {
                        true => Some(self.count()?),
                        false => None,
                    },
                },
                _ => return Err(self.expected("`in`, `as` or `own`")),
            });
            if !self.take(",") {
                return Ok(homes);
            }
        }
    }

    /// `by 2`: two of the sizes are strides.
    fn strides(&mut self) -> Result<usize, ParseError> {
        match matches!(self.peek(), Token::Ident(word) if word.as_str() == "by") {
            true => {
                self.ident("`by`")?;
                self.count()
            }
            false => Ok(0),
        }
    }

    fn space(&mut self) -> Result<Space, ParseError> {
        let name = self.ident("an address space")?;
        [Space::Any, Space::Global, Space::Local, Space::Private]
            .into_iter()
            .find(|space| crate::print::space_name(*space) == &*name)
            .ok_or_else(|| self.expected("an address space"))
    }

    fn scan_kind(&mut self) -> Result<ScanKind, ParseError> {
        let name = self.ident("`inclusive` or `exclusive`")?;
        [ScanKind::Inclusive, ScanKind::Exclusive]
            .into_iter()
            .find(|kind| crate::print::scan_name(*kind) == &*name)
            .ok_or_else(|| self.expected("`inclusive` or `exclusive`"))
    }

    /// `E0801,"text",0:12-15`.
    fn site(&mut self) -> Result<Site, ParseError> {
        let code = self.ident("a code")?;
        let code = codes::find(&code)
            .ok_or_else(|| self.expected("a code of the catalogue"))?
            .code;
        self.expect(",")?;
        let Token::Text(text) = self.advance() else {
            return Err(self.expected("a text"));
        };
        self.expect(",")?;
        let mut numbers = [0u32; 3];
        for (at, separator) in [":", "-", ""].into_iter().enumerate() {
            let number = u32::try_from(self.number()?).map_err(|_| self.expected("a position"))?;
            if let Some(slot) = numbers.get_mut(at) {
                *slot = number;
            }
            if !separator.is_empty() {
                self.expect(separator)?;
            }
        }
        let [file, start, end] = numbers;
        Ok(Site {
            code,
            span: Span {
                file: FileId(file),
                start,
                end,
            },
            text: Name::from(text),
        })
    }
}
