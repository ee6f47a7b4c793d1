//! Stage I (paper, section 4.1, Figure 5): from Core to imperative combinators.
//!
//! ```text
//! let ps = map@par (\x y -> x * y) xs ys        new{n.f32} (\ps: var[n.f32].
//! let s = reduce (+) 0.0 ps                ~~>    mapI<par>… (\z. \o. o := …) (zip xs ys) ps.1;
//! in s                                            reduceI… (\x y o. …) 0.0 ps.2 (\s. out := s))
//! ```
//!
//! The two translations of the paper, acceptor-passing and continuation-passing, in direct style: what a statement
//! makes is pushed onto the block that is being built, and the rest of the block is its continuation. `into` is the paper's 𝒜
//! (the value goes to an acceptor), `bind` its 𝒞 (the value gets a name for the rest).
//!
//! Removes: nested values, `case`, size contexts. Introduces: `new` for every array that is computed (and nowhere else),
//! `check` for everything that can fail. Guarantees: the result passes the interference check.

mod bodies;
mod checks;
mod control;
mod data;
mod destinations;
mod fields;
mod in_arrays;
mod inverses;
mod jagged;
mod layout;
mod lazy;
mod operations;
pub(crate) mod outside;
mod pack;
mod rows;
mod types;
mod update;
mod views;
mod windows;

use crate::cells::AllCells;
use crate::error::{Lowering, bug};
use crate::facts::Facts;
use crate::memory::{Place, Plan};
use almach_base::{Name, Span};
use almach_core::typing::Env;
use almach_core::{Atom, FunId, Function, Program, Size, Var};
use almach_dpia::build;
use almach_dpia::{Data, Home, Kind, Nat, Phrase, PhraseType, Prim, Proc, Space};
use layout::{Packed, Pool};
use std::collections::{HashMap, HashSet};
use types::ResultData;

/// One step of a block. Those that bind a name have the rest of the block as their body.
pub(crate) enum Item {
    Command(Phrase),
    New {
        space: Space,
        data: Data,
        name: Name,
    },
    /// A variable in the memory of others.
    NewIn {
        homes: Vec<Home>,
        numbers: Vec<Nat>,
        data: Data,
        name: Name,
    },
    /// A cell that grows.
    NewGrowing {
        element: Data,
        name: Name,
    },
    Let {
        name: Name,
        ty: PhraseType,
        value: Phrase,
    },
    LetNat {
        name: Name,
        value: Phrase,
    },
    Open {
        cell: Phrase,
        data: Data,
        sizes: Vec<Name>,
        contents: Name,
    },
    /// `reduceI F I E` for its continuation.
    Reduce {
        reduction: Phrase,
        name: Name,
        data: Data,
    },
}

/// Where the results of a body go.
pub(crate) enum Dest {
    /// One acceptor per value.
    Each(Vec<Phrase>),
    /// A cell, since the results come with sizes.
    Cell { acceptor: Phrase, holds: ResultData },
}

pub(crate) struct Translator<'a> {
    program: &'a Program,
    all_cells: &'a AllCells<'a>,
    proc_names: &'a HashMap<FunId, Name>,
    plan: &'a Plan,
    /// The variables that blocks of the plan are, and which buffer of them.
    blocks: HashMap<Var, (Name, usize)>,
    /// The acceptors of the functions of `map`s that are being translated, by the first variable that the `map` binds.
    rows: HashMap<Var, Name>,
    facts: Facts,
    env: Env,
    values: HashMap<Var, Phrase>,
    /// What the rows of variables are in, for those that have some.
    pools: HashMap<Var, (Vec<Pool>, Packed)>,
    /// How many elements rows have: never fewer than none.
    row_sizes: HashSet<Name>,
    items: Vec<Item>,
    /// Results that types mention, waiting to be computed.
    late_sizes: Vec<(Var, Phrase)>,
    next_name: u32,
    /// Windows that roll where they are taken (`windows`), and those of them that are bound.
    rolled: HashSet<Var>,
    windows: HashMap<Var, windows::Windows>,
    /// Lists that no rows are made for, and those of them that are bound.
    stay_in_arrays: HashSet<Var>,
    in_arrays: HashMap<Var, in_arrays::InArray>,
    /// Whether an expression is translated rather than commands.
    lazily: lazy::Lazily,
    /// Every procedure draws its made-up names from the same well.
    prefix: String,
    pub(crate) span: Span,
}

