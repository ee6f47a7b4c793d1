//! The procedure that is called from outside: it takes sizes from the shapes of its arguments, checks those that must
//! agree, allocates the results, and calls the entry's function.

mod checks;
mod results;
mod slots;

use crate::cells::data_def;
use crate::error::{Lowering, bug};
use crate::facts::Facts;
use almach_base::{Name, Span};
use almach_core::{Dim, Function, Program, Recursive, Type, Var};
use almach_imp::interface::{Entry, EntryParam, Shape};
use almach_imp::{Argument, Expr, Index, Param, Passing, Proc, Stmt};
use almach_value::ScalarType;
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
                .map(|fields| {
                    fields
                        .iter()
                        .map(|field| def.with_positions(*id, field))
                        .collect()
                })
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

    fn variable(&mut self, name: &Name) {
        self.body.push(Stmt::Var {
            name: name.clone(),
            ty: ScalarType::I64,
            value: None,
        });
    }
}
