//! Types that refer to each other cross the border as one type that has the constructors of all of them.
//!
//! ```text
//! data Rose = Rose i32 Forest                          data rec Rose_group = Rose i64 i32 Rose_group
//! data Forest = Empty | Grow Rose Forest                    | Empty i64 | Grow i64 Rose_group Rose_group
//! ```
//!
//! The cells of all of them are in the store of that type, so a datum of one is a datum of the other: on the way in nothing is
//! done but to check that references go to nodes of their types. On the way out all that can be reached is copied to one
//! table (`groupOf`). The first field of a node says which table it is in (the position of that table's first node, counted from
//! 1; 0 for what a constructor made): tables come in again as they went out, and what was shared stays so.

use super::{Cross, Crosser, Typed, fields_of, operation};
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::groups::{group_of, member_types, tables};
use almach_core::{
    Arm, Atom, ConstructorDef, DataDef, DataId, Dim, Exp, ForeignDef, ForeignId, Lambda, Param, Program,
    Recursive, ResultType, Type,
};
use almach_prim::Prim;
use almach_value::{BinOp, MemberTypes, Scalar};
use std::rc::Rc;
use std::sync::Arc;

/// Which way a value goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    In,
    Out,
}

/// One type of a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(super) merged: DataId,
    pub(super) into: ForeignId,
    pub(super) out: ForeignId,
    members: Rc<Vec<DataId>>,
    number: usize,
}

/// Types that refer to each other, in the order of their declarations.
pub(crate) struct Group {
    /// The type that has the constructors of all.
    pub(crate) merged: DataId,
    pub(crate) members: Rc<Vec<DataId>>,
    /// From the one type to each, and from each to it: no functions, but other types for the same datum.
    into: Vec<ForeignId>,
    out: Vec<ForeignId>,
}

impl Group {
    pub(crate) fn cast(&self, function: ForeignId) -> Option<Way> {
        match () {
            () if self.into.contains(&function) => Some(Way::In),
            () if self.out.contains(&function) => Some(Way::Out),
            () => None,
        }
    }
}

