//! Commands to statements (Fig. 6a).

mod control;
mod copies;
mod variables;

pub(crate) use variables::resized;

use super::data::Owner;
use super::{Binding, Generator};
use crate::cells::{reach_of_name, table_of_name};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, PhraseType, Prim, Side, Space};
use almach_imp::{Expr, Index, Stmt};
use almach_value::{Scalar, ScalarType};
use std::rc::Rc;

impl Generator<'_> {
    pub(crate) fn command(&mut self, phrase: &Phrase) -> Lowering<()> {
        if let Phrase::At(span, inner) = phrase {
            let outer = std::mem::replace(&mut self.span, *span);
            self.emit(Stmt::At(*span));
            self.command(inner)?;
            self.span = outer;
            return Ok(());
        }
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Lam(..) => self.redex(head, &arguments),
            Phrase::Prim(instance) => self.prim_command(instance, &arguments),
            Phrase::Project(side, inner) => match (side, inner.unmarked()) {
                (Side::First, Phrase::Pair(part, _)) | (Side::Second, Phrase::Pair(_, part)) => {
                    self.command(part)
                }
                _ => self.bug("a component that is no command"),
            },
            _ => self.call(head, &arguments),
        }
    }

    /// A function written in place, at arguments. Scalars are computed once; all else is another name for its phrase.
    fn redex(&mut self, function: &Phrase, arguments: &[&Phrase]) -> Lowering<()> {
        let mut body = function.unmarked();
        let mut rest = arguments.iter();
        while let Phrase::Lam(name, ty, inner) = body {
            let Some(argument) = rest.next() else {
                break;
            };
            let binding = match &**ty {
                PhraseType::Exp(data @ (Data::Scalar(_) | Data::Index(_))) => {
                    Binding::Scalar(self.computed(name, data, argument)?)
                }
                _ => self.alias(argument),
            };
            self.bindings.insert(name.clone(), binding);
            body = inner.unmarked();
        }
        match rest.as_slice() {
            [] => self.command(body),
            more => self.command(&body.clone().apply(more.iter().map(|phrase| (*phrase).clone()))),
        }
    }

    fn alias(&self, argument: &Phrase) -> Binding {
        match argument.unmarked() {
            Phrase::Var(name) => match self.bindings.get(name) {
                Some(binding) => binding.clone(),
                None => Binding::Alias(Rc::new(argument.clone()), Vec::new()),
            },
            _ => Binding::Alias(Rc::new(argument.clone()), Vec::new()),
        }
    }

    /// A scalar under a name, unless it has one already.
    fn computed(&mut self, name: &Name, data: &Data, argument: &Phrase) -> Lowering<Expr> {
        let value = self.read(argument, Vec::new())?;
        let ty = match data {
            Data::Scalar(scalar) => *scalar,
            _ => ScalarType::I64,
        };
        Ok(match value {
            Expr::Const(_) => value,
            Expr::Var(ref known) if !self.assigned.contains(known) => value,
            Expr::Index(_) => value,
            _ => {
                self.emit(Stmt::Let {
                    name: name.clone(),
                    ty,
                    value,
                });
                Expr::Var(name.clone())
            }
        })
    }

    fn prim_command(&mut self, instance: &Instance, arguments: &[&Phrase]) -> Lowering<()> {
        let pair = |phrase: &Phrase| match phrase.unmarked() {
            Phrase::Pair(left, right) => Some(((**left).clone(), (**right).clone())),
            _ => None,
        };
        match (&instance.prim, arguments) {
            (Prim::Skip, []) => Ok(()),
            (Prim::Seq, [both]) => match both.unmarked() {
                Phrase::Pair(first, second) => {
                    self.command(first)?;
                    self.command(second)
                }
                _ => self.bug("a sequence of something else"),
            },
            (Prim::Assign, [both]) => match (pair(both), instance.datas.as_slice()) {
                (Some((acceptor, exp)), [data]) => self.assign(data, &acceptor, Vec::new(), &exp, Vec::new()),
                _ => self.bug("an assignment of something else"),
            },
            (Prim::New(space), [body]) => self.new_variable(*space, &[], instance, body),
            (Prim::NewIn(homes), [body]) => self.new_variable(Space::Any, homes, instance, body),
            (Prim::NewGrowing, [body]) => self.new_growing(body),
            (Prim::Append, [cell, count, body]) => self.append(cell, count, body),
            (Prim::For, [body]) => self.for_loop(instance, body),
            (Prim::ParFor(level), [acceptor, body]) => self.parfor(*level, instance, acceptor, body),
            (Prim::ParRows(level), [bounds, acceptor, body]) => {
                self.rows_in_places(*level, instance, bounds, acceptor, body)
            }
            (Prim::If, [all]) => match pair(all).and_then(|(c, branches)| Some((c, pair(&branches)?))) {
                Some((condition, (then, otherwise))) => self.branch(&condition, &then, &otherwise),
                None => self.bug("a branch of something else"),
            },
            (Prim::While, [both]) => match pair(both) {
                Some((condition, body)) => self.while_loop(&condition, &body),
                None => self.bug("a loop of something else"),
            },
            (Prim::Check(site, _), [condition, values @ ..]) => self.check(site, condition, values),
            (Prim::Construct(row), [columns @ .., out]) => self.construct(row, columns, out),
            (Prim::NewTable(level, store, _), [function, out]) => {
                self.new_table((*level, Owner::Run), store, instance, function, out)
            }
            (Prim::NewCells(level, store, _), [function, out]) => {
                self.new_table((*level, Owner::Nobody), store, instance, function, out)
            }
            (Prim::NewGroup(level, store, _), [function, out]) => {
                self.new_table((*level, Owner::Said), store, instance, function, out)
            }
            (Prim::NewRows(level, store, _), [function, out]) => {
                self.new_rows(*level, store, instance, function, out)
            }
            (Prim::TableOf(store), [cell, out]) => self.table_of(table_of_name(store), store, cell, out),
            (Prim::OrderOf(store), [cell, out, back]) => self.order_of(store, cell, out, back),
            (Prim::OrderIn(width), [links, root, out, back]) => {
                self.order_in(*width, instance, (links, root), (out, back))
            }
            (Prim::ReachOf(store), [cell, out]) => self.table_of(reach_of_name(store), store, cell, out),
            (Prim::GroupOf(store), [cell, out]) => self.group_of(store, cell, out),
            (Prim::Trace(label, ty), [value]) => self.trace(label, ty, instance, value),
            (Prim::Foreign(function), arguments) => self.foreign(function, instance, arguments),
            (Prim::LetNat, [value, body]) => self.let_nat(value, body),
            (Prim::Fill, [cell, rest @ ..]) => self.fill(cell, rest),
            (Prim::Open, [cell, body]) => self.open(cell, body),
            (Prim::Move, [both]) => match pair(both) {
                Some((to, from)) => self.move_variable(&to, &from),
                None => self.bug("a move of something else"),
            },
            (
                Prim::ScanI(..)
                | Prim::ScanRowsI(..)
                | Prim::ReduceChunksI(..)
                | Prim::FilterI(..)
                | Prim::PartitionI(..)
                | Prim::ScatterI(..)
                | Prim::PermuteI(..)
                | Prim::ReduceByIndexI(..),
                _,
            ) => self.collective(instance, arguments),
            (other, _) => self.bug(format!("VIEW-02: `{}` is no command", other.name())),
        }
    }

    fn let_nat(&mut self, value: &Phrase, body: &Phrase) -> Lowering<()> {
        let Phrase::TypeLam(name, _, inner) = body.unmarked() else {
            return self.bug("a size without a body");
        };
        let value = self.read(value, Vec::new())?;
        let known = match &value {
            Expr::Index(index) => Some(index.clone()),
            Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
            Expr::Var(known) if !self.assigned.contains(known) => Some(Index::var(known.clone())),
            _ => None,
        };
        match known {
            Some(index) => {
                self.nats.insert(name.clone(), index);
            }
            None => self.emit(Stmt::Let {
                name: name.clone(),
                ty: ScalarType::I64,
                value,
            }),
        }
        self.command(inner)
    }
}
