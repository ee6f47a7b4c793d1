//! Data types at their type arguments.

use crate::errors::{self, bug};
use crate::specialise::MAX_TYPE_NODES;
use crate::statics::Env;
use crate::ty::{Extent, SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core::{ConstructorDef, DataDef, DataId, Dim, Recursive, Type};
use almach_types::parts::{node_fields, refers_inside_sums};
use almach_types::tree;
use std::collections::BTreeSet;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// The data type of Core for a data type at arguments.
    pub(crate) fn data_type(&mut self, id: tree::DataId, args: &Rc<[Ty]>, span: Span) -> Res<DataId> {
        // `Maybe ([n]t)` and `Maybe ([?]t)` hold the same values, and one may be used as the other.
        let args = args.iter().map(|arg| arg.without_sizes().with_positions());
        let args: &Rc<[Ty]> = &args.collect();
        let key = (id, args.clone());
        if let Some(known) = self.data.get(&key) {
            return Ok(*known);
        }
        let program = self.program;
        let def = program.data.get(id.0 as usize);
        let def = def.ok_or_else(|| bug(span, "an unknown data type"))?;
        if args.iter().any(|arg| arg.is_larger_than(MAX_TYPE_NODES)) {
            return Err(errors::endless_data(def));
        }
        let core_id = DataId(self.builder.signatures.data.len() as u32);
        let name = self.data_name(id, args);
        self.builder.signatures.data.push(DataDef {
            name,
            recursive: Recursive::No,
            constructors: Vec::new(),
            parts: Vec::new(),
        });
        self.data.insert(key, core_id);
        let mut env = Env::new();
        let params = def.params.iter().map(|param| param.id);
        env.bind_types(params.zip(args.iter().cloned().map(SizedTy::unsized_of)));
        let mut constructors = Vec::with_capacity(def.constructors.len());
        for constructor in &def.constructors {
            let mut fields = Vec::with_capacity(constructor.fields.len());
            for field in &constructor.fields {
                let field = self.close(field, &env, constructor.span)?;
                fields.push(self.field_type(&field, constructor.span)?);
            }
            constructors.push(ConstructorDef {
                name: constructor.name.clone(),
                fields,
            });
        }
        if let Some(slot) = self.builder.signatures.data.get_mut(core_id.0 as usize) {
            slot.constructors = constructors;
        }
        self.mark_recursive(core_id);
        self.find_parts(core_id, id, &env)?;
        Ok(core_id)
    }

    /// What the sums in a recursive type's fields are in its nodes, where they hold data of it.
    fn find_parts(&mut self, core_id: DataId, id: tree::DataId, env: &Env<'a>) -> Res<()> {
        let program = self.program;
        let Some(def) = program.data.get(id.0 as usize) else {
            return Ok(());
        };
        if !refers_inside_sums(&program.data, id) {
            return Ok(());
        }
        let mut parts = Vec::new();
        for (at, constructor) in (0u32..).zip(&def.constructors) {
            let fields = node_fields(&program.data, id, at);
            for (number, field) in fields.iter().enumerate() {
                let node = self.close(field, env, constructor.span)?;
                let node = self.field_type(&node, constructor.span)?;
                let data = &self.builder.signatures.data;
                let constructor = data
                    .get(core_id.0 as usize)
                    .and_then(|def| def.constructors.get(at as usize));
                if let Some(whole) = constructor.and_then(|constructor| constructor.fields.get(number)) {
                    pair_parts(data, whole, &node, &mut parts);
                }
            }
        }
        if let Some(def) = self.builder.signatures.data.get_mut(core_id.0 as usize) {
            def.parts = parts;
        }
        Ok(())
    }

    fn data_name(&self, id: tree::DataId, args: &[Ty]) -> Name {
        let program = self.program;
        let name_of = |id: tree::DataId| match program.data.get(id.0 as usize) {
            Some(def) => def.name.clone(),
            None => "data".into(),
        };
        let mut name = name_of(id).to_string();
        for arg in args {
            name.push('_');
            // Writing to a string does not fail.
            let _ = arg.identifier(&name_of, &mut name);
        }
        self.unused_data_name(name)
    }

    /// Data types of different files may have one name.
    pub(crate) fn unused_data_name(&self, name: String) -> Name {
        let taken = |name: &str| self.builder.signatures.data.iter().any(|def| *def.name == *name);
        if !taken(&name) {
            return name.into();
        }
        let mut number = 2;
        while taken(&format!("{name}_{number}")) {
            number += 1;
        }
        format!("{name}_{number}").into()
    }

    /// A data type is recursive where it can be reached from itself, also through others. A cycle is complete when the
    /// last of its types is, and all the others are reached from that one. Sums in nodes of the one recursive type of a cycle are no
    /// data of their own.
    fn mark_recursive(&mut self, id: DataId) {
        let data = &self.builder.signatures.data;
        let mut recursive = Vec::new();
        for at in reachable(data, id).into_iter().chain([id]) {
            let reached = reachable(data, at);
            if !reached.contains(&at) {
                continue;
            }
            let group = reached
                .iter()
                .filter(|other| reachable(data, **other).contains(&at));
            let mut declared = group.filter_map(|other| Some((*other, self.declared_recursive(*other)?)));
            let is_data = match (declared.next(), declared.next()) {
                (Some((core_id, id)), None) => core_id == at || !refers_inside_sums(&self.program.data, id),
                _ => true,
            };
            if is_data {
                recursive.push(at);
            }
        }
        for at in recursive {
            if let Some(def) = self.builder.signatures.data.get_mut(at.0 as usize) {
                def.recursive = Recursive::Yes;
            }
        }
    }

    /// The declaration of a type, where it is that of a recursive one.
    fn declared_recursive(&self, id: DataId) -> Option<tree::DataId> {
        let declared = self.data.iter().find(|(_, known)| **known == id);
        let ((declared, _), _) = declared?;
        let def = self.program.data.get(declared.0 as usize)?;
        (def.recursive == tree::Recursive::Yes).then_some(*declared)
    }

    /// The type of a field: what has no size of its own is jagged.
    pub(crate) fn field_type(&mut self, ty: &SizedTy, span: Span) -> Res<Type> {
        self.field_type_of(&ty.ty, &mut ty.sizes.iter(), span)
    }

    fn field_type_of(
        &mut self,
        ty: &Ty,
        sizes: &mut std::slice::Iter<'_, Option<almach_core::Size>>,
        span: Span,
    ) -> Res<Type> {
        Ok(match ty {
            Ty::Array(extent, element) => {
                let given = match extent {
                    Extent::Sized => sizes.next().cloned().flatten(),
                    Extent::Unknown => None,
                };
                let dim = match given.filter(|size| size.as_constant().is_some()) {
                    Some(size) => Dim::Size(size),
                    None => Dim::Jagged,
                };
                Type::Array(dim, Box::new(self.field_type_of(element, sizes, span)?))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = ty.components().unwrap_or_default().into_iter();
                let parts: Res<Vec<Type>> = parts.map(|part| self.field_type_of(part, sizes, span)).collect();
                Type::Tuple(parts?)
            }
            Ty::Scalar(_) | Ty::Vector(..) | Ty::Data(..) | Ty::Node(..) | Ty::Reference => {
                for _ in 0..ty.sized_dims() {
                    sizes.next();
                }
                self.simple_type(ty, span)?
            }
            Ty::Function(_) => return Err(bug(span, "a function where a value must be stored")),
        })
    }

    /// Types without dimensions of their own.
    pub(crate) fn simple_type(&mut self, ty: &Ty, span: Span) -> Res<Type> {
        Ok(match ty {
            Ty::Scalar(ty) => Type::Scalar(*ty),
            Ty::Vector(width, ty) => Type::Vector(*width, *ty),
            Ty::Data(id, args) => Type::Data(self.data_type(*id, args, span)?),
            Ty::Node(id, args) => Type::Node(self.data_type(*id, args, span)?),
            Ty::Reference => Type::I64,
            Ty::Tuple(_) | Ty::Record(_) | Ty::Array(..) | Ty::Function(_) => {
                return Err(bug(span, format!("a simple type is {ty:?}")));
            }
        })
    }
}

