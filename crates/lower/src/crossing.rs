//! Entries with recursive data: what crosses the border is tables.
//!
//! ```text
//! fun sum (l: List): i64        ~~>   fun sum_crossing {n} (l: (i64, [n]#List)): i64 =
//!                                       let root = l.0
//!                                       let nodes = l.1
//!                                       let d: List = from_nodes root nodes
//!                                       let r = sum (d)
//!                                       in r
//! ```
//!
//! Types that refer to each other cross as one (`groups`).
//!
//! A datum is its root and its table of nodes, wherever it stands: in a tuple, in an array (then every element has a table of
//! its own size), in a sum (then the sum gets a twin that holds tables). All of it is Core, so that what holds for programs
//! holds here: a bad reference from outside is the error of `from_nodes`, and a result is tabulated as `nodes` does.
//!
//! Removes: recursive data in the signatures of entries. Introduces: functions around theirs, twins of sums. Guarantees: the
//! same values.

mod constructed;
mod groups;
mod outside;

use crate::error::{Lowering, bug};
use almach_base::{Name, Span};
use almach_core::groups::node_references;
use almach_core::typing::TypeError;
use almach_core::{
    Arm, Atom, Body, Builder, ConstructorDef, DataDef, DataId, Dim, Exp, FunId, Function, Lambda, Op,
    Program, Recursive, ResultType, Size, Type, Var,
};
use almach_imp::interface::{Entry, Shape, Tables};
use almach_prim::{Annotation, Level, Prim};
use almach_value::Scalar;
use constructed::Given;
use groups::Member;
pub(crate) use groups::{Group, Way};
pub(crate) use outside::cross_outside;
use std::collections::HashMap;
use std::sync::Arc;

/// How a type crosses.
#[derive(Clone, Debug)]
pub(crate) enum Cross {
    /// As it is.
    Plain,
    /// As a root and an array of nodes, which cross in their turn.
    Datum {
        data: DataId,
        node: Box<Cross>,
    },
    /// As a datum of the type that holds its group.
    Member {
        of: Member,
        node: Box<Cross>,
    },
    /// A field that the other form does not have.
    Dropped,
    Tuple(Vec<Cross>),
    Array(Box<Cross>),
    /// As a sum of one constructor that holds the table another one gives: for traces.
    Text {
        table: DataId,
        of: Box<Cross>,
    },
    /// As its twin: the fields of each constructor cross.
    Sum {
        twin: DataId,
        fields: Vec<Vec<Cross>>,
    },
}

/// The entry of a program with how its parameters and results cross.
pub(crate) struct Crossing {
    pub(crate) params: Vec<Cross>,
    pub(crate) results: Vec<Cross>,
}

/// Gives entries with recursive data functions that take and give tables.
pub(crate) fn cross_entries(
    program: &Program,
    names: &[&str],
    groups: &mut Vec<Group>,
) -> Lowering<(Program, HashMap<Name, Crossing>)> {
    let mut program = program.clone();
    let mut crossings = HashMap::new();
    for at in 0..program.entries.len() {
        let Some(entry) = program.entries.get(at).cloned() else {
            continue;
        };
        if !names.contains(&entry.name.as_str()) {
            continue;
        }
        let Some(function) = program.functions.get(entry.function.0 as usize).cloned() else {
            return bug("an entry without a function", entry.span);
        };
        let mut crosser = Crosser {
            builder: Builder::for_program(&program),
            twins: HashMap::new(),
            groups: std::mem::take(groups),
            given: Given::default(),
            depth: 0,
            span: entry.span,
        };
        let params = crosser.all(function.params.iter().map(|param| &param.ty))?;
        let results = crosser.all(function.result.types.iter())?;
        if params.iter().chain(&results).all(Cross::is_plain) {
            *groups = crosser.groups;
            continue;
        }
        let crossing = Crossing { params, results };
        let around = match crosser.function(&program, (&function, entry.function), &crossing) {
            Ok(around) => around,
            Err(error) => {
                return bug(
                    format!("the border of `{}`: {}", entry.name, error.message),
                    entry.span,
                );
            }
        };
        program.data = crosser.builder.signatures.data;
        program.foreign = crosser.builder.signatures.foreign;
        program.next_var = crosser.builder.supply.next_var();
        *groups = crosser.groups;
        program.functions.push(around);
        let id = FunId(program.functions.len() as u32 - 1);
        if let Some(entry) = program.entries.get_mut(at) {
            entry.function = id;
        }
        crossings.insert(entry.name, crossing);
    }
    Ok((program, crossings))
}

