//! The printer of C trees.
//!
//! Expressions get the parentheses C needs, and those that compilers ask for with `-Wparentheses`: bit operations and
//! shifts stand in parentheses inside anything else, and so does `&&` inside `||`.

use crate::tree::{CBinary, CExpr, CField, CFunction, CParam, CStmt, CType, CUnary, Linkage, scalar_c_name};
use almach_imp::Width;

/// A type followed by a name: `const float *restrict xs`.
pub fn declarator(ty: &CType, name: &str) -> String {
    match ty {
        CType::Pointer(cell) => declarator(cell, &format!("*{name}")),
        CType::ConstPointer(cell) => format!("const {}", declarator(cell, &format!("*{name}"))),
        CType::Restrict(pointer) => restricted(pointer, name),
        CType::Const(inner) => match &**inner {
            CType::Pointer(cell) => declarator(cell, &format!("*const {name}")),
            _ => format!("const {}", declarator(inner, name)),
        },
        CType::Scalar(scalar) => spaced(scalar_c_name(*scalar), name),
        CType::Named(text) => spaced(text, name),
        CType::Void => spaced("void", name),
    }
}

/// A pointer that is restricted: the word stands behind its last star.
fn restricted(pointer: &CType, name: &str) -> String {
    match pointer {
        CType::Pointer(cell) => declarator(cell, &format!("*restrict {name}")),
        CType::ConstPointer(cell) => format!("const {}", declarator(cell, &format!("*restrict {name}"))),
        other => declarator(other, name),
    }
}

fn spaced(ty: &str, name: &str) -> String {
    match name {
        "" => ty.to_string(),
        // A pointer by its text.
        _ if ty.ends_with('*') => format!("{ty}{name}"),
        _ => format!("{ty} {name}"),
    }
}

/// `int dot(struct dot_ctx *ctx, int64_t n)`, without linkage.
pub fn signature(result: &CType, name: &str, params: &[CParam]) -> String {
    let params: Vec<String> = params
        .iter()
        .map(|param| declarator(&param.ty, &param.name))
        .collect();
    let list = match params.is_empty() {
        true => "void".to_string(),
        false => params.join(", "),
    };
    let head = declarator(result, name);
    let line = format!("{head}({list})");
    match line.len() > 100 {
        false => line,
        true => format!("{head}(\n    {})", params.join(",\n    ")),
    }
}

pub fn function(function: &CFunction) -> String {
    let mut out = String::new();
    if function.linkage == Linkage::Static {
        out.push_str("static ");
    }
    out.push_str(&signature(&function.result, &function.name, &function.params));
    out.push_str(" {\n");
    block(&function.body, 1, &mut out);
    out.push_str("}\n");
    out
}

