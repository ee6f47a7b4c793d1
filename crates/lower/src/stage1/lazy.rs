//! `map@S`: what an element is, computed wherever it is read (Lin, eq. 5.16). The function's operators are then views too, which the
//! thesis wishes for (section 8.3).
//!
//! ```text
//! let ys = map@S (\\x -> x / 2) xs    ~~>   check every element's divisor; map (\\x. x / 2) xs, a view
//! ```
//!
//! The function is translated twice. Once lazily: nothing is bound to a name, since there is no command to bind it in, and no check is
//! made. Where that takes a command after all (a loop, memory), there is no view and the array is computed. If a check was left out, all
//! elements are checked where the operation stands, so that the same program fails in the same place.

use super::destinations::Plan;
use super::layout::{Held, Packed};
use super::operations::{function, zipped};
use super::types::together;
use super::views::mapped;
use super::{Item, Translator};
use crate::error::Lowering;
use almach_base::Name;
use almach_core::{Atom, Body, Exp, Lambda, Op, Pattern};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_prim::Effect;

/// Phrases larger than this are not written out wherever they are read.
const LARGE: usize = 600;

/// How far a lazy translation has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lazily {
    /// Commands are translated.
    Off,
    /// An expression is, and no check has been left out.
    Checked,
    /// Checks have been left out.
    Unchecked,
}

impl Lazily {
    pub(crate) fn is_on(self) -> bool {
        self != Lazily::Off
    }
}

/// Arguments of a function that is a view.
struct Arguments {
    size: Nat,
    source: Phrase,
    elements: Vec<Data>,
    arrays: Vec<(Held, super::layout::Layout)>,
}

impl Arguments {
    /// What the parameters are, for an element.
    fn parts(&self, element: &Phrase) -> Vec<Held> {
        let parts = self.arrays.iter().enumerate().map(|(at, (array, layout))| {
            let value = match self.elements.len() {
                1 => element.clone(),
                _ => build::get(at, &self.elements, element.clone()),
            };
            array.part(layout, value, Packed::No)
        });
        parts.collect()
    }
}