impl Crossing {
    /// Says of an entry's values where they hold data.
    pub(crate) fn mark(&self, program: &Program, entry: &mut Entry) {
        for (param, cross) in entry.params.iter_mut().zip(&self.params) {
            param.shape = with_data(std::mem::replace(&mut param.shape, NOTHING), cross, program);
        }
        for (shape, cross) in entry.results.iter_mut().zip(&self.results) {
            *shape = with_data(std::mem::replace(shape, NOTHING), cross, program);
        }
    }
}

const NOTHING: Shape = Shape::Tuple(Vec::new());

/// A shape outside, with its tables known as data.
fn with_data(shape: Shape, cross: &Cross, program: &Program) -> Shape {
    let all = |shapes: Vec<Shape>, crosses: &[Cross]| -> Vec<Shape> {
        let parts = shapes.into_iter().zip(crosses);
        parts
            .map(|(shape, cross)| with_data(shape, cross, program))
            .collect()
    };
    match (cross, shape) {
        (Cross::Datum { data, node }, Shape::Tuple(parts)) => {
            let parts = all(parts, &[Cross::Plain, Cross::Array(node.clone())]);
            let references = Arc::new(node_references(&program.data, *data));
            Shape::Datum(Box::new(Shape::Tuple(parts)), Tables::One(references))
        }
        (Cross::Member { of, node }, Shape::Tuple(parts)) => {
            let parts = all(parts, &[Cross::Plain, Cross::Array(node.clone())]);
            Shape::Datum(Box::new(Shape::Tuple(parts)), Tables::Group(of.tables(program)))
        }
        (Cross::Tuple(crosses), Shape::Tuple(parts)) => Shape::Tuple(all(parts, crosses)),
        (Cross::Array(cross), Shape::Array(size, element)) => {
            Shape::Array(size, Box::new(with_data(*element, cross, program)))
        }
        (Cross::Array(cross), Shape::Rows(element)) => {
            Shape::Rows(Box::new(with_data(*element, cross, program)))
        }
        (Cross::Sum { fields, .. }, Shape::Sum(constructors)) => {
            let constructors = constructors.into_iter().zip(fields);
            Shape::Sum(
                constructors
                    .map(|(shapes, crosses)| all(shapes, crosses))
                    .collect(),
            )
        }
        (_, shape) => shape,
    }
}

impl Cross {
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Cross::Plain)
    }
}

struct Crosser {
    builder: Builder,
    /// Twins of sums, and of nodes.
    twins: HashMap<Type, Cross>,
    groups: Vec<Group>,
    /// By the entry's function, where that stands in the place of its call.
    given: Given,
    /// How many arrays are gone through whose elements cross.
    depth: usize,
    span: Span,
}

type Typed<T> = Result<T, TypeError>;