/// Translates the functions that entries need; also gives the names of their procedures.
pub(crate) fn translate(
    program: &Program,
    entries: &[FunId],
    all_cells: &AllCells<'_>,
) -> Lowering<(almach_dpia::Program, HashMap<FunId, Name>)> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    for entry in entries {
        reach(program, *entry, &mut seen, &mut order)?;
    }
    let mut taken = HashSet::new();
    let mut proc_names = HashMap::new();
    for id in &order {
        let function = function(program, *id)?;
        let mut name = function.name.to_string();
        while !taken.insert(name.clone()) {
            name.push_str(&format!("_f{}", id.0));
        }
        proc_names.insert(*id, Name::from(name));
    }
    let mut procs = Vec::new();
    for id in order {
        let function = function(program, id)?;
        let plan = crate::memory::plan(program, id)?;
        let function = &crate::streams::join(function);
        let mut translator = Translator {
            program,
            all_cells,
            proc_names: &proc_names,
            plan: &plan,
            blocks: HashMap::new(),
            rows: HashMap::new(),
            facts: Facts::of(function),
            env: Env::new(),
            values: HashMap::new(),
            pools: HashMap::new(),
            row_sizes: HashSet::new(),
            items: Vec::new(),
            late_sizes: Vec::new(),
            next_name: 0,
            rolled: windows::rolled(function),
            windows: HashMap::new(),
            stay_in_arrays: in_arrays::in_arrays(program, all_cells, function),
            in_arrays: HashMap::new(),
            lazily: lazy::Lazily::Off,
            prefix: format!("f{}", id.0),
            span: function.span,
        };
        plan.add_sizes(function, &mut translator.facts);
        procs.push(translator.function(id, function)?);
    }
    let all = all_cells.all();
    let stores = all.iter().flat_map(|cells| cells.stores()).cloned().collect();
    Ok((almach_dpia::Program { stores, procs }, proc_names))
}

fn function(program: &Program, id: FunId) -> Lowering<&Function> {
    match program.functions.get(id.0 as usize) {
        Some(function) => Ok(function),
        None => bug(format!("there is no function {}", id.0), Span::NONE),
    }
}

/// Callees before callers (but for recursion), so that the text reads from the small to the large.
fn reach(program: &Program, id: FunId, seen: &mut HashSet<FunId>, order: &mut Vec<FunId>) -> Lowering<()> {
    if !seen.insert(id) {
        return Ok(());
    }
    struct Calls(Vec<FunId>);
    impl almach_core::visit::Walk for Calls {
        fn exp(&mut self, exp: &almach_core::Exp) {
            if let almach_core::Exp::Call { function, .. } = exp {
                self.0.push(*function);
            }
            almach_core::visit::walk_exp(self, exp);
        }
    }
    let mut calls = Calls(Vec::new());
    almach_core::visit::walk_function(&mut calls, function(program, id)?);
    for callee in calls.0 {
        reach(program, callee, seen, order)?;
    }
    order.push(id);
    Ok(())
}

/// The name of a Core variable.
pub(crate) fn name_of(var: &Var) -> Name {
    Name::from(var.to_string())
}

