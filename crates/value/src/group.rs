//! Data of types that refer to each other, as one table and back.

use crate::{
    Datum, NodeIdentity, NodeReferences, NodeTable, References, SumValue, Value, replace_references,
    shift_positions,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Types that refer to each other. Nodes of their tables have the constructors of all types, one type after another.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    pub members: Vec<Member>,
    /// The type of the root.
    pub root: usize,
}

/// A type of a group.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// The number of its first constructor in the group's tables.
    pub first: u32,
    /// Where its nodes hold positions, whosever they are.
    pub references: NodeReferences,
    /// And of which types.
    pub types: Vec<Vec<MemberTypes>>,
}

/// The types that positions in a field are of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberTypes {
    None,
    Member(usize),
    Tuple(Vec<MemberTypes>),
    Array(Box<MemberTypes>),
}

/// All that can be reached from a datum, each node once, in depth-first order of fields. A datum that is in a table brings that
/// table, whole and in its order; the first field of a node says which it is in: the position of its first node, counted from 1.
pub fn group_table(root: &Datum, group: &Group) -> (i64, Vec<SumValue>) {
    let mut positions: HashMap<NodeIdentity, i64> = HashMap::new();
    let mut order: Vec<(usize, Datum, i64)> = Vec::new();
    let mut pending = vec![(group.root, root.clone())];
    let mut children = Vec::new();
    while let Some((member, datum)) = pending.pop() {
        if positions.contains_key(&datum.identity()) {
            continue;
        }
        let (all, mark) = match &datum {
            Datum::Cell(_) => (vec![datum], 0),
            Datum::InTable { table, .. } => {
                let all = (0..table.nodes.len()).map(|at| Datum::InTable {
                    table: Arc::clone(table),
                    at,
                });
                (all.collect(), order.len() as i64 + 1)
            }
        };
        for datum in all {
            positions.insert(datum.identity(), order.len() as i64);
            let types = group.members.get(member).map(|member| &member.types);
            if let Some(types) = types.and_then(|types| types.get(datum.constructor() as usize)) {
                for (field, types) in datum.fields().iter().zip(types) {
                    referred(field, types, &mut children);
                }
            }
            order.push((member, datum, mark));
        }
        pending.extend(children.drain(..).rev());
    }
    let mut position = |value: Value| match &value {
        Value::Datum(datum) => Value::from(positions.get(&datum.identity()).copied().unwrap_or(0)),
        _ => value,
    };
    let nodes = order
        .iter()
        .map(|(member, datum, mark)| {
            let member = group.members.get(*member);
            let references = member.and_then(|member| member.references.get(datum.constructor() as usize));
            let fields = datum.fields().into_iter().enumerate();
            let fields = fields.map(|(at, field)| {
                let references = references.and_then(|all| all.get(at));
                replace_references(&field, references.unwrap_or(&References::None), &mut position)
            });
            SumValue {
                constructor: datum.constructor() + member.map_or(0, |member| member.first),
                fields: std::iter::once(Value::from(*mark)).chain(fields).collect(),
            }
        })
        .collect();
    let root = positions.get(&root.identity()).copied().unwrap_or(0);
    (root, nodes)
}

/// The data that a value refers to, with their types.
fn referred(value: &Value, types: &MemberTypes, found: &mut Vec<(usize, Datum)>) {
    match (types, value) {
        (MemberTypes::Member(member), Value::Datum(datum)) => found.push((*member, datum.clone())),
        (MemberTypes::Tuple(types), Value::Tuple(fields)) => {
            for (field, types) in fields.iter().zip(types) {
                referred(field, types, found);
            }
        }
        (MemberTypes::Array(element), Value::Array(array)) if **element != MemberTypes::None => {
            for value in array.values() {
                referred(&value, element, found);
            }
        }
        _ => {}
    }
}

/// Where a field refers to data of the types that are asked for.
fn references_to(types: &MemberTypes, wanted: &dyn Fn(usize) -> bool) -> References {
    match types {
        MemberTypes::Member(member) if wanted(*member) => References::Position,
        MemberTypes::None | MemberTypes::Member(_) => References::None,
        MemberTypes::Tuple(parts) => {
            let parts: Vec<References> = parts.iter().map(|part| references_to(part, wanted)).collect();
            match parts.iter().all(References::is_none) {
                true => References::None,
                false => References::Tuple(parts),
            }
        }
        MemberTypes::Array(element) => match references_to(element, wanted) {
            References::None => References::None,
            inside => References::Array(Box::new(inside)),
        },
    }
}

/// The nodes of a group's table while data are made of them.
struct GroupNodes<'g> {
    nodes: &'g [SumValue],
    group: &'g Group,
    made: Vec<Option<Value>>,
}

