//! Phrases made ready to run: what a phrase says again each time it is reached is found out once. A variable is the number of binders
//! between its use and its own, a primitive stands with its arguments, a call knows its procedure. Code refers to the phrases
//! it is made from.

use super::{Run, broken};
use crate::check::Checked;
use crate::phrase::{Instance, Phrase, Proc, Side};
use crate::prim::{Prim, arity};
use crate::ty::{Data, Kind, Nat, PhraseType};
use almach_base::Name;
use std::collections::HashMap;

pub(crate) enum Code<'p> {
    /// What a binder stands for, counted from the innermost one.
    Var(usize),
    /// The procedure with that number.
    Proc(usize),
    /// A primitive with the arguments it is given, perhaps fewer than it takes.
    Prim(Primitive<'p>, Vec<Code<'p>>),
    /// `first; second`.
    Sequence(Box<(Code<'p>, Code<'p>)>),
    /// A procedure with all its arguments.
    Call(Box<Call<'p>>),
    Lam(Box<Code<'p>>),
    App(Box<(Code<'p>, Code<'p>)>),
    NatLam(Box<Code<'p>>),
    NatApp(Box<Code<'p>>, Size<'p>),
    Pair(Box<(Code<'p>, Code<'p>)>),
    Project(Side, Box<Code<'p>>),
    /// Nothing a checked program has.
    Broken(String),
}

pub(crate) struct Primitive<'p> {
    pub(super) prim: &'p Prim,
    /// How many arguments it takes.
    pub(super) arity: usize,
    pub(super) sizes: Vec<Size<'p>>,
    pub(super) datas: Vec<Layout<'p>>,
}

pub(crate) struct Call<'p> {
    /// The procedure with its sizes.
    pub(super) head: Code<'p>,
    pub(super) arguments: Vec<(Passed, Code<'p>)>,
}

/// How a procedure gets an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// Computed before the call, once: scalars.
    AsValue,
    AsPhrase,
}

pub(crate) enum Size<'p> {
    Known(i64),
    /// What a binder stands for.
    Var(usize),
    /// A term over binders; those it mentions, and which ones they are.
    Term(&'p Nat, Vec<(&'p Name, usize)>),
    /// A term with a name that nothing binds.
    Unknown(&'p Nat),
}

