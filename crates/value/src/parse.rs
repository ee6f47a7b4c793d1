//! Reading a value of a known type from text: the syntax [`crate::print()`] writes, and what people write by hand.
//!
//! The reader keeps its own stack, so that a list of a million cells reads as well as a short one.

use crate::ty::{Scoped, ScopedSum};
use crate::{
    ArrayValue, Buffer, Constructor, Datum, NodeReferences, NodeTable, Nonconformity, References, ScalarType,
    SumValue, TableError, Value, ValueType, collect, conforms,
};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

mod lexer;
mod literal;

use lexer::{Lexer, Token, TokenKind};

/// Why a text is not a value of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// Byte offset in the text.
    pub at: usize,
    /// What could stand there: a type, or a token.
    pub expected: String,
    pub found: String,
    /// How to mend it, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Reads one value of a type; nothing may follow it.
pub fn parse(text: &str, ty: &ValueType) -> Result<Value, ReadError> {
    let mut reader = Reader {
        lexer: Lexer::new(text),
        frames: Vec::new(),
        recursive: HashMap::new(),
    };
    let value = reader.read(Scoped::new(ty))?;
    let rest = reader.lexer.next()?;
    if rest.kind != TokenKind::End {
        return Err(rest.unexpected("the end of the value"));
    }
    conforms(&value, ty).map_err(|wrong| does_not_conform(&wrong))?;
    Ok(value)
}

fn does_not_conform(wrong: &Nonconformity) -> ReadError {
    ReadError {
        at: 0,
        expected: wrong.expected.clone(),
        found: wrong.found.clone(),
        hint: (!wrong.path.is_empty()).then(|| format!("at {}", wrong.path)),
    }
}

/// What is read next, or what has been read.
enum State<'t> {
    Expect(Expected<'t>),
    Done(Value),
}

/// What may stand at a place.
#[derive(Clone)]
struct Expected<'t> {
    ty: Scoped<'t>,
    /// Where references of a node value are, if this is part of one.
    references: References,
    place: Place,
}

/// An argument is one word, or in parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Argument,
}

impl<'t> Expected<'t> {
    fn free(ty: Scoped<'t>) -> Expected<'t> {
        Expected {
            ty,
            references: References::None,
            place: Place::Free,
        }
    }

    fn inside(&self, ty: &'t ValueType, references: References) -> Expected<'t> {
        Expected {
            ty: self.ty.part(ty),
            references,
            place: Place::Free,
        }
    }
}

/// An unfinished value.
enum Frame<'t> {
    Paren,
    Tuple {
        expected: Expected<'t>,
        types: &'t [ValueType],
        done: Vec<Value>,
    },
    Record {
        expected: Expected<'t>,
        open: usize,
        done: Vec<Option<Value>>,
        current: usize,
    },
    Array {
        expected: Expected<'t>,
        element: &'t ValueType,
        done: Vec<Value>,
        starts: Vec<usize>,
    },
    Constructed {
        sum: ScopedSum<'t>,
        constructor: u32,
        kind: ConstructedKind,
        done: Vec<Value>,
    },
    /// `from_nodes root [`, then node values.
    Table {
        sum: ScopedSum<'t>,
        root: i64,
        open: usize,
        nodes: Vec<SumValue>,
    },
}

enum ConstructedKind {
    Sum,
    /// Of a node, with positions here.
    Part(NodeReferences),
    Datum,
    Node,
}

struct Reader<'s, 't> {
    lexer: Lexer<'s>,
    frames: Vec<Frame<'t>>,
    /// Which sums are recursive, by their address.
    recursive: HashMap<usize, bool>,
}

type Step<'t> = Result<State<'t>, ReadError>;

impl<'t> Reader<'_, 't> {
    fn read(&mut self, ty: Scoped<'t>) -> Result<Value, ReadError> {
        let mut state = State::Expect(Expected::free(ty));
        loop {
            state = match state {
                State::Expect(expected) => self.start(expected)?,
                State::Done(value) => match self.frames.pop() {
                    Some(frame) => self.resume(frame, value)?,
                    None => return Ok(value),
                },
            };
        }
    }

