//! From the arms of a `case` to a decision tree (Maranget, "Compiling pattern matching to good decision trees"): each
//! part of the value is tested at most once on every path, and in the order the arms ask for.
//!
//! Trees can be exponentially larger than the patterns. Past a budget that is linear in them [`decide`] gives up, and
//! [`decide_alone`] decides the first arm only: what fails goes on with the rest of the arms.

use almach_base::Name;
use almach_types::tree::{DataDef, Expr, Pattern, PatternKind, Type, Var};
use std::collections::HashMap;

/// A part of the value, by number. 0 is the value itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Occurrence(pub usize);

const ROOT: Occurrence = Occurrence(0);

/// How to get at a part.
#[derive(Debug)]
pub(crate) enum Access<'a> {
    Root,
    /// Of a tuple or record of this type.
    Component(Occurrence, u32, &'a Type),
    /// Of a constructor.
    Field,
}

#[derive(Debug)]
pub(crate) struct Occurrences<'a> {
    accesses: Vec<Access<'a>>,
    /// By parent, constructor (none for tuples) and position.
    children: HashMap<(usize, Option<u32>, u32), Occurrence>,
}

impl<'a> Occurrences<'a> {
    pub fn new() -> Occurrences<'a> {
        Occurrences {
            accesses: vec![Access::Root],
            children: HashMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.accesses.len()
    }

    pub fn access(&self, at: Occurrence) -> Option<&Access<'a>> {
        self.accesses.get(at.0)
    }

    fn child(
        &mut self,
        parent: Occurrence,
        constructor: Option<u32>,
        position: u32,
        access: Access<'a>,
    ) -> Occurrence {
        let accesses = &mut self.accesses;
        let new = || {
            accesses.push(access);
            Occurrence(accesses.len() - 1)
        };
        *self
            .children
            .entry((parent.0, constructor, position))
            .or_insert_with(new)
    }

    fn component(&mut self, parent: Occurrence, position: u32, ty: &'a Type) -> Occurrence {
        self.child(parent, None, position, Access::Component(parent, position, ty))
    }

    fn field(&mut self, parent: Occurrence, constructor: u32, position: u32) -> Occurrence {
        self.child(parent, Some(constructor), position, Access::Field)
    }
}

/// One arm: what is still to be tested, and what is bound when it matches.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub arm: usize,
    pub guard: Option<&'a Expr>,
    columns: Vec<(Occurrence, &'a Pattern)>,
    bindings: Vec<Binding<'a>>,
}

pub(crate) type Binding<'a> = (&'a Pattern, &'a Var, Occurrence);