/// A data type.
pub(crate) enum Layout<'p> {
    Scalar,
    Vector(u32),
    Array(Size<'p>, Box<Layout<'p>>),
    Tuple(Vec<Layout<'p>>),
    /// A cell with that many sizes, which are binders around its contents.
    Some(usize, Box<Layout<'p>>),
    Var(&'p Name),
}

/// The procedures that one of a program reaches, by their numbers.
pub(crate) struct Ready<'p> {
    pub(crate) procs: Vec<Option<Code<'p>>>,
    /// The number of that one.
    pub(crate) start: usize,
}

impl<'p> Ready<'p> {
    pub(crate) fn of(checked: &'p Checked, proc: &str) -> Run<Ready<'p>> {
        let procs = &checked.runnable().procs;
        let numbers = procs.iter().enumerate().map(|(at, proc)| (&proc.name, at));
        let mut maker = Maker {
            procs,
            numbers: numbers.collect(),
            scope: Vec::new(),
            reached: Vec::new(),
        };
        let found = procs.iter().position(|known| &*known.name == proc);
        let start = found.ok_or_else(|| broken(format!("there is no procedure `{proc}`")))?;
        let mut made: Vec<Option<Code<'p>>> = procs.iter().map(|_| None).collect();
        maker.reached.push(start);
        while let Some(at) = maker.reached.pop() {
            if let (Some(slot @ None), Some(proc)) = (made.get_mut(at), procs.get(at)) {
                *slot = Some(maker.code(&proc.body)?);
            }
        }
        Ok(Ready { procs: made, start })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Binder {
    Phrase,
    Size,
}

struct Maker<'p> {
    procs: &'p [Proc],
    numbers: HashMap<&'p Name, usize>,
    /// The binders around, the innermost last.
    scope: Vec<(&'p Name, Binder)>,
    /// Procedures that are mentioned.
    reached: Vec<usize>,
}

impl<'p> Maker<'p> {
    fn code(&mut self, phrase: &'p Phrase) -> Run<Code<'p>> {
        Ok(match phrase {
            Phrase::At(_, inner) => self.code(inner)?,
            Phrase::Var(name) => self.variable(name),
            Phrase::Prim(_) | Phrase::App(..) => self.application(phrase)?,
            Phrase::Lam(name, _, body) => Code::Lam(self.under(name, Binder::Phrase, body)?),
            Phrase::TypeLam(name, Kind::Nat, body) => Code::NatLam(self.under(name, Binder::Size, body)?),
            Phrase::TypeLam(_, Kind::Data, _) | Phrase::DataApp(..) => {
                Code::Broken("functions of data types are instantiated before a program runs".to_owned())
            }
            Phrase::NatApp(function, nat) => Code::NatApp(Box::new(self.code(function)?), self.size(nat)),
            Phrase::Pair(left, right) => Code::Pair(Box::new((self.code(left)?, self.code(right)?))),
            Phrase::Project(side, inner) => Code::Project(*side, Box::new(self.code(inner)?)),
        })
    }

    fn under(&mut self, name: &'p Name, binder: Binder, body: &'p Phrase) -> Run<Box<Code<'p>>> {
        self.scope.push((name, binder));
        let code = self.code(body);
        self.scope.pop();
        code.map(Box::new)
    }

    /// How many binders stand between here and that of a name.
    fn distance(&self, name: &Name) -> Option<(usize, Binder)> {
        let mut around = self.scope.iter().rev().enumerate();
        around.find_map(|(at, (known, binder))| (*known == name).then_some((at, *binder)))
    }

    fn variable(&mut self, name: &'p Name) -> Code<'p> {
        match (self.distance(name), self.numbers.get(name)) {
            (Some((at, Binder::Phrase)), _) => Code::Var(at),
            (Some((_, Binder::Size)), _) => Code::Broken(format!("the size `{name}` is no phrase")),
            (None, Some(proc)) => {
                self.reached.push(*proc);
                Code::Proc(*proc)
            }
            (None, None) => Code::Broken(format!("`{name}` has no meaning")),
        }
    }

    /// A head with its arguments.
    fn application(&mut self, phrase: &'p Phrase) -> Run<Code<'p>> {
        let (head, arguments) = phrase.spine();
        let (code, others) = match head {
            Phrase::Prim(instance) => {
                let primitive = self.primitive(instance)?;
                let (own, others) = arguments.split_at(arguments.len().min(primitive.arity));
                let code = match (primitive.prim, own) {
                    (Prim::Seq, [pair]) if let Phrase::Pair(first, second) = pair.unmarked() => {
                        Code::Sequence(Box::new((self.code(first)?, self.code(second)?)))
                    }
                    _ => Code::Prim(primitive, self.codes(own)?),
                };
                (code, others)
            }
            _ => match self.called(head) {
                Some(proc) if arguments.len() == parameters(&proc.ty) => {
                    return self.call(proc, head, &arguments);
                }
                _ => (self.code(head)?, arguments.as_slice()),
            },
        };
        others.iter().try_fold(code, |function, argument| {
            Ok(Code::App(Box::new((function, self.code(argument)?))))
        })
    }

    fn codes(&mut self, phrases: &[&'p Phrase]) -> Run<Vec<Code<'p>>> {
        phrases.iter().map(|phrase| self.code(phrase)).collect()
    }

    /// The procedure that a head, with its sizes, is.
    fn called(&self, mut head: &Phrase) -> Option<&'p Proc> {
        while let Phrase::NatApp(inner, _) = head {
            head = inner.unmarked();
        }
        let Phrase::Var(name) = head else {
            return None;
        };
        let at = self.numbers.get(name).filter(|_| self.distance(name).is_none())?;
        self.procs.get(*at)
    }

    fn call(&mut self, proc: &'p Proc, head: &'p Phrase, arguments: &[&'p Phrase]) -> Run<Code<'p>> {
        let mut ty = &proc.ty;
        let mut passed = Vec::with_capacity(arguments.len());
        for argument in self.codes(arguments)? {
            while let PhraseType::Dependent(_, _, inner) = ty {
                ty = inner;
            }
            let PhraseType::Fun(_, from, to) = ty else {
                return Err(broken("an argument is given to what takes none"));
            };
            let how = match &**from {
                PhraseType::Exp(Data::Scalar(_) | Data::Index(_)) => Passed::AsValue,
                _ => Passed::AsPhrase,
            };
            passed.push((how, argument));
            ty = to;
        }
        Ok(Code::Call(Box::new(Call {
            head: self.code(head)?,
            arguments: passed,
        })))
    }

    fn primitive(&mut self, instance: &'p Instance) -> Run<Primitive<'p>> {
        Ok(Primitive {
            prim: &instance.prim,
            arity: arity(instance).map_err(broken)?,
            sizes: instance.nats.iter().map(|nat| self.size(nat)).collect(),
            datas: instance.datas.iter().map(|data| self.layout(data)).collect(),
        })
    }

    fn size(&self, nat: &'p Nat) -> Size<'p> {
        if let Some(value) = nat.as_constant() {
            return Size::Known(value);
        }
        let number = |name: &'p Name| match self.distance(name) {
            Some((at, Binder::Size)) => Some((name, at)),
            _ => None,
        };
        match (nat.as_var().map(number), nat.occurrences().map(number).collect()) {
            (Some(Some((_, at))), _) => Size::Var(at),
            (_, Some(names)) => Size::Term(nat, names),
            (_, None) => Size::Unknown(nat),
        }
    }

    fn layout(&mut self, data: &'p Data) -> Layout<'p> {
        match data {
            Data::Scalar(_) | Data::Index(_) => Layout::Scalar,
            Data::Vector(width, _) => Layout::Vector(*width),
            Data::Array(size, element) => Layout::Array(self.size(size), Box::new(self.layout(element))),
            Data::Tuple(parts) => Layout::Tuple(parts.iter().map(|part| self.layout(part)).collect()),
            Data::Some(names, body) => {
                let around = self.scope.len();
                self.scope.extend(names.iter().map(|name| (name, Binder::Size)));
                let body = self.layout(body);
                self.scope.truncate(around);
                Layout::Some(names.len(), Box::new(body))
            }
            Data::Var(name) => Layout::Var(name),
        }
    }
}

/// How many phrases a procedure takes.
fn parameters(ty: &PhraseType) -> usize {
    match ty {
        PhraseType::Fun(_, _, result) => 1 + parameters(result),
        PhraseType::Dependent(_, _, result) => parameters(result),
        PhraseType::Exp(_) | PhraseType::Acc(_) | PhraseType::Comm | PhraseType::Product(..) => 0,
    }
}
