//! `let`, `if`, `case`, lambdas, loops, and definitions.

use super::doc::{Doc, Lines, align, concat, group, group_as, nest, text};
use super::leaf::string_text;
use super::{Parens, Printer};
use crate::ast::{
    Arm, Binding, Def, DefKind, Expr, ExprKind, Ident, Loop, LoopForm, Param, Pattern, PatternKind, Recursive,
};
use almach_base::Name;

impl Printer<'_> {
    pub(super) fn lambda(&mut self, params: &[Param], body: &Expr) -> Doc {
        group(self.lambda_parts(params, body))
    }

    /// A lambda without a group of its own, so that parentheses around it break with it.
    pub(super) fn lambda_parts(&mut self, params: &[Param], body: &Expr) -> Doc {
        let mut head = vec![text("\\")];
        for (at, param) in params.iter().enumerate() {
            if at > 0 {
                head.push(text(" "));
            }
            head.push(self.argument_pattern(&param.pattern));
        }
        head.push(text(" ->"));
        let head_end = params
            .last()
            .map_or(body.span.start, |param| param.pattern.span.end);
        let line = self.line_between(head_end, body.span.start);
        head.push(nest(2, concat([line, self.expr(body)])));
        concat(head)
    }

    pub(super) fn let_form(&mut self, expr: &Expr, bindings: &[Binding], body: &Expr) -> Doc {
        let lines = match bindings {
            [_] => self.lines(expr.span.start, body.span.start),
            _ => Lines::Several,
        };
        let mut docs = Vec::new();
        for (at, binding) in bindings.iter().enumerate() {
            let start = binding_start(binding);
            if at > 0 {
                docs.push(self.line_in(lines, start));
            }
            docs.push(self.comments.before_block(start));
            docs.push(self.binding(binding));
        }
        docs.push(self.line_in(lines, body.span.start));
        docs.push(self.comments.before_block(body.span.start));
        docs.push(text("in "));
        docs.push(nest(3, self.expr(body)));
        group_as(lines, concat(docs))
    }

    /// The line in front of a part of a block; an empty line of the source is kept.
    fn line_in(&self, lines: Lines, start: u32) -> Doc {
        match (lines, self.comments.line_before(start)) {
            (Lines::Several, Doc::EmptyLine) => Doc::EmptyLine,
            _ => Doc::Line,
        }
    }

    fn binding(&mut self, binding: &Binding) -> Doc {
        match binding {
            Binding::Value { pattern, value, span } => {
                let head_end = pattern.span.end;
                let pattern = self.loose_pattern(pattern);
                let value = self.definition_body(head_end, value);
                let trail = self.comments.after(span.end);
                self.comments.printed_to(span.end);
                concat([text("let "), pattern, value, trail])
            }
            Binding::Functions(defs) => {
                let mut docs = Vec::new();
                for (at, def) in defs.iter().enumerate() {
                    let keyword = match (at, def.recursive) {
                        (0, Recursive::Yes) => "let rec ",
                        (0, Recursive::No) => "let ",
                        (_, _) => "and ",
                    };
                    if at > 0 {
                        docs.push(Doc::Line);
                        docs.push(self.comments.before_block(def.span.start));
                    }
                    docs.push(self.def(keyword, def));
                }
                concat(docs)
            }
        }
    }

    /// ` =` and what is defined, on the same line if all of it fits there.
    fn definition_body(&mut self, head_end: u32, body: &Expr) -> Doc {
        concat([text(" ="), self.body(head_end, body)])
    }

    /// What belongs to the text before it, which ends at `head_end`: on the same line if it fits and the source has it
    /// there, else indented below.
    fn body(&mut self, head_end: u32, body: &Expr) -> Doc {
        let line = self.line_between(head_end, body.span.start);
        group(nest(2, concat([line, self.expr(body)])))
    }

    /// A line that is broken for certain where the source has it broken.
    fn line_between(&self, from: u32, to: u32) -> Doc {
        match self.lines(from, to) {
            Lines::One => Doc::Line,
            Lines::Several => Doc::HardLine,
        }
    }

    pub(super) fn def(&mut self, keyword: &str, def: &Def) -> Doc {
        let mut parts = Vec::new();
        for size in &def.sizes {
            let lead = self.comments.before(size.span.start);
            parts.extend([Doc::Line, lead, text(format!("[{}]", size.name))]);
        }
        for param in &def.params {
            let param = self.argument_pattern(&param.pattern);
            parts.extend([Doc::Line, param]);
        }
        let result = match &def.result {
            Some(result) => concat([text(": "), self.ty(result)]),
            None => concat([]),
        };
        let name = text(format!("{keyword}{}", def.name.name));
        parts.push(result);
        let head = group(concat([name, nest(4, concat(parts))]));
        let head_end = match (&def.result, def.params.last()) {
            (Some(result), _) => result.span.end,
            (None, Some(param)) => param.pattern.span.end,
            (None, None) => def.name.span.end,
        };
        let body = self.definition_body(head_end, &def.body);
        let trail = self.comments.after(def.span.end);
        self.comments.printed_to(def.span.end);
        concat([head, body, trail])
    }

    /// The keyword of a definition at the top of a file.
    pub(super) fn def_keyword(def: &Def) -> &'static str {
        match (def.kind, def.recursive) {
            (DefKind::Def, Recursive::No) => "def ",
            (DefKind::Def, Recursive::Yes) => "def rec ",
            (DefKind::Entry, Recursive::No) => "entry ",
            (DefKind::Entry, Recursive::Yes) => "entry rec ",
            (DefKind::Local, Recursive::No) => "let ",
            (DefKind::Local, Recursive::Yes) => "let rec ",
        }
    }

    /// `if … then … else if … then … else …`: one line, or one for each branch.
    pub(super) fn if_form(&mut self, condition: &Expr, yes: &Expr, no: &Expr) -> Doc {
        let lines = self.lines(yes.span.end, no.span.start);
        let mut docs = Vec::new();
        let (mut condition, mut yes, mut no) = (condition, yes, no);
        loop {
            let condition_doc = self.expr(condition);
            docs.extend([text("if "), nest(3, condition_doc), text(" then")]);
            docs.push(self.branch(yes));
            docs.push(Doc::Line);
            let ExprKind::If(next_condition, next_yes, next_no) = &no.kind else {
                break;
            };
            docs.push(self.comments.before(no.span.start));
            docs.push(text("else "));
            (condition, yes, no) = (next_condition, next_yes, next_no);
        }
        docs.push(self.comments.before(no.span.start));
        docs.push(text("else"));
        docs.push(self.branch(no));
        group_as(lines, concat(docs))
    }

    fn branch(&mut self, branch: &Expr) -> Doc {
        group(nest(2, concat([Doc::Line, self.expr(branch)])))
    }

    pub(super) fn case(&mut self, expr: &Expr, scrutinee: &Expr, arms: &[Arm]) -> Doc {
        let last_start = arms.last().map_or(expr.span.start, |arm| arm.span.start);
        let lines = self.lines(scrutinee.span.end, last_start);
        let scrutinee = self.expr(scrutinee);
        let mut docs = vec![text("case "), nest(5, scrutinee), text(" of")];
        let in_arm = std::mem::replace(&mut self.in_arm, true);
        let last = arms.len().saturating_sub(1);
        for (at, arm) in arms.iter().enumerate() {
            docs.push(match at {
                0 => Doc::Line,
                _ => self.line_in(lines, arm.span.start),
            });
            docs.push(self.comments.before_block(arm.span.start));
            docs.push(self.arm(arm, if at < last { Ends::Not } else { Ends::Case }));
        }
        self.in_arm = in_arm;
        group_as(lines, concat(docs))
    }

    fn arm(&mut self, arm: &Arm, ends: Ends) -> Doc {
        let mut docs = vec![text("| "), self.pattern(&arm.pattern)];
        if let Some(guard) = &arm.guard {
            docs.extend([text(" if "), self.expr(guard)]);
        }
        docs.push(text(" ->"));
        let head_end = arm
            .guard
            .as_ref()
            .map_or(arm.pattern.span.end, |guard| guard.span.end);
        let line = self.line_between(head_end, arm.body.span.start);
        // The arms of an open `case` in the middle would be taken for more arms of it.
        let needs_parens = self.parens == Parens::Needed && ends == Ends::Not && ends_in_case(&arm.body.kind);
        let body = if needs_parens {
            self.bracketed(|printer| concat([text("("), align(printer.expr(&arm.body)), text(")")]))
        } else {
            self.expr(&arm.body)
        };
        docs.push(group(nest(2, concat([line, body]))));
        docs.push(self.comments.after(arm.span.end));
        self.comments.printed_to(arm.span.end);
        concat(docs)
    }

    pub(super) fn loop_form(&mut self, inner: &Loop) -> Doc {
        let pattern = self.loose_pattern(&inner.pattern);
        let state = match &inner.initial {
            Some(initial) => {
                let initial = self.bracketed(|printer| printer.expr(initial));
                concat([
                    text("("),
                    align(concat([pattern, text(" = "), initial])),
                    text(")"),
                ])
            }
            None if matches!(inner.pattern.kind, PatternKind::Tuple(_)) => pattern,
            None => concat([text("("), pattern, text(")")]),
        };
        let (form, head_end) = match &inner.form {
            LoopForm::For { index, bound } => {
                let lead = self.comments.before(index.span.start);
                let form = concat([lead, text(format!("for {} < ", index.name)), self.expr(bound)]);
                (form, bound.span.end)
            }
            LoopForm::While(condition) => {
                let form = concat([text("while "), self.expr(condition)]);
                (form, condition.span.end)
            }
        };
        let head = concat([
            text("loop "),
            state,
            nest(5, concat([Doc::Line, form, text(" do")])),
        ]);
        let body = self.body(head_end, &inner.body);
        concat([group(head), body])
    }

    pub(super) fn assert(&mut self, condition: &Expr, message: &Name, body: &Expr) -> Doc {
        let lines = self.lines(condition.span.end, body.span.start);
        let condition = nest(2, self.expr(condition));
        let lead = self.comments.before_block(body.span.start);
        let message = string_text(message.as_bytes());
        let body = nest(3, self.expr(body));
        let head = concat([text("assert "), condition, text(format!(", {message}"))]);
        group_as(lines, concat([head, Doc::Line, lead, text("in "), body]))
    }

    pub(super) fn foreach(
        &mut self,
        node: &Pattern,
        datum: &Expr,
        names: (&Ident, &Ident),
        body: &Expr,
    ) -> Doc {
        let node = self.pattern(node);
        let datum = self.expr(datum);
        let lead = self.comments.before(names.1.span.end);
        let with = text(format!("with {}, {} do", names.0.name, names.1.name));
        let head = concat([text("foreach "), node, text(" in "), datum, Doc::Line, lead, with]);
        let body = self.body(names.1.span.end, body);
        concat([group(nest(2, head)), body])
    }
}

/// Whether an arm is the last one and may end in an open `case`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Not,
    Case,
}

fn ends_in_case(expr: &ExprKind) -> bool {
    match expr {
        ExprKind::Case(..) => true,
        ExprKind::Lambda(_, body)
        | ExprKind::Let(_, body)
        | ExprKind::If(_, _, body)
        | ExprKind::Assert { body, .. }
        | ExprKind::Foreach { body, .. } => ends_in_case(&body.kind),
        ExprKind::Loop(inner) => ends_in_case(&inner.body.kind),
        _ => false,
    }
}

fn binding_start(binding: &Binding) -> u32 {
    match binding {
        Binding::Value { span, .. } => span.start,
        Binding::Functions(defs) => defs.first().map_or(0, |def| def.span.start),
    }
}
