//! Variables: their memory, and cells that hold sizes and what has them.

use crate::error::Lowering;
use crate::stage3::expressions::joined;
use crate::stage3::storage::{Leaf, Part, Storage, Tree};
use crate::stage3::{Binding, Generator, Step, storage};
use almach_base::{Name, Span};
use almach_dpia::{Data, Home, Instance, Phrase, PhraseType, Space};
use almach_imp::{Expr, Index, Stmt};
use almach_nat::Range;
use almach_value::ScalarType;
use std::rc::Rc;

impl Generator<'_> {
    pub(super) fn new_variable(
        &mut self,
        space: Space,
        homes: &[Home],
        instance: &Instance,
        body: &Phrase,
    ) -> Lowering<()> {
        let (Phrase::Lam(name, _, inner), [data]) = (body.unmarked(), instance.datas.as_slice()) else {
            return self.bug("a variable without a body");
        };
        let data = self.index_data(data)?;
        let homes = self.homes(homes, instance, &data)?;
        self.shares_memory |= homes.iter().any(Option::is_some);
        let storage = Rc::new(storage::of(&data, name).placed(&homes));
        let outer = self.span;
        self.span = first_use(inner, name, outer).unwrap_or(outer);
        self.declare(&storage, space);
        self.span = outer;
        self.bindings
            .insert(name.clone(), Binding::Storage(storage.clone()));
        self.command(inner)?;
        for leaf in storage.leaves().into_iter().rev() {
            if leaf.cells.is_some() && leaf.part == Part::Own {
                self.emit(Stmt::Free(leaf.name));
            }
        }
        Ok(())
    }

    /// The buffers of others that the memory plan puts a variable in, with the cells there.
    fn homes(
        &mut self,
        homes: &[Home],
        instance: &Instance,
        data: &Data,
    ) -> Lowering<Vec<Option<(Name, Part)>>> {
        let mut numbers = instance
            .nats
            .iter()
            .map(|nat| self.size(nat))
            .collect::<Vec<_>>()
            .into_iter();
        let leaves = storage::of(data, &Name::from("placed")).leaves();
        let mut placed = Vec::new();
        for (home, leaf) in homes.iter().zip(leaves) {
            placed.push(match home {
                Home::Own => None,
                Home::Inside {
                    variable,
                    buffer,
                    strides,
                } => {
                    let (start, strides) = (numbers.next(), numbers.by_ref().take(*strides).collect());
                    start.and_then(|start| self.inside(variable, *buffer, start, strides))
                }
                Home::Same { acceptor, component } => self.cells_of_acceptor(acceptor, *component, &leaf)?,
            });
        }
        Ok(placed)
    }

    fn inside(
        &self,
        variable: &Name,
        buffer: usize,
        start: Index,
        strides: Vec<Index>,
    ) -> Option<(Name, Part)> {
        let Some(Binding::Storage(storage)) = self.bindings.get(variable) else {
            return None;
        };
        let leaf = storage.leaves().into_iter().nth(buffer)?;
        leaf.cells.as_ref()?;
        let first = match leaf.part {
            Part::Own | Part::From(_) => leaf.part.first() + start,
            Part::Strided(..) => return None,
        };
        let part = match strides.is_empty() {
            true => Part::From(first),
            false => Part::Strided(first, strides),
        };
        Some((leaf.name, part))
    }

    /// The cells of one leaf of an acceptor: none where the way there is no descriptor.
    fn cells_of_acceptor(
        &mut self,
        acceptor: &Name,
        component: Option<usize>,
        leaf: &Leaf,
    ) -> Lowering<Option<(Name, Part)>> {
        let Some(below) = self.any_element(&leaf.path) else {
            return Ok(None);
        };
        let counters: Vec<Name> = below
            .iter()
            .filter_map(|step| match step {
                Step::At(index) => index.as_var().cloned(),
                Step::Field(_) | Step::Lane(_) => None,
            })
            .collect();
        let path = joined(component.into_iter().map(Step::Field).collect(), below);
        let (place, stmts) = self.capture(|this| this.target(&Phrase::Var(acceptor.clone()), path))?;
        let (Tree::Buffer(buffer, ..), true) = (&place.tree, stmts.is_empty() && place.kept_where.is_empty())
        else {
            return Ok(None);
        };
        let cell = self.spelled_out(&place.offset());
        let first = cell.substitute(|name| counters.contains(name).then(Index::zero));
        let strides: Vec<Index> = counters
            .iter()
            .map(|counter| {
                let one = |name: &Name| match name == counter {
                    true => Some(Index::one()),
                    false => counters.contains(name).then(Index::zero),
                };
                cell.substitute(one) - &first
            })
            .collect();
        let found = counters
            .iter()
            .zip(&strides)
            .fold(first.clone(), |cell, (counter, stride)| {
                cell + Index::var(counter.clone()) * stride
            });
        Ok((found == cell).then(|| (buffer.clone(), Part::Strided(first, strides))))
    }

    /// Declares variables and buffers; those that are no cell's get their memory at once.
    pub(crate) fn declare(&mut self, storage: &Storage, space: Space) {
        for name in &storage.sizes {
            self.assigned.insert(name.clone());
            let zero = Some(Expr::int(0));
            self.emit(Stmt::Var {
                name: name.clone(),
                ty: ScalarType::I64,
                value: zero,
            });
        }
        for leaf in storage.leaves().into_iter().filter(|leaf| leaf.part == Part::Own) {
            match leaf.cells {
                None => {
                    self.assigned.insert(leaf.name.clone());
                    self.emit(Stmt::Var {
                        name: leaf.name,
                        ty: leaf.ty,
                        value: None,
                    });
                }
                Some(size) => {
                    let space = match space {
                        Space::Any => almach_imp::Space::Host,
                        Space::Global => almach_imp::Space::Global,
                        Space::Local => almach_imp::Space::Local,
                        Space::Private => almach_imp::Space::Private,
                    };
                    self.emit(Stmt::Buffer {
                        name: leaf.name.clone(),
                        ty: leaf.ty,
                        space,
                    });
                    if storage.sizes.is_empty() {
                        let size = self.simplify(&size);
                        let span = self.span;
                        self.emit(Stmt::Alloc {
                            buffer: leaf.name,
                            size,
                            span,
                        });
                    }
                }
            }
        }
    }

    /// The cell a phrase stands for.
    pub(crate) fn cell(&mut self, phrase: &Phrase) -> Lowering<Rc<Storage>> {
        match phrase.unmarked() {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Storage(storage)) => Ok(storage),
                Some(Binding::Alias(inner, path)) if path.is_empty() => self.cell(&inner),
                _ => self.bug(format!("`{name}` is no cell")),
            },
            Phrase::Project(_, inner) => self.cell(inner),
            other => self.bug(format!("`{other}` is no cell")),
        }
    }

    pub(super) fn fill(&mut self, cell: &Phrase, rest: &[&Phrase]) -> Lowering<()> {
        let storage = self.cell(cell)?;
        let Some((body, sizes)) = rest.split_last() else {
            return self.bug("a cell without contents");
        };
        let values = sizes
            .iter()
            .map(|size| self.read(size, Vec::new()))
            .collect::<Lowering<Vec<_>>>()?;
        for (name, value) in storage.sizes.iter().zip(values) {
            self.emit(Stmt::Assign {
                name: name.clone(),
                value,
            });
        }
        for leaf in storage.leaves() {
            if let Some(size) = leaf.cells {
                let span = self.span;
                self.emit(Stmt::Alloc {
                    buffer: leaf.name,
                    size,
                    span,
                });
            }
        }
        self.with_contents(&storage, body)
    }

    pub(super) fn open(&mut self, cell: &Phrase, body: &Phrase) -> Lowering<()> {
        let storage = self.cell(cell)?;
        self.with_contents(&storage, body)
    }

    /// Runs the body of `fill` or `open`: its sizes are the cell's, its last parameter the cell's contents.
    fn with_contents(&mut self, storage: &Rc<Storage>, body: &Phrase) -> Lowering<()> {
        let mut body = body.unmarked();
        let mut sizes = storage.sizes.iter();
        while let Phrase::TypeLam(name, _, inner) = body {
            let Some(size) = sizes.next() else {
                return self.bug("a cell with fewer sizes than its contents");
            };
            // A name of its own: the cell may be filled anew while its old size is still in use.
            let value = Expr::Var(size.clone());
            self.emit(Stmt::Let {
                name: name.clone(),
                ty: ScalarType::I64,
                value,
            });
            self.ranges.set(name.clone(), Range::natural());
            body = inner.unmarked();
        }
        let Phrase::Lam(name, ty, inner) = body else {
            return self.bug("a cell whose contents have no name");
        };
        let (PhraseType::Exp(data) | PhraseType::Acc(data)) = &**ty else {
            return self.bug("contents of a cell that are no data");
        };
        let data = self.index_data(data)?;
        let tree = resized(&storage.tree, &data);
        let contents = Storage {
            sizes: Vec::new(),
            capacity: None,
            tree,
        };
        self.bindings
            .insert(name.clone(), Binding::Storage(Rc::new(contents)));
        self.command(inner)
    }

    pub(super) fn move_variable(&mut self, to: &Phrase, from: &Phrase) -> Lowering<()> {
        let (to, from) = (self.cell(to)?, self.cell(from)?);
        for (to, from) in to.sizes.iter().zip(&from.sizes) {
            self.emit(Stmt::Assign {
                name: to.clone(),
                value: Expr::Var(from.clone()),
            });
        }
        for (to, from) in to.leaves().into_iter().zip(from.leaves()) {
            match to.cells.is_some() {
                true => self.move_buffer(&to, &from)?,
                false => self.emit(Stmt::Assign {
                    name: to.name,
                    value: Expr::Var(from.name),
                }),
            }
        }
        Ok(())
    }

    /// Buffers change hands; what is a part of another variable's is copied, unless it is there already.
    fn move_buffer(&mut self, to: &Leaf, from: &Leaf) -> Lowering<()> {
        if to.part == Part::Own && from.part == Part::Own {
            self.emit(Stmt::Swap(to.name.clone(), from.name.clone()));
            return Ok(());
        }
        self.copy_cells(&to.all(), &from.all())
    }
}

/// The same buffers with the sizes of another type of the same form.
pub(crate) fn resized(tree: &Tree, data: &Data) -> Tree {
    match (tree, data) {
        (Tree::Array(_, element), Data::Array(size, inner)) => {
            Tree::Array(size.clone(), Box::new(resized(element, inner)))
        }
        (Tree::Tuple(parts), Data::Tuple(types)) => Tree::Tuple(
            parts
                .iter()
                .zip(types)
                .map(|(part, data)| resized(part, data))
                .collect(),
        ),
        _ => tree.clone(),
    }
}

/// Where a variable is used first, which is what its memory is for. `here` is where the phrase comes from.
fn first_use(phrase: &Phrase, name: &Name, here: Span) -> Option<Span> {
    match phrase {
        Phrase::Var(used) => (used == name).then_some(here),
        Phrase::Prim(_) => None,
        Phrase::At(span, inner) => first_use(inner, name, *span),
        Phrase::App(left, right) | Phrase::Pair(left, right) => {
            first_use(left, name, here).or_else(|| first_use(right, name, here))
        }
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner) => first_use(inner, name, here),
    }
}
