//! Reading JSON, led by the expected type. Values under way lie on a stack of our own: data may be nested as deep as a
//! list is long.

use super::lexer::{Ahead, Lexer};
use super::{scalar, table};
use crate::FormatError;
use almach_base::Name;
use almach_base::codes::cli;
use almach_base::suggest::nearest;
use almach_value::{
    ArrayValue, Buffer, Constructor, DimType, ScalarType, Scoped, ScopedSum, Value, ValueType, collect,
    conforms,
};

/// Steps of a path that are shown.
const MAX_STEPS: usize = 20;

/// Reads one value of a type. Sizes in the type are checked, named ones for being the same everywhere.
pub fn read_json(bytes: &[u8], ty: &ValueType) -> Result<Value, FormatError> {
    let text = utf8(bytes)?;
    let mut lexer = Lexer::new(text);
    let value = Reader::read(&mut lexer, ty)?;
    if lexer.ahead() != Ahead::End {
        return Err(lexer.unexpected("the end of the file"));
    }
    conforms(&value, ty).map_err(|wrong| {
        FormatError::shape(format!("expected {}, found {}", wrong.expected, wrong.found)).at(wrong.path)
    })?;
    Ok(value)
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, FormatError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes.iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("the file is not UTF-8 from byte {at} on, in line {line}");
        FormatError::new(cli::NOT_UTF8, message)
    })
}

pub(super) struct Reader<'l, 'a, 't> {
    lexer: &'l mut Lexer<'a>,
    frames: Vec<Frame<'t>>,
}

/// A value that is begun and not finished.
enum Frame<'t> {
    Array {
        element: Scoped<'t>,
        values: Vec<Value>,
    },
    Tuple {
        whole: Scoped<'t>,
        types: &'t [ValueType],
        values: Vec<Value>,
    },
    Record {
        whole: Scoped<'t>,
        fields: &'t [(Name, ValueType)],
        values: Vec<Option<Value>>,
        current: usize,
    },
    Constructor {
        sum: ScopedSum<'t>,
        number: u32,
        definition: &'t Constructor,
        values: Vec<Value>,
    },
}

/// What reading on has led to.
enum Progress<'t> {
    Finished(Value),
    /// A value of this type comes next.
    Expects(Scoped<'t>),
}

impl<'l, 'a, 't> Reader<'l, 'a, 't> {
    /// The next value, of a type.
    pub fn read(lexer: &'l mut Lexer<'a>, ty: &'t ValueType) -> Result<Value, FormatError> {
        let mut reader = Reader {
            lexer,
            frames: Vec::new(),
        };
        reader.run(Scoped::new(ty)).map_err(|mut error| {
            error.path = format!("{}{}", reader.path(), error.path);
            error
        })
    }

    fn run(&mut self, mut expected: Scoped<'t>) -> Result<Value, FormatError> {
        loop {
            let mut progress = self.begin(expected)?;
            expected = loop {
                match progress {
                    Progress::Expects(next) => break next,
                    Progress::Finished(value) if self.frames.is_empty() => return Ok(value),
                    Progress::Finished(value) => progress = self.resume(value)?,
                }
            };
        }
    }