impl Crosser {
    fn all<'t>(&mut self, types: impl Iterator<Item = &'t Type>) -> Lowering<Vec<Cross>> {
        types.map(|ty| self.cross(ty)).collect()
    }

    fn cross(&mut self, ty: &Type) -> Lowering<Cross> {
        Ok(match ty {
            Type::Scalar(_) | Type::Vector(..) => Cross::Plain,
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.cross(part));
                let parts = parts.collect::<Lowering<Vec<_>>>()?;
                match parts.iter().all(Cross::is_plain) {
                    true => Cross::Plain,
                    false => Cross::Tuple(parts),
                }
            }
            Type::Array(_, element) => match self.cross(element)? {
                Cross::Plain => Cross::Plain,
                element => Cross::Array(Box::new(element)),
            },
            Type::Data(id) if self.is_recursive(*id) => {
                let member = self.member(*id)?;
                let data = member.as_ref().map_or(*id, |member| member.merged);
                let node = Box::new(self.cross(&Type::Node(data))?);
                match member {
                    Some(of) => Cross::Member { of, node },
                    None => Cross::Datum { data, node },
                }
            }
            Type::Data(_) | Type::Node(_) => self.cross_sum(ty)?,
        })
    }

    fn is_recursive(&self, id: DataId) -> bool {
        let def = self.builder.signatures.data.get(id.0 as usize);
        def.is_some_and(|def| def.recursive == Recursive::Yes)
    }

    /// A sum or node, with a twin where it holds data.
    fn cross_sum(&mut self, ty: &Type) -> Lowering<Cross> {
        if let Some(known) = self.twins.get(ty) {
            return Ok(known.clone());
        }
        let (Type::Data(id) | Type::Node(id)) = ty else {
            return bug("a sum that is none", self.span);
        };
        let Some(def) = self.builder.signatures.data.get(id.0 as usize).cloned() else {
            return bug("a data type that is not there", self.span);
        };
        let mut fields = Vec::new();
        let mut constructors = Vec::new();
        for (at, constructor) in (0u32..).zip(&def.constructors) {
            let types = fields_of(&def, ty, at);
            let crosses = types.iter().map(|field| self.cross(field));
            let crosses = crosses.collect::<Lowering<Vec<_>>>()?;
            let twins = types.iter().zip(&crosses);
            constructors.push(ConstructorDef {
                name: constructor.name.clone(),
                fields: twins
                    .map(|(ty, cross)| crossed(ty, cross, &mut || Dim::Jagged))
                    .collect(),
            });
            fields.push(crosses);
        }
        let cross = match fields.iter().flatten().all(Cross::is_plain) {
            true => Cross::Plain,
            false => {
                let data = &mut self.builder.signatures.data;
                data.push(DataDef {
                    name: Name::from(format!("{}_crossing_{}", def.name, data.len())),
                    recursive: Recursive::No,
                    constructors,
                    parts: Vec::new(),
                });
                let twin = DataId(data.len() as u32 - 1);
                Cross::Sum { twin, fields }
            }
        };
        self.twins.insert(ty.clone(), cross.clone());
        Ok(cross)
    }

    /// The function around an entry's function.
    fn function(
        &mut self,
        program: &Program,
        (function, id): (&Function, FunId),
        crossing: &Crossing,
    ) -> Typed<Function> {
        let mut context: Vec<Var> = Vec::new();
        let mut renaming: HashMap<Var, Size> = HashMap::new();
        for var in &function.context {
            let fresh = self.builder.size_var(var.name.clone());
            renaming.insert(var.clone(), Size::var(fresh.clone()));
            context.push(fresh);
        }
        let sizes: Vec<Atom> = context.iter().cloned().map(Atom::Var).collect();
        let mut params = Vec::new();
        let mut originals = Vec::new();
        for (param, cross) in function.params.iter().zip(&crossing.params) {
            let original = param.ty.substitute(&|var| renaming.get(var).cloned());
            let builder = &mut self.builder;
            let ty = crossed(&original, cross, &mut || {
                let size = builder.size_var("nodes");
                context.push(size.clone());
                Dim::Size(Size::var(size))
            });
            let fresh = self.builder.param(param.var.name.clone(), ty);
            // Numbers may be sizes of what follows.
            if param.ty == Type::I64 {
                renaming.insert(param.var.clone(), Size::var(fresh.var.clone()));
            }
            originals.push(original);
            params.push(fresh);
        }
        self.builder.enter();
        let mut args = Vec::new();
        for ((param, ty), cross) in params.iter().zip(&originals).zip(&crossing.params) {
            let atom = Atom::Var(param.var.clone());
            args.push(self.convert(atom, ty, cross, Way::In, &mut Vec::new())?);
        }
        let (given, mut sizes) = match self.in_place(program, function, (&sizes, &args)) {
            Some(given) => (given, Vec::new()),
            None => {
                let call = Exp::Call {
                    function: id,
                    context: sizes,
                    args,
                };
                let given = self.builder.bind_all(call, &["result".into()], function.span)?;
                let values = given.values.into_iter();
                let values = values.map(|value| (Atom::Var(value.var), value.ty)).collect();
                (values, given.context)
            }
        };
        let mut values = Vec::new();
        for ((value, ty), cross) in given.into_iter().zip(&crossing.results) {
            values.push(self.convert(value, &ty, cross, Way::Out, &mut sizes)?);
        }
        let (body, result) = self.leave(sizes, values)?;
        Ok(Function {
            name: Name::from(format!("{}_crossing", function.name)),
            context,
            params,
            result,
            body,
            span: function.span,
        })
    }

    /// Ends a body that gives values over sizes it bound.
    fn leave(&mut self, sizes: Vec<Var>, values: Vec<Atom>) -> Typed<(Body, ResultType)> {
        let mut renaming: HashMap<Var, Size> = HashMap::new();
        let mut context = Vec::new();
        for size in &sizes {
            let fresh = self.builder.fresh(size.name.clone());
            renaming.insert(size.clone(), Size::var(fresh.clone()));
            context.push(fresh);
        }
        let mut types = Vec::new();
        for value in &values {
            let ty = self.builder.type_of(value)?;
            types.push(ty.substitute(&|var| renaming.get(var).cloned()));
        }
        let sizes = sizes.into_iter().map(Atom::Var).collect();
        let body = self.builder.leave(sizes, values);
        Ok((body, ResultType { context, types }))
    }

    fn bind(&mut self, exp: Exp, name: &str) -> Typed<Atom> {
        self.builder.bind(exp, name, self.span)
    }

    /// A value in its other form. `ty` is its type inside; sizes that are bound on the way go to `sizes`.
    fn convert(
        &mut self,
        value: Atom,
        ty: &Type,
        cross: &Cross,
        way: Way,
        sizes: &mut Vec<Var>,
    ) -> Typed<Atom> {
        match (cross, ty) {
            (Cross::Datum { data, node }, _) => match way {
                Way::In => Ok(self.datum(value, *data, node)?.0),
                Way::Out => self.table(value, *data, node, sizes),
            },
            (Cross::Member { of, node }, _) => match way {
                Way::In => {
                    let (whole, nodes) = self.datum(value, of.merged, node)?;
                    self.check_group(&nodes, of)?;
                    self.cast(of.into, whole)
                }
                Way::Out => {
                    let whole = self.cast(of.out, value)?;
                    self.table(whole, of.merged, node, sizes)
                }
            },
            (Cross::Text { table, of }, _) => {
                let value = self.convert(value, ty, of, way, sizes)?;
                self.text(*table, value)
            }
            (Cross::Tuple(crosses), Type::Tuple(types)) => {
                let known = self.given.parts(&value).map(<[Atom]>::to_vec);
                let mut parts = Vec::new();
                for (at, (cross, ty)) in (0u32..).zip(crosses.iter().zip(types)) {
                    let part = match known.as_ref().and_then(|parts| parts.get(at as usize)) {
                        Some(part) => part.clone(),
                        None => self.bind(Exp::Project(value.clone(), at), "part")?,
                    };
                    parts.push(self.convert(part, ty, cross, way, sizes)?);
                }
                self.bind(Exp::Tuple(parts), "parts")
            }
            (Cross::Array(cross), Type::Array(_, element)) => self.each(value, element, cross, way),
            (Cross::Sum { twin, fields }, _) => self.sum(value, ty, *twin, fields, way),
            _ => Ok(value),
        }
    }

    /// The datum of a root and nodes, and the nodes.
    fn datum(&mut self, value: Atom, data: DataId, node: &Cross) -> Typed<(Atom, Atom)> {
        let root = self.bind(Exp::Project(value.clone(), 0), "root")?;
        let nodes = self.bind(Exp::Project(value, 1), "nodes")?;
        let nodes = match node {
            Cross::Plain => nodes,
            cross => self.each(nodes, &Type::Node(data), cross, Way::In)?,
        };
        let from_nodes = operation(Prim::FromNodes, vec![], vec![root, nodes.clone()]);
        Ok((self.bind(from_nodes, "datum")?, nodes))
    }

    fn table(&mut self, value: Atom, data: DataId, node: &Cross, sizes: &mut Vec<Var>) -> Typed<Atom> {
        let (root, nodes) = match self.given.chain(&value).cloned() {
            Some(chain) => {
                let (nodes, size) = self.chain(&chain)?;
                sizes.extend(size.filter(|size| !sizes.contains(size)));
                (Atom::Const(Scalar::I64(0)), nodes)
            }
            None => {
                let root = self.bind(operation(Prim::RootOf, vec![], vec![value.clone()]), "root")?;
                let exp = operation(Prim::Nodes, vec![], vec![value]);
                let found = self.builder.bind_all(exp, &["nodes".into()], self.span)?;
                sizes.extend(found.context);
                let Some(nodes) = found.values.into_iter().next() else {
                    return Ok(root);
                };
                (root, Atom::Var(nodes.var))
            }
        };
        let nodes = match node {
            Cross::Plain if self.depth == 0 && self.has_scalars_only(data)? => {
                self.written_out(nodes, data)?
            }
            Cross::Plain => nodes,
            cross => self.each(nodes, &Type::Node(data), cross, Way::Out)?,
        };
        self.bind(Exp::Tuple(vec![root, nodes]), "table")
    }

    /// Nodes as an array of their own, which all threads write.
    fn written_out(&mut self, nodes: Atom, data: DataId) -> Typed<Atom> {
        let param = self.builder.param("node", Type::Node(data));
        self.builder.enter();
        let (body, result) = self.leave(Vec::new(), vec![Atom::Var(param.var.clone())])?;
        let lambda = Lambda {
            context: Vec::new(),
            params: vec![param],
            result,
            body,
        };
        let annotation = Annotation {
            level: Some(Level::Par),
            ..Annotation::NONE
        };
        let map = Exp::Op(Op {
            prim: Prim::Map,
            annotation,
            functions: vec![lambda],
            args: vec![nodes],
        });
        self.bind(map, "written")
    }

    /// Whether nodes have no arrays in them.
    fn has_scalars_only(&self, data: DataId) -> Typed<bool> {
        let def = self.builder.signatures.data(data)?;
        let mut fields = def
            .constructors
            .iter()
            .flat_map(|constructor| &constructor.fields);
        Ok(fields.all(|field| *field == Type::Data(data) || field.is_scalar()))
    }

    /// Every element of an array. `element` is its type inside.
    fn each(&mut self, array: Atom, element: &Type, cross: &Cross, way: Way) -> Typed<Atom> {
        let given = match way {
            Way::In => crossed(element, cross, &mut || Dim::Jagged),
            Way::Out => element.clone(),
        };
        let mut context = Vec::new();
        let builder = &mut self.builder;
        let given = given.open(&mut || {
            let size = builder.size_var("rows");
            context.push(size.clone());
            size
        });
        let param = self.builder.param("x", given);
        self.builder.enter();
        let mut sizes = Vec::new();
        let value = Atom::Var(param.var.clone());
        self.depth += 1;
        let value = self.convert(value, element, cross, way, &mut sizes)?;
        self.depth -= 1;
        let (body, result) = self.leave(sizes, vec![value])?;
        let lambda = Lambda {
            context,
            params: vec![param],
            result,
            body,
        };
        self.bind(operation(Prim::Map, vec![lambda], vec![array]), "each")
    }

    /// A sum or node as its twin, or back.
    fn sum(&mut self, value: Atom, ty: &Type, twin: DataId, fields: &[Vec<Cross>], way: Way) -> Typed<Atom> {
        let (Type::Data(id) | Type::Node(id)) = ty else {
            return Ok(value);
        };
        let def = self.builder.signatures.data(*id)?.clone();
        let mut arms = Vec::new();
        for (constructor, crosses) in (0u32..).zip(fields) {
            let types = fields_of(&def, ty, constructor);
            let (mut context, mut params) = (Vec::new(), Vec::new());
            for (ty, cross) in types.iter().zip(crosses) {
                let given = match way {
                    Way::In => crossed(ty, cross, &mut || Dim::Jagged),
                    Way::Out => ty.clone(),
                };
                let builder = &mut self.builder;
                let given = given.open(&mut || {
                    let size = builder.size_var("rows");
                    context.push(size.clone());
                    size
                });
                params.push(self.builder.param("field", given));
            }
            self.builder.enter();
            let mut values = Vec::new();
            for ((param, ty), cross) in params.iter().zip(&types).zip(crosses) {
                if let Cross::Dropped = cross {
                    continue;
                }
                let value = Atom::Var(param.var.clone());
                values.push(self.convert(value, ty, cross, way, &mut Vec::new())?);
            }
            let made = match (way, ty) {
                (Way::Out, _) => construct(twin, constructor, values),
                (Way::In, Type::Node(id)) => Exp::ConstructNode {
                    data: *id,
                    constructor,
                    fields: values,
                },
                (Way::In, _) => construct(*id, constructor, values),
            };
            let made = self.bind(made, "made")?;
            let body = self.builder.leave(Vec::new(), vec![made]);
            arms.push(Arm {
                constructor,
                context,
                fields: params,
                body,
            });
        }
        let result = match way {
            Way::Out => Type::Data(twin),
            Way::In => ty.clone(),
        };
        let case = Exp::Case {
            scrutinee: value,
            arms,
            default: None,
            result: ResultType::one(result),
        };
        self.bind(case, "twin")
    }
}

