//! Values that stand for a result until there is one.

use crate::sizes::size_as_atom;
use almach_core::build::op;
use almach_core::typing::Supply;
use almach_core::{Atom, DataDef, DataId, Dim, Exp, Function, Param, Pattern, Stmt, Type};
use almach_prim::Prim;
use almach_value::Scalar;

pub(super) struct StandIns<'a> {
    data: &'a [DataDef],
    params: Vec<Param>,
    /// Sizes known not to be negative: those of the function's context.
    sizes: Vec<almach_core::Var>,
    supply: &'a mut Supply,
    span: almach_base::Span,
    stmts: Vec<Stmt>,
}

impl<'a> StandIns<'a> {
    pub(super) fn new(data: &'a [DataDef], function: &Function, supply: &'a mut Supply) -> StandIns<'a> {
        StandIns {
            data,
            params: function.params.clone(),
            sizes: function.context.clone(),
            supply,
            span: function.span,
            stmts: Vec::new(),
        }
    }

    /// The statements that make them.
    pub(super) fn into_stmts(self) -> Vec<Stmt> {
        self.stmts
    }

    /// Some value of the type, if one is at hand. Making it cannot fail.
    pub(super) fn value(&mut self, ty: &Type) -> Option<Atom> {
        if let Type::Scalar(ty) = ty {
            return Some(Atom::Const(Scalar::zero(*ty)));
        }
        if let Some(param) = self.params.iter().find(|param| param.ty == *ty) {
            return Some(Atom::Var(param.var.clone()));
        }
        let exp = match ty {
            Type::Tuple(parts) => {
                let parts: Option<Vec<Atom>> = parts.iter().map(|part| self.value(part)).collect();
                Exp::Tuple(parts?)
            }
            Type::Array(Dim::Size(size), element) if size.is_zero() => {
                Exp::Array(Vec::new(), (**element).clone())
            }
            Type::Array(Dim::Size(size), element) => {
                let count = size_as_atom(size).filter(|count| match count {
                    Atom::Var(var) => self.sizes.contains(var),
                    Atom::Const(value) => value.as_integer().is_some_and(|value| value >= 0),
                })?;
                let value = self.value(element)?;
                op(Prim::Replicate, vec![], vec![count, value])
            }
            Type::Data(data) => Exp::Construct {
                data: *data,
                constructor: self.nullary(*data)?,
                fields: Vec::new(),
            },
            Type::Node(data) => Exp::ConstructNode {
                data: *data,
                constructor: self.nullary(*data)?,
                fields: Vec::new(),
            },
            Type::Scalar(_) | Type::Vector(..) | Type::Array(Dim::Jagged, _) => return None,
        };
        let var = self.supply.fresh("none");
        self.stmts.push(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: vec![Param {
                    var: var.clone(),
                    ty: ty.clone(),
                }],
            },
            exp,
            span: self.span,
        });
        Some(Atom::Var(var))
    }

    /// A constructor without fields.
    fn nullary(&self, data: DataId) -> Option<u32> {
        let constructors = &self.data.get(data.0 as usize)?.constructors;
        let at = constructors
            .iter()
            .position(|constructor| constructor.fields.is_empty())?;
        Some(at as u32)
    }
}
