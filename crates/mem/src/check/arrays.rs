//! Places of variables: their form, where derived arrays are, and proofs about those that statements make.

use super::{
    BlockInfo, Checked, Derived, Home, Iteration, Leaf, Rule, Storage, broken, derive, leaves, same_cells,
};
use crate::ir::{Given, Item, Kind, Memory, Rows};
use almach_core::typing::Env;
use almach_core::{Atom, Exp, Lambda, Op, Param, Size, Stmt, Var};
use almach_lmad::{Lmad, Range, Ranges, Verdict, injective, iterations_disjoint};
use almach_prim::Prim;

/// A place in a program: what is in scope there, and what is known. [`super::Checker`] walks from one to the next;
/// [`super::change::Spot`] is one that was looked up.
pub(super) trait Scope {
    fn memory(&self) -> &Memory;
    fn env(&self) -> &Env;
    /// What is known of all iterations of what is around.
    fn known(&self) -> &Ranges<Var>;
    /// What is known of this one: the arrays that are in scope show more. (Of two iterations each has its own.)
    fn known_here(&self) -> Ranges<Var>;
    fn find_block(&self, var: &Var) -> Option<BlockInfo>;
    fn has_integer(&self, var: &Var) -> bool;
    /// The parallel operations around, outermost first.
    fn iterations(&self) -> &[Iteration];
    /// Whether an array that is there already has these cells of its block.
    fn is_occupied(&self, home: &Home) -> bool;
    /// A variable that occurs nowhere.
    fn later(&self) -> &Var;

    fn places(&self, param: &Param) -> Checked<()> {
        let wanted = leaves(&self.env().normalise(&param.ty));
        let found = self
            .memory()
            .storage
            .get(&param.var)
            .map_or(&[][..], Vec::as_slice);
        if wanted.len() != found.len() {
            let message = format!(
                "`{}` has {} places for {} leaves",
                param.var,
                found.len(),
                wanted.len()
            );
            return broken(Rule::Places, message);
        }
        for (leaf, storage) in wanted.iter().zip(found) {
            self.storage(param, leaf, storage)?;
        }
        Ok(())
    }

    fn storage(&self, param: &Param, leaf: &Leaf, storage: &Storage) -> Checked<()> {
        match storage {
            Storage::Placed(home) => self.home(param, leaf, home),
            Storage::Rows(rows) => self.rows_at(param, leaf, rows),
            Storage::View | Storage::Held => Ok(()),
        }
    }

    /// Rows fill their blocks, and there are as many of all components of their elements.
    fn rows_at(&self, param: &Param, leaf: &Leaf, rows: &Rows) -> Checked<()> {
        let (Some(segments), Some(total)) = (leaf.segments(), rows.total()) else {
            let message = format!("`{}` has no rows of their own lengths", param.var);
            return broken(Rule::Places, message);
        };
        self.home(param, &segments, &rows.segments)?;
        let total = self.env().normalise_size(&total);
        let wanted = leaf.elements(&total);
        let found = rows.elements.iter();
        if wanted.len() != found.len() || !rows.elements.iter().all(Storage::is_in_blocks) {
            let message = format!("the rows of `{}` have other leaves than its place", param.var);
            return broken(Rule::Places, message);
        }
        for (leaf, storage) in wanted.iter().zip(found) {
            self.storage(param, leaf, storage)?;
        }
        let all = Storage::Rows(rows.clone());
        let mut whole = all.homes().into_iter().map(|home| {
            let lmad = self.normalised(&home.lmad);
            let shape: Vec<Size> = lmad.dims.iter().map(|dim| dim.length.clone()).collect();
            same_cells(&lmad, &Lmad::row_major(Size::zero(), &shape))
        });
        match whole.all(|whole| whole) {
            true => Ok(()),
            false => broken(
                Rule::Dimensions,
                format!(
                    "the rows of `{}` do not fill their blocks from the start",
                    param.var
                ),
            ),
        }
    }

