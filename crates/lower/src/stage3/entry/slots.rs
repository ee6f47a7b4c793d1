//! The parameters of an entry's procedure for a value of a type, and what the callee gets of them.

use super::{After, Direction, Leaves, Offsets, Place, PoolLeaves, Target, Wrapper};
use crate::error::Lowering;
use almach_base::Name;
use almach_core::{Dim, Type};
use almach_imp::{Argument, Expr, Index, Passing, Stmt};
use almach_value::ScalarType;

impl Wrapper<'_> {
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
    pub(super) fn slots(
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
}
