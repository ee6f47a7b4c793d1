//! Kinds and types (DPIA paper, Figures 1 and 2).
//!
//! Data types classify data, phrase types the parts of a program by the interface they offer. Differences to the
//! paper: tuples have any number of components, numbers come in Almach's scalar types, and `some n. δ` is a cell that
//! holds sizes and data of those sizes (results whose size is not known beforehand).

use almach_base::Name;
use almach_nat::Poly;
use almach_value::ScalarType;
use std::collections::BTreeMap;

/// A term of kind `nat`: equal when equal for all values of its variables (Fig. 1c).
pub type Nat = Poly<Name>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Nat,
    Data,
}

/// Data types δ (Fig. 1e).
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    Scalar(ScalarType),
    /// `idx[n]`: a number below `n`.
    Index(Nat),
    /// `n.δ`.
    Array(Nat, Box<Data>),
    /// `(δ, δ')`; `()` has no components.
    Tuple(Vec<Data>),
    /// `f32<4>` (section 6.2).
    Vector(u32, ScalarType),
    /// `some n m. δ`: a cell that holds sizes and an owned block of that shape.
    Some(Vec<Name>, Box<Data>),
    Var(Name),
}

/// Phrase types θ (Fig. 1f).
#[derive(Clone, PartialEq, Debug)]
pub enum PhraseType {
    Exp(Data),
    Acc(Data),
    Comm,
    /// Two ways to use one resource.
    Product(Box<PhraseType>, Box<PhraseType>),
    Fun(Arrow, Box<PhraseType>, Box<PhraseType>),
    /// `(n: nat) -> θ` and `(s: data) -> θ`.
    Dependent(Name, Kind, Box<PhraseType>),
}

/// `->` or `->p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrow {
    Plain,
    Passive,
}

/// What variables of kinds `nat` and `data` stand for, all at once.
#[derive(Clone, Default, Debug)]
pub struct Substitution {
    pub nats: BTreeMap<Name, Nat>,
    pub datas: BTreeMap<Name, Data>,
}

impl Data {
    pub fn array(size: Nat, element: Data) -> Data {
        Data::Array(size, Box::new(element))
    }

    pub fn subst(&self, by: &Substitution) -> Data {
        match self {
            Data::Scalar(_) | Data::Vector(..) => self.clone(),
            Data::Index(n) => Data::Index(subst_nat(n, by)),
            Data::Array(n, element) => Data::array(subst_nat(n, by), element.subst(by)),
            Data::Tuple(parts) => Data::Tuple(parts.iter().map(|part| part.subst(by)).collect()),
            Data::Some(bound, body) => {
                let inner = by.without(bound);
                Data::Some(bound.clone(), Box::new(body.subst(&inner)))
            }
            Data::Var(name) => by.datas.get(name).cloned().unwrap_or_else(|| self.clone()),
        }
    }

    /// Equality up to the names that `some` binds.
    pub fn equal(&self, other: &Data) -> bool {
        match (self, other) {
            (Data::Some(left, a), Data::Some(right, b)) => {
                left.len() == right.len() && {
                    let mut renaming = Substitution::default();
                    for (from, to) in right.iter().zip(left) {
                        renaming.nats.insert(from.clone(), Nat::var(to.clone()));
                    }
                    a.equal(&b.subst(&renaming))
                }
            }
            (Data::Array(n, a), Data::Array(m, b)) => n == m && a.equal(b),
            (Data::Tuple(left), Data::Tuple(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.equal(b))
            }
            _ => self == other,
        }
    }

    /// Whether values of this type fit in one assignment.
    pub fn is_base(&self) -> bool {
        matches!(self, Data::Scalar(_) | Data::Index(_) | Data::Vector(..))
    }

    /// For each buffer or scalar of a variable of this type, how many dimensions it has.
    pub fn ranks(&self) -> Vec<usize> {
        match self {
            Data::Scalar(_) | Data::Index(_) | Data::Vector(..) | Data::Var(_) => vec![0],
            Data::Tuple(parts) => parts.iter().flat_map(Data::ranks).collect(),
            Data::Array(_, element) => element.ranks().into_iter().map(|rank| rank + 1).collect(),
            Data::Some(_, body) => body.ranks(),
        }
    }

    /// Calls `visit` on every free size variable.
    pub fn free_nats(&self, bound: &mut Vec<Name>, visit: &mut impl FnMut(&Name)) {
        let mut sizes = |n: &Nat, bound: &[Name]| {
            for name in n.free_vars() {
                if !bound.contains(name) {
                    visit(name);
                }
            }
        };
        match self {
            Data::Scalar(_) | Data::Vector(..) | Data::Var(_) => {}
            Data::Index(n) => sizes(n, bound),
            Data::Array(n, element) => {
                sizes(n, bound);
                element.free_nats(bound, visit);
            }
            Data::Tuple(parts) => parts.iter().for_each(|part| part.free_nats(bound, visit)),
            Data::Some(names, body) => {
                let depth = bound.len();
                bound.extend(names.iter().cloned());
                body.free_nats(bound, visit);
                bound.truncate(depth);
            }
        }
    }
}