/// `struct fib_frame { … };`
pub fn structure(name: &str, fields: &[CField]) -> String {
    let mut out = format!("{name} {{\n");
    for CField { ty, name, cells } in fields {
        let cells = cells.map_or(String::new(), |cells| format!("[{cells}]"));
        out.push_str(&format!("  {}{cells};\n", declarator(ty, name)));
    }
    out.push_str("};\n");
    out
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn block(stmts: &[CStmt], depth: usize, out: &mut String) {
    for (at, stmt) in stmts.iter().enumerate() {
        let last = at + 1 == stmts.len();
        match stmt {
            CStmt::Pragma(text) => {
                out.push_str("#pragma ");
                out.push_str(text);
            }
            // A label must be followed by a statement.
            CStmt::Label(name) => {
                indent(depth.saturating_sub(1), out);
                out.push_str(name);
                out.push_str(if last { ":;" } else { ":" });
            }
            // Declarations may follow.
            CStmt::Case(number) => {
                indent(depth.saturating_sub(1), out);
                out.push_str(&format!("case {number}:;"));
            }
            _ => {
                indent(depth, out);
                statement(stmt, depth, out);
            }
        }
        out.push('\n');
    }
}

fn braced(stmts: &[CStmt], depth: usize, out: &mut String) {
    out.push_str("{\n");
    block(stmts, depth + 1, out);
    indent(depth, out);
    out.push('}');
}

fn statement(stmt: &CStmt, depth: usize, out: &mut String) {
    match stmt {
        CStmt::Declare { ty, name, value } => {
            out.push_str(&declarator(ty, name));
            if let Some(value) = value {
                out.push_str(" = ");
                out.push_str(&expression(value));
            }
            out.push(';');
        }
        CStmt::DeclareCells { ty, name, size } => {
            out.push_str(&declarator(ty, name));
            // An empty array has a cell that nobody reads; compilers would have it written.
            out.push_str(&match size {
                1 => "[1] = {0};".to_string(),
                _ => format!("[{size}];"),
            });
        }
        CStmt::Do(expr) => {
            out.push_str(&expression(expr));
            out.push(';');
        }
        CStmt::Assign(to, value) => {
            out.push_str(&format!("{} = {};", expression(to), expression(value)));
        }
        CStmt::If {
            condition,
            then,
            otherwise,
        } => {
            out.push_str(&format!("if ({}) ", expression(condition)));
            braced(then, depth, out);
            match otherwise.as_slice() {
                [] => {}
                [inner @ CStmt::If { .. }] => {
                    out.push_str(" else ");
                    statement(inner, depth, out);
                }
                _ => {
                    out.push_str(" else ");
                    braced(otherwise, depth, out);
                }
            }
        }
        CStmt::Count {
            index,
            width,
            count,
            body,
        } => {
            let (ty, cast) = match (width, count) {
                (Width::W64, _) => ("int64_t", ""),
                (Width::W32, CExpr::Literal(_)) => ("int32_t", ""),
                (Width::W32, _) => ("int32_t", "(int32_t)"),
            };
            let level = if cast.is_empty() {
                Level::Relation
            } else {
                Level::Prefix
            };
            let count = operand(count, level);
            out.push_str(&format!(
                "for ({ty} {index} = 0; {index} < {cast}{count}; {index}++) "
            ));
            braced(body, depth, out);
        }
        CStmt::CountPlace { place, count, body } => {
            let (place, count) = (expression(place), operand(count, Level::Relation));
            out.push_str(&format!("for ({place} = 0; {place} < {count}; {place}++) "));
            braced(body, depth, out);
        }
        CStmt::Switch(value, body) => {
            out.push_str(&format!("switch ({}) ", expression(value)));
            braced(body, depth, out);
        }
        CStmt::Take {
            index,
            take,
            count,
            body,
        } => {
            let (take, count) = (expression(take), operand(count, Level::Relation));
            out.push_str(&format!(
                "for (int64_t {index} = {take}; {index} < {count}; {index} = {take}) "
            ));
            braced(body, depth, out);
        }
        CStmt::While(condition, body) => {
            out.push_str(&format!("while ({}) ", expression(condition)));
            braced(body, depth, out);
        }
        CStmt::Block(body) => braced(body, depth, out),
        CStmt::Goto(label) => out.push_str(&format!("goto {label};")),
        CStmt::Continue => out.push_str("continue;"),
        CStmt::Break => out.push_str("break;"),
        CStmt::Return(None) => out.push_str("return;"),
        CStmt::Return(Some(value)) => out.push_str(&format!("return {};", expression(value))),
        CStmt::Mark(name) => out.push_str(name),
        CStmt::Comment(text) => out.push_str(&format!("/* {} */", comment_text(text))),
        CStmt::Label(_) | CStmt::Case(_) | CStmt::Pragma(_) => {}
    }
}

/// Text that can stand in a comment: it neither ends it nor starts another, and is one line of visible characters.
pub fn comment_text(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| {
            if c.is_control() || is_direction_mark(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    visible.replace("*/", "* /").replace("/*", "/ *")
}

/// Marks that change the direction of text can make source read as something else; compilers warn of them.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}')
}

/// How tightly an expression binds, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Any,
    Conditional,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Shift,
    Sum,
    Product,
    Prefix,
    Postfix,
}

fn level_of(op: CBinary) -> Level {
    match op {
        CBinary::Multiply | CBinary::Divide | CBinary::Remainder => Level::Product,
        CBinary::Add | CBinary::Subtract => Level::Sum,
        CBinary::ShiftLeft | CBinary::ShiftRight => Level::Shift,
        CBinary::Less | CBinary::LessEqual | CBinary::Greater | CBinary::GreaterEqual => Level::Relation,
        CBinary::Equal | CBinary::NotEqual => Level::Equality,
        CBinary::BitAnd => Level::BitAnd,
        CBinary::BitXor => Level::BitXor,
        CBinary::BitOr => Level::BitOr,
        CBinary::And => Level::And,
        CBinary::Or => Level::Or,
    }
}

fn level(expr: &CExpr) -> Level {
    match expr {
        CExpr::Literal(text) if text.starts_with('-') => Level::Prefix,
        CExpr::Literal(_) | CExpr::Name(_) | CExpr::Call(..) | CExpr::Subscript(..) => Level::Postfix,
        CExpr::Arrow(..) | CExpr::Dot(..) | CExpr::Cells(..) => Level::Postfix,
        CExpr::Unary(..) | CExpr::Cast(..) | CExpr::SizeOfCell(_) => Level::Prefix,
        CExpr::Binary(op, ..) => level_of(*op),
        CExpr::Conditional(..) => Level::Conditional,
    }
}

pub fn symbol(op: CBinary) -> &'static str {
    match op {
        CBinary::Multiply => "*",
        CBinary::Divide => "/",
        CBinary::Remainder => "%",
        CBinary::Add => "+",
        CBinary::Subtract => "-",
        CBinary::ShiftLeft => "<<",
        CBinary::ShiftRight => ">>",
        CBinary::Less => "<",
        CBinary::LessEqual => "<=",
        CBinary::Greater => ">",
        CBinary::GreaterEqual => ">=",
        CBinary::Equal => "==",
        CBinary::NotEqual => "!=",
        CBinary::BitAnd => "&",
        CBinary::BitXor => "^",
        CBinary::BitOr => "|",
        CBinary::And => "&&",
        CBinary::Or => "||",
    }
}

