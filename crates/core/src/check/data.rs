//! Data definitions, and the arms of a `case`.

use super::Rule;
use super::scope::vector;
use crate::ir::{Arm, Body, DataDef, DataId, Dim, Recursive, Type};
use crate::typing::{Signatures, TypeError, Typed};
use std::collections::HashSet;

pub(super) fn check(id: DataId, def: &DataDef, signatures: &Signatures) -> Typed<()> {
    let mut names = HashSet::new();
    for constructor in &def.constructors {
        if !names.insert(&constructor.name) {
            let message = format!("`{}` has two constructors `{}`", def.name, constructor.name);
            return Err(TypeError::new(Rule::DataDefinition, message));
        }
        for field in &constructor.fields {
            check_field(field, signatures)?;
        }
    }
    let wrong = match def.recursive {
        Recursive::Yes if !reaches_itself(id, def, signatures, Through::All) => {
            "is marked recursive but is not"
        }
        Recursive::No if comes_back(id, def, signatures) => "is recursive but not marked so",
        Recursive::Yes | Recursive::No => return check_parts(id, def, signatures),
    };
    let message = format!("`{}` {wrong}", def.name);
    Err(TypeError::new(Rule::DataDefinition, message))
}

/// Whether values of a sum may contain others, and not as parts of the nodes of a recursive type.
fn comes_back(id: DataId, def: &DataDef, signatures: &Signatures) -> bool {
    let is_part = signatures.data.iter().any(|node| node.part(id).is_some());
    reaches_itself(id, def, signatures, Through::Sums)
        || !is_part && reaches_itself(id, def, signatures, Through::All)
}

/// What parts are in nodes is what they are, with positions where they mention the type.
fn check_parts(id: DataId, def: &DataDef, signatures: &Signatures) -> Typed<()> {
    for (whole, positions) in &def.parts {
        let (whole, positions) = (signatures.data(*whole)?, signatures.data(*positions)?);
        let expected = whole.constructors.iter().map(|constructor| {
            let fields = constructor.fields.iter();
            let fields = fields.map(|field| def.with_positions(id, field)).collect();
            (&constructor.name, fields)
        });
        let found = positions
            .constructors
            .iter()
            .map(|it| (&it.name, it.fields.clone()));
        let is_sum = |def: &DataDef| def.recursive == Recursive::No;
        if !is_sum(whole) || !is_sum(positions) || !expected.eq(found) {
            let message = format!(
                "`{}` is not `{}` with positions of `{}`",
                positions.name, whole.name, def.name
            );
            return Err(TypeError::new(Rule::DataDefinition, message));
        }
    }
    Ok(())
}

fn check_field(ty: &Type, signatures: &Signatures) -> Typed<()> {
    match ty {
        Type::Scalar(_) => Ok(()),
        Type::Vector(width, element) => vector(*width, *element),
        Type::Tuple(parts) => parts.iter().try_for_each(|part| check_field(part, signatures)),
        Type::Array(Dim::Size(size), element) => match size.as_constant() {
            Some(_) => check_field(element, signatures),
            None => Err(TypeError::new(
                Rule::DataDefinition,
                format!("a field's size `{size}` is not constant"),
            )),
        },
        Type::Array(Dim::Jagged, element) => check_field(element, signatures),
        Type::Data(id) => signatures.data(*id).map(|_| ()),
        Type::Node(_) => Err(TypeError::new(
            Rule::DataDefinition,
            "a field holds data, not node values",
        )),
    }
}

/// Which types a value may contain another of its type through.
#[derive(Clone, Copy)]
enum Through {
    All,
    /// Those that are not recursive.
    Sums,
}

/// Whether a value of the type may contain another of the same type.
fn reaches_itself(id: DataId, def: &DataDef, signatures: &Signatures, through: Through) -> bool {
    let mut seen: HashSet<DataId> = HashSet::new();
    let mut pending = mentioned(def);
    while let Some(next) = pending.pop() {
        if next == id {
            return true;
        }
        if seen.insert(next)
            && let Ok(def) = signatures.data(next)
            && (matches!(through, Through::All) || def.recursive == Recursive::No)
        {
            pending.extend(mentioned(def));
        }
    }
    false
}

fn mentioned(def: &DataDef) -> Vec<DataId> {
    let mut found = Vec::new();
    for constructor in &def.constructors {
        for field in &constructor.fields {
            data_of(field, &mut found);
        }
    }
    found
}

fn data_of(ty: &Type, found: &mut Vec<DataId>) {
    match ty {
        Type::Scalar(_) | Type::Vector(..) | Type::Node(_) => {}
        Type::Tuple(parts) => parts.iter().for_each(|part| data_of(part, found)),
        Type::Array(_, element) => data_of(element, found),
        Type::Data(id) => found.push(*id),
    }
}

/// At most one arm per constructor, and a default where some have none.
pub(super) fn check_coverage(
    scrutinee: &Type,
    arms: &[Arm],
    default: Option<&Body>,
    signatures: &Signatures,
) -> Typed<()> {
    let (Type::Data(id) | Type::Node(id)) = scrutinee else {
        let message = format!(
            "a `case` is on data, not on `{}`",
            scrutinee.display(&signatures.data)
        );
        return Err(TypeError::new(Rule::OperandType, message));
    };
    let def = signatures.data(*id)?;
    let mut seen = HashSet::new();
    for arm in arms {
        if !seen.insert(arm.constructor) {
            let message = format!("constructor {} of `{}` has two arms", arm.constructor, def.name);
            return Err(TypeError::new(Rule::Case, message));
        }
    }
    let missing = def
        .constructors
        .iter()
        .enumerate()
        .find(|(at, _)| !seen.contains(&(*at as u32)));
    match (missing, default) {
        (Some((_, constructor)), None) => Err(TypeError::new(
            Rule::Case,
            format!("`{}` has no arm and there is no default", constructor.name),
        )),
        _ => Ok(()),
    }
}
