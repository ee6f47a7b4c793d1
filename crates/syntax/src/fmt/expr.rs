//! Expressions made of operators, applications and atoms.

use super::doc::{Doc, Lines, align, choice, concat, group, group_as, nest, text};
use super::leaf::string_text;
use super::types::{Place, brackets};
use super::{Parens, Printer};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, InPlace, IndexArg, SliceBound, UnaryOp};
use crate::operator::{self, Associativity, Precedence, precedence_of};
use almach_value::UnOp;
use std::rc::Rc;

impl Printer<'_> {
    /// An expression where any may stand.
    pub(super) fn expr(&mut self, expr: &Expr) -> Doc {
        self.expr_at(expr, operator::FORM)
    }

    /// An expression where only what binds at least as tightly as `least` may stand without parentheses.
    pub(super) fn expr_at(&mut self, expr: &Expr, least: Precedence) -> Doc {
        let lead = self.comments.before(expr.span.start);
        let bar_in_arm = self.in_arm && matches!(&expr.kind, ExprKind::Binary(op, ..) if op.symbol() == "|");
        let needs_parens = self.parens == Parens::Needed && (precedence_of(&expr.kind) < least || bar_in_arm);
        let doc = if needs_parens {
            self.bracketed(|printer| concat([text("("), align(printer.expr_kind(expr)), text(")")]))
        } else {
            self.expr_kind(expr)
        };
        let trail = self.comments.after(expr.span.end);
        self.comments.printed_to(expr.span.end);
        concat_if_any(lead, doc, trail)
    }

    fn expr_kind(&mut self, expr: &Expr) -> Doc {
        match &expr.kind {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Var(_)
            | ExprKind::Annotated { .. }
            | ExprKind::Constructor(_)
            | ExprKind::NodeConstructor(_)
            | ExprKind::Error => text(self.leaf(expr)),
            ExprKind::Apply(function, arguments) => self.apply(function, arguments),
            ExprKind::Lambda(params, body) => self.lambda(params, body),
            ExprKind::Let(bindings, body) => self.let_form(expr, bindings, body),
            ExprKind::If(condition, yes, no) => self.if_form(condition, yes, no),
            ExprKind::Case(scrutinee, arms) => self.case(expr, scrutinee, arms),
            ExprKind::Loop(inner) => self.loop_form(inner),
            ExprKind::Assert {
                condition,
                text,
                body,
            } => self.assert(condition, text, body),
            ExprKind::Foreach {
                node,
                datum,
                rename,
                down,
                body,
            } => self.foreach(node, datum, (rename, down), body),
            ExprKind::Tuple(items) => self.bracketed(|printer| {
                let items = items.iter().map(|item| printer.expr(item)).collect();
                brackets("(", items, ")")
            }),
            ExprKind::Array(items) => self.bracketed(|printer| printer.array(items)),
            ExprKind::Record(fields) => self.bracketed(|printer| printer.record(fields)),
            ExprKind::Project(inner, position) => {
                let inner = self.projected(inner);
                concat([inner, text(format!(".{position}"))])
            }
            ExprKind::Field(inner, name) => {
                let inner = self.projected(inner);
                concat([inner, text(format!(".{}", name.name))])
            }
            ExprKind::Index(inner, indices) => {
                let inner = self.expr_at(inner, operator::ATOM);
                concat([inner, self.indices(indices)])
            }
            ExprKind::Range(from, to) => {
                let from = self.expr_at(from, operator::RANGE + 1);
                concat([from, text("..<"), self.expr_at(to, operator::RANGE + 1)])
            }
            ExprKind::Unary(op, inner) => self.unary(*op, inner),
            ExprKind::Binary(op, ..) => self.binary(expr, *op),
            ExprKind::Operator(op) => text(format!("({})", op.symbol())),
            ExprKind::LeftSection(op, inner) => self.left_section(*op, inner),
            ExprKind::RightSection(op, inner) => self.right_section(*op, inner),
            ExprKind::With { .. } => self.with(expr),
            ExprKind::Trace { label, body } => {
                let label = string_text(label.as_bytes());
                let body = self.expr_at(body, operator::ATOM);
                group(nest(2, concat([text(format!("trace {label}")), Doc::Line, body])))
            }
            ExprKind::Ascribe(inner, ty) => self.bracketed(|printer| {
                let inner = printer.expr(inner);
                concat([
                    text("("),
                    align(concat([inner, text(" : "), printer.ty(ty)])),
                    text(")"),
                ])
            }),
            ExprKind::Coerce(inner, ty) => {
                let inner = self.expr_at(inner, operator::COERCE);
                let lead = self.comments.before(ty.span.start);
                let ty = self.type_at(ty, Place::NoArrow);
                group(concat([
                    inner,
                    nest(2, concat([Doc::Line, lead, text(":> "), ty])),
                ]))
            }
            ExprKind::Paren(inner) => self.paren(inner),
        }
    }

    /// A number in front of `.0` would read as a longer number, a constructor in front of `.x` as a module, and
    /// the position in front of which an annotation stands as its dimension.
    fn projected(&mut self, inner: &Expr) -> Doc {
        let joins_dot = matches!(
            inner.kind,
            ExprKind::Int { .. }
                | ExprKind::Float { .. }
                | ExprKind::Constructor(_)
                | ExprKind::NodeConstructor(_)
                | ExprKind::Annotated { .. }
        );
        let doc = self.expr_at(inner, operator::ATOM);
        if joins_dot && self.parens == Parens::Needed {
            concat([text("("), doc, text(")")])
        } else {
            doc
        }
    }

    fn paren(&mut self, inner: &Expr) -> Doc {
        self.bracketed(|printer| {
            if let ExprKind::Lambda(params, body) = &inner.kind {
                let lead = printer.comments.before(inner.span.start);
                let lambda = printer.lambda_parts(params, body);
                return concat_if_any(lead, group(concat([text("("), lambda, text(")")])), concat([]));
            }
            concat([text("("), align(printer.expr(inner)), text(")")])
        })
    }

    /// `f x y`: on one line; or with the last argument, a function, opening on the first line; or one argument to a line.
    fn apply(&mut self, function: &Expr, arguments: &[Expr]) -> Doc {
        let function = self.expr_at(function, operator::ATOM);
        let arguments: Vec<Doc> = arguments
            .iter()
            .map(|argument| self.expr_at(argument, operator::ATOM))
            .collect();
        let lined = arguments
            .iter()
            .flat_map(|argument| [Doc::Line, argument.clone()]);
        let lines = group(concat([function.clone(), nest(2, concat(lined))]));
        let Some((last, before)) = arguments.split_last() else {
            return lines;
        };
        let Some(opened) = opened(last, before) else {
            return lines;
        };
        let mut hugging = vec![function];
        for argument in before {
            hugging.extend([text(" "), argument.clone()]);
        }
        hugging.extend([text(" "), opened]);
        choice(lines.clone(), choice(concat(hugging), lines))
    }

    fn array(&mut self, items: &[Expr]) -> Doc {
        let all_leaves = items.iter().all(|item| is_short(&item.kind));
        let docs: Vec<Doc> = items.iter().map(|item| self.expr(item)).collect();
        if !all_leaves {
            return brackets("[", docs, "]");
        }
        let last = docs.len().saturating_sub(1);
        let filled = docs
            .into_iter()
            .enumerate()
            .map(|(at, doc)| if at < last { concat([doc, text(",")]) } else { doc });
        concat([text("["), align(Doc::Fill(filled.collect())), text("]")])
    }

    fn record(&mut self, fields: &[(Ident, Expr)]) -> Doc {
        let lead = self.before_first(fields.first().map(|(name, _)| name));
        let fields = fields
            .iter()
            .map(|(name, value)| {
                let lead = self.comments.before(name.span.start);
                concat([lead, text(format!("{} = ", name.name)), nest(2, self.expr(value))])
            })
            .collect();
        concat([lead, brackets("{", fields, "}")])
    }

    pub(super) fn indices(&mut self, indices: &[IndexArg]) -> Doc {
        self.bracketed(|printer| {
            let indices = indices.iter().map(|index| printer.index(index)).collect();
            brackets("[", indices, "]")
        })
    }

    fn index(&mut self, index: &IndexArg) -> Doc {
        match index {
            IndexArg::At(index) => self.expr(index),
            IndexArg::Slice {
                begin,
                end,
                bound,
                step,
                span,
            } => {
                let lead = self.comments.before(span.start);
                let begin = self.slice_part(begin.as_ref());
                let end = self.slice_part(end.as_ref());
                let colon = match bound {
                    SliceBound::Before => ":",
                    SliceBound::Count => ":+",
                };
                let mut docs = vec![lead, begin, text(colon), end];
                if step.is_some() {
                    docs.push(text(":"));
                    docs.push(self.slice_part(step.as_ref()));
                }
                concat(docs)
            }
        }
    }

    fn slice_part(&mut self, part: Option<&Expr>) -> Doc {
        match part {
            Some(part) => self.expr_at(part, operator::PIPE),
            None => concat([]),
        }
    }

    fn unary(&mut self, op: UnaryOp, inner: &Expr) -> Doc {
        let UnaryOp::Scalar(op) = op;
        let symbol = match op {
            UnOp::Neg => "-",
            UnOp::Not => "!",
            UnOp::Complement => "~",
            _ => return concat([text(format!("{op:?} ")), self.expr_at(inner, operator::ATOM)]),
        };
        let lead = self.comments.before(inner.span.start);
        let negates_again = matches!(inner.kind, ExprKind::Unary(UnaryOp::Scalar(UnOp::Neg), _));
        let blank = if symbol == "-" && negates_again { " " } else { "" };
        let inner = self.expr_at(inner, operator::UNARY);
        concat_if_any(
            lead,
            concat([text(format!("{symbol}{blank}")), inner]),
            concat([]),
        )
    }

    /// A chain of operators of one precedence: broken in front of each operator.
    fn binary(&mut self, expr: &Expr, op: BinaryOp) -> Doc {
        if op.symbol().starts_with(|first: char| first.is_ascii_alphabetic()) {
            return self.named_operator(expr);
        }
        let precedence = op.precedence();
        let mut operands: Vec<(BinaryOp, &Expr)> = Vec::new();
        let mut current = expr;
        // Left chains lean left; the outermost operator is the last one written.
        while let ExprKind::Binary(outer, _, left, right) = &current.kind
            && outer.precedence() == precedence
            && (operands.is_empty() || op.associativity() == outer.associativity())
            && (operands.is_empty() || op.associativity() == Associativity::Left)
        {
            operands.push((*outer, right));
            current = left;
        }
        operands.reverse();
        let first = self.expr_at(current, precedence + 1);
        let is_pipe = op == BinaryOp::PipeRight;
        let lines = match operands.last() {
            Some((_, last)) if is_pipe => self.lines(current.span.end, last.span.start),
            _ => Lines::One,
        };
        let mut rest = Vec::new();
        for (op, operand) in operands {
            let chains = op.associativity() == Associativity::Right
                && matches!(&operand.kind, ExprKind::Binary(inner, ..) if *inner == op);
            let least = if chains { precedence } else { precedence + 1 };
            let lead = self.comments.before(operand.span.start);
            let operand = self.expr_at(operand, least);
            rest.extend([Doc::Line, lead, text(format!("{} ", op.symbol())), operand]);
        }
        let indent = if is_pipe { 0 } else { 2 };
        group_as(lines, concat([first, nest(indent, concat(rest))]))
    }

    /// `min a b`, for trees that have it as an operator.
    fn named_operator(&mut self, expr: &Expr) -> Doc {
        let ExprKind::Binary(op, _, left, right) = &expr.kind else {
            return concat([]);
        };
        let left = self.expr_at(left, operator::ATOM);
        let right = self.expr_at(right, operator::ATOM);
        concat([text(format!("{} ", op.symbol())), left, text(" "), right])
    }

    fn left_section(&mut self, op: BinaryOp, inner: &Expr) -> Doc {
        let least = match op.associativity() {
            Associativity::Left => op.precedence(),
            Associativity::Right | Associativity::None => op.precedence() + 1,
        };
        self.bracketed(|printer| {
            let inner = printer.expr_at(inner, least);
            concat([text("("), align(inner), text(format!(" {})", op.symbol()))])
        })
    }

    fn right_section(&mut self, op: BinaryOp, inner: &Expr) -> Doc {
        let least = match op.associativity() {
            Associativity::Right => op.precedence(),
            Associativity::Left | Associativity::None => op.precedence() + 1,
        };
        self.bracketed(|printer| {
            let lead = printer.comments.before(inner.span.start);
            let inner = printer.expr_at(inner, least);
            // `(- x)` is negation, so the section is written out.
            let open = match op.symbol() {
                "-" => "(\\x' -> x' - ".to_string(),
                symbol => format!("({symbol} "),
            };
            concat_if_any(lead, concat([text(open), align(inner), text(")")]), concat([]))
        })
    }

    /// A chain of updates: broken in front of each `with`.
    fn with(&mut self, expr: &Expr) -> Doc {
        let mut updates = Vec::new();
        let mut current = expr;
        while let ExprKind::With {
            array,
            indices,
            value,
            in_place,
        } = &current.kind
        {
            updates.push((indices, value, *in_place));
            current = array;
        }
        let array = self.expr_at(current, operator::PIPE);
        let mut rest = Vec::new();
        for (indices, value, in_place) in updates.into_iter().rev() {
            let keyword = match in_place {
                InPlace::Required => "with! ",
                InPlace::WherePossible => "with ",
            };
            let indices = self.indices(indices);
            let value = nest(2, self.expr_at(value, operator::PIPE));
            rest.extend([Doc::Line, text(keyword), indices, text(" = "), value]);
        }
        group(concat([array, nest(2, concat(rest))]))
    }
}

