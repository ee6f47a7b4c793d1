//! Array literals, indexing, slices, ranges, updates.

use super::expr::var_pattern;
use super::operators::variable;
use crate::checker::Checker;
use crate::errors::Why;
use crate::names::Local;
use crate::solver::Flavour;
use crate::tree::{Constraint, Dim, Expr, ExprKind, InPlace, IndexArg, Size, Type};
use almach_base::codes::types as codes;
use almach_base::{Diagnostic, Name, Span, counted};
use almach_nat::Poly;
use almach_syntax::ast;

impl Checker<'_> {
    pub fn infer_array(&mut self, elements: &[ast::Expr], expected: Option<&Type>, span: Span) -> Expr {
        let hint = expected.and_then(|ty| match self.solver.head(ty) {
            Type::Array(_, element) => Some((**element).clone()),
            _ => None,
        });
        let size = Dim::Size(Poly::constant(elements.len() as i64));
        if let Some(element) = hint.filter(|ty| self.solver.open_head(ty).is_none()) {
            let elements: Vec<Expr> = elements
                .iter()
                .map(|e| self.check(e, &element, Why::Text("because of the expected element type")))
                .collect();
            return Expr {
                kind: ExprKind::Array(elements),
                ty: Type::Array(size, Box::new(element)),
                span,
            };
        }
        let elements: Vec<Expr> = elements.iter().map(|element| self.infer(element)).collect();
        let element = match elements.first() {
            None => self.any_type(span),
            Some(first) => self.common_element(first.ty.clone(), &elements),
        };
        if self.solver.open_head(&element).is_some() {
            return Expr {
                kind: ExprKind::Array(elements),
                ty: Type::Array(size, Box::new(element)),
                span,
            };
        }
        let elements = elements
            .into_iter()
            .map(|e| {
                if e.ty == element {
                    return e;
                }
                let why = Why::Text("all elements of an array have one type");
                self.coerce(e, &element, why)
            })
            .collect();
        Expr {
            kind: ExprKind::Array(elements),
            ty: Type::Array(size, Box::new(element)),
            span,
        }
    }

    /// Every element has the type of the first one.
    fn common_element(&mut self, first: Type, elements: &[Expr]) -> Type {
        let first_span = elements.first().map_or(Span::NONE, |e| e.span);
        for other in elements.iter().skip(1) {
            let cause = crate::errors::Cause {
                span: other.span,
                why: Why::Element(first_span),
                found: Some(other.ty.clone()),
                expected: Some(first.clone()),
                bound: None,
            };
            self.solver.cause = cause.clone();
            if let Err(mismatch) = self.solver.subsume(&other.ty, &first) {
                self.report_mismatch(&cause, &mismatch);
                // Reported: the elements are not compared with it again.
                return self.any_type(first_span);
            }
        }
        first
    }

    pub fn infer_range(&mut self, begin: &ast::Expr, end: &ast::Expr, span: Span) -> Expr {
        let begin = self.infer(begin);
        let end = self.infer(end);
        self.constrain(&begin.ty, Constraint::Integer, begin.span, Why::Operator("..<"));
        let end = self.coerce(
            end,
            &begin.ty.clone(),
            Why::Operand {
                operator: "..<",
                other: begin.span,
            },
        );
        let size = match (self.size_of(&begin), self.size_of(&end)) {
            (Some(b), Some(e)) => e - b,
            _ => self.solver.unknown_size(span, "the size of this range"),
        };
        Expr {
            ty: Type::Array(Dim::Size(size), Box::new(begin.ty.clone())),
            kind: ExprKind::Range(Box::new(begin), Box::new(end)),
            span,
        }
    }

    pub fn infer_index(&mut self, array: &ast::Expr, indices: &[ast::IndexArg], span: Span) -> Expr {
        let array = self.infer(array);
        if let ([ast::IndexArg::At(position)], ast::Dialect::Nova) = (indices, self.solver.dialect) {
            return self.infer_index_of_any_rank(array, position, span);
        }
        self.element(array, indices, span)
    }

    fn element(&mut self, array: Expr, indices: &[ast::IndexArg], span: Span) -> Expr {
        let (indices, ty) = self.infer_indices(&array, indices);
        let expr = Expr {
            kind: ExprKind::Index(Box::new(array), indices),
            ty,
            span,
        };
        self.opened(expr, "this element")
    }

    /// In NOVA an index is an integer or, for more dimensions, one value that is a tuple of them.
    fn infer_index_of_any_rank(&mut self, array: Expr, position: &ast::Expr, span: Span) -> Expr {
        let value = self.infer(position);
        let parts = match self.solver.head(&value.ty) {
            Type::Tuple(parts) => Some(parts.len()),
            _ => None,
        };
        let name = Name::from(" index");
        let var = self.program_var(&name, position.span);
        let mark = self.trail.len();
        self.bind_local(
            name.clone(),
            Local::Value {
                var: var.clone(),
                ty: value.ty.clone(),
            },
        );
        let whole = variable(&name, position.span);
        let indices: Vec<ast::IndexArg> = match parts {
            None => vec![ast::IndexArg::At(whole)],
            Some(count) => (0..count as u32)
                .map(|at| ast::ExprKind::Project(Box::new(whole.clone()), at))
                .map(|kind| {
                    ast::IndexArg::At(ast::Expr {
                        kind,
                        span: position.span,
                    })
                })
                .collect(),
        };
        let element = self.element(array, &indices, span);
        self.unbind_to(mark);
        Expr {
            ty: element.ty.clone(),
            kind: ExprKind::Let(
                var_pattern(&var, &value.ty, position.span),
                Box::new(value),
                Box::new(element),
            ),
            span,
        }
    }

    pub fn infer_with(
        &mut self,
        array: &ast::Expr,
        indices: &[ast::IndexArg],
        value: &ast::Expr,
        in_place: ast::InPlace,
        span: Span,
    ) -> Expr {
        let array = self.infer(array);
        let (indices, part) = self.infer_indices(&array, indices);
        let why = Why::Text("because of the array that is updated");
        let value = self.check(value, &part, why);
        Expr {
            ty: array.ty.clone(),
            kind: ExprKind::With {
                array: Box::new(array),
                indices,
                value: Box::new(value),
                in_place: match in_place {
                    ast::InPlace::Required => InPlace::Required,
                    ast::InPlace::WherePossible => InPlace::WherePossible,
                },
            },
            span,
        }
    }

    /// The indices and the type of what they select.
    fn infer_indices(&mut self, array: &Expr, indices: &[ast::IndexArg]) -> (Vec<IndexArg>, Type) {
        let mut ty = array.ty.clone();
        let mut kept: Vec<Dim> = Vec::new();
        let mut typed = Vec::new();
        for (at, index) in indices.iter().enumerate() {
            let Some((dim, element)) = self.array_parts(&ty, array, at, index_span(index)) else {
                return (typed, self.any_type(array.span));
            };
            match index {
                ast::IndexArg::At(expr) => typed.push(IndexArg::At(self.infer_position(expr))),
                ast::IndexArg::Slice {
                    begin,
                    end,
                    bound,
                    step,
                    span,
                } => {
                    let mut part = |e: &Option<ast::Expr>| e.as_ref().map(|e| self.infer_position(e));
                    let (begin, end, step) = (part(begin), part(end), part(step));
                    let size = match bound {
                        ast::SliceBound::Before => self.slice_size(&dim, [&begin, &end, &step]),
                        ast::SliceBound::Count => end.as_ref().and_then(|count| self.size_of(count)),
                    };
                    let size = match size {
                        Some(size) => Dim::Size(size),
                        // Below another slice every row of a jagged array keeps a size of its own.
                        None if dim == Dim::Unknown && !kept.is_empty() => Dim::Unknown,
                        None => Dim::Size(self.solver.unknown_size(*span, "the size of this slice")),
                    };
                    kept.push(size);
                    typed.push(IndexArg::Slice {
                        begin,
                        end,
                        bound: *bound,
                        step,
                        span: *span,
                    });
                }
            }
            ty = if kept.is_empty() {
                self.solver.open(&element, array.span, "this row")
            } else {
                element
            };
        }
        let ty = kept
            .into_iter()
            .rev()
            .fold(ty, |ty, dim| Type::Array(dim, Box::new(ty)));
        (typed, ty)
    }

    fn infer_position(&mut self, expr: &ast::Expr) -> Expr {
        let index = self.infer(expr);
        self.constrain(&index.ty, Constraint::Integer, index.span, Why::Index);
        index
    }

    fn array_parts(&mut self, ty: &Type, array: &Expr, at: usize, span: Span) -> Option<(Dim, Type)> {
        if self.solver.open_head(ty).is_some() {
            let element = self.any_type(array.span);
            let size = self.solver.fresh_size(Flavour::Flexible, array.span);
            let wanted = Type::Array(Dim::Size(size), Box::new(element));
            self.require_same(ty, &wanted, array.span, Why::Unsaid);
        }
        match self.solver.head(ty).clone() {
            Type::Array(dim, element) => Some((dim, *element)),
            _ => {
                let shown = self.show(&array.ty);
                let diagnostic = if at == 0 {
                    Diagnostic::error(
                        codes::NOT_INDEXABLE,
                        array.span,
                        format!("`{shown}` is not an array and cannot be indexed"),
                    )
                    .label(format!("this is `{shown}`"))
                } else {
                    let dimensions = counted(at, "dimension");
                    Diagnostic::error(
                        codes::NOT_INDEXABLE,
                        span,
                        format!("too many indices: `{shown}` has {dimensions}"),
                    )
                    .label("one index too many")
                    .also(array.span, format!("this is `{shown}`"))
                };
                self.report(diagnostic);
                None
            }
        }
    }

    /// The size of a slice whose bounds are sizes; a stride must be a literal.
    fn slice_size(&mut self, dim: &Dim, parts: [&Option<Expr>; 3]) -> Option<Size> {
        let [begin, end, step] = parts;
        let step = match step {
            None => 1,
            Some(step) => self.size_of(step)?.as_constant()?,
        };
        let whole = |dim: &Dim| match dim {
            Dim::Size(size) => Some(size.clone()),
            Dim::Unknown => None,
        };
        if step == -1 && begin.is_none() && end.is_none() {
            return whole(dim);
        }
        if step < 1 {
            return None;
        }
        let begin = match begin {
            None => Poly::zero(),
            Some(begin) => self.size_of(begin)?,
        };
        let end = match end {
            None => whole(dim)?,
            Some(end) => self.size_of(end)?,
        };
        let length = self.solver.size(&(end - begin));
        Some(match step {
            1 => length,
            _ => (length + Poly::constant(step - 1)).div(&Poly::constant(step)),
        })
    }
}

fn index_span(index: &ast::IndexArg) -> Span {
    match index {
        ast::IndexArg::At(expr) => expr.span,
        ast::IndexArg::Slice { span, .. } => *span,
    }
}
