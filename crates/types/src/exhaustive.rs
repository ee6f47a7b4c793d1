//! Are the arms of a `case` complete, and does each of them match something no earlier one does?
//!
//! Maranget's usefulness (*Warnings for pattern matching*, 2007): a row is useful against a matrix when some value
//! matches it and no row of the matrix. A `case` is complete when a row of wildcards is not useful, and the value
//! found otherwise is shown to the user. Arms with guards may fail, so they are never part of the matrix.
//!
//! ```text
//! case m of
//! | (Some 0, _) -> …          missing: (None, _)
//! | (Some n, b) -> …
//! ```

use crate::tree::{Arm, ConstructorForm, DataDef, DataId, Pattern, PatternKind, Type};
use almach_base::Name;
use std::collections::BTreeMap;

/// What is wrong with the arms.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// Values that no arm matches, as patterns in Almach syntax. At most [`MOST_MISSING`].
    pub missing: Vec<String>,
    /// Arms that can never be taken.
    pub redundant: Vec<usize>,
}

const MOST_MISSING: usize = 3;

/// Checks the arms of a `case`.
pub fn check_arms(arms: &[Arm], data: &[DataDef]) -> Findings {
    let mut rows: Vec<Vec<Simple>> = Vec::new();
    let mut redundant = Vec::new();
    for (at, arm) in arms.iter().enumerate() {
        let row = vec![simple(&arm.pattern)];
        if useful(&rows, &row, data).is_empty() {
            redundant.push(at);
        }
        if arm.guard.is_none() {
            rows.push(row);
        }
    }
    Findings {
        missing: missing(&rows, data),
        redundant,
    }
}

/// Checks a pattern that must match everything: a parameter, a `let`, a loop's state.
pub fn check_irrefutable(pattern: &Pattern, data: &[DataDef]) -> Vec<String> {
    missing(&[vec![simple(pattern)]], data)
}

fn missing(rows: &[Vec<Simple>], data: &[DataDef]) -> Vec<String> {
    let witnesses = useful(rows, &[Simple::Any], data);
    witnesses
        .iter()
        .take(MOST_MISSING)
        .filter_map(|row| row.first())
        .map(|one| show(one, data, Place::Top))
        .collect()
}

/// A pattern reduced to what matters here.
#[derive(Clone, PartialEq, Debug)]
enum Simple {
    Any,
    Head(Head, Vec<Simple>),
}

/// What a pattern tests first. Records are tuples with names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Head {
    Tuple(usize),
    Record(Vec<Name>),
    Constructor {
        data: DataId,
        constructor: u32,
        node: bool,
        arity: usize,
    },
    Bool(bool),
    Int(i128),
    /// Floats by their text: two spellings of one number only cost a warning that is not given.
    Float(Name),
}

fn simple(pattern: &Pattern) -> Simple {
    match &pattern.kind {
        PatternKind::Wildcard | PatternKind::Var(_) => Simple::Any,
        PatternKind::Int(value) => Simple::Head(Head::Int(*value), Vec::new()),
        PatternKind::Float(text) => Simple::Head(Head::Float(text.clone()), Vec::new()),
        PatternKind::Bool(value) => Simple::Head(Head::Bool(*value), Vec::new()),
        PatternKind::Tuple(parts) => {
            Simple::Head(Head::Tuple(parts.len()), parts.iter().map(simple).collect())
        }
        PatternKind::Record(fields) => record(fields, &pattern.ty),
        PatternKind::Constructor {
            data,
            constructor,
            form,
            fields,
        } => {
            let node = *form == ConstructorForm::Node;
            let head = Head::Constructor {
                data: *data,
                constructor: *constructor,
                node,
                arity: fields.len(),
            };
            Simple::Head(head, fields.iter().map(simple).collect())
        }
    }
}

