//! Functions that only running the program chooses: `(if c then f else g) x`.
//!
//! ```text
//! if c then \x -> x + a else \x -> x * b       if c then F0 a else F1 b
//! ```
//!
//! Defunctionalisation, for these functions only: a sum with one constructor per function that may be chosen, holding
//! what it captured and what is not in scope anyway; applying it is a `case`. An array captured by a constructor goes
//! with its sizes, so that it comes back as regular as it was.

use crate::errors::bug;
use crate::join::{Branch, Join, Merged, leaf_value};
use crate::statics::{Alternative, Chosen, Slot, Static};
use crate::template::{Instantiation, Leaf, Template};
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
            let outside = match leaf {
                Leaf::Atom(Atom::Var(var)) => join.since.is_after(var),
                Leaf::Atom(Atom::Const(_)) => true,
                Leaf::Size(size) => size.occurrences().all(|var| join.since.is_after(var)),
            };
            slots.push(match same && outside {
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

    /// The sum for these alternatives. Choices with the same fields share one.
    fn choice_type(&mut self, alternatives: &[Alternative<'a>]) -> DataId {
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

    /// Applies a chosen function: a `case` on which it is.
    pub(crate) fn apply_chosen(
        &mut self,
        chosen: &Chosen<'a>,
        args: &[Static<'a>],
        span: Span,
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
                this.apply(&function, args.to_vec(), span)
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
