//! The `-- >` tests of a file. A call of an entry point whose arguments are values is a call from outside, as `almach run` makes it: the
//! entry point is compiled once and knows nothing of its arguments. Every other expression is an entry point of its own.

use crate::front::{Extra, ExtraKind};
use crate::load::Loaded;
use almach_base::{Diagnostic, Name};
use almach_core::Entry;
use almach_syntax::ast::ExprKind;
use almach_syntax::{ast, parse_expr};
use almach_value::{Sizes, UnOp, Value, ValueType, conforms_with, parse};

/// A test whose call has been parsed.
#[derive(Clone, Debug)]
pub struct TestCall {
    pub test: ast::Test,
    /// The name of the entry point that makes the call.
    pub entry: Name,
    pub call: ast::Expr,
    /// The text that the spans of the call lie in.
    text: String,
    /// What is wrong with the call's syntax.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tests of the root file.
pub fn calls(loaded: &Loaded) -> Vec<TestCall> {
    let Some(root) = loaded.root() else {
        return Vec::new();
    };
    root.tests
        .iter()
        .enumerate()
        .map(|(at, test)| call(at, test))
        .collect()
}

fn call(at: usize, test: &ast::Test) -> TestCall {
    // Blanks in front put the call's spans where it stands in its file.
    let padded = format!("{}{}", " ".repeat(test.call_span.start as usize), test.call);
    let (call, diagnostics) = parse_expr(test.call_span.file, &padded);
    TestCall {
        test: test.clone(),
        entry: Name::from(format!("test {}", at + 1)),
        call,
        text: padded,
        diagnostics,
    }
}

/// A call from outside.
#[derive(Clone, Debug)]
pub struct OutsideCall {
    pub entry: Name,
    pub args: Vec<Value>,
}

impl TestCall {
    pub fn extra(&self) -> Extra {
        Extra {
            name: self.entry.clone(),
            kind: ExtraKind::Entry,
            expr: self.call.clone(),
        }
    }

    /// The call of one of these entry points with values, if that is what this is. Its types have been checked.
    pub fn from_outside(&self, entries: &[Entry]) -> Option<OutsideCall> {
        let (function, args) = match &self.call.kind {
            ExprKind::Apply(function, args) => (&**function, args.as_slice()),
            _ => (&self.call, [].as_slice()),
        };
        let ExprKind::Var(ast::Path {
            qualifier: None,
            name,
            ..
        }) = &function.kind
        else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.name == name.name)?;
        // Recursive data from outside is a table; what constructors make is not.
        let has_tables = entry.params.iter().any(|(_, ty)| has_recursive_data(ty));
        if entry.params.len() != args.len() || has_tables || !args.iter().all(is_written_out) {
            return None;
        }
        // Sizes of one name are one size, in all arguments.
        let mut sizes = Sizes::new();
        let values = args.iter().zip(&entry.params).map(|(arg, (_, ty))| {
            let text = self.text.get(arg.span.start as usize..arg.span.end as usize)?;
            let value = parse(text, ty).ok()?;
            conforms_with(&value, ty, &mut sizes).ok()?;
            Some(value)
        });
        Some(OutsideCall {
            args: values.collect::<Option<_>>()?,
            entry: entry.name.clone(),
        })
    }
}

/// Whether an expression is a value, written out.
fn is_written_out(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Str(_) => true,
        ExprKind::Constructor(path) => path.qualifier.is_none(),
        ExprKind::Apply(function, args) => {
            matches!(function.kind, ExprKind::Constructor(_))
                && is_written_out(function)
                && args.iter().all(is_written_out)
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().all(is_written_out),
        ExprKind::Record(fields) => fields.iter().all(|(_, value)| is_written_out(value)),
        ExprKind::Paren(inner) => is_written_out(inner),
        ExprKind::Unary(ast::UnaryOp::Scalar(UnOp::Neg), inner) => {
            matches!(inner.kind, ExprKind::Int { .. } | ExprKind::Float { .. })
        }
        _ => false,
    }
}

fn has_recursive_data(ty: &ValueType) -> bool {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => false,
        ValueType::Recursive(_) => true,
        ValueType::Tuple(parts) => parts.iter().any(has_recursive_data),
        ValueType::Record(fields) => fields.iter().any(|(_, field)| has_recursive_data(field)),
        ValueType::Array(_, element) => has_recursive_data(element),
        ValueType::Sum(sum) => {
            let mut fields = sum
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.fields);
            fields.any(has_recursive_data)
        }
    }
}
