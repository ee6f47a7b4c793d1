//! Stage II (paper, section 4.2): from imperative combinators to loops.
//!
//! ```text
//! mapI<par> F E A     ~~>  parfor<par> A (\i o. F (idx E i) o)
//! reduceI F I E C     ~~>  new acc. acc.1 := I; for n (\i. F (idx E i) acc.2 acc.1); C acc.2
//! ```
//!
//! The paper's `reduceI` hands both halves of its accumulator to a function that is told they do not interfere. That is
//! only right where the function reads the one before it writes the other: where it is a single assignment. In all other
//! cases the new value goes to a variable of its own first (the correction is listed in the documentation).
//!
//! Combinators that communicate between iterations (`scanI` …) become loops at level `seq`. At a parallel level no loop
//! of Dpia can say what they do: they stay, and stage III knows their mechanism (`stage3/collectives.rs`).
//!
//! Removes: `mapI`, `reduceI`, and at level `seq` `scanI`, `filterI`, `partitionI`, `scatterI`, `permuteI`, `reduceByIndexI`.
//! Introduces: `for`, `parfor`, their variables. Guarantees: the result passes the interference check again.

mod collectives;
pub(crate) use collectives::{for_threads, is_flat, same_scalar};
mod substitute;

use almach_base::Name;
use almach_dpia::{Data, Instance, Nat, Phrase, PhraseType, Prim, Proc, Program, Space, build};
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType};
use std::collections::HashMap;
use substitute::substitute;

/// Replaces every combinator by loops.
pub(crate) fn to_loops(program: &Program) -> Program {
    let procs = program.procs.iter().enumerate().map(|(at, proc)| {
        let mut stage = Stage {
            next: 0,
            prefix: format!("l{at}"),
            parallel: ParallelOnes::Stay,
            results: HashMap::new(),
        };
        Proc {
            body: stage.phrase(&proc.body),
            ..proc.clone()
        }
    });
    Program {
        stores: program.stores.clone(),
        procs: procs.collect(),
    }
}

/// The loops that define a combinator, whatever its level.
pub(crate) fn reference(phrase: &Phrase, prefix: String) -> Phrase {
    let mut stage = Stage {
        next: 0,
        prefix,
        parallel: ParallelOnes::Expand,
        results: HashMap::new(),
    };
    stage.phrase(phrase)
}

pub(crate) struct Stage {
    next: u32,
    prefix: String,
    parallel: ParallelOnes,
    /// What stands for the results of reductions in what comes after them. A continuation is the rest of the program, so it is
    /// walked once, and not once more for each reduction before it. Names are bound once, so nothing is captured.
    results: HashMap<Name, Phrase>,
}

/// What happens to combinators that communicate between iterations that run at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParallelOnes {
    Stay,
    Expand,
}

impl Stage {
    pub(crate) fn fresh(&mut self, stem: &str) -> Name {
        self.next += 1;
        Name::from(format!("{stem}_{}_{}", self.prefix, self.next))
    }

    pub(crate) fn phrase(&mut self, phrase: &Phrase) -> Phrase {
        match phrase {
            Phrase::At(span, inner) => self.phrase(inner).at(*span),
            Phrase::Var(name) => self.results.get(name).unwrap_or(phrase).clone(),
            Phrase::Prim(instance) => {
                let mut instance = instance.clone();
                if let Prim::NewIn(homes) = &mut instance.prim {
                    for home in homes {
                        home.substitute(|found| self.results.get(found).cloned());
                    }
                }
                Phrase::Prim(instance)
            }
            Phrase::Lam(name, ty, body) => Phrase::lam(name.clone(), (**ty).clone(), self.phrase(body)),
            Phrase::TypeLam(name, kind, body) => {
                Phrase::TypeLam(name.clone(), *kind, Box::new(self.phrase(body)))
            }
            Phrase::NatApp(inner, nat) => Phrase::NatApp(Box::new(self.phrase(inner)), nat.clone()),
            Phrase::DataApp(inner, data) => Phrase::DataApp(Box::new(self.phrase(inner)), data.clone()),
            Phrase::Pair(left, right) => Phrase::pair(self.phrase(left), self.phrase(right)),
            Phrase::Project(side, inner) => Phrase::Project(*side, Box::new(self.phrase(inner))),
            Phrase::App(function, argument) => match self.combinator(phrase) {
                Some(loops) => loops,
                None => self.phrase(function).app(self.phrase(argument)),
            },
        }
    }

    /// The loops of a combinator that has all its arguments.
    fn combinator(&mut self, phrase: &Phrase) -> Option<Phrase> {
        let (head, arguments) = phrase.spine();
        let Phrase::Prim(instance) = head else {
            return None;
        };
        let Instance { prim, nats, datas } = &**instance;
        let size = || nats.first().cloned();
        match (prim, arguments.as_slice()) {
            (Prim::MapI(level), [function, array, acceptor]) => {
                let [from, to] = datas.as_slice() else {
                    return None;
                };
                let (function, array, acceptor) =
                    (self.phrase(function), self.phrase(array), self.phrase(acceptor));
                Some(self.map(*level, size()?, (from, to), function, array, acceptor))
            }
            (Prim::ReduceI, [function, start, array, then]) => {
                let [from, to] = datas.as_slice() else {
                    return None;
                };
                let parts = Reduction {
                    function: self.phrase(function),
                    start: self.phrase(start),
                    array: self.phrase(array),
                };
                Some(self.reduce(size()?, (from, to), parts, then))
            }
            _ if self.parallel == ParallelOnes::Stay && collectives::has_mechanism(prim, datas) => None,
            _ => collectives::expand(self, prim, nats, datas, &arguments),
        }
    }