impl Translator<'_> {
    fn function(&mut self, id: FunId, function: &Function) -> Lowering<Proc> {
        let is_size = |facts: &Facts, var: &Var| facts.is_size(var);
        almach_core::build::enter_params(&mut self.env, &function.context, &function.params);
        let (mut nats, mut exps) = (function.context.clone(), Vec::new());
        for param in &function.params {
            let size = almach_core::Type::I64 == param.ty && is_size(&self.facts, &param.var);
            match size {
                true => nats.push(param.var.clone()),
                false => exps.push(param),
            }
        }
        for var in &nats {
            self.values
                .insert(var.clone(), build::nat_value(Nat::var(name_of(var))));
        }
        let mut params = Vec::new();
        let mut pool_sizes = Vec::new();
        for param in exps {
            let layout = self.layout(&param.ty)?;
            self.values
                .insert(param.var.clone(), Phrase::Var(name_of(&param.var)));
            params.push((name_of(&param.var), PhraseType::Exp(layout.data())));
            // Callers pack what they pass.
            let mut pools = Vec::new();
            for element in layout.pools() {
                let (size, name) = (self.fresh("size"), self.fresh("pool"));
                let data = Data::array(Nat::var(size.clone()), element.data());
                params.push((name.clone(), PhraseType::Exp(data)));
                pools.push(Pool {
                    size: Nat::var(size.clone()),
                    element: element.data(),
                    elements: Phrase::Var(name),
                });
                pool_sizes.push(size);
            }
            if !pools.is_empty() {
                self.pools.insert(param.var.clone(), (pools, Packed::Yes));
            }
        }
        let result = self.result_data(&function.result)?;
        let outs: Vec<(Name, Data)> = result
            .acceptors()
            .into_iter()
            .map(|data| (self.fresh("out"), data))
            .collect();
        if result.cell().is_none() {
            for (value, buffer, block) in self.plan.results() {
                if let Some((name, _)) = outs.get(*value) {
                    self.blocks.insert(block.clone(), (name.clone(), *buffer));
                }
            }
        }
        let dest = result.dest(outs.iter().map(|(name, _)| Phrase::Var(name.clone())).collect());
        let body = self.block(|this| this.body_into(&function.body, dest))?;
        let first_out = params.len();
        params.extend(outs.into_iter().map(|(name, data)| (name, PhraseType::Acc(data))));
        let (mut phrase, mut ty) = (body, PhraseType::Comm);
        for (at, (name, param)) in params.into_iter().enumerate().rev() {
            phrase = Phrase::lam(name, param.clone(), phrase);
            // The procedure is passive until it gets its first acceptor.
            ty = match at == first_out {
                true => PhraseType::passive_fun(param, ty),
                false => PhraseType::fun(param, ty),
            };
        }
        for name in nats.iter().map(name_of).chain(pool_sizes).rev() {
            phrase = Phrase::nat_lam(name.clone(), phrase);
            ty = PhraseType::Dependent(name, Kind::Nat, Box::new(ty));
        }
        match self.proc_names.get(&id) {
            Some(name) => Ok(Proc {
                name: name.clone(),
                ty,
                body: phrase,
                span: function.span,
            }),
            None => bug("a procedure without a name", function.span),
        }
    }

    /// A name nothing else has.
    pub(crate) fn fresh(&mut self, stem: &str) -> Name {
        self.next_name += 1;
        Name::from(format!("{stem}_{}_{}", self.prefix, self.next_name))
    }

    pub(crate) fn push(&mut self, command: Phrase) {
        let span = self.span;
        self.items.push(Item::Command(command.at(span)));
    }

    /// Builds a block of its own.
    pub(crate) fn block(&mut self, inside: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<Phrase> {
        let outer = std::mem::take(&mut self.items);
        let result = inside(self);
        let items = std::mem::replace(&mut self.items, outer);
        result?;
        Ok(close(items))
    }

    pub(crate) fn new_var(&mut self, stem: &str, data: &Data) -> Phrase {
        self.new_var_in(Space::Any, stem, data)
    }

    /// A variable for the rest of the block.
    pub(crate) fn new_var_in(&mut self, space: Space, stem: &str, data: &Data) -> Phrase {
        let name = self.fresh(stem);
        self.items.push(Item::New {
            space,
            data: data.clone(),
            name: name.clone(),
        });
        Phrase::Var(name)
    }

    /// Memory for a Core variable, for the rest of the block: where the plan puts it, or its own.
    pub(crate) fn new_var_of(&mut self, var: &Var, space: Space, stem: &str, data: &Data) -> Phrase {
        let (mut homes, mut numbers) = (Vec::new(), Vec::new());
        let places = match space {
            Space::Any => self.plan.home(var).unwrap_or_default(),
            Space::Global | Space::Local | Space::Private => &[],
        };
        for place in places {
            let known = place.as_ref().and_then(|place| self.place(place));
            let (home, cells) = known.unwrap_or((Home::Own, Vec::new()));
            homes.push(home);
            numbers.extend(cells);
        }
        if homes.iter().all(|home| *home == Home::Own) {
            return self.new_var_in(space, stem, data);
        }
        let name = self.fresh(stem);
        self.items.push(Item::NewIn {
            homes,
            numbers,
            data: data.clone(),
            name: name.clone(),
        });
        Phrase::Var(name)
    }

    /// A place of the plan over Dpia's names: none where the block is not there, or its cells are not made of sizes.
    fn place(&self, place: &Place) -> Option<(Home, Vec<Nat>)> {
        match place {
            Place::Cells {
                block,
                first,
                strides,
            } => {
                let (variable, buffer) = self.blocks.get(block)?.clone();
                let mut numbers = Vec::new();
                for size in std::iter::once(first).chain(strides) {
                    let size = self.env.normalise_size(size);
                    let known = size.free_vars().all(|var| self.facts.is_size(var));
                    numbers.push(known.then(|| self.nat(&size))?);
                }
                let home = Home::Inside {
                    variable,
                    buffer,
                    strides: strides.len(),
                };
                Some((home, numbers))
            }
            Place::Row { map, component } => {
                let home = Home::Same {
                    acceptor: self.rows.get(map)?.clone(),
                    component: *component,
                };
                Some((home, Vec::new()))
            }
        }
    }

    /// The blocks that the plan makes before a statement.
    pub(crate) fn make_blocks(&mut self, stmt: &almach_core::Stmt) {
        for block in self.plan.blocks_before(stmt) {
            let name = name_of(&block.var);
            self.items.push(Item::New {
                space: Space::Any,
                data: Data::array(self.nat(&block.cells), Data::Scalar(block.element)),
                name: name.clone(),
            });
            self.blocks.insert(block.var.clone(), (name, 0));
        }
    }

    /// Names an expression for the rest of the block.
    pub(crate) fn let_exp(&mut self, stem: &str, data: &Data, value: Phrase) -> Phrase {
        if is_atomic(&value) || self.lazily.is_on() {
            return value;
        }
        let name = self.fresh(stem);
        self.items.push(Item::Let {
            name: name.clone(),
            ty: PhraseType::Exp(data.clone()),
            value,
        });
        Phrase::Var(name)
    }

    /// A size for an `i64` expression, for the rest of the block.
    pub(crate) fn let_nat(&mut self, stem: &str, value: Phrase) -> Nat {
        if let Phrase::Prim(instance) = value.unmarked()
            && let (Prim::NatValue, [nat]) = (&instance.prim, instance.nats.as_slice())
        {
            return nat.clone();
        }
        let name = self.fresh(stem);
        self.items.push(Item::LetNat {
            name: name.clone(),
            value,
        });
        Nat::var(name)
    }

    /// Binds a Core variable to an expression: in place where it is used once, else by a name. Scalars are computed
    /// once; views cost nothing, so only their text matters.
    pub(crate) fn bind_value(&mut self, var: &Var, data: &Data, value: Phrase) {
        let uses = self.facts.uses(var);
        if self.facts.is_size(var) && *data == Data::Scalar(almach_value::ScalarType::I64) {
            self.bind_size(var, value);
            return;
        }
        if self.lazily.is_on() {
            self.values.insert(var.clone(), value);
            return;
        }
        // Memory that arrays share is read where Core reads it.
        let now = self.plan.is_followed() && reads_memory(&value);
        let value = match now {
            true => self.read_now(&var.name, data, value),
            false => value,
        };
        let in_place = match data.is_base() {
            true => uses.count <= 1 && !uses.repeated && !now,
            false => uses.count <= 1,
        };
        if in_place || is_atomic(&value) {
            self.values.insert(var.clone(), value);
            return;
        }
        let name = name_of(var);
        self.items.push(Item::Let {
            name: name.clone(),
            ty: PhraseType::Exp(data.clone()),
            value,
        });
        self.values.insert(var.clone(), Phrase::Var(name));
    }

    /// The scalars of a value under names of their own. Arrays stay views: the plan knows how long they are read.
    fn read_now(&mut self, stem: &str, data: &Data, value: Phrase) -> Phrase {
        let Data::Tuple(parts) = data else {
            return value;
        };
        let values = parts.iter().enumerate().map(|(at, part)| {
            let value = build::get(at, parts, value.clone());
            match part.is_base() {
                true => self.let_exp(stem, part, value),
                false => self.read_now(stem, part, value),
            }
        });
        let values = values.collect();
        build::tuple(parts, values)
    }

    /// Binds an `i64` that types mention: what the environment knows it to be equal to, or a new size.
    fn bind_size(&mut self, var: &Var, value: Phrase) {
        let known = self.env.normalise_size(&Size::var(var.clone()));
        let nat = match known.as_var() == Some(var) {
            false => self.nat(&known),
            true => {
                let name = name_of(var);
                self.items.push(Item::LetNat {
                    name: name.clone(),
                    value,
                });
                Nat::var(name)
            }
        };
        self.values.insert(var.clone(), build::nat_value(nat));
    }

    pub(crate) fn value(&self, atom: &Atom) -> Lowering<Phrase> {
        match atom {
            Atom::Const(scalar) => Ok(build::literal(*scalar)),
            Atom::Var(var) => match self.values.get(var) {
                Some(phrase) => Ok(phrase.clone()),
                None => bug(format!("`{var}` has no value"), self.span),
            },
        }
    }

    /// An `i64` as a size: what types say of it, or a new size for the rest of the block.
    pub(crate) fn count(&mut self, atom: &Atom) -> Lowering<Nat> {
        let known = match self.env.size(atom) {
            Ok(size) => self.env.normalise_size(&size),
            Err(error) => return bug(error.message, self.span),
        };
        match known.free_vars().all(|var| self.facts.is_size(var)) {
            true => Ok(self.nat(&known)),
            false => {
                let value = self.value(atom)?;
                Ok(self.let_nat("count", value))
            }
        }
    }

    pub(crate) fn size(&self, atom: &Atom) -> Lowering<Nat> {
        match self.env.size(atom) {
            Ok(size) => Ok(self.nat(&size)),
            Err(error) => bug(error.message, self.span),
        }
    }

    /// A Core size over Dpia's names.
    pub(crate) fn nat(&self, size: &Size) -> Nat {
        self.env
            .normalise_size(size)
            .map_vars(&|var: &Var| Nat::var(name_of(var)))
    }
}

