//! Calls of procedures: arguments are passed as they lie in memory, or brought into a piece of memory first.

use super::expressions::index_expr;
use super::storage::{self, LeafStep, Place, Storage, Tree};
use super::{Binding, Generator, Path, Step};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Kind, Phrase, PhraseType, Space, Substitution};
use almach_imp::{Argument, Expr, Index, LoopMode, Stmt};
use std::rc::Rc;

impl Generator<'_> {
    pub(crate) fn call(&mut self, head: &Phrase, arguments: &[&Phrase]) -> Lowering<()> {
        let mut sizes = Vec::new();
        let mut function = head;
        while let Phrase::NatApp(inner, nat) = function {
            sizes.push(self.size(nat));
            function = inner.unmarked();
        }
        sizes.reverse();
        let Phrase::Var(name) = function else {
            return self.bug(format!("`{head}` is no command"));
        };
        let program = self.program;
        let Some(proc) = program.procs.iter().find(|proc| proc.name == *name) else {
            return self.bug(format!("there is no procedure `{name}`"));
        };
        let mut call = Call::default();
        let mut filling = Substitution::default();
        let (mut ty, mut sizes, mut rest) = (&proc.ty, sizes.into_iter(), arguments.iter());
        loop {
            ty = match ty {
                PhraseType::Dependent(bound, Kind::Nat, inner) => {
                    let Some(size) = sizes.next() else {
                        return self.bug(format!("too few sizes for `{name}`"));
                    };
                    call.arguments
                        .push(Argument::Value(index_expr(self.simplify(&size))));
                    filling.nats.insert(bound.clone(), size);
                    inner
                }
                PhraseType::Fun(_, from, to) => {
                    let Some(argument) = rest.next() else {
                        return self.bug(format!("too few arguments for `{name}`"));
                    };
                    match &**from {
                        PhraseType::Exp(data) => self.pass_in(&data.subst(&filling), argument, &mut call)?,
                        PhraseType::Acc(data) => self.pass_out(&data.subst(&filling), argument, &mut call)?,
                        other => return self.bug(format!("a procedure takes a `{other}`")),
                    }
                    to
                }
                _ => break,
            };
        }
        self.emit(Stmt::Call {
            proc: name.clone(),
            arguments: std::mem::take(&mut call.arguments),
            span: self.span,
        });
        self.end_call(call)
    }

    /// What is left to do behind a call.
    pub(super) fn end_call(&mut self, call: Call) -> Lowering<()> {
        for after in call.after {
            after(self)?;
        }
        for buffer in call.temporaries.into_iter().rev() {
            self.emit(Stmt::Free(buffer));
        }
        Ok(())
    }

    pub(super) fn pass_in(&mut self, data: &Data, argument: &Phrase, call: &mut Call) -> Lowering<()> {
        let shape = storage::of(data, &Name::from("argument"));
        for leaf in shape.leaves() {
            if leaf.cells.is_none() {
                let value = self.read(argument, scalar_path(&leaf.path))?;
                call.arguments.push(Argument::Value(value));
                continue;
            }
            let path = scalar_path(&leaf.path);
            if let Some(place) = self.source(argument, path.clone())?
                && let Some((name, index)) = start(&place, &leaf.path)
            {
                let index = self.simplify(&index);
                call.arguments.push(Argument::Buffer(name, index));
                continue;
            }
            let copy = self.temporary(&part(data, &leaf.path), call);
            let to = Phrase::Var(copy.clone());
            let ends = Ends {
                to: (&to, Vec::new()),
                from: (argument, Vec::new()),
                whole: Whole::From,
            };
            self.copy_leaf(&leaf.path, ends)?;
            call.arguments
                .push(Argument::Buffer(self.buffer_of(&copy)?, Index::zero()));
        }
        Ok(())
    }

    pub(super) fn pass_out(&mut self, data: &Data, acceptor: &Phrase, call: &mut Call) -> Lowering<()> {
        if let Data::Some(..) = data {
            let cell = self.cell(acceptor)?;
            call.arguments
                .extend(cell.sizes.iter().cloned().map(Argument::Out));
            let buffers = cell.leaves().into_iter();
            call.arguments.extend(buffers.map(|leaf| match leaf.cells {
                Some(_) => Argument::Owned(leaf.name),
                None => Argument::Out(leaf.name),
            }));
            return Ok(());
        }
        let shape = storage::of(data, &Name::from("result"));
        for leaf in shape.leaves() {
            let path = scalar_path(&leaf.path);
            if leaf.cells.is_some() {
                let plain = self.source(acceptor, path)?;
                match plain.and_then(|place| start(&place, &leaf.path)) {
                    Some((name, index)) => {
                        let index = self.simplify(&index);
                        call.arguments.push(Argument::Buffer(name, index));
                    }
                    None => self.pass_out_copy(data, &leaf.path, acceptor, call)?,
                }
                continue;
            }
            let place = self.target(acceptor, path)?;
            match &place.tree {
                Tree::Scalar(name, _) if place.kept_where.is_empty() => {
                    call.arguments.push(Argument::Out(name.clone()));
                }
                _ => {
                    let name = self.fresh("result");
                    self.assigned.insert(name.clone());
                    self.emit(Stmt::Var {
                        name: name.clone(),
                        ty: leaf.ty,
                        value: None,
                    });
                    call.arguments.push(Argument::Out(name.clone()));
                    call.after
                        .push(Box::new(move |this| this.write(&place, Expr::Var(name))));
                }
            }
        }
        Ok(())
    }

    /// The callee writes to a temporary, which is then copied to where the result belongs.
    fn pass_out_copy(
        &mut self,
        data: &Data,
        path: &[LeafStep],
        acceptor: &Phrase,
        call: &mut Call,
    ) -> Lowering<()> {
        let below = part(data, path);
        let copy = self.temporary(&below, call);
        call.arguments
            .push(Argument::Buffer(self.buffer_of(&copy)?, Index::zero()));
        let (acceptor, path) = (acceptor.clone(), path.to_vec());
        call.after.push(Box::new(move |this| {
            let from = Phrase::Var(copy);
            let ends = Ends {
                to: (&acceptor, Vec::new()),
                from: (&from, Vec::new()),
                whole: Whole::To,
            };
            this.copy_leaf(&path, ends)
        }));
        Ok(())
    }

    /// Copies one leaf, cell by cell, between the whole data and a temporary that holds only this leaf.
    fn copy_leaf(&mut self, path: &[LeafStep], mut ends: Ends<'_>) -> Lowering<()> {
        let Some((step, rest)) = path.split_first() else {
            let value = self.read(ends.from.0, ends.from.1)?;
            let place = self.target(ends.to.0, ends.to.1)?;
            return self.write(&place, value);
        };
        match step {
            LeafStep::Field(at) => {
                match ends.whole {
                    Whole::From => ends.from.1.push(Step::Field(*at)),
                    Whole::To => ends.to.1.push(Step::Field(*at)),
                }
                self.copy_leaf(rest, ends)
            }
            LeafStep::Lane(lane) => {
                ends.push_both(Step::Lane(Index::constant((*lane).into())));
                self.copy_leaf(rest, ends)
            }
            LeafStep::EachLane(width) => (0..*width).try_for_each(|lane| {
                let mut ends = ends.clone();
                ends.push_both(Step::Lane(Index::constant(lane.into())));
                self.copy_leaf(rest, ends)
            }),
            LeafStep::Each(size) => {
                let index = self.fresh("i");
                self.counted(index.clone(), size.clone(), LoopMode::Seq, |this| {
                    ends.push_both(Step::At(Index::var(index)));
                    this.copy_leaf(rest, ends)
                })
            }
        }
    }

    /// A buffer for the time of a call.
    fn temporary(&mut self, data: &Data, call: &mut Call) -> Name {
        let name = self.fresh("passed");
        let storage = Rc::new(storage::of(data, &name));
        self.declare(&storage, Space::Any);
        for leaf in storage.leaves() {
            call.temporaries.push(leaf.name);
        }
        self.bindings.insert(name.clone(), Binding::Storage(storage));
        name
    }

    fn buffer_of(&self, name: &Name) -> Lowering<Name> {
        match self.bindings.get(name) {
            Some(Binding::Storage(storage)) => match storage.leaves().into_iter().next() {
                Some(leaf) => Ok(leaf.name),
                None => self.bug("a temporary without memory"),
            },
            _ => self.bug("a temporary without memory"),
        }
    }
}

