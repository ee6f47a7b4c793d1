//! Cells that grow: more room than is used, at least twice as much each time, so that an element is copied twice on average.

use super::expressions::index_expr;
use super::storage::{self, Storage};
use super::{Binding, Generator};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, Space, build};
use almach_imp::{Expr, Index, Stmt};
use almach_nat::Range;
use almach_value::{BinOp, Scalar, ScalarType};
use std::rc::Rc;

impl Generator<'_> {
    pub(crate) fn new_growing(&mut self, body: &Phrase) -> Lowering<()> {
        let Phrase::Lam(name, ty, inner) = body.unmarked() else {
            return self.bug("a variable without a body");
        };
        let PhraseType::Product(left, _) = &**ty else {
            return self.bug("a variable that is none");
        };
        let PhraseType::Acc(data) = &**left else {
            return self.bug("a variable that is none");
        };
        let data = self.index_data(data)?;
        let capacity = Name::from(format!("{name}_capacity"));
        let storage = Rc::new(Storage {
            capacity: Some(capacity.clone()),
            ..storage::of(&data, name)
        });
        self.declare(&storage, Space::Any);
        self.assigned.insert(capacity.clone());
        self.emit(Stmt::Var {
            name: capacity,
            ty: ScalarType::I64,
            value: Some(Expr::int(0)),
        });
        // Nothing yet, but memory that can be passed on.
        for leaf in storage.leaves() {
            let span = self.span;
            self.emit(Stmt::Alloc {
                buffer: leaf.name,
                size: Index::zero(),
                span,
            });
        }
        self.bindings
            .insert(name.clone(), Binding::Storage(storage.clone()));
        self.command(inner)?;
        for leaf in storage.leaves().into_iter().rev() {
            self.emit(Stmt::Free(leaf.name));
        }
        Ok(())
    }

    /// Room for more elements, and an acceptor of just these.
    pub(crate) fn append(&mut self, cell: &Phrase, count: &Phrase, body: &Phrase) -> Lowering<()> {
        let storage = self.cell(cell)?;
        let (Some(capacity), [size]) = (storage.capacity.clone(), storage.sizes.as_slice()) else {
            return self.bug("a cell that does not grow");
        };
        let (Phrase::TypeLam(more, _, inner), size) = (body.unmarked(), size.clone()) else {
            return self.bug("a cell that grows without a body");
        };
        let Phrase::Lam(room, ty, inner) = inner.unmarked() else {
            return self.bug("a cell that grows by nothing");
        };
        let PhraseType::Acc(Data::Array(_, data)) = &**ty else {
            return self.bug("a cell that grows and is no array");
        };
        let data = (**data).clone();
        let count = self.index(count)?;
        self.nats.insert(more.clone(), count.clone());
        let used = self.let_index("used", Expr::Var(size.clone()));
        self.ranges.set(used.clone(), Range::natural());
        let needed = Index::var(used.clone()) + &count;
        self.grow(&storage, &capacity, &used, &count)?;
        self.emit(Stmt::Assign {
            name: size,
            value: index_expr(needed.clone()),
        });
        let tree = match &storage.tree {
            storage::Tree::Array(_, element) => storage::Tree::Array(needed.clone(), element.clone()),
            _ => return self.bug("a cell that grows and is no array"),
        };
        let contents = self.fresh("grown");
        let whole = Storage {
            sizes: Vec::new(),
            capacity: None,
            tree,
        };
        self.bindings
            .insert(contents.clone(), Binding::Storage(Rc::new(whole)));
        let behind = Phrase::prim(Prim::SliceAcc, vec![needed, count], vec![data]).apply([
            build::nat_value(Nat::var(used)),
            build::literal(Scalar::I64(1)),
            Phrase::Var(contents),
        ]);
        self.bindings
            .insert(room.clone(), Binding::Alias(Rc::new(behind), Vec::new()));
        self.command(inner)
    }

    /// A number that changes later, under a name for what it is now.
    fn let_index(&mut self, stem: &str, value: Expr) -> Name {
        let name = self.fresh(stem);
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::I64,
            value,
        });
        name
    }

    fn grow(&mut self, storage: &Storage, capacity: &Name, used: &Name, count: &Index) -> Lowering<()> {
        // No sum that could wrap: nothing has looked at the count yet.
        let room = |all: Expr| Expr::binary(BinOp::Sub, all, Expr::Var(used.clone()));
        let more_than = |room: Expr| Expr::binary(BinOp::Gt, index_expr(count.clone()), room);
        let condition = more_than(room(Expr::Var(capacity.clone())));
        let ((), then) = self.capture(|this| {
            let double = Index::var(capacity.clone()) * Index::constant(2);
            let needed = Expr::select(
                more_than(room(Expr::int(i64::MAX))),
                Expr::int(i64::MAX),
                index_expr(Index::var(used.clone()) + count),
            );
            let double = Expr::binary(BinOp::Max, needed, index_expr(double));
            let larger = this.let_index("larger", double);
            this.emit(Stmt::Assign {
                name: capacity.clone(),
                value: Expr::Var(larger.clone()),
            });
            for leaf in storage.leaves() {
                let Some(cells) = leaf.cells else {
                    continue;
                };
                let each = |count: Index| cells_for(&cells, storage, count);
                let block = this.fresh("block");
                let span = this.span;
                this.emit(Stmt::Buffer {
                    name: block.clone(),
                    ty: leaf.ty,
                    space: almach_imp::Space::Host,
                });
                this.emit(Stmt::Alloc {
                    buffer: block.clone(),
                    size: each(Index::var(larger.clone())),
                    span,
                });
                this.emit(Stmt::Copy {
                    to: block.clone(),
                    to_index: Index::zero(),
                    from: leaf.name.clone(),
                    from_index: Index::zero(),
                    count: each(Index::var(used.clone())),
                });
                this.emit(Stmt::Swap(leaf.name, block.clone()));
                this.emit(Stmt::Free(block));
            }
            Ok(())
        })?;
        self.emit(Stmt::If {
            condition,
            then,
            otherwise: Vec::new(),
        });
        Ok(())
    }
}

/// How many cells of a leaf so many elements take.
fn cells_for(cells: &Index, storage: &Storage, count: Index) -> Index {
    cells.substitute(|name| (storage.sizes.first() == Some(name)).then(|| count.clone()))
}
