//! Groups of data types that refer to each other.

use crate::ir::{DataDef, DataId, Type};
use almach_value::{Group, Member, MemberTypes, References};

/// The types that a type refers to and that refer to it, itself among them, in the order of their declarations; none where it
/// refers only to itself.
pub fn group_of(data: &[DataDef], id: DataId) -> Option<Vec<DataId>> {
    let members = reachable(data, id).into_iter();
    let members: Vec<DataId> = members
        .filter(|other| reachable(data, *other).contains(&id))
        .collect();
    (members.len() > 1).then_some(members)
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
