//! Questions about types that are not known yet: which field of which record, which node type. They are asked again
//! when more is known, and an annotation is asked for where the end of the definition does not answer them.

use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::tree::{Constraint, DataId, Recursive, Type};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Name, Span};
use almach_value::ScalarType;

/// Positions from here on are indices into [`Checker::field_positions`], replaced when the tree is resolved.
pub(crate) const PENDING_POSITION: u32 = 1 << 30;

#[derive(Clone)]
pub(crate) struct Pending {
    pub question: Question,
    pub span: Span,
}

#[derive(Clone)]
pub(crate) enum Question {
    Field {
        record: Type,
        name: Name,
        name_span: Span,
        result: Type,
        slot: usize,
    },
    Component {
        tuple: Type,
        index: u32,
        result: Type,
    },
    /// `node` is the node type of `datum`, with `i64` references.
    NodeOf {
        datum: Type,
        node: Type,
    },
    /// A recursive data type.
    Recursive(Type),
    /// `bits` is the unsigned integer as wide as `float`.
    Bits {
        float: Type,
        bits: Type,
    },
}

enum Answer {
    Known,
    Open,
}

impl Checker<'_> {
    pub fn ask(&mut self, question: Question, span: Span) {
        let pending = Pending { question, span };
        if let Answer::Open = self.answer(&pending) {
            self.pending.push(pending);
        }
    }

    /// Answers what can be answered by now; reports equations that turned out wrong.
    ///
    /// One answer may be what another question waits for, in any order (`from_bits (to_bits x)` asks about its outer part
    /// first): they are asked until a round answers none.
    pub fn solve_pending(&mut self) {
        loop {
            let asked = std::mem::take(&mut self.pending);
            let before = asked.len();
            for pending in asked {
                if let Answer::Open = self.answer(&pending) {
                    self.pending.push(pending);
                }
            }
            if self.pending.len() == before {
                break;
            }
        }
        for (equation, mismatch) in self.solver.retry_equations() {
            self.report_mismatch(&equation.cause, &mismatch);
        }
    }

    /// Asks for annotations where the end of the definition leaves questions.
    pub fn report_pending(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            if self.failed {
                continue;
            }
            let (what, ty) = match &pending.question {
                Question::Field { name, record, .. } => {
                    (format!("which record has the field `{name}`"), record)
                }
                Question::Component { index, tuple, .. } => {
                    (format!("which tuple has the component `{index}`"), tuple)
                }
                Question::NodeOf { datum, .. } | Question::Recursive(datum) => {
                    ("which recursive type this is".to_string(), datum)
                }
                Question::Bits { float, .. } => ("which float type this is".to_string(), float),
            };
            let shown = self.show(ty);
            self.report(
                Diagnostic::error(
                    codes::ANNOTATION_NEEDED,
                    pending.span,
                    format!("cannot tell {what}"),
                )
                .label(format!("its type is only known to be `{shown}`"))
                .help("write the type where the value is bound: `(x: t)`"),
            );
        }
    }

    fn answer(&mut self, pending: &Pending) -> Answer {
        let span = pending.span;
        match &pending.question {
            Question::Field {
                record,
                name,
                name_span,
                result,
                slot,
            } => self.answer_field(record, name, *name_span, result, *slot, span),
            Question::Component { tuple, index, result } => {
                self.answer_component(tuple, *index, result, span)
            }
            Question::NodeOf { datum, node } => self.answer_node(datum, node, span),
            Question::Recursive(datum) => {
                let head = self.solver.head(datum).clone();
                match head {
                    _ if self.solver.open_head(datum).is_some() => Answer::Open,
                    Type::Data(data, _) if self.is_recursive(data) => Answer::Known,
                    other => {
                        self.not_recursive(&other, span);
                        Answer::Known
                    }
                }
            }
            Question::Bits { float, bits } => self.answer_bits(float, bits, span),
        }
    }

    fn answer_field(
        &mut self,
        record: &Type,
        name: &Name,
        name_span: Span,
        result: &Type,
        slot: usize,
        span: Span,
    ) -> Answer {
        if self.solver.open_head(record).is_some() {
            return Answer::Open;
        }
        match self.solver.head(record).clone() {
            Type::Record(fields) => {
                let position = fields.iter().position(|(field, _)| field == name);
                match position.and_then(|at| Some((at, fields.get(at)?))) {
                    Some((at, (_, ty))) => {
                        if let Some(place) = self.field_positions.get_mut(slot) {
                            *place = Some(at as u32);
                        }
                        let ty = self.solver.open(ty, span, "this field");
                        self.require_same(&ty, result, span, Why::Unsaid);
                    }
                    None => self.no_such_field(name, name_span, &Type::Record(fields)),
                }
            }
            other => self.no_such_field(name, name_span, &other),
        }
        Answer::Known
    }

    fn no_such_field(&mut self, name: &Name, span: Span, ty: &Type) {
        let shown = self.show(ty);
        let mut diagnostic = Diagnostic::error(
            codes::NO_SUCH_FIELD,
            span,
            format!("`{shown}` has no field `{name}`"),
        )
        .label("no such field");
        if let Type::Record(fields) = ty {
            let names = fields.iter().map(|(field, _)| field.as_str());
            if let Some(near) = almach_base::suggest::nearest(name, names) {
                diagnostic = diagnostic.suggest(span, near, format!("did you mean `{near}`?"));
            }
        }
        self.report(diagnostic);
    }

    fn answer_component(&mut self, tuple: &Type, index: u32, result: &Type, span: Span) -> Answer {
        if self.solver.open_head(tuple).is_some() {
            return Answer::Open;
        }
        let head = self.solver.head(tuple).clone();
        match &head {
            Type::Tuple(parts) if (index as usize) < parts.len() => {
                if let Some(part) = parts.get(index as usize) {
                    let part = self.solver.open(part, span, "this component");
                    self.require_same(&part, result, span, Why::Unsaid);
                }
            }
            other => {
                let shown = self.show(other);
                let diagnostic = Diagnostic::error(
                    codes::NO_SUCH_FIELD,
                    span,
                    format!("`{shown}` has no component `.{index}`"),
                )
                .label(format!("this is `{shown}`"));
                let diagnostic = match other {
                    Type::Tuple(parts) if !parts.is_empty() => diagnostic.help(format!(
                        "components are counted from 0: the last one is `.{}`",
                        parts.len() - 1
                    )),
                    _ => diagnostic,
                };
                self.report(diagnostic);
            }
        }
        Answer::Known
    }

    fn answer_node(&mut self, datum: &Type, node: &Type, span: Span) -> Answer {
        let i64_type = Type::Scalar(ScalarType::I64);
        match (self.solver.head(datum).clone(), self.solver.head(node).clone()) {
            (Type::Data(data, args), _) if self.is_recursive(data) => {
                let wanted = Type::Node {
                    data,
                    args,
                    reference: Box::new(i64_type),
                };
                self.require_same(
                    node,
                    &wanted,
                    span,
                    Why::Text("references in nodes are `i64` positions"),
                );
                Answer::Known
            }
            (
                _,
                Type::Node {
                    data,
                    args,
                    reference,
                },
            ) => {
                self.require_same(
                    &reference,
                    &i64_type,
                    span,
                    Why::Text("references in nodes are `i64` positions"),
                );
                self.require_same(datum, &Type::Data(data, args), span, Why::Unsaid);
                Answer::Known
            }
            (other, _) if self.solver.open_head(datum).is_none() => {
                self.not_recursive(&other, span);
                Answer::Known
            }
            (_, other) if self.solver.open_head(node).is_none() => {
                let shown = self.show(&other);
                self.report(
                    Diagnostic::error(
                        codes::NOT_RECURSIVE,
                        span,
                        format!("expected node values, found `{shown}`"),
                    )
                    .label("not node values")
                    .help("node values are written with `#`: `#Cons x ref`"),
                );
                Answer::Known
            }
            _ => Answer::Open,
        }
    }

    pub fn is_recursive(&self, data: DataId) -> bool {
        self.data_def(data)
            .is_some_and(|def| def.recursive == Recursive::Yes)
    }

    pub fn not_recursive(&mut self, ty: &Type, span: Span) {
        let shown = self.show(ty);
        let diagnostic = Diagnostic::error(
            codes::NOT_RECURSIVE,
            span,
            format!("expected a recursive data type, found `{shown}`"),
        )
        .label(format!("this is `{shown}`"));
        let diagnostic = match ty {
            Type::Node { .. } => diagnostic.help("this is a node value; a datum is written without `#`"),
            _ => diagnostic.note("a recursive type is declared with `data` and mentions itself"),
        };
        self.report(diagnostic);
    }

    fn answer_bits(&mut self, float: &Type, bits: &Type, span: Span) -> Answer {
        let pairs = [
            (ScalarType::F32, ScalarType::U32),
            (ScalarType::F64, ScalarType::U64),
        ];
        let (float_head, bits_head) = (self.solver.head(float).clone(), self.solver.head(bits).clone());
        for (f, u) in pairs {
            if float_head == Type::Scalar(f) || bits_head == Type::Scalar(u) {
                self.require_same(&float_head, &Type::Scalar(f), span, Why::Unsaid);
                self.require_same(&bits_head, &Type::Scalar(u), span, Why::Unsaid);
                return Answer::Known;
            }
        }
        if self.solver.open_head(float).is_some() && self.solver.open_head(bits).is_some() {
            return Answer::Open;
        }
        let wrong = if self.solver.open_head(float).is_none() {
            (float_head, Constraint::Float)
        } else {
            (bits_head, Constraint::Integer)
        };
        self.constrain(&wrong.0, wrong.1, span, Why::Unsaid);
        if self.failed {
            return Answer::Known;
        }
        let shown = self.show(&wrong.0);
        self.report(
            Diagnostic::error(
                codes::TYPE_MISMATCH,
                span,
                format!("expected the bits of a float, `u32` or `u64`, found `{shown}`"),
            )
            .label(format!("this is `{shown}`")),
        );
        Answer::Known
    }

    /// Makes two types equal or reports why they are not.
    pub fn require_same(&mut self, found: &Type, expected: &Type, span: Span, why: Why) -> bool {
        let cause = Cause {
            span,
            why,
            found: Some(found.clone()),
            expected: Some(expected.clone()),
            bound: None,
        };
        self.solver.cause = cause.clone();
        match self.solver.unify(found, expected) {
            Ok(()) => true,
            Err(mismatch) => {
                self.report_mismatch(&cause, &mismatch);
                false
            }
        }
    }

    /// Asks a constraint of a type or reports why it does not hold.
    pub fn constrain(&mut self, ty: &Type, constraint: Constraint, span: Span, why: Why) -> bool {
        let cause = Cause {
            span,
            why,
            found: Some(ty.clone()),
            expected: None,
            bound: None,
        };
        match self.solver.constrain(ty, constraint, span) {
            Ok(()) => true,
            Err(mismatch) => {
                self.report_mismatch(&cause, &mismatch);
                false
            }
        }
    }
}
