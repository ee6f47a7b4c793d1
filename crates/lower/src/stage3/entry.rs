//! The procedure that is called from outside: it takes sizes from the shapes of its arguments, checks those that must
//! agree, allocates the results, and calls the entry's function.

use super::expressions::index_expr;
use crate::cells::{data_def, with_positions};
use crate::error::{Lowering, bug, refuse};
use crate::facts::Facts;
use almach_base::{Name, Span};
use almach_core::{Dim, Function, Program, Recursive, Type, Var};
use almach_imp::interface::{Entry, EntryParam, Shape};
use almach_imp::{Argument, Expr, Index, LoopMode, Param, Passing, Proc, Site, Stmt};
use almach_nat::Atom;
use almach_value::{BinOp, Failure, Scalar, ScalarType};
use std::collections::HashMap;

/// The procedure of an entry, and how values are passed to it. `callee` is the procedure of its function.
pub(crate) fn entry(program: &Program, entry: &almach_core::Entry, callee: &Name) -> Lowering<(Proc, Entry)> {
    let Some(function) = program.functions.get(entry.function.0 as usize) else {
        return bug("an entry without a function", entry.span);
    };
    let mut wrapper = Wrapper {
        program,
        function,
        span: entry.span,
        params: Vec::new(),
        checks: Vec::new(),
        offsets: Vec::new(),
        sizes: HashMap::new(),
        known: Vec::new(),
        after: Vec::new(),
        body: Vec::new(),
    };
    let mut shapes = Vec::new();
    let mut passed = Vec::new();
    for param in &function.params {
        shapes.push(wrapper.shape(&param.ty)?);
        let name = Name::from(format!("{}_in", param.var));
        let mut leaves = Leaves::default();
        wrapper.slots(
            &param.ty,
            &Place::alone(name),
            Direction::In,
            Target::Data,
            &mut leaves,
        )?;
        passed.push(leaves);
    }
    wrapper.solve_sizes()?;
    wrapper.check_offsets();
    let mut arguments = wrapper.size_arguments()?;
    let facts = Facts::of(function);
    let (mut pool_sizes, mut values) = (Vec::new(), Vec::new());
    for (param, leaves) in function.params.iter().zip(passed) {
        if param.ty == Type::I64 && facts.is_size(&param.var) {
            continue;
        }
        values.extend(leaves.data);
        for pool in leaves.pools {
            pool_sizes.push(Argument::Value(Expr::Var(pool.size)));
            values.extend(pool.leaves);
        }
    }
    arguments.extend(pool_sizes);
    arguments.extend(values);
    let results = function
        .result
        .types
        .iter()
        .map(|ty| wrapper.shape(ty))
        .collect::<Lowering<Vec<_>>>()?;
    wrapper.results(callee, arguments)?;
    let proc = Proc {
        name: Name::from(format!("entry_{}", entry.name)),
        params: wrapper.params,
        body: wrapper.body,
        span: entry.span,
    };
    let params = entry
        .params
        .iter()
        .zip(shapes)
        .map(|((name, ty), shape)| EntryParam {
            name: name.clone(),
            ty: ty.clone(),
            shape,
        });
    let interface = Entry {
        name: entry.name.clone(),
        proc: proc.name.clone(),
        params: params.collect(),
        results,
        result_type: entry.result.clone(),
        span: entry.span,
    };
    Ok((proc, interface))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    /// A result whose size is known before the call.
    Out,
    /// A result that the callee gives a size.
    OutOwned,
}

/// What the callee's parameters get of a value: its data, and its pools (see `stage1/layout.rs`).
#[derive(Default)]
struct Leaves {
    data: Vec<Argument>,
    pools: Vec<PoolLeaves>,
}

struct PoolLeaves {
    size: Name,
    leaves: Vec<Argument>,
}

#[derive(Clone, Copy)]
enum Target {
    Data,
    Pool(usize),
}