    /// Begins a value.
    fn start(&mut self, expected: Expected<'t>) -> Step<'t> {
        if expected.references == References::Position {
            return Ok(State::Done(self.scalar(ScalarType::I64)?));
        }
        // Where a tuple is expected a parenthesis is the tuple's own.
        let is_tuple = matches!(expected.ty.ty, ValueType::Tuple(_));
        if !is_tuple && self.lexer.peek()?.kind == TokenKind::OpenParen {
            self.lexer.next()?;
            self.frames.push(Frame::Paren);
            return Ok(State::Expect(Expected {
                place: Place::Free,
                ..expected
            }));
        }
        match expected.ty.ty {
            ValueType::Scalar(ty) => Ok(State::Done(self.scalar(*ty)?)),
            ValueType::Vector(width, ty) => self.vector(*width as usize, *ty),
            ValueType::Tuple(types) => self.tuple(types, expected),
            ValueType::Record(_) => self.record(expected),
            ValueType::Array(_, element) => self.array(element, expected),
            ValueType::Sum(_) | ValueType::Recursive(_) => self.constructed(&expected),
        }
    }

    /// Goes on with an unfinished value after one of its parts.
    fn resume(&mut self, frame: Frame<'t>, value: Value) -> Step<'t> {
        match frame {
            Frame::Paren => {
                self.lexer.expect(TokenKind::CloseParen)?;
                Ok(State::Done(value))
            }
            Frame::Tuple {
                expected,
                types,
                mut done,
            } => {
                done.push(value);
                if done.len() < types.len() {
                    self.lexer.expect(TokenKind::Comma)?;
                }
                self.next_component(types, expected, done)
            }
            Frame::Record {
                expected,
                open,
                mut done,
                current,
            } => {
                if let Some(slot) = done.get_mut(current) {
                    *slot = Some(value);
                }
                let token = self.lexer.next()?;
                match token.kind {
                    TokenKind::Comma => self.next_field(expected, open, done),
                    TokenKind::CloseBrace => finish_record(&expected, open, done),
                    _ => Err(token.unexpected("`,` or `}`")),
                }
            }
            Frame::Array {
                expected,
                element,
                mut done,
                starts,
            } => {
                done.push(value);
                let token = self.lexer.next()?;
                match token.kind {
                    TokenKind::Comma => self.next_element(element, expected, done, starts),
                    TokenKind::CloseBracket => finish_array(element, &expected, done, &starts),
                    _ => Err(token.unexpected("`,` or `]`")),
                }
            }
            Frame::Constructed {
                sum,
                constructor,
                kind,
                mut done,
            } => {
                done.push(value);
                self.next_argument(sum, constructor, kind, done)
            }
            Frame::Table {
                sum,
                root,
                open,
                mut nodes,
            } => {
                if let Value::Sum(node) = value {
                    nodes.push(Arc::unwrap_or_clone(node));
                }
                let token = self.lexer.next()?;
                match token.kind {
                    TokenKind::Comma => self.next_node(sum, root, open, nodes),
                    TokenKind::CloseBracket => finish_table(&sum, root, open, nodes),
                    _ => Err(token.unexpected("`,` or `]`")),
                }
            }
        }
    }

    fn scalar(&mut self, ty: ScalarType) -> Result<Value, ReadError> {
        literal::scalar(&mut self.lexer, ty).map(Value::Scalar)
    }

    /// `vec [1.0, 2.0]`.
    fn vector(&mut self, width: usize, ty: ScalarType) -> Step<'t> {
        let token = self.lexer.next()?;
        if token.kind != TokenKind::Word || token.text != "vec" {
            return Err(token.unexpected(&format!("a `vec {width} {ty}` such as `vec [1, 2]`")));
        }
        self.lexer.expect(TokenKind::OpenBracket)?;
        let mut lanes = Vec::with_capacity(width);
        for lane in 0..width {
            if lane > 0 {
                self.lexer.expect(TokenKind::Comma)?;
            }
            lanes.push(literal::scalar(&mut self.lexer, ty)?);
        }
        self.lexer.expect(TokenKind::CloseBracket)?;
        Ok(State::Done(Value::vector(lanes)))
    }

    fn tuple(&mut self, types: &'t [ValueType], expected: Expected<'t>) -> Step<'t> {
        let token = self.lexer.next()?;
        if token.kind != TokenKind::OpenParen {
            return Err(token.unexpected(&expected.ty.ty.to_string()));
        }
        self.next_component(types, expected, Vec::with_capacity(types.len()))
    }