/// The sums that differ between a type and what it is in nodes, with those inside them.
fn pair_parts(data: &[DataDef], whole: &Type, node: &Type, parts: &mut Vec<(DataId, DataId)>) {
    match (whole, node) {
        (Type::Tuple(whole), Type::Tuple(node)) => {
            let pairs = whole.iter().zip(node);
            pairs.for_each(|(whole, node)| pair_parts(data, whole, node, parts));
        }
        (Type::Array(_, whole), Type::Array(_, node)) => pair_parts(data, whole, node, parts),
        (Type::Data(whole), Type::Data(node)) if whole != node && !parts.contains(&(*whole, *node)) => {
            parts.push((*whole, *node));
            let fields = |id: &DataId| {
                let def = data.get(id.0 as usize).into_iter();
                def.flat_map(|def| &def.constructors).flat_map(|it| &it.fields)
            };
            for (whole, node) in fields(whole).zip(fields(node)) {
                pair_parts(data, whole, node, parts);
            }
        }
        _ => {}
    }
}

/// The data types inside values of a data type.
fn reachable(data: &[DataDef], from: DataId) -> BTreeSet<DataId> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(at) = pending.pop() {
        let constructors = data.get(at.0 as usize).map(|def| def.constructors.as_slice());
        let fields = constructors.unwrap_or_default().iter().flat_map(|it| &it.fields);
        for next in fields.flat_map(mentioned) {
            if seen.insert(next) {
                pending.push(next);
            }
        }
    }
    seen
}

/// The data types a type mentions.
fn mentioned(ty: &Type) -> Vec<DataId> {
    match ty {
        Type::Scalar(_) | Type::Vector(..) => Vec::new(),
        Type::Tuple(parts) => parts.iter().flat_map(mentioned).collect(),
        Type::Array(_, element) => mentioned(element),
        Type::Data(id) | Type::Node(id) => vec![*id],
    }
}

/// A value's type with dimensions as a field has them, but for the sizes of its own that the field leaves open. Only
/// dimensions are taken from the field: in a node value there are positions where the field has data.
pub(crate) fn as_field(found: &Type, field: &Type) -> Type {
    match (found, field) {
        (Type::Array(dim, found), Type::Array(wanted, field)) => {
            let dim = match wanted {
                Dim::Size(_) => wanted.clone(),
                Dim::Jagged => dim.clone(),
            };
            Type::Array(dim, Box::new(dims_of(found, field)))
        }
        (Type::Tuple(found), Type::Tuple(field)) => Type::Tuple(
            found
                .iter()
                .zip(field)
                .map(|(found, field)| as_field(found, field))
                .collect(),
        ),
        _ => found.clone(),
    }
}

fn dims_of(found: &Type, field: &Type) -> Type {
    match (found, field) {
        (Type::Array(_, found), Type::Array(dim, field)) => {
            Type::Array(dim.clone(), Box::new(dims_of(found, field)))
        }
        (Type::Tuple(found), Type::Tuple(field)) => Type::Tuple(
            found
                .iter()
                .zip(field)
                .map(|(found, field)| dims_of(found, field))
                .collect(),
        ),
        _ => found.clone(),
    }
}
