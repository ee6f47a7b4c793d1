//! Functions that call themselves on recursive data: which there are, and which of their calls run once for the whole program.

use crate::call_graph::{CallGraph, recursive_functions};
use crate::facts::{callees, callees_of_exp, is_fixed};
use almach_core::visit::{Walk, WalkMut, walk_body, walk_exp, walk_exp_mut};
use almach_core::{
    Atom, Body, ConstructorDef, DataId, Exp, FunId, Function, Lambda, Program, Recursive, Type, Var,
};
use std::collections::{HashMap, HashSet};

/// Why a recursion stays one.
pub(crate) type Reason = String;

pub(crate) fn no<T>(why: impl Into<Reason>) -> Result<T, Reason> {
    Err(why.into())
}

/// What a recursion goes along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Datum {
    /// Of a type whose constructors refer to it once at most.
    List,
    /// Of any other recursive type.
    Tree,
}

/// The functions that call themselves, also through others, take a datum of a recursive type, and look at one of this kind.
pub(crate) fn candidates(program: &Program, kind: Datum) -> Vec<FunId> {
    let graph = CallGraph::of(program);
    let all = (0u32..).map(FunId).zip(&program.functions);
    all.filter(|(id, function)| graph.is_recursive(*id) && goes_along(program, *id, function) == Some(kind))
        .map(|(id, _)| id)
        .collect()
}

/// What a function goes along. One that goes on twice for a cell of a list goes along a tree: that of lists in its elements.
fn goes_along(program: &Program, id: FunId, function: &Function) -> Option<Datum> {
    struct Calls {
        of: FunId,
        most: usize,
    }
    impl Walk for Calls {
        fn body(&mut self, body: &Body) {
            let calls = body
                .stmts
                .iter()
                .filter(|stmt| callees_of_exp(&stmt.exp).contains(&self.of));
            self.most = self.most.max(calls.count());
            walk_body(self, body);
        }
    }
    match datum_of(program, function)? {
        Datum::Tree => Some(Datum::Tree),
        Datum::List => {
            let mut calls = Calls { of: id, most: 0 };
            calls.body(&function.body);
            Some(if calls.most > 1 { Datum::Tree } else { Datum::List })
        }
    }
}

/// What a function looks at first; where it looks at none of its data, the first of them.
fn datum_of(program: &Program, function: &Function) -> Option<Datum> {
    let params = function.params.iter();
    let data: Vec<(&Var, Datum)> = params
        .filter_map(|param| match param.ty {
            Type::Data(id) => Some((&param.var, kind_of(program, id)?)),
            _ => None,
        })
        .collect();
    let mut looks = Looks {
        data: &data,
        first: None,
    };
    looks.body(&function.body);
    looks.first.or(data.first().map(|(_, kind)| *kind))
}

struct Looks<'d> {
    data: &'d [(&'d Var, Datum)],
    first: Option<Datum>,
}

impl Walk for Looks<'_> {
    fn exp(&mut self, exp: &Exp) {
        if let Exp::Case {
            scrutinee: Atom::Var(var),
            ..
        } = exp
        {
            let known = self.data.iter().find(|(datum, _)| *datum == var);
            self.first = self.first.or(known.map(|(_, kind)| *kind));
        }
        walk_exp(self, exp);
    }
}

/// The kind of a recursive type.
pub(crate) fn kind_of(program: &Program, id: DataId) -> Option<Datum> {
    let def = program.data.get(id.0 as usize)?;
    let is_link = |constructor: &ConstructorDef| {
        let mut refers = constructor.fields.iter().filter(|ty| mentions(ty, id));
        matches!((refers.next(), refers.next()), (None | Some(Type::Data(_)), None))
    };
    // A type that only others bring back is none of these.
    let refers = |constructor: &ConstructorDef| constructor.fields.iter().any(|ty| mentions(ty, id));
    let is_list = def.parts.is_empty() && def.constructors.iter().any(refers);
    match def.recursive {
        Recursive::No => None,
        Recursive::Yes if is_list && def.constructors.iter().all(is_link) => Some(Datum::List),
        Recursive::Yes => Some(Datum::Tree),
    }
}

pub(crate) fn mentions(ty: &Type, data: DataId) -> bool {
    match ty {
        Type::Data(id) | Type::Node(id) => *id == data,
        Type::Tuple(parts) => parts.iter().any(|part| mentions(part, data)),
        Type::Array(_, element) => mentions(element, data),
        Type::Scalar(_) | Type::Vector(..) => false,
    }
}

/// What keeps the iterations of a recursion where they are.
pub(crate) enum SideEffect {
    Prints,
    /// The user said how something runs.
    Fixed,
}