impl<'a> Row<'a> {
    pub fn new(arm: usize, pattern: &'a Pattern, guard: Option<&'a Expr>) -> Row<'a> {
        Row {
            arm,
            guard,
            columns: vec![(ROOT, pattern)],
            bindings: Vec::new(),
        }
    }

    fn column(&self, at: Occurrence) -> Option<&'a Pattern> {
        self.columns
            .iter()
            .find(|(column, _)| *column == at)
            .map(|(_, pattern)| *pattern)
    }

    fn without(&self, at: Occurrence) -> Row<'a> {
        let columns = self.columns.iter().filter(|(column, _)| *column != at);
        Row {
            columns: columns.copied().collect(),
            ..self.clone()
        }
    }

    /// Takes everything out of the columns that needs no test.
    fn simplify(&mut self, occurrences: &mut Occurrences<'a>) {
        let mut pending: Vec<(Occurrence, &'a Pattern)> = std::mem::take(&mut self.columns);
        pending.reverse();
        while let Some((at, pattern)) = pending.pop() {
            match &pattern.kind {
                PatternKind::Wildcard => {}
                PatternKind::Var(var) => self.bindings.push((pattern, var, at)),
                PatternKind::Tuple(parts) => {
                    for (position, part) in parts.iter().enumerate().rev() {
                        let child = occurrences.component(at, position as u32, &pattern.ty);
                        pending.push((child, part));
                    }
                }
                PatternKind::Record(fields) => {
                    for (position, field) in fields.iter().rev() {
                        let child = occurrences.component(at, *position, &pattern.ty);
                        pending.push((child, field));
                    }
                }
                PatternKind::Int(_)
                | PatternKind::Float(_)
                | PatternKind::Bool(_)
                | PatternKind::Constructor { .. } => self.columns.push((at, pattern)),
            }
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Head {
    Bool(bool),
    Int(i128),
    Float(Name),
    Constructor(u32, usize),
}

fn head_of(pattern: &Pattern, context: &Context<'_>) -> Option<Head> {
    match &pattern.kind {
        PatternKind::Bool(value) => Some(Head::Bool(*value)),
        PatternKind::Int(value) => Some(Head::Int(*value)),
        PatternKind::Float(text) => Some(Head::Float(text.clone())),
        PatternKind::Constructor {
            data, constructor, ..
        } => {
            let def = context.data.get(data.0 as usize);
            Some(Head::Constructor(
                *constructor,
                def.map_or(0, |def| def.constructors.len()),
            ))
        }
        PatternKind::Wildcard | PatternKind::Var(_) | PatternKind::Tuple(_) | PatternKind::Record(_) => None,
    }
}

pub(crate) struct Context<'a> {
    pub data: &'a [DataDef],
}

#[derive(Debug)]
pub(crate) enum Tree<'a> {
    /// The arm matches.
    Leaf {
        row: usize,
        bindings: Vec<Binding<'a>>,
    },
    /// It matches if its guard holds.
    Guard {
        row: usize,
        bindings: Vec<Binding<'a>>,
        otherwise: Box<Tree<'a>>,
    },
    Literals {
        at: Occurrence,
        cases: Vec<(Head, Tree<'a>)>,
        default: Box<Tree<'a>>,
    },
    Constructors {
        at: Occurrence,
        cases: Vec<ConstructorCase<'a>>,
        default: Option<Box<Tree<'a>>>,
    },
    /// The arms from this number on are tried.
    Rest(usize),
    Impossible,
}

#[derive(Debug)]
pub(crate) struct ConstructorCase<'a> {
    pub constructor: u32,
    /// The fields, with a pattern that tells their types where there is one.
    pub fields: Vec<(Occurrence, Option<&'a Pattern>)>,
    pub tree: Tree<'a>,
}

impl Tree<'_> {
    /// How often each arm's body is reached.
    pub fn count_uses(&self, uses: &mut [usize]) {
        let mut used = |row: usize| {
            if let Some(count) = uses.get_mut(row) {
                *count += 1;
            }
        };
        match self {
            Tree::Leaf { row, .. } => used(*row),
            Tree::Guard { row, otherwise, .. } => {
                used(*row);
                otherwise.count_uses(uses);
            }
            Tree::Literals { cases, default, .. } => {
                cases.iter().for_each(|(_, tree)| tree.count_uses(uses));
                default.count_uses(uses);
            }
            Tree::Constructors { cases, default, .. } => {
                cases.iter().for_each(|case| case.tree.count_uses(uses));
                if let Some(default) = default {
                    default.count_uses(uses);
                }
            }
            Tree::Rest(_) | Tree::Impossible => {}
        }
    }
}

/// The tree for arms in order; none where it would be too large.
pub(crate) fn decide<'a>(
    rows: &[Row<'a>],
    occurrences: &mut Occurrences<'a>,
    context: &Context<'a>,
) -> Option<Tree<'a>> {
    let nodes: usize = rows
        .iter()
        .flat_map(|row| &row.columns)
        .map(|(_, pattern)| size(pattern))
        .sum();
    let mut decision = Decision {
        occurrences,
        context,
        budget: Some(64 + 8 * nodes),
        failed: None,
    };
    decision.tree(rows.to_vec())
}

/// The tree for one arm; what does not match goes on with arm number `rest`.
pub(crate) fn decide_alone<'a>(
    rows: &[Row<'a>],
    occurrences: &mut Occurrences<'a>,
    context: &Context<'a>,
    rest: usize,
) -> Tree<'a> {
    let mut decision = Decision {
        occurrences,
        context,
        budget: None,
        failed: Some(rest),
    };
    decision.tree(rows.to_vec()).unwrap_or(Tree::Impossible)
}

fn size(pattern: &Pattern) -> usize {
    1 + match &pattern.kind {
        PatternKind::Wildcard
        | PatternKind::Var(_)
        | PatternKind::Int(_)
        | PatternKind::Float(_)
        | PatternKind::Bool(_) => 0,
        PatternKind::Tuple(parts) | PatternKind::Constructor { fields: parts, .. } => {
            parts.iter().map(size).sum()
        }
        PatternKind::Record(fields) => fields.iter().map(|(_, field)| size(field)).sum(),
    }
}