fn record(fields: &[(u32, Pattern)], ty: &Type) -> Simple {
    let names: Vec<Name> = match ty {
        Type::Record(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    };
    let mut parts = vec![Simple::Any; names.len()];
    for (at, pattern) in fields {
        if let Some(part) = parts.get_mut(*at as usize) {
            *part = simple(pattern);
        }
    }
    Simple::Head(Head::Record(names), parts)
}

/// Values that match `row` and none of `rows`, as rows of patterns; empty where there is none. A handful is enough.
fn useful(rows: &[Vec<Simple>], row: &[Simple], data: &[DataDef]) -> Vec<Vec<Simple>> {
    let Some((first, rest)) = row.split_first() else {
        return if rows.is_empty() {
            vec![Vec::new()]
        } else {
            Vec::new()
        };
    };
    match first {
        Simple::Head(head, parts) => useful_with(rows, head, parts, rest, data),
        Simple::Any => {
            let used = heads(rows);
            match missing_heads(&used, data) {
                Missing::None => {
                    let mut found = Vec::new();
                    for (head, arity) in &used {
                        let parts = vec![Simple::Any; *arity];
                        found.extend(useful_with(rows, head, &parts, rest, data));
                        if found.len() >= MOST_MISSING {
                            break;
                        }
                    }
                    found
                }
                Missing::Heads(witnesses) => {
                    let others = default_rows(rows);
                    let tails = useful(&others, rest, data);
                    let with = |witness: &Simple, tail: &Vec<Simple>| {
                        std::iter::once(witness.clone())
                            .chain(tail.iter().cloned())
                            .collect()
                    };
                    witnesses
                        .iter()
                        .flat_map(|witness| tails.iter().map(move |tail| with(witness, tail)))
                        .take(MOST_MISSING)
                        .collect()
                }
            }
        }
    }
}

/// [`useful`] for values whose first component starts with `head`.
fn useful_with(
    rows: &[Vec<Simple>],
    head: &Head,
    parts: &[Simple],
    rest: &[Simple],
    data: &[DataDef],
) -> Vec<Vec<Simple>> {
    let special: Vec<Vec<Simple>> = rows
        .iter()
        .filter_map(|row| specialise(row, head, parts.len()))
        .collect();
    let row: Vec<Simple> = parts.iter().chain(rest).cloned().collect();
    useful(&special, &row, data)
        .into_iter()
        .map(|mut witness| {
            let tail = witness.split_off(parts.len().min(witness.len()));
            std::iter::once(Simple::Head(head.clone(), witness))
                .chain(tail)
                .collect()
        })
        .collect()
}

/// The row for values that start with `head`, taken apart; none where the row does not match such values.
fn specialise(row: &[Simple], head: &Head, arity: usize) -> Option<Vec<Simple>> {
    let (first, rest) = row.split_first()?;
    let parts = match first {
        Simple::Any => vec![Simple::Any; arity],
        Simple::Head(own, parts) if own == head => parts.clone(),
        Simple::Head(..) => return None,
    };
    Some(parts.into_iter().chain(rest.iter().cloned()).collect())
}

/// The rows that match whatever the first component is, without it.
fn default_rows(rows: &[Vec<Simple>]) -> Vec<Vec<Simple>> {
    rows.iter()
        .filter_map(|row| match row.split_first() {
            Some((Simple::Any, rest)) => Some(rest.to_vec()),
            _ => None,
        })
        .collect()
}

/// The heads in the first column, with the number of their parts.
fn heads(rows: &[Vec<Simple>]) -> BTreeMap<Head, usize> {
    rows.iter()
        .filter_map(|row| match row.first() {
            Some(Simple::Head(head, parts)) => Some((head.clone(), parts.len())),
            _ => None,
        })
        .collect()
}

enum Missing {
    /// The heads are all there are.
    None,
    /// Patterns for values with another head.
    Heads(Vec<Simple>),
}

fn missing_heads(used: &BTreeMap<Head, usize>, data: &[DataDef]) -> Missing {
    match used.keys().next() {
        None => Missing::Heads(vec![Simple::Any]),
        Some(Head::Tuple(_) | Head::Record(_)) => Missing::None,
        Some(Head::Bool(_)) => {
            let absent = [true, false]
                .into_iter()
                .find(|value| !used.contains_key(&Head::Bool(*value)));
            absent.map_or(Missing::None, |value| {
                Missing::Heads(vec![Simple::Head(Head::Bool(value), Vec::new())])
            })
        }
        Some(Head::Int(_)) => {
            let free = (0..)
                .find(|value| !used.contains_key(&Head::Int(*value)))
                .unwrap_or(0);
            Missing::Heads(vec![Simple::Head(Head::Int(free), Vec::new())])
        }
        Some(Head::Float(_)) => Missing::Heads(vec![Simple::Any]),
        Some(Head::Constructor { data: id, node, .. }) => missing_constructors(*id, *node, used, data),
    }
}

fn missing_constructors(id: DataId, node: bool, used: &BTreeMap<Head, usize>, data: &[DataDef]) -> Missing {
    let constructors = data
        .get(id.0 as usize)
        .map_or(&[][..], |def| def.constructors.as_slice());
    let absent: Vec<Simple> = constructors
        .iter()
        .enumerate()
        .map(|(at, constructor)| (at as u32, constructor.fields.len()))
        .map(|(constructor, arity)| {
            (
                Head::Constructor {
                    data: id,
                    constructor,
                    node,
                    arity,
                },
                arity,
            )
        })
        .filter(|(head, _)| !used.contains_key(head))
        .map(|(head, arity)| Simple::Head(head, vec![Simple::Any; arity]))
        .collect();
    if absent.is_empty() {
        Missing::None
    } else {
        Missing::Heads(absent)
    }
}

/// Where a pattern stands: a constructor with fields needs parentheses as an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Argument,
}

