//! Calls that threads share, where they give arrays: each thread puts what it made in a cell, and afterwards the arrays are put one behind the other.
//!
//! ```text
//! data Made = Made [?]i32 | More Made
//!
//! let rss: [c][?]i32 = map sort xss     =>     let cells: [c]Made = map (\{k} xs -> let {m} r = sort {k} (xs) in Made r) xss
//!                                              let rss: [c][?]i32 = map@seq (\cell -> case cell of Made r -> r | More _ -> []) cells
//! ```
//!
//! Where a row begins is not known before those in front of it are done, so a map that gives rows runs in order. Cells of recursive types are in a store
//! that all threads add to, in any order. It lives as long as the call of the whole program: calls in loops are not divided where they give arrays.

use super::{Lift, broken, in_order};
use crate::divide::slots::Slot;
use almach_base::Name;
use almach_core::build::op;
use almach_core::typing::Typed;
use almach_core::{Arm, Atom, ConstructorDef, DataDef, DataId, Exp, Lambda, Recursive, Type};
use almach_prim::Prim;

impl Lift<'_> {
    /// `map` of a function of calls, which gives these.
    pub(super) fn shared(
        &mut self,
        gives: &[Slot],
        arrays: &[Atom],
        make: impl FnOnce(&mut Self, Vec<Atom>) -> Typed<Vec<Atom>>,
    ) -> Typed<Vec<Atom>> {
        let params = self.params.clone();
        if !gives.iter().any(|slot| matches!(slot, Slot::Row(_))) {
            let each = self.each(&params, gives, make)?;
            return self.bind_all(op(Prim::Map, vec![each], arrays.to_vec()), "result");
        }
        let data = self.cell_type(gives);
        let cell = [Slot::One(Type::Data(data))];
        let each = self.each(&params, &cell, |lift, values| {
            let made = make(lift, values)?;
            let cell = Exp::Construct {
                data,
                constructor: 0,
                fields: made,
            };
            lift.bind_all(cell, "cell")
        })?;
        let cells = self.bind_all(op(Prim::Map, vec![each], arrays.to_vec()), "cells")?;
        let taken = self.taken(data, gives)?;
        self.bind_all(in_order(Prim::Map, vec![taken], cells), "result")
    }

    /// A type with a constructor for these, and one that makes it recursive.
    fn cell_type(&mut self, gives: &[Slot]) -> DataId {
        let number = self.builder.signatures.data.len();
        let data = DataId(number as u32);
        let fields = gives.iter().map(|slot| match slot {
            Slot::One(ty) => ty.clone(),
            Slot::Row(element) => Type::jagged(element.clone()),
        });
        let constructor = |name: &str, fields: Vec<Type>| ConstructorDef {
            name: Name::from(format!("{name}_{number}")),
            fields,
        };
        let constructors = vec![
            constructor("Made", fields.collect()),
            constructor("More", vec![Type::Data(data)]),
        ];
        self.builder.signatures.data.push(DataDef {
            name: Name::from(format!("Cell_{number}")),
            recursive: Recursive::Yes,
            constructors,
            parts: Vec::new(),
        });
        data
    }

    /// What is in a cell.
    fn taken(&mut self, data: DataId, gives: &[Slot]) -> Typed<Lambda> {
        let cell = [Slot::One(Type::Data(data))];
        self.each(&cell, gives, |lift, values| {
            let scrutinee = values.into_iter().next().ok_or_else(broken)?;
            let (context, fields) = lift.taken_as(gives, "made");
            let atoms = super::variables(&fields);
            let slots = gives.to_vec();
            let held = lift.packed(gives, |_| Ok(atoms))?;
            let nothing = lift.packed(gives, |lift| {
                slots.iter().map(|slot| lift.nothing(slot)).collect()
            })?;
            let (result, held, nothing) = lift.given_by_two(gives, held, nothing)?;
            let arm = Arm {
                constructor: 0,
                context,
                fields,
                body: held,
            };
            let case = Exp::Case {
                scrutinee,
                arms: vec![arm],
                default: Some(nothing),
                result,
            };
            lift.bind_all(case, "made")
        })
    }
}