    fn next_component(
        &mut self,
        types: &'t [ValueType],
        expected: Expected<'t>,
        done: Vec<Value>,
    ) -> Step<'t> {
        let Some(ty) = types.get(done.len()) else {
            self.lexer.expect(TokenKind::CloseParen)?;
            return Ok(State::Done(Value::tuple(done)));
        };
        let inside = expected.inside(ty, part_of(&expected.references, done.len()));
        self.frames.push(Frame::Tuple {
            expected,
            types,
            done,
        });
        Ok(State::Expect(inside))
    }

    fn record(&mut self, expected: Expected<'t>) -> Step<'t> {
        let token = self.lexer.next()?;
        if token.kind != TokenKind::OpenBrace {
            return Err(token.unexpected(&expected.ty.ty.to_string()));
        }
        let open = token.at;
        let done = match expected.ty.ty {
            ValueType::Record(fields) => vec![None; fields.len()],
            _ => Vec::new(),
        };
        if done.is_empty() {
            self.lexer.expect(TokenKind::CloseBrace)?;
            return Ok(State::Done(Value::unit()));
        }
        self.next_field(expected, open, done)
    }

    fn next_field(&mut self, expected: Expected<'t>, open: usize, done: Vec<Option<Value>>) -> Step<'t> {
        let ValueType::Record(fields) = expected.ty.ty else {
            return Err(self.lexer.next()?.unexpected(&expected.ty.ty.to_string()));
        };
        let token = self.lexer.next()?;
        let known = fields
            .iter()
            .position(|(name, _)| token.kind == TokenKind::Word && name.as_str() == token.text);
        let Some((current, (_, ty))) = known.and_then(|at| Some((at, fields.get(at)?))) else {
            let names: Vec<String> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
            return Err(token.unexpected(&format!("one of the fields {}", names.join(", "))));
        };
        if done.get(current).is_some_and(Option::is_some) {
            return Err(token.unexpected("each field once"));
        }
        self.lexer.expect(TokenKind::Equals)?;
        let inside = expected.inside(ty, part_of(&expected.references, current));
        self.frames.push(Frame::Record {
            expected,
            open,
            done,
            current,
        });
        Ok(State::Expect(inside))
    }

    fn array(&mut self, element: &'t ValueType, expected: Expected<'t>) -> Step<'t> {
        let token = self.lexer.next()?;
        if token.kind == TokenKind::String && *element == ValueType::Scalar(ScalarType::U8) {
            let bytes = literal::string_bytes(&token)?;
            return Ok(State::Done(Value::array(ArrayValue::scalars(Buffer::U8(bytes)))));
        }
        if token.kind != TokenKind::OpenBracket {
            return Err(token.unexpected(&format!("an array of type {}", expected.ty.ty)));
        }
        if let (ValueType::Scalar(ty), References::None) = (element, &expected.references) {
            return self.scalars(*ty);
        }
        if self.lexer.peek()?.kind == TokenKind::CloseBracket {
            self.lexer.next()?;
            return finish_array(element, &expected, Vec::new(), &[]);
        }
        self.next_element(element, expected, Vec::new(), Vec::new())
    }

    /// The elements of an array of scalars, after the bracket.
    fn scalars(&mut self, ty: ScalarType) -> Step<'t> {
        let mut buffer = Buffer::new(ty);
        if self.lexer.peek()?.kind == TokenKind::CloseBracket {
            self.lexer.next()?;
            return Ok(State::Done(Value::array(ArrayValue::scalars(buffer))));
        }
        loop {
            buffer.push_raw(literal::scalar(&mut self.lexer, ty)?.to_raw());
            let token = self.lexer.next()?;
            match token.kind {
                TokenKind::Comma => {}
                TokenKind::CloseBracket => {
                    return Ok(State::Done(Value::array(ArrayValue::scalars(buffer))));
                }
                _ => return Err(token.unexpected("`,` or `]`")),
            }
        }
    }

    fn next_element(
        &mut self,
        element: &'t ValueType,
        expected: Expected<'t>,
        done: Vec<Value>,
        mut starts: Vec<usize>,
    ) -> Step<'t> {
        starts.push(self.lexer.peek()?.at);
        let references = match &expected.references {
            References::Array(inside) => (**inside).clone(),
            _ => References::None,
        };
        let inside = expected.inside(element, references);
        self.frames.push(Frame::Array {
            expected,
            element,
            done,
            starts,
        });
        Ok(State::Expect(inside))
    }

    fn is_recursive(&mut self, sum: &ScopedSum<'_>) -> bool {
        *self
            .recursive
            .entry(Arc::as_ptr(sum.sum) as usize)
            .or_insert_with(|| sum.sum.is_recursive())
    }

    fn constructed(&mut self, expected: &Expected<'t>) -> Step<'t> {
        let token = self.lexer.next()?;
        let Some(sum) = expected.ty.sum() else {
            return Err(token.unexpected(&expected.ty.ty.to_string()));
        };
        let recursive = self.is_recursive(&sum);
        if recursive && token.kind == TokenKind::Word && token.text == "from_nodes" {
            return self.table(&token, sum, expected.place);
        }
        let kind = match (recursive, &expected.references) {
            (true, _) => ConstructedKind::Datum,
            (false, References::Sum(constructors)) => ConstructedKind::Part(constructors.clone()),
            (false, _) => ConstructedKind::Sum,
        };
        let (constructor, definition) = constructor_named(&token, &sum)?;
        needs_parentheses(&token, definition, expected.place)?;
        self.next_argument(sum, constructor, kind, Vec::new())
    }

    fn next_argument(
        &mut self,
        sum: ScopedSum<'t>,
        constructor: u32,
        kind: ConstructedKind,
        done: Vec<Value>,
    ) -> Step<'t> {
        let Some(ty) = sum.field(constructor, done.len()) else {
            return Ok(State::Done(match kind {
                ConstructedKind::Sum | ConstructedKind::Part(_) | ConstructedKind::Node => {
                    Value::sum(constructor, done)
                }
                ConstructedKind::Datum => Value::Datum(Datum::cell(constructor, done)),
            }));
        };
        let field = |constructors: &NodeReferences| {
            let fields = constructors.get(constructor as usize);
            let field = fields.and_then(|fields| fields.get(done.len()));
            field.cloned().unwrap_or(References::None)
        };
        let references = match &kind {
            ConstructedKind::Node => field(&sum.sum.references()),
            ConstructedKind::Part(constructors) => field(constructors),
            ConstructedKind::Sum | ConstructedKind::Datum => References::None,
        };
        self.frames.push(Frame::Constructed {
            sum,
            constructor,
            kind,
            done,
        });
        Ok(State::Expect(Expected {
            ty,
            references,
            place: Place::Argument,
        }))
    }

    /// `from_nodes 0 [#Cons 1 1, #Nil]`, after the first word.
    fn table(&mut self, token: &Token<'_>, sum: ScopedSum<'t>, place: Place) -> Step<'t> {
        if place == Place::Argument {
            return Err(token.unexpected("parentheses around `from_nodes …`"));
        }
        let root = match literal::scalar(&mut self.lexer, ScalarType::I64)? {
            crate::Scalar::I64(root) => root,
            _ => 0,
        };
        self.lexer.expect(TokenKind::OpenBracket)?;
        if self.lexer.peek()?.kind == TokenKind::CloseBracket {
            return finish_table(&sum, root, token.at, Vec::new());
        }
        self.next_node(sum, root, token.at, Vec::new())
    }

    fn next_node(&mut self, sum: ScopedSum<'t>, root: i64, open: usize, nodes: Vec<SumValue>) -> Step<'t> {
        self.lexer.expect(TokenKind::Hash)?;
        let token = self.lexer.next()?;
        let (constructor, _) = constructor_named(&token, &sum)?;
        self.frames.push(Frame::Table {
            sum: sum.clone(),
            root,
            open,
            nodes,
        });
        self.next_argument(sum, constructor, ConstructedKind::Node, Vec::new())
    }
}

