//! Core as text. [`crate::parse`] reads what this prints.
//!
//! ```text
//! data Maybe_f32 = Nothing | Just f32
//! data rec List_i32 = Nil | Cons i32 List_i32
//! foreign blur {n} (xs: [n]f32): [n]f32
//!
//! fun small {n} (xs: [n]f32, limit: f32): {k} [k]f32 =
//!   let {k_1} ys: [k_1]f32 = filter@par (\(x: f32): bool ->
//!     let b: bool = x < limit
//!     in b) xs
//!   in {k_1} ys
//!
//! entry small = small (xs: [n]f32, limit: f32): []f32
//! ```
//!
//! - Several results, types or patterns stand in `< >`; one stands alone. A context stands before them in braces.
//! - Names are as short as they can be: a number follows where a name is taken.
//! - `f {n} (x)` calls a function, `ccall f {n} (x)` a foreign one, `new T C (x)` and `node T C (x)` construct.
//! - `a[i, j]` indexes, `slice a[begin:count:step, i]` takes a part, `a with [i] = v` updates (`with!`: in place).
//! - A function of a primitive stands in parentheses before all arguments.

/// Writing to a string cannot fail.
macro_rules! put {
    ($printer:expr, $($format:tt)*) => {{
        let _ = write!($printer.out, $($format)*);
    }};
}

mod types;
mod words;

use crate::ir::{
    Arm, Atom, Body, ConstructorDef, DataDef, DataId, Entry, Exp, ForeignDef, Function, InPlace, Lambda,
    Loop, LoopForm, Op, Param, Pattern, Program, Recursive, ResultType, SlicePart, Stmt, Type, Var,
};
use crate::names::{BinaryForm, Names, binary_form, unary_name};
use almach_base::Span;
use std::collections::HashMap;
use std::fmt::Write;
use words::{quoted, word};

pub use words::scalar_to_string;

/// Whether statements carry their places in the source: `let@3:17:25 x: …`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spans {
    Print,
    Omit,
}

/// What an annotation beside Core adds to its text (memory does).
pub trait Beside {
    /// Variables that the annotation binds.
    fn vars(&self) -> Vec<Var>;
    /// After the name of a function: `@{…} `.
    fn of_function(&self, id: u32, names: &Names) -> String;
    /// Lines before a statement.
    fn before(&self, stmt: &Stmt, names: &Names) -> Vec<String>;
    /// Before a statement's pattern: `@{…} `.
    fn of_stmt(&self, stmt: &Stmt, names: &Names) -> String;
    /// After the type of a variable: ` @ …`.
    fn of_var(&self, var: &Var, names: &Names) -> String;
}

/// A program with an annotation beside it.
pub fn program_with(program: &Program, beside: &dyn Beside) -> String {
    let mut printer = Printer {
        names: Names::with_more(program, &beside.vars()),
        data: &program.data,
        data_of: HashMap::new(),
        spans: Spans::Omit,
        beside: Some(beside),
        out: String::new(),
        indent: 0,
    };
    printer.program(program);
    printer.out
}

pub fn program_to_string(program: &Program, spans: Spans) -> String {
    let mut printer = Printer {
        names: Names::of(program),
        data: &program.data,
        data_of: HashMap::new(),
        spans,
        beside: None,
        out: String::new(),
        indent: 0,
    };
    printer.program(program);
    printer.out
}

/// One function of a program.
pub fn function_to_string(program: &Program, function: &Function) -> String {
    let mut printer = Printer {
        names: Names::of(program),
        data: &program.data,
        data_of: HashMap::new(),
        spans: Spans::Omit,
        beside: None,
        out: String::new(),
        indent: 0,
    };
    printer.function(function);
    printer.out
}

/// A statement on its own, with the full names of variables.
pub fn stmt_to_string(stmt: &Stmt) -> String {
    let mut printer = Printer {
        names: Names::default(),
        data: &[],
        data_of: HashMap::new(),
        spans: Spans::Omit,
        beside: None,
        out: String::new(),
        indent: 0,
    };
    printer.stmt(stmt);
    printer.out
}