impl Member {
    /// How values of the type are brought into a table of the group.
    pub(super) fn tables(&self, program: &Program) -> Arc<almach_value::Group> {
        Arc::new(tables(&program.data, &self.members, self.number))
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

/// A constructor of the one type: whose it is, and what its fields refer to.
struct Constructor {
    member: usize,
    fields: Vec<MemberTypes>,
}

/// What is known of the nodes that a field may refer to: of which type each is, and in which table. And of the node that
/// refers.
struct Around {
    members: Atom,
    tables: Atom,
    member: usize,
    table: Atom,
}

/// What a node gives, of its constructor, its position and its fields.
type NumberOfNode<'f> = &'f mut dyn FnMut(&mut Crosser, usize, &Atom, &[Param]) -> Typed<Atom>;

impl Crosser {
    /// A recursive type as one of a group; none where it refers only to itself.
    pub(super) fn member(&mut self, id: DataId) -> Lowering<Option<Member>> {
        let known = self.groups.iter().position(|group| group.members.contains(&id));
        let group = match known {
            Some(group) => group,
            None => {
                let Some(members) = group_of(&self.builder.signatures.data, id) else {
                    return Ok(None);
                };
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

    fn make_group(&mut self, members: Vec<DataId>) -> Lowering<()> {
        let merged = DataId(self.builder.signatures.data.len() as u32);
        let mut constructors: Vec<ConstructorDef> = Vec::new();
        let mut names = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let Some(def) = self.builder.signatures.data.get(member.0 as usize) else {
                return bug("a data type that is not there", self.span);
            };
            names.push(def.name.clone());
            let before: Vec<Name> = constructors.iter().map(|known| known.name.clone()).collect();
            constructors.extend(def.constructors.iter().map(|constructor| {
                let fields = constructor.fields.iter();
                let fields = fields.map(|field| merged_type(field, &members, merged));
                ConstructorDef {
                    name: match before.contains(&constructor.name) {
                        true => Name::from(format!("{}_{number}", constructor.name)),
                        false => constructor.name.clone(),
                    },
                    fields: std::iter::once(Type::I64).chain(fields).collect(),
                }
            }));
        }
        let name = names.first().map_or("none", |name| name.as_str());
        self.builder.signatures.data.push(DataDef {
            name: Name::from(format!("{name}_group_{}", merged.0)),
            recursive: Recursive::Yes,
            constructors,
            parts: Vec::new(),
        });
        let (mut into, mut out) = (Vec::new(), Vec::new());
        for (member, name) in members.iter().zip(&names) {
            into.push(self.cast_function(format!("into_{name}"), merged, *member));
            out.push(self.cast_function(format!("out_{name}"), *member, merged));
        }
        self.groups.push(Group {
            merged,
            members: Rc::new(members),
            into,
            out,
        });
        Ok(())
    }

    /// Stands for another type of the same datum.
    fn cast_function(&mut self, name: String, from: DataId, to: DataId) -> ForeignId {
        let param = self.builder.param("datum", Type::Data(from));
        let foreign = &mut self.builder.signatures.foreign;
        foreign.push(ForeignDef {
            name: Name::from(name),
            context: Vec::new(),
            params: vec![param],
            result: ResultType::one(Type::Data(to)),
            span: self.span,
        });
        ForeignId(foreign.len() as u32 - 1)
    }

    pub(super) fn cast(&mut self, function: ForeignId, datum: Atom) -> Typed<Atom> {
        let cast = Exp::Foreign {
            function,
            context: Vec::new(),
            args: vec![datum],
        };
        self.bind(cast, "cast")
    }

    /// Checks what only tables from outside may have wrong: references go to nodes of their types, rows of a table follow each
    /// other and have one type, and no reference to that type leaves it.
    pub(super) fn check_group(&mut self, nodes: &Atom, of: &Member) -> Typed<()> {
        let mut constructors = Vec::new();
        for (member, id) in of.members.iter().enumerate() {
            for constructor in &self.builder.signatures.data(*id)?.constructors {
                let fields = constructor.fields.iter();
                constructors.push(Constructor {
                    member,
                    fields: fields.map(|field| member_types(field, &of.members)).collect(),
                });
            }
        }
        let members = self.each_node(nodes, of, &mut |_, at, _, _| {
            let member = constructors.get(at).map_or(0, |constructor| constructor.member);
            Ok(number(member as i64))
        })?;
        let tables = self.each_node(nodes, of, &mut |_, _, _, fields| Ok(first_field(fields)))?;
        self.each_node(nodes, of, &mut |this, at, position, fields| {
            let table = first_field(fields);
            let Some(constructor) = constructors.get(at) else {
                return Ok(table);
            };
            let around = Around {
                members: members.clone(),
                tables: tables.clone(),
                member: constructor.member,
                table: table.clone(),
            };
            this.check_place(position, &around)?;
            for (param, types) in fields.iter().skip(1).zip(&constructor.fields) {
                this.check_references(Atom::Var(param.var.clone()), types, &around)?;
            }
            Ok(table)
        })?;
        Ok(())
    }

    /// A number for every node: what a function gives of its constructor, its position and its fields.
    fn each_node(&mut self, nodes: &Atom, of: &Member, value: NumberOfNode<'_>) -> Typed<Atom> {
        let node = Type::Node(of.merged);
        let def = self.builder.signatures.data(of.merged)?.clone();
        let size = match self.builder.type_of(nodes)? {
            Type::Array(Dim::Size(size), _) => self.builder.size_atom(&size, self.span)?,
            _ => self.builder.length(nodes, self.span)?,
        };
        let positions = self.bind(operation(Prim::Iota, vec![], vec![size]), "positions")?;
        let params = vec![
            self.builder.param("node", node.clone()),
            self.builder.param("position", Type::I64),
        ];
        let [scrutinee, position] = [0, 1].map(|at: usize| match params.get(at) {
            Some(param) => Atom::Var(param.var.clone()),
            None => number(0),
        });
        self.builder.enter();
        almach_core::build::enter_params(&mut self.builder.env, &[], &params);
        let mut arms = Vec::new();
        for constructor in 0..def.constructors.len() {
            let (mut context, mut fields) = (Vec::new(), Vec::new());
            for ty in fields_of(&def, &node, constructor as u32) {
                let builder = &mut self.builder;
                let ty = ty.open(&mut || {
                    let size = builder.size_var("rows");
                    context.push(size.clone());
                    size
                });
                fields.push(self.builder.param("field", ty));
            }
            self.builder.enter();
            almach_core::build::enter_params(&mut self.builder.env, &context, &fields);
            let value = value(self, constructor, &position, &fields)?;
            let body = self.builder.leave(Vec::new(), vec![value]);
            arms.push(Arm {
                constructor: constructor as u32,
                context,
                fields,
                body,
            });
        }
        let case = Exp::Case {
            scrutinee,
            arms,
            default: None,
            result: ResultType::one(Type::I64),
        };
        let value = self.bind(case, "of_node")?;
        let (body, result) = self.leave(Vec::new(), vec![value])?;
        let lambda = Lambda {
            context: Vec::new(),
            params,
            result,
            body,
        };
        let args = vec![nodes.clone(), positions];
        self.bind(operation(Prim::Map, vec![lambda], args), "of_nodes")
    }

    /// A node begins a table, or goes on with that of the node before it, or is in none.
    fn check_place(&mut self, position: &Atom, around: &Around) -> Typed<()> {
        let table = &around.table;
        let one = self.binary(BinOp::Add, position, &number(1))?;
        let none = self.binary(BinOp::Eq, table, &number(0))?;
        let begins = self.binary(BinOp::Eq, table, &one)?;
        let before = self.binary(BinOp::Sub, position, &number(1))?;
        let before = self.binary(BinOp::Max, &before, &number(0))?;
        let table_before = self.at(&around.tables, &before)?;
        let member_before = self.at(&around.members, &before)?;
        let same_table = self.binary(BinOp::Eq, table, &table_before)?;
        let same_member = self.binary(BinOp::Eq, &member_before, &number(around.member as i64))?;
        let positive = self.binary(BinOp::Gt, table, &number(0))?;
        let earlier = self.binary(BinOp::Le, table, position)?;
        let mut goes_on = self.binary(BinOp::And, &same_table, &same_member)?;
        for more in [positive, earlier] {
            goes_on = self.binary(BinOp::And, &goes_on, &more)?;
        }
        let right = self.binary(BinOp::Or, &none, &begins)?;
        let right = self.binary(BinOp::Or, &right, &goes_on)?;
        self.require(
            right,
            "the nodes of a table do not follow each other, or have several types",
        )
    }

    fn check_references(&mut self, value: Atom, types: &MemberTypes, around: &Around) -> Typed<()> {
        match types {
            MemberTypes::None => Ok(()),
            MemberTypes::Member(member) => {
                let found = self.at(&around.members, &value)?;
                let right = self.binary(BinOp::Eq, &found, &number(*member as i64))?;
                self.require(
                    right,
                    "a node of a table has another type than what refers to it expects",
                )?;
                if *member != around.member {
                    return Ok(());
                }
                let found = self.at(&around.tables, &value)?;
                let same = self.binary(BinOp::Eq, &found, &around.table)?;
                let none = self.binary(BinOp::Eq, &around.table, &number(0))?;
                let right = self.binary(BinOp::Or, &same, &none)?;
                self.require(
                    right,
                    "a node of a table refers to one of its type that is not in the table",
                )
            }
            MemberTypes::Tuple(parts) => {
                for (at, types) in (0u32..).zip(parts) {
                    let part = self.bind(Exp::Project(value.clone(), at), "part")?;
                    self.check_references(part, types, around)?;
                }
                Ok(())
            }
            MemberTypes::Array(element) => self.check_elements(value, element, around),
        }
    }

    fn check_elements(&mut self, array: Atom, types: &MemberTypes, around: &Around) -> Typed<()> {
        let Type::Array(_, element) = self.builder.type_of(&array)? else {
            return Ok(());
        };
        let mut context = Vec::new();
        let builder = &mut self.builder;
        let element = element.open(&mut || {
            let size = builder.size_var("rows");
            context.push(size.clone());
            size
        });
        let param = self.builder.param("x", element);
        self.builder.enter();
        almach_core::build::enter_params(&mut self.builder.env, &context, std::slice::from_ref(&param));
        self.check_references(Atom::Var(param.var.clone()), types, around)?;
        let (body, result) = self.leave(Vec::new(), vec![number(0)])?;
        let lambda = Lambda {
            context,
            params: vec![param],
            result,
            body,
        };
        self.bind(operation(Prim::Map, vec![lambda], vec![array]), "checked")?;
        Ok(())
    }

    fn binary(&mut self, op: BinOp, left: &Atom, right: &Atom) -> Typed<Atom> {
        self.bind(Exp::Binary(op, left.clone(), right.clone()), "c")
    }

    fn at(&mut self, array: &Atom, index: &Atom) -> Typed<Atom> {
        let index = Exp::Index {
            array: array.clone(),
            indices: vec![index.clone()],
        };
        self.bind(index, "at")
    }

    fn require(&mut self, condition: Atom, text: &str) -> Typed<()> {
        let text = Name::from(text);
        self.bind(Exp::Assert { condition, text }, "checked")?;
        Ok(())
    }

    /// A node of a group as its text shows it: without its table.
    pub(super) fn without_table(&mut self, of: &Member, node: &Cross) -> Cross {
        let ty = Type::Node(of.merged);
        let Ok(def) = self.builder.signatures.data(of.merged).cloned() else {
            return node.clone();
        };
        let (mut constructors, mut fields) = (Vec::new(), Vec::new());
        for (at, constructor) in def.constructors.iter().enumerate() {
            let types = fields_of(&def, &ty, at as u32);
            let crosses = match node {
                Cross::Sum { fields, .. } => fields.get(at).cloned().unwrap_or_default(),
                _ => vec![Cross::Plain; types.len()],
            };
            let shown = types.iter().zip(&crosses).skip(1);
            constructors.push(ConstructorDef {
                name: Name::from(format!("#{}", constructor.name)),
                fields: shown
                    .map(|(ty, cross)| super::crossed(ty, cross, &mut || Dim::Jagged))
                    .collect(),
            });
            let rest = crosses.into_iter().skip(1);
            fields.push(std::iter::once(Cross::Dropped).chain(rest).collect());
        }
        Cross::Sum {
            twin: self.new_data(&def.name, constructors),
            fields,
        }
    }
}

fn number(value: i64) -> Atom {
    Atom::Const(Scalar::I64(value))
}

fn first_field(fields: &[Param]) -> Atom {
    fields
        .first()
        .map_or(number(0), |field| Atom::Var(field.var.clone()))
}
