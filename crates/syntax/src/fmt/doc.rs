//! Documents: text with places where it may be broken, and the layout that breaks as few as fit the width. The algebra
//! is that of Wadler's "A prettier printer" with what comments need: text that waits for the end of its line.

use std::rc::Rc;

/// A document. Cloning is cheap where it matters: groups are shared.
#[derive(Clone, Debug)]
pub enum Doc {
    Text(String),
    /// A blank, or a line break where its group is broken.
    Line,
    /// Always a line break.
    HardLine,
    /// Always a line break and an empty line.
    EmptyLine,
    /// A line break unless the line is still empty.
    FreshLine,
    Concat(Vec<Doc>),
    /// Lines started inside are indented further.
    Nest(usize, Rc<Doc>),
    /// Lines started inside are indented to the column where it starts.
    Align(Rc<Doc>),
    /// All its lines are blanks if it fits, all are breaks otherwise.
    Group(Rc<Doc>),
    /// A group that is broken whether it fits or not.
    Broken(Rc<Doc>),
    /// Items between which only those lines are broken that must be.
    Fill(Vec<Doc>),
    /// The first if it fits up to the end of its first line, else the second.
    Choice(Rc<Doc>, Rc<Doc>),
    /// A comment in front of what follows; one that waits for the end of the line goes first.
    Comment(String),
    /// A comment that goes behind everything else on its line.
    Suffix(String),
}

pub const NIL: Doc = Doc::Concat(Vec::new());

pub fn text(text: impl Into<String>) -> Doc {
    Doc::Text(text.into())
}

pub fn concat(docs: impl IntoIterator<Item = Doc>) -> Doc {
    Doc::Concat(docs.into_iter().collect())
}

pub fn nest(indent: usize, doc: Doc) -> Doc {
    Doc::Nest(indent, Rc::new(doc))
}

pub fn align(doc: Doc) -> Doc {
    Doc::Align(Rc::new(doc))
}

pub fn group(doc: Doc) -> Doc {
    Doc::Group(Rc::new(doc))
}

pub fn choice(first: Doc, second: Doc) -> Doc {
    Doc::Choice(Rc::new(first), Rc::new(second))
}

/// Whether a group that spans lines in the source keeps doing so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lines {
    One,
    Several,
}

/// A group that is broken where the source was.
pub fn group_as(lines: Lines, doc: Doc) -> Doc {
    match lines {
        Lines::One => group(doc),
        Lines::Several => Doc::Broken(Rc::new(doc)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Break,
}

#[derive(Clone, Copy)]
struct Command<'d> {
    indent: usize,
    mode: Mode,
    doc: &'d Doc,
}

/// Lays a document out, ended by a line break unless it is empty.
pub fn render(doc: &Doc, width: usize) -> String {
    let mut layout = Layout {
        width,
        out: String::new(),
        column: 0,
        indent: 0,
        suffix: None,
    };
    layout.run(Command {
        indent: 0,
        mode: Mode::Break,
        doc,
    });
    layout.flush_suffix();
    trim_end(&mut layout.out);
    layout.out
}

/// Everything on one line.
pub fn render_flat(doc: &Doc) -> String {
    let mut layout = Layout {
        width: usize::MAX,
        out: String::new(),
        column: 0,
        indent: 0,
        suffix: None,
    };
    layout.run(Command {
        indent: 0,
        mode: Mode::Flat,
        doc,
    });
    layout.out
}

struct Layout<'d> {
    width: usize,
    out: String,
    column: usize,
    /// Of the current line, written with its first text.
    indent: usize,
    /// The comment that waits for the end of the line.
    suffix: Option<&'d str>,
}

impl<'d> Layout<'d> {
    fn run(&mut self, command: Command<'d>) {
        let mut stack = vec![command];
        while let Some(command) = stack.pop() {
            self.step(command, &mut stack);
        }
    }

