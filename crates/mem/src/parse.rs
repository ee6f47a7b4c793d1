//! Memory from text, as [`crate::print`] writes it. What belongs to memory is taken out, and the rest read as Core; then names
//! mean what they mean there, so all names of a program must differ.
//!
//! An `@` with a space before it is memory's; the annotations of Core's operations have none.

mod tokens;

use crate::ir::{Alloc, Annotated, FunctionMemory, Given, Head, Home, Item, Kind, Memory, Rows, Storage};
use crate::leaves::leaf_count;
use almach_base::{Diagnostic, FileId, Span, codes};
use almach_core::parse::parse_program;
use almach_core::visit::{Walk, walk_function};
use almach_core::{Program, Size, Var};
use almach_lmad::{Dim, Lmad};
use almach_value::ScalarType;
use std::collections::HashMap;
use tokens::{Token, tokens};

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Reads a program with its memory. What is read is not checked.
pub fn parse_annotated(text: &str, file: FileId) -> Parsed<Annotated> {
    let mut reader = Reader {
        text,
        file,
        tokens: tokens(text),
        at: 0,
        taken: Vec::new(),
        found: Found::default(),
    };
    reader.read()?;
    let core = parse_program(&reader.rest(), file)?;
    let found = reader.found;
    Meaning::new(&core, file)
        .memory(&core, found)
        .map(|memory| Annotated { core, memory })
}

/// What was taken out, by the names it belongs to.
#[derive(Default)]
struct Found<'t> {
    functions: Vec<Vec<Part<'t>>>,
    allocs: Vec<(&'t str, Part<'t>)>,
    heads: Vec<(&'t str, Vec<Part<'t>>)>,
    places: Vec<(&'t str, Vec<PlaceText<'t>>)>,
}

/// A piece of a head, an allocation included.
#[derive(Clone, Default)]
struct Part<'t> {
    word: Option<&'t str>,
    name: &'t str,
    element: Option<ScalarType>,
    inside: Option<&'t str>,
    given: Vec<GivenText<'t>>,
}

#[derive(Clone)]
enum GivenText<'t> {
    Alloc(Vec<Token<'t>>),
    Found,
    Other(Vec<Token<'t>>),
}

enum PlaceText<'t> {
    View,
    Held,
    Home(HomeText<'t>),
    Rows {
        segments: HomeText<'t>,
        elements: Vec<PlaceText<'t>>,
    },
}

struct HomeText<'t> {
    block: &'t str,
    offset: Vec<Token<'t>>,
    dims: Vec<(Vec<Token<'t>>, Vec<Token<'t>>)>,
}