/// The two sides of a copy.
#[derive(Clone)]
struct Ends<'p> {
    to: (&'p Phrase, Path),
    from: (&'p Phrase, Path),
    whole: Whole,
}

/// Which side holds the whole data.
#[derive(Clone, Copy)]
enum Whole {
    From,
    To,
}

impl Ends<'_> {
    fn push_both(&mut self, step: Step) {
        self.to.1.push(step.clone());
        self.from.1.push(step);
    }
}

type After = Box<dyn FnOnce(&mut Generator<'_>) -> Lowering<()>>;

#[derive(Default)]
pub(super) struct Call {
    pub(super) arguments: Vec<Argument>,
    after: Vec<After>,
    temporaries: Vec<Name>,
}

/// The steps of a leaf's path down to the first array.
fn scalar_path(path: &[LeafStep]) -> Vec<Step> {
    let steps = path.iter().map_while(|step| match step {
        LeafStep::Field(at) => Some(Step::Field(*at)),
        LeafStep::Lane(at) => Some(Step::Lane(Index::constant((*at).into()))),
        LeafStep::Each(_) | LeafStep::EachLane(_) => None,
    });
    steps.collect()
}

/// The type of one leaf with its arrays: `(f32, n.(i32, m.f64))` and the last leaf give `n.m.f64`.
fn part(data: &Data, path: &[LeafStep]) -> Data {
    match (data, path.split_first()) {
        (Data::Tuple(parts), Some((LeafStep::Field(at), rest))) => match parts.get(*at) {
            Some(component) => part(component, rest),
            None => data.clone(),
        },
        (Data::Array(size, element), Some((LeafStep::Each(_), rest))) => {
            Data::array(size.clone(), part(element, rest))
        }
        _ => data.clone(),
    }
}

/// The buffer of one leaf below a place, and the cell where it starts; none where its cells are not consecutive, or the
/// leaf has tuples between its arrays, since then the way to it is not known.
fn start(place: &Place, path: &[LeafStep]) -> Option<(Name, Index)> {
    let below: Vec<LeafStep> = path
        .iter()
        .skip_while(|step| matches!(step, LeafStep::Field(_) | LeafStep::Lane(_)))
        .cloned()
        .collect();
    let storage = Storage {
        sizes: Vec::new(),
        capacity: None,
        tree: place.tree.clone(),
    };
    let fields = |path: &[LeafStep]| -> Vec<usize> {
        path.iter()
            .filter_map(|step| {
                if let LeafStep::Field(at) = step {
                    Some(*at)
                } else {
                    None
                }
            })
            .collect()
    };
    let leaf = storage
        .leaves()
        .into_iter()
        .find(|leaf| fields(&leaf.path) == fields(&below))?;
    leaf.cells.as_ref()?;
    // A procedure has consecutive cells.
    let cells = place.cells(&leaf);
    cells.consecutive()?;
    Some((cells.buffer, cells.first))
}