fn show(pattern: &Simple, data: &[DataDef], place: Place) -> String {
    let Simple::Head(head, parts) = pattern else {
        return "_".to_owned();
    };
    let inside = |place| parts.iter().map(move |part| show(part, data, place));
    match head {
        Head::Tuple(_) => format!("({})", inside(Place::Top).collect::<Vec<_>>().join(", ")),
        Head::Record(names) => {
            let fields: Vec<String> = names
                .iter()
                .zip(inside(Place::Top))
                .map(|(name, part)| format!("{name} = {part}"))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Head::Bool(value) => value.to_string(),
        Head::Int(value) => value.to_string(),
        Head::Float(text) => text.to_string(),
        Head::Constructor {
            data: id,
            constructor,
            node,
            ..
        } => {
            let name = data
                .get(id.0 as usize)
                .and_then(|def| def.constructors.get(*constructor as usize))
                .map_or("_", |constructor| constructor.name.as_str());
            let mark = if *node { "#" } else { "" };
            let words: Vec<String> = std::iter::once(format!("{mark}{name}"))
                .chain(inside(Place::Argument))
                .collect();
            match (place, words.len()) {
                (Place::Argument, 2..) => format!("({})", words.join(" ")),
                _ => words.join(" "),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Constructor, Expr, ExprKind, Recursive, TypeVar};
    use almach_base::Span;
    use almach_value::ScalarType;

    const INT: Type = Type::Scalar(ScalarType::I32);

    fn pattern(kind: PatternKind) -> Pattern {
        Pattern {
            kind,
            ty: INT,
            span: Span::NONE,
        }
    }

    fn any() -> Pattern {
        pattern(PatternKind::Wildcard)
    }

    fn int(value: i128) -> Pattern {
        pattern(PatternKind::Int(value))
    }

    fn tuple(parts: Vec<Pattern>) -> Pattern {
        pattern(PatternKind::Tuple(parts))
    }

    fn maybe(constructor: u32, fields: Vec<Pattern>) -> Pattern {
        let form = ConstructorForm::Datum;
        pattern(PatternKind::Constructor {
            data: DataId(0),
            constructor,
            form,
            fields,
        })
    }

    fn arm(pattern: Pattern, guard: Option<()>) -> Arm {
        let expr = Expr {
            kind: ExprKind::Bool(true),
            ty: INT,
            span: Span::NONE,
        };
        Arm {
            pattern,
            guard: guard.map(|()| expr.clone()),
            body: expr,
            span: Span::NONE,
        }
    }

    fn data() -> Vec<DataDef> {
        let constructor = |name: &str, fields| Constructor {
            name: Name::from(name),
            fields,
            span: Span::NONE,
        };
        vec![DataDef {
            name: Name::from("Maybe"),
            params: vec![TypeVar {
                id: 0,
                name: Name::from("a"),
            }],
            constructors: vec![constructor("None", Vec::new()), constructor("Some", vec![INT])],
            recursive: Recursive::No,
            span: Span::NONE,
        }]
    }

    fn findings(patterns: Vec<Pattern>) -> (Vec<String>, Vec<usize>) {
        let arms: Vec<Arm> = patterns.into_iter().map(|one| arm(one, None)).collect();
        let found = check_arms(&arms, &data());
        (found.missing, found.redundant)
    }

    #[test]
    fn a_complete_case_has_nothing_missing() {
        assert_eq!(
            findings(vec![maybe(0, vec![]), maybe(1, vec![any()])]),
            (vec![], vec![])
        );
        assert_eq!(findings(vec![int(0), any()]), (vec![], vec![]));
    }

    #[test]
    fn a_missing_value_is_shown() {
        assert_eq!(findings(vec![maybe(1, vec![any()])]).0, ["None"]);
        assert_eq!(
            findings(vec![maybe(0, vec![]), maybe(1, vec![int(0)])]).0,
            ["Some 1"]
        );
        let nested = tuple(vec![maybe(1, vec![int(0)]), any()]);
        let rest = tuple(vec![maybe(0, vec![]), maybe(0, vec![])]);
        assert_eq!(findings(vec![nested, rest]).0, ["(None, Some _)", "(Some 1, _)"]);
    }

    #[test]
    fn an_arm_behind_a_complete_one_is_redundant() {
        assert_eq!(findings(vec![any(), int(3)]).1, [1]);
        assert_eq!(findings(vec![int(3), int(3), any()]).1, [1]);
    }

    #[test]
    fn a_guard_covers_nothing() {
        let arms = vec![arm(any(), Some(())), arm(int(1), None)];
        assert_eq!(
            check_arms(&arms, &data()),
            Findings {
                missing: vec!["0".to_owned()],
                redundant: vec![]
            }
        );
    }
}