    fn home(&self, param: &Param, leaf: &Leaf, home: &Home) -> Checked<()> {
        let Leaf::Cells { element, .. } = leaf else {
            return broken(
                Rule::Places,
                format!("`{}` is held elsewhere, not in `{}`", param.var, home.block),
            );
        };
        let block = self.block(&home.block)?;
        if block.element != *element {
            let message = format!(
                "`{}` has other elements than its block `{}`",
                param.var, home.block
            );
            return broken(Rule::Elements, message);
        }
        let lengths: Vec<Size> = self
            .normalised(&home.lmad)
            .dims
            .into_iter()
            .map(|dim| dim.length)
            .collect();
        if lengths != leaf.shape() {
            let message = format!(
                "`{}` does not have the shape of its descriptor `{}`",
                param.var, home.lmad
            );
            return broken(Rule::Dimensions, message);
        }
        let parts = home.lmad.dims.iter().flat_map(|dim| [&dim.length, &dim.stride]);
        parts
            .chain([&home.lmad.offset])
            .try_for_each(|part| self.in_scope(part))
    }

    /// MEM-05 for what is derived, MEM-08 to MEM-10 for what is made.
    fn statement_arrays(&self, stmt: &Stmt) -> Checked<()> {
        if let [value] = stmt.pattern.values.as_slice()
            && let Derived::Same(expected) = derive(&stmt.exp, &value.ty, self.memory(), self.env())
        {
            let found = self
                .memory()
                .storage
                .get(&value.var)
                .map_or(&[][..], Vec::as_slice);
            let same =
                expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| self.same(a, b));
            return match same {
                true => Ok(()),
                false => broken(
                    Rule::Derived,
                    format!("`{}` is not where what it is derived from is", value.var),
                ),
            };
        }
        if matches!(&stmt.exp, Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_)) {
            return Ok(());
        }
        for value in &stmt.pattern.values {
            for storage in self.memory().storage.get(&value.var).into_iter().flatten() {
                for home in storage.homes() {
                    self.made(&value.var, home)?;
                }
            }
        }
        Ok(())
    }

    fn same(&self, a: &Storage, b: &Storage) -> bool {
        match (a, b) {
            (Storage::Placed(a), Storage::Placed(b)) => {
                a.block == b.block && same_cells(&self.normalised(&a.lmad), &self.normalised(&b.lmad))
            }
            (Storage::Rows(a), Storage::Rows(b)) => {
                let (a, b) = (Storage::Rows(a.clone()), Storage::Rows(b.clone()));
                let (a, b) = (a.homes(), b.homes());
                let same = |(a, b): (&&Home, &&Home)| {
                    self.same(&Storage::Placed((*a).clone()), &Storage::Placed((*b).clone()))
                };
                a.len() == b.len() && a.iter().zip(&b).all(same)
            }
            (a, b) => a == b,
        }
    }

    fn made(&self, var: &Var, home: &Home) -> Checked<()> {
        let block = self.block(&home.block)?;
        let lmad = self.normalised(&home.lmad);
        let whole = Lmad::row_major(
            Size::zero(),
            &lmad.dims.iter().map(|dim| dim.length.clone()).collect::<Vec<_>>(),
        );
        if let Some(cells) = &block.cells {
            let cells = self.env().normalise_size(cells);
            if !self.is_inside(home) {
                return broken(
                    Rule::InBounds,
                    format!("`{var}` at `{lmad}` may leave its block of {cells} cells"),
                );
            }
        }
        if !same_cells(&lmad, &whole) && injective(&lmad, &self.known_here()).is_none() {
            return broken(
                Rule::Injective,
                format!("two elements of `{var}` at `{lmad}` may share a cell"),
            );
        }
        for iteration in self.iterations().iter().skip(block.depth) {
            let range = Range::below(&iteration.count);
            let verdict = iterations_disjoint(
                &iteration.index,
                &range,
                self.later(),
                (&lmad, &lmad),
                self.known(),
            );
            if !matches!(verdict, Verdict::Disjoint(_)) {
                let message = format!(
                    "iterations of `{}` may both write `{var}` at `{lmad}`",
                    iteration.index
                );
                return broken(Rule::Races, message);
            }
        }
        Ok(())
    }

    /// Whether all cells are provably in their block: it is as large, or something that is there has the same cells.
    fn is_inside(&self, home: &Home) -> bool {
        let Some(block) = self.find_block(&home.block) else {
            return false;
        };
        let lmad = self.normalised(&home.lmad);
        let large_enough = block.cells.as_ref().is_some_and(|cells| {
            let cells = self.env().normalise_size(cells);
            let shape: Vec<Size> = lmad.dims.iter().map(|dim| dim.length.clone()).collect();
            let count = shape.iter().fold(Size::one(), |all, length| all * length);
            let fills = count == cells && same_cells(&lmad, &Lmad::row_major(Size::zero(), &shape));
            fills || self.inside(&lmad, &cells)
        });
        large_enough || self.is_occupied(home)
    }

    /// Whether all cells are provably in a block of that many.
    fn inside(&self, lmad: &Lmad<Var>, cells: &Size) -> bool {
        let mut known = self.known_here();
        for dim in &lmad.dims {
            known.assume_nonneg(&dim.length - &Size::one());
        }
        let (mut least, mut most) = (lmad.offset.clone(), lmad.offset.clone());
        for dim in &lmad.dims {
            let last = &dim.stride * &(&dim.length - &Size::one());
            if known.is_nonneg(&dim.stride) {
                most = most + last;
            } else if known.is_nonneg(&-&dim.stride) {
                least = least + last;
            } else {
                return false;
            }
        }
        known.is_nonneg(&least) && known.is_less(&most, cells)
    }

    /// MEM-06.
    fn rows(&self, op: &Op, function: &Lambda, index: Option<&Var>) -> Checked<()> {
        let (first, arrays): (usize, &[Atom]) = match op.prim {
            Prim::Map | Prim::Filter | Prim::Partition => (0, &op.args),
            Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq | Prim::Scan | Prim::ScanExclusive => {
                (1, op.args.get(1..).unwrap_or_default())
            }
            _ => return Ok(()),
        };
        for (param, array) in function.params.iter().skip(first).zip(arrays) {
            let found = self
                .memory()
                .storage
                .get(&param.var)
                .map_or(&[][..], Vec::as_slice);
            let rows = self.rows_of(array, index);
            for (storage, row) in found.iter().zip(rows) {
                if let Storage::Placed(home) = storage
                    && !row
                        .is_some_and(|row| self.same(&Storage::Placed(home.clone()), &Storage::Placed(row)))
                {
                    return broken(Rule::Rows, format!("`{}` is not where its row is", param.var));
                }
            }
        }
        Ok(())
    }

    fn rows_of(&self, array: &Atom, index: Option<&Var>) -> Vec<Option<Home>> {
        let ty = self.env().atom_type(array);
        let found = ty.map_or_else(|_| Vec::new(), |ty| leaves(&ty));
        let pairs = found.iter().zip(self.memory().of(array));
        let rows = pairs.filter(|(leaf, _)| matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > 1));
        rows.map(|(_, storage)| {
            let home = storage.home()?;
            Some(Home {
                block: home.block.clone(),
                lmad: home.lmad.index(&Size::var(index?.clone()))?,
            })
        })
        .collect()
    }

    fn in_scope(&self, size: &Size) -> Checked<()> {
        match size.free_vars().find(|var| !self.has_integer(var)) {
            Some(var) => broken(Rule::Scope, format!("`{var}` is not in scope in `{size}`")),
            None => Ok(()),
        }
    }

    fn block(&self, var: &Var) -> Checked<BlockInfo> {
        self.find_block(var).map_or_else(
            || broken(Rule::Scope, format!("the block `{var}` is not in scope")),
            Ok,
        )
    }

    fn normalised(&self, lmad: &Lmad<Var>) -> Lmad<Var> {
        let size = |size: &Size| self.env().normalise_size(size);
        Lmad {
            offset: size(&lmad.offset),
            dims: lmad
                .dims
                .iter()
                .map(|dim| almach_lmad::Dim {
                    length: size(&dim.length),
                    stride: size(&dim.stride),
                })
                .collect(),
        }
    }

    fn given(&self, item: &Item, given: &Given) -> Checked<()> {
        match (item.kind, given) {
            (Kind::Block(element), Given::Block(block)) => match self.block(block)?.element == element {
                true => Ok(()),
                false => broken(
                    Rule::Elements,
                    format!("`{}` and `{block}` have different elements", item.var),
                ),
            },
            (Kind::Block(_), Given::Alloc(cells)) => self.in_scope(cells),
            (Kind::Integer, Given::Integer(value)) => self.in_scope(value),
            (Kind::Block(_) | Kind::Integer, Given::Found) => Ok(()),
            _ => broken(
                Rule::Heads,
                format!("`{}` is given something of another kind", item.var),
            ),
        }
    }
}
