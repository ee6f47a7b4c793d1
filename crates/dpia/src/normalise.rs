//! βη-normal forms (paper, sections 4.2 and 5.1): `(\x. P) Q` becomes `P[Q/x]`, `(P & Q).1` becomes `P`, and the same for
//! sizes and data types. A copied binder gets a new name, so that names stay unique.

use crate::phrase::{Instance, Phrase, Program, Side};
use crate::prim::Prim;
use crate::ty::{Data, Kind, Nat, PhraseType, Substitution, subst_nat};
use almach_base::Name;
use std::collections::HashMap;

/// The normal form of a phrase. Names made on the way end in `_r` and a number.
pub fn normalise(phrase: &Phrase) -> Phrase {
    Normaliser { next: 0 }.normalise(phrase, &Scope::default())
}

/// A program in which data types are given to functions of them, in normal form; none for any other.
pub(crate) fn without_data_functions(program: &Program) -> Option<Program> {
    if !program.procs.iter().any(|proc| takes_data(&proc.body)) {
        return None;
    }
    let mut filled = program.clone();
    for proc in &mut filled.procs {
        proc.body = normalise(&proc.body);
    }
    Some(filled)
}

fn takes_data(phrase: &Phrase) -> bool {
    match phrase {
        Phrase::DataApp(..) => true,
        Phrase::Var(_) | Phrase::Prim(_) => false,
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => takes_data(inner),
        Phrase::App(left, right) | Phrase::Pair(left, right) => takes_data(left) || takes_data(right),
    }
}

/// What names stand for. Phrases here are normal already.
#[derive(Clone, Default)]
struct Scope {
    phrases: HashMap<Name, Phrase>,
    types: Substitution,
}

struct Normaliser {
    next: u32,
}

impl Normaliser {
    fn fresh(&mut self, name: &Name) -> Name {
        self.next += 1;
        let stem = name
            .rsplit_once("_r")
            .filter(|(_, digits)| digits.bytes().all(|b| b.is_ascii_digit()));
        Name::from(format!(
            "{}_r{}",
            stem.map_or(name.as_str(), |(stem, _)| stem),
            self.next
        ))
    }

    fn normalise(&mut self, phrase: &Phrase, scope: &Scope) -> Phrase {
        match phrase {
            Phrase::Var(name) => match scope.phrases.get(name) {
                Some(known) => self.copy(known),
                None => phrase.clone(),
            },
            Phrase::Prim(instance) => Phrase::Prim(Box::new(Instance {
                prim: placed(&instance.prim, scope),
                nats: instance
                    .nats
                    .iter()
                    .map(|nat| subst_nat(nat, &scope.types))
                    .collect(),
                datas: instance
                    .datas
                    .iter()
                    .map(|data| data.subst(&scope.types))
                    .collect(),
            })),
            Phrase::Lam(name, ty, body) => self.abstraction(name, &ty.subst(&scope.types), body, scope),
            Phrase::App(function, argument) => {
                let function = self.normalise(function, scope);
                let argument = self.normalise(argument, scope);
                self.apply(function, argument)
            }
            Phrase::TypeLam(name, kind, body) => {
                let new = self.fresh(name);
                let mut inner = scope.clone();
                rename(&mut inner.types, name, *kind, &new);
                Phrase::TypeLam(new, *kind, Box::new(self.normalise(body, &inner)))
            }
            Phrase::NatApp(function, nat) => {
                let nat = subst_nat(nat, &scope.types);
                match self.normalise(function, scope) {
                    Phrase::TypeLam(name, Kind::Nat, body) => {
                        self.at_types(&body, Substitution::nat(name, nat))
                    }
                    other => Phrase::NatApp(Box::new(other), nat),
                }
            }
            Phrase::DataApp(function, data) => {
                let data = data.subst(&scope.types);
                match self.normalise(function, scope) {
                    Phrase::TypeLam(name, Kind::Data, body) => {
                        self.at_types(&body, Substitution::data(name, data))
                    }
                    other => Phrase::DataApp(Box::new(other), data),
                }
            }
            Phrase::Pair(left, right) => {
                Phrase::pair(self.normalise(left, scope), self.normalise(right, scope))
            }
            Phrase::Project(side, inner) => match (side, self.normalise(inner, scope)) {
                (Side::First, Phrase::Pair(left, _)) => *left,
                (Side::Second, Phrase::Pair(_, right)) => *right,
                (side, other) => Phrase::Project(*side, Box::new(other)),
            },
            Phrase::At(span, inner) => match self.normalise(inner, scope) {
                // A mark would hide a redex.
                result @ (Phrase::Lam(..) | Phrase::TypeLam(..) | Phrase::Pair(..)) => result,
                result => result.at(*span),
            },
        }
    }

    fn abstraction(&mut self, name: &Name, ty: &PhraseType, body: &Phrase, scope: &Scope) -> Phrase {
        let new = self.fresh(name);
        let mut inner = scope.clone();
        inner.phrases.insert(name.clone(), Phrase::Var(new.clone()));
        let body = self.normalise(body, &inner);
        eta(new, ty.clone(), body)
    }

    /// Applies a normal function to a normal argument.
    fn apply(&mut self, function: Phrase, argument: Phrase) -> Phrase {
        match function {
            Phrase::Lam(name, _, body) => {
                let mut scope = Scope::default();
                scope.phrases.insert(name, argument);
                self.normalise(&body, &scope)
            }
            other => other.app(argument),
        }
    }

    fn at_types(&mut self, body: &Phrase, types: Substitution) -> Phrase {
        self.normalise(
            body,
            &Scope {
                phrases: HashMap::new(),
                types,
            },
        )
    }

    /// A copy with new names for what it binds.
    fn copy(&mut self, phrase: &Phrase) -> Phrase {
        match phrase {
            Phrase::Var(_) | Phrase::Prim(_) => phrase.clone(),
            _ => self.normalise(phrase, &Scope::default()),
        }
    }
}

/// `\x. P x` is `P`, where `x` is not in `P`.
fn eta(name: Name, ty: PhraseType, body: Phrase) -> Phrase {
    if let Phrase::App(function, argument) = &body
        && **argument == Phrase::Var(name.clone())
        && !mentions(function, &name)
    {
        return (**function).clone();
    }
    Phrase::lam(name, ty, body)
}

fn mentions(phrase: &Phrase, name: &Name) -> bool {
    match phrase {
        Phrase::Var(found) => found == name,
        Phrase::Prim(_) => false,
        Phrase::App(a, b) | Phrase::Pair(a, b) => mentions(a, name) || mentions(b, name),
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => mentions(inner, name),
    }
}

/// A variable that lives in another's memory names it.
fn placed(prim: &Prim, scope: &Scope) -> Prim {
    let mut prim = prim.clone();
    if let Prim::NewIn(homes) = &mut prim {
        for home in homes {
            home.substitute(|name| scope.phrases.get(name).cloned());
        }
    }
    prim
}

fn rename(types: &mut Substitution, name: &Name, kind: Kind, new: &Name) {
    match kind {
        Kind::Nat => {
            types.nats.insert(name.clone(), Nat::var(new.clone()));
        }
        Kind::Data => {
            types.datas.insert(name.clone(), Data::Var(new.clone()));
        }
    }
}