    pub(crate) fn map(
        &mut self,
        level: Level,
        size: Nat,
        (from, to): (&Data, &Data),
        function: Phrase,
        array: Phrase,
        acceptor: Phrase,
    ) -> Phrase {
        let i = self.fresh("i");
        let element = build::idx(size.clone(), from.clone(), array, Phrase::Var(i.clone()));
        if level == Level::Seq {
            let place = build::idx_acc(size.clone(), to.clone(), acceptor, Phrase::Var(i.clone()));
            return build::for_loop(size, i, apply(function, [element, place]));
        }
        // The place of the result keeps the name the function gives it.
        match function {
            Phrase::Lam(x, x_type, inner) => match *inner {
                Phrase::Lam(o, _, body) => {
                    let body = apply(Phrase::Lam(x, x_type, body), [element]);
                    build::parfor(level, size, to.clone(), acceptor, (i, o), body)
                }
                other => {
                    let function = Phrase::Lam(x, x_type, Box::new(other));
                    self.parallel_call(level, size, to, acceptor, i, function, element)
                }
            },
            other => self.parallel_call(level, size, to, acceptor, i, other, element),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one loop")]
    fn parallel_call(
        &mut self,
        level: Level,
        size: Nat,
        to: &Data,
        acceptor: Phrase,
        i: Name,
        function: Phrase,
        element: Phrase,
    ) -> Phrase {
        let o = self.fresh("o");
        let body = apply(function, [element, Phrase::Var(o.clone())]);
        build::parfor(level, size, to.clone(), acceptor, (i, o), body)
    }

    fn reduce(&mut self, size: Nat, (from, to): (&Data, &Data), parts: Reduction, then: &Phrase) -> Phrase {
        let (accumulator, i) = (self.fresh("acc"), self.fresh("i"));
        let acc = Phrase::Var(accumulator.clone());
        let element = build::idx(size.clone(), from.clone(), parts.array, Phrase::Var(i.clone()));
        let begin = build::assign(to.clone(), acc.clone().writer(), parts.start);
        let end = self.after(then, acc.clone().reader());
        let with_acc = |step: Phrase| {
            let run = build::for_loop(size, i, step);
            build::seq_all([begin, run, end])
        };
        let body = match single_assignment(&parts.function, &acc, to) {
            Some(function) => with_acc(apply(function, [element])),
            None => {
                let next_name = self.fresh("next");
                let next = Phrase::Var(next_name.clone());
                let compute = apply(
                    parts.function,
                    [element, acc.clone().reader(), next.clone().writer()],
                );
                let advance =
                    Phrase::prim(Prim::Move, vec![], vec![to.clone()]).app(Phrase::pair(acc.clone(), next));
                let loops = with_acc(build::seq(compute, advance));
                build::new(Space::Any, to.clone(), next_name, loops)
            }
        };
        build::new(Space::Any, to.clone(), accumulator, body)
    }

    /// What comes after a reduction, with its result.
    fn after(&mut self, then: &Phrase, result: Phrase) -> Phrase {
        match then {
            Phrase::Lam(name, _, body) => {
                self.results.insert(name.clone(), result);
                self.phrase(body)
            }
            other => self.phrase(other).app(result),
        }
    }
}

struct Reduction {
    function: Phrase,
    start: Phrase,
    array: Phrase,
}

/// `\x. \y. \o. o := E` as `\x. acc.1 := E[acc.2/y]`, at types that are assigned at once.
fn single_assignment(function: &Phrase, acc: &Phrase, data: &Data) -> Option<Phrase> {
    if !data.is_base() {
        return None;
    }
    let Phrase::Lam(x, x_type, inner) = function.unmarked() else {
        return None;
    };
    let Phrase::Lam(y, _, inner) = inner.unmarked() else {
        return None;
    };
    let Phrase::Lam(o, _, body) = inner.unmarked() else {
        return None;
    };
    let (head, arguments) = body.spine();
    match (head, arguments.as_slice()) {
        (Phrase::Prim(instance), [pair]) if instance.prim == Prim::Assign => match pair.unmarked() {
            Phrase::Pair(place, value) if **place == Phrase::Var(o.clone()) => {
                let value = substitute(value, y, &acc.clone().reader());
                let body = build::assign(data.clone(), acc.clone().writer(), value);
                Some(Phrase::Lam(x.clone(), x_type.clone(), Box::new(body)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A function at arguments: those that are names or parts of names are put in place, others stay redexes.
pub(crate) fn apply(function: Phrase, arguments: impl IntoIterator<Item = Phrase>) -> Phrase {
    let mut pending: Vec<(Name, PhraseType, Phrase)> = Vec::new();
    let mut result = function;
    for argument in arguments {
        result = match result {
            Phrase::Lam(name, ty, body) => match is_name(&argument) {
                true => substitute(&body, &name, &argument),
                false => {
                    pending.push((name, *ty, argument));
                    *body
                }
            },
            other => other.app(argument),
        };
    }
    for (name, ty, argument) in pending.into_iter().rev() {
        result = build::let_in(name, ty, argument, result);
    }
    result
}

fn is_name(phrase: &Phrase) -> bool {
    match phrase.unmarked() {
        Phrase::Var(_) => true,
        Phrase::Project(_, inner) => is_name(inner),
        _ => false,
    }
}

pub(crate) fn int(value: i64) -> Phrase {
    build::literal(Scalar::I64(value))
}

pub(crate) fn binary(op: BinOp, on: ScalarType, left: Phrase, right: Phrase) -> Phrase {
    let operand = almach_dpia::Operand::scalar(on);
    Phrase::prim(Prim::Binary(op, operand), vec![], vec![]).apply([left, right])
}
