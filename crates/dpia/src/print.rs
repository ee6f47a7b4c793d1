//! Printer for types, phrases and programs. What it writes, `parse` reads back (marks of source places are left out).

use crate::lex::quote;
use crate::phrase::{Instance, Phrase, Program, Side};
use crate::prim::{Home, Output, Prim, ScanKind, Site, Space};
use crate::store::{Reference, Store};
use crate::ty::{Arrow, Data, Kind, Nat, PhraseType};
use almach_prim::Chunk;
use almach_value::ir_text::{binary_name, scalar_text, ternary_name, unary_name};
use almach_value::ir_types::type_text;
use std::fmt;

/// Lines are broken where they would be longer.
const WIDTH: usize = 100;

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Scalar(scalar) => write!(f, "{scalar}"),
            Data::Index(n) => write!(f, "idx[{n}]"),
            Data::Array(n, element) => write!(f, "{}.{element}", atomic_nat(n)),
            Data::Tuple(parts) => match parts.as_slice() {
                [one] => write!(f, "({one},)"),
                _ => {
                    f.write_str("(")?;
                    for (at, part) in parts.iter().enumerate() {
                        write!(f, "{}{part}", if at == 0 { "" } else { ", " })?;
                    }
                    f.write_str(")")
                }
            },
            Data::Vector(width, scalar) => write!(f, "{scalar}<{width}>"),
            Data::Some(names, body) => {
                f.write_str("some")?;
                for name in names {
                    write!(f, " {name}")?;
                }
                write!(f, ". {body}")
            }
            Data::Var(name) => write!(f, "{name}"),
        }
    }
}

fn atomic_nat(n: &Nat) -> String {
    match n.as_var().is_some() || n.as_constant().is_some_and(|c| c >= 0) {
        true => n.to_string(),
        false => format!("({n})"),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Nat => "nat",
            Kind::Data => "data",
        })
    }
}

impl fmt::Display for PhraseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PhraseType::Exp(data) => write!(f, "exp[{data}]"),
            PhraseType::Acc(data) => write!(f, "acc[{data}]"),
            PhraseType::Comm => f.write_str("comm"),
            PhraseType::Product(left, right) => match (&**left, &**right) {
                (PhraseType::Acc(a), PhraseType::Exp(b)) if a == b => write!(f, "var[{a}]"),
                _ => write!(f, "{} * {}", operand(left), operand(right)),
            },
            PhraseType::Fun(arrow, from, to) => {
                let arrow = match arrow {
                    Arrow::Plain => "->",
                    Arrow::Passive => "->p",
                };
                match &**from {
                    PhraseType::Fun(..) | PhraseType::Dependent(..) => write!(f, "({from}) {arrow} {to}"),
                    _ => write!(f, "{from} {arrow} {to}"),
                }
            }
            PhraseType::Dependent(name, kind, body) => write!(f, "({name}: {kind}) -> {body}"),
        }
    }
}

fn operand(ty: &PhraseType) -> String {
    match ty {
        PhraseType::Exp(_) | PhraseType::Acc(_) | PhraseType::Comm => ty.to_string(),
        PhraseType::Product(..) if ty.to_string().starts_with("var[") => ty.to_string(),
        _ => format!("({ty})"),
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for store in &self.stores {
            writeln!(f, "{store}\n")?;
        }
        for (at, proc) in self.procs.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            writeln!(f, "proc {} : {} =", proc.name, proc.ty)?;
            let mut printer = Printer {
                out: String::new(),
                indent: 2,
            };
            printer.phrase(&proc.body);
            writeln!(f, "  {}", printer.out)?;
        }
        Ok(())
    }
}