    fn step(&mut self, command: Command<'d>, stack: &mut Vec<Command<'d>>) {
        let Command { indent, mode, doc } = command;
        match doc {
            Doc::Text(text) => self.write(text),
            Doc::Line if mode == Mode::Flat => self.write(" "),
            Doc::Line | Doc::HardLine => self.newline(indent),
            Doc::EmptyLine => {
                self.newline(indent);
                self.out.push('\n');
            }
            Doc::FreshLine if self.column > 0 => self.newline(indent),
            Doc::FreshLine => self.indent = indent,
            Doc::Concat(docs) => stack.extend(docs.iter().rev().map(|doc| Command { indent, mode, doc })),
            Doc::Nest(by, doc) => {
                let indent = self.limited(indent + by);
                stack.push(Command { indent, mode, doc });
            }
            Doc::Align(doc) => {
                let indent = self.limited(self.start_column());
                stack.push(Command { indent, mode, doc });
            }
            Doc::Group(doc) => {
                let mode = match mode {
                    Mode::Flat => Mode::Flat,
                    Mode::Break => self.mode_of(doc, stack),
                };
                stack.push(Command { indent, mode, doc });
            }
            Doc::Broken(doc) => {
                // Only a text that is wanted on one line is laid out flat around something broken.
                stack.push(Command { indent, mode, doc });
            }
            Doc::Fill(items) => self.fill(items, indent, mode),
            Doc::Choice(first, second) => {
                let fits = mode == Mode::Flat || self.fits(Mode::Break, first, stack);
                let doc = if fits { first } else { second };
                stack.push(Command { indent, mode, doc });
            }
            Doc::Comment(text) => {
                if self.suffix.is_some() {
                    self.newline(indent);
                }
                // `-` or `{` and the start of a comment would make another comment.
                if self.column > 0 && self.out.ends_with(['-', '{']) {
                    self.write(" ");
                }
                self.write(text);
            }
            Doc::Suffix(text) => self.suffix(text, indent),
        }
    }

    /// Only one comment can end a line; a second one gets a line of its own.
    fn suffix(&mut self, text: &'d str, indent: usize) {
        if self.suffix.is_none() {
            self.suffix = Some(text);
        } else {
            self.newline(indent);
            self.write(text);
            self.newline(indent);
        }
    }

    fn mode_of(&self, group: &'d Doc, rest: &[Command<'d>]) -> Mode {
        if self.fits(Mode::Flat, group, rest) {
            Mode::Flat
        } else {
            Mode::Break
        }
    }

    /// Deep nesting does not push everything to the right.
    fn limited(&self, indent: usize) -> usize {
        indent.min(self.width.saturating_mul(4) / 5)
    }

    fn start_column(&self) -> usize {
        if self.column == 0 {
            self.indent
        } else {
            self.column
        }
    }

    fn fill(&mut self, items: &'d [Doc], indent: usize, mode: Mode) {
        for (at, doc) in items.iter().enumerate() {
            if at > 0 {
                if mode == Mode::Flat || self.fits_after_blank(doc) {
                    self.write(" ");
                } else {
                    self.newline(indent);
                }
            }
            let mode = match mode {
                Mode::Flat => Mode::Flat,
                Mode::Break => self.mode_of(doc, &[]),
            };
            self.run(Command { indent, mode, doc });
        }
    }

    fn fits_after_blank(&mut self, doc: &'d Doc) -> bool {
        self.column += 1;
        let fits = self.suffix.is_none() && self.fits(Mode::Flat, doc, &[]);
        self.column -= 1;
        fits
    }

    fn write(&mut self, text: &str) {
        if self.column == 0 {
            if text.trim_start_matches(' ').is_empty() {
                return;
            }
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
        }
        self.out.push_str(text);
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count().max(1),
            None => self.column + text.chars().count(),
        };
    }

    fn newline(&mut self, indent: usize) {
        self.flush_suffix();
        trim_end(&mut self.out);
        self.out.push('\n');
        self.column = 0;
        self.indent = indent;
    }

    fn flush_suffix(&mut self) {
        if let Some(suffix) = self.suffix.take() {
            if self.column > 0 {
                trim_end(&mut self.out);
                self.out.push(' ');
            }
            self.write(suffix);
        }
    }

    /// Whether `doc` and what comes behind it, up to the end of the line, fits.
    fn fits(&self, mode: Mode, doc: &'d Doc, rest: &[Command<'d>]) -> bool {
        let Some(left) = self.width.checked_sub(self.start_column()) else {
            return false;
        };
        let mut measure = Measure {
            left,
            comment_waits: self.suffix.is_some(),
            frames: vec![Frame::new(mode, std::slice::from_ref(doc))],
        };
        if let Some(answer) = measure.run(Part::Measured) {
            return answer;
        }
        for command in rest.iter().rev() {
            measure
                .frames
                .push(Frame::new(command.mode, std::slice::from_ref(command.doc)));
            if let Some(answer) = measure.run(Part::Behind) {
                return answer;
            }
        }
        true
    }
}

