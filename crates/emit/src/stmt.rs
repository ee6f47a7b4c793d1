//! Imp's statements as C.

use crate::Accounting;
use crate::analysis::{self, Storage};
use crate::device::Side;
use crate::helpers::Helper;
use crate::index::{Arithmetic, integer};
use crate::procedure::{Emitter, Repeated, Role};
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use almach_base::codes::runtime;
use almach_base::{Diagnostic, Name, Span};
use almach_imp::{Argument, Expr, Index, Site, Space, Stmt, Writing};
use almach_nat::{Atom, Monomial};
use almach_value::{BinOp, Failure, Scalar, ScalarType, UnOp};

/// Of longer lines of source a comment shows only the start.
const LONGEST_COMMENT: usize = 80;

type Emit<T> = Result<T, Box<Diagnostic>>;

impl Emitter<'_> {
    /// A block; what is learnt about names in it is forgotten at its end.
    pub fn block(&mut self, stmts: &[Stmt]) -> Emit<Vec<CStmt>> {
        let mark = self.facts.mark();
        let mut out = Vec::new();
        for (at, stmt) in stmts.iter().enumerate() {
            let after = stmts.get(at + 1..).unwrap_or(&[]);
            self.stmt(stmt, after, &mut out)?;
        }
        self.facts.forget_since(mark);
        Ok(out)
    }

    pub fn stmt(&mut self, stmt: &Stmt, after: &[Stmt], out: &mut Vec<CStmt>) -> Emit<()> {
        match stmt {
            Stmt::At(span) => self.comment(*span, out),
            Stmt::Let { name, ty, value } => self.define(name, *ty, value, out)?,
            Stmt::Var { name, ty, value } => {
                let value = match value {
                    Some(value) => self.value_of(name, value)?,
                    // Compilers do not always see that it is written before it is read.
                    None => crate::expr::literal(Scalar::zero(*ty)),
                };
                let c_name = self.bind(name, *ty, Role::Variable);
                out.push(self.declared(CType::Scalar(*ty), &c_name, value));
                self.discard_unread(name, &c_name, out);
            }
            Stmt::Assign { name, value } => {
                let (variable, value) = (self.variable(name)?, self.value_of(name, value)?);
                // Compilers warn of what changes nothing.
                if variable != value {
                    out.push(CStmt::Assign(variable, value));
                }
            }
            Stmt::Store { buffer, index, value } => {
                let value = self.expr(value)?;
                match self.known(buffer)?.role {
                    Role::Column(Writing::Settled) => {
                        let place = self.column_place(buffer, index)?;
                        let settle = match index.free_vars().any(|var| self.reserved.contains(var)) {
                            true => {
                                self.helpers.settles_own = true;
                                "settle_own"
                            }
                            false => {
                                self.helpers.settles = true;
                                "settle"
                            }
                        };
                        out.push(CStmt::Do(CExpr::call(settle, [place, value])));
                    }
                    _ => out.push(CStmt::Assign(self.cell(buffer, index)?, value)),
                }
            }
            Stmt::Reserve {
                name,
                store,
                count,
                span,
            } => self.reserve(name, store, count, *span, out)?,
            Stmt::Buffer {
                name,
                ty,
                space: Space::Borrowed,
            } => {
                let c_name = self.bind(name, *ty, Role::Buffer(None));
                out.push(CStmt::Declare {
                    ty: CType::Scalar(*ty).const_pointer(),
                    name: c_name,
                    value: Some(CExpr::name("NULL")),
                });
            }
            Stmt::Buffer { name, ty, .. } => {
                let storage = self.uses.storage(name);
                self.bind(name, *ty, Role::Buffer(Some(storage)));
                if let Storage::Room(_) = storage {
                    let room = self.scope.fresh(&format!("{name}_room"));
                    self.rooms.insert(name.clone(), room);
                }
                if let Storage::Heap { .. } | Storage::Room(_) = storage {
                    self.region()?.buffers.push(name.clone());
                }
            }
            Stmt::Alloc { buffer, size, span } => self.allocate(buffer, size, *span, out)?,
            Stmt::Shrink { buffer, size } => self.shrink(buffer, size, out)?,
            Stmt::Atomic {
                step,
                order,
                buffer,
                index,
            } => self.atomic(step, *order, buffer, index, out)?,
            Stmt::Await { buffer, index, value } => self.wait(buffer, index, value, out)?,
            // Lowering for a CPU makes loops of work-items, one after the other: they have nothing to meet for.
            Stmt::Barrier => return Err(self.bug("a barrier on a CPU")),
            Stmt::Kernel { name, body } => self.kernel(name, body, out)?,
            Stmt::Transfer(transfer) => self.transfer(transfer, out)?,
            Stmt::Free(buffer) => self.free(buffer, after, out)?,
            Stmt::Borrow {
                buffer, from, first, ..
            } => {
                let cells = self.buffer_from(from, first)?;
                let borrowed = CExpr::name(self.known(buffer)?.c_name.clone());
                out.push(CStmt::Assign(borrowed, cells));
            }
            Stmt::Swap(a, b) => self.swap(a, b, out)?,
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                self.copy([to, from], [to_index, from_index], count, out)?;
            }
            Stmt::For { .. } => {
                self.with_frame_in_variables(stmt, out, |this, out| this.for_loop(stmt, out))?;
            }
            Stmt::While { condition, body } => self.with_frame_in_variables(stmt, out, |this, out| {
                let condition = this.expr(condition)?;
                let body = this.repeated(Repeated::Yes, body)?;
                out.push(CStmt::While(condition, body));
                Ok(())
            })?,
            Stmt::If {
                condition,
                then,
                otherwise,
            } => self.branch(condition, then, otherwise, out)?,
            Stmt::Foreign {
                function,
                arguments,
                span,
            } => self.foreign(function, arguments, *span, out)?,
            Stmt::Trace { label, ty, arguments } => self.trace(label, ty, arguments, out)?,
            Stmt::Check {
                condition,
                site,
                arguments,
            } => self.check(condition, site, arguments, out)?,
            Stmt::Call {
                proc,
                arguments,
                span,
            } => match self.is_resumed(proc) {
                true => self.suspend(proc, arguments, *span, out)?,
                false => self.call(proc, arguments, out)?,
            },
        }
        Ok(())
    }

    /// `/* file:line: the source */`, unless the last comment showed the same line.
    fn comment(&mut self, span: Span, out: &mut Vec<CStmt>) {
        self.span = span;
        let sources = self.unit.sources;
        let (Some(file), Some(position)) = (sources.file(span.file), sources.position(span)) else {
            return;
        };
        if self.shown == Some((span.file.0, position.line)) {
            return;
        }
        self.shown = Some((span.file.0, position.line));
        let line = sources.text(span).lines().next().unwrap_or("").trim();
        let text = match line.char_indices().nth(LONGEST_COMMENT) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
            None => line.to_string(),
        };
        out.push(CStmt::Comment(format!("{}:{}: {text}", file.name, position.line)));
    }

    fn define(&mut self, name: &Name, ty: ScalarType, value: &Expr, out: &mut Vec<CStmt>) -> Emit<()> {
        let c_value = self.value_of(name, value)?;
        let c_name = self.bind(name, ty, Role::Constant);
        if let Expr::Index(index) = value
            && index.free_vars().all(|var| self.stays(var))
        {
            self.facts.define(name, index);
        }
        out.push(self.declared(CType::Scalar(ty).constant(), &c_name, c_value));
        self.discard_unread(name, &c_name, out);
        Ok(())
    }

    /// A scalar variable as something to assign to.
    pub fn variable(&self, name: &Name) -> Emit<CExpr> {
        let known = self.known(name)?;
        let variable = CExpr::name(known.c_name.clone());
        Ok(match known.role {
            Role::Result => CExpr::unary(CUnary::Follow, variable),
            _ => variable,
        })
    }

    pub fn heap(&self, buffer: &Name) -> Emit<(String, Storage)> {
        let known = self.known(buffer)?;
        match known.role {
            Role::Buffer(Some(storage)) => Ok((known.c_name.clone(), storage)),
            _ => Err(self.bug(format!("`{buffer}` is not owned"))),
        }
    }

    fn allocate(&mut self, buffer: &Name, size: &Index, span: Span, out: &mut Vec<CStmt>) -> Emit<()> {
        let (c_name, storage) = self.heap(buffer)?;
        let ty = self.known(buffer)?.ty;
        let reused = match storage {
            Storage::Stack(_) if self.is_in_frame(&c_name) => return Ok(()),
            Storage::Stack(size) => {
                out.push(CStmt::DeclareCells {
                    ty: CType::Scalar(ty),
                    name: c_name,
                    size,
                });
                return Ok(());
            }
            Storage::Room(_) => false,
            Storage::Heap { reused } => reused,
        };
        self.allocates = true;
        let mut count = self.index(size, Arithmetic::Saturating);
        if !matches!(count, CExpr::Name(_) | CExpr::Literal(_)) {
            let name = self.scope.fresh(&format!("{buffer}_size"));
            let ty = CType::Scalar(ScalarType::I64).constant();
            out.push(CStmt::Declare {
                ty,
                name: name.clone(),
                value: Some(count),
            });
            count = CExpr::name(name);
        }
        if reused {
            let released = self.release(buffer)?;
            out.push(released);
        }
        let cell = CExpr::SizeOfCell(Box::new(CExpr::name(c_name.clone())));
        let mut block = CExpr::call("allocate", [self.context()?, count.clone(), cell]);
        if let (Storage::Room(cells), Some(room)) = (storage, self.rooms.get(buffer)) {
            // A negative size is none that fits.
            let wanted = CExpr::cast(CType::Scalar(ScalarType::U64), count.clone());
            let fits = CExpr::binary(CBinary::LessEqual, wanted, CExpr::literal(cells.to_string()));
            block = CExpr::Conditional(
                Box::new(fits),
                Box::new(CExpr::name(room.clone())),
                Box::new(block),
            );
        }
        out.push(CStmt::Assign(CExpr::name(c_name.clone()), block));
        let site = Site {
            code: runtime::OUT_OF_MEMORY,
            span,
            text: Failure::OutOfMemory.text().into(),
        };
        let failed = self.failure(&site, vec![(count, ScalarType::I64)])?;
        let missing = CExpr::binary(CBinary::Equal, CExpr::name(c_name), CExpr::name("NULL"));
        out.push(CStmt::when(missing, failed));
        if size.free_vars().all(|var| self.stays(var)) {
            self.facts.assume_nonneg(size.clone());
        }
        Ok(())
    }

    /// `const int64_t cell = reserve(&ctx->stores->List, 1, 20);`, which is negative where there is no memory.
    fn reserve(
        &mut self,
        name: &Name,
        store: &Name,
        count: &Index,
        span: Span,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        self.helpers.reserved.insert(store.clone());
        self.reserved.insert(name.clone());
        let Some(known) = self.unit.stores.get(store) else {
            return Err(self.bug(format!("there is no store `{store}`")));
        };
        let mut c_count = self.index(count, Arithmetic::Saturating);
        if !matches!(c_count, CExpr::Name(_) | CExpr::Literal(_)) {
            let size = self.scope.fresh(&format!("{name}_count"));
            out.push(CStmt::Declare {
                ty: CType::Scalar(ScalarType::I64).constant(),
                name: size.clone(),
                value: Some(c_count),
            });
            c_count = CExpr::name(size);
        }
        let rows = self.context()?.arrow("stores").arrow(&known.c_name);
        let rows = CExpr::unary(CUnary::Address, rows);
        let bytes = CExpr::literal(known.bytes.to_string());
        let c_name = self.bind(name, ScalarType::I64, Role::Constant);
        let ty = CType::Scalar(ScalarType::I64).constant();
        let first = CExpr::call("reserve", [rows, c_count.clone(), bytes]);
        out.push(self.declared(ty, &c_name, first));
        let site = Site {
            code: runtime::OUT_OF_MEMORY,
            span,
            text: Failure::OutOfMemory.text().into(),
        };
        let failed = self.failure(&site, vec![(c_count, ScalarType::I64)])?;
        let missing = CExpr::binary(CBinary::Less, CExpr::name(c_name), CExpr::literal("0"));
        out.push(CStmt::when(missing, failed));
        self.facts.set_natural(name);
        Ok(())
    }

    /// `fail(ctx, 3, 1, (const uint64_t[]){…}); goto failed;`
    pub fn failure(&mut self, site: &Site, arguments: Vec<(CExpr, ScalarType)>) -> Emit<Vec<CStmt>> {
        let types = arguments.iter().map(|(_, ty)| *ty).collect();
        let number = self.sites.number(site, types);
        let count = arguments.len();
        let raw: Vec<CExpr> = arguments
            .into_iter()
            .map(|(value, ty)| self.raw(value, ty))
            .collect();
        if let Side::Kernel { at } = self.side.clone() {
            return self.kernel_failure(at, number, raw);
        }
        let values = match count {
            0 => CExpr::name("NULL"),
            _ => CExpr::Cells(CType::Scalar(ScalarType::U64), raw),
        };
        let region = self.region()?;
        region.jumps = true;
        let (context, label) = (region.context.clone(), region.label.clone());
        let report = CExpr::call(
            "fail",
            [
                context,
                CExpr::literal(number.to_string()),
                CExpr::literal(count.to_string()),
                values,
            ],
        );
        Ok(vec![CStmt::Do(report), CStmt::Goto(label)])
    }

    /// A scalar in 64 bits, as `Scalar::to_raw` has it.
    pub fn raw(&mut self, value: CExpr, ty: ScalarType) -> CExpr {
        match ty {
            ScalarType::F32 | ScalarType::F64 => {
                CExpr::call(self.helpers.need(Helper::Unary(UnOp::ToBits, ty)), [value])
            }
            _ => CExpr::cast(CType::Scalar(ScalarType::U64), value),
        }
    }

    fn free(&mut self, buffer: &Name, after: &[Stmt], out: &mut Vec<CStmt>) -> Emit<()> {
        let (c_name, storage) = self.heap(buffer)?;
        if let Storage::Stack(_) = storage {
            return Ok(());
        }
        let released = self.release(buffer)?;
        out.push(released);
        // Nothing looks at it any more where nothing fails up to the end of the region.
        let settles = self.regions.last().is_some_and(|region| region.settles);
        let at_end = !settles && !analysis::fails(after, self.uses, &self.unit.traits);
        if !(at_end && self.at_region_level) {
            out.push(CStmt::Assign(CExpr::name(c_name), CExpr::name("NULL")));
        }
        Ok(())
    }

    fn shrink(&mut self, buffer: &Name, size: &Index, out: &mut Vec<CStmt>) -> Emit<()> {
        let c_name = CExpr::name(self.heap(buffer)?.0);
        let count = self.index(size, Arithmetic::Wrapping);
        let cell = CExpr::SizeOfCell(Box::new(c_name.clone()));
        let shrink = self.helpers.need(Helper::Shrink(self.unit.accounting));
        let block = CExpr::call(shrink, [c_name.clone(), count.clone(), cell.clone()]);
        let assign = CStmt::Assign(c_name.clone(), block);
        if !self.unit.has_kernels {
            out.push(assign);
            return Ok(());
        }
        let Some(region) = self.regions.last() else {
            return Err(self.bug("a statement outside of a region"));
        };
        let address = CType::Named("uintptr_t".into());
        let before = self.scope.fresh("before");
        let bytes = CExpr::binary(
            CBinary::Multiply,
            CExpr::cast(CType::Named("size_t".into()), count),
            cell,
        );
        let told = CExpr::call(
            "shrunk",
            [
                self.owner(region)?,
                CExpr::name(before.clone()),
                c_name.clone(),
                bytes,
            ],
        );
        out.push(CStmt::Block(vec![
            CStmt::Declare {
                ty: address.clone().constant(),
                name: before,
                value: Some(CExpr::cast(address, c_name)),
            },
            assign,
            CStmt::Do(told),
        ]));
        Ok(())
    }

    fn swap(&mut self, a: &Name, b: &Name, out: &mut Vec<CStmt>) -> Emit<()> {
        let known = self.known(a)?;
        let (ty, first, second) = (known.ty, known.c_name.clone(), self.known(b)?.c_name.clone());
        let held = self.scope.fresh("held");
        out.push(CStmt::Block(vec![
            CStmt::Declare {
                ty: CType::Scalar(ty).pointer().constant(),
                name: held.clone(),
                value: Some(CExpr::name(first.clone())),
            },
            CStmt::Assign(CExpr::name(first), CExpr::name(second.clone())),
            CStmt::Assign(CExpr::name(second), CExpr::name(held)),
        ]));
        Ok(())
    }

    fn copy(
        &mut self,
        buffers: [&Name; 2],
        indices: [&Index; 2],
        count: &Index,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        if let Side::Kernel { .. } = self.side {
            return self.kernel_copy(buffers, indices, count, out);
        }
        let [to, from] = buffers;
        let [to_index, from_index] = indices;
        let (to_c, from_c) = (
            self.buffer_from(to, to_index)?,
            self.buffer_from(from, from_index)?,
        );
        let cell = CExpr::SizeOfCell(Box::new(CExpr::name(self.known(to)?.c_name.clone())));
        let c_count = self.index(count, Arithmetic::Wrapping);
        let bytes = CExpr::binary(
            CBinary::Multiply,
            CExpr::cast(CType::Named("size_t".into()), c_count.clone()),
            cell,
        );
        let is_large = self.past_the_cache(from, to)?;
        let function = match self.unit.accounting {
            // Where one buffer is copied to itself, that may be to the same place.
            Accounting::Off if to == from => "memmove",
            Accounting::Off => "memcpy",
            Accounting::On => "counted_copy",
        };
        let copy = CStmt::Do(match is_large {
            None => CExpr::call(function, [to_c, from_c, bytes]),
            Some(large) => CExpr::call(self.helpers.need(Helper::CopyOut), [to_c, from_c, bytes, large]),
        });
        match count.as_constant() {
            Some(count) if count > 0 => out.push(copy),
            Some(_) => {}
            None => out.push(CStmt::when(
                CExpr::binary(CBinary::Greater, c_count, integer(0)),
                vec![copy],
            )),
        }
        Ok(())
    }

    /// A pointer to a buffer's cell.
    pub fn buffer_from(&mut self, buffer: &Name, index: &Index) -> Emit<CExpr> {
        let start = CExpr::name(self.known(buffer)?.c_name.clone());
        Ok(match index.is_zero() {
            true => start,
            false => CExpr::binary(CBinary::Add, start, self.index(index, Arithmetic::Plain)),
        })
    }

    fn branch(
        &mut self,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let mark = self.facts.mark();
        self.learn(condition);
        let then = self.nested(then)?;
        self.facts.forget_since(mark);
        self.learn_falsity(condition);
        let otherwise = self.nested(otherwise)?;
        self.facts.forget_since(mark);
        let flips = then.is_empty() && !otherwise.is_empty();
        let (condition, then, otherwise) = match flips {
            true => (self.falsity(condition)?, otherwise, then),
            false => (self.expr(condition)?, then, otherwise),
        };
        out.push(CStmt::If {
            condition,
            then,
            otherwise,
        });
        Ok(())
    }

    fn learn(&mut self, condition: &Expr) {
        let names = &self.names;
        let stays = |name: &Name| names.get(name).is_some_and(|known| known.role == Role::Constant);
        self.facts.assume(condition, &stays);
    }

    /// What follows where a comparison fails.
    fn learn_falsity(&mut self, condition: &Expr) {
        if let Expr::Binary(op, left, right) = condition
            && let Some(opposite) = crate::expr::opposite(*op)
        {
            self.learn(&Expr::Binary(opposite, left.clone(), right.clone()));
        }
    }

    fn check(&mut self, condition: &Expr, site: &Site, arguments: &[Expr], out: &mut Vec<CStmt>) -> Emit<()> {
        // A product of sizes that is too large is no size of an array that is there.
        let arithmetic = match compares_sizes(condition) {
            true => Arithmetic::Saturating,
            false => self.arithmetic,
        };
        let before = std::mem::replace(&mut self.arithmetic, arithmetic);
        let failing = self.falsity(condition);
        let arguments = arguments
            .iter()
            .map(|argument| self.typed(argument))
            .collect::<Emit<_>>();
        self.arithmetic = before;
        let (failing, arguments) = (failing?, arguments?);
        let failed = self.failure(site, arguments)?;
        out.push(CStmt::when(failing, failed));
        self.learn(condition);
        Ok(())
    }

    fn call(&mut self, proc: &Name, arguments: &[Argument], out: &mut Vec<CStmt>) -> Emit<()> {
        let callee = self.callee(proc)?;
        let mut c_arguments = Vec::new();
        if callee.takes_context {
            c_arguments.push(self.context()?);
        }
        c_arguments.extend(self.arguments(proc, arguments, out)?);
        let call = CExpr::call(callee.c_name.clone(), c_arguments);
        if !callee.fails {
            out.push(CStmt::Do(call));
            return Ok(());
        }
        let region = self.region()?;
        region.jumps = true;
        let jump = CStmt::Goto(region.label.clone());
        let failed = CExpr::binary(CBinary::NotEqual, call, CExpr::literal("0"));
        out.push(CStmt::when(failed, vec![jump]));
        Ok(())
    }

    /// The arguments of a call, without the context.
    pub fn arguments(
        &mut self,
        proc: &Name,
        arguments: &[Argument],
        out: &mut Vec<CStmt>,
    ) -> Emit<Vec<CExpr>> {
        let natural = |argument: &Argument| match argument {
            Argument::Value(value) => self.facts.is_natural(value),
            _ => false,
        };
        let natural = arguments.iter().map(natural).collect();
        self.calls.push((proc.clone(), natural));
        let mut c_arguments = Vec::new();
        for argument in arguments {
            c_arguments.push(match argument {
                // The procedure may allocate by it.
                Argument::Value(value) => self.size_expr(value)?,
                Argument::Out(name) => CExpr::unary(CUnary::Address, self.variable(name)?),
                Argument::Buffer(buffer, index) => self.buffer_from(buffer, index)?,
                Argument::Owned(buffer) => {
                    let (c_name, storage) = self.heap(buffer)?;
                    if storage != (Storage::Heap { reused: false }) {
                        let released = self.release(buffer)?;
                        out.push(released);
                        out.push(CStmt::Assign(CExpr::name(c_name.clone()), CExpr::name("NULL")));
                    }
                    CExpr::unary(CUnary::Address, CExpr::name(c_name))
                }
            });
        }
        Ok(c_arguments)
    }

    pub fn nested(&mut self, stmts: &[Stmt]) -> Emit<Vec<CStmt>> {
        let level = std::mem::replace(&mut self.at_region_level, false);
        let body = self.block(stmts)?;
        self.at_region_level = level;
        Ok(body)
    }
}

/// Whether a condition says that two numbers are equal of which one is a product.
fn compares_sizes(condition: &Expr) -> bool {
    // A product of constants that does not fit is left as one, of degree one.
    let is_large = |(monomial, coefficient): &(Monomial<Name>, i64)| {
        let mut atoms = monomial.factors().iter();
        let is_unfolded = atoms.any(|(atom, _)| matches!(atom, Atom::Unfolded(_)));
        is_unfolded || monomial.degree() > 1 || (monomial.degree() == 1 && coefficient.unsigned_abs() > 1)
    };
    let is_product = |expr: &Expr| match expr {
        Expr::Index(index) => index.terms().iter().any(is_large),
        _ => false,
    };
    match condition {
        Expr::Binary(BinOp::Eq, left, right) => is_product(left) || is_product(right),
        _ => false,
    }
}