/// `store List(i64, i64) [] [1] constant 0`: its columns, by constructor those that refer to rows of it, and the
/// constructors that have one row for all. `2 to 3 in Rose$0 [0]` is a reference to rows of another store, whose column 0
/// refers to rows of this one. `links [1] []` are those of types that share the store. `zeros 3` are rows that are there from the start.
impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        write!(f, "store {}({})", self.name, columns.join(", "))?;
        for references in &self.references {
            let references: Vec<String> = references.iter().map(ToString::to_string).collect();
            write!(f, " [{}]", references.join(", "))?;
        }
        if !self.links.is_empty() {
            write!(f, " links")?;
        }
        for links in &self.links {
            let links: Vec<String> = links.iter().map(ToString::to_string).collect();
            write!(f, " [{}]", links.join(", "))?;
        }
        for constant in &self.constants {
            write!(f, " constant {constant}")?;
        }
        if self.zeros > 0 {
            write!(f, " zeros {}", self.zeros)?;
        }
        Ok(())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Cell(column) => write!(f, "{column}"),
            Reference::Rows {
                begin,
                end,
                store,
                within,
            } => {
                let within: Vec<String> = within.iter().map(ToString::to_string).collect();
                write!(f, "{begin} to {end} in {store} [{}]", within.join(", "))
            }
            Reference::Under { tag, number, within } => {
                let within: Vec<String> = within.iter().map(ToString::to_string).collect();
                write!(f, "under {tag} {number} [{}]", within.join(", "))
            }
        }
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer {
            out: String::new(),
            indent: 0,
        };
        printer.phrase(self);
        f.write_str(&printer.out)
    }
}

struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    fn phrase(&mut self, phrase: &Phrase) {
        // What cannot be broken is written whatever its length.
        if let Phrase::Var(_)
        | Phrase::Prim(_)
        | Phrase::NatApp(..)
        | Phrase::DataApp(..)
        | Phrase::Project(..) = phrase.unmarked()
        {
            flatten(phrase, Place::Argument, usize::MAX, &mut self.out);
            return;
        }
        let mut flat = String::new();
        if flatten(phrase, Place::Open, WIDTH.saturating_sub(self.indent), &mut flat) {
            self.out.push_str(&flat);
            return;
        }
        match phrase {
            Phrase::At(_, inner) => self.phrase(inner),
            Phrase::Lam(name, ty, body) => {
                self.out.push_str(&format!("\\{name}: {ty}. "));
                self.below(body);
            }
            Phrase::TypeLam(name, kind, body) => {
                self.out.push_str(&format!("/\\{name}: {kind}. "));
                self.below(body);
            }
            _ => match command(phrase) {
                Some(command) => self.command(command),
                None => self.application(phrase),
            },
        }
    }

    /// A body: directly behind where it is another abstraction, else on a line of its own.
    fn below(&mut self, body: &Phrase) {
        if let Phrase::Lam(..) | Phrase::TypeLam(..) = body.unmarked() {
            return self.phrase(body);
        }
        self.indent += 2;
        self.line();
        self.phrase(body);
        self.indent -= 2;
    }

    fn command(&mut self, command: Command<'_>) {
        match command {
            Command::Seq(first, second) => {
                match first.unmarked() {
                    Phrase::Lam(..) | Phrase::TypeLam(..) => self.parenthesised(first),
                    _ if matches!(self::command(first), Some(Command::Seq(..))) => self.parenthesised(first),
                    _ => self.phrase(first),
                }
                self.out.push(';');
                self.line();
                self.phrase(second);
            }
            Command::Assign(data, acceptor, expression) => {
                self.atom(acceptor);
                self.out.push_str(&format!(" := {{{data}}}"));
                self.indent += 2;
                self.line();
                self.atom(expression);
                self.indent -= 2;
            }
            Command::If(condition, then, otherwise) => {
                self.out.push_str("if ");
                self.atom(condition);
                self.out.push_str(" then ");
                self.parenthesised(then);
                self.out.push_str(" else ");
                self.parenthesised(otherwise);
            }
            Command::While(condition, body) => {
                self.out.push_str("while ");
                self.atom(condition);
                self.out.push_str(" do ");
                self.parenthesised(body);
            }
        }
    }

    fn parenthesised(&mut self, phrase: &Phrase) {
        self.out.push('(');
        self.indent += 2;
        self.line();
        self.phrase(phrase);
        self.indent -= 2;
        self.line();
        self.out.push(')');
    }

    /// Something that stands as an argument.
    fn atom(&mut self, phrase: &Phrase) {
        let mut flat = String::new();
        if flatten(
            phrase,
            Place::Argument,
            WIDTH.saturating_sub(self.indent),
            &mut flat,
        ) {
            return self.out.push_str(&flat);
        }
        match phrase.unmarked() {
            Phrase::Var(_)
            | Phrase::Prim(_)
            | Phrase::NatApp(..)
            | Phrase::DataApp(..)
            | Phrase::Project(..) => self.phrase(phrase),
            Phrase::Pair(left, right) => {
                self.out.push('(');
                self.phrase(left);
                self.out.push_str(" & ");
                self.phrase(right);
                self.out.push(')');
            }
            inner => {
                self.out.push('(');
                self.phrase(inner);
                self.out.push(')');
            }
        }
    }

    fn application(&mut self, phrase: &Phrase) {
        let (head, arguments) = phrase.spine();
        if arguments.is_empty() {
            return self.atom(phrase);
        }
        self.atom(head);
        self.indent += 2;
        for (at, argument) in arguments.iter().enumerate() {
            match (at, argument.unmarked()) {
                (0, Phrase::Lam(..) | Phrase::TypeLam(..)) => self.out.push(' '),
                _ => self.line(),
            }
            self.indent -= usize::from(at == 0) * 2;
            self.atom(argument);
            self.indent += usize::from(at == 0) * 2;
        }
        self.indent -= 2;
    }
}

