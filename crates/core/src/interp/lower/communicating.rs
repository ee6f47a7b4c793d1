//! Scans and histograms, in order or as their chunk groups them (`docs/collectives.md`): the operator is associative, but
//! the sums of floats are only nearly so, and what they round to is part of what a program with chunks means.

use super::compute::only;
use super::ops::{Growing, args, element, functions};
use super::{Loc, Lower, Lowered, output_of};
use crate::interp::code::{
    B, Cells, Input, Instr, Node, Output, PackInstr, S, SetCellInstr, Shape, Use, WholeInstr, WholeOp,
};
use crate::interp::error::Site;
use crate::ir::{Dim, Lambda, Op, Param, Type};
use almach_prim::{Chunk, Prim};
use almach_value::{BinOp, Scalar, ScalarType};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    Inclusive,
    Exclusive,
}

/// A scan on its way.
struct Scanning<'o> {
    function: &'o Lambda,
    array: B,
    /// What came before the chunk.
    accumulator: Loc,
    /// What has come of the chunk.
    local: Loc,
    result: Growing,
    chunk: Option<Chunk>,
    kind: Scan,
    site: Site,
}

/// A histogram on its way.
struct Bins<'o> {
    function: &'o Lambda,
    /// The result, open for writing.
    open: B,
    indices: B,
    array: B,
    /// How many elements there are.
    elements: S,
    cells: Cells,
    site: Site,
}

fn int(value: i64) -> Loc {
    Loc::Const(Scalar::I64(value))
}

fn chunk_size(chunk: Chunk) -> Loc {
    int(chunk.get().into())
}

fn int_in(register: S) -> Loc {
    Loc::Scalar(register, ScalarType::I64)
}

impl Lower<'_, '_> {
    fn integer(&mut self, op: BinOp, left: &Loc, right: &Loc, site: Site) -> Lowered<S> {
        let result = self.operate(op, left, right, site)?;
        self.scalar_of(&result)
    }

    fn either(
        &mut self,
        condition: S,
        then: impl FnOnce(&mut Self) -> Lowered<()>,
        otherwise: impl FnOnce(&mut Self) -> Lowered<()>,
    ) -> Lowered<()> {
        let then = self.in_block(then)?;
        let otherwise = self.in_block(otherwise)?;
        self.block.push(Node::If {
            condition,
            then,
            otherwise,
        });
        Ok(())
    }

    /// The operator applied to two values.
    fn combined(&mut self, function: &Lambda, left: &Loc, right: &Loc) -> Lowered<Loc> {
        let [first, second] = function.params.as_slice() else {
            return Err("an operator takes two parameters".to_owned());
        };
        self.bind(&first.var, left.clone());
        self.bind(&second.var, right.clone());
        self.bind_sizes(
            &function.context,
            &[(&first.ty, left.clone()), (&second.ty, right.clone())],
        )?;
        let (_, given) = self.body(&function.body)?;
        match given.as_slice() {
            [value] => Ok(value.clone()),
            _ => Err("an operator gives one value".to_owned()),
        }
    }

    /// The elements of a chunk are combined first, from its first one on, and what came before with that.
    pub(super) fn reduce_chunks(
        &mut self,
        function: &Lambda,
        accumulator: &Loc,
        array: B,
        bound: S,
        chunk: Chunk,
        site: Site,
    ) -> Lowered<()> {
        let [state] = function.result.types.as_slice() else {
            return Err("an operator gives one value".to_owned());
        };
        let local = self.fresh(state);
        let carry = |lower: &mut Self| {
            let before = lower.combined(function, accumulator, &local)?;
            lower.assign(std::slice::from_ref(accumulator), &[before])
        };
        self.count(bound, |lower, at| {
            let rest = lower.integer(BinOp::Rem, &int_in(at), &int(chunk.get().into()), site)?;
            let begins = lower.integer(BinOp::Eq, &int_in(rest), &int(0), site)?;
            let later = lower.integer(BinOp::Gt, &int_in(at), &int(0), site)?;
            lower.either(
                begins,
                |lower| {
                    lower.either(later, carry, |_| Ok(()))?;
                    lower.fetch(array, at, output_of(&local));
                    Ok(())
                },
                |lower| lower.accumulate(function, &local, array, at),
            )
        })?;
        let some = self.integer(BinOp::Gt, &int_in(bound), &int(0), site)?;
        self.either(some, carry, |_| Ok(()))
    }

