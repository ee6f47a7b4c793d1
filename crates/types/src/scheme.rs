//! Generalising types and using general ones.

use crate::checker::Checker;
use crate::sizes::var_size;
use crate::solver::{Flavour, Replaced, Solver, TypeBinding, VarKind, map_type, size_here, walk_type};
use crate::tree::{Dim, FunctionType, Instance, Scheme, Size, Type, TypeVar, Var};
use almach_base::{Name, Span};
use std::collections::{HashMap, HashSet};

/// A type with what it is general in.
#[derive(Clone, Default, Debug)]
pub(crate) struct PolyType {
    pub scheme: Scheme,
    pub ty: Option<Type>,
}

impl PolyType {
    pub fn new(scheme: Scheme, ty: Type) -> PolyType {
        PolyType { scheme, ty: Some(ty) }
    }
}

impl Solver {
    /// The type at fresh types and sizes.
    pub fn instantiate(&mut self, poly: &PolyType, span: Span) -> (Type, Instance) {
        let types: HashMap<u32, Type> = poly
            .scheme
            .types
            .iter()
            .map(|(var, constraint)| (var.id, self.fresh_type(*constraint, span)))
            .collect();
        let sizes: HashMap<u32, Size> = poly
            .scheme
            .sizes
            .iter()
            .map(|var| (var.id, self.fresh_size(Flavour::Flexible, span)))
            .collect();
        let instance = Instance {
            types: poly
                .scheme
                .types
                .iter()
                .filter_map(|(var, _)| types.get(&var.id).cloned())
                .collect(),
            sizes: poly
                .scheme
                .sizes
                .iter()
                .filter_map(|var| sizes.get(&var.id).cloned())
                .collect(),
        };
        let ty = match &poly.ty {
            Some(ty) => self.with_new_binders(&substitute(ty, &types, &sizes)),
            None => self.fresh_type(crate::tree::Constraint::Any, span),
        };
        (ty, instance)
    }

    /// Function types bind their parameters anew in every use, so that a recursive use does not capture.
    fn with_new_binders(&mut self, ty: &Type) -> Type {
        let mut binders = Vec::new();
        crate::sizes::collect_binders(ty, &mut binders);
        if binders.is_empty() {
            return ty.clone();
        }
        let renamed: HashMap<u32, Var> = binders
            .into_iter()
            .map(|var| {
                (
                    var.id,
                    self.fresh_var(var.name.clone(), Span::NONE, VarKind::Program),
                )
            })
            .collect();
        rename_binders(ty, &renamed)
    }
}

fn rename_binders(ty: &Type, renamed: &HashMap<u32, Var>) -> Type {
    map_type(
        ty,
        &mut |part| match part {
            Type::Function(function) => Replaced::With(Type::Function(Box::new(FunctionType {
                binder: function
                    .binder
                    .as_ref()
                    .map(|var| renamed.get(&var.id).cloned().unwrap_or_else(|| var.clone())),
                param: rename_binders(&function.param, renamed),
                result: rename_binders(&function.result, renamed),
            }))),
            _ => Replaced::Descend,
        },
        &mut |dim, _| match dim {
            Dim::Size(size) => Dim::Size(size.substitute(|var| renamed.get(&var.id).map(var_size))),
            Dim::Unknown => Dim::Unknown,
        },
    )
}

/// Puts types for type variables and sizes for size variables.
pub(crate) fn substitute(ty: &Type, types: &HashMap<u32, Type>, sizes: &HashMap<u32, Size>) -> Type {
    if types.is_empty() && sizes.is_empty() {
        return ty.clone();
    }
    map_type(
        ty,
        &mut |part| match part {
            Type::Var(var) => types
                .get(&var.id)
                .map_or(Replaced::Descend, |ty| Replaced::With(ty.clone())),
            _ => Replaced::Descend,
        },
        &mut |dim, _| match dim {
            Dim::Size(size) if !sizes.is_empty() => {
                Dim::Size(size.substitute(|var| sizes.get(&var.id).cloned()))
            }
            _ => dim.clone(),
        },
    )
}