struct Decision<'d, 'a> {
    occurrences: &'d mut Occurrences<'a>,
    context: &'d Context<'a>,
    /// Nodes left to spend; none is no limit.
    budget: Option<usize>,
    failed: Option<usize>,
}

impl<'a> Decision<'_, 'a> {
    fn tree(&mut self, mut rows: Vec<Row<'a>>) -> Option<Tree<'a>> {
        if let Some(budget) = &mut self.budget {
            *budget = budget.checked_sub(1)?;
        }
        for row in &mut rows {
            row.simplify(self.occurrences);
        }
        let Some((first, others)) = rows.split_first() else {
            return Some(self.failed.map_or(Tree::Impossible, Tree::Rest));
        };
        if first.columns.is_empty() {
            let (row, bindings) = (first.arm, first.bindings.clone());
            if first.guard.is_none() {
                return Some(Tree::Leaf { row, bindings });
            }
            let otherwise = Box::new(self.tree(others.to_vec())?);
            return Some(Tree::Guard {
                row,
                bindings,
                otherwise,
            });
        }
        // The part that most arms want to know about.
        let asked = |at: &Occurrence| rows.iter().filter(|row| row.column(*at).is_some()).count();
        let columns = first.columns.iter().map(|(at, _)| *at);
        let at = columns.rev().max_by_key(asked).unwrap_or(ROOT);
        self.switch(at, &rows)
    }

    fn switch(&mut self, at: Occurrence, rows: &[Row<'a>]) -> Option<Tree<'a>> {
        let mut heads: Vec<Head> = Vec::new();
        for pattern in rows.iter().filter_map(|row| row.column(at)) {
            if let Some(head) = head_of(pattern, self.context)
                && !heads.contains(&head)
            {
                heads.push(head);
            }
        }
        let covered = match heads.first() {
            Some(Head::Constructor(_, count)) => heads.len() == *count,
            Some(Head::Bool(_)) => heads.len() == 2,
            Some(Head::Int(_) | Head::Float(_)) | None => false,
        };
        let default = match covered {
            true => None,
            false => {
                let left = rows.iter().filter(|row| row.column(at).is_none());
                Some(Box::new(self.tree(left.cloned().collect())?))
            }
        };
        match heads.first() {
            Some(Head::Constructor(..)) => self.constructors(at, rows, &heads, default),
            _ => {
                let mut cases = Vec::with_capacity(heads.len());
                for head in heads {
                    let matching = rows.iter().filter(|row| match row.column(at) {
                        Some(pattern) => head_of(pattern, self.context).as_ref() == Some(&head),
                        None => true,
                    });
                    let matching = matching.map(|row| row.without(at)).collect();
                    cases.push((head, self.tree(matching)?));
                }
                let default = default.unwrap_or_else(|| Box::new(Tree::Impossible));
                Some(Tree::Literals { at, cases, default })
            }
        }
    }

    fn constructors(
        &mut self,
        at: Occurrence,
        rows: &[Row<'a>],
        heads: &[Head],
        default: Option<Box<Tree<'a>>>,
    ) -> Option<Tree<'a>> {
        let mut cases = Vec::with_capacity(heads.len());
        for head in heads {
            let Head::Constructor(constructor, _) = head else {
                continue;
            };
            let mut known: Vec<Option<&'a Pattern>> = Vec::new();
            let mut matching = Vec::with_capacity(rows.len());
            for row in rows {
                let Some(pattern) = row.column(at) else {
                    matching.push(row.clone());
                    continue;
                };
                let PatternKind::Constructor {
                    constructor: own,
                    fields,
                    ..
                } = &pattern.kind
                else {
                    continue;
                };
                if own != constructor {
                    continue;
                }
                let mut row = row.without(at);
                for (position, field) in fields.iter().enumerate() {
                    let child = self.occurrences.field(at, *constructor, position as u32);
                    row.columns.push((child, field));
                    match known.get_mut(position) {
                        Some(slot) => *slot = Some(field),
                        None => known.push(Some(field)),
                    }
                }
                matching.push(row);
            }
            let positions = known.into_iter().enumerate();
            let fields = positions
                .map(|(position, pattern)| {
                    (self.occurrences.field(at, *constructor, position as u32), pattern)
                })
                .collect();
            cases.push(ConstructorCase {
                constructor: *constructor,
                fields,
                tree: self.tree(matching)?,
            });
        }
        cases.sort_by_key(|case| case.constructor);
        Some(Tree::Constructors { at, cases, default })
    }
}
