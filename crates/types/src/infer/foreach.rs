//! `foreach` (Nishimura and Ohori, section 4.1, Table 1): the node type variable `n` and the recursive type variable `s`
//! belong to one `foreach` and do not leave it.

use super::expr::{function, i64_type};
use crate::checker::Checker;
use crate::errors::{Cause, Why};
use crate::names::Local;
use crate::tree::{Expr, ExprKind, Foreach, Type};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Span};
use almach_prim::{Annotation, Prim};
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
        let mark = self.trail.len();
        self.solver.level += 1;
        self.reference_depth += 1;
        let old = self.fresh_reference("n", node.span);
        let new = self.fresh_reference("s", rename.span);
        let Some(node_type) = self.node_type(&datum, &old) else {
            self.solver.level -= 1;
            self.reference_depth -= 1;
            return self.error_expr(span);
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
        self.settle_datum(&datum, &node_type, &old);
        let result = self.datum_of_nodes(&body.ty.clone(), &new, body.span);
        self.reference_depth -= 1;
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

    /// References inside others get numbers, so that messages can tell them apart.
    fn fresh_reference(&mut self, letter: &str, span: Span) -> Type {
        let name = match self.reference_depth {
            0 | 1 => letter.to_string(),
            depth => format!("{letter}{depth}"),
        };
        Type::Reference(self.solver.fresh_reference(span, name))
    }

    /// The type of the nodes of a datum; an open one where only the body's patterns can tell.
    fn node_type(&mut self, datum: &Expr, reference: &Type) -> Option<Type> {
        if self.solver.open_head(&datum.ty).is_some() {
            return Some(self.any_type(datum.span));
        }
        match self.solver.head(&datum.ty).clone() {
            Type::Data(data, args) if self.is_recursive(data) => Some(Type::Node {
                data,
                args,
                reference: Box::new(reference.clone()),
            }),
            other => {
                self.not_recursive(&other, datum.span);
                None
            }
        }
    }

    /// Makes the datum's type that of its nodes, which the body may have told.
    fn settle_datum(&mut self, datum: &Expr, node: &Type, reference: &Type) {
        match self.solver.head(node).clone() {
            Type::Node {
                data,
                args,
                reference: found,
            } => {
                self.require_same(&found, reference, datum.span, Why::Unsaid);
                self.require_same(&datum.ty, &Type::Data(data, args), datum.span, Why::Unsaid);
            }
            _ if self.failed => {}
            _ => self.report(
                Diagnostic::error(
                    codes::ANNOTATION_NEEDED,
                    datum.span,
                    "cannot tell which recursive type this is",
                )
                .label("its type is not known here")
                .help("write the type where the value is bound: `(x: t)`"),
            ),
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
                    bound: None,
                };
                self.solver.cause = cause.clone();
                if let Err(mismatch) = self.solver.unify(&found, reference) {
                    self.report_mismatch(&cause, &mismatch);
                }
                Type::Data(data, args)
            }
            other => {
                if !self.failed {
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

    /// `build n root (\i ref -> node)`: the reference type belongs to this `build` alone.
    pub fn infer_build(
        &mut self,
        annotation: Annotation,
        head_span: Span,
        args: &[&ast::Expr],
        span: Span,
    ) -> Expr {
        let [count, root, maker] = args else {
            return self.error_expr(span);
        };
        self.check_annotation(Prim::Build, annotation, head_span);
        let why = |position| Why::Argument {
            function: "build".to_string(),
            position,
            declared: None,
        };
        let count = self.check(count, &i64_type(), why(1));
        let root = self.check(root, &i64_type(), why(2));
        self.solver.level += 1;
        self.reference_depth += 1;
        let reference = self.fresh_reference("r", head_span);
        let node = self.any_type(maker.span);
        let maker_type = function(
            i64_type(),
            function(function(i64_type(), reference.clone()), node.clone()),
        );
        let maker = self.check(maker, &maker_type, why(3));
        self.solve_pending();
        let result = self.datum_of_nodes(&node, &reference, maker.span);
        self.reference_depth -= 1;
        self.solver.level -= 1;
        let result = self.leave_references(result, maker.span);
        let prim = Expr {
            ty: function(
                i64_type(),
                function(i64_type(), function(maker_type, result.clone())),
            ),
            kind: ExprKind::Prim {
                prim: Prim::Build,
                annotation,
                arrays: 1,
            },
            span: head_span,
        };
        Expr {
            kind: ExprKind::Apply(Box::new(prim), vec![count, root, maker]),
            ty: result,
            span,
        }
    }

    /// Reports where a type mentions references that end here.
    pub fn leave_references(&mut self, ty: Type, span: Span) -> Type {
        let outer = self.any_type(span);
        let cause = Cause {
            span,
            why: Why::Unsaid,
            found: Some(ty.clone()),
            expected: None,
            bound: None,
        };
        self.solver.cause = cause.clone();
        if let Err(mismatch) = self.solver.subsume(&ty, &outer) {
            self.report_mismatch(&cause, &mismatch);
        }
        outer
    }
}
