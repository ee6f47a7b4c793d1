//! Printer. What it writes, `parse` reads back, but for marks of source places.

use crate::ir::{
    Access, Argument, AtomicStep, Column, Expr, LoopMode, Order, Param, Passing, Program, Site, Space, Stmt,
    Transfer, Width, Writing,
};
use almach_value::BinOp;
use almach_value::ir_text::{binary_name, scalar_text, ternary_name, unary_name};
use almach_value::ir_types::type_text;
use std::fmt::{self, Write};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for store in &self.stores {
            let columns: Vec<String> = store.columns.iter().map(column).collect();
            writeln!(f, "store {}({})\n", store.name, columns.join(", "))?;
        }
        for (at, proc) in self.procs.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            let params: Vec<String> = proc.params.iter().map(param).collect();
            writeln!(f, "proc {}({}) {{", proc.name, params.join(", "))?;
            let mut out = String::new();
            block(&proc.body, 1, &mut out);
            writeln!(f, "{out}}}")?;
        }
        Ok(())
    }
}

fn param(param: &Param) -> String {
    let Param { name, ty, passing } = param;
    format!("{name}: {}{ty}", passing_word(*passing))
}

fn column(column: &Column) -> String {
    let word = match column.writing {
        Writing::Plain => "",
        Writing::Settled => "settled ",
    };
    format!("{}: {word}{}", column.name, column.ty)
}

pub(crate) fn passing_word(passing: Passing) -> &'static str {
    match passing {
        Passing::Value => "",
        Passing::Out => "out ",
        Passing::Read => "read ",
        Passing::Write => "write ",
        Passing::Owned => "owned ",
    }
}

pub(crate) fn space_word(space: Space) -> &'static str {
    match space {
        Space::Host => "",
        Space::Global => "global ",
        Space::Local => "local ",
        Space::Private => "private ",
        Space::Borrowed => "borrowed ",
    }
}

fn block(stmts: &[Stmt], depth: usize, out: &mut String) {
    for stmt in stmts {
        if let Stmt::At(_) = stmt {
            continue;
        }
        out.extend(std::iter::repeat_n("  ", depth));
        statement(stmt, depth, out);
        out.push('\n');
    }
}

fn braced(stmts: &[Stmt], depth: usize, out: &mut String) {
    out.push_str("{\n");
    block(stmts, depth + 1, out);
    out.extend(std::iter::repeat_n("  ", depth));
    out.push('}');
}

fn statement(stmt: &Stmt, depth: usize, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match stmt {
        Stmt::Let { name, ty, value } => write!(out, "let {name}: {ty} = {value}"),
        Stmt::Var {
            name,
            ty,
            value: None,
        } => write!(out, "var {name}: {ty}"),
        Stmt::Var {
            name,
            ty,
            value: Some(value),
        } => write!(out, "var {name}: {ty} = {value}"),
        Stmt::Assign { name, value } => write!(out, "{name} = {value}"),
        Stmt::Store { buffer, index, value } => write!(out, "{buffer}[{index}] = {value}"),
        Stmt::Reserve {
            name, store, count, ..
        } => write!(out, "reserve {name} = {store}[{count}]"),
        Stmt::Buffer { name, ty, space } => write!(out, "buffer {name}: {}{ty}", space_word(*space)),
        Stmt::Alloc { buffer, size, .. } => write!(out, "alloc {buffer}[{size}]"),
        Stmt::Shrink { buffer, size } => write!(out, "shrink {buffer}[{size}]"),
        Stmt::Borrow {
            buffer,
            from,
            first,
            count,
        } => write!(out, "borrow {buffer} = {from}[{first}] for {count}"),
        Stmt::Atomic {
            step,
            order,
            buffer,
            index,
        } => {
            let cell = format!("{buffer}[{index}]");
            let order = order_word(*order);
            match step {
                AtomicStep::Load { name, ty } => write!(out, "atomic {order} load {name}: {ty} = {cell}"),
                AtomicStep::Store(value) => write!(out, "atomic {order} store {cell}, {value}"),
                AtomicStep::Exchange { name, ty, value } => {
                    write!(out, "atomic {order} exchange {name}: {ty} = {cell}, {value}")
                }
                AtomicStep::Update(op, value) => {
                    write!(out, "atomic {order} {} {cell}, {value}", binary_name(*op))
                }
            }
        }
        Stmt::Await { buffer, index, value } => write!(out, "await {buffer}[{index}], {value}"),
        Stmt::Barrier => write!(out, "barrier"),
        Stmt::Free(buffer) => write!(out, "free {buffer}"),
        Stmt::Swap(a, b) => write!(out, "swap {a}, {b}"),
        Stmt::Copy {
            to,
            to_index,
            from,
            from_index,
            count,
        } => {
            write!(out, "copy {to}[{to_index}] = {from}[{from_index}] for {count}")
        }
        Stmt::For {
            index,
            width,
            count,
            mode,
            body,
        } => {
            out.push_str(mode_word(*mode));
            let width = match width {
                Width::W32 => ": i32",
                Width::W64 => "",
            };
            let result = write!(out, "for {index}{width} < {count} ");
            braced(body, depth, out);
            result
        }
        Stmt::While { condition, body } => {
            let result = write!(out, "while {condition} ");
            braced(body, depth, out);
            result
        }
        Stmt::If {
            condition,
            then,
            otherwise,
        } => {
            let result = write!(out, "if {condition} ");
            braced(then, depth, out);
            if !otherwise.is_empty() {
                out.push_str(" else ");
                braced(otherwise, depth, out);
            }
            result
        }
        Stmt::Check {
            condition,
            site,
            arguments,
        } => {
            let arguments: Vec<String> = arguments.iter().map(|argument| format!(", {argument}")).collect();
            write!(
                out,
                "check {condition} else {}({}{})",
                site.code.0,
                site_text(site),
                arguments.concat()
            )
        }
        Stmt::Call { proc, arguments, .. } => {
            let arguments: Vec<String> = arguments.iter().map(argument_text).collect();
            write!(out, "call {proc}({})", arguments.join(", "))
        }
        Stmt::Foreign {
            function, arguments, ..
        } => {
            let arguments: Vec<String> = arguments.iter().map(argument_text).collect();
            write!(
                out,
                "foreign {:?} {}({})",
                function.text(),
                function.name,
                arguments.join(", ")
            )
        }
        Stmt::Trace { label, ty, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(argument_text).collect();
            write!(
                out,
                "trace {:?} {:?}({})",
                label.as_str(),
                type_text(ty),
                arguments.join(", ")
            )
        }
        Stmt::Kernel { name, body } => {
            let result = write!(out, "kernel {name} ");
            braced(body, depth, out);
            result
        }
        Stmt::Transfer(Transfer::Attach { buffer, size }) => write!(out, "attach {buffer}[{size}]"),
        Stmt::Transfer(Transfer::Copied { buffer, count }) => write!(out, "copied {buffer}[{count}]"),
        Stmt::Transfer(Transfer::Fresh { buffer }) => write!(out, "fresh {buffer}"),
        Stmt::Transfer(Transfer::Fetch { buffer, access }) => {
            write!(out, "fetch {}{buffer}", access_word(*access))
        }
        Stmt::Transfer(Transfer::Cell {
            column,
            index,
            access,
        }) => write!(out, "fetch {}{column}[{index}]", access_word(*access)),
        Stmt::At(_) => Ok(()),
    };
}