impl Translator<'_> {
    /// Whether a `map` is a view: it is written so, or it stands inside of one.
    pub(crate) fn is_lazy(&self, op: &Op) -> bool {
        match op.annotation.effect {
            Some(Effect::Source) => true,
            None => self.lazily.is_on(),
            Some(Effect::Destination | Effect::Eager) => false,
        }
    }

    /// The view that a `map` is; none where its function takes more than an expression.
    pub(crate) fn map_view(&mut self, op: &Op) -> Lowering<Option<Phrase>> {
        let lambda = function(op, self)?;
        let [value] = lambda.body.values.as_slice() else {
            return Ok(None);
        };
        if !lambda.context.is_empty() || !lambda.result.context.is_empty() {
            return Ok(None);
        }
        let (size, arrays) = self.arrays(&op.args)?;
        if arrays.iter().any(|(_, element)| element.has_rows()) {
            return Ok(None);
        }
        let (source, elements) = zipped(&size, &arrays);
        let arguments = Arguments {
            size,
            source,
            elements,
            arrays,
        };
        let name = self.fresh("x");
        let Some((body, to, lazily)) = self.lazily(lambda, value, &arguments, &name)? else {
            return Ok(None);
        };
        match (self.lazily, lazily) {
            (Lazily::Off, Lazily::Unchecked) => self.check_elements(op, lambda, &arguments)?,
            (Lazily::Checked, Lazily::Unchecked) => self.lazily = Lazily::Unchecked,
            _ => {}
        }
        let Arguments {
            size,
            source,
            elements,
            ..
        } = arguments;
        let whole = Data::array(size.clone(), to.clone());
        let view = mapped(size, together(&elements), to, name, body, source);
        // A name, since stage II may write it more than once.
        Ok(Some(self.let_exp("view", &whole, view)))
    }

    /// What a function gives as an expression over the name of its argument, and whether checks were left out.
    fn lazily(
        &mut self,
        lambda: &Lambda,
        value: &Atom,
        arguments: &Arguments,
        name: &Name,
    ) -> Lowering<Option<(Phrase, Data, Lazily)>> {
        let outer = std::mem::take(&mut self.items);
        let before = std::mem::replace(&mut self.lazily, Lazily::Checked);
        let mark = self.env.mark();
        let parts = arguments.parts(&Phrase::Var(name.clone()));
        let done = self
            .bind_params(lambda, parts)
            .and_then(|()| self.stmts(&lambda.body.stmts, Plan::default()));
        let found = match done {
            Ok(()) => self.held(value).map(Some),
            Err(problem) => Err(problem),
        };
        self.env.rewind_facts(mark);
        let lazily = std::mem::replace(&mut self.lazily, before);
        let items: Vec<Item> = std::mem::replace(&mut self.items, outer);
        let expression = items.is_empty() && self.late_sizes.is_empty();
        let Some(result) = found?.filter(|held| expression && held.pools.is_empty()) else {
            return Ok(None);
        };
        let data = result.layout.data();
        Ok((size_of(&result.data, LARGE) < LARGE).then_some((result.data, data, lazily)))
    }

    /// Runs the function on every element and keeps nothing.
    fn check_elements(&mut self, op: &Op, lambda: &Lambda, arguments: &Arguments) -> Lowering<()> {
        let (x, o) = (self.fresh("x"), self.fresh("o"));
        let parts = arguments.parts(&Phrase::Var(x.clone()));
        let body = self.block(|this| {
            let mark = this.env.mark();
            this.bind_params(lambda, parts)?;
            this.stmts(&lambda.body.stmts, Plan::default())?;
            this.env.rewind_facts(mark);
            Ok(())
        })?;
        let (element, nothing) = (together(&arguments.elements), Data::Tuple(Vec::new()));
        let inner = Phrase::lam(o, PhraseType::Acc(nothing.clone()), body);
        let function = Phrase::lam(x, PhraseType::Exp(element.clone()), inner);
        let size = arguments.size.clone();
        let checked = self.new_var("checked", &Data::array(size.clone(), nothing.clone()));
        let checks = Phrase::prim(Prim::MapI(self.level(op)), vec![size], vec![element, nothing]);
        self.push(checks.apply([function, arguments.source.clone(), checked.writer()]));
        Ok(())
    }

    /// `if` as an expression: its branches are (Lin, eq. 5.30).
    pub(crate) fn lazy_branch(
        &mut self,
        condition: &Atom,
        (then, otherwise): (&Body, &Body),
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<bool> {
        if !then.context.is_empty() || !pattern.context.is_empty() {
            return Ok(false);
        }
        let (Some(a), Some(b)) = (self.lazy_body(then)?, self.lazy_body(otherwise)?) else {
            return Ok(false);
        };
        let data = a.layout.data();
        if !data.equal(&b.layout.data()) || !a.pools.is_empty() {
            return Ok(false);
        }
        let select = Phrase::prim(Prim::Select, vec![], vec![data]);
        let value = select.apply([self.value(condition)?, a.data, b.data]);
        self.bind_one(pattern, exp, value)?;
        Ok(true)
    }

    fn lazy_body(&mut self, body: &Body) -> Lowering<Option<Held>> {
        let [value] = body.values.as_slice() else {
            return Ok(None);
        };
        let mark = self.env.mark();
        self.stmts(&body.stmts, Plan::default())?;
        let held = self.held(value);
        self.env.rewind_facts(mark);
        held.map(Some)
    }
}

/// The number of primitives of a phrase, up to a limit.
fn size_of(phrase: &Phrase, limit: usize) -> usize {
    let mut open = vec![phrase];
    let mut count = 0;
    while let Some(phrase) = open.pop() {
        if count >= limit {
            break;
        }
        match phrase {
            Phrase::Var(_) => {}
            Phrase::Prim(_) => count += 1,
            Phrase::App(left, right) | Phrase::Pair(left, right) => open.extend([&**left, &**right]),
            Phrase::Lam(_, _, inner)
            | Phrase::TypeLam(_, _, inner)
            | Phrase::NatApp(inner, _)
            | Phrase::DataApp(inner, _)
            | Phrase::Project(_, inner)
            | Phrase::At(_, inner) => open.push(inner),
        }
    }
    count
}