pub fn expression(expr: &CExpr) -> String {
    match expr {
        CExpr::Literal(text) | CExpr::Name(text) => text.clone(),
        CExpr::Call(function, arguments) => format!("{function}({})", list(arguments)),
        CExpr::Unary(op, argument) => {
            let symbol = match op {
                CUnary::Minus => "-",
                CUnary::Not => "!",
                CUnary::Complement => "~",
                CUnary::Address => "&",
                CUnary::Follow => "*",
            };
            let argument = operand(argument, Level::Prefix);
            match symbol == "-" && argument.starts_with('-') {
                true => format!("-({argument})"),
                false => format!("{symbol}{argument}"),
            }
        }
        CExpr::Binary(op, left, right) => {
            let (tight, looser) = operand_levels(*op);
            format!(
                "{} {} {}",
                operand(left, looser),
                symbol(*op),
                operand(right, tight)
            )
        }
        CExpr::Conditional(condition, then, otherwise) => format!(
            "{} ? {} : {}",
            operand(condition, Level::Or),
            operand(then, Level::Conditional),
            operand(otherwise, Level::Conditional)
        ),
        CExpr::Cast(ty, argument) => format!("({}){}", declarator(ty, ""), operand(argument, Level::Prefix)),
        CExpr::Subscript(array, index) => {
            format!("{}[{}]", operand(array, Level::Postfix), expression(index))
        }
        CExpr::Arrow(pointer, field) => format!("{}->{field}", operand(pointer, Level::Postfix)),
        CExpr::Dot(object, field) => format!("{}.{field}", operand(object, Level::Postfix)),
        CExpr::SizeOfCell(pointer) => format!("sizeof *{}", operand(pointer, Level::Prefix)),
        CExpr::Cells(ty, values) => format!("(const {}[]){{{}}}", declarator(ty, ""), list(values)),
    }
}

/// How tightly the right and the left operand must bind.
fn operand_levels(op: CBinary) -> (Level, Level) {
    match op {
        CBinary::Multiply | CBinary::Divide | CBinary::Remainder => (Level::Prefix, Level::Product),
        CBinary::Add | CBinary::Subtract => (Level::Product, Level::Sum),
        CBinary::Less
        | CBinary::LessEqual
        | CBinary::Greater
        | CBinary::GreaterEqual
        | CBinary::Equal
        | CBinary::NotEqual => (Level::Sum, Level::Sum),
        CBinary::ShiftLeft | CBinary::ShiftRight => (Level::Prefix, Level::Prefix),
        CBinary::BitAnd | CBinary::BitXor | CBinary::BitOr => (Level::Prefix, Level::Prefix),
        CBinary::And => (Level::Equality, Level::And),
        CBinary::Or => (Level::Equality, Level::Or),
    }
}

/// An expression where nothing looser than a level may stand.
fn operand(expr: &CExpr, least: Level) -> String {
    let found = level(expr);
    let bits = matches!(found, Level::Shift | Level::BitAnd | Level::BitXor | Level::BitOr);
    let mixed = found == Level::And && least == Level::Or;
    match found < least || (bits && least > Level::Any) || mixed {
        true => format!("({})", expression(expr)),
        false => expression(expr),
    }
}

fn list(exprs: &[CExpr]) -> String {
    let texts: Vec<String> = exprs.iter().map(expression).collect();
    texts.join(", ")
}

/// A C string literal for any text. Everything but visible ASCII is written in octal, and so is `?`, of which two
/// could start a trigraph.
pub fn string_literal(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'?' => out.push_str("\\?"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}
