//! `foreach` (Nishimura and Ohori, section 4.1, Table 1): the node type variable `n` and the recursive type variable `s`
//! belong to one `foreach` and do not leave it.

use super::expr::function;
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::names::Local;
use crate::tree::{Expr, ExprKind, Foreach, Type};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span};
use almach_syntax::ast;

impl Checker<'_> {
    pub fn infer_foreach(
        &mut self,
        node: &ast::Pattern,
        datum: &ast::Expr,
        rename: &ast::Ident,
        down: &ast::Ident,
        body: &ast::Expr,
        span: Span,
    ) -> Expr {
        let datum = self.infer(datum);
        self.solve_pending();
        let Some((data, args)) = self.recursive_datum(&datum) else {
            return self.error_expr(span);
        };
        let mark = self.trail.len();
        self.solver.level += 1;
        let old = Type::Reference(self.solver.fresh_reference(span, "n"));
        let new = Type::Reference(self.solver.fresh_reference(span, "s"));
        let node_type = Type::Node {
            data,
            args,
            reference: Box::new(old.clone()),
        };
        let rename_var = self.program_var(&rename.name, rename.span);
        let down_var = self.program_var(&down.name, down.span);
        for (ident, var, result) in [(rename, &rename_var, &new), (down, &down_var, &node_type)] {
            self.bind_local(
                ident.name.clone(),
                Local::Value {
                    var: var.clone(),
                    ty: function(old.clone(), result.clone()),
                },
            );
        }
        let node = self.bind_pattern_at(node, &node_type, Why::Matched(datum.span));
        let body = self.infer(body);
        self.solve_pending();
        let result = self.datum_of_nodes(&body.ty.clone(), &new, body.span);
        self.unbind_to(mark);
        self.solver.level -= 1;
        let result = self.leave_references(result, body.span);
        Expr {
            kind: ExprKind::Foreach(Box::new(Foreach {
                node,
                datum,
                rename: rename_var,
                down: down_var,
                body,
            })),
            ty: result,
            span,
        }
    }

    fn recursive_datum(&mut self, datum: &Expr) -> Option<(crate::tree::DataId, Vec<Type>)> {
        if self.solver.open_head(&datum.ty).is_some() {
            if !self.failed {
                self.report(
                    Diagnostic::error(
                        codes::ANNOTATION_NEEDED,
                        datum.span,
                        "cannot tell which recursive type this is",
                    )
                    .label("its type is not known here")
                    .help("write the type where the value is bound: `(x: t)`"),
                );
            }
            return None;
        }
        match self.solver.head(&datum.ty).clone() {
            Type::Data(data, args) if self.is_recursive(data) => Some((data, args)),
            other => {
                self.not_recursive(&other, datum.span);
                None
            }
        }
    }

    /// The data type whose node values a body gives, with references of the right kind.
    pub fn datum_of_nodes(&mut self, node: &Type, reference: &Type, span: Span) -> Type {
        match self.solver.head(node).clone() {
            Type::Node {
                data,
                args,
                reference: found,
            } => {
                let wanted = Type::Node {
                    data,
                    args: args.clone(),
                    reference: Box::new(reference.clone()),
                };
                let cause = Cause {
                    span,
                    why: Why::Text(
                        "new nodes refer to new nodes: references go through the renaming function",
                    ),
                    found: Some(node.clone()),
                    expected: Some(wanted),
                };
                self.solver.cause = cause.clone();
                if let Err(mismatch) = self.solver.unify(&found, reference) {
                    self.report_mismatch(&cause, &mismatch);
                }
                Type::Data(data, args)
            }
            other => {
                if self.solver.open_head(&other).is_none() || !self.failed {
                    let shown = self.show(&other);
                    self.report(
                        Diagnostic::error(
                            codes::NOT_RECURSIVE,
                            span,
                            format!("expected a node value, found `{shown}`"),
                        )
                        .label(format!("this is `{shown}`"))
                        .help(
                            "the body makes one node of the new datum, written with `#`: `#Cons x (f rest)`",
                        ),
                    );
                }
                self.any_type(span)
            }
        }
    }
}