struct Reader<'t> {
    text: &'t str,
    file: FileId,
    tokens: Vec<Token<'t>>,
    at: usize,
    /// Bytes that are not Core's.
    taken: Vec<(usize, usize)>,
    found: Found<'t>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> String {
        let mut bytes = self.text.as_bytes().to_vec();
        for (start, end) in &self.taken {
            for byte in bytes.get_mut(*start..*end).unwrap_or_default() {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn read(&mut self) -> Parsed<()> {
        let mut allocs: Vec<Part<'t>> = Vec::new();
        while let Some(token) = self.tokens.get(self.at).copied() {
            match token.text {
                "let" if self.is_alloc() => allocs.push(self.alloc()?),
                "let" => self.stmt(&mut allocs)?,
                "fun" => {
                    self.at += 2;
                    let head = self.head()?;
                    self.found.functions.push(head.unwrap_or_default());
                }
                "@" if token.spaced && self.word(1) != "{" => self.place()?,
                _ => self.at += 1,
            }
        }
        match allocs.first() {
            Some(alloc) => Err(self.error(format!("no statement follows the block `{}`", alloc.name))),
            None => Ok(()),
        }
    }

    fn word(&self, ahead: usize) -> &'t str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        let (start, end) = token.map_or((0, 0), |token| (token.start, token.end));
        Box::new(Diagnostic::error(
            codes::syntax::IR_TEXT,
            Span::new(self.file, start, end),
            message,
        ))
    }

    fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.word(0) == text {
            self.at += 1;
            return Ok(());
        }
        Err(self.error(format!("expected `{text}`, found `{}`", self.word(0))))
    }

    fn next(&mut self) -> &'t str {
        let word = self.word(0);
        self.at += 1;
        word
    }

    /// Takes what was read since a token out of Core's text.
    fn take_from(&mut self, first: usize) {
        let start = self.tokens.get(first).map_or(0, |token| token.start);
        let end = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map_or(start, |token| token.end);
        self.taken.push((start, end));
    }

    fn is_alloc(&self) -> bool {
        self.word(2) == ":" && self.word(3) == "mem" && self.word(4) == "=" && self.word(5) == "alloc"
    }

    fn alloc(&mut self) -> Parsed<Part<'t>> {
        let first = self.at;
        self.at += 1;
        let name = self.next();
        self.at += 4;
        let element = self.element()?;
        let cells = self.in_parentheses()?;
        self.take_from(first);
        Ok(Part {
            name,
            element: Some(element),
            given: vec![GivenText::Alloc(cells)],
            ..Part::default()
        })
    }

    fn element(&mut self) -> Parsed<ScalarType> {
        let word = self.word(0);
        let element = ScalarType::from_name(word).ok_or_else(|| self.error("expected a scalar type"))?;
        self.at += 1;
        Ok(element)
    }

    fn in_parentheses(&mut self) -> Parsed<Vec<Token<'t>>> {
        self.expect("(")?;
        let inside = self.until(&[")"]);
        self.expect(")")?;
        Ok(inside)
    }

    /// Tokens up to one of these outside of parentheses.
    fn until(&mut self, ends: &[&str]) -> Vec<Token<'t>> {
        let mut out = Vec::new();
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.at).copied() {
            if depth == 0 && ends.contains(&token.text) {
                break;
            }
            match token.text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            out.push(token);
            self.at += 1;
        }
        out
    }

    fn stmt(&mut self, allocs: &mut Vec<Part<'t>>) -> Parsed<()> {
        self.at += 1;
        let head = self.head()?;
        let first = self
            .tokens
            .get(self.at..)
            .unwrap_or_default()
            .iter()
            .find(|token| token.is_word());
        let Some(key) = first.map(|token| token.text) else {
            return Err(self.error("a statement binds a name"));
        };
        self.found
            .allocs
            .extend(allocs.drain(..).map(|alloc| (key, alloc)));
        self.found.heads.extend(head.map(|head| (key, head)));
        Ok(())
    }

    /// `@{…}`, or nothing.
    fn head(&mut self) -> Parsed<Option<Vec<Part<'t>>>> {
        if self.word(0) != "@" || self.word(1) != "{" {
            return Ok(None);
        }
        let first = self.at;
        self.at += 2;
        let mut parts = Vec::new();
        while self.word(0) != "}" {
            parts.push(self.part()?);
            if self.word(0) != "}" {
                self.expect(",")?;
            }
        }
        self.at += 1;
        self.take_from(first);
        Ok(Some(parts))
    }

    fn part(&mut self) -> Parsed<Part<'t>> {
        let mut part = Part::default();
        if matches!(self.word(0), "for" | "out") {
            part.word = Some(self.next());
        }
        part.name = self.next();
        if self.word(0) == ":" {
            self.at += 1;
            part.element = Some(self.element()?);
        }
        if self.word(0) == "of" {
            self.at += 1;
            part.inside = Some(self.next());
        }
        if self.word(0) != "=" {
            return Ok(part);
        }
        while matches!(self.word(0), "=" | "|") {
            self.at += 1;
            part.given.push(match self.word(0) {
                "alloc" => {
                    self.at += 1;
                    GivenText::Alloc(self.in_parentheses()?)
                }
                "found" => {
                    self.at += 1;
                    GivenText::Found
                }
                _ => GivenText::Other(self.until(&["|", ",", "}"])),
            });
        }
        Ok(part)
    }

    /// `@ block -> offset + {…} & view`, after a type.
    fn place(&mut self) -> Parsed<()> {
        let first = self.at;
        let before = self.tokens.get(..first).unwrap_or_default();
        let colon = before.iter().rposition(|token| token.text == ":");
        let Some(owner) = colon
            .and_then(|colon| before.get(colon.checked_sub(1)?))
            .map(|token| token.text)
        else {
            return Err(self.error("a place of no variable"));
        };
        let mut places = Vec::new();
        loop {
            self.at += 1;
            places.push(self.one_place()?);
            if self.word(0) != "&" {
                break;
            }
        }
        self.take_from(first);
        // What was read has colons of its own.
        self.found.places.push((owner, places));
        Ok(())
    }

    fn one_place(&mut self) -> Parsed<PlaceText<'t>> {
        match (self.word(0), self.word(1)) {
            ("view", _) => {
                self.at += 1;
                Ok(PlaceText::View)
            }
            ("held", _) => {
                self.at += 1;
                Ok(PlaceText::Held)
            }
            ("rows", next) if next != "->" => self.rows(),
            _ => self.home().map(PlaceText::Home),
        }
    }

    /// `rows block -> offset + {…} of (…)`.
    fn rows(&mut self) -> Parsed<PlaceText<'t>> {
        self.at += 1;
        let segments = self.home()?;
        self.expect("of")?;
        self.expect("(")?;
        let mut elements = vec![self.one_place()?];
        while self.word(0) == "&" {
            self.at += 1;
            elements.push(self.one_place()?);
        }
        self.expect(")")?;
        Ok(PlaceText::Rows { segments, elements })
    }

    fn home(&mut self) -> Parsed<HomeText<'t>> {
        let block = self.next();
        self.expect("->")?;
        let mut offset = self.until(&["{"]);
        if offset.pop().is_none_or(|plus| plus.text != "+") {
            return Err(self.error("expected `+` before the dimensions"));
        }
        self.expect("{")?;
        let mut dims = Vec::new();
        while self.word(0) != "}" {
            self.expect("(")?;
            let length = self.until(&[":"]);
            self.expect(":")?;
            let stride = self.until(&[")"]);
            self.expect(")")?;
            dims.push((length, stride));
            if self.word(0) != "}" {
                self.expect(",")?;
            }
        }
        self.at += 1;
        Ok(HomeText { block, offset, dims })
    }
}