    fn begin(&mut self, expected: Scoped<'t>) -> Result<Progress<'t>, FormatError> {
        match expected.ty {
            ValueType::Scalar(ty) => Ok(Progress::Finished(scalar::read(self.lexer, *ty)?.into())),
            ValueType::Vector(width, ty) => self.vector(*width as usize, *ty),
            ValueType::Tuple(types) => self.begin_tuple(expected.clone(), types),
            ValueType::Record(fields) => self.begin_record(expected.clone(), fields),
            ValueType::Array(_, element) => match &**element {
                ValueType::Scalar(ty) => self.scalars(*ty),
                element => self.begin_array(expected.part(element)),
            },
            ValueType::Sum(_) | ValueType::Recursive(_) => {
                let sum = expected
                    .sum()
                    .ok_or_else(|| self.mismatch(expected.ty, "a type without a definition"))?;
                self.begin_sum(sum, expected.ty)
            }
        }
    }

    fn resume(&mut self, value: Value) -> Result<Progress<'t>, FormatError> {
        match self.frames.last_mut() {
            None => Ok(Progress::Finished(value)),
            Some(Frame::Array { element, values }) => {
                values.push(value);
                let element = element.clone();
                if self.lexer.eat(b',') {
                    return Ok(Progress::Expects(element));
                }
                self.lexer.expect(b']', "`,` or `]`")?;
                self.finish_array()
            }
            Some(Frame::Tuple { whole, types, values }) => {
                values.push(value);
                if let Some(next) = types.get(values.len()) {
                    let next = whole.part(next);
                    self.lexer.expect(b',', "`,` and the next component")?;
                    return Ok(Progress::Expects(next));
                }
                self.lexer.expect(b']', "`]` after the last component")?;
                let values = std::mem::take(values);
                self.frames.pop();
                Ok(Progress::Finished(Value::tuple(values)))
            }
            Some(Frame::Record { values, current, .. }) => {
                if let Some(slot) = values.get_mut(*current) {
                    *slot = Some(value);
                }
                if self.lexer.eat(b',') {
                    return self.record_key();
                }
                self.lexer.expect(b'}', "`,` or `}`")?;
                self.finish_record()
            }
            Some(Frame::Constructor { .. }) => self.resume_constructor(value),
        }
    }

    fn mismatch(&mut self, ty: &ValueType, found: &str) -> FormatError {
        let error = FormatError::new(cli::VALUE_MISMATCH, format!("expected {ty}, found {found}"));
        self.lexer.located(error)
    }

    /// Takes an opening bracket.
    fn open(&mut self, mark: u8, kind: &str) -> Result<(), FormatError> {
        if self.lexer.eat(mark) {
            return Ok(());
        }
        let found = self.lexer.found();
        let error = FormatError::new(cli::VALUE_MISMATCH, format!("expected {kind}, found {found}"));
        Err(self.lexer.located(error))
    }