/// The commands that have a notation of their own.
pub(crate) enum Command<'a> {
    Seq(&'a Phrase, &'a Phrase),
    Assign(&'a Data, &'a Phrase, &'a Phrase),
    If(&'a Phrase, &'a Phrase, &'a Phrase),
    While(&'a Phrase, &'a Phrase),
}

pub(crate) fn command(phrase: &Phrase) -> Option<Command<'_>> {
    let Phrase::App(head, argument) = phrase.unmarked() else {
        return None;
    };
    let (Phrase::Prim(instance), Phrase::Pair(left, right)) = (head.unmarked(), argument.unmarked()) else {
        return None;
    };
    match (&instance.prim, instance.datas.as_slice(), right.unmarked()) {
        (Prim::Seq, ..) => Some(Command::Seq(left, right)),
        (Prim::Assign, [data], _) => Some(Command::Assign(data, left, right)),
        (Prim::If, _, Phrase::Pair(then, otherwise)) => Some(Command::If(left, then, otherwise)),
        (Prim::While, ..) => Some(Command::While(left, right)),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anything may stand here.
    Open,
    /// Left of `;`.
    Sequenced,
    /// Only atoms may stand here; the rest gets parentheses.
    Argument,
}

/// Writes a phrase in one line; false (and `out` is of no use) where it is longer than `room`.
fn flatten(phrase: &Phrase, place: Place, room: usize, out: &mut String) -> bool {
    let needs_parentheses = match phrase.unmarked() {
        Phrase::Var(_) | Phrase::Prim(_) | Phrase::Pair(..) | Phrase::Project(..) => false,
        Phrase::NatApp(..) | Phrase::DataApp(..) => false,
        Phrase::Lam(..) | Phrase::TypeLam(..) => place != Place::Open,
        inner => match (command(inner), place) {
            (_, Place::Open) => false,
            (Some(Command::Seq(..)), Place::Sequenced) => true,
            (_, Place::Sequenced) => false,
            (_, Place::Argument) => true,
        },
    };
    if needs_parentheses {
        out.push('(');
        return flatten(phrase, Place::Open, room, out) && {
            out.push(')');
            out.len() <= room
        };
    }
    flatten_bare(phrase, room, out) && out.len() <= room
}

fn flatten_bare(phrase: &Phrase, room: usize, out: &mut String) -> bool {
    let mut part = |place: Place, phrase: &Phrase, out: &mut String| {
        out.len() <= room && flatten(phrase, place, room, out)
    };
    match phrase {
        Phrase::At(_, inner) => part(Place::Open, inner, out),
        Phrase::Var(name) => {
            out.push_str(name);
            true
        }
        Phrase::Prim(instance) => {
            out.push_str(&instance.to_string());
            true
        }
        Phrase::Lam(name, ty, body) => {
            out.push_str(&format!("\\{name}: {ty}. "));
            part(Place::Open, body, out)
        }
        Phrase::TypeLam(name, kind, body) => {
            out.push_str(&format!("/\\{name}: {kind}. "));
            part(Place::Open, body, out)
        }
        Phrase::Pair(left, right) => {
            out.push('(');
            part(Place::Open, left, out) && {
                out.push_str(" & ");
                part(Place::Open, right, out) && {
                    out.push(')');
                    true
                }
            }
        }
        Phrase::Project(side, inner) => {
            part(Place::Argument, inner, out) && {
                out.push_str(match side {
                    Side::First => ".1",
                    Side::Second => ".2",
                });
                true
            }
        }
        Phrase::NatApp(inner, nat) => {
            part(Place::Argument, inner, out) && {
                out.push_str(&format!("[{nat}]"));
                true
            }
        }
        Phrase::DataApp(inner, data) => {
            part(Place::Argument, inner, out) && {
                out.push_str(&format!("{{{data}}}"));
                true
            }
        }
        Phrase::App(function, argument) => match command(phrase) {
            Some(command) => flatten_command(command, &mut part, out),
            None => {
                let head = match function.unmarked() {
                    Phrase::App(..) if self::command(function).is_none() => {
                        part(Place::Open, function.unmarked(), out)
                    }
                    _ => part(Place::Argument, function, out),
                };
                head && {
                    out.push(' ');
                    part(Place::Argument, argument, out)
                }
            }
        },
    }
}

fn flatten_command(
    command: Command<'_>,
    part: &mut impl FnMut(Place, &Phrase, &mut String) -> bool,
    out: &mut String,
) -> bool {
    let mut pieces = |pieces: &[(&str, Place, &Phrase)]| {
        pieces.iter().all(|(before, place, phrase)| {
            out.push_str(before);
            part(*place, phrase, out)
        })
    };
    match command {
        Command::Seq(first, second) => pieces(&[("", Place::Sequenced, first), ("; ", Place::Open, second)]),
        Command::Assign(data, acceptor, expression) => {
            let middle = format!(" := {{{data}}} ");
            pieces(&[
                ("", Place::Sequenced, acceptor),
                (&middle, Place::Sequenced, expression),
            ])
        }
        Command::If(condition, then, otherwise) => pieces(&[
            ("if ", Place::Argument, condition),
            (" then ", Place::Argument, then),
            (" else ", Place::Argument, otherwise),
        ]),
        Command::While(condition, body) => pieces(&[
            ("while ", Place::Argument, condition),
            (" do ", Place::Argument, body),
        ]),
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prim.fmt(f)?;
        for nat in &self.nats {
            write!(f, "[{nat}]")?;
        }
        for data in &self.datas {
            write!(f, "{{{data}}}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Prim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Prim::Literal(scalar) => write!(f, "#{}", scalar_text(*scalar)),
            Prim::Unary(op, on) => write!(f, "{}<{on}>", unary_name(*op)),
            Prim::Binary(op, on) => write!(f, "{}<{on}>", binary_name(*op)),
            Prim::Ternary(op, on) => write!(f, "{}<{on}>", ternary_name(*op)),
            Prim::Tuple(k) | Prim::Zip(k) | Prim::UnzipAcc(k) => write!(f, "{name}<{k}>"),
            Prim::Get(i, k)
            | Prim::TupleAcc(i, k)
            | Prim::OnlyAcc(i, k)
            | Prim::Unzip(i, k)
            | Prim::ZipAcc(i, k) => {
                write!(f, "{name}<{i},{k}>")
            }
            Prim::Gather(t) | Prim::PermuteAcc(t) => write!(f, "{name}<{t}>"),
            Prim::AsVector(w, t)
            | Prim::AsScalar(w, t)
            | Prim::AsVectorAcc(w, t)
            | Prim::AsScalarAcc(w, t)
            | Prim::Splat(w, t) => write!(f, "{name}<{w},{t}>"),
            Prim::Map(level) | Prim::MapI(level) | Prim::ParFor(level) | Prim::ParRows(level) => {
                write!(f, "{name}<{level}>")
            }
            Prim::FilterI(level, chunk, output) => {
                write!(f, "{name}<{level}{}{}>", chunk_text(*chunk), output_text(*output))
            }
            Prim::PartitionI(level, chunk) => write!(f, "{name}<{level}{}>", chunk_text(*chunk)),
            Prim::New(Space::Any) => f.write_str(name),
            Prim::New(space) => write!(f, "{name}<{}>", space_name(*space)),
            Prim::NewIn(homes) => {
                let homes: Vec<String> = homes.iter().map(home_text).collect();
                write!(f, "{name}<{}>", homes.join(","))
            }
            Prim::ScanI(level, kind, chunk, output) => {
                let (chunk, output) = (chunk_text(*chunk), output_text(*output));
                write!(f, "{name}<{level},{}{chunk}{output}>", scan_name(*kind))
            }
            Prim::ScanRowsI(level, kind, chunk) => {
                write!(f, "{name}<{level},{}{}>", scan_name(*kind), chunk_text(*chunk))
            }
            Prim::ReduceChunksI(level, chunk) => write!(f, "{name}<{level},{chunk}>"),
            Prim::ScatterI(level, t, site) | Prim::PermuteI(level, t, site) => {
                write!(f, "{name}<{level},{t},{}>", site_text(site))
            }
            Prim::ReduceByIndexI(level, t, chunk) => write!(f, "{name}<{level},{t}{}>", chunk_text(*chunk)),
            Prim::Check(site, arguments) => {
                write!(f, "{name}<{}", site_text(site))?;
                for argument in arguments {
                    write!(f, ",{argument}")?;
                }
                f.write_str(">")
            }
            Prim::Tag(store)
            | Prim::TableOf(store)
            | Prim::ReachOf(store)
            | Prim::OrderOf(store)
            | Prim::GroupOf(store) => write!(f, "{name}<{store}>"),
            Prim::OrderIn(t) => write!(f, "{name}<{t}>"),
            Prim::Column(store, at, t) => write!(f, "{name}<{store},{at},{t}>"),
            Prim::Construct(row) => {
                write!(f, "{name}<{},{}", row.store, row.tag)?;
                for (at, t) in &row.columns {
                    write!(f, ",{at}:{t}")?;
                }
                f.write_str(">")
            }
            Prim::NewTable(level, store, columns)
            | Prim::NewCells(level, store, columns)
            | Prim::NewGroup(level, store, columns)
            | Prim::NewRows(level, store, columns) => {
                write!(f, "{name}<{level},{store}")?;
                for column in columns {
                    write!(f, ",{column}")?;
                }
                f.write_str(">")
            }
            Prim::Foreign(function) => {
                write!(f, "{name}<{},{}>", quote(&function.name), quote(&function.text()))
            }
            Prim::Trace(label, ty) => write!(f, "{name}<{},{}>", quote(label), quote(&type_text(ty))),
            _ => f.write_str(name),
        }
    }
}

fn home_text(home: &Home) -> String {
    match home {
        Home::Own => "own".to_string(),
        Home::Inside {
            variable,
            buffer,
            strides: 0,
        } => format!("in {variable} {buffer}"),
        Home::Inside {
            variable,
            buffer,
            strides,
        } => format!("in {variable} {buffer} by {strides}"),
        Home::Same {
            acceptor,
            component: None,
        } => format!("as {acceptor}"),
        Home::Same {
            acceptor,
            component: Some(at),
        } => format!("as {acceptor} {at}"),
    }
}

pub(crate) fn space_name(space: Space) -> &'static str {
    match space {
        Space::Any => "any",
        Space::Global => "global",
        Space::Local => "local",
        Space::Private => "private",
    }
}

/// `,4096`.
fn chunk_text(chunk: Option<Chunk>) -> String {
    chunk.map(|chunk| format!(",{chunk}")).unwrap_or_default()
}

fn output_text(output: Output) -> &'static str {
    match output {
        Output::Element => "",
        Output::Mapped => ",mapped",
    }
}

pub(crate) fn scan_name(kind: ScanKind) -> &'static str {
    match kind {
        ScanKind::Inclusive => "inclusive",
        ScanKind::Exclusive => "exclusive",
    }
}

/// `E0801,"text",0:12-15`.
fn site_text(site: &Site) -> String {
    let span = site.span;
    format!(
        "{},{},{}:{}-{}",
        site.code.0,
        quote(&site.text),
        span.file.0,
        span.start,
        span.end
    )
}
