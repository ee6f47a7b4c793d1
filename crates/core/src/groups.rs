//! Groups of data types that refer to each other, and where nodes refer to others.

use crate::ir::{DataDef, DataId, Recursive, Type};
use almach_value::{Group, Member, MemberTypes, NodeReferences, References};

/// The recursive types that a type refers to and that refer to it, itself among them, in the order of their declarations; none
/// where it refers only to itself.
pub fn group_of(data: &[DataDef], id: DataId) -> Option<Vec<DataId>> {
    let members = reachable(data, id).into_iter();
    let members: Vec<DataId> = members
        .filter(|other| is_recursive(data, *other) && reachable(data, *other).contains(&id))
        .collect();
    (members.len() > 1).then_some(members)
}

fn is_recursive(data: &[DataDef], id: DataId) -> bool {
    let def = data.get(id.0 as usize);
    def.is_some_and(|def| def.recursive == Recursive::Yes)
}

/// Where node values of a type hold positions: by constructor, by field.
pub fn node_references(data: &[DataDef], id: DataId) -> NodeReferences {
    match data.get(id.0 as usize) {
        Some(def) => sum_references(data, def, (id, def)),
        None => Vec::new(),
    }
}

fn sum_references(data: &[DataDef], sum: &DataDef, node: (DataId, &DataDef)) -> NodeReferences {
    let constructors = sum.constructors.iter();
    constructors
        .map(|constructor| {
            let fields = constructor.fields.iter();
            fields.map(|field| field_references(data, field, node)).collect()
        })
        .collect()
}

fn field_references(data: &[DataDef], field: &Type, node: (DataId, &DataDef)) -> References {
    match field {
        Type::Data(id) if *id == node.0 => References::Position,
        Type::Data(id) if node.1.part(*id).is_some() => match data.get(id.0 as usize) {
            Some(sum) => References::Sum(sum_references(data, sum, node)),
            None => References::None,
        },
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => References::None,
        Type::Tuple(parts) => {
            let parts = parts.iter().map(|part| field_references(data, part, node));
            let parts: Vec<References> = parts.collect();
            match parts.iter().all(References::is_none) {
                true => References::None,
                false => References::Tuple(parts),
            }
        }
        Type::Array(_, element) => match field_references(data, element, node) {
            References::None => References::None,
            inside => References::Array(Box::new(inside)),
        },
    }
}

/// How values of a member are brought into a table of its group.
pub fn tables(data: &[DataDef], members: &[DataId], root: usize) -> Group {
    let mut first = 0;
    let mut described = Vec::new();
    for id in members {
        let constructors = data.get(id.0 as usize).map(|def| def.constructors.as_slice());
        let constructors = constructors.unwrap_or_default();
        let types: Vec<Vec<MemberTypes>> = constructors
            .iter()
            .map(|constructor| {
                let fields = constructor.fields.iter();
                fields.map(|field| member_types(field, members)).collect()
            })
            .collect();
        described.push(Member {
            first,
            references: types
                .iter()
                .map(|fields| fields.iter().map(positions).collect())
                .collect(),
            types,
        });
        first += constructors.len() as u32;
    }
    Group {
        members: described,
        root,
    }
}

/// Where a field holds data of a group.
pub fn member_types(ty: &Type, members: &[DataId]) -> MemberTypes {
    match ty {
        Type::Data(id) => match members.iter().position(|member| member == id) {
            Some(member) => MemberTypes::Member(member),
            None => MemberTypes::None,
        },
        Type::Tuple(parts) => {
            let parts: Vec<MemberTypes> = parts.iter().map(|part| member_types(part, members)).collect();
            match parts.iter().all(|part| *part == MemberTypes::None) {
                true => MemberTypes::None,
                false => MemberTypes::Tuple(parts),
            }
        }
        Type::Array(_, element) => match member_types(element, members) {
            MemberTypes::None => MemberTypes::None,
            element => MemberTypes::Array(Box::new(element)),
        },
        Type::Scalar(_) | Type::Vector(..) | Type::Node(_) => MemberTypes::None,
    }
}

fn positions(types: &MemberTypes) -> References {
    match types {
        MemberTypes::None => References::None,
        MemberTypes::Member(_) => References::Position,
        MemberTypes::Tuple(parts) => References::Tuple(parts.iter().map(positions).collect()),
        MemberTypes::Array(element) => References::Array(Box::new(positions(element))),
    }
}

/// The types that values of a type may hold, in order.
fn reachable(data: &[DataDef], from: DataId) -> Vec<DataId> {
    let mut found: Vec<DataId> = Vec::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        let def = data.get(id.0 as usize);
        for constructor in def.iter().flat_map(|def| &def.constructors) {
            let mut here = Vec::new();
            for field in &constructor.fields {
                mentioned(field, &mut here);
            }
            for id in here {
                if !found.contains(&id) {
                    found.push(id);
                    open.push(id);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// The data types that a type mentions.
fn mentioned(ty: &Type, found: &mut Vec<DataId>) {
    match ty {
        Type::Data(id) | Type::Node(id) => found.push(*id),
        Type::Tuple(parts) => parts.iter().for_each(|part| mentioned(part, found)),
        Type::Array(_, element) => mentioned(element, found),
        Type::Scalar(_) | Type::Vector(..) => {}
    }
}
