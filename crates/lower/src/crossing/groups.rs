//! Types that refer to each other cross the border as one type that has the constructors of all of them.
//!
//! ```text
//! data Rose = Rose i32 Forest                          data rec Rose_group = Rose_0 i32 Rose_group
//! data Forest = Empty | Grow Rose Forest                    | Empty_1 | Grow_1 Rose_group Rose_group
//!
//! fun into_Rose (g: Rose_group): Rose = case g of | Rose_0 (x, f) -> … Rose (x, into_Forest (f)) …
//! fun out_Rose (r: Rose): Rose_group = case r of | Rose (x, f) -> … Rose_0 (x, out_Forest (f)) …
//! ```
//!
//! No cycle goes through several types (`build` and `foreach` make tables of one), so both walks end where a datum does. What
//! is shared is copied.

use super::{Cross, Crosser, Typed, Way, construct, crossed};
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::typing::Signature;
use almach_core::{
    Arm, Atom, Body, ConstructorDef, DataDef, DataId, Dim, Exp, FunId, Function, Param, Program, Recursive,
    ResultType, Type,
};
use almach_imp::interface;
use almach_imp::interface::MemberTypes;
use almach_value::{References, Scalar};
use std::rc::Rc;
use std::sync::Arc;

/// One type of a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(super) merged: DataId,
    pub(super) into: FunId,
    pub(super) out: FunId,
    members: Rc<Vec<DataId>>,
    number: usize,
}

pub(super) struct Group {
    merged: DataId,
    members: Rc<Vec<DataId>>,
    /// From the one type, and to it.
    into: Vec<FunId>,
    out: Vec<FunId>,
}

impl Member {
    /// How values of the type are brought into a table of the group.
    pub(super) fn tables(&self, program: &Program) -> Arc<interface::Group> {
        let mut first = 0;
        let mut members = Vec::new();
        for id in self.members.iter() {
            let constructors = program
                .data
                .get(id.0 as usize)
                .map(|def| def.constructors.as_slice());
            let constructors = constructors.unwrap_or_default();
            let types: Vec<Vec<MemberTypes>> = constructors
                .iter()
                .map(|constructor| {
                    let fields = constructor.fields.iter();
                    fields.map(|field| member_types(field, &self.members)).collect()
                })
                .collect();
            members.push(interface::Member {
                first,
                references: types
                    .iter()
                    .map(|fields| fields.iter().map(positions).collect())
                    .collect(),
                types,
            });
            first += constructors.len() as u32;
        }
        Arc::new(interface::Group {
            members,
            root: self.number,
        })
    }
}

fn member_types(ty: &Type, members: &[DataId]) -> MemberTypes {
    match ty {
        Type::Data(id) => match members.iter().position(|member| member == id) {
            Some(member) => MemberTypes::Member(member),
            None => MemberTypes::None,
        },
        Type::Tuple(parts) => {
            let parts: Vec<MemberTypes> = parts.iter().map(|part| member_types(part, members)).collect();
            match parts.iter().all(|part| *part == MemberTypes::None) {
                true => MemberTypes::None,
                false => MemberTypes::Tuple(parts),
            }
        }
        Type::Array(_, element) => match member_types(element, members) {
            MemberTypes::None => MemberTypes::None,
            element => MemberTypes::Array(Box::new(element)),
        },
        Type::Scalar(_) | Type::Vector(..) | Type::Node(_) => MemberTypes::None,
    }
}

fn positions(types: &MemberTypes) -> References {
    match types {
        MemberTypes::None => References::None,
        MemberTypes::Member(_) => References::Position,
        MemberTypes::Tuple(parts) => References::Tuple(parts.iter().map(positions).collect()),
        MemberTypes::Array(element) => References::Array(Box::new(positions(element))),
    }
}

/// A field of a member as the one type has it.
fn merged_type(ty: &Type, members: &[DataId], merged: DataId) -> Type {
    match ty {
        Type::Data(id) if members.contains(id) => Type::Data(merged),
        Type::Tuple(parts) => Type::Tuple(
            parts
                .iter()
                .map(|part| merged_type(part, members, merged))
                .collect(),
        ),
        Type::Array(dim, element) => {
            Type::Array(dim.clone(), Box::new(merged_type(element, members, merged)))
        }
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => ty.clone(),
    }
}

fn names_of(constructors: &[ConstructorDef]) -> Vec<Name> {
    let names = constructors.iter().map(|constructor| constructor.name.clone());
    names.collect()
}