/// Names, projections of names, literals and sizes: writing them twice costs nothing.
fn is_atomic(phrase: &Phrase) -> bool {
    match phrase.unmarked() {
        Phrase::Var(_) => true,
        Phrase::Project(_, inner) => is_atomic(inner),
        Phrase::Prim(instance) => matches!(instance.prim, Prim::Literal(_) | Prim::NatValue),
        _ => false,
    }
}

/// Whether an expression reads elements of arrays.
fn reads_memory(phrase: &Phrase) -> bool {
    match phrase {
        Phrase::Var(_) => false,
        Phrase::Prim(instance) => matches!(instance.prim, Prim::Idx),
        Phrase::App(left, right) | Phrase::Pair(left, right) => reads_memory(left) || reads_memory(right),
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => reads_memory(inner),
    }
}

/// Nests the items: each that binds has what follows as its body.
fn close(items: Vec<Item>) -> Phrase {
    let mut rest = build::skip();
    for item in items.into_iter().rev() {
        rest = match item {
            Item::Command(command) => build::seq(command, rest),
            Item::New { space, data, name } => build::new(space, data, name, rest),
            Item::NewIn {
                homes,
                numbers,
                data,
                name,
            } => build::new_in(homes, numbers, data, name, rest),
            Item::NewGrowing { element, name } => build::new_growing(element, name, rest),
            Item::Let { name, ty, value } => build::let_in(name, ty, value, rest),
            Item::LetNat { name, value } => build::let_nat(value, name, rest),
            Item::Open {
                cell,
                data,
                sizes,
                contents,
            } => open(cell, data, sizes, contents, rest),
            Item::Reduce {
                reduction,
                name,
                data,
            } => reduction.app(Phrase::lam(name, PhraseType::Exp(data), rest)),
        };
    }
    rest
}

/// `open{some n. δ} cell (/\n: nat. \contents: exp[δ]. body)`.
fn open(cell: Phrase, data: Data, sizes: Vec<Name>, contents: Name, body: Phrase) -> Phrase {
    let held = types::held(&data, &sizes);
    let mut inner = Phrase::lam(contents, PhraseType::Exp(held), body);
    for name in sizes.into_iter().rev() {
        inner = Phrase::nat_lam(name, inner);
    }
    Phrase::prim(Prim::Open, vec![], vec![data]).apply([cell, inner])
}
