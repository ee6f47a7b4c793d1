//! What leaves a program elsewhere than at its entries: C functions with recursive data, and traces of it.
//!
//! ```text
//! foreign grow : Tree -> Tree      ~~>   foreign grow : {n} (i64, [n]#Tree) -> (i64, [?]#Tree)
//! foreign grow t                   ~~>   grow_outside (t), a function that makes a table, calls, and makes a datum
//! trace "t" t                      ~~>   trace "t" (from_nodes root nodes): a sum that looks like the table's text
//! ```

use super::constructed::Given;
use super::{Cross, Crosser, Group, Typed, Way, construct, crossed, fields_of};
use crate::error::{Lowering, bug};
use almach_base::{Name, Span};
use almach_core::visit::{WalkMut, walk_body_mut, walk_exp_mut, walk_function_mut};
use almach_core::{
    Atom, Body, Builder, ConstructorDef, DataDef, DataId, Dim, Exp, ForeignDef, ForeignId, FunId, Function,
    Param, Program, Recursive, ResultType, Size, Stmt, Type, Var,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Gives C functions with recursive data tables instead, and traces of recursive data its text as a table.
pub(crate) fn cross_outside(mut program: Program, groups: &mut Vec<Group>) -> Lowering<Program> {
    let mut calls = HashMap::new();
    for at in 0..program.foreign.len() {
        let id = ForeignId(at as u32);
        if groups.iter().any(|group| group.cast(id).is_some()) {
            continue;
        }
        if let Some(function) = cross_foreign(&mut program, at, groups)? {
            calls.insert(ForeignId(at as u32), function);
        }
    }
    let mut functions = std::mem::take(&mut program.functions);
    for (at, function) in functions.iter_mut().enumerate() {
        // The functions around C functions call these themselves.
        if !calls.values().any(|around: &FunId| around.0 as usize == at) {
            walk_function_mut(&mut Calls(&calls), function);
        }
    }
    program.functions = functions;
    cross_traces(&mut program, groups)?;
    Ok(program)
}

fn crosser(program: &Program, groups: &mut Vec<Group>, span: Span) -> Crosser {
    Crosser {
        builder: Builder::for_program(program),
        twins: HashMap::new(),
        groups: std::mem::take(groups),
        given: Given::default(),
        depth: 0,
        span,
    }
}

/// What a crosser made becomes part of the program.
fn keep(crosser: Crosser, program: &mut Program, groups: &mut Vec<Group>) {
    program.data = crosser.builder.signatures.data;
    program.foreign = crosser.builder.signatures.foreign;
    program.next_var = crosser.builder.supply.next_var();
    *groups = crosser.groups;
}

/// Calls of C functions become calls of the functions around them.
struct Calls<'c>(&'c HashMap<ForeignId, FunId>);

impl WalkMut for Calls<'_> {
    fn exp(&mut self, exp: &mut Exp) {
        if let Exp::Foreign {
            function,
            context,
            args,
        } = exp
            && let Some(around) = self.0.get(function)
        {
            *exp = Exp::Call {
                function: *around,
                context: std::mem::take(context),
                args: std::mem::take(args),
            };
        }
        walk_exp_mut(self, exp);
    }
}

/// The function around a C function, where that has recursive data; the function itself then has tables.
fn cross_foreign(program: &mut Program, at: usize, groups: &mut Vec<Group>) -> Lowering<Option<FunId>> {
    let Some(def) = program.foreign.get(at).cloned() else {
        return Ok(None);
    };
    let mut crosser = crosser(program, groups, def.span);
    let params = crosser.all(def.params.iter().map(|param| &param.ty))?;
    let results = crosser.all(def.result.types.iter())?;
    if params.iter().chain(&results).all(Cross::is_plain) {
        *groups = crosser.groups;
        return Ok(None);
    }
    let outside = crosser.foreign_outside(&def, &params, &results);
    if let Some(own) = crosser.builder.signatures.foreign.get_mut(at) {
        *own = outside;
    }
    let around = match crosser.foreign_around(&def, ForeignId(at as u32), &params, &results) {
        Ok(around) => around,
        Err(error) => {
            return bug(
                format!("the border of `{}`: {}", def.name, error.message),
                def.span,
            );
        }
    };
    keep(crosser, program, groups);
    program.functions.push(around);
    Ok(Some(FunId(program.functions.len() as u32 - 1)))
}

