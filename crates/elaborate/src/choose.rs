//! Functions that only running the program chooses: `(if c then f else g) x`.
//!
//! ```text
//! if c then \x -> x + a else \x -> x * b       if c then F0 a else F1 b
//! ```
//!
//! Defunctionalisation, for these functions only: a sum with one constructor per function that may be chosen, holding
//! what it captured and what is not in scope anyway; applying it is a `case`. An array captured by a constructor goes
//! with its sizes, so that it comes back as regular as it was.

use crate::emit::Moment;
use crate::errors::bug;
use crate::join::{Branch, Join, Merged, leaf_value};
use crate::statics::{Alternative, Chosen, Function, Slot, Static};
use crate::template::{Abstraction, Instantiation, Leaf, Template};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Arm, Atom, ConstructorDef, DataDef, DataId, Dim, Exp, Param, Recursive, Size, Type, Var};
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    pub(crate) fn merge_choice(
        &mut self,
        templates: Vec<Template<'a>>,
        leaves: Vec<Vec<Leaf>>,
        join: &mut Join,
        span: Span,
    ) -> Res<Merged<'a>> {
        let mut distinct: Vec<Template<'a>> = Vec::new();
        let mut which = Vec::with_capacity(templates.len());
        for template in templates {
            let known = distinct.iter().position(|other| *other == template);
            which.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push(template);
            }
        }
        let mut alternatives = Vec::with_capacity(distinct.len());
        for (at, template) in distinct.into_iter().enumerate() {
            let of_template = leaves.iter().zip(&which).filter(|(_, which)| **which == at);
            let rows: Vec<&Vec<Leaf>> = of_template.map(|(leaves, _)| leaves).collect();
            let slots = self.slots(&rows, join, span)?;
            alternatives.push(Alternative {
                template: Rc::new(template),
                slots: slots.into(),
            });
        }
        let data = self.choice_type(&alternatives);
        let mut tags = Vec::with_capacity(which.len());
        for (at, stmts) in join.bodies.iter_mut().enumerate() {
            let (Some(which), Some(leaves)) = (which.get(at), leaves.get(at)) else {
                return Err(bug(span, "a branch without a function"));
            };
            let Some(alternative) = alternatives.get(*which) else {
                return Err(bug(span, "a function without an alternative"));
            };
            let tag = self.resume(stmts, |this| {
                this.pack(data, *which, &alternative.slots, leaves, span)
            })?;
            tags.push(tag);
        }
        let tag = join.add(Type::Data(data), tags);
        Ok(Merged::Chosen {
            data,
            tag,
            alternatives: alternatives.into(),
        })
    }

    /// Where the captured values of one alternative are kept.
    fn slots(&mut self, rows: &[&Vec<Leaf>], join: &Join, span: Span) -> Res<Vec<Slot>> {
        let Some(first) = rows.first() else {
            return Ok(Vec::new());
        };
        let mut slots = Vec::with_capacity(first.len());
        for (at, leaf) in first.iter().enumerate() {
            let same = rows.iter().all(|row| row.get(at) == Some(leaf));
            slots.push(match same && is_outside(leaf, join.since) {
                true => Slot::Outer(leaf.clone()),
                false => Slot::Packed(self.packed_type(leaf, span)?),
            });
        }
        Ok(slots)
    }

    /// A captured value's type without its sizes.
    fn packed_type(&self, leaf: &Leaf, span: Span) -> Res<Type> {
        match leaf {
            Leaf::Atom(atom) => {
                let ty = self.type_of(atom, span)?;
                Ok(ty.map_dims(&mut |dim| match dim {
                    Dim::Size(_) => Dim::Size(Size::zero()),
                    Dim::Jagged => Dim::Jagged,
                }))
            }
            Leaf::Size(_) => Ok(Type::I64),
        }
    }

    /// The functions a value may be, as far as the moment is concerned: what was bound before needs no slot.
    pub(crate) fn alternatives_of(
        &mut self,
        value: &Static<'a>,
        since: Moment,
        span: Span,
    ) -> Res<Vec<Alternative<'a>>> {
        let slot_of = |this: &Self, leaf: &Leaf| match is_outside(leaf, since) {
            true => Ok(Slot::Outer(leaf.clone())),
            false => this.packed_type(leaf, span).map(Slot::Packed),
        };
        if let Static::Function(function) = value
            && let Function::Chosen(chosen) = &**function
        {
            let mut found = Vec::with_capacity(chosen.alternatives.len());
            for alternative in chosen.alternatives.iter() {
                let slots = alternative.slots.iter().map(|slot| match slot {
                    Slot::Outer(leaf) => slot_of(self, leaf),
                    Slot::Packed(_) => Ok(slot.clone()),
                });
                found.push(Alternative {
                    template: alternative.template.clone(),
                    slots: slots.collect::<Res<Rc<[Slot]>>>()?,
                });
            }
            return Ok(found);
        }
        let mut parts = Abstraction::default();
        let template = Rc::new(self.template(value, &mut parts));
        let slots = parts.leaves.iter().map(|leaf| slot_of(self, leaf));
        Ok(vec![Alternative {
            template,
            slots: slots.collect::<Res<Rc<[Slot]>>>()?,
        }])
    }

    /// The same slots, all of them fields.
    pub(crate) fn packed_slots(&self, slots: &[Slot], span: Span) -> Res<Rc<[Slot]>> {
        let packed = slots.iter().map(|slot| match slot {
            Slot::Outer(leaf) => self.packed_type(leaf, span).map(Slot::Packed),
            Slot::Packed(_) => Ok(slot.clone()),
        });
        packed.collect()
    }

    /// A function as a value of a sum; none where it is not among the alternatives.
    pub(crate) fn pack_function(
        &mut self,
        value: &Static<'a>,
        data: DataId,
        alternatives: &[Alternative<'a>],
        span: Span,
    ) -> Res<Option<Atom>> {
        if let Static::Function(function) = value
            && let Function::Chosen(chosen) = &**function
        {
            if chosen.data == data && *chosen.alternatives == *alternatives {
                return Ok(Some(chosen.tag.clone()));
            }
            return self.repack(chosen, data, alternatives, span);
        }
        let mut parts = Abstraction::default();
        let template = self.template(value, &mut parts);
        let Some(which) = alternatives.iter().position(|it| *it.template == template) else {
            return Ok(None);
        };
        let Some(alternative) = alternatives.get(which) else {
            return Ok(None);
        };
        let fits = alternative
            .slots
            .iter()
            .zip(&parts.leaves)
            .all(|(slot, leaf)| match slot {
                Slot::Outer(outer) => outer == leaf,
                Slot::Packed(_) => true,
            });
        match fits {
            true => self
                .pack(data, which, &alternative.slots, &parts.leaves, span)
                .map(Some),
            false => Ok(None),
        }
    }

    /// A choice among some functions as one among others.
    fn repack(
        &mut self,
        chosen: &Chosen<'a>,
        data: DataId,
        alternatives: &[Alternative<'a>],
        span: Span,
    ) -> Res<Option<Atom>> {
        // Whether each is known is found out first, so that nothing is emitted in vain.
        for own in chosen.alternatives.iter() {
            if !alternatives
                .iter()
                .any(|it| it.template == own.template && accepts(&it.slots, &own.slots))
            {
                return Ok(None);
            }
        }
        let tag = self.case_chosen(chosen, span, |this, function| {
            let packed = this.pack_function(function, data, alternatives, span)?;
            let packed = packed.ok_or_else(|| bug(span, "a function that was known is not"))?;
            Ok(Static::Dynamic(packed))
        })?;
        self.atom(&tag, span).map(Some)
    }

    /// The sum for these alternatives. Choices with the same fields share one.
    pub(crate) fn choice_type(&mut self, alternatives: &[Alternative<'a>]) -> DataId {
        let constructors: Vec<Vec<Type>> = alternatives
            .iter()
            .map(|alternative| alternative.slots.iter().flat_map(fields_of).collect())
            .collect();
        if let Some(known) = self.choices.get(&constructors) {
            return *known;
        }
        let id = DataId(self.builder.signatures.data.len() as u32);
        let name = self.unused_data_name("Function".to_owned());
        let defs = constructors
            .iter()
            .enumerate()
            .map(|(at, fields)| ConstructorDef {
                name: format!("F{at}").into(),
                fields: fields.clone(),
            });
        let def = DataDef {
            name,
            recursive: Recursive::No,
            constructors: defs.collect(),
            parts: Vec::new(),
        };
        self.builder.signatures.data.push(def);
        self.choices.insert(constructors, id);
        id
    }

    fn pack(
        &mut self,
        data: DataId,
        constructor: usize,
        slots: &[Slot],
        leaves: &[Leaf],
        span: Span,
    ) -> Res<Atom> {
        let mut fields = Vec::new();
        for (slot, leaf) in slots.iter().zip(leaves) {
            if let Slot::Packed(_) = slot {
                let atom = self.atom(&leaf_value(leaf), span)?;
                let ty = self.type_of(&atom, span)?;
                let mut sizes = Vec::new();
                ty.for_each_dim(&mut |dim| {
                    if let Dim::Size(size) = dim {
                        sizes.push(size.clone());
                    }
                });
                for size in &sizes {
                    fields.push(self.size_atom(size, span)?);
                }
                fields.push(self.coerce(atom, &rows_jagged(&ty), span)?);
            }
        }
        let exp = Exp::Construct {
            data,
            constructor: constructor as u32,
            fields,
        };
        self.emit(exp, "chosen", span)
    }

    /// Applies a chosen function.
    pub(crate) fn apply_chosen(
        &mut self,
        chosen: &Chosen<'a>,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        self.case_chosen(chosen, span, |this, function| {
            this.apply(function, args.to_vec(), span)
        })
    }

    /// A `case` on which function a choice is.
    fn case_chosen(
        &mut self,
        chosen: &Chosen<'a>,
        span: Span,
        mut inside: impl FnMut(&mut Self, &Static<'a>) -> Res<Static<'a>>,
    ) -> Res<Static<'a>> {
        let since = self.moment();
        let mut branches = Vec::with_capacity(chosen.alternatives.len());
        let mut heads = Vec::with_capacity(chosen.alternatives.len());
        for alternative in chosen.alternatives.iter() {
            let mut context = Vec::new();
            let mut params = Vec::new();
            let body = self.in_body(|this| {
                let leaves = this.unpack(&alternative.slots, &mut context, &mut params, span)?;
                let function = Instantiation::new(&leaves).value(&alternative.template);
                inside(this, &function)
            })?;
            branches.push(Branch::of(body));
            heads.push((context, params));
        }
        let scrutinee = chosen.tag.clone();
        self.joined(branches, since, span, |bodies, result| {
            let arms = heads.into_iter().zip(bodies).enumerate();
            let arms = arms.map(|(at, ((context, fields), body))| Arm {
                constructor: at as u32,
                context,
                fields,
                body,
            });
            Some(Exp::Case {
                scrutinee,
                arms: arms.collect(),
                default: None,
                result,
            })
        })
    }

    fn unpack(
        &mut self,
        slots: &[Slot],
        context: &mut Vec<Var>,
        params: &mut Vec<Param>,
        span: Span,
    ) -> Res<Vec<Static<'a>>> {
        let mut leaves = Vec::with_capacity(slots.len());
        for slot in slots {
            let ty = match slot {
                Slot::Outer(leaf) => {
                    leaves.push(leaf_value(leaf));
                    continue;
                }
                Slot::Packed(ty) => ty,
            };
            let mut fields = fields_of(slot).into_iter();
            let value_type = fields.next_back().unwrap_or_else(Type::unit);
            let sizes: Vec<Var> = fields.map(|_| self.builder.size_var("n")).collect();
            for var in &sizes {
                params.push(Param {
                    var: var.clone(),
                    ty: Type::I64,
                });
            }
            let builder = &mut self.builder;
            let opened = value_type.open(&mut || {
                let var = builder.size_var("rows");
                context.push(var.clone());
                var
            });
            let param = self.builder.param("captured", opened);
            let atom = Atom::Var(param.var.clone());
            params.push(param);
            let mut names = sizes.into_iter();
            let regular = ty.map_dims(&mut |dim| match (dim, names.len()) {
                (Dim::Size(_), 1..) => names.next().map_or(Dim::Jagged, |var| Dim::Size(Size::var(var))),
                (Dim::Size(_) | Dim::Jagged, _) => dim.clone(),
            });
            leaves.push(Static::Dynamic(self.coerce(atom, &regular, span)?));
        }
        Ok(leaves)
    }
}

