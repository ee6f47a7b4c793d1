//! The definition of phrases.
//!
//! ```text
//! proc dot : (n: nat) -> exp[n.f32] -> exp[n.f32] -> acc[f32] ->p comm =
//!   /\n: nat. \xs: exp[n.f32]. \ys: exp[n.f32]. \out: acc[f32].
//!     new{n.f32} (\tmp: var[n.f32].
//!       mapI<par>[n]{(f32, f32)}{f32} (\x: exp[(f32, f32)]. \o: acc[f32].
//!         o := mul<f32> (get<0,2>{f32}{f32} x) (get<1,2>{f32}{f32} x)) (zip<2>[n]{f32}{f32} xs ys) tmp.1; …)
//! ```
//!
//! Every name that a program binds is bound once, so substitution never captures.

use crate::prim::Prim;
use crate::ty::{Data, Kind, Nat, PhraseType};
use almach_base::{Name, Span};

#[derive(Clone, PartialEq, Debug)]
pub enum Phrase {
    Var(Name),
    /// A primitive with its arguments of kinds `nat` and `data`.
    Prim(Box<Instance>),
    Lam(Name, Box<PhraseType>, Box<Phrase>),
    App(Box<Phrase>, Box<Phrase>),
    TypeLam(Name, Kind, Box<Phrase>),
    NatApp(Box<Phrase>, Nat),
    DataApp(Box<Phrase>, Data),
    Pair(Box<Phrase>, Box<Phrase>),
    Project(Side, Box<Phrase>),
    /// The same phrase, made from that place in the source.
    At(Span, Box<Phrase>),
}

/// Component 1 or 2 of a phrase pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    First,
    Second,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Instance {
    pub prim: Prim,
    pub nats: Vec<Nat>,
    pub datas: Vec<Data>,
}

/// Stores of recursive data, and procedures, each closed but for other procedures.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub stores: Vec<crate::store::Store>,
    pub procs: Vec<Proc>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Proc {
    pub name: Name,
    pub ty: PhraseType,
    pub body: Phrase,
    pub span: Span,
}

impl Phrase {
    pub fn var(name: impl Into<Name>) -> Phrase {
        Phrase::Var(name.into())
    }

    pub fn prim(prim: Prim, nats: Vec<Nat>, datas: Vec<Data>) -> Phrase {
        Phrase::Prim(Box::new(Instance { prim, nats, datas }))
    }

    /// This phrase applied to an argument.
    pub fn app(self, argument: Phrase) -> Phrase {
        Phrase::App(Box::new(self), Box::new(argument))
    }

    pub fn apply(self, arguments: impl IntoIterator<Item = Phrase>) -> Phrase {
        arguments.into_iter().fold(self, Phrase::app)
    }

    pub fn lam(name: Name, ty: PhraseType, body: Phrase) -> Phrase {
        Phrase::Lam(name, Box::new(ty), Box::new(body))
    }

    pub fn nat_lam(name: Name, body: Phrase) -> Phrase {
        Phrase::TypeLam(name, Kind::Nat, Box::new(body))
    }

    pub fn pair(left: Phrase, right: Phrase) -> Phrase {
        Phrase::Pair(Box::new(left), Box::new(right))
    }

    /// The acceptor of a variable.
    pub fn writer(self) -> Phrase {
        Phrase::Project(Side::First, Box::new(self))
    }

    /// The expression of a variable.
    pub fn reader(self) -> Phrase {
        Phrase::Project(Side::Second, Box::new(self))
    }

    /// Marks a phrase with its place in the source.
    pub fn at(self, span: Span) -> Phrase {
        match span.is_none() {
            true => self,
            false => Phrase::At(span, Box::new(self)),
        }
    }

    /// The phrase below any marks.
    pub fn unmarked(&self) -> &Phrase {
        match self {
            Phrase::At(_, inner) => inner.unmarked(),
            _ => self,
        }
    }

    /// A phrase seen as a head with its arguments, outermost last; marks on the way are skipped.
    pub fn spine(&self) -> (&Phrase, Vec<&Phrase>) {
        let mut head = self.unmarked();
        let mut arguments = Vec::new();
        while let Phrase::App(function, argument) = head {
            arguments.push(&**argument);
            head = function.unmarked();
        }
        arguments.reverse();
        (head, arguments)
    }
}
