//! Fields of node values: references wherever the type of the nodes stands, also inside other sums (Nishimura and Ohori, section
//! 4.1: a node of `μt.τ(t)` is a `τ(n)`).
//!
//! ```text
//! data State 't = Inactive | Active 't | Pebbled
//! data Tree = Leaf (State Tree) | Fork (State Tree) Tree []Tree      node values:  #Leaf (State n) | #Fork (State n) n []n
//! ```
//!
//! What another recursive type holds (`List Tree` in `Tree`) is whole: its values have tables of their own. So is what other sums hold in a
//! type that has such fields too, or that is one of several that refer to each other.

use crate::dependencies::components;
use crate::solver::{Replaced, map_type, walk_type};
use crate::tree::{DataDef, DataId, Recursive, Type, TypeVar};
use std::collections::HashMap;

/// Stands for any reference in [`node_fields`].
const SOME_REFERENCE: Type = Type::Reference(u32::MAX);

/// The fields of a constructor in a node value, at the parameters of its type. All references are one.
pub fn node_fields(data: &[DataDef], id: DataId, constructor: u32) -> Vec<Type> {
    let Some(def) = data.get(id.0 as usize) else {
        return Vec::new();
    };
    let own = own_type(data, id);
    let inside_sums = refers_inside_sums(data, id);
    let constructor = def.constructors.get(constructor as usize);
    let fields = constructor.iter().flat_map(|constructor| &constructor.fields);
    fields
        .map(|field| with_references(field, &own, inside_sums))
        .collect()
}

/// The fields of a constructor in a node value with these references, at type arguments.
pub(crate) fn node_fields_at(
    data: &[DataDef],
    id: DataId,
    constructor: u32,
    types: &HashMap<u32, Type>,
    reference: &Type,
) -> Vec<Type> {
    let refer = |ty: &Type| {
        map_type(
            ty,
            &mut |part| match part {
                _ if *part == SOME_REFERENCE => Replaced::With(reference.clone()),
                Type::Var(var) => types
                    .get(&var.id)
                    .map_or(Replaced::Descend, |ty| Replaced::With(ty.clone())),
                _ => Replaced::Descend,
            },
            &mut |dim, _| dim.clone(),
        )
    };
    node_fields(data, id, constructor).iter().map(refer).collect()
}

fn with_references(field: &Type, own: &Type, inside_sums: bool) -> Type {
    map_type(
        field,
        &mut |part| match part {
            _ if part == own => Replaced::With(SOME_REFERENCE),
            Type::Data(..) if !inside_sums => Replaced::With(part.clone()),
            _ => Replaced::Descend,
        },
        &mut |dim, _| dim.clone(),
    )
}

/// Whether a type refers to itself alone, and each sum that holds it in a field does so in a bounded number of places.
pub fn refers_inside_sums(data: &[DataDef], id: DataId) -> bool {
    let own = &own_type(data, id);
    let mut bounded = true;
    for field in fields_of(data, id) {
        walk_type(field, &mut |part| {
            if let Type::Data(sum, args) = part
                && part != own
            {
                let holds = (0..).zip(args).filter(|(_, arg)| mentions(arg, own));
                bounded = bounded
                    && holds
                        .clone()
                        .all(|(at, _)| is_bounded(data, *sum, at, &mut Vec::new()));
            }
        });
    }
    bounded && !is_in_group(data, id)
}

/// A type at its own parameters.
fn own_type(data: &[DataDef], id: DataId) -> Type {
    let params = data.get(id.0 as usize).map(|def| def.params.as_slice());
    let params = params.unwrap_or_default().iter().cloned();
    Type::Data(id, params.map(Type::Var).collect())
}

/// Whether others refer to a type that refers to them.
fn is_in_group(data: &[DataDef], id: DataId) -> bool {
    let edges: Vec<Vec<usize>> = (0..data.len() as u32)
        .map(|id| {
            let mut used = Vec::new();
            for field in fields_of(data, DataId(id)) {
                walk_type(field, &mut |part| {
                    if let Type::Data(other, _) = part {
                        used.push(other.0 as usize);
                    }
                });
            }
            used
        })
        .collect();
    let groups = components(&edges);
    let mut own = groups
        .iter()
        .filter(|group| group.members.contains(&(id.0 as usize)));
    own.any(|group| group.members.len() > 1)
}

fn fields_of(data: &[DataDef], id: DataId) -> impl Iterator<Item = &Type> {
    let constructors = data
        .get(id.0 as usize)
        .into_iter()
        .flat_map(|def| &def.constructors);
    constructors.flat_map(|constructor| &constructor.fields)
}

fn mentions(ty: &Type, wanted: &Type) -> bool {
    let mut found = false;
    walk_type(ty, &mut |part| found |= part == wanted);
    found
}

/// Whether a type holds what a parameter stands for in a bounded number of places.
fn is_bounded(data: &[DataDef], id: DataId, param: usize, around: &mut Vec<DataId>) -> bool {
    let def = data.get(id.0 as usize);
    let Some((def, var)) = def.and_then(|def| Some((def, def.params.get(param)?))) else {
        return false;
    };
    if def.recursive == Recursive::Yes || around.contains(&id) {
        return false;
    }
    around.push(id);
    let bounded = fields_of(data, id).all(|field| is_bounded_in(data, field, var, around));
    around.pop();
    bounded
}

fn is_bounded_in(data: &[DataDef], ty: &Type, var: &TypeVar, around: &mut Vec<DataId>) -> bool {
    let var = Type::Var(var.clone());
    let mut bounded = true;
    walk_type(ty, &mut |part| {
        if let Type::Data(id, args) = part {
            let holds = (0..).zip(args).filter(|(_, arg)| mentions(arg, &var));
            for (at, _) in holds {
                bounded = bounded && is_bounded(data, *id, at, around);
            }
        }
    });
    bounded
}
