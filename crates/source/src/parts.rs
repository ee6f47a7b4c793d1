//! Sums in the nodes of a recursive type: one declaration with a parameter for whole data and for positions.
//!
//! ```text
//! data Tree {State_Tree: State_i64} = Leaf State_Tree        data State_i64 't = Inactive | Active 't
//! data State_Tree = Inactive | Active Tree              =>  data Tree = Leaf (State_i64 Tree)
//! data State_i64 = Inactive | Active i64                     types: (State_i64 Tree), (State_i64 i64)
//! ```

use almach_core::{DataId, Program};

/// What a sum is in the nodes of a recursive type.
pub(crate) enum Part {
    /// It holds data of this type; the other one has its declaration.
    Whole { of: DataId, declared: DataId },
    /// It holds positions where this one holds data.
    Positions { whole: DataId },
}

pub(crate) fn part(program: &Program, id: DataId) -> Option<Part> {
    let types = (0..).map(DataId).zip(&program.data);
    let mut all = types.flat_map(|(of, def)| def.parts.iter().map(move |pair| (of, *pair)));
    all.find_map(|(of, (whole, positions))| match id {
        _ if whole == id => Some(Part::Whole {
            of,
            declared: positions,
        }),
        _ if positions == id => Some(Part::Positions { whole }),
        _ => None,
    })
}

/// The type that has the declaration of a sum, and its constructors.
pub(crate) fn declared(program: &Program, id: DataId) -> DataId {
    match part(program, id) {
        Some(Part::Whole { declared, .. }) => declared,
        Some(Part::Positions { .. }) | None => id,
    }
}

/// The type whose nodes a sum with data of it is in.
pub(crate) fn node_type(program: &Program, whole: DataId) -> Option<DataId> {
    let mut types = (0..).map(DataId).zip(&program.data);
    let found = types.find(|(_, def)| def.part(whole).is_some());
    found.map(|(id, _)| id)
}

/// The text of a type with the parameter in place of a type's name.
pub(crate) fn with_parameter(text: &str, name: &str) -> String {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if is_letter(c) {
            word.push(c);
            continue;
        }
        out.push_str(if word == name { "'t" } else { &word });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