/// Nodes that are made at once: those of a table, or one that a constructor made.
struct Unit {
    member: usize,
    first: usize,
    count: usize,
    is_table: bool,
}

impl GroupNodes<'_> {
    fn unit(&self, at: usize) -> Option<Unit> {
        let mark = |at: usize| self.nodes.get(at)?.fields.first()?.as_i64();
        let constructor = self.nodes.get(at)?.constructor;
        let members = self.group.members.iter();
        let member = members.filter(|member| member.first <= constructor).count();
        let member = member.checked_sub(1)?;
        Some(match mark(at)? {
            0 => Unit {
                member,
                first: at,
                count: 1,
                is_table: false,
            },
            table => {
                let first = usize::try_from(table - 1).ok()?;
                let count = (first..self.nodes.len()).take_while(|at| mark(*at) == Some(table));
                Unit {
                    member,
                    first,
                    count: count.count(),
                    is_table: true,
                }
            }
        })
    }

    /// A node with the data it refers to; none where there are some that are not made yet, which are then listed. In a table
    /// references to nodes of its own stay positions.
    fn node(&self, unit: &Unit, at: usize, missing: &mut Vec<i64>) -> Option<SumValue> {
        let node = self.nodes.get(at)?;
        let member = self.group.members.get(unit.member)?;
        let constructor = node.constructor.checked_sub(member.first)?;
        let types = member.types.get(constructor as usize)?;
        let mut look_up = |value: Value| {
            let to = value.as_i64().unwrap_or(-1);
            let found = usize::try_from(to).ok().and_then(|at| self.made.get(at)?.clone());
            if found.is_none() {
                missing.push(to);
            }
            found.unwrap_or(value)
        };
        let (own, is_table) = (unit.member, unit.is_table);
        let fields = node.fields.iter().skip(1).zip(types).map(|(field, types)| {
            let others = references_to(types, &|member| !is_table || member != own);
            let field = replace_references(field, &others, &mut look_up);
            match is_table {
                true => {
                    let own = references_to(types, &|member| member == own);
                    shift_positions(&field, &own, unit.first as i64)
                }
                false => field,
            }
        });
        Some(SumValue {
            constructor,
            fields: fields.collect(),
        })
    }

    /// Makes the data of nodes; gives what they wait for where there is something.
    fn make(&mut self, unit: &Unit) -> Option<Vec<i64>> {
        let mut missing = Vec::new();
        let nodes = (unit.first..unit.first + unit.count).map(|at| self.node(unit, at, &mut missing));
        let nodes: Vec<SumValue> = nodes.collect::<Option<_>>()?;
        if !missing.is_empty() {
            return Some(missing);
        }
        let member = self.group.members.get(unit.member)?;
        let data: Vec<Datum> = match unit.is_table {
            false => nodes
                .into_iter()
                .map(|node| Datum::cell(node.constructor, node.fields))
                .collect(),
            true => {
                let references = member.types.iter().map(|fields| {
                    let own = |types| references_to(types, &|member| member == unit.member);
                    fields.iter().map(own).collect()
                });
                let table = NodeTable {
                    nodes,
                    references: Arc::new(references.collect()),
                };
                let Datum::InTable { table, .. } = table.datum(0).ok()? else {
                    return None;
                };
                let all = (0..unit.count).map(|at| Datum::InTable {
                    table: Arc::clone(&table),
                    at,
                });
                all.collect()
            }
        };
        for (place, datum) in self.made.iter_mut().skip(unit.first).zip(data) {
            *place = Some(Value::Datum(datum));
        }
        Some(Vec::new())
    }
}

/// The datum of a group's table: cells and tables as its nodes say. None where they do not fit, or where a cycle goes through
/// cells: only tables may be cyclic.
pub fn group_datum(root: i64, nodes: &[SumValue], group: &Group) -> Option<Value> {
    let mut all = GroupNodes {
        nodes,
        group,
        made: vec![None; nodes.len()],
    };
    let mut waits = vec![false; nodes.len()];
    let mut pending = vec![root];
    while let Some(at) = pending.last().copied() {
        let at = usize::try_from(at).ok()?;
        if all.made.get(at)?.is_some() {
            pending.pop();
            continue;
        }
        let unit = all.unit(at)?;
        let mut missing = all.make(&unit)?;
        match (missing.is_empty(), waits.get_mut(unit.first)) {
            (true, _) => {
                pending.pop();
            }
            // What a node waits for is made before its turn comes again.
            (false, Some(waits)) if !*waits => {
                *waits = true;
                pending.append(&mut missing);
            }
            _ => return None,
        }
    }
    let root = usize::try_from(root).ok()?;
    all.made.get(root)?.clone()
}
