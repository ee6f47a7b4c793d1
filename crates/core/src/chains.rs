//! Chains: arrays of nodes that are a list in its order, each but the last in front of the one behind it.
//!
//! ```text
//! let {k} cells: [k]#L = reach l                                                           a chain
//! let is: [k]i64 = iota k
//! let new: [k]#M = map (\i c -> case c of | #Cons (x, _) -> #MCons (f x) (i + 1) | …) is cells       another one
//! ```
//!
//! What `constructed` makes of a chain has the chain as its table and the first node as its root, if the last node refers to no other.

use crate::ir::{Arm, Atom, Body, DataDef, DataId, Exp, Function, Lambda, Op, Type, Var};
use crate::visit::{Walk, walk_function, walk_stmt};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar};
use std::collections::{HashMap, HashSet};

/// The chains of a function.
#[derive(Default)]
pub struct Chains<'d> {
    data: &'d [DataDef],
    /// What an array of nodes is of.
    chains: HashMap<Var, DataId>,
    /// `iota`.
    positions: HashSet<Var>,
    /// What `constructed` made of a chain.
    constructed: HashMap<Var, Chain>,
}

/// An array of nodes, each but the last in front of the one behind it.
#[derive(Clone)]
pub struct Chain {
    pub nodes: Var,
    pub data: DataId,
}

/// The field of each constructor that refers to the rest of a list; none where the type is no list.
pub fn links(data: &[DataDef], id: DataId) -> Option<Vec<Option<usize>>> {
    let def = data.get(id.0 as usize)?;
    let constructors = def.constructors.iter();
    let links = constructors.map(|constructor| {
        let fields = (0..).zip(&constructor.fields);
        let mut own = fields.filter(|(_, field)| def.with_positions(id, field) != **field);
        match (own.next(), own.next()) {
            (None, _) => Some(None),
            (Some((at, Type::Data(field))), None) if *field == id => Some(Some(at)),
            _ => None,
        }
    });
    links.collect()
}

impl<'d> Chains<'d> {
    pub fn of(data: &'d [DataDef], function: &Function) -> Chains<'d> {
        let mut chains = Chains {
            data,
            ..Chains::default()
        };
        walk_function(&mut chains, function);
        chains
    }

    /// The chain that a datum was constructed of.
    pub fn constructed(&self, datum: &Atom) -> Option<&Chain> {
        match datum {
            Atom::Var(datum) => self.constructed.get(datum),
            Atom::Const(_) => None,
        }
    }

    fn learn(&mut self, exp: &Exp, var: &Var, ty: &Type) {
        let Exp::Op(op) = exp else {
            return;
        };
        match (op.prim, op.args.as_slice(), ty) {
            (Prim::Reach, [_], _) => {
                if let Some(id) = node_of(ty)
                    && links(self.data, id).is_some()
                {
                    self.chains.insert(var.clone(), id);
                }
            }
            (Prim::Iota, [_], _) => {
                self.positions.insert(var.clone());
            }
            (Prim::Map, _, _) => {
                if let (Some(id), [lambda]) = (node_of(ty), op.functions.as_slice())
                    && self.goes_on(op, lambda, id)
                {
                    self.chains.insert(var.clone(), id);
                }
            }
            (Prim::Constructed, [Atom::Var(nodes)], Type::Data(id)) if self.chains.contains_key(nodes) => {
                let chain = Chain {
                    nodes: nodes.clone(),
                    data: *id,
                };
                self.constructed.insert(var.clone(), chain);
            }
            _ => {}
        }
    }

    /// Whether a map makes of every node that is in front of another one a node that is.
    fn goes_on(&self, op: &Op, lambda: &Lambda, made: DataId) -> bool {
        let Some(links) = links(self.data, made) else {
            return false;
        };
        let [value] = lambda.body.values.as_slice() else {
            return false;
        };
        let arguments = || op.args.iter().zip(&lambda.params);
        let mut positions = arguments().filter_map(|(arg, param)| match arg {
            Atom::Var(array) if self.positions.contains(array) => Some(&param.var),
            _ => None,
        });
        let (Some(position), None) = (positions.next(), positions.next()) else {
            return false;
        };
        let olds = arguments().filter_map(|(arg, param)| match arg {
            Atom::Var(array) => Some((&param.var, *self.chains.get(array)?)),
            Atom::Const(_) => None,
        });
        let made = Made { links, position };
        olds.into_iter().any(|(old, of)| {
            self::links(self.data, of).is_some_and(|own| made.follows(&lambda.body, value, (old, &own)))
        })
    }
}

impl Walk for Chains<'_> {
    fn stmt(&mut self, stmt: &crate::ir::Stmt) {
        walk_stmt(self, stmt);
        if let [value] = stmt.pattern.values.as_slice() {
            self.learn(&stmt.exp, &value.var, &value.ty);
        }
    }
}

/// New nodes.
struct Made<'v> {
    links: Vec<Option<usize>>,
    /// Where the node is.
    position: &'v Var,
}

impl Made<'_> {
    /// Whether the value is a `case` of the old node that gives, wherever that refers to another, a node in front of the next.
    fn follows(&self, body: &Body, value: &Atom, (old, own): (&Var, &[Option<usize>])) -> bool {
        let Some(Exp::Case {
            scrutinee: Atom::Var(scrutinee),
            arms,
            default,
            ..
        }) = defined(body, value)
        else {
            return false;
        };
        let is_link = |arm: &&Arm| own.get(arm.constructor as usize).is_some_and(Option::is_some);
        let seen = arms.iter().filter(is_link);
        let all = own.iter().flatten().count();
        // A default would take the constructors that have no arm.
        let covered = default.is_none() || seen.clone().count() == all;
        scrutinee == old && covered && seen.into_iter().all(|arm| self.refers_on(body, &arm.body))
    }

    fn refers_on(&self, around: &Body, body: &Body) -> bool {
        let [value] = body.values.as_slice() else {
            return false;
        };
        let Some(Exp::ConstructNode {
            constructor, fields, ..
        }) = defined(body, value)
        else {
            return false;
        };
        let link = self.links.get(*constructor as usize).copied().flatten();
        let next = link.and_then(|at| fields.get(at));
        let next = next.and_then(|next| defined(body, next).or_else(|| defined(around, next)));
        match next {
            Some(Exp::Binary(BinOp::Add, Atom::Var(position), Atom::Const(Scalar::I64(1)))) => {
                position == self.position
            }
            _ => false,
        }
    }
}

/// What a statement of the body gives for a value that has that alone.
fn defined<'b>(body: &'b Body, value: &Atom) -> Option<&'b Exp> {
    let Atom::Var(value) = value else {
        return None;
    };
    let mut stmts = body.stmts.iter();
    let stmt = stmts.find(|stmt| matches!(stmt.pattern.values.as_slice(), [one] if one.var == *value))?;
    Some(&stmt.exp)
}

fn node_of(array: &Type) -> Option<DataId> {
    match array {
        Type::Array(_, element) => match **element {
            Type::Node(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}
