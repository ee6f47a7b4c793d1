//! Indexing, slices and updates. Core's slices have begin, count and step; what the user left out is filled in here.

use crate::conform::Sizes;
use crate::emit::i64_atom;
use crate::errors::bug;
use crate::expr::accepted;
use crate::statics::{Env, Static};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Atom, Dim, Exp, InPlace, SlicePart, Type};
use almach_prim::{Annotation, Prim};
use almach_types::tree::{self, Expr, IndexArg, SliceBound};
use almach_value::{BinOp, Scalar, UnOp};

/// An index with its parts evaluated, none filled in.
enum Part {
    At(Atom),
    Slice {
        begin: Option<Atom>,
        end: Option<Atom>,
        bound: SliceBound,
        step: Option<Atom>,
        span: Span,
    },
}

impl<'a> Elaborator<'a> {
    pub(crate) fn index_expr(
        &mut self,
        array: &'a Expr,
        indices: &'a [IndexArg],
        ty: &tree::Type,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let array = self.expr_atom(array, env)?;
        let parts = self.index_parts(indices, env)?;
        let at: Option<Vec<Atom>> = parts.iter().map(only_at).collect();
        if let Some(indices) = at {
            return self.emit_value(Exp::Index { array, indices }, "x", span);
        }
        let (array, parts) = self.rows_first(array, parts, span)?;
        let parts = self.slice_parts(&array, parts, span)?;
        let slice = self.emit_value(Exp::Slice { array, parts }, "slice", span)?;
        let ty = self.close(ty, env, span)?;
        self.conform(slice, &ty, Sizes::Checked, span)
    }