/// The last argument in its broken form, to start on the line of the function: a lambda in parentheses, or, where it is
/// the only argument, anything in parentheses.
fn opened(last: &Doc, before: &[Doc]) -> Option<Doc> {
    match last {
        Doc::Group(inner) => Some(Doc::Broken(Rc::clone(inner))),
        Doc::Concat(docs) if before.is_empty() => match docs.as_slice() {
            [open @ Doc::Text(_), Doc::Align(inner), close @ Doc::Text(_)] => {
                let inner = broken_form(inner)?;
                Some(concat([open.clone(), align(inner), close.clone()]))
            }
            _ => None,
        },
        _ => None,
    }
}

fn broken_form(doc: &Doc) -> Option<Doc> {
    match doc {
        Doc::Group(inner) => Some(Doc::Broken(Rc::clone(inner))),
        Doc::Choice(_, second) => broken_form(second),
        _ => None,
    }
}

/// Whether several of these fit on a line.
fn is_short(expr: &ExprKind) -> bool {
    match expr {
        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Var(_) => true,
        ExprKind::Unary(_, inner) => is_short(&inner.kind),
        _ => false,
    }
}

/// The document by itself where there are no comments around it.
fn concat_if_any(lead: Doc, doc: Doc, trail: Doc) -> Doc {
    let is_empty = |doc: &Doc| matches!(doc, Doc::Concat(docs) if docs.is_empty());
    if is_empty(&lead) && is_empty(&trail) {
        doc
    } else {
        concat([lead, doc, trail])
    }
}