/// The data types that a type mentions.
fn mentioned(ty: &Type, found: &mut Vec<DataId>) {
    match ty {
        Type::Data(id) | Type::Node(id) => found.push(*id),
        Type::Tuple(parts) => parts.iter().for_each(|part| mentioned(part, found)),
        Type::Array(_, element) => mentioned(element, found),
        Type::Scalar(_) | Type::Vector(..) => {}
    }
}

impl Crosser {
    /// A recursive type as one of a group; none where it refers only to itself.
    pub(super) fn member(&mut self, id: DataId) -> Lowering<Option<Member>> {
        let known = self.groups.iter().position(|group| group.members.contains(&id));
        let group = match known {
            Some(group) => group,
            None => {
                let members: Vec<DataId> = self
                    .reachable(id)
                    .into_iter()
                    .filter(|other| self.reachable(*other).contains(&id))
                    .collect();
                if members.len() < 2 {
                    return Ok(None);
                }
                self.make_group(members)?;
                self.groups.len() - 1
            }
        };
        let Some(group) = self.groups.get(group) else {
            return bug("a group that is not there", self.span);
        };
        let Some(number) = group.members.iter().position(|member| *member == id) else {
            return bug("a group without its member", self.span);
        };
        match (group.into.get(number), group.out.get(number)) {
            (Some(into), Some(out)) => Ok(Some(Member {
                merged: group.merged,
                into: *into,
                out: *out,
                members: Rc::clone(&group.members),
                number,
            })),
            _ => bug("a member without functions", self.span),
        }
    }

