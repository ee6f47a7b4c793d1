//! Results: allocated before the call, or by the callee, and then given to the caller.

use super::{After, Direction, Leaves, Place, Target, Wrapper};
use crate::error::Lowering;
use crate::stage3::expressions::index_expr;
use almach_base::Name;
use almach_imp::interface::Shape;
use almach_imp::{Argument, Expr, Index, Stmt};
use almach_value::{BinOp, ScalarType};

impl Wrapper<'_> {
    /// Allocates the results (or lets the callee do it, where their sizes are not known), calls, and gives the sizes.
    pub(super) fn results(&mut self, callee: &Name, mut arguments: Vec<Argument>) -> Lowering<()> {
        let result = self.function.result.clone();
        for (at, var) in result.context.iter().enumerate() {
            let name = Name::from(format!("size_{at}"));
            self.variable(&name);
            arguments.push(Argument::Out(name.clone()));
            self.sizes.insert(var.clone(), Index::var(name));
        }
        let shapes = result.types.iter().map(|ty| self.shape(ty));
        let has_rows = shapes.collect::<Lowering<Vec<_>>>()?.iter().any(Shape::has_rows);
        let direction = match result.context.is_empty() && !has_rows {
            true => Direction::Out,
            false => Direction::OutOwned,
        };
        let mut all = Vec::new();
        for (at, ty) in result.types.iter().enumerate() {
            let mut leaves = Leaves::default();
            let place = Place::alone(Name::from(format!("result_{at}")));
            self.slots(ty, &place, direction, Target::Data, &mut leaves)?;
            all.push(leaves);
        }
        let sizes = std::mem::take(&mut self.checks);
        self.allocate();
        for pool in all.iter().flat_map(|leaves| &leaves.pools) {
            self.variable(&pool.size);
            arguments.push(Argument::Out(pool.size.clone()));
        }
        let (data, pools): (Vec<_>, Vec<_>) =
            all.into_iter().map(|leaves| (leaves.data, leaves.pools)).unzip();
        arguments.extend(data.into_iter().flatten());
        arguments.extend(pools.into_iter().flatten().flat_map(|pool| pool.leaves));
        self.body.push(Stmt::Call {
            proc: callee.clone(),
            arguments,
            span: self.span,
        });
        for (name, size) in sizes {
            let value = index_expr(self.index(&size)?);
            self.body.push(Stmt::Assign { name, value });
        }
        for after in std::mem::take(&mut self.after) {
            self.give(after);
        }
        Ok(())
    }

    fn give(&mut self, after: After) {
        match after {
            After::Size { to, from } => self.body.push(Stmt::Assign {
                name: to,
                value: Expr::Var(from),
            }),
            After::Offsets {
                offsets,
                begins,
                ends,
            } => {
                self.body.push(Stmt::Alloc {
                    buffer: offsets.buffer.clone(),
                    size: &offsets.rows + &Index::one(),
                    span: self.span,
                });
                self.body.push(Stmt::Store {
                    buffer: offsets.buffer.clone(),
                    index: Index::zero(),
                    value: Expr::int(0),
                });
                self.body.push(Stmt::Copy {
                    to: offsets.buffer,
                    to_index: Index::one(),
                    from: ends.clone(),
                    from_index: Index::zero(),
                    count: offsets.rows,
                });
                self.body.push(Stmt::Free(ends));
                self.body.push(Stmt::Free(begins));
            }
        }
    }

    fn allocate(&mut self) {
        // The last thing a function does is what its result is for.
        let last = self.function.body.stmts.last();
        let span = last.map_or(self.span, |stmt| stmt.span);
        for (buffer, size) in std::mem::take(&mut self.known) {
            // A negative size is found by the function itself, which knows where it comes from.
            let size = match size.as_constant() {
                Some(known) => Index::constant(known.max(0)),
                None => {
                    let name = Name::from(format!("{buffer}_cells"));
                    let value = Expr::binary(BinOp::Max, index_expr(size), Expr::int(0));
                    self.body.push(Stmt::Let {
                        name: name.clone(),
                        ty: ScalarType::I64,
                        value,
                    });
                    Index::var(name)
                }
            };
            self.body.push(Stmt::Alloc { buffer, size, span });
        }
    }
}