/// Of a function or what it calls.
pub(crate) fn side_effect(program: &Program, from: FunId) -> Option<SideEffect> {
    struct Finder(Option<SideEffect>);
    impl Walk for Finder {
        fn exp(&mut self, exp: &Exp) {
            match exp {
                Exp::Trace { .. } => self.0 = Some(SideEffect::Prints),
                Exp::Op(op) if is_fixed(op) => self.0 = Some(SideEffect::Fixed),
                _ => {}
            }
            walk_exp(self, exp);
        }
    }
    let mut finder = Finder(None);
    let (mut open, mut seen) = (vec![from], HashSet::new());
    while let Some(id) = open.pop() {
        if seen.insert(id)
            && let Some(function) = program.functions.get(id.0 as usize)
        {
            finder.body(&function.body);
            open.extend(callees(&function.body));
        }
    }
    finder.0
}

/// Which calls are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Places {
    /// All that are in no parallel operation.
    Host,
    /// Those that are in no loop either: they run once.
    Once,
}

/// The functions that run outside of all parallel operations and recursions, whoever calls them.
pub(crate) fn hosts(program: &Program) -> HashSet<FunId> {
    hosts_in(program, Places::Host)
}

/// The functions that only run in such places.
pub(crate) fn hosts_in(program: &Program, places: Places) -> HashSet<FunId> {
    let recursive = recursive_functions(program);
    let is_recursive = |id: FunId| recursive.get(id.0 as usize).copied().unwrap_or(true);
    // How often each is called, and how often where it may run on the host.
    let mut calls: HashMap<FunId, usize> = HashMap::new();
    let mut host_calls: HashMap<FunId, usize> = HashMap::new();
    for function in &program.functions {
        for id in callees(&function.body) {
            *calls.entry(id).or_insert(0) += 1;
        }
    }
    let entries = program.entries.iter().map(|entry| entry.function);
    let mut hosts: HashSet<FunId> = entries.clone().filter(|id| !is_recursive(*id)).collect();
    let mut open: Vec<FunId> = hosts.iter().copied().collect();
    while let Some(id) = open.pop() {
        let Some(function) = program.functions.get(id.0 as usize) else {
            continue;
        };
        OnHost::each(places, &mut function.body.clone(), &mut |called| {
            let known = host_calls.entry(*called).or_insert(0);
            *known += 1;
            if calls.get(called) == Some(known) && !is_recursive(*called) && hosts.insert(*called) {
                open.push(*called);
            }
        });
    }
    hosts
}

/// What these functions call outside of parallel operations.
pub(crate) fn called_from(program: &Program, hosts: &HashSet<FunId>) -> HashSet<FunId> {
    called_in(program, hosts, Places::Host)
}

/// What these functions call in such places.
pub(crate) fn called_in(program: &Program, hosts: &HashSet<FunId>, places: Places) -> HashSet<FunId> {
    let mut called = HashSet::new();
    for id in hosts {
        if let Some(function) = program.functions.get(id.0 as usize) {
            OnHost::each(places, &mut function.body.clone(), &mut |id| {
                called.insert(*id);
            });
        }
    }
    called
}

/// Calls other functions instead, outside of parallel operations.
pub(crate) fn redirect(program: &mut Program, hosts: &HashSet<FunId>, made: &HashMap<FunId, FunId>) {
    redirect_in(program, hosts, Places::Host, made);
}

/// Calls other functions instead, in such places.
pub(crate) fn redirect_in(
    program: &mut Program,
    hosts: &HashSet<FunId>,
    places: Places,
    made: &HashMap<FunId, FunId>,
) {
    for id in hosts {
        if let Some(function) = program.functions.get_mut(id.0 as usize) {
            OnHost::each(places, &mut function.body, &mut |called| {
                if let Some(other) = made.get(called) {
                    *called = *other;
                }
            });
        }
    }
}

/// Whether a function is another one, or leads to it.
pub(crate) fn leads_to(program: &Program, from: FunId, to: FunId) -> bool {
    let (mut open, mut seen) = (vec![from], HashSet::new());
    while let Some(id) = open.pop() {
        if id == to {
            return true;
        }
        if seen.insert(id)
            && let Some(function) = program.functions.get(id.0 as usize)
        {
            open.extend(callees(&function.body));
        }
    }
    false
}

/// Visits the calls of a body that are in no function of an operation.
struct OnHost<'v> {
    places: Places,
    visit: &'v mut dyn FnMut(&mut FunId),
}

impl OnHost<'_> {
    fn each(places: Places, body: &mut Body, visit: &mut dyn FnMut(&mut FunId)) {
        OnHost { places, visit }.body(body);
    }
}

impl WalkMut for OnHost<'_> {
    fn lambda(&mut self, _: &mut Lambda) {}

    fn exp(&mut self, exp: &mut Exp) {
        match exp {
            Exp::Call { function, .. } => (self.visit)(function),
            Exp::Loop(_) if self.places == Places::Once => {}
            _ => walk_exp_mut(self, exp),
        }
    }
}