impl Crosser {
    /// A C function as it is called with tables.
    fn foreign_outside(&mut self, def: &ForeignDef, params: &[Cross], results: &[Cross]) -> ForeignDef {
        let mut context = def.context.clone();
        let mut own = Vec::new();
        for (param, cross) in def.params.iter().zip(params) {
            let builder = &mut self.builder;
            let ty = crossed(&param.ty, cross, &mut || {
                let size = builder.size_var("nodes");
                context.push(size.clone());
                Dim::Size(Size::var(size))
            });
            own.push(Param {
                var: param.var.clone(),
                ty,
            });
        }
        let types = def.result.types.iter().zip(results);
        ForeignDef {
            name: def.name.clone(),
            context,
            params: own,
            result: ResultType {
                context: def.result.context.clone(),
                types: types
                    .map(|(ty, cross)| crossed(ty, cross, &mut || Dim::Jagged))
                    .collect(),
            },
            span: def.span,
        }
    }

    /// The function that programs call in its place.
    fn foreign_around(
        &mut self,
        def: &ForeignDef,
        id: ForeignId,
        params: &[Cross],
        results: &[Cross],
    ) -> Typed<Function> {
        let mut renaming: HashMap<Var, Size> = HashMap::new();
        let mut context = Vec::new();
        for var in &def.context {
            let fresh = self.builder.size_var(var.name.clone());
            renaming.insert(var.clone(), Size::var(fresh.clone()));
            context.push(fresh);
        }
        let mut own: Vec<Param> = Vec::new();
        for param in &def.params {
            let ty = param.ty.substitute(&|var| renaming.get(var).cloned());
            let fresh = self.builder.param(param.var.name.clone(), ty);
            if param.ty == Type::I64 {
                renaming.insert(param.var.clone(), Size::var(fresh.var.clone()));
            }
            own.push(fresh);
        }
        self.builder.enter();
        let mut sizes = context.clone();
        let mut args = Vec::new();
        for (param, cross) in own.iter().zip(params) {
            let atom = Atom::Var(param.var.clone());
            args.push(self.convert(atom, &param.ty, cross, Way::Out, &mut sizes)?);
        }
        let call = Exp::Foreign {
            function: id,
            context: sizes.into_iter().map(Atom::Var).collect(),
            args,
        };
        let given = self.builder.bind_all(call, &["result".into()], def.span)?;
        let mut values = Vec::new();
        let mentioned: RefCell<HashSet<Var>> = RefCell::default();
        for ((value, ty), cross) in given.values.iter().zip(&def.result.types).zip(results) {
            let atom = Atom::Var(value.var.clone());
            let atom = self.convert(atom, ty, cross, Way::In, &mut Vec::new())?;
            self.builder.type_of(&atom)?.substitute(&|var| {
                mentioned.borrow_mut().insert(var.clone());
                None
            });
            values.push(atom);
        }
        let mentioned = mentioned.into_inner();
        let sizes = given.context.into_iter().filter(|var| mentioned.contains(var));
        let (body, result) = self.leave(sizes.collect(), values)?;
        Ok(Function {
            name: Name::from(format!("{}_outside", def.name)),
            context,
            params: own,
            result,
            body,
            span: def.span,
        })
    }
}

fn cross_traces(program: &mut Program, groups: &mut Vec<Group>) -> Lowering<()> {
    for at in 0..program.functions.len() {
        let Some(mut function) = program.functions.get(at).cloned() else {
            continue;
        };
        let mut crosser = crosser(program, groups, function.span);
        crosser.builder.enter_function(&function);
        let mut traces = Traces {
            crosser,
            found: 0,
            broken: None,
        };
        walk_function_mut(&mut traces, &mut function);
        if let Some(error) = traces.broken {
            return Err(error);
        }
        match traces.found {
            0 => *groups = traces.crosser.groups,
            _ => {
                keep(traces.crosser, program, groups);
                if let Some(own) = program.functions.get_mut(at) {
                    *own = function;
                }
            }
        }
    }
    Ok(())
}

/// Traces of recursive data become traces of what its tables look like.
struct Traces {
    crosser: Crosser,
    found: usize,
    broken: Option<Box<almach_base::Diagnostic>>,
}

impl WalkMut for Traces {
    fn body(&mut self, body: &mut Body) {
        for mut stmt in std::mem::take(&mut body.stmts) {
            match self.shown(&mut stmt) {
                Ok(before) => body.stmts.extend(before),
                Err(error) => self.broken = Some(error),
            }
            body.stmts.push(stmt);
        }
        walk_body_mut(self, body);
    }
}