    pub(crate) fn with_expr(
        &mut self,
        array: &'a Expr,
        indices: &'a [IndexArg],
        value: &'a Expr,
        in_place: tree::InPlace,
        env: &Env<'a>,
        span: Span,
    ) -> Res<Static<'a>> {
        let array = self.expr_atom(array, env)?;
        let parts = self.index_parts(indices, env)?;
        let value = self.expr_atom(value, env)?;
        let parts = self.slice_parts(&array, parts, span)?;
        let whole = self.type_of(&array, span)?;
        let part = self.part_type(&whole, &parts, span)?;
        let own = self.type_of(&value, span)?;
        let value = self.coerce(value, &accepted(&own, &part), span)?;
        let in_place = match in_place {
            tree::InPlace::Required => InPlace::Required,
            tree::InPlace::WherePossible => InPlace::WherePossible,
        };
        let exp = Exp::Update {
            array,
            parts,
            value,
            in_place,
        };
        self.emit_value(exp, "updated", span)
    }

    fn index_parts(&mut self, indices: &'a [IndexArg], env: &Env<'a>) -> Res<Vec<Part>> {
        let mut parts = Vec::with_capacity(indices.len());
        for index in indices {
            parts.push(match index {
                IndexArg::At(at) => Part::At(self.expr_atom(at, env)?),
                IndexArg::Slice {
                    begin,
                    end,
                    bound,
                    step,
                    span,
                } => Part::Slice {
                    begin: self.bound(begin.as_ref(), env)?,
                    end: self.bound(end.as_ref(), env)?,
                    bound: *bound,
                    step: self.bound(step.as_ref(), env)?,
                    span: *span,
                },
            });
        }
        Ok(parts)
    }

    /// A bound of a slice, as an `i64`.
    fn bound(&mut self, bound: Option<&'a Expr>, env: &Env<'a>) -> Res<Option<Atom>> {
        let Some(expr) = bound else {
            return Ok(None);
        };
        let atom = self.expr_atom(expr, env)?;
        match self.type_of(&atom, expr.span)? {
            Type::Scalar(ty) => self.as_i64(atom, ty, expr.span).map(Some),
            other => Err(bug(expr.span, format!("a bound of type {other:?}"))),
        }
    }

    /// A slice of one jagged row: the row is taken out first, so that its size has a name.
    fn rows_first(&mut self, array: Atom, mut parts: Vec<Part>, span: Span) -> Res<(Atom, Vec<Part>)> {
        let mut ty = self.type_of(&array, span)?;
        let mut indices = Vec::new();
        for part in &parts {
            let Type::Array(dim, element) = ty else {
                break;
            };
            match (part, &dim) {
                (Part::At(at), _) => indices.push(at.clone()),
                (Part::Slice { .. }, Dim::Jagged) if !indices.is_empty() => {
                    let rest = parts.split_off(indices.len());
                    let row = self.emit(Exp::Index { array, indices }, "row", span)?;
                    return self.rows_first(row, rest, span);
                }
                (Part::Slice { .. }, _) => break,
            }
            ty = *element;
        }
        Ok((array, parts))
    }

    /// Slices with everything filled in.
    fn slice_parts(&mut self, array: &Atom, parts: Vec<Part>, span: Span) -> Res<Vec<SlicePart>> {
        let mut ty = self.type_of(array, span)?;
        let mut so_far: Vec<Atom> = Vec::new();
        let mut filled = Vec::with_capacity(parts.len());
        for part in parts {
            let Type::Array(dim, element) = ty else {
                return Err(bug(span, "more indices than dimensions"));
            };
            filled.push(match part {
                Part::At(at) => {
                    so_far.push(at.clone());
                    SlicePart::At(at)
                }
                Part::Slice {
                    begin,
                    end: Some(count),
                    bound: SliceBound::Count,
                    step,
                    span,
                } => {
                    let begin = begin.unwrap_or_else(|| i64_atom(0));
                    let step = step.unwrap_or_else(|| i64_atom(1));
                    self.step_is_not_zero(&step, span)?;
                    SlicePart::Slice { begin, count, step }
                }
                Part::Slice {
                    begin,
                    end,
                    bound: _,
                    step,
                    span,
                } => {
                    let size = match &dim {
                        Dim::Size(size) => self.size_atom(size, span)?,
                        Dim::Jagged => {
                            let row = Exp::Index {
                                array: array.clone(),
                                indices: so_far.clone(),
                            };
                            let row = self.emit(row, "row", span)?;
                            self.emit_op(Prim::Length, Annotation::NONE, vec![row], span)?
                        }
                    };
                    self.fill_slice(begin, end, step, size, span)?
                }
            });
            ty = *element;
        }
        Ok(filled)
    }

    fn fill_slice(
        &mut self,
        begin: Option<Atom>,
        end: Option<Atom>,
        step: Option<Atom>,
        size: Atom,
        span: Span,
    ) -> Res<SlicePart> {
        let step = step.unwrap_or_else(|| i64_atom(1));
        match step {
            Atom::Const(Scalar::I64(value)) if value > 0 => self.upwards(begin, end, size, step, span),
            Atom::Const(Scalar::I64(value)) if value < 0 => self.downwards(begin, end, size, step, span),
            _ => self.either_way(begin, end, size, step, span),
        }
    }

    fn upwards(
        &mut self,
        begin: Option<Atom>,
        end: Option<Atom>,
        size: Atom,
        step: Atom,
        span: Span,
    ) -> Res<SlicePart> {
        let begin = begin.unwrap_or_else(|| i64_atom(0));
        let end = end.unwrap_or(size);
        let extent = self.difference(end, begin.clone(), span)?;
        let count = self.count(extent, step.clone(), span)?;
        Ok(SlicePart::Slice { begin, count, step })
    }

    fn downwards(
        &mut self,
        begin: Option<Atom>,
        end: Option<Atom>,
        size: Atom,
        step: Atom,
        span: Span,
    ) -> Res<SlicePart> {
        let begin = match begin {
            Some(begin) => begin,
            None => self.difference(size, i64_atom(1), span)?,
        };
        let end = end.unwrap_or_else(|| i64_atom(-1));
        let extent = self.difference(begin.clone(), end, span)?;
        let positive = match &step {
            Atom::Const(Scalar::I64(value)) => i64_atom(value.wrapping_neg()),
            _ => self.emit(Exp::Unary(UnOp::Neg, step.clone()), "t", span)?,
        };
        let count = self.count(extent, positive, span)?;
        Ok(SlicePart::Slice { begin, count, step })
    }

    /// Only running the program tells which way it goes.
    fn either_way(
        &mut self,
        begin: Option<Atom>,
        end: Option<Atom>,
        size: Atom,
        step: Atom,
        span: Span,
    ) -> Res<SlicePart> {
        self.step_is_not_zero(&step, span)?;
        let up = self.emit_binary(BinOp::Gt, step.clone(), i64_atom(0), span)?;
        let of = |part: SlicePart| match part {
            SlicePart::Slice { begin, count, .. } => Ok(Static::Tuple(
                [Static::Dynamic(begin), Static::Dynamic(count)].into(),
            )),
            SlicePart::At(_) => Err(bug(span, "a slice became an index")),
        };
        let (b, e, n, s) = (begin.clone(), end.clone(), size.clone(), step.clone());
        let joined = self.branch_on(
            up,
            span,
            |this| this.upwards(b, e, n, s, span).and_then(of),
            |this| this.downwards(begin, end, size, step.clone(), span).and_then(of),
        )?;
        let begin = self.component(&joined, 0, span)?;
        let count = self.component(&joined, 1, span)?;
        Ok(SlicePart::Slice {
            begin: self.atom(&begin, span)?,
            count: self.atom(&count, span)?,
            step,
        })
    }

    /// A check, unless the step is known.
    fn step_is_not_zero(&mut self, step: &Atom, span: Span) -> Res<()> {
        if matches!(step, Atom::Const(Scalar::I64(value)) if *value != 0) {
            return Ok(());
        }
        let moves = self.emit_binary(BinOp::Ne, step.clone(), i64_atom(0), span)?;
        let check = Exp::Assert {
            condition: moves,
            text: "the step of a slice is not zero".into(),
        };
        self.emit(check, "checked", span)?;
        Ok(())
    }

    fn difference(&mut self, left: Atom, right: Atom, span: Span) -> Res<Atom> {
        if let (Ok(left), Ok(right)) = (self.builder.size_of(&left), self.builder.size_of(&right)) {
            let difference = left - right;
            return self.size_atom(&difference, span);
        }
        self.emit_binary(BinOp::Sub, left, right, span)
    }

    /// How many steps fit into an extent: `ceil(extent / step)`. A negative extent stays negative: a slice that ends
    /// before it begins has a negative size, which is an error when the program runs.
    fn count(&mut self, extent: Atom, step: Atom, span: Span) -> Res<Atom> {
        if step == i64_atom(1) {
            return Ok(extent);
        }
        let size = self.size_of(&Static::Dynamic(extent.clone()), span)?;
        let more = self.difference(step.clone(), i64_atom(1), span)?;
        if self.builder.env.is_not_negative(&size) {
            let sum = self.emit_binary(BinOp::Add, extent, more, span)?;
            return self.emit_binary(BinOp::Div, sum, step, span);
        }
        let positive = self.emit_binary(BinOp::Max, extent.clone(), i64_atom(0), span)?;
        let sum = self.emit_binary(BinOp::Add, positive, more, span)?;
        let count = self.emit_binary(BinOp::Div, sum, step, span)?;
        self.emit_binary(BinOp::Min, count, extent, span)
    }

    /// The type of the part that an update replaces.
    fn part_type(&self, ty: &Type, parts: &[SlicePart], span: Span) -> Res<Type> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(ty.clone());
        };
        let Type::Array(_, element) = ty else {
            return Err(bug(span, "more indices than dimensions"));
        };
        let inner = self.part_type(element, rest, span)?;
        match first {
            SlicePart::At(_) => Ok(inner),
            SlicePart::Slice { count, .. } => {
                let size = self.size_of(&Static::Dynamic(count.clone()), span)?;
                Ok(Type::array(size, inner))
            }
        }
    }
}

fn only_at(part: &Part) -> Option<Atom> {
    match part {
        Part::At(atom) => Some(atom.clone()),
        Part::Slice { .. } => None,
    }
}