/// Whether something is what is being measured, or follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Measured,
    Behind,
}

struct Frame<'d> {
    mode: Mode,
    docs: std::slice::Iter<'d, Doc>,
}

impl<'d> Frame<'d> {
    fn new(mode: Mode, docs: &'d [Doc]) -> Frame<'d> {
        Frame {
            mode,
            docs: docs.iter(),
        }
    }
}

struct Measure<'d> {
    left: usize,
    comment_waits: bool,
    frames: Vec<Frame<'d>>,
}

impl<'d> Measure<'d> {
    /// The answer, if it is known before everything has been measured.
    fn run(&mut self, part: Part) -> Option<bool> {
        while let Some(frame) = self.frames.last_mut() {
            let mode = frame.mode;
            let Some(doc) = frame.docs.next() else {
                self.frames.pop();
                continue;
            };
            if let Some(answer) = self.measure(mode, doc, part) {
                return Some(answer);
            }
        }
        None
    }

    fn measure(&mut self, mode: Mode, doc: &'d Doc, part: Part) -> Option<bool> {
        match doc {
            Doc::Comment(_) if self.comment_waits => Some(part == Part::Behind || mode == Mode::Break),
            Doc::Text(text) | Doc::Comment(text) => {
                let (first, ends_line) = match text.split_once('\n') {
                    Some((first, _)) => (first, true),
                    None => (text.as_str(), false),
                };
                let too_long = self.take(first.chars().count());
                too_long.or(ends_line.then_some(part == Part::Behind || mode == Mode::Break))
            }
            Doc::Line if mode == Mode::Break => Some(true),
            // A comment waits for the end of the line, so the line has to end here.
            Doc::Line if self.comment_waits => Some(false),
            Doc::Line => self.take(1),
            Doc::HardLine | Doc::EmptyLine | Doc::FreshLine => {
                Some(part == Part::Behind || mode == Mode::Break)
            }
            Doc::Concat(docs) => self.enter(mode, docs),
            Doc::Nest(_, doc) | Doc::Align(doc) | Doc::Choice(doc, _) => {
                self.enter(mode, std::slice::from_ref(doc))
            }
            // What comes behind may still be broken where it can be.
            Doc::Group(doc) if part == Part::Behind => self.enter(mode, std::slice::from_ref(doc)),
            Doc::Group(doc) => self.enter(Mode::Flat, std::slice::from_ref(doc)),
            Doc::Broken(_) if mode == Mode::Flat && part == Part::Measured => Some(false),
            Doc::Broken(doc) => self.enter(Mode::Break, std::slice::from_ref(doc)),
            Doc::Fill(items) => self.fill(mode, items),
            Doc::Suffix(_) => {
                self.comment_waits = true;
                None
            }
        }
    }

    /// The line ends behind the first item at the latest.
    fn fill(&mut self, mode: Mode, items: &'d [Doc]) -> Option<bool> {
        const LINE: &[Doc] = &[Doc::Line];
        match mode {
            Mode::Flat => {
                self.enter(mode, items);
                self.take(items.len().saturating_sub(1))
            }
            Mode::Break => {
                if items.len() > 1 {
                    self.enter(mode, LINE);
                }
                self.enter(Mode::Flat, items.get(..1).unwrap_or(&[]))
            }
        }
    }

    fn take(&mut self, columns: usize) -> Option<bool> {
        match self.left.checked_sub(columns) {
            None => Some(false),
            Some(left) => {
                self.left = left;
                None
            }
        }
    }

    fn enter(&mut self, mode: Mode, docs: &'d [Doc]) -> Option<bool> {
        self.frames.push(Frame::new(mode, docs));
        None
    }
}

fn trim_end(out: &mut String) {
    let end = out.trim_end_matches(' ').len();
    out.truncate(end);
}
