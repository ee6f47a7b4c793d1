//! Short ways to write the phrases that translations make.

use crate::phrase::Phrase;
use crate::prim::{Home, Prim, Space};
use crate::ty::{Data, Nat, PhraseType};
use almach_base::Name;
use almach_prim::Level;
use almach_value::{Scalar, ScalarType};

pub fn skip() -> Phrase {
    Phrase::prim(Prim::Skip, vec![], vec![])
}

/// `first; second`, without the `skip`s.
pub fn seq(first: Phrase, second: Phrase) -> Phrase {
    match (is_skip(&first), is_skip(&second)) {
        (true, _) => second,
        (_, true) => first,
        _ => Phrase::prim(Prim::Seq, vec![], vec![]).app(Phrase::pair(first, second)),
    }
}

pub fn seq_all(commands: impl IntoIterator<Item = Phrase>) -> Phrase {
    let mut commands: Vec<Phrase> = commands.into_iter().collect();
    let Some(mut result) = commands.pop() else {
        return skip();
    };
    while let Some(command) = commands.pop() {
        result = seq(command, result);
    }
    result
}

fn is_skip(phrase: &Phrase) -> bool {
    matches!(phrase.unmarked(), Phrase::Prim(instance) if instance.prim == Prim::Skip)
}

/// `acceptor := expression` at any data type.
pub fn assign(data: Data, acceptor: Phrase, expression: Phrase) -> Phrase {
    Phrase::prim(Prim::Assign, vec![], vec![data]).app(Phrase::pair(acceptor, expression))
}

/// `new{δ} (\name: var[δ]. body)`.
pub fn new(space: Space, data: Data, name: Name, body: Phrase) -> Phrase {
    Phrase::prim(Prim::New(space), vec![], vec![data.clone()]).app(Phrase::lam(
        name,
        PhraseType::var(data),
        body,
    ))
}

/// `new<in b 0>[start]{δ} (\name: var[δ]. body)`: a variable whose buffers are parts of others'.
pub fn new_in(homes: Vec<Home>, numbers: Vec<Nat>, data: Data, name: Name, body: Phrase) -> Phrase {
    Phrase::prim(Prim::NewIn(homes), numbers, vec![data.clone()]).app(Phrase::lam(
        name,
        PhraseType::var(data),
        body,
    ))
}

/// `newGrowing{δ} (\name: var[some k. k.δ]. body)`.
pub fn new_growing(element: Data, name: Name, body: Phrase) -> Phrase {
    let size = Name::from("k'");
    let array = Data::array(Nat::var(size.clone()), element.clone());
    let cell = Data::Some(vec![size], Box::new(array));
    Phrase::prim(Prim::NewGrowing, vec![], vec![element]).app(Phrase::lam(name, PhraseType::var(cell), body))
}

pub fn for_loop(size: Nat, index: Name, body: Phrase) -> Phrase {
    let ty = PhraseType::Exp(Data::Index(size.clone()));
    Phrase::prim(Prim::For, vec![size], vec![]).app(Phrase::lam(index, ty, body))
}

/// `parfor<level>[n]{δ} acceptor (\index. \out. body)`.
pub fn parfor(
    level: Level,
    size: Nat,
    data: Data,
    acceptor: Phrase,
    (index, out): (Name, Name),
    body: Phrase,
) -> Phrase {
    let inner = Phrase::lam(out, PhraseType::Acc(data.clone()), body);
    let function = Phrase::lam(index, PhraseType::Exp(Data::Index(size.clone())), inner);
    Phrase::prim(Prim::ParFor(level), vec![size], vec![data]).apply([acceptor, function])
}

/// `parrows<level>[n][k]{δ} bounds acceptor (\index. /\length. \out. body)`, where `sizes` are `n` and `k`.
pub fn parrows(
    level: Level,
    sizes: [Nat; 2],
    element: Data,
    (bounds, acceptor): (Phrase, Phrase),
    (index, length, out): (Name, Name, Name),
    body: Phrase,
) -> Phrase {
    let row = Data::array(Nat::var(length.clone()), element.clone());
    let inner = Phrase::nat_lam(length, Phrase::lam(out, PhraseType::Acc(row), body));
    let function = Phrase::lam(index, PhraseType::Exp(Data::Index(sizes[0].clone())), inner);
    let rows = Phrase::prim(Prim::ParRows(level), sizes.to_vec(), vec![element]);
    rows.apply([bounds, acceptor, function])
}

pub fn if_then_else(condition: Phrase, then: Phrase, otherwise: Phrase) -> Phrase {
    Phrase::prim(Prim::If, vec![], vec![]).app(Phrase::pair(condition, Phrase::pair(then, otherwise)))
}

pub fn while_loop(condition: Phrase, body: Phrase) -> Phrase {
    Phrase::prim(Prim::While, vec![], vec![]).app(Phrase::pair(condition, body))
}

/// `let` as a redex: the argument may not interfere with what the body does.
pub fn let_in(name: Name, ty: PhraseType, value: Phrase, body: Phrase) -> Phrase {
    Phrase::lam(name, ty, body).app(value)
}

pub fn literal(scalar: Scalar) -> Phrase {
    Phrase::prim(Prim::Literal(scalar), vec![], vec![])
}

/// A size as an `i64` expression.
pub fn nat_value(nat: Nat) -> Phrase {
    Phrase::prim(Prim::NatValue, vec![nat], vec![])
}

pub fn idx(size: Nat, element: Data, array: Phrase, index: Phrase) -> Phrase {
    Phrase::prim(Prim::Idx, vec![size], vec![element]).apply([array, index])
}

pub fn idx_acc(size: Nat, element: Data, array: Phrase, index: Phrase) -> Phrase {
    Phrase::prim(Prim::IdxAcc, vec![size], vec![element]).apply([array, index])
}

pub fn to_index(size: Nat, value: Phrase) -> Phrase {
    Phrase::prim(Prim::ToIndex, vec![size], vec![]).app(value)
}

pub fn of_index(size: Nat, index: Phrase) -> Phrase {
    Phrase::prim(Prim::OfIndex, vec![size], vec![]).app(index)
}

/// Component `at` of a tuple expression of these types.
pub fn get(at: usize, parts: &[Data], tuple: Phrase) -> Phrase {
    Phrase::prim(Prim::Get(at, parts.len()), vec![], parts.to_vec()).app(tuple)
}

pub fn tuple(parts: &[Data], components: Vec<Phrase>) -> Phrase {
    Phrase::prim(Prim::Tuple(parts.len()), vec![], parts.to_vec()).apply(components)
}

pub fn tuple_acc(at: usize, parts: &[Data], acceptor: Phrase) -> Phrase {
    Phrase::prim(Prim::TupleAcc(at, parts.len()), vec![], parts.to_vec()).app(acceptor)
}

/// `letNat value (/\name: nat. body)`.
pub fn let_nat(value: Phrase, name: Name, body: Phrase) -> Phrase {
    Phrase::prim(Prim::LetNat, vec![], vec![]).apply([value, Phrase::nat_lam(name, body)])
}

/// The lanes of a vector as an array.
pub fn lanes(width: u32, scalar: ScalarType, vector: Phrase) -> Phrase {
    let one = vec![Nat::one()];
    let alone = Phrase::prim(Prim::Replicate, one.clone(), vec![Data::Vector(width, scalar)]).app(vector);
    Phrase::prim(Prim::AsScalar(width, scalar), one, vec![]).app(alone)
}
