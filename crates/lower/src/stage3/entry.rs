//! The procedure that is called from outside: it takes sizes from the shapes of its arguments, checks those that must
//! agree, allocates the results, and calls the entry's function.

use super::expressions::index_expr;
use crate::error::{Lowering, bug, refuse};
use crate::facts::Facts;
use almach_base::{Name, Span};
use almach_core::{DataDef, Dim, Function, Program, Recursive, Type, Var};
use almach_imp::interface::{Entry, EntryParam, Shape};
use almach_imp::{Argument, Expr, Index, Param, Passing, Proc, Site, Stmt};
use almach_nat::Atom;
use almach_value::{BinOp, Failure, ScalarType};
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
        sizes: HashMap::new(),
        body: Vec::new(),
    };
    let mut shapes = Vec::new();
    let mut passed = Vec::new();
    for param in &function.params {
        shapes.push(wrapper.shape(&param.ty)?);
        let name = Name::from(format!("{}_in", param.var));
        let start = wrapper.params.len();
        wrapper.slots(&param.ty, &name, Direction::In, Place::Alone)?;
        passed.push(wrapper.params.get(start..).unwrap_or_default().to_vec());
    }
    wrapper.solve_sizes()?;
    let mut arguments = wrapper.size_arguments()?;
    let facts = Facts::of(function);
    for (param, slots) in function.params.iter().zip(&passed) {
        if param.ty == Type::I64 && facts.is_size(&param.var) {
            continue;
        }
        arguments.extend(slots.iter().filter_map(|slot| match slot.kind {
            SlotKind::Size => None,
            SlotKind::Scalar => Some(Argument::Value(Expr::Var(slot.param.name.clone()))),
            SlotKind::Buffer => Some(Argument::Buffer(slot.param.name.clone(), Index::zero())),
        }));
    }
    let results = function
        .result
        .types
        .iter()
        .map(|ty| wrapper.shape(ty))
        .collect::<Lowering<Vec<_>>>()?;
    wrapper.results(callee, arguments)?;
    let proc = Proc {
        name: Name::from(format!("entry_{}", entry.name)),
        params: wrapper.params.into_iter().map(|slot| slot.param).collect(),
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

#[derive(Clone)]
struct Slot {
    param: Param,
    kind: SlotKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Size,
    Scalar,
    Buffer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    InArray,
}

struct Wrapper<'a> {
    program: &'a Program,
    function: &'a Function,
    span: Span,
    params: Vec<Slot>,
    /// Sizes of arguments with what the types say of them.
    checks: Vec<(Name, almach_core::Size)>,
    /// What each size variable of the function is here.
    sizes: HashMap<Var, Index>,
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
            Type::Array(Dim::Size(_), element) => Shape::Array(Box::new(self.shape(element)?)),
            Type::Array(Dim::Jagged, _) => return refuse("a jagged array", self.span),
            Type::Data(id) => {
                let def = self.sum(*id)?;
                let constructors = def.constructors.iter().map(|constructor| {
                    constructor
                        .fields
                        .iter()
                        .map(|field| self.shape(field))
                        .collect::<Lowering<Vec<_>>>()
                });
                Shape::Sum(constructors.collect::<Lowering<_>>()?)
            }
            Type::Node(_) => return refuse("recursive data", self.span),
        })
    }

    fn sum(&self, id: almach_core::DataId) -> Lowering<&DataDef> {
        match self.program.data.get(id.0 as usize) {
            Some(def) if def.recursive == Recursive::No => Ok(def),
            Some(def) => refuse(format!("the recursive type `{}`", def.name), self.span),
            None => bug("a data type that is not there", self.span),
        }
    }

    fn push(&mut self, name: Name, ty: ScalarType, kind: SlotKind, direction: Direction) {
        let passing = match (direction, kind) {
            (Direction::In, SlotKind::Buffer) => Passing::Read,
            (Direction::In, _) => Passing::Value,
            (Direction::Out, SlotKind::Buffer) => Passing::Owned,
            (Direction::Out, _) => Passing::Out,
        };
        self.params.push(Slot {
            param: Param { name, ty, passing },
            kind,
        });
    }

    /// The parameters for a value of a type, named as the storage of that type names its leaves.
    fn slots(&mut self, ty: &Type, name: &Name, direction: Direction, place: Place) -> Lowering<()> {
        let part = |at: usize| Name::from(format!("{name}_{at}"));
        let leaf = match place {
            Place::Alone => SlotKind::Scalar,
            Place::InArray => SlotKind::Buffer,
        };
        match ty {
            Type::Scalar(scalar) => self.push(name.clone(), *scalar, leaf, direction),
            Type::Vector(width, scalar) => match place {
                Place::Alone => {
                    (0..*width as usize).for_each(|at| self.push(part(at), *scalar, leaf, direction));
                }
                Place::InArray => self.push(name.clone(), *scalar, leaf, direction),
            },
            Type::Tuple(parts) => {
                for (at, component) in parts.iter().enumerate() {
                    self.slots(component, &part(at), direction, place)?;
                }
            }
            Type::Array(Dim::Size(size), element) => {
                let size_name = Name::from(format!("{name}_size_{}", self.params.len()));
                self.push(size_name.clone(), ScalarType::I64, SlotKind::Size, direction);
                self.checks.push((size_name, size.clone()));
                self.slots(element, name, direction, Place::InArray)?;
            }
            Type::Data(id) => {
                let constructors = self.sum(*id)?.constructors.clone();
                self.push(part(0), almach_imp::interface::TAG, leaf, direction);
                for (at, constructor) in constructors.iter().enumerate() {
                    for (field_at, field) in constructor.fields.iter().enumerate() {
                        let name = Name::from(format!("{}_{field_at}", part(at + 1)));
                        self.slots(field, &name, direction, place)?;
                    }
                }
            }
            Type::Array(Dim::Jagged, _) | Type::Node(_) => return refuse("a jagged array", self.span),
        }
        Ok(())
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
        let start = self.params.len();
        for (at, ty) in self.function.result.types.clone().iter().enumerate() {
            self.slots(
                ty,
                &Name::from(format!("result_{at}")),
                Direction::Out,
                Place::Alone,
            )?;
        }
        let slots = self.params.get(start..).unwrap_or_default().to_vec();
        let sizes = std::mem::take(&mut self.checks);
        let own_sizes = !self.function.result.context.is_empty();
        for (at, var) in self.function.result.context.iter().enumerate() {
            let name = Name::from(format!("size_{at}"));
            self.body.push(Stmt::Var {
                name: name.clone(),
                ty: ScalarType::I64,
                value: None,
            });
            arguments.push(Argument::Out(name.clone()));
            self.sizes.insert(var.clone(), Index::var(name));
        }
        let known = sizes
            .iter()
            .map(|(_, size)| self.index(size))
            .collect::<Lowering<Vec<_>>>()?;
        if !own_sizes {
            self.allocate(&slots)?;
        }
        arguments.extend(slots.iter().filter_map(|slot| match slot.kind {
            SlotKind::Size => None,
            SlotKind::Scalar => Some(Argument::Out(slot.param.name.clone())),
            SlotKind::Buffer if own_sizes => Some(Argument::Owned(slot.param.name.clone())),
            SlotKind::Buffer => Some(Argument::Buffer(slot.param.name.clone(), Index::zero())),
        }));
        self.body.push(Stmt::Call {
            proc: callee.clone(),
            arguments,
            span: self.span,
        });
        for ((name, _), size) in sizes.iter().zip(known) {
            self.body.push(Stmt::Assign {
                name: name.clone(),
                value: index_expr(size),
            });
        }
        Ok(())
    }

    fn allocate(&mut self, slots: &[Slot]) -> Lowering<()> {
        let mut cells: HashMap<Name, Index> = HashMap::new();
        for (at, ty) in self.function.result.types.iter().enumerate() {
            self.cells(ty, &Name::from(format!("result_{at}")), None, &mut cells)?;
        }
        for slot in slots {
            if slot.kind == SlotKind::Buffer {
                let Some(size) = cells.remove(&slot.param.name) else {
                    return bug("a result without a size", self.span);
                };
                // A negative size is found by the function itself, which knows where it comes from.
                let size = match size.as_constant() {
                    Some(known) => Index::constant(known.max(0)),
                    None => {
                        let name = Name::from(format!("{}_cells", slot.param.name));
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
                    buffer: slot.param.name.clone(),
                    size,
                    span: self.span,
                });
            }
        }
        Ok(())
    }

    /// How many cells each buffer of a value has.
    fn cells(
        &self,
        ty: &Type,
        name: &Name,
        around: Option<Index>,
        cells: &mut HashMap<Name, Index>,
    ) -> Lowering<()> {
        let part = |at: usize| Name::from(format!("{name}_{at}"));
        match ty {
            Type::Scalar(_) => {
                if let Some(size) = around {
                    cells.insert(name.clone(), size);
                }
            }
            Type::Vector(width, _) => {
                if let Some(size) = around {
                    cells.insert(name.clone(), size * Index::constant((*width).into()));
                }
            }
            Type::Tuple(parts) => {
                for (at, component) in parts.iter().enumerate() {
                    self.cells(component, &part(at), around.clone(), cells)?;
                }
            }
            Type::Array(Dim::Size(size), element) => {
                let size = around.unwrap_or_else(Index::one) * self.index(size)?;
                self.cells(element, name, Some(size), cells)?;
            }
            Type::Data(id) => {
                if let Some(size) = around.clone() {
                    cells.insert(part(0), size);
                }
                for (at, constructor) in self.sum(*id)?.constructors.iter().enumerate() {
                    for (field_at, field) in constructor.fields.iter().enumerate() {
                        let name = Name::from(format!("{}_{field_at}", part(at + 1)));
                        self.cells(field, &name, around.clone(), cells)?;
                    }
                }
            }
            Type::Array(Dim::Jagged, _) | Type::Node(_) => return refuse("a jagged array", self.span),
        }
        Ok(())
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