impl PhraseType {
    pub fn fun(from: PhraseType, to: PhraseType) -> PhraseType {
        PhraseType::Fun(Arrow::Plain, Box::new(from), Box::new(to))
    }

    pub fn passive_fun(from: PhraseType, to: PhraseType) -> PhraseType {
        PhraseType::Fun(Arrow::Passive, Box::new(from), Box::new(to))
    }

    pub fn product(left: PhraseType, right: PhraseType) -> PhraseType {
        PhraseType::Product(Box::new(left), Box::new(right))
    }

    /// `var[δ] = acc[δ] × exp[δ]` (Fig. 4b): component 1 writes, component 2 reads.
    pub fn var(data: Data) -> PhraseType {
        PhraseType::product(PhraseType::Acc(data.clone()), PhraseType::Exp(data))
    }

    /// Passive types (Fig. 2): phrases that only read.
    pub fn is_passive(&self) -> bool {
        match self {
            PhraseType::Exp(_) => true,
            PhraseType::Acc(_) | PhraseType::Comm => false,
            PhraseType::Product(left, right) => left.is_passive() && right.is_passive(),
            PhraseType::Fun(Arrow::Passive, ..) => true,
            PhraseType::Fun(Arrow::Plain, _, result) => result.is_passive(),
            PhraseType::Dependent(_, _, result) => result.is_passive(),
        }
    }

    pub fn subst(&self, by: &Substitution) -> PhraseType {
        match self {
            PhraseType::Exp(data) => PhraseType::Exp(data.subst(by)),
            PhraseType::Acc(data) => PhraseType::Acc(data.subst(by)),
            PhraseType::Comm => PhraseType::Comm,
            PhraseType::Product(left, right) => PhraseType::product(left.subst(by), right.subst(by)),
            PhraseType::Fun(arrow, from, to) => {
                PhraseType::Fun(*arrow, Box::new(from.subst(by)), Box::new(to.subst(by)))
            }
            PhraseType::Dependent(name, kind, body) => {
                let inner = by.without(std::slice::from_ref(name));
                PhraseType::Dependent(name.clone(), *kind, Box::new(body.subst(&inner)))
            }
        }
    }

    /// Whether a phrase of this type may stand where `wanted` is asked for: equality (CONV), and a passive function
    /// where any function will do (DERELICT, below other constructors by η-expansion).
    pub fn fits(&self, wanted: &PhraseType) -> bool {
        match (self, wanted) {
            (PhraseType::Exp(a), PhraseType::Exp(b)) | (PhraseType::Acc(a), PhraseType::Acc(b)) => a.equal(b),
            (PhraseType::Comm, PhraseType::Comm) => true,
            (PhraseType::Product(a, b), PhraseType::Product(c, d)) => a.fits(c) && b.fits(d),
            (PhraseType::Fun(have, a, b), PhraseType::Fun(want, c, d)) => {
                (*have == Arrow::Passive || *want == Arrow::Plain || b.is_passive()) && c.fits(a) && b.fits(d)
            }
            (PhraseType::Dependent(x, k, a), PhraseType::Dependent(y, l, b)) => {
                k == l && {
                    let mut renaming = Substitution::default();
                    match l {
                        Kind::Nat => {
                            renaming.nats.insert(y.clone(), Nat::var(x.clone()));
                        }
                        Kind::Data => {
                            renaming.datas.insert(y.clone(), Data::Var(x.clone()));
                        }
                    }
                    a.fits(&b.subst(&renaming))
                }
            }
            _ => false,
        }
    }
}

impl Substitution {
    pub fn nat(name: Name, by: Nat) -> Substitution {
        let mut result = Substitution::default();
        result.nats.insert(name, by);
        result
    }

    pub fn data(name: Name, by: Data) -> Substitution {
        let mut result = Substitution::default();
        result.datas.insert(name, by);
        result
    }

    fn without(&self, bound: &[Name]) -> Substitution {
        let mut result = self.clone();
        for name in bound {
            result.nats.remove(name);
            result.datas.remove(name);
        }
        result
    }
}

/// A size with its variables replaced.
pub fn subst_nat(nat: &Nat, by: &Substitution) -> Nat {
    nat.substitute(|name| by.nats.get(name).cloned())
}