impl Checker<'_> {
    /// Everything open in the types that belongs to nobody outside becomes general. `types` and `sizes` are what the
    /// signature already names.
    pub fn generalise(&mut self, of: &[Type], types: &[TypeVar], sizes: &[Var]) -> Scheme {
        let level = self.solver.level;
        let mut scheme = Scheme {
            types: Vec::new(),
            sizes: sizes.to_vec(),
        };
        let mut type_names: HashSet<Name> = self.type_names.keys().cloned().collect();
        type_names.extend(types.iter().map(|var| var.name.clone()));
        let mut size_names: HashSet<Name> = sizes.iter().map(|var| var.name.clone()).collect();
        let mut found_types: Vec<TypeVar> = types.to_vec();
        for ty in of {
            let resolved = self.solver.resolve(ty);
            let mut open_sizes: Vec<Var> = Vec::new();
            walk_type(&resolved, &mut |part| {
                match part {
                    Type::Var(var) if self.solver.is_open(var) && !found_types.contains(var) => {
                        found_types.push(var.clone());
                    }
                    Type::Function(function) => {
                        size_names.extend(function.binder.iter().map(|var| var.name.clone()));
                    }
                    _ => {}
                }
                if let Some(size) = size_here(part) {
                    for var in size.occurrences() {
                        if self.solver.is_open_size(var) {
                            open_sizes.push(var.clone());
                        } else {
                            size_names.insert(var.name.clone());
                        }
                    }
                }
            });
            for var in open_sizes {
                if self.solver.is_open_size(&var)
                    && self.solver.var_info(&var).is_some_and(|info| info.level > level)
                {
                    scheme.sizes.push(self.name_size(&var, &mut size_names));
                }
            }
        }
        for var in found_types {
            let Some(info) = self.solver.type_var(&var) else {
                continue;
            };
            match info.binding {
                TypeBinding::Rigid => scheme.types.push((var.clone(), info.constraint)),
                TypeBinding::Open if info.level > level => {
                    let constraint = info.constraint;
                    let rigid = self.name_type(&var, &mut type_names);
                    scheme.types.push((rigid, constraint));
                }
                TypeBinding::Open | TypeBinding::Solved(_) => {}
            }
        }
        scheme
    }

    fn name_size(&mut self, var: &Var, used: &mut HashSet<Name>) -> Var {
        let (span, level) = self
            .solver
            .var_info(var)
            .map_or((Span::NONE, 0), |info| (info.span, info.level));
        let name = fresh_name(&["n", "m", "k", "l"], used);
        let named = self.solver.fresh_var(name, span, VarKind::Named);
        if let Some(info) = self.solver.var_mut(&named) {
            info.level = level;
        }
        self.solver.set_var_kind(var, VarKind::Solved(var_size(&named)));
        named
    }

    fn name_type(&mut self, var: &TypeVar, used: &mut HashSet<Name>) -> TypeVar {
        let name = fresh_name(&["a", "b", "c", "d", "e"], used);
        let (span, level, constraint) = self
            .solver
            .type_var(var)
            .map_or((Span::NONE, 0, crate::tree::Constraint::Any), |info| {
                (info.span, info.level, info.constraint)
            });
        let rigid = self.solver.fresh_rigid(name, span);
        if let Some(info) = self.solver.type_var_mut(&rigid) {
            info.level = level;
            info.constraint = constraint;
        }
        if let Some(info) = self.solver.type_var_mut(var) {
            info.binding = TypeBinding::Solved(Type::Var(rigid.clone()));
        }
        rigid
    }
}

/// A name nobody uses yet: one of the stems, then stems with numbers.
fn fresh_name(stems: &[&str], used: &mut HashSet<Name>) -> Name {
    let plain = stems.iter().map(|stem| (*stem).to_string());
    let numbered = (1..).flat_map(|number| stems.iter().map(move |stem| format!("{stem}{number}")));
    for candidate in plain.chain(numbered) {
        let name = Name::from(candidate);
        if used.insert(name.clone()) {
            return name;
        }
    }
    Name::from("t")
}
