//! What binds names, and chooses: patterns become components and comparisons.

use super::Writer;
use super::types::{Place, name, ty};
use almach_syntax::ast::{Arm, Expr, Negative, Pattern, PatternKind};

/// What a pattern asks and binds.
#[derive(Default)]
struct Taken {
    tests: Vec<String>,
    /// `(x (t.0))`.
    bound: Vec<String>,
}

impl Taken {
    fn around(&self, body: &str) -> String {
        match self.bound.is_empty() {
            true => body.to_owned(),
            false => format!("(let {} in {body})", self.bound.join(" ")),
        }
    }
}

impl Writer {
    /// A name for what a pattern takes apart, with the type that is written on it, and what has to stand around the body.
    pub(super) fn parameter(&mut self, pattern: &Pattern) -> Option<(String, Option<String>, Vec<String>)> {
        if let PatternKind::Paren(inner) = &pattern.kind {
            return self.parameter(inner);
        }
        let (pattern, written) = match &pattern.kind {
            PatternKind::Ascribed(inner, written) => (inner.as_ref(), Some(ty(written, Place::Outermost)?)),
            _ => (pattern, None),
        };
        if let Some(name) = name(pattern) {
            return Some((name.to_string(), written, Vec::new()));
        }
        let whole = self.fresh();
        let mut taken = Taken::default();
        take(pattern, &whole, &mut taken)?;
        taken.tests.is_empty().then_some((whole, written, taken.bound))
    }

    pub(super) fn case(&mut self, scrutinee: &Expr, arms: &[Arm]) -> Option<String> {
        let scrutinee = self.expr(scrutinee)?;
        if arms.iter().any(|arm| arm.guard.is_some()) {
            return None;
        }
        if arms
            .iter()
            .any(|arm| matches!(arm.pattern.kind, PatternKind::Constructor(..)))
        {
            let arms: Option<Vec<String>> = arms.iter().map(|arm| self.arm(arm)).collect();
            return Some(format!("(case {scrutinee} {})", arms?.join(" ")));
        }
        let whole = self.fresh();
        let (last, before) = arms.split_last()?;
        let mut taken = Taken::default();
        take(&last.pattern, &whole, &mut taken)?;
        if !taken.tests.is_empty() {
            return None;
        }
        let mut chosen = taken.around(&self.expr(&last.body)?);
        for arm in before.iter().rev() {
            let mut taken = Taken::default();
            take(&arm.pattern, &whole, &mut taken)?;
            let body = taken.around(&self.expr(&arm.body)?);
            let test = taken
                .tests
                .into_iter()
                .reduce(|all, test| format!("(and {all} {test})"));
            chosen = format!(
                "(if {} then {body} else {chosen})",
                test.unwrap_or_else(|| "true".to_owned())
            );
        }
        Some(format!("(let ({whole} {scrutinee}) in {chosen})"))
    }

    /// `(C x e)`, in which `x` is all that `C` holds.
    fn arm(&mut self, arm: &Arm) -> Option<String> {
        let body = self.expr(&arm.body)?;
        let PatternKind::Constructor(constructor, fields) = &arm.pattern.kind else {
            return Some(format!(
                "({} {body})",
                name(&arm.pattern).filter(|name| &**name == "_")?
            ));
        };
        let constructor = &constructor.name.name;
        match fields.as_slice() {
            [] => Some(format!("({constructor} {body})")),
            [one] => Some(format!("({constructor} {} {body})", name(one)?)),
            many => {
                let (whole, mut taken) = (self.fresh(), Taken::default());
                for (at, field) in many.iter().enumerate() {
                    take(field, &format!("{whole}.{at}"), &mut taken)?;
                }
                taken
                    .tests
                    .is_empty()
                    .then(|| format!("({constructor} {whole} {})", taken.around(&body)))
            }
        }
    }
}

/// Takes apart what stands under a name.
fn take(pattern: &Pattern, whole: &str, taken: &mut Taken) -> Option<()> {
    match &pattern.kind {
        PatternKind::Wildcard => {}
        PatternKind::Var(name) => taken.bound.push(format!("({name} {whole})")),
        PatternKind::Int {
            value,
            negative: Negative::No,
            ..
        } => taken.tests.push(format!("(= {whole} {value})")),
        PatternKind::Bool(true) => taken.tests.push(whole.to_owned()),
        PatternKind::Bool(false) => taken.tests.push(format!("(not {whole})")),
        PatternKind::Paren(inner) => take(inner, whole, taken)?,
        PatternKind::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                take(part, &format!("{whole}.{at}"), taken)?;
            }
        }
        PatternKind::Record(fields) => {
            for (at, (_, part)) in fields.iter().enumerate() {
                take(part, &format!("{whole}.{at}"), taken)?;
            }
        }
        PatternKind::Int { .. }
        | PatternKind::Float { .. }
        | PatternKind::Constructor(..)
        | PatternKind::NodeConstructor(..)
        | PatternKind::Ascribed(..)
        | PatternKind::Error => return None,
    }
    Some(())
}