struct Printer<'p> {
    names: Names,
    data: &'p [DataDef],
    /// Variables that hold data, for the names of constructors in a `case`.
    data_of: HashMap<Var, DataId>,
    spans: Spans,
    beside: Option<&'p dyn Beside>,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn program(&mut self, program: &Program) {
        for (id, def) in program.data.iter().enumerate() {
            self.data_def(id as u32, def);
        }
        for (id, def) in program.foreign.iter().enumerate() {
            self.foreign(id as u32, def);
        }
        for (id, function) in program.functions.iter().enumerate() {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            let name = self.names.function(id as u32);
            let beside = self
                .beside
                .map(|beside| beside.of_function(id as u32, &self.names));
            self.function_named(&format!("{name}{}", beside.unwrap_or_default()), function);
        }
        if !program.entries.is_empty() && !self.out.is_empty() {
            self.out.push('\n');
        }
        for entry in &program.entries {
            self.entry(entry);
        }
    }

    fn data_def(&mut self, id: u32, def: &DataDef) {
        let rec = match def.recursive {
            Recursive::Yes => "rec ",
            Recursive::No => "",
        };
        put!(self, "data {rec}{}", self.names.data(id));
        for (whole, positions) in &def.parts {
            put!(
                self,
                " {{{}: {}}}",
                self.names.data(whole.0),
                self.names.data(positions.0)
            );
        }
        self.out.push_str(" =");
        for (at, constructor) in def.constructors.iter().enumerate() {
            put!(
                self,
                "{}{}",
                if at == 0 { " " } else { " | " },
                word(&constructor.name)
            );
            for field in &constructor.fields {
                self.out.push(' ');
                self.ty(field);
            }
        }
        self.out.push('\n');
    }

    fn foreign(&mut self, id: u32, def: &ForeignDef) {
        put!(self, "foreign {}", self.names.foreign(id));
        self.signature(&def.context, &def.params, &def.result);
        self.out.push('\n');
    }

    fn function(&mut self, function: &Function) {
        self.function_named(function.name.as_str(), function);
    }

    fn function_named(&mut self, name: &str, function: &Function) {
        put!(self, "fun {name}");
        self.signature(&function.context, &function.params, &function.result);
        self.out.push_str(" =");
        self.indent = 1;
        self.newline();
        self.body(&function.body);
        self.indent = 0;
        self.out.push('\n');
    }

    /// ` {n} (xs: [n]f32): f32`.
    fn signature(&mut self, context: &[Var], params: &[Param], result: &ResultType) {
        self.out.push(' ');
        self.context(context);
        self.params(params);
        self.out.push_str(": ");
        self.result(result);
    }

    fn entry(&mut self, entry: &Entry) {
        put!(
            self,
            "entry {} = {} (",
            word(&entry.name),
            self.names.function(entry.function.0)
        );
        for (at, (name, ty)) in entry.params.iter().enumerate() {
            put!(self, "{}{}: ", if at == 0 { "" } else { ", " }, word(name));
            self.value_type(ty);
        }
        self.out.push_str("): ");
        self.value_type(&entry.result);
        self.out.push('\n');
    }

    fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn separated<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            print(self, item);
        }
    }

    /// One item alone, none or several in `< >`.
    fn several<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        match items {
            [item] => print(self, item),
            _ => {
                self.out.push('<');
                self.separated(items, print);
                self.out.push('>');
            }
        }
    }

    /// `{n, m} `, or nothing.
    fn context(&mut self, context: &[Var]) {
        if !context.is_empty() {
            self.out.push('{');
            self.separated(context, |printer, var| printer.var(var));
            self.out.push_str("} ");
        }
    }

    fn context_atoms(&mut self, context: &[Atom]) {
        if !context.is_empty() {
            self.out.push('{');
            self.separated(context, |printer, atom| printer.atom(atom));
            self.out.push_str("} ");
        }
    }

    fn var(&mut self, var: &Var) {
        let name = self.names.var(var);
        self.out.push_str(&name);
    }

    fn params(&mut self, params: &[Param]) {
        self.out.push('(');
        self.separated(params, |printer, param| printer.param(param));
        self.out.push(')');
    }

    fn param(&mut self, param: &Param) {
        if let Type::Data(id) | Type::Node(id) = &param.ty {
            self.data_of.insert(param.var.clone(), *id);
        }
        self.var(&param.var);
        self.out.push_str(": ");
        self.ty(&param.ty);
        if let Some(beside) = self.beside {
            let text = beside.of_var(&param.var, &self.names);
            self.out.push_str(&text);
        }
    }

    fn result(&mut self, result: &ResultType) {
        self.context(&result.context);
        self.several(&result.types, |printer, ty| printer.ty(ty));
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Var(var) => self.var(var),
            Atom::Const(scalar) => self.out.push_str(&scalar_to_string(*scalar)),
        }
    }

    /// The statements, each on its line, and then what the body gives. The cursor is where the first goes.
    fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            self.stmt(stmt);
            self.newline();
        }
        if !body.stmts.is_empty() {
            self.out.push_str("in ");
        }
        self.context_atoms(&body.context);
        self.several(&body.values, |printer, atom| printer.atom(atom));
    }

    /// A body on lines of its own, further to the right.
    fn inner_body(&mut self, body: &Body) {
        if body.stmts.is_empty() {
            self.out.push(' ');
            return self.body(body);
        }
        self.indent += 1;
        self.newline();
        self.body(body);
        self.indent -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        for line in self
            .beside
            .map_or_else(Vec::new, |beside| beside.before(stmt, &self.names))
        {
            self.out.push_str(&line);
            self.newline();
        }
        self.out.push_str("let");
        if self.spans == Spans::Print && !stmt.span.is_none() {
            let Span { file, start, end } = stmt.span;
            put!(self, "@{}:{start}:{end}", file.0);
        }
        self.out.push(' ');
        if let Some(beside) = self.beside {
            let text = beside.of_stmt(stmt, &self.names);
            self.out.push_str(&text);
        }
        self.pattern(&stmt.pattern);
        self.out.push_str(" = ");
        self.exp(&stmt.exp);
    }

    fn pattern(&mut self, pattern: &Pattern) {
        self.context(&pattern.context);
        self.several(&pattern.values, |printer, value| printer.param(value));
    }

    fn words(&mut self, name: &str, args: &[&Atom]) {
        self.out.push_str(name);
        for arg in args {
            self.out.push(' ');
            self.atom(arg);
        }
    }

    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Atom(atom) => self.atom(atom),
            Exp::Unary(op, a) => self.words(unary_name(*op), &[a]),
            Exp::Binary(op, a, b) => match binary_form(*op) {
                BinaryForm::Infix => {
                    self.atom(a);
                    put!(self, " {} ", op.name());
                    self.atom(b);
                }
                BinaryForm::Prefix => self.words(op.name(), &[a, b]),
            },
            Exp::Ternary(op, a, b, c) => self.words(op.name(), &[a, b, c]),
            Exp::Tuple(parts) => {
                self.out.push('(');
                self.separated(parts, |printer, part| printer.atom(part));
                self.out.push_str(if parts.len() == 1 { ",)" } else { ")" });
            }
            Exp::Project(tuple, at) => {
                self.atom(tuple);
                put!(self, ".{at}");
            }
            Exp::Array(elements, ty) => {
                self.out.push_str("array ");
                self.ty(ty);
                self.out.push_str(" [");
                self.separated(elements, |printer, element| printer.atom(element));
                self.out.push(']');
            }
            Exp::Construct {
                data,
                constructor,
                fields,
            } => self.construct("new", *data, *constructor, fields),
            Exp::ConstructNode {
                data,
                constructor,
                fields,
            } => self.construct("node", *data, *constructor, fields),
            Exp::If {
                condition,
                then,
                otherwise,
                result,
            } => self.branch(condition, then, otherwise, result),
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => self.case(scrutinee, arms, default.as_ref(), result),
            Exp::Loop(looped) => self.looped(looped),
            Exp::Call {
                function,
                context,
                args,
            } => {
                let name = self.names.function(function.0);
                self.call(&name, context, args);
            }
            Exp::Foreign {
                function,
                context,
                args,
            } => {
                let name = format!("ccall {}", self.names.foreign(function.0));
                self.call(&name, context, args);
            }
            Exp::Op(op) => self.op(op),
            Exp::Index { array, indices } => {
                self.atom(array);
                self.out.push('[');
                self.separated(indices, |printer, index| printer.atom(index));
                self.out.push(']');
            }
            Exp::Slice { array, parts } => {
                self.out.push_str("slice ");
                self.atom(array);
                self.parts(parts);
            }
            Exp::Update {
                array,
                parts,
                value,
                in_place,
            } => {
                self.atom(array);
                self.out.push_str(match in_place {
                    InPlace::Required => " with! ",
                    InPlace::WherePossible => " with ",
                });
                self.parts(parts);
                self.out.push_str(" = ");
                self.atom(value);
            }
            Exp::Coerce { value, to } => {
                self.atom(value);
                self.out.push_str(" :> ");
                self.ty(to);
            }
            Exp::Assert { condition, text } => {
                self.words("assert", &[condition]);
                put!(self, ", {}", quoted(text));
            }
            Exp::Trace { label, value } => self.words(&format!("trace {}", quoted(label)), &[value]),
        }
    }

    fn constructor(&self, data: Option<DataId>, constructor: u32) -> String {
        let def: Option<&ConstructorDef> = data
            .and_then(|id| self.data.get(id.0 as usize))
            .and_then(|def| def.constructors.get(constructor as usize));
        def.map_or_else(|| constructor.to_string(), |def| word(&def.name))
    }

    fn construct(&mut self, how: &str, data: DataId, constructor: u32, fields: &[Atom]) {
        let name = self.constructor(Some(data), constructor);
        put!(self, "{how} {} {name} (", self.names.data(data.0));
        self.separated(fields, |printer, field| printer.atom(field));
        self.out.push(')');
    }

    fn branch(&mut self, condition: &Atom, then: &Body, otherwise: &Body, result: &ResultType) {
        self.words("if", &[condition]);
        self.out.push_str(": ");
        self.result(result);
        self.out.push_str(" then");
        self.inner_body(then);
        self.newline();
        self.out.push_str("else");
        self.inner_body(otherwise);
    }

    fn case(&mut self, scrutinee: &Atom, arms: &[Arm], default: Option<&Body>, result: &ResultType) {
        self.words("case", &[scrutinee]);
        self.out.push_str(": ");
        self.result(result);
        self.out.push_str(" of");
        let data = match scrutinee {
            Atom::Var(var) => self.data_of.get(var).copied(),
            Atom::Const(_) => None,
        };
        for arm in arms {
            self.newline();
            put!(self, "| {} ", self.constructor(data, arm.constructor));
            self.context(&arm.context);
            self.params(&arm.fields);
            self.out.push_str(" ->");
            self.inner_body(&arm.body);
        }
        if let Some(body) = default {
            self.newline();
            self.out.push_str("| _ ->");
            self.inner_body(body);
        }
        self.newline();
        self.out.push_str("end");
    }

    fn looped(&mut self, looped: &Loop) {
        self.out.push_str("loop ");
        if !looped.context.is_empty() {
            self.out.push('{');
            self.separated(&looped.context, |printer, (var, initial)| {
                printer.var(var);
                printer.out.push_str(" = ");
                printer.atom(initial);
            });
            self.out.push_str("} ");
        }
        self.out.push('(');
        self.separated(&looped.params, |printer, (param, initial)| {
            printer.param(param);
            printer.out.push_str(" = ");
            printer.atom(initial);
        });
        self.out.push(')');
        match &looped.form {
            LoopForm::For { index, bound } => {
                self.out.push_str(" for ");
                self.param(index);
                self.out.push_str(" < ");
                self.atom(bound);
                self.out.push_str(" do");
            }
            LoopForm::While(condition) => {
                self.out.push_str(" while");
                self.inner_body(condition);
                self.newline();
                self.out.push_str("do");
            }
        }
        self.inner_body(&looped.body);
    }

    fn call(&mut self, name: &str, context: &[Atom], args: &[Atom]) {
        put!(self, "{name} ");
        self.context_atoms(context);
        self.out.push('(');
        self.separated(args, |printer, arg| printer.atom(arg));
        self.out.push(')');
    }

    fn op(&mut self, op: &Op) {
        put!(self, "{}{}", op.prim.name(), op.annotation);
        for function in &op.functions {
            self.out.push_str(" (");
            self.lambda(function);
            self.out.push(')');
        }
        for arg in &op.args {
            self.out.push(' ');
            self.atom(arg);
        }
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.out.push('\\');
        self.context(&lambda.context);
        self.params(&lambda.params);
        self.out.push_str(": ");
        self.result(&lambda.result);
        self.out.push_str(" ->");
        self.inner_body(&lambda.body);
    }

    fn parts(&mut self, parts: &[SlicePart]) {
        self.out.push('[');
        self.separated(parts, |printer, part| match part {
            SlicePart::At(index) => printer.atom(index),
            SlicePart::Slice { begin, count, step } => {
                printer.atom(begin);
                printer.out.push(':');
                printer.atom(count);
                printer.out.push(':');
                printer.atom(step);
            }
        });
        self.out.push(']');
    }
}