impl Leaves {
    fn push(&mut self, target: Target, argument: Argument) {
        match target {
            Target::Data => self.data.push(argument),
            Target::Pool(at) => {
                if let Some(pool) = self.pools.get_mut(at) {
                    pool.leaves.push(argument);
                }
            }
        }
    }
}

/// A part of a value: what its parameters are called, and how many of it there are where it stands in arrays.
#[derive(Clone)]
struct Place {
    name: Name,
    count: Option<Index>,
}

impl Place {
    fn alone(name: Name) -> Place {
        Place { name, count: None }
    }

    fn part(&self, at: usize) -> Place {
        Place {
            name: Name::from(format!("{}_{at}", self.name)),
            count: self.count.clone(),
        }
    }

    fn of(&self, count: Index) -> Place {
        Place {
            name: self.name.clone(),
            count: Some(count),
        }
    }
}

/// Offsets of rows: a buffer, how many rows there are, and the size of the data.
struct Offsets {
    buffer: Name,
    rows: Index,
    size: Name,
}

/// Results that the callee gives in another form.
enum After {
    /// Where each row ends, as the offsets of rows; two buffers of the callee go.
    Offsets {
        offsets: Offsets,
        begins: Name,
        ends: Name,
    },
    Size {
        to: Name,
        from: Name,
    },
}

struct Wrapper<'a> {
    program: &'a Program,
    function: &'a Function,
    span: Span,
    params: Vec<Param>,
    /// Sizes of arguments with what the types say of them.
    checks: Vec<(Name, almach_core::Size)>,
    offsets: Vec<Offsets>,
    /// What each size variable of the function is here.
    sizes: HashMap<Var, Index>,
    /// Buffers that hold results whose size is known, with the number of their cells.
    known: Vec<(Name, Index)>,
    after: Vec<After>,
    body: Vec<Stmt>,
}

