//! Long rows of a map that gives rows as long as those it is given: each is made by all threads, where it belongs among the elements of all rows.
//!
//! ```text
//! let yss: [n][?]f32 = map (\{k} xs ->      let short: [n][?]f32 = map (\{k} xs -> if k > 65536 then replicate k 0.0 else … in {k} ys) xss
//!   … in {k} ys) xss                   =>  let {t} flat: [t]f32 = flatten short
//!                                          let all: [t]f32 = if longest > 65536
//!                                            then loop (acc = flat) for j < c do
//!                                              let i = long[j].0
//!                                              …
//!                                              in acc with [begins[i]:k] = ys
//!                                            else flat
//!                                          let yss: [n][?]f32 = unflatten offsets all
//! ```

use super::{OverRows, Sharer, applied, nothing};
use crate::write::int;
use almach_core::build::op as plain_op;
use almach_core::rows::row_of_own_length;
use almach_core::typing::{TypeError, Typed};
use almach_core::{
    Atom, Body, Dim, Exp, InPlace, Lambda, Loop, LoopForm, Param, ResultType, Size, SlicePart, Type,
};
use almach_prim::Prim;
use almach_value::BinOp;

/// Where a function of a `map` gives a row whose place is known before it is computed: the row it is given that is as long, by its number in the context. Rows in
/// tuples, and rows of rows, are put one behind the other (`lower/src/stage1/jagged/places.rs`).
pub(crate) fn row_with_a_place(function: &Lambda) -> Option<usize> {
    let own = |size: &Size| function.context.iter().any(|own| *size == Size::var(own.clone()));
    let is_row_or_none = |param: &Param| match &param.ty {
        Type::Array(Dim::Size(size), _) if own(size) => true,
        other => !other.mentions(&|var| function.context.contains(var)),
    };
    let mut is_flat = true;
    for ty in &function.result.types {
        ty.for_each_dim(&mut |dim| is_flat &= matches!(dim, Dim::Size(_)));
    }
    match is_flat && function.params.iter().all(is_row_or_none) {
        true => row_of_own_length(function),
        false => None,
    }
}

impl Sharer<'_> {
    /// The function, which gives zeros for long rows.
    pub(super) fn short_row(&mut self, over: &OverRows<'_>, row: &Type) -> Typed<Lambda> {
        let (span, long) = (over.span, self.long);
        let length = Atom::Var(over.length.clone());
        let Type::Array(_, element) = row else {
            return Ok(over.function.clone());
        };
        let then = self.builder.body(|builder| {
            let zero = nothing(builder, element, span)?;
            let zeros = plain_op(Prim::Replicate, vec![], vec![length.clone(), zero]);
            let zeros = builder.bind(zeros, "zeros", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![zeros]))
        })?;
        let made = Type::array(Size::var(over.length.clone()), (**element).clone());
        let body = self.builder.body(|builder| {
            let is_long = Exp::Binary(BinOp::Gt, length.clone(), int(long));
            let is_long = builder.bind(is_long, "is_long", span)?;
            let chosen = Exp::If {
                condition: is_long,
                then,
                otherwise: Body {
                    context: Vec::new(),
                    ..over.function.body.clone()
                },
                result: ResultType::one(made),
            };
            let chosen = builder.bind(chosen, "given", span)?;
            Ok::<_, TypeError>((vec![length], vec![chosen]))
        })?;
        Ok(Lambda {
            body,
            ..over.function.clone()
        })
    }

    /// All rows: the short ones as they are, and long ones in their places.
    pub(super) fn rows_in_places(
        &mut self,
        over: &OverRows<'_>,
        count: &Size,
        bounds: [Atom; 2],
        (short, some): (Atom, Atom),
    ) -> Typed<Exp> {
        let span = over.span;
        let offsets = plain_op(Prim::Segments, vec![], vec![short.clone()]);
        let offsets = self.bind(offsets, "offsets", span)?;
        let flat = self.bind(plain_op(Prim::Flatten, vec![], vec![short]), "flat", span)?;
        let ty = self.builder.type_of(&flat)?;
        self.builder.enter();
        let begins = bounds[1].clone();
        let all = self.which_are_long(over, count, bounds);
        let all = all.and_then(|long| self.written_in_turn(over, (&long, &begins), (&flat, &ty)));
        let all = all.and_then(|all| self.bind(all, "all", span));
        let then = self.builder.leave(Vec::new(), all.clone().into_iter().collect());
        all?;
        let choice = Exp::If {
            condition: some,
            then,
            otherwise: Body {
                stmts: Vec::new(),
                context: Vec::new(),
                values: vec![flat],
            },
            result: ResultType::one(ty),
        };
        let all = self.bind(choice, "all", span)?;
        Ok(plain_op(Prim::Unflatten, vec![], vec![offsets, all]))
    }

    /// A loop over the long rows, which writes each where it begins.
    fn written_in_turn(
        &mut self,
        over: &OverRows<'_>,
        (long, begins): (&Atom, &Atom),
        (flat, ty): (&Atom, &Type),
    ) -> Typed<Exp> {
        let span = over.span;
        let count = self.builder.length(long, span)?;
        let acc = self.builder.param("acc", ty.clone());
        let index = self.builder.param("j", Type::I64);
        let array = Atom::Var(acc.var.clone());
        let element = |array: &Atom, at: Atom| Exp::Index {
            array: array.clone(),
            indices: vec![at],
        };
        let body = self.builder.body(|builder| {
            let pair = builder.bind(element(long, Atom::Var(index.var.clone())), "pair", span)?;
            let at = builder.bind(Exp::Project(pair, 0), "i", span)?;
            let begin = builder.bind(element(begins, at.clone()), "begin", span)?;
            let value = applied(builder, over, &at)?;
            let count = match builder.type_of(&value)? {
                Type::Array(Dim::Size(size), _) => builder.size_atom(&size, span)?,
                _ => int(0),
            };
            let place = SlicePart::Slice {
                begin,
                count,
                step: int(1),
            };
            let update = Exp::Update {
                array,
                parts: vec![place],
                value,
                in_place: InPlace::WherePossible,
            };
            let next = builder.bind(update, "next", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![next]))
        })?;
        Ok(Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: vec![(acc, flat.clone())],
            form: LoopForm::For { index, bound: count },
            body,
        })))
    }
}
