//! Where results are built: an array that a body gives, also through views that have an inverse, is computed directly into
//! its place (the fourth group of Fig. 5a: `𝒜(join E)(A) = 𝒜(E)(joinAcc A)`).
//!
//! ```text
//! let parts = map f xss      ~~>   mapI … xss (joinAcc out)
//! let all = join parts
//! in all
//! ```
//!
//! In A-normal form the operand of a view has a name and its own statement, so the places are found before the body is
//! translated, from its results backwards. An array qualifies where the result is its only use.

use super::Translator;
use crate::error::Lowering;
use almach_core::{Atom, Body, Exp, Op, Stmt, Type, Var};
use almach_dpia::{Data, Phrase, Prim, build};
use almach_prim::Prim as Operation;
use std::collections::HashMap;

/// What becomes of the statements and results of a body.
#[derive(Default)]
pub(crate) struct Plan {
    /// Statements, by their number, that compute into these acceptors.
    pub(crate) computed: HashMap<usize, Vec<Phrase>>,
    /// Statements whose view is in the acceptors already.
    pub(crate) absorbed: Vec<usize>,
    /// What is left to assign at the end.
    pub(crate) assigned: Vec<(Atom, Phrase)>,
}

impl Translator<'_> {
    /// Plans a body whose values go to these acceptors. Types are asked of the statements' patterns, since nothing is in
    /// scope yet.
    pub(crate) fn plan(&self, body: &Body, acceptors: &[Phrase]) -> Lowering<Plan> {
        let mut bound: HashMap<&Var, usize> = HashMap::new();
        for (at, stmt) in body.stmts.iter().enumerate() {
            for value in &stmt.pattern.values {
                bound.insert(&value.var, at);
            }
        }
        let mut planner = Planner {
            this: self,
            body,
            bound,
            plan: Plan::default(),
        };
        for (value, acceptor) in body.values.iter().zip(acceptors) {
            planner.place(value, acceptor.clone())?;
        }
        Ok(planner.plan)
    }
}

struct Planner<'a, 't> {
    this: &'a Translator<'t>,
    body: &'a Body,
    bound: HashMap<&'a Var, usize>,
    plan: Plan,
}

impl Planner<'_, '_> {
    /// Finds how an atom gets to an acceptor.
    fn place(&mut self, atom: &Atom, acceptor: Phrase) -> Lowering<()> {
        if let Some((at, stmt)) = self.only_use(atom) {
            if let Some(parts) = self.through(stmt, &acceptor)? {
                self.plan.absorbed.push(at);
                return parts
                    .into_iter()
                    .try_for_each(|(atom, acceptor)| self.place(&atom, acceptor));
            }
            if computes_array(stmt) {
                self.plan.computed.insert(at, vec![acceptor]);
                return Ok(());
            }
        }
        self.plan.assigned.push((atom.clone(), acceptor));
        Ok(())
    }

    /// The statement of this body that binds an atom, and only that, where this is the atom's only use.
    fn only_use(&self, atom: &Atom) -> Option<(usize, &'_ Stmt)> {
        let Atom::Var(var) = atom else {
            return None;
        };
        if self.this.facts.uses(var).count != 1 || self.this.facts.is_size(var) {
            return None;
        }
        let at = *self.bound.get(var)?;
        let stmt = self.body.stmts.get(at)?;
        let alone = stmt.pattern.context.is_empty() && stmt.pattern.values.len() == 1;
        alone.then_some((at, stmt))
    }