fn access_word(access: Access) -> &'static str {
    match access {
        Access::Read => "read ",
        Access::Write => "write ",
    }
}

pub(crate) fn mode_word(mode: LoopMode) -> &'static str {
    match mode {
        LoopMode::Seq => "",
        LoopMode::Par => "par ",
        LoopMode::Chain => "chain ",
        LoopMode::Items => "items ",
        LoopMode::Simd => "simd ",
    }
}

pub(crate) fn order_word(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcquireRelease => "acquire_release",
    }
}

fn argument_text(argument: &Argument) -> String {
    match argument {
        Argument::Value(expr) => expr.to_string(),
        Argument::Out(name) => format!("out {name}"),
        Argument::Buffer(name, index) => format!("buffer {name}[{index}]"),
        Argument::Owned(name) => format!("owned {name}"),
    }
}

/// `"text" 0:12-15`.
fn site_text(site: &Site) -> String {
    let span = site.span;
    format!(
        "{:?} {}:{}-{}",
        site.text.as_str(),
        span.file.0,
        span.start,
        span.end
    )
}

pub(crate) fn infix(op: BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::Pow | BinOp::Min | BinOp::Max | BinOp::Atan2 | BinOp::Hypot | BinOp::CopySign => return None,
    })
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Binary(op, left, right) if infix(*op).is_some() => {
                write!(
                    f,
                    "{} {} {}",
                    Operand(left),
                    infix(*op).unwrap_or(""),
                    Operand(right)
                )
            }
            _ => Operand(self).fmt(f),
        }
    }
}

/// An expression where only something closed may stand.
struct Operand<'a>(&'a Expr);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Const(scalar) => f.write_str(&scalar_text(*scalar)),
            Expr::Var(name) => write!(f, "{name}"),
            Expr::Index(index) => write!(f, "{{{}}}", index),
            Expr::Load(buffer, index) => write!(f, "{buffer}[{}]", index),
            Expr::Unary(op, argument) => write!(f, "{}({argument})", unary_name(*op)),
            Expr::Binary(op, ..) if infix(*op).is_some() => write!(f, "({})", self.0),
            Expr::Binary(op, left, right) => write!(f, "{}({left}, {right})", binary_name(*op)),
            Expr::Ternary(op, a, b, c) => write!(f, "{}({a}, {b}, {c})", ternary_name(*op)),
            Expr::Select(condition, then, otherwise) => write!(f, "select({condition}, {then}, {otherwise})"),
        }
    }
}