    /// The types that values of a type may hold, in order.
    fn reachable(&self, from: DataId) -> Vec<DataId> {
        let mut found: Vec<DataId> = Vec::new();
        let mut open = vec![from];
        while let Some(id) = open.pop() {
            let def = self.builder.signatures.data.get(id.0 as usize);
            for constructor in def.iter().flat_map(|def| &def.constructors) {
                let mut here = Vec::new();
                constructor
                    .fields
                    .iter()
                    .for_each(|field| mentioned(field, &mut here));
                for id in here {
                    if !found.contains(&id) {
                        found.push(id);
                        open.push(id);
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn make_group(&mut self, members: Vec<DataId>) -> Lowering<()> {
        let merged = DataId(self.builder.signatures.data.len() as u32);
        let mut constructors = Vec::new();
        let mut names = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let Some(def) = self.builder.signatures.data.get(member.0 as usize) else {
                return bug("a data type that is not there", self.span);
            };
            names.push(def.name.clone());
            let constructors_so_far: Vec<Name> = names_of(&constructors);
            constructors.extend(def.constructors.iter().map(|constructor| {
                let taken = constructors_so_far.contains(&constructor.name);
                ConstructorDef {
                    name: match taken {
                        true => Name::from(format!("{}_{number}", constructor.name)),
                        false => constructor.name.clone(),
                    },
                    fields: constructor
                        .fields
                        .iter()
                        .map(|field| merged_type(field, &members, merged))
                        .collect(),
                }
            }));
        }
        let name = names.first().map_or("none", |name| name.as_str());
        self.builder.signatures.data.push(DataDef {
            name: Name::from(format!("{name}_group_{}", merged.0)),
            recursive: Recursive::Yes,
            constructors,
        });
        let (mut into, mut out, mut signatures) = (Vec::new(), Vec::new(), Vec::new());
        for (member, name) in members.iter().zip(&names) {
            for (way, ids) in [(Way::In, &mut into), (Way::Out, &mut out)] {
                let (stem, from, to) = match way {
                    Way::In => ("into", merged, *member),
                    Way::Out => ("out", *member, merged),
                };
                let signature = Signature {
                    name: Name::from(format!("{stem}_{name}")),
                    context: Vec::new(),
                    params: vec![self.builder.param("datum", Type::Data(from))],
                    result: ResultType::one(Type::Data(to)),
                };
                ids.push(self.builder.declare(signature.clone()));
                signatures.push((*member, way, signature));
            }
        }
        let members = Rc::new(members);
        self.groups.push(Group {
            merged,
            members,
            into,
            out,
        });
        for (member, way, signature) in signatures {
            match self.member_function(member, way, signature) {
                Ok(function) => self.functions.push(function),
                Err(error) => return bug(format!("the border of a group: {}", error.message), self.span),
            }
        }
        Ok(())
    }

    /// How a field of a member becomes one of the group's type.
    fn cross_inner(&mut self, ty: &Type, group: &[DataId]) -> Lowering<Cross> {
        Ok(match ty {
            Type::Data(id) if group.contains(id) => match self.member(*id)? {
                Some(member) => Cross::Inner(member),
                None => return bug("a member without a group", self.span),
            },
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.cross_inner(part, group));
                let parts = parts.collect::<Lowering<Vec<_>>>()?;
                match parts.iter().all(Cross::is_plain) {
                    true => Cross::Plain,
                    false => Cross::Tuple(parts),
                }
            }
            Type::Array(_, element) => match self.cross_inner(element, group)? {
                Cross::Plain => Cross::Plain,
                element => Cross::Array(Box::new(element)),
            },
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => Cross::Plain,
        })
    }

    /// The function between a member and the group's type.
    fn member_function(&mut self, id: DataId, way: Way, signature: Signature) -> Typed<Function> {
        let Signature {
            name,
            context,
            params,
            result,
        } = signature;
        let group = self.groups.iter().find(|group| group.members.contains(&id));
        let (merged, members) = group.map_or((id, Rc::default()), |group| {
            (group.merged, Rc::clone(&group.members))
        });
        let before = members.iter().take_while(|member| **member != id);
        let before: Vec<DataId> = before.copied().collect();
        let mut first = 0;
        for member in before {
            first += self.builder.signatures.data(member)?.constructors.len() as u32;
        }
        let def = self.builder.signatures.data(id)?.clone();
        let all = self.builder.signatures.data(merged)?.constructors.len();
        let datum = params.first().map(|param| Atom::Var(param.var.clone()));
        let datum = datum.unwrap_or(Atom::Const(Scalar::Bool(false)));
        self.builder.enter();
        self.builder.enter_signature(&context, &params);
        let mut arms = Vec::new();
        for (at, constructor) in (0u32..).zip(&def.constructors) {
            let (taken, made) = match way {
                Way::In => (first + at, (id, at)),
                Way::Out => (at, (merged, first + at)),
            };
            arms.push(self.member_arm(&constructor.fields, &members, way, taken, made)?);
        }
        let default = match way == Way::In && all > def.constructors.len() {
            true => Some(self.not_a_member(&name, id, &datum)?),
            false => None,
        };
        let case = Exp::Case {
            scrutinee: datum,
            arms,
            default,
            result: result.clone(),
        };
        let value = self.bind(case, "member")?;
        let body = self.builder.leave(Vec::new(), vec![value]);
        Ok(Function {
            name,
            context,
            params,
            result,
            body,
            span: self.span,
        })
    }

    fn member_arm(
        &mut self,
        fields: &[Type],
        members: &[DataId],
        way: Way,
        taken: u32,
        (data, made): (DataId, u32),
    ) -> Typed<Arm> {
        let (mut context, mut params, mut crosses) = (Vec::new(), Vec::new(), Vec::new());
        for ty in fields {
            let cross = self.cross_inner(ty, members).unwrap_or(Cross::Plain);
            let given = match way {
                Way::In => crossed(ty, &cross, &mut || Dim::Jagged),
                Way::Out => ty.clone(),
            };
            let builder = &mut self.builder;
            let given = given.open(&mut || {
                let size = builder.size_var("rows");
                context.push(size.clone());
                size
            });
            let param: Param = self.builder.param("field", given);
            params.push(param);
            crosses.push(cross);
        }
        self.builder.enter();
        almach_core::build::enter_params(&mut self.builder.env, &context, &params);
        let mut values = Vec::new();
        for ((param, ty), cross) in params.iter().zip(fields).zip(&crosses) {
            let value = Atom::Var(param.var.clone());
            values.push(self.convert(value, ty, cross, way, &mut Vec::new())?);
        }
        let made = self.bind(construct(data, made, values), "made")?;
        let body = self.builder.leave(Vec::new(), vec![made]);
        Ok(Arm {
            constructor: taken,
            context,
            fields: params,
            body,
        })
    }

    /// A node of another type than the place it stands at: tables from outside may hold anything.
    fn not_a_member(&mut self, name: &Name, id: DataId, datum: &Atom) -> Typed<Body> {
        self.builder.enter();
        let text = format!("a node of a table has another type than what refers to it expects ({name})");
        let failed = Exp::Assert {
            condition: Atom::Const(Scalar::Bool(false)),
            text: Name::from(text),
        };
        self.bind(failed, "failed")?;
        let group = self.groups.iter().find(|group| group.members.contains(&id));
        let again = group.and_then(|group| {
            let number = group.members.iter().position(|member| *member == id)?;
            group.into.get(number).copied()
        });
        let value = match again {
            Some(function) => self.call(function, datum.clone())?,
            None => datum.clone(),
        };
        Ok(self.builder.leave(Vec::new(), vec![value]))
    }

    pub(super) fn call(&mut self, function: FunId, argument: Atom) -> Typed<Atom> {
        let call = Exp::Call {
            function,
            context: Vec::new(),
            args: vec![argument],
        };
        self.bind(call, "called")
    }
}