    pub(super) fn scan(&mut self, op: &Op, values: &[Param], site: Site, kind: Scan) -> Lowered<Loc> {
        let ([_], [initial, array]) = (functions(op)?, args(op)?);
        let array = self.boxed_atom(array)?;
        let bound = self.size_at(array, Vec::new());
        let scanning = self.scanning(op, array, bound, element(only(values)?)?, site, kind)?;
        let initial = self.atom(initial)?;
        self.assign(std::slice::from_ref(&scanning.accumulator), &[initial])?;
        self.count(bound, |lower, at| lower.scan_on(&scanning, at, &int(0)))?;
        Ok(Loc::Boxed(self.finish(&scanning.result, bound)))
    }

    /// A scan that starts again with each row. Chunks are those of all elements.
    pub(super) fn scan_rows(&mut self, op: &Op, values: &[Param], site: Site, kind: Scan) -> Lowered<Loc> {
        let ([_], [initial, rows]) = (functions(op)?, args(op)?);
        let rows = self.boxed_atom(rows)?;
        let flat = self.whole_of(Prim::Flatten, &[rows], site);
        let offsets = self.whole_of(Prim::Segments, &[rows], site);
        let (count, total) = (self.size_at(rows, Vec::new()), self.size_at(flat, Vec::new()));
        let scanning = self.scanning(op, flat, total, element(element(only(values)?)?)?, site, kind)?;
        let initial = self.atom(initial)?;
        self.count(count, |lower, row| {
            lower.assign(std::slice::from_ref(&scanning.accumulator), &[initial])?;
            let (begin, end) = (lower.scalar(), lower.scalar());
            let next = lower.integer(BinOp::Add, &int_in(row), &int(1), site)?;
            lower.fetch(offsets, row, Output::Scalar(begin));
            lower.fetch(offsets, next, Output::Scalar(end));
            let length = lower.integer(BinOp::Sub, &int_in(end), &int_in(begin), site)?;
            let first = match scanning.chunk {
                Some(chunk) => int_in(lower.integer(BinOp::Div, &int_in(begin), &chunk_size(chunk), site)?),
                None => int(0),
            };
            lower.count(length, |lower, within| {
                let at = lower.integer(BinOp::Add, &int_in(begin), &int_in(within), site)?;
                lower.scan_on(&scanning, at, &first)
            })
        })?;
        let flat = self.finish(&scanning.result, total);
        Ok(Loc::Boxed(self.whole_of(Prim::Unflatten, &[offsets, flat], site)))
    }