impl Wrapper<'_> {
    fn shape(&self, ty: &Type) -> Lowering<Shape> {
        Ok(match ty {
            Type::Scalar(scalar) => Shape::Scalar(*scalar),
            Type::Vector(width, scalar) => Shape::Vector(*width, *scalar),
            Type::Tuple(parts) => Shape::Tuple(
                parts
                    .iter()
                    .map(|part| self.shape(part))
                    .collect::<Lowering<_>>()?,
            ),
            Type::Array(Dim::Size(size), element) => {
                Shape::Array(size.as_constant(), Box::new(self.shape(element)?))
            }
            Type::Array(Dim::Jagged, element) => Shape::Rows(Box::new(self.shape(element)?)),
            Type::Data(_) | Type::Node(_) => {
                let constructors = self.sum(ty)?.into_iter().map(|fields| {
                    fields
                        .iter()
                        .map(|field| self.shape(field))
                        .collect::<Lowering<Vec<_>>>()
                });
                Shape::Sum(constructors.collect::<Lowering<_>>()?)
            }
        })
    }

    /// The fields of every constructor of a sum or node. Recursive data cross as tables of nodes.
    fn sum(&self, ty: &Type) -> Lowering<Vec<Vec<Type>>> {
        let (Type::Data(id) | Type::Node(id)) = ty else {
            return bug("a sum that is none", self.span);
        };
        let def = data_def(self.program, *id, self.span)?;
        let fields = def.constructors.iter().map(|constructor| &constructor.fields);
        match ty {
            Type::Node(_) => Ok(fields
                .map(|fields| fields.iter().map(|field| with_positions(field, *id)).collect())
                .collect()),
            _ if def.recursive == Recursive::Yes => bug("a recursive datum crosses the border", self.span),
            _ => Ok(fields.cloned().collect()),
        }
    }

    fn param(&mut self, name: &Name, ty: ScalarType, passing: Passing) {
        self.params.push(Param {
            name: name.clone(),
            ty,
            passing,
        });
    }

    /// A number that goes with a value.
    fn number(&mut self, name: &Name, direction: Direction) {
        let passing = match direction {
            Direction::In => Passing::Value,
            Direction::Out | Direction::OutOwned => Passing::Out,
        };
        self.param(name, ScalarType::I64, passing);
    }

    /// One scalar, or a buffer of as many as there are places.
    fn leaf(&mut self, place: &Place, ty: ScalarType, lanes: u32, direction: Direction) -> Argument {
        let name = place.name.clone();
        let (passing, argument) = match (direction, &place.count) {
            (Direction::In, None) => (Passing::Value, Argument::Value(Expr::Var(name.clone()))),
            (Direction::In, Some(_)) => (Passing::Read, Argument::Buffer(name.clone(), Index::zero())),
            (Direction::Out | Direction::OutOwned, None) => (Passing::Out, Argument::Out(name.clone())),
            (Direction::Out, Some(count)) => {
                let cells = count * &Index::constant(lanes.into());
                self.known.push((name.clone(), cells));
                (Passing::Owned, Argument::Buffer(name.clone(), Index::zero()))
            }
            (Direction::OutOwned, Some(_)) => (Passing::Owned, Argument::Owned(name.clone())),
        };
        self.param(&name, ty, passing);
        argument
    }

    /// The parameters for a value of a type, in the order of its slots, and what the callee gets of them.
    fn slots(
        &mut self,
        ty: &Type,
        place: &Place,
        direction: Direction,
        target: Target,
        leaves: &mut Leaves,
    ) -> Lowering<()> {
        match ty {
            Type::Scalar(scalar) => {
                let argument = self.leaf(place, *scalar, 1, direction);
                leaves.push(target, argument);
            }
            Type::Vector(width, scalar) => match place.count {
                None => (0..*width as usize).for_each(|at| {
                    let argument = self.leaf(&place.part(at), *scalar, 1, direction);
                    leaves.push(target, argument);
                }),
                Some(_) => {
                    let argument = self.leaf(place, *scalar, *width, direction);
                    leaves.push(target, argument);
                }
            },
            Type::Tuple(parts) => {
                for (at, component) in parts.iter().enumerate() {
                    self.slots(component, &place.part(at), direction, target, leaves)?;
                }
            }
            Type::Array(Dim::Size(size), element) => {
                let name = Name::from(format!("{}_size_{}", place.name, self.params.len()));
                self.number(&name, direction);
                let count = match direction {
                    Direction::In => Index::var(name.clone()),
                    Direction::Out | Direction::OutOwned => self.index(size)?,
                };
                self.checks.push((name, size.clone()));
                let count = match &place.count {
                    Some(around) => around * &count,
                    None => count,
                };
                self.slots(element, &place.of(count), direction, target, leaves)?;
            }
            Type::Array(Dim::Jagged, element) => self.rows(element, place, direction, target, leaves)?,
            Type::Data(_) | Type::Node(_) => {
                let constructors = self.sum(ty)?;
                let tag = self.leaf(&place.part(0), almach_imp::interface::TAG, 1, direction);
                leaves.push(target, tag);
                if let (Type::Node(_), Direction::In) = (ty, direction) {
                    self.check_tags(&place.part(0), constructors.len());
                }
                for (at, fields) in constructors.iter().enumerate() {
                    for (field_at, field) in fields.iter().enumerate() {
                        let place = place.part(at + 1).part(field_at);
                        self.slots(field, &place, direction, target, leaves)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows: offsets where there are many, then the size and the elements of all of them.
    fn rows(
        &mut self,
        element: &Type,
        place: &Place,
        direction: Direction,
        target: Target,
        leaves: &mut Leaves,
    ) -> Lowering<()> {
        let number = self.params.len();
        let name = |what: &str| Name::from(format!("{}_{what}_{number}", place.name));
        let (offsets, size) = (name("offsets"), name("size"));
        let pool = match direction {
            Direction::In => size.clone(),
            Direction::Out | Direction::OutOwned => name("total"),
        };
        if let Some(rows) = place.count.clone() {
            let passing = match direction {
                Direction::In => Passing::Read,
                Direction::Out | Direction::OutOwned => Passing::Owned,
            };
            self.param(&offsets, ScalarType::I64, passing);
            let offsets = Offsets {
                buffer: offsets,
                rows,
                size: size.clone(),
            };
            self.many_rows(offsets, (name("begins"), name("ends")), direction, target, leaves);
        } else {
            self.one_row((name("begin"), name("end")), &size, direction, target, leaves);
        }
        self.number(&size, direction);
        if direction != Direction::In {
            self.after.push(After::Size {
                to: size,
                from: pool.clone(),
            });
        }
        let at = leaves.pools.len();
        leaves.pools.push(PoolLeaves {
            size: pool.clone(),
            leaves: Vec::new(),
        });
        let inside = place.of(Index::var(pool));
        self.slots(element, &inside, direction, Target::Pool(at), leaves)
    }

    /// Begins and ends are the same offsets, one apart.
    fn many_rows(
        &mut self,
        offsets: Offsets,
        (begins, ends): (Name, Name),
        direction: Direction,
        target: Target,
        leaves: &mut Leaves,
    ) {
        if direction == Direction::In {
            for first in [Index::zero(), Index::one()] {
                leaves.push(target, Argument::Buffer(offsets.buffer.clone(), first));
            }
            self.offsets.push(offsets);
            return;
        }
        for name in [&begins, &ends] {
            self.body.push(Stmt::Buffer {
                name: name.clone(),
                ty: ScalarType::I64,
                space: almach_imp::Space::Host,
            });
            leaves.push(target, Argument::Owned(name.clone()));
        }
        self.after.push(After::Offsets {
            offsets,
            begins,
            ends,
        });
    }

    fn one_row(
        &mut self,
        (begin, end): (Name, Name),
        size: &Name,
        direction: Direction,
        target: Target,
        leaves: &mut Leaves,
    ) {
        if direction == Direction::In {
            leaves.push(target, Argument::Value(Expr::int(0)));
            leaves.push(target, Argument::Value(Expr::Var(size.clone())));
            return;
        }
        for name in [begin, end] {
            self.variable(&name);
            leaves.push(target, Argument::Out(name));
        }
    }

    fn variable(&mut self, name: &Name) {
        self.body.push(Stmt::Var {
            name: name.clone(),
            ty: ScalarType::I64,
            value: None,
        });
    }

    /// Tags of nodes are those of constructors.
    fn check_tags(&mut self, place: &Place, constructors: usize) {
        let check = |tag: Expr| Stmt::Check {
            condition: Expr::binary(
                BinOp::Lt,
                tag.clone(),
                Expr::Const(Scalar::U32(constructors as u32)),
            ),
            site: Site {
                code: Failure::BadReference.code(),
                span: self.span,
                text: Name::from(format!("tag {{}} is of none of {constructors} constructors")),
            },
            arguments: vec![tag],
        };
        let stmt = match &place.count {
            None => check(Expr::Var(place.name.clone())),
            Some(count) => {
                let index = Name::from(format!("{}_node", place.name));
                Stmt::For {
                    index: index.clone(),
                    count: count.clone(),
                    mode: LoopMode::Seq,
                    body: vec![check(Expr::Load(place.name.clone(), Index::var(index)))],
                }
            }
        };
        self.body.push(stmt);
    }

    /// Offsets start at 0, do not fall, and end at the size of the data.
    fn check_offsets(&mut self) {
        for offsets in std::mem::take(&mut self.offsets) {
            let at = |index: Index| Expr::Load(offsets.buffer.clone(), index);
            let failure = Failure::BadOffsets;
            let site = Site {
                code: failure.code(),
                span: self.span,
                text: Name::from(failure.text()),
            };
            let check = |condition: Expr| Stmt::Check {
                condition,
                site: site.clone(),
                arguments: vec![],
            };
            let first = Expr::binary(BinOp::Eq, at(Index::zero()), Expr::int(0));
            let last = Expr::binary(
                BinOp::Eq,
                at(offsets.rows.clone()),
                Expr::Var(offsets.size.clone()),
            );
            let i = Name::from(format!("{}_row", offsets.buffer));
            let here = Index::var(i.clone());
            let rises = Expr::binary(BinOp::Le, at(here.clone()), at(here + Index::one()));
            self.body.push(check(first));
            self.body.push(check(last));
            self.body.push(Stmt::For {
                index: i,
                count: offsets.rows.clone(),
                mode: LoopMode::Seq,
                body: vec![check(rises)],
            });
        }
    }

    /// A dimension that is a variable alone gives its value; all others are checked.
    fn solve_sizes(&mut self) -> Lowering<()> {
        let checks = std::mem::take(&mut self.checks);
        for param in &self.function.params {
            if param.ty == Type::I64 {
                let name = Name::from(format!("{}_in", param.var));
                self.sizes.insert(param.var.clone(), Index::var(name));
            }
        }
        for (name, size) in &checks {
            if let Some(var) = size.as_var()
                && self.function.context.contains(var)
            {
                self.sizes
                    .entry(var.clone())
                    .or_insert_with(|| Index::var(name.clone()));
            }
        }
        for (name, size) in checks {
            let wanted = self.index(&size)?;
            let found = Index::var(name);
            if wanted == found {
                continue;
            }
            let (wanted, found) = (index_expr(wanted), index_expr(found));
            let failure = Failure::SizeMismatch;
            self.body.push(Stmt::Check {
                condition: Expr::binary(BinOp::Eq, wanted.clone(), found.clone()),
                site: Site {
                    code: failure.code(),
                    span: self.span,
                    text: Name::from(failure.text()),
                },
                arguments: vec![wanted, found],
            });
        }
        Ok(())
    }

    fn index(&self, size: &almach_core::Size) -> Lowering<Index> {
        if let Some(missing) = size.free_vars().find(|var| !self.sizes.contains_key(*var)) {
            return refuse(
                format!("an entry whose size `{}` no argument tells", missing.name),
                self.span,
            );
        }
        let index = size.map_vars(&|var: &Var| self.sizes.get(var).cloned().unwrap_or_else(Index::zero));
        // Nothing has such a size; the function fails before anyone wants to know it.
        Ok(match divides_by_zero(&index) {
            true => Index::zero(),
            false => index,
        })
    }

    /// The sizes the function's procedure takes, in its order.
    fn size_arguments(&self) -> Lowering<Vec<Argument>> {
        let facts = Facts::of(self.function);
        let numbers = self.function.params.iter().filter(|param| param.ty == Type::I64);
        let numbers = numbers.map(|param| &param.var).filter(|var| facts.is_size(var));
        let all = self.function.context.iter().chain(numbers);
        all.map(|var| {
            Ok(Argument::Value(index_expr(
                self.index(&almach_core::Size::var(var.clone()))?,
            )))
        })
        .collect()
    }

    /// Allocates the results (or lets the callee do it, where their sizes are not known), calls, and gives the sizes.
    fn results(&mut self, callee: &Name, mut arguments: Vec<Argument>) -> Lowering<()> {
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
            self.body.push(Stmt::Alloc {
                buffer,
                size,
                span: self.span,
            });
        }
    }
}

fn divides_by_zero(index: &Index) -> bool {
    index
        .terms()
        .iter()
        .flat_map(|(monomial, _)| monomial.factors())
        .any(|(atom, _)| match atom {
            Atom::Var(_) => false,
            Atom::Quotient(ratio) | Atom::Remainder(ratio) => {
                ratio.divisor.is_zero() || divides_by_zero(&ratio.dividend) || divides_by_zero(&ratio.divisor)
            }
            Atom::Unfolded(operation) => {
                divides_by_zero(&operation.left) || divides_by_zero(&operation.right)
            }
        })
}