fn construct(data: DataId, constructor: u32, fields: Vec<Atom>) -> Exp {
    Exp::Construct {
        data,
        constructor,
        fields,
    }
}

/// The fields of a constructor in values of a type.
fn fields_of(def: &DataDef, ty: &Type, constructor: u32) -> Vec<Type> {
    let fields = def
        .constructors
        .get(constructor as usize)
        .map_or(&[][..], |constructor| constructor.fields.as_slice());
    match ty {
        Type::Node(id) => fields
            .iter()
            .map(|field| def.with_positions(*id, field))
            .collect(),
        _ => fields.to_vec(),
    }
}

/// What a type is outside. `dim` gives the sizes of tables that stand in no array.
fn crossed(ty: &Type, cross: &Cross, dim: &mut dyn FnMut() -> Dim) -> Type {
    match (cross, ty) {
        (Cross::Datum { data, node }, _) => {
            let node = crossed(&Type::Node(*data), node, &mut || Dim::Jagged);
            Type::Tuple(vec![Type::I64, Type::Array(dim(), Box::new(node))])
        }
        (Cross::Member { of, node }, _) => {
            let node = crossed(&Type::Node(of.merged), node, &mut || Dim::Jagged);
            Type::Tuple(vec![Type::I64, Type::Array(dim(), Box::new(node))])
        }
        (Cross::Text { table, .. }, _) => Type::Data(*table),
        (Cross::Tuple(crosses), Type::Tuple(types)) => {
            let parts = types.iter().zip(crosses);
            Type::Tuple(parts.map(|(ty, cross)| crossed(ty, cross, dim)).collect())
        }
        (Cross::Array(cross), Type::Array(size, element)) => {
            let element = crossed(element, cross, &mut || Dim::Jagged);
            Type::Array(size.clone(), Box::new(element))
        }
        (Cross::Sum { twin, .. }, _) => Type::Data(*twin),
        _ => ty.clone(),
    }
}

fn operation(prim: Prim, functions: Vec<Lambda>, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation::default(),
        functions,
        args,
    })
}