impl Traces {
    /// What comes before a statement in its place: the trace, where it is one of recursive data.
    fn shown(&mut self, stmt: &mut Stmt) -> Lowering<Vec<Stmt>> {
        let Exp::Trace { label, value } = &stmt.exp else {
            return Ok(Vec::new());
        };
        let crosser = &mut self.crosser;
        crosser.span = stmt.span;
        let Ok(ty) = crosser.builder.type_of(value) else {
            return bug("a trace of something without a type", stmt.span);
        };
        let cross = crosser.cross(&ty)?;
        if cross.is_plain() {
            return Ok(Vec::new());
        }
        let cross = crosser.as_text(&ty, &cross);
        crosser.builder.enter();
        let traced = crosser.convert(value.clone(), &ty, &cross, Way::Out, &mut Vec::new());
        let traced = traced.and_then(|value| {
            let label = label.clone();
            crosser.bind(Exp::Trace { label, value }, "traced")
        });
        let before = crosser.builder.leave(Vec::new(), Vec::new()).stmts;
        if let Err(error) = traced {
            return bug(format!("a trace: {}", error.message), stmt.span);
        }
        self.found += 1;
        stmt.exp = Exp::Atom(value.clone());
        Ok(before)
    }
}

impl Crosser {
    /// A crossing whose tables look like `from_nodes 0 [#Cons 1 1, #Nil]` when they are printed.
    fn as_text(&mut self, ty: &Type, cross: &Cross) -> Cross {
        match (cross, ty) {
            (Cross::Datum { .. } | Cross::Member { .. }, _) => {
                let cross = &match cross {
                    Cross::Member { of, node } => Cross::Member {
                        of: of.clone(),
                        node: Box::new(self.without_table(of, node)),
                    },
                    other => other.clone(),
                };
                let Type::Tuple(fields) = crossed(ty, cross, &mut || Dim::Jagged) else {
                    return cross.clone();
                };
                let table = ConstructorDef {
                    name: "from_nodes".into(),
                    fields,
                };
                Cross::Text {
                    table: self.new_data("from_nodes", vec![table]),
                    of: Box::new(cross.clone()),
                }
            }
            (Cross::Sum { fields, .. }, Type::Data(_) | Type::Node(_)) => self.sum_as_text(ty, fields),
            (Cross::Tuple(crosses), Type::Tuple(types)) => {
                let parts = types.iter().zip(crosses);
                Cross::Tuple(parts.map(|(ty, cross)| self.as_text(ty, cross)).collect())
            }
            (Cross::Array(cross), Type::Array(_, element)) => {
                Cross::Array(Box::new(self.as_text(element, cross)))
            }
            _ => cross.clone(),
        }
    }

    fn sum_as_text(&mut self, ty: &Type, fields: &[Vec<Cross>]) -> Cross {
        let (Type::Data(id) | Type::Node(id)) = ty else {
            return Cross::Plain;
        };
        let Some(def) = self.builder.signatures.data.get(id.0 as usize).cloned() else {
            return Cross::Plain;
        };
        let (mut constructors, mut crosses) = (Vec::new(), Vec::new());
        for (at, (constructor, fields)) in (0u32..).zip(def.constructors.iter().zip(fields)) {
            let types = fields_of(&def, ty, at);
            let own = types.iter().zip(fields);
            let own: Vec<Cross> = own.map(|(ty, cross)| self.as_text(ty, cross)).collect();
            let types = types.iter().zip(&own);
            constructors.push(ConstructorDef {
                name: constructor.name.clone(),
                fields: types
                    .map(|(ty, cross)| crossed(ty, cross, &mut || Dim::Jagged))
                    .collect(),
            });
            crosses.push(own);
        }
        Cross::Sum {
            twin: self.new_data(&def.name, constructors),
            fields: crosses,
        }
    }

    pub(super) fn new_data(&mut self, stem: &str, constructors: Vec<ConstructorDef>) -> DataId {
        let data = &mut self.builder.signatures.data;
        data.push(DataDef {
            name: Name::from(format!("{stem}_{}", data.len())),
            recursive: Recursive::No,
            constructors,
            parts: Vec::new(),
        });
        DataId(data.len() as u32 - 1)
    }

    /// A table as the sum that looks like its text.
    pub(super) fn text(&mut self, table: DataId, value: Atom) -> Typed<Atom> {
        let root = self.bind(Exp::Project(value.clone(), 0), "root")?;
        let nodes = self.bind(Exp::Project(value, 1), "nodes")?;
        self.bind(construct(table, 0, vec![root, nodes]), "shown")
    }
}