    fn scanning<'o>(
        &mut self,
        op: &'o Op,
        array: B,
        count: S,
        element: &Type,
        site: Site,
        kind: Scan,
    ) -> Lowered<Scanning<'o>> {
        let [function] = functions(op)?;
        let [state] = function.result.types.as_slice() else {
            return Err("an operator gives one value".to_owned());
        };
        Ok(Scanning {
            function,
            array,
            accumulator: self.fresh(state),
            local: self.fresh(element),
            result: self.begin(element, count, site)?,
            chunk: op.grouping(),
            kind,
            site,
        })
    }

    /// The next element of a scan that started in chunk `first`.
    fn scan_on(&mut self, scan: &Scanning<'_>, at: S, first: &Loc) -> Lowered<()> {
        let Some(chunk) = scan.chunk else {
            return self.scan_in_order(scan, at);
        };
        let (site, chunk) = (scan.site, chunk_size(chunk));
        let number = self.integer(BinOp::Div, &int_in(at), &chunk, site)?;
        // The first chunk is grouped as a loop groups it.
        let is_first = self.integer(BinOp::Eq, &int_in(number), first, site)?;
        self.either(
            is_first,
            |lower| lower.scan_in_order(scan, at),
            |lower| {
                let rest = lower.integer(BinOp::Rem, &int_in(at), &chunk, site)?;
                let begins = lower.integer(BinOp::Eq, &int_in(rest), &int(0), site)?;
                let second = lower.integer(BinOp::Add, first, &int(1), site)?;
                let later = lower.integer(BinOp::Gt, &int_in(number), &int_in(second), site)?;
                lower.scan_later(scan, at, begins, later)
            },
        )
    }

    fn scan_in_order(&mut self, scan: &Scanning<'_>, at: S) -> Lowered<()> {
        if scan.kind == Scan::Exclusive {
            self.push(&scan.result, &scan.accumulator, scan.site)?;
        }
        self.accumulate(scan.function, &scan.accumulator, scan.array, at)?;
        if scan.kind == Scan::Inclusive {
            self.push(&scan.result, &scan.accumulator, scan.site)?;
        }
        Ok(())
    }

    /// An element that is not in the first chunk: whether a chunk begins with it, and whether one ends there that is not the first.
    fn scan_later(&mut self, scan: &Scanning<'_>, at: S, begins: S, later: S) -> Lowered<()> {
        let all = |lower: &mut Self| {
            let all = lower.combined(scan.function, &scan.accumulator, &scan.local)?;
            lower.push(&scan.result, &all, scan.site)
        };
        self.either(
            begins,
            |lower| {
                lower.either(
                    later,
                    |lower| {
                        let before = lower.combined(scan.function, &scan.accumulator, &scan.local)?;
                        lower.assign(std::slice::from_ref(&scan.accumulator), &[before])
                    },
                    |_| Ok(()),
                )?;
                if scan.kind == Scan::Exclusive {
                    lower.push(&scan.result, &scan.accumulator, scan.site)?;
                }
                lower.fetch(scan.array, at, output_of(&scan.local));
                Ok(())
            },
            |lower| {
                if scan.kind == Scan::Exclusive {
                    all(lower)?;
                }
                lower.accumulate(scan.function, &scan.local, scan.array, at)
            },
        )?;
        match scan.kind {
            Scan::Inclusive => all(self),
            Scan::Exclusive => Ok(()),
        }
    }

    /// An operation on whole values that are in registers.
    fn whole_of(&mut self, prim: Prim, args: &[B], site: Site) -> B {
        let to = self.boxed();
        self.emit(Instr::Whole(Box::new(WholeInstr {
            op: WholeOp::Prim(prim),
            to: Output::Boxed(to),
            args: args.iter().map(|reg| Input::Boxed(Use::of(*reg))).collect(),
            site,
        })));
        to
    }

    /// Each value is combined with its cell. The neutral value is for those who need one: a part's bin begins with the
    /// first value it gets.
    pub(super) fn reduce_by_index(&mut self, op: &Op, values: &[Param], site: Site) -> Lowered<Loc> {
        let ([function], [dest, _neutral, indices, array]) = (functions(op)?, args(op)?);
        let (dest, indices, array) = (
            self.boxed_atom(dest)?,
            self.boxed_atom(indices)?,
            self.boxed_atom(array)?,
        );
        let cell_type = element(only(values)?)?;
        let cells = match has_jagged(cell_type) {
            true => Cells::Separate,
            false => Cells::Flat,
        };
        let open = self.opened_cells(dest, cells);
        let bins = Bins {
            function,
            open,
            indices,
            array,
            elements: self.size_at(indices, Vec::new()),
            cells,
            site,
        };
        match op.grouping() {
            None => self.bins_in_order(&bins)?,
            Some(parts) => self.bins_by_parts(&bins, dest, parts)?,
        }
        let (to, array) = (self.boxed(), Use::of(open));
        match cells {
            Cells::Flat => self.emit(Instr::Finish { to, array }),
            Cells::Separate => {
                let shape = self.shape(cell_type)?;
                self.emit(Instr::Pack(Box::new(PackInstr {
                    to,
                    array,
                    shape,
                    site,
                })));
            }
        }
        Ok(Loc::Boxed(to))
    }

    fn opened_cells(&mut self, array: B, cells: Cells) -> B {
        let to = self.boxed();
        self.emit(Instr::Open {
            to,
            array: Use::of(array),
            cells,
        });
        to
    }

    fn bins_in_order(&mut self, bins: &Bins<'_>) -> Lowered<()> {
        self.count(bins.elements, |lower, at| {
            lower.at_index(bins, at, |lower, index| {
                lower.combine_cell(bins, bins.open, index, bins.array, at)
            })
        })
    }

    /// Where the bins are few, `parts` parts of the elements have bins of their own, which are then combined with the result, one
    /// after the other.
    fn bins_by_parts(&mut self, bins: &Bins<'_>, dest: B, parts: Chunk) -> Lowered<()> {
        let site = bins.site;
        let cells = self.size_at(dest, Vec::new());
        let parts = int(parts.get().into());
        let all = self.integer(BinOp::Mul, &parts, &int_in(cells), site)?;
        let few = self.integer(BinOp::Lt, &int_in(all), &int_in(bins.elements), site)?;
        self.either(
            few,
            |lower| {
                let last = lower.integer(BinOp::Add, &int_in(bins.elements), &parts, site)?;
                let last = lower.integer(BinOp::Sub, &int_in(last), &int(1), site)?;
                let length = lower.integer(BinOp::Div, &int_in(last), &parts, site)?;
                // What a part's bins hold before it puts something into them does not matter.
                let own = lower.opened_cells(dest, bins.cells);
                let holder = lower.nobody(cells, site)?;
                let parts = lower.scalar_of(&parts)?;
                lower.count(parts, |lower, part| {
                    lower.fill_own(bins, own, holder, part, length)?;
                    lower.count(cells, |lower, cell| {
                        let held = lower.is_held(holder, cell, part, site)?;
                        lower.either(
                            held,
                            |lower| lower.combine_cell(bins, bins.open, cell, own, cell),
                            |_| Ok(()),
                        )
                    })
                })
            },
            |lower| lower.bins_in_order(bins),
        )
    }

    /// Which part put something into each of a part's own bins: none yet.
    fn nobody(&mut self, cells: S, site: Site) -> Lowered<B> {
        let holder = self.begin_leaf(Shape::Scalar(ScalarType::I64), cells, site);
        let nobody = self.scalar_of(&int(-1))?;
        self.count(cells, |lower, _| {
            lower.emit(Instr::Push {
                array: holder,
                value: nobody,
            });
            Ok(())
        })?;
        Ok(holder)
    }

    fn is_held(&mut self, holder: B, cell: S, part: S, site: Site) -> Lowered<S> {
        let found = self.scalar();
        self.fetch(holder, cell, Output::Scalar(found));
        self.integer(BinOp::Eq, &int_in(found), &int_in(part), site)
    }

    fn fill_own(&mut self, bins: &Bins<'_>, own: B, holder: B, part: S, length: S) -> Lowered<()> {
        let site = bins.site;
        let start = self.integer(BinOp::Mul, &int_in(part), &int_in(length), site)?;
        self.count(length, |lower, within| {
            let at = lower.integer(BinOp::Add, &int_in(start), &int_in(within), site)?;
            let inside = lower.integer(BinOp::Lt, &int_in(at), &int_in(bins.elements), site)?;
            let then = |lower: &mut Self| {
                lower.at_index(bins, at, |lower, index| {
                    let held = lower.is_held(holder, index, part, site)?;
                    lower.either(
                        held,
                        |lower| lower.combine_cell(bins, own, index, bins.array, at),
                        |lower| {
                            let [_, value] = bins.function.params.as_slice() else {
                                return Err("an operator takes two parameters".to_owned());
                            };
                            let value = lower.fresh(&value.ty);
                            lower.fetch(bins.array, at, output_of(&value));
                            lower.set_cell(own, index, &value)?;
                            lower.set_cell(holder, index, &int_in(part))
                        },
                    )
                })
            };
            lower.either(inside, then, |_| Ok(()))
        })
    }

    /// Where the index at a position is that of a bin.
    fn at_index(
        &mut self,
        bins: &Bins<'_>,
        at: S,
        inside: impl FnOnce(&mut Self, S) -> Lowered<()>,
    ) -> Lowered<()> {
        let (index, condition) = (self.scalar(), self.scalar());
        self.fetch(bins.indices, at, Output::Scalar(index));
        self.emit(Instr::InRange {
            to: condition,
            array: bins.open,
            at: index,
        });
        self.either(condition, |lower| inside(lower, index), |_| Ok(()))
    }

    fn set_cell(&mut self, array: B, at: S, value: &Loc) -> Lowered<()> {
        let value = self.input(value)?;
        self.emit(Instr::SetCell(Box::new(SetCellInstr { array, at, value })));
        Ok(())
    }

    /// `open[index] = open[index] ⊕ array[at]`.
    fn combine_cell(&mut self, bins: &Bins<'_>, open: B, index: S, array: B, at: S) -> Lowered<()> {
        let function = bins.function;
        let [left, right] = function.params.as_slice() else {
            return Err("an operator takes two parameters".to_owned());
        };
        let cell = self.bind_new(left);
        self.fetch(open, index, output_of(&cell));
        self.enter(function, &[(right, array)], at, &[(left, cell)])?;
        let (_, given) = self.body(&function.body)?;
        let [value] = given.as_slice() else {
            return Err("an operator gives one value".to_owned());
        };
        self.set_cell(open, index, value)
    }
}

fn has_jagged(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => false,
        Type::Tuple(parts) => parts.iter().any(has_jagged),
        Type::Array(Dim::Jagged, _) => true,
        Type::Array(Dim::Size(_), element) => has_jagged(element),
    }
}