    /// The operands of a view with the acceptors that its inverse makes; none where it has no inverse, or has to check
    /// something first.
    fn through(&self, stmt: &Stmt, acceptor: &Phrase) -> Lowering<Option<Vec<(Atom, Phrase)>>> {
        let one = |operand: &Atom, acceptor: Phrase| Ok(Some(vec![(operand.clone(), acceptor)]));
        match &stmt.exp {
            Exp::Tuple(parts) => {
                let Some(types) = self.types_of(parts)? else {
                    return Ok(None);
                };
                let places = parts
                    .iter()
                    .enumerate()
                    .map(|(at, part)| (part.clone(), build::tuple_acc(at, &types, acceptor.clone())));
                Ok(Some(places.collect()))
            }
            Exp::Op(Op {
                prim,
                args,
                annotation,
                ..
            }) if annotation.effect.is_none() => {
                let types = self.types_of(args)?;
                match (prim, args.as_slice(), types.as_deref()) {
                    (Operation::Join, [operand], Some([Data::Array(n, row)])) => match &**row {
                        Data::Array(m, element) => {
                            let nats = vec![n.clone(), m.clone()];
                            let join = Phrase::prim(Prim::JoinAcc, nats, vec![(**element).clone()]);
                            one(operand, join.app(acceptor.clone()))
                        }
                        _ => Ok(None),
                    },
                    (Operation::Transpose, [operand], Some([Data::Array(n, row)])) => match &**row {
                        Data::Array(m, element) => {
                            let nats = vec![n.clone(), m.clone()];
                            let transpose = Phrase::prim(Prim::TransposeAcc, nats, vec![(**element).clone()]);
                            one(operand, transpose.app(acceptor.clone()))
                        }
                        _ => Ok(None),
                    },
                    (Operation::Reverse, [operand], Some([Data::Array(n, element)])) => {
                        let reverse =
                            Phrase::prim(Prim::ReverseAcc, vec![n.clone()], vec![(**element).clone()]);
                        one(operand, reverse.app(acceptor.clone()))
                    }
                    (Operation::AsScalar, [operand], Some([Data::Array(n, element)])) => match &**element {
                        Data::Vector(width, scalar) => {
                            let lanes =
                                Phrase::prim(Prim::AsScalarAcc(*width, *scalar), vec![n.clone()], vec![]);
                            one(operand, lanes.app(acceptor.clone()))
                        }
                        _ => Ok(None),
                    },
                    (Operation::Zip, [a, b], Some([Data::Array(n, left), Data::Array(_, right)])) => {
                        let types = vec![(**left).clone(), (**right).clone()];
                        let zip = |at: usize| {
                            Phrase::prim(Prim::ZipAcc(at, 2), vec![n.clone()], types.clone())
                                .app(acceptor.clone())
                        };
                        Ok(Some(vec![(a.clone(), zip(0)), (b.clone(), zip(1))]))
                    }
                    (Operation::Concat, [a, b], Some([Data::Array(n, element), Data::Array(m, _)])) => {
                        let part = |prim: Prim| {
                            let nats = vec![n.clone(), m.clone()];
                            Phrase::prim(prim, nats, vec![(**element).clone()]).app(acceptor.clone())
                        };
                        Ok(Some(vec![
                            (a.clone(), part(Prim::TakeAcc)),
                            (b.clone(), part(Prim::DropAcc)),
                        ]))
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Types of operands that this body binds or that are in scope already; none where one is unknown here.
    fn types_of(&self, atoms: &[Atom]) -> Lowering<Option<Vec<Data>>> {
        let mut types = Vec::new();
        for atom in atoms {
            let ty = match atom {
                Atom::Const(scalar) => Some(Type::Scalar(scalar.ty())),
                Atom::Var(var) => match self.bound.get(var).and_then(|at| self.body.stmts.get(*at)) {
                    Some(stmt) => {
                        let value = stmt.pattern.values.iter().find(|value| value.var == *var);
                        value
                            .map(|value| value.ty.clone())
                            .filter(|ty| self.sizes_are_outside(ty))
                    }
                    None => self.this.env.atom_type(atom).ok(),
                },
            };
            match ty {
                Some(ty) => types.push(self.this.data(&ty)?),
                None => return Ok(None),
            }
        }
        Ok(Some(types))
    }

    /// Whether a type's sizes are known before the body starts: others have no name yet, or another one.
    fn sizes_are_outside(&self, ty: &Type) -> bool {
        !ty.mentions(&|var| self.bound.contains_key(var) || self.binds_size(var))
    }

    fn binds_size(&self, var: &Var) -> bool {
        self.body
            .stmts
            .iter()
            .any(|stmt| stmt.pattern.context.contains(var))
    }
}

/// Whether a statement computes one array into a place of its choice.
fn computes_array(stmt: &Stmt) -> bool {
    let array = stmt
        .pattern
        .values
        .iter()
        .all(|value| matches!(value.ty, Type::Array(..)));
    array
        && match &stmt.exp {
            Exp::Op(op) => matches!(
                op.prim,
                Operation::Map
                    | Operation::Scan
                    | Operation::ScanExclusive
                    | Operation::Gather
                    | Operation::Permute
                    | Operation::Materialise
            ),
            Exp::If { .. } | Exp::Case { .. } | Exp::Call { .. } | Exp::Array(..) | Exp::Update { .. } => {
                true
            }
            _ => false,
        }
}
