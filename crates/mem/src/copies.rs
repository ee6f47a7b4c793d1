//! Where a statement moves whole arrays: what it copies, and where to. A copy whose source lives there already is none.

use crate::derive::slice_of;
use crate::ir::{Home, Memory, Storage};
use crate::leaves::{Leaf, leaves};
use almach_core::typing::Env;
use almach_core::{Atom, Exp, Op, Size, SlicePart, Stmt, Type, Var};
use almach_lmad::Lmad;
use almach_prim::Prim;

/// One leaf of an operand, and where it goes.
#[derive(Clone, PartialEq, Debug)]
pub struct CopyPoint {
    pub source: Atom,
    pub leaf: usize,
    pub to: Home,
    /// Of `with`, `scatter` and histograms: the old array, of which a part is then overwritten.
    pub role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Part,
    Old,
}

/// The copies of a statement that makes one value.
pub fn copy_points(stmt: &Stmt, memory: &Memory, env: &Env) -> Vec<CopyPoint> {
    let [value] = stmt.pattern.values.as_slice() else {
        return Vec::new();
    };
    match memory.storage.get(&value.var) {
        Some(storage) => copy_points_to(stmt, storage, env),
        None => Vec::new(),
    }
}

/// The same, were its value there.
pub fn copy_points_to(stmt: &Stmt, storage: &[Storage], env: &Env) -> Vec<CopyPoint> {
    let [value] = stmt.pattern.values.as_slice() else {
        return Vec::new();
    };
    let mut points = Points { env, out: Vec::new() };
    points.exp(&stmt.exp, &value.ty, storage);
    points.out
}

struct Points<'a> {
    env: &'a Env,
    out: Vec<CopyPoint>,
}

type Change<'a> = &'a dyn Fn(&Lmad<Var>) -> Option<Lmad<Var>>;

impl Points<'_> {
    fn exp(&mut self, exp: &Exp, ty: &Type, storage: &[Storage]) {
        match exp {
            Exp::Update {
                array, parts, value, ..
            } => self.update(array, parts, value, storage),
            Exp::Array(elements, _) => {
                for (at, element) in elements.iter().enumerate() {
                    let at = Size::constant(at as i64);
                    self.inner(element, 1, ty, storage, &|lmad| lmad.index(&at));
                }
            }
            Exp::Op(op) => self.op(op, storage),
            _ => {}
        }
    }

    fn op(&mut self, op: &Op, storage: &[Storage]) {
        let length = |atom: &Atom| match self.env.atom_type(atom) {
            Ok(Type::Array(almach_core::Dim::Size(size), _)) => Some(size),
            _ => None,
        };
        match (op.prim, op.args.as_slice()) {
            (Prim::Concat, [first, second]) => {
                let (Some(n), Some(m)) = (length(first), length(second)) else {
                    return;
                };
                self.all(first, storage, Role::Part, &|lmad| {
                    lmad.slice(0, &Size::zero(), &n, &Size::one())
                });
                self.all(second, storage, Role::Part, &|lmad| {
                    lmad.slice(0, &n, &m, &Size::one())
                });
            }
            (Prim::Materialise, [array]) => self.all(array, storage, Role::Part, &|lmad| Some(lmad.clone())),
            (Prim::Scatter | Prim::ReduceByIndex, [old, ..]) => {
                self.all(old, storage, Role::Old, &|lmad| Some(lmad.clone()));
            }
            (Prim::Pad, [left, _, _, array]) => {
                let (Ok(left), Some(n)) = (self.env.size(left), length(array)) else {
                    return;
                };
                self.all(array, storage, Role::Part, &|lmad| {
                    lmad.slice(0, &left, &n, &Size::one())
                });
            }
            (Prim::Reverse, [array]) => self.all(array, storage, Role::Part, &|lmad| lmad.reverse(0)),
            (Prim::Transpose, [array]) => self.all(array, storage, Role::Part, &|lmad| {
                let order: Vec<usize> = [1, 0].into_iter().chain(2..lmad.dims.len()).collect();
                lmad.permute(&order)
            }),
            (Prim::Join, [array]) => {
                let Ok(Type::Array(almach_core::Dim::Size(n), row)) = self.env.atom_type(array) else {
                    return;
                };
                let Type::Array(almach_core::Dim::Size(m), _) = *row else {
                    return;
                };
                self.all(array, storage, Role::Part, &|lmad| lmad.split(0, &n, &m));
            }
            (Prim::Split, [_, array]) => self.all(array, storage, Role::Part, &|lmad| lmad.join(0)),
            _ => {}
        }
    }

    /// Every leaf of the operand is a leaf of the result.
    fn all(&mut self, source: &Atom, storage: &[Storage], role: Role, change: Change<'_>) {
        for (leaf, place) in storage.iter().enumerate() {
            self.point(source, leaf, place, role, change);
        }
    }

    fn point(&mut self, source: &Atom, leaf: usize, place: &Storage, role: Role, change: Change<'_>) {
        if let Some(home) = place.home()
            && let Some(lmad) = change(&home.lmad)
        {
            let block = home.block.clone();
            self.out.push(CopyPoint {
                source: source.clone(),
                leaf,
                to: Home { block, lmad },
                role,
            });
        }
    }

    fn update(&mut self, array: &Atom, parts: &[SlicePart], value: &Atom, storage: &[Storage]) {
        self.all(array, storage, Role::Old, &|lmad| Some(lmad.clone()));
        let fixed = parts
            .iter()
            .filter(|part| matches!(part, SlicePart::At(_)))
            .count();
        if let Ok(ty) = self.env.atom_type(array) {
            let env = self.env;
            self.inner(value, fixed, &ty, storage, &|lmad| slice_of(lmad, parts, env));
        }
    }

    /// The operand is what is left of an array of that type after `fixed` indices.
    fn inner(&mut self, source: &Atom, fixed: usize, ty: &Type, storage: &[Storage], change: Change<'_>) {
        let mut leaf = 0;
        for (whole, place) in leaves(ty).iter().zip(storage) {
            if matches!(whole, Leaf::Cells { dims, .. } if dims.len() > fixed) {
                self.point(source, leaf, place, Role::Part, change);
                leaf += 1;
            }
        }
    }
}
