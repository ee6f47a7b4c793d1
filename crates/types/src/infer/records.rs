//! Records and projections.

use crate::checker::Checker;
use crate::errors::Why;
use crate::pending::{PENDING_POSITION, Question};
use crate::tree::{Expr, ExprKind, Type};
use almach_base::{Name, Span};
use almach_syntax::ast;

impl Checker<'_> {
    pub fn infer_record(
        &mut self,
        fields: &[(ast::Ident, ast::Expr)],
        expected: Option<&Type>,
        span: Span,
    ) -> Expr {
        let wanted = expected.and_then(|ty| match self.solver.head(ty) {
            Type::Record(fields) => Some(fields.clone()),
            _ => None,
        });
        let mut values: Vec<(Name, Expr)> = Vec::new();
        for (ident, value) in fields {
            let hint = wanted
                .as_ref()
                .and_then(|wanted| crate::unify::field(wanted, &ident.name));
            let value = match hint {
                Some(ty) => self.check(value, ty, Why::Text("because of the expected record type")),
                None => self.infer(value),
            };
            if values.iter().any(|(name, _)| *name == ident.name) {
                self.duplicate_field(ident);
            } else {
                values.push((ident.name.clone(), value));
            }
        }
        let types = values
            .iter()
            .map(|(name, value)| (name.clone(), value.ty.clone()))
            .collect();
        let ty = self.record_type(types);
        let order: Vec<Name> = match &ty {
            Type::Record(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        };
        let values = values
            .into_iter()
            .map(|(name, value)| {
                let position = order.iter().position(|other| *other == name).unwrap_or(0);
                (position as u32, value)
            })
            .collect();
        Expr {
            kind: ExprKind::Record(values),
            ty,
            span,
        }
    }

    pub fn infer_project(&mut self, tuple: &ast::Expr, index: u32, span: Span) -> Expr {
        let tuple = self.infer(tuple);
        let ty = match self.solver.head(&tuple.ty) {
            Type::Tuple(parts) => parts.get(index as usize).cloned(),
            _ => None,
        };
        let ty = match ty {
            Some(ty) => ty,
            None => {
                let result = self.any_type(span);
                self.ask(
                    Question::Component {
                        tuple: tuple.ty.clone(),
                        index,
                        result: result.clone(),
                    },
                    tuple.span,
                );
                result
            }
        };
        let expr = Expr {
            kind: ExprKind::Project(Box::new(tuple), index),
            ty,
            span,
        };
        self.opened(expr, "this component")
    }

    pub fn infer_field(&mut self, record: &ast::Expr, name: &ast::Ident, span: Span) -> Expr {
        let record = self.infer(record);
        let slot = self.field_positions.len();
        self.field_positions.push(None);
        let result = self.any_type(span);
        self.ask(
            Question::Field {
                record: record.ty.clone(),
                name: name.name.clone(),
                name_span: name.span,
                result: result.clone(),
                slot,
            },
            record.span,
        );
        Expr {
            kind: ExprKind::Project(Box::new(record), PENDING_POSITION + slot as u32),
            ty: result,
            span,
        }
    }
}
