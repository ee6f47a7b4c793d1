//! `map` with a function that gives rows: each is put behind those before it.

use super::places::Places;
use crate::error::{Lowering, bug};
use crate::stage1::bodies::coerce_acc;
use crate::stage1::layout::{Layout, Packed};
use crate::stage1::operations::function;
use crate::stage1::pack::Growing;
use crate::stage1::{Dest, Translator};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Pattern, Type, Var};
use almach_dpia::{Data, Nat, Phrase, build};

impl Translator<'_> {
    /// Each row is computed and put behind those before it.
    pub(super) fn map_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let (size, arrays) = self.arrays(&op.args)?;
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let layouts = self.element_layouts(pattern)?;
        if let Some(places) = Places::of(lambda, &arrays, &layouts) {
            return self.rows_in_places(op, (&size, &arrays), &places, pattern);
        }
        let mut outs = Vec::new();
        for (value, layout) in pattern.values.iter().zip(&layouts) {
            let data = Data::array(size.clone(), layout.data());
            outs.push((self.new_var(&value.var.name, &data), self.growing(layout)));
        }
        let i = self.fresh("i");
        let at = Phrase::Var(i.clone());
        let given = arrays.iter().map(|(array, element)| {
            let value = build::idx(size.clone(), element.data(), array.data.clone(), at.clone());
            array.part(element, value, Packed::No)
        });
        let given = given.collect();
        let mark = self.env.mark();
        let places: Vec<(Phrase, &Layout, &Growing)> = layouts
            .iter()
            .zip(&outs)
            .map(|(layout, (out, growing))| {
                let place = build::idx_acc(size.clone(), layout.data(), out.clone().writer(), at.clone());
                (place, layout, growing)
            })
            .collect();
        let body = self.block(|this| {
            this.bind_params(lambda, given)?;
            match places.as_slice() {
                [(place, Layout::Row(_, element), growing)] if !element.has_rows() => {
                    match this.known_row_size(lambda)? {
                        Some(count) => this.row_in_place(lambda, element, &count, place.clone(), growing),
                        None => this.rows_behind(lambda, places),
                    }
                }
                _ => this.rows_behind(lambda, places),
            }
        })?;
        self.env.rewind_facts(mark);
        self.push(build::for_loop(size, i, body));
        for (value, (out, growing)) in pattern.values.iter().zip(&outs) {
            let pools = self.grown(growing);
            self.values.insert(value.var.clone(), out.clone().reader());
            self.carry(&value.var, pools, Packed::Yes);
        }
        Ok(())
    }

    /// The size of the row that a function gives, where it is known before the function runs.
    fn known_row_size(&self, lambda: &Lambda) -> Lowering<Option<Nat>> {
        let [Type::Array(Dim::Size(size), _)] = lambda.result.types.as_slice() else {
            return Ok(None);
        };
        let computed = |var: &Var| {
            lambda.body.stmts.iter().any(|stmt| {
                let values = stmt.pattern.values.iter().map(|value| &value.var);
                values.chain(&stmt.pattern.context).any(|bound| bound == var)
            })
        };
        let context = lambda.body.context.iter();
        let late = context
            .clone()
            .any(|atom| matches!(atom, Atom::Var(var) if computed(var)));
        let row = lambda.body.values.first();
        let row = row.and_then(|atom| self.bound_type(&lambda.body, atom));
        if late || row.is_none_or(|ty| ty.mentions(&computed)) {
            return Ok(None);
        }
        let mut sizes = Vec::new();
        for atom in context {
            match self.env.size(atom) {
                Ok(size) => sizes.push(size),
                Err(error) => return bug(error.message, self.span),
            }
        }
        let given = |var: &Var| {
            let at = lambda.result.context.iter().position(|bound| bound == var)?;
            sizes.get(at).cloned()
        };
        Ok(Some(self.nat(&almach_core::types::substitute_size(size, &given))))
    }

    /// A row whose size is known before it is computed is computed where it belongs.
    fn row_in_place(
        &mut self,
        lambda: &Lambda,
        element: &Layout,
        count: &Nat,
        place: Phrase,
        growing: &Growing,
    ) -> Lowering<()> {
        let (Some(from), [sink]) = (lambda.body.values.first(), growing.sinks.as_slice()) else {
            return bug("a row that is no array", self.span);
        };
        let to = Data::array(count.clone(), element.data());
        self.place_row(sink, element, count, place, |this, room| {
            // What the body calls its sizes, and what the pool does, are one.
            let from = match this.bound_type(&lambda.body, from) {
                Some(ty) => this.data(&ty)?,
                None => to.clone(),
            };
            let room = coerce_acc(&from, &to, room);
            this.body_into(&lambda.body, Dest::Each(vec![room]))
        })
    }

    /// The type of what a body gives, before its statements are done.
    pub(super) fn bound_type(&self, body: &Body, atom: &Atom) -> Option<Type> {
        let bound = body.stmts.iter().flat_map(|stmt| &stmt.pattern.values);
        match bound
            .into_iter()
            .find(|value| *atom == Atom::Var(value.var.clone()))
        {
            Some(value) => Some(value.ty.clone()),
            None => self.env.atom_type(atom).ok(),
        }
    }

    /// What a function gives, behind what it gave before.
    fn rows_behind(&mut self, lambda: &Lambda, places: Vec<(Phrase, &Layout, &Growing)>) -> Lowering<()> {
        let values = self.body_values(&lambda.body)?;
        for (value, (place, layout, growing)) in values.iter().zip(places) {
            let value = self.convert(value, layout)?;
            let written = self.block(|this| this.write_held(&value, place, &growing.sinks))?;
            self.push(written);
        }
        Ok(())
    }
}