/// What names mean.
struct Meaning {
    file: FileId,
    vars: HashMap<String, Var>,
    next: u32,
}

impl Walk for Meaning {
    fn binder(&mut self, var: &Var) {
        self.vars.insert(var.name.to_string(), var.clone());
    }
}

impl Meaning {
    fn new(core: &Program, file: FileId) -> Meaning {
        let mut meaning = Meaning {
            file,
            vars: HashMap::new(),
            next: core.next_var,
        };
        for function in &core.functions {
            walk_function(&mut meaning, function);
        }
        meaning
    }

    fn memory(mut self, core: &Program, found: Found<'_>) -> Parsed<Memory> {
        self.declare(&found);
        let mut memory = Memory::default();
        for parts in &found.functions {
            memory.functions.push(self.function(parts)?);
        }
        for (key, part) in &found.allocs {
            let (block, key) = (self.var(part.name)?, self.var(key)?);
            let cells = match part.given.as_slice() {
                [GivenText::Alloc(cells)] => self.size(cells)?,
                _ => return Err(self.error("a block without cells")),
            };
            let element = part.element.unwrap_or(ScalarType::I64);
            let alloc = Alloc {
                block,
                element,
                cells,
            };
            memory.allocs.entry(key).or_default().push(alloc);
        }
        for (key, parts) in &found.heads {
            let head = self.head(parts)?;
            memory.heads.insert(self.var(key)?, head);
        }
        for (owner, places) in &found.places {
            let places: Parsed<Vec<Storage>> = places.iter().map(|place| self.storage(place)).collect();
            memory.storage.insert(self.var(owner)?, places?);
        }
        memory.next_var = self.next;
        fill_held(core, &mut memory);
        Ok(memory)
    }