fn part_of(references: &References, index: usize) -> References {
    match references {
        References::Tuple(parts) => parts.get(index).cloned().unwrap_or(References::None),
        _ => References::None,
    }
}

fn constructor_named<'t>(
    token: &Token<'_>,
    sum: &ScopedSum<'t>,
) -> Result<(u32, &'t Constructor), ReadError> {
    let found = match token.kind {
        TokenKind::Word => sum.sum.constructor(token.text),
        _ => None,
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = sum.sum.constructors.iter().map(|c| c.name.as_str()).collect();
        let mut error = token.unexpected(&format!("a value of type {}", sum.sum.name));
        error.hint = Some(format!("it starts with {}", names.join(" or ")));
        error
    })
}

fn needs_parentheses(token: &Token<'_>, constructor: &Constructor, place: Place) -> Result<(), ReadError> {
    if place == Place::Free || constructor.fields.is_empty() {
        return Ok(());
    }
    let mut error = token.unexpected("one word or something in parentheses");
    error.hint = Some(format!("write `({} …)`", constructor.name));
    Err(error)
}

fn finish_record<'t>(expected: &Expected<'t>, open: usize, done: Vec<Option<Value>>) -> Step<'t> {
    let ValueType::Record(fields) = expected.ty.ty else {
        return Ok(State::Done(Value::unit()));
    };
    let missing: Vec<String> = fields
        .iter()
        .zip(&done)
        .filter(|(_, value)| value.is_none())
        .map(|((name, _), _)| format!("`{name}`"))
        .collect();
    if !missing.is_empty() {
        return Err(ReadError {
            at: open,
            expected: expected.ty.ty.to_string(),
            found: format!("a record without {}", missing.join(", ")),
            hint: None,
        });
    }
    Ok(State::Done(Value::tuple(done.into_iter().flatten())))
}