fn is_outside(leaf: &Leaf, since: Moment) -> bool {
    match leaf {
        Leaf::Atom(Atom::Var(var)) => since.is_after(var),
        Leaf::Atom(Atom::Const(_)) => true,
        Leaf::Size(size) => size.occurrences().all(|var| since.is_after(var)),
    }
}

/// Whether values kept in one way can be kept in another.
fn accepts(slots: &[Slot], given: &[Slot]) -> bool {
    slots.iter().zip(given).all(|(slot, given)| match slot {
        Slot::Outer(_) => slot == given,
        Slot::Packed(_) => true,
    })
}

/// The fields that hold a captured value: its sizes, then itself.
fn fields_of(slot: &Slot) -> Vec<Type> {
    let Slot::Packed(ty) = slot else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    ty.for_each_dim(&mut |dim| {
        if matches!(dim, Dim::Size(_)) {
            fields.push(Type::I64);
        }
    });
    fields.push(ty.map_dims(&mut |_| Dim::Jagged));
    fields
}

/// The same type with every row jagged: what a constructor's field accepts.
fn rows_jagged(ty: &Type) -> Type {
    match ty {
        Type::Array(dim, element) => {
            Type::Array(dim.clone(), Box::new(element.map_dims(&mut |_| Dim::Jagged)))
        }
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(rows_jagged).collect()),
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => ty.clone(),
    }
}