    /// Gives variables to what memory binds.
    fn declare(&mut self, found: &Found<'_>) {
        let parts = found
            .functions
            .iter()
            .flatten()
            .chain(found.allocs.iter().map(|(_, part)| part));
        for part in parts.chain(found.heads.iter().flat_map(|(_, parts)| parts)) {
            for name in [Some(part.name), part.inside].into_iter().flatten() {
                let var = Var {
                    id: self.next,
                    name: name.into(),
                };
                self.next += 1;
                self.vars.insert(name.to_string(), var);
            }
        }
    }

    fn function(&self, parts: &[Part<'_>]) -> Parsed<FunctionMemory> {
        let mut memory = FunctionMemory::default();
        for part in parts {
            match part.word {
                Some(_) => memory.results.push(self.item(part)?),
                None => memory.context.push((self.var(part.name)?, kind(part))),
            }
        }
        Ok(memory)
    }

    fn head(&self, parts: &[Part<'_>]) -> Parsed<Head> {
        let mut head = Head::default();
        for part in parts {
            match part.word {
                Some(_) => head.index = Some(self.var(part.name)?),
                None => head.items.push(self.item(part)?),
            }
        }
        Ok(head)
    }

    fn item(&self, part: &Part<'_>) -> Parsed<Item> {
        let kind = kind(part);
        let given = part.given.iter().map(|given| match (given, kind) {
            (GivenText::Alloc(cells), _) => self.size(cells).map(Given::Alloc),
            (GivenText::Found, _) => Ok(Given::Found),
            (GivenText::Other(tokens), Kind::Integer) => self.size(tokens).map(Given::Integer),
            (GivenText::Other(tokens), Kind::Block(_)) => match tokens.as_slice() {
                [token] => self.var(token.text).map(Given::Block),
                _ => Err(self.error("expected a block")),
            },
        });
        Ok(Item {
            var: self.var(part.name)?,
            kind,
            inside: part.inside.map(|inside| self.var(inside)).transpose()?,
            given: given.collect::<Parsed<_>>()?,
        })
    }

    fn storage(&self, place: &PlaceText<'_>) -> Parsed<Storage> {
        Ok(match place {
            PlaceText::View => Storage::View,
            PlaceText::Held => Storage::Held,
            PlaceText::Home(home) => Storage::Placed(self.home(home)?),
            PlaceText::Rows { segments, elements } => {
                let elements = elements.iter().map(|place| self.storage(place));
                Storage::Rows(Rows {
                    segments: self.home(segments)?,
                    elements: elements.collect::<Parsed<_>>()?,
                })
            }
        })
    }

    fn home(&self, home: &HomeText<'_>) -> Parsed<Home> {
        let dims = home.dims.iter().map(|(length, stride)| {
            Ok(Dim {
                length: self.size(length)?,
                stride: self.size(stride)?,
            })
        });
        Ok(Home {
            block: self.var(home.block)?,
            lmad: Lmad {
                offset: self.size(&home.offset)?,
                dims: dims.collect::<Parsed<_>>()?,
            },
        })
    }

    fn var(&self, name: &str) -> Parsed<Var> {
        let found = self.vars.get(name).cloned();
        found.ok_or_else(|| self.error(format!("`{name}` is not bound")))
    }

    fn size(&self, tokens: &[Token<'_>]) -> Parsed<Size> {
        let vars = |name: &str| self.vars.get(name).cloned();
        tokens::size(tokens, &vars).ok_or_else(|| {
            let text: Vec<&str> = tokens.iter().map(|token| token.text).collect();
            self.error(format!("`{}` is no size", text.join(" ")))
        })
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        let span = Span::new(self.file, 0, 0);
        Box::new(Diagnostic::error(codes::syntax::IR_TEXT, span, message))
    }
}

fn kind(part: &Part<'_>) -> Kind {
    part.element.map_or(Kind::Integer, Kind::Block)
}

/// Arrays without a place are held elsewhere.
fn fill_held(core: &Program, memory: &mut Memory) {
    let mut types = crate::heap::Types::default();
    for function in &core.functions {
        types.params(&function.context, &function.params);
        walk_function(&mut types, function);
    }
    for (var, ty) in types.0 {
        let count = leaf_count(&ty);
        if count > 0 {
            memory
                .storage
                .entry(var)
                .or_insert_with(|| vec![Storage::Held; count]);
        }
    }
}