fn finish_array<'t>(
    element: &'t ValueType,
    expected: &Expected<'t>,
    done: Vec<Value>,
    starts: &[usize],
) -> Step<'t> {
    let held = node_type(
        element,
        match &expected.references {
            References::Array(inside) => inside,
            _ => &References::None,
        },
    );
    match collect(&held, done) {
        Ok(array) => Ok(State::Done(Value::array(array))),
        Err(wrong) => Err(ReadError {
            at: starts.get(wrong.index).copied().unwrap_or(0),
            expected: wrong.error.expected,
            found: wrong.error.found,
            hint: Some("rows of a regular array have equal lengths; `[?]` is for others".to_owned()),
        }),
    }
}

/// The type with positions in place of references.
fn node_type(ty: &ValueType, references: &References) -> ValueType {
    match (ty, references) {
        (_, References::Position) => ValueType::Scalar(ScalarType::I64),
        (ValueType::Tuple(types), References::Tuple(parts)) => {
            ValueType::Tuple(types.iter().zip(parts).map(|(t, p)| node_type(t, p)).collect())
        }
        (ValueType::Record(fields), References::Tuple(parts)) => ValueType::Tuple(
            fields
                .iter()
                .zip(parts)
                .map(|((_, t), p)| node_type(t, p))
                .collect(),
        ),
        (ValueType::Array(dim, element), References::Array(inside)) => {
            ValueType::array(dim.clone(), node_type(element, inside))
        }
        _ => ty.clone(),
    }
}

fn finish_table<'t>(sum: &ScopedSum<'t>, root: i64, at: usize, nodes: Vec<SumValue>) -> Step<'t> {
    let table = NodeTable {
        nodes,
        references: Arc::new(sum.sum.references()),
    };
    match table.datum(root) {
        Ok(datum) => Ok(State::Done(Value::Datum(datum))),
        Err(error) => Err(ReadError {
            at,
            expected: format!("a table of {}", sum.sum.name),
            found: match error {
                TableError::Empty => "a table without nodes".to_owned(),
                TableError::Root { root, nodes } => format!("root {root} in a table of {nodes} nodes"),
                TableError::Reference {
                    node,
                    reference,
                    nodes,
                }
                | TableError::Earlier {
                    node,
                    reference,
                    nodes,
                } => format!("node {node} that refers to {reference} in a table of {nodes} nodes"),
                TableError::Malformed { node } => format!("node {node} that is no node value"),
            },
            hint: None,
        }),
    }
}