    /// An array of scalars needs no stack.
    fn scalars(&mut self, ty: ScalarType) -> Result<Progress<'t>, FormatError> {
        if ty == ScalarType::U8 && self.lexer.ahead() == Ahead::Text {
            let text = self.lexer.string()?;
            return Ok(Progress::Finished(Value::array(ArrayValue::text(&text))));
        }
        self.open(b'[', "an array")?;
        let mut buffer = Buffer::new(ty);
        if !self.lexer.eat(b']') {
            loop {
                let scalar = scalar::read(self.lexer, ty);
                let scalar = scalar.map_err(|error| error.at(format!("[{}]", buffer.len())))?;
                buffer.push_raw(scalar.to_raw());
                if !self.lexer.eat(b',') {
                    self.lexer.expect(b']', "`,` or `]`")?;
                    break;
                }
            }
        }
        Ok(Progress::Finished(Value::array(ArrayValue::scalars(buffer))))
    }

    fn vector(&mut self, width: usize, ty: ScalarType) -> Result<Progress<'t>, FormatError> {
        self.open(b'[', "an array")?;
        let mut lanes = Vec::with_capacity(width.min(16));
        for at in 0..width {
            if at > 0 {
                self.lexer
                    .expect(b',', &format!("`,`: a vector has {width} lanes"))?;
            }
            lanes.push(scalar::read(self.lexer, ty).map_err(|error| error.at(format!("[{at}]")))?);
        }
        self.lexer
            .expect(b']', &format!("`]`: a vector has {width} lanes"))?;
        Ok(Progress::Finished(Value::vector(lanes)))
    }

    fn begin_tuple(
        &mut self,
        whole: Scoped<'t>,
        types: &'t [ValueType],
    ) -> Result<Progress<'t>, FormatError> {
        if types.is_empty() && self.lexer.eat_word("null") {
            return Ok(Progress::Finished(Value::unit()));
        }
        self.open(b'[', &format!("an array of {} components", types.len()))?;
        let Some(first) = types.first() else {
            self.lexer
                .expect(b']', "`]`: the empty tuple has no components")?;
            return Ok(Progress::Finished(Value::unit()));
        };
        let first = whole.part(first);
        self.frames.push(Frame::Tuple {
            whole,
            types,
            values: Vec::with_capacity(types.len()),
        });
        Ok(Progress::Expects(first))
    }

    fn begin_array(&mut self, element: Scoped<'t>) -> Result<Progress<'t>, FormatError> {
        self.open(b'[', "an array")?;
        let first = element.clone();
        self.frames.push(Frame::Array {
            element,
            values: Vec::new(),
        });
        if self.lexer.eat(b']') {
            return self.finish_array();
        }
        Ok(Progress::Expects(first))
    }

    fn finish_array(&mut self) -> Result<Progress<'t>, FormatError> {
        let Some(Frame::Array { element, values }) = self.frames.pop() else {
            return Err(self.lexer.error("an array ends that has not begun"));
        };
        let array = collect(element.ty, values).map_err(|wrong| {
            let mut error = FormatError::shape(wrong.error.to_string()).at(format!("[{}]", wrong.index));
            if !matches!(element.ty, ValueType::Array(DimType::Jagged, _)) {
                error = error.help("rows of different lengths need `?` in the type: [n][?]t");
            }
            error
        })?;
        Ok(Progress::Finished(Value::array(array)))
    }

    fn begin_record(
        &mut self,
        whole: Scoped<'t>,
        fields: &'t [(Name, ValueType)],
    ) -> Result<Progress<'t>, FormatError> {
        self.open(b'{', "an object")?;
        self.frames.push(Frame::Record {
            whole,
            fields,
            values: vec![None; fields.len()],
            current: 0,
        });
        if self.lexer.eat(b'}') {
            return self.finish_record();
        }
        self.record_key()
    }

    fn record_key(&mut self) -> Result<Progress<'t>, FormatError> {
        let key = self.lexer.string()?;
        self.lexer.expect(b':', "`:`")?;
        let Some(Frame::Record {
            whole,
            fields,
            values,
            current,
        }) = self.frames.last_mut()
        else {
            return Err(self.lexer.error("a key outside of an object"));
        };
        let Some(index) = fields.iter().position(|(name, _)| **name == *key) else {
            let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("the type has no field `{key}`; it has {}", names.join(", "));
            let meant = nearest(&key, names).map(|name| format!("did you mean `{name}`?"));
            self.frames.pop();
            let mut error = FormatError::new(cli::VALUE_MISMATCH, message);
            error.help.extend(meant);
            return Err(self.lexer.located(error));
        };
        if values.get(index).is_some_and(Option::is_some) {
            let message = format!("the field `{key}` is given twice");
            return Err(self.lexer.located(FormatError::new(cli::VALUE_MISMATCH, message)));
        }
        *current = index;
        match fields.get(index) {
            Some((_, ty)) => Ok(Progress::Expects(whole.part(ty))),
            None => Err(self.lexer.error("a field without a type")),
        }
    }

    fn finish_record(&mut self) -> Result<Progress<'t>, FormatError> {
        let Some(Frame::Record { fields, values, .. }) = self.frames.pop() else {
            return Err(self.lexer.error("an object ends that has not begun"));
        };
        let mut complete = Vec::with_capacity(values.len());
        for ((name, ty), value) in fields.iter().zip(values) {
            match value {
                Some(value) => complete.push(value),
                None => {
                    let message = format!("the field `{name}` of type {ty} is missing");
                    return Err(self.lexer.located(FormatError::new(cli::VALUE_MISMATCH, message)));
                }
            }
        }
        Ok(Progress::Finished(Value::tuple(complete)))
    }

    fn begin_sum(&mut self, sum: ScopedSum<'t>, ty: &ValueType) -> Result<Progress<'t>, FormatError> {
        match self.lexer.ahead() {
            Ahead::Text => {
                let name = self.lexer.string()?;
                let (number, definition) = self.constructor(&sum, &name)?;
                if !definition.fields.is_empty() {
                    let message = format!(
                        "`{name}` needs {}: write {{\"{name}\": …}}",
                        counted(definition.fields.len())
                    );
                    return Err(self.lexer.located(FormatError::new(cli::VALUE_MISMATCH, message)));
                }
                Ok(Progress::Finished(made(&sum, number, Vec::new())))
            }
            Ahead::Object => {
                self.lexer.eat(b'{');
                let name = self.lexer.string()?;
                self.lexer.expect(b':', "`:`")?;
                if table::is_key(&name) && sum.sum.is_recursive() {
                    return table::read(self.lexer, sum.sum, &name).map(Progress::Finished);
                }
                let (number, definition) = self.constructor(&sum, &name)?;
                self.begin_constructor(sum, number, definition)
            }
            Ahead::Array | Ahead::Number | Ahead::Other | Ahead::End => {
                let found = self.lexer.found();
                Err(self.mismatch(ty, &found))
            }
        }
    }

    fn constructor(
        &mut self,
        sum: &ScopedSum<'t>,
        name: &str,
    ) -> Result<(u32, &'t Constructor), FormatError> {
        if let Some(found) = sum.sum.constructor(name) {
            return Ok(found);
        }
        let names: Vec<&str> = sum.sum.constructors.iter().map(|c| c.name.as_str()).collect();
        let shown: String = name.chars().take(40).collect();
        let message = format!(
            "{} has no constructor `{shown}`; it has {}",
            sum.sum.name,
            names.join(", ")
        );
        let mut error = FormatError::new(cli::VALUE_MISMATCH, message);
        error
            .help
            .extend(nearest(name, names).map(|meant| format!("did you mean `{meant}`?")));
        Err(self.lexer.located(error))
    }

    fn begin_constructor(
        &mut self,
        sum: ScopedSum<'t>,
        number: u32,
        definition: &'t Constructor,
    ) -> Result<Progress<'t>, FormatError> {
        let Some(first) = sum.field(number, 0) else {
            if !self.lexer.eat_word("null") {
                self.open(b'[', &format!("[]: `{}` has no fields", definition.name))?;
                self.lexer
                    .expect(b']', &format!("`]`: `{}` has no fields", definition.name))?;
            }
            self.lexer.expect(b'}', "`}`")?;
            return Ok(Progress::Finished(made(&sum, number, Vec::new())));
        };
        let arity = definition.fields.len();
        if arity > 1 {
            let kind = format!("an array: `{}` has {}", definition.name, counted(arity));
            self.open(b'[', &kind)?;
        }
        self.frames.push(Frame::Constructor {
            sum,
            number,
            definition,
            values: Vec::with_capacity(arity),
        });
        Ok(Progress::Expects(first))
    }

    fn resume_constructor(&mut self, value: Value) -> Result<Progress<'t>, FormatError> {
        let Some(Frame::Constructor {
            sum,
            number,
            definition,
            values,
        }) = self.frames.last_mut()
        else {
            return Err(self.lexer.error("a constructor ends that has not begun"));
        };
        values.push(value);
        let fields =
            format_args!("`{}` has {}", definition.name, counted(definition.fields.len())).to_string();
        if let Some(next) = sum.field(*number, values.len()) {
            self.lexer.expect(b',', &format!("`,`: {fields}"))?;
            return Ok(Progress::Expects(next));
        }
        if definition.fields.len() > 1 {
            self.lexer.expect(b']', &format!("`]`: {fields}"))?;
        }
        self.lexer.expect(b'}', "`}`: one constructor makes one value")?;
        let value = made(sum, *number, std::mem::take(values));
        self.frames.pop();
        Ok(Progress::Finished(value))
    }

    /// From the whole value to what is being read.
    fn path(&self) -> String {
        let skipped = self.frames.len().saturating_sub(MAX_STEPS);
        let start = if skipped > 0 { "…" } else { "" };
        let steps = self.frames.iter().skip(skipped).map(|frame| match frame {
            Frame::Array { values, .. } => format!("[{}]", values.len()),
            Frame::Tuple { values, .. } => format!(".{}", values.len()),
            Frame::Record { fields, current, .. } => match fields.get(*current) {
                Some((name, _)) => format!(".{name}"),
                None => String::new(),
            },
            Frame::Constructor {
                definition, values, ..
            } if definition.fields.len() > 1 => format!(".{}.{}", definition.name, values.len()),
            Frame::Constructor { definition, .. } => format!(".{}", definition.name),
        });
        start.chars().map(String::from).chain(steps).collect()
    }
}

fn made(sum: &ScopedSum<'_>, number: u32, fields: Vec<Value>) -> Value {
    if sum.sum.is_recursive() {
        Value::cell(number, fields)
    } else {
        Value::sum(number, fields)
    }
}

fn counted(fields: usize) -> String {
    match fields {
        0 => "no fields".to_owned(),
        1 => "1 field".to_owned(),
        _ => format!("{fields} fields"),
    }
}
