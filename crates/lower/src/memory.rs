//! Which arrays live in whose memory: what the translation follows of the memory plan (`docs/memory.md`).
//!
//! ```text
//! let zs_mem: mem = alloc f32 (n + m)                         new{(n + m).f32} (\zs_mem. …
//! let a: [n]f32 @ zs_mem -> 0 + {(n : 1)} = map f xs    ~~>     new<in zs_mem 0>[0]{n.f32} (\a. …
//! let b: [m]f32 @ zs_mem -> n + {(m : 1)} = map g ys              new<in zs_mem 0>[n]{m.f32} (\b. …
//! let zs: [n + m]f32 @ zs_mem -> 0 + … = concat a b                 new<in zs_mem 0>[0]{(n + m).f32} (\zs. …
//! ```
//!
//! The plan is an annotation, and so it stays: without it every `new` has memory of its own and the program means the same. It may
//! therefore be followed in part. An array that is not put where the plan says is in memory of its own, which only leaves writes to
//! shared blocks out. What makes that sound:
//!
//! - blocks that may be one at run time are followed together, and only where one allocation makes all of them;
//! - everything that reads such a block is something whose moment the plan knows. The translation keeps views as phrases and reads
//!   them where they are used, as the plan does; where it would keep as a view what the plan copies (or holds in a field), the blocks
//!   that are read are not followed. Scalars from memory are read where Core reads them ([`Plan::is_followed`]).

use crate::facts::Facts;
use crate::streams::is_stream;
use almach_core::{Atom, Exp, FunId, Function, LoopForm, Op, Program, Size, Stmt, Type, Var};
use almach_lmad::Lmad;
use almach_mem::copies::{Role, copy_points};
use almach_mem::draft::Draft;
use almach_mem::index::{BodyId, BodyKind, Index, blocks_read};
use almach_mem::leaves::Leaf;
use almach_mem::{Annotated, Given, Home, Kind, Memory, Storage, key};
use almach_prim::{Effect, Prim};
use almach_value::ScalarType;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Blocks smaller than this many cells are left to the C compiler, which keeps them in registers.
const SMALL: i64 = 1024;

#[derive(Default)]
pub(crate) struct Plan {
    /// Of arrays that live in a followed block: for each leaf, where.
    homes: HashMap<Var, Vec<Option<Place>>>,
    /// Blocks to make before a statement.
    blocks: HashMap<Var, Vec<Block>>,
    /// Blocks that are results: which value, which leaf of it, which block.
    results: Vec<(usize, usize, Var)>,
    /// Concatenations whose parts are built in place.
    concats: HashSet<Var>,
    /// Arrays of loops whose blocks take turns: the block of each leaf, under the name it has in an iteration.
    carried: HashMap<Var, Vec<Var>>,
    /// Arrays that are made in such a block.
    in_turn: HashSet<Var>,
}

#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Cells of a block: the first, and how far apart the elements of each dimension are, unless they are consecutive.
    Cells {
        block: Var,
        first: Size,
        strides: Vec<Size>,
    },
    /// The row that an iteration of a `map` makes, which its acceptor writes to: of which `map` (the first variable that it
    /// binds), and which component of it.
    Row { map: Var, component: Option<usize> },
}

impl Place {
    fn sizes(&self) -> impl Iterator<Item = &Size> {
        let (first, strides) = match self {
            Place::Cells { first, strides, .. } => (Some(first), strides.as_slice()),
            Place::Row { .. } => (None, &[][..]),
        };
        first.into_iter().chain(strides)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) var: Var,
    pub(crate) element: ScalarType,
    pub(crate) cells: Size,
}

impl Plan {
    /// What is followed of the plan of a function.
    fn of(annotated: &Annotated) -> Plan {
        let index = Index::new(&annotated.core);
        let mut follow = Follow {
            index: &index,
            memory: &annotated.memory,
            counters: Counters::of(&annotated.memory),
            class_of: HashMap::new(),
            classes: Vec::new(),
        };
        follow.find_classes();
        follow.find_writers();
        follow.find_roots();
        follow.leave_out_what_is_read_late();
        follow.leave_out_what_iterations_hand_on();
        follow.leave_out_what_is_counted();
        follow.leave_out_what_reductions_make();
        follow.find_results();
        follow.plan()
    }

    pub(crate) fn home(&self, var: &Var) -> Option<&[Option<Place>]> {
        self.homes.get(var).map(Vec::as_slice)
    }

    pub(crate) fn blocks_before(&self, stmt: &Stmt) -> &[Block] {
        key(stmt)
            .and_then(|key| self.blocks.get(key))
            .map_or(&[], Vec::as_slice)
    }

    /// Values of the function that are blocks: which value, which leaf of it, which block.
    pub(crate) fn results(&self) -> &[(usize, usize, Var)] {
        &self.results
    }

    /// The blocks of an array that a loop carries, one per leaf, under the names that places in an iteration have for them.
    pub(crate) fn carried(&self, param: &Var) -> &[Var] {
        self.carried.get(param).map_or(&[], Vec::as_slice)
    }

    /// Whether an array is in a block that takes turns with others: it is made there, and the block changes hands.
    pub(crate) fn takes_turns(&self, var: &Var) -> bool {
        self.in_turn.contains(var)
    }

    pub(crate) fn is_built_in_place(&self, concat: &Var) -> bool {
        self.concats.contains(concat)
    }

    /// Whether arrays share memory, so that it matters when they are read.
    pub(crate) fn is_followed(&self) -> bool {
        !self.homes.is_empty()
    }

    /// Numbers that places are made of become sizes, where they can.
    pub(crate) fn add_sizes(&self, function: &Function, facts: &mut Facts) {
        let mut numbers = Numbers(HashSet::new());
        almach_core::visit::walk_function(&mut numbers, function);
        for place in self.homes.values().flatten().flatten() {
            for var in place.sizes().flat_map(Size::free_vars) {
                facts.also_size(var, &numbers.0);
            }
        }
    }
}

/// Numbers that the translation can bind as sizes.
struct Numbers(HashSet<Var>);

impl almach_core::visit::Walk for Numbers {
    fn stmt(&mut self, stmt: &Stmt) {
        if let ([], [value]) = (stmt.pattern.context.as_slice(), stmt.pattern.values.as_slice())
            && value.ty == Type::I64
            && matches!(
                stmt.exp,
                Exp::Atom(_) | Exp::Unary(..) | Exp::Binary(..) | Exp::Ternary(..) | Exp::Index { .. }
            )
        {
            self.0.insert(value.var.clone());
        }
        if let Exp::Loop(looped) = &stmt.exp
            && let LoopForm::For { index, .. } = &looped.form
            && index.ty == Type::I64
        {
            self.0.insert(index.var.clone());
        }
        almach_core::visit::walk_stmt(self, stmt);
    }
}

/// Blocks that may be one.
#[derive(Default)]
struct Class {
    roots: Vec<Root>,
    /// The statements that compute something in one of them.
    writers: BTreeSet<usize>,
    left_out: bool,
    /// The value of the function, and the leaf of the value, that is the block.
    result: Option<(usize, usize)>,
}

/// What makes a block.
enum Root {
    /// An allocation before a statement, which it is the number of, and where the statement is.
    Before(Block, usize),
    /// The caller, a call, a branch, an operation that alone knows the size.
    Other,
}

/// The numbers of iterations, which the annotation has names for.
struct Counters<'a>(HashSet<&'a Var>);

impl<'a> Counters<'a> {
    fn of(memory: &'a Memory) -> Counters<'a> {
        let heads = memory.heads.values();
        Counters(heads.filter_map(|head| head.index.as_ref()).collect())
    }

    /// Whether where an array is depends on the iteration.
    fn mentioned_by(&self, home: &Home) -> bool {
        home.lmad.offset.free_vars().any(|var| self.0.contains(var))
    }
}

/// One leaf of what an iteration of a `map` makes.
struct Row {
    leaf: usize,
    home: Home,
    place: Place,
}

struct Follow<'a> {
    index: &'a Index<'a>,
    memory: &'a Memory,
    counters: Counters<'a>,
    class_of: HashMap<Var, usize>,
    classes: Vec<Class>,
}

impl Follow<'_> {
    fn find_classes(&mut self) {
        let draft = Draft::new(self.index, self.memory.clone());
        let homes = self.memory.storage.values().flatten().filter_map(Storage::home);
        for home in homes {
            if !self.class_of.contains_key(&home.block) {
                let blocks = draft.class(&home.block);
                for block in blocks {
                    self.class_of.insert(block, self.classes.len());
                }
                self.classes.push(Class::default());
            }
        }
    }

    fn find_writers(&mut self) {
        for (at, info) in self.index.stmts.iter().enumerate() {
            if !is_computed(&info.stmt.exp) && !self.builds_in_place(info.stmt) {
                continue;
            }
            let values = info.stmt.pattern.values.iter();
            let storage = values
                .flat_map(|value| self.memory.storage.get(&value.var))
                .flatten();
            for home in storage.filter_map(Storage::home) {
                // Rows of a `map` are written through its acceptor: iterations have no number in Dpia.
                if !self.counters.mentioned_by(home)
                    && let Some(class) = self
                        .class_of
                        .get(&home.block)
                        .and_then(|at| self.classes.get_mut(*at))
                {
                    class.writers.insert(at);
                }
            }
        }
    }

    fn root(&mut self, block: &Var, root: Root) {
        if let Some(class) = self.class_of.get(block).and_then(|at| self.classes.get_mut(*at)) {
            class.roots.push(root);
        }
    }

    fn find_roots(&mut self) {
        let memory = self.memory;
        for function in &memory.functions {
            for (block, _) in &function.context {
                self.root(block, Root::Other);
            }
        }
        for (at, info) in self.index.stmts.iter().enumerate() {
            let Some(key) = key(info.stmt) else {
                continue;
            };
            for alloc in memory.allocs.get(key).into_iter().flatten() {
                let block = Block {
                    var: alloc.block.clone(),
                    element: alloc.element,
                    cells: alloc.cells.clone(),
                };
                self.root(&alloc.block, Root::Before(block, at));
            }
            for item in memory.heads.get(key).into_iter().flat_map(|head| &head.items) {
                let Kind::Block(element) = item.kind else {
                    continue;
                };
                // Of a `case` with one arm, what is made there is not known outside.
                if item.given.len() < 2 {
                    self.root(&item.var, Root::Other);
                }
                for (end, given) in item.given.iter().enumerate() {
                    let Given::Alloc(cells) = given else {
                        continue;
                    };
                    // A loop that starts with a copy of its own.
                    let root = match (&info.stmt.exp, end) {
                        (Exp::Loop(_), 0) => Root::Before(
                            Block {
                                var: item.inside.clone().unwrap_or_else(|| item.var.clone()),
                                element,
                                cells: cells.clone(),
                            },
                            at,
                        ),
                        _ => Root::Other,
                    };
                    self.root(&item.var, root);
                }
            }
        }
    }

    fn leave_out(&mut self, blocks: impl IntoIterator<Item = Var>) {
        for block in blocks {
            if let Some(class) = self.class_of.get(&block).and_then(|at| self.classes.get_mut(*at)) {
                class.left_out = true;
            }
        }
    }

    /// Blocks that the translation may read later than the plan does.
    fn leave_out_what_is_read_late(&mut self) {
        let read = blocks_read(self.index, self.memory);
        for info in &self.index.stmts {
            if !self.is_late(info.stmt, &read) {
                continue;
            }
            let used = almach_core::visit::Vars::of_exp(&info.stmt.exp);
            let blocks: Vec<Var> = used
                .free()
                .filter_map(|var| read.get(var))
                .flatten()
                .cloned()
                .collect();
            self.leave_out(blocks);
            let made = info.stmt.pattern.values.iter();
            let made: Vec<Var> = made
                .filter_map(|value| read.get(&value.var))
                .flatten()
                .cloned()
                .collect();
            self.leave_out(made);
        }
    }

    /// Blocks from outside of a function of an operation that a loop or branch inside it hands on. The plan writes nothing there, but
    /// what is handed on may be in memory of its own here, and then every iteration would copy it into the one block.
    fn leave_out_what_iterations_hand_on(&mut self) {
        let mut handed_on = Vec::new();
        for info in &self.index.stmts {
            let mut bound: Vec<&Var> = info.stmt.pattern.values.iter().map(|value| &value.var).collect();
            match &info.stmt.exp {
                Exp::Loop(looped) => bound.extend(looped.params.iter().map(|(param, _)| &param.var)),
                Exp::If { .. } | Exp::Case { .. } => {}
                _ => continue,
            }
            let lambda = self.lambda_around(info.body);
            for home in bound
                .into_iter()
                .flat_map(|var| self.memory.storage.get(var))
                .flatten()
                .filter_map(Storage::home)
            {
                if !self.counters.mentioned_by(home) && self.is_made_outside(&home.block, lambda) {
                    handed_on.push(home.block.clone());
                }
            }
        }
        self.leave_out(handed_on);
    }

    /// Blocks of maps that are joined to the filter they read (`streams`): their size is known once they are written.
    fn leave_out_what_is_counted(&mut self) {
        let mut kept: HashSet<&Var> = HashSet::new();
        let mut made = Vec::new();
        for info in &self.index.stmts {
            let Exp::Op(op) = &info.stmt.exp else { continue };
            let values = info.stmt.pattern.values.iter();
            if op.prim == Prim::Filter && is_stream(op) {
                kept.extend(values.map(|value| &value.var));
            } else if (op.args.iter()).any(|arg| matches!(arg, Atom::Var(var) if kept.contains(var))) {
                let storage = values.flat_map(|value| self.memory.storage.get(&value.var));
                let homes = storage.flatten().filter_map(Storage::home);
                made.extend(homes.map(|home| home.block.clone()));
            }
        }
        self.leave_out(made);
    }

    /// Blocks of what reductions give: a reduction has accumulators of its own, so what the plan builds in the same block would be
    /// overwritten when its result is copied there.
    fn leave_out_what_reductions_make(&mut self) {
        let mut made = Vec::new();
        for info in &self.index.stmts {
            let Exp::Op(op) = &info.stmt.exp else { continue };
            if !matches!(op.prim, Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq) {
                continue;
            }
            let values = info.stmt.pattern.values.iter();
            let storage = values.flat_map(|value| self.memory.storage.get(&value.var));
            let homes = storage.flatten().filter_map(Storage::home);
            made.extend(homes.map(|home| home.block.clone()));
        }
        self.leave_out(made);
    }

    fn is_made_outside(&self, block: &Var, lambda: Option<BodyId>) -> bool {
        let class = self.class_of.get(block).and_then(|at| self.classes.get(*at));
        class.is_some_and(|class| {
            class.roots.iter().any(|root| match root {
                Root::Before(_, at) => {
                    let made = self.index.stmts.get(*at);
                    made.and_then(|made| self.lambda_around(made.body)) != lambda
                }
                Root::Other => false,
            })
        })
    }

    /// The function of an operation that a body is in, or is.
    fn lambda_around(&self, body: BodyId) -> Option<BodyId> {
        let mut at = body;
        loop {
            let info = self.index.bodies.get(at.0)?;
            if info.kind == BodyKind::Lambda {
                return Some(at);
            }
            at = self.index.stmts.get(info.around?)?.body;
        }
    }

    fn is_late(&self, stmt: &Stmt, read: &HashMap<Var, HashSet<Var>>) -> bool {
        if stmt.pattern.values.iter().any(|value| holds_elsewhere(&value.ty)) {
            return true;
        }
        // The plan copies a part, even where others are in place.
        if is_concat(stmt) {
            return !self.builds_in_place(stmt);
        }
        if is_computed(&stmt.exp) {
            return false;
        }
        // A view here that the plan copies.
        let used = almach_core::visit::Vars::of_exp(&stmt.exp);
        let sources: HashSet<&Var> = used.free().filter_map(|var| read.get(var)).flatten().collect();
        let mut storage = stmt
            .pattern
            .values
            .iter()
            .flat_map(|value| self.memory.storage.get(&value.var))
            .flatten();
        storage.any(|storage| storage.home().is_some_and(|home| !sources.contains(&home.block)))
    }

    /// Whether a statement is a concatenation of parts that are where they go.
    fn builds_in_place(&self, stmt: &Stmt) -> bool {
        if !is_concat(stmt) {
            return false;
        }
        let points = copy_points(stmt, self.memory, &self.index.env);
        !points.is_empty()
            && points.iter().all(|point| {
                let home = self
                    .memory
                    .of(&point.source)
                    .get(point.leaf)
                    .and_then(Storage::home);
                point.role == Role::Part && home.is_some_and(|home| self.index.same_home(home, &point.to))
            })
    }

    /// Blocks that are whole results of functions.
    fn find_results(&mut self) {
        let functions = self.index.program.functions.iter();
        for (function, memory) in functions.zip(&self.memory.functions) {
            let mut items = memory.results.iter();
            for (number, value) in function.body.values.iter().enumerate() {
                let Atom::Var(var) = value else {
                    continue;
                };
                let leaves = self.index.leaves(var);
                let plain = function.result.types.get(number).is_some_and(is_plain_array);
                for (at, leaf) in leaves.iter().enumerate() {
                    let parts: Vec<_> = items.by_ref().take(leaf.parts()).collect();
                    let (Leaf::Cells { .. }, [item]) = (leaf, parts.as_slice()) else {
                        continue;
                    };
                    if let ([Given::Block(block)], true) = (item.given.as_slice(), plain) {
                        self.is_result(block, (number, at), leaf);
                    }
                }
            }
        }
    }

    fn is_result(&mut self, block: &Var, result: (usize, usize), leaf: &Leaf) {
        let Some(class) = self.class_of.get(block).and_then(|at| self.classes.get_mut(*at)) else {
            return;
        };
        let [Root::Before(made, _)] = class.roots.as_slice() else {
            return;
        };
        match class.result {
            // One block for two results is copied for one of them.
            Some(_) => class.left_out = true,
            None if self.index.env.same_size(&made.cells, &leaf.cells()) => class.result = Some(result),
            None => {}
        }
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        let mut followed: HashMap<usize, Var> = HashMap::new();
        for at in self.classes_by_use() {
            let Some(class) = self.classes.get(at) else {
                continue;
            };
            let [Root::Before(block, stmt)] = class.roots.as_slice() else {
                continue;
            };
            if class.left_out || !self.is_worth_it(class, block, *stmt) {
                continue;
            }
            followed.insert(at, block.var.clone());
            let info = self.index.stmts.get(*stmt);
            match class.result {
                Some((value, leaf)) => plan.results.push((value, leaf, block.var.clone())),
                None => {
                    if let Some(key) = info.and_then(|info| key(info.stmt)) {
                        plan.blocks.entry(key.clone()).or_default().push(block.clone());
                    }
                }
            }
        }
        plan.carried = self.carried(&followed);
        let in_turn: HashSet<&Var> = plan.carried.values().flatten().collect();
        let rows = self.rows();
        for (var, storage) in &self.memory.storage {
            let leaves = self.index.leaves(var);
            let is_plain = self.index.types.get(var).is_some_and(is_plain_array);
            if !is_plain || plan.carried.contains_key(var) {
                continue;
            }
            let places: Vec<Option<Place>> = leaves
                .iter()
                .zip(storage)
                .enumerate()
                .map(|(at, (leaf, storage))| {
                    let home = storage.home()?;
                    match self.counters.mentioned_by(home) {
                        true => self.row(at, leaf, home, &rows),
                        false => self.place(leaf, home, &followed, &in_turn),
                    }
                })
                .collect();
            let takes_turns =
                |place: &Place| matches!(place, Place::Cells { block, .. } if in_turn.contains(block));
            if places.iter().flatten().any(takes_turns) {
                plan.in_turn.insert(var.clone());
            }
            if places.iter().any(Option::is_some) {
                plan.homes.insert(var.clone(), places);
            }
        }
        for info in &self.index.stmts {
            if let [value] = info.stmt.pattern.values.as_slice()
                && self.builds_in_place(info.stmt)
                && plan
                    .homes
                    .get(&value.var)
                    .is_some_and(|all| all.iter().all(Option::is_some))
            {
                plan.concats.insert(value.var.clone());
            }
        }
        plan
    }

    /// The classes in the order of the first value, or component of one, that each holds: that does not depend on how allocations
    /// came to where they are, nor on how sizes are written.
    fn classes_by_use(&self) -> Vec<usize> {
        let mut first: HashMap<usize, usize> = HashMap::new();
        for value in self.index.stmts.iter().flat_map(|info| &info.stmt.pattern.values) {
            let storage = self.memory.storage.get(&value.var).into_iter().flatten();
            for home in storage.filter_map(|storage| storage.home()) {
                if let Some(class) = self.class_of.get(&home.block) {
                    let next = first.len();
                    first.entry(*class).or_insert(next);
                }
            }
        }
        let mut classes: Vec<usize> = (0..self.classes.len()).collect();
        classes.sort_by_key(|class| (first.get(class).copied().unwrap_or(usize::MAX), *class));
        classes
    }

    /// What iterations of `map`s make, by the number of the iteration.
    fn rows(&self) -> HashMap<Var, Vec<Row>> {
        let mut rows: HashMap<Var, Vec<Row>> = HashMap::new();
        for info in &self.index.stmts {
            let head = key(info.stmt).and_then(|key| Some((key, self.memory.heads.get(key)?)));
            let Some((map, Some(counter))) = head.map(|(key, head)| (key, head.index.as_ref())) else {
                continue;
            };
            if !matches!(&info.stmt.exp, Exp::Op(op) if op.prim == Prim::Map) {
                continue;
            }
            let values = &info.stmt.pattern.values;
            for (number, value) in values.iter().enumerate() {
                if !is_plain_array(&value.ty) {
                    continue;
                }
                let storage = self.memory.storage.get(&value.var).into_iter().flatten();
                for (leaf, storage) in storage.enumerate() {
                    let Some(home) = storage.home() else {
                        continue;
                    };
                    let Some(lmad) = home.lmad.index(&Size::var(counter.clone())) else {
                        continue;
                    };
                    rows.entry(counter.clone()).or_default().push(Row {
                        leaf,
                        home: Home {
                            block: home.block.clone(),
                            lmad,
                        },
                        place: Place::Row {
                            map: map.clone(),
                            component: (values.len() > 1).then_some(number),
                        },
                    });
                }
            }
        }
        rows
    }

    /// The row of a `map`'s result, for what lives there.
    fn row(&self, at: usize, leaf: &Leaf, home: &Home, rows: &HashMap<Var, Vec<Row>>) -> Option<Place> {
        let class = self.classes.get(*self.class_of.get(&home.block)?)?;
        if class.left_out || leaf.cells().as_constant().is_some_and(|cells| cells < SMALL) {
            return None;
        }
        let candidates = home.lmad.offset.free_vars().filter_map(|var| rows.get(var));
        let mut here = candidates.flatten().filter(|row| {
            row.leaf == at && self.is_one_block(&row.home.block, &home.block) && {
                let there = Home {
                    block: home.block.clone(),
                    lmad: row.home.lmad.clone(),
                };
                self.index.same_home(&there, home)
            }
        });
        here.next().map(|row| row.place.clone())
    }

    /// Whether two names are names of one block.
    fn is_one_block(&self, a: &Var, b: &Var) -> bool {
        let same_class = || {
            let class = self.class_of.get(a)?;
            let made_once = self.classes.get(*class)?.roots.len() == 1;
            Some(made_once && self.class_of.get(b) == Some(class))
        };
        a == b || same_class().unwrap_or(false)
    }

    /// The arrays of loops that carry several blocks, which take turns: inside, each is a block like any other.
    fn carried(&self, followed: &HashMap<usize, Var>) -> HashMap<Var, Vec<Var>> {
        let mut carried = HashMap::new();
        for info in &self.index.stmts {
            let Exp::Loop(looped) = &info.stmt.exp else {
                continue;
            };
            let head = key(info.stmt).and_then(|key| self.memory.heads.get(key));
            let inside: HashSet<&Var> = head
                .into_iter()
                .flat_map(|head| &head.items)
                .filter_map(|item| item.inside.as_ref())
                .collect();
            if !looped.context.is_empty() {
                continue;
            }
            for (param, _) in &looped.params {
                if is_plain_array(&param.ty)
                    && let Some(blocks) = self.blocks_in_turn(&param.var, &inside, followed)
                {
                    carried.insert(param.var.clone(), blocks);
                }
            }
        }
        carried
    }

    /// The blocks of an array that a loop carries, where all of them are the loop's and filled by it.
    fn blocks_in_turn(
        &self,
        param: &Var,
        inside: &HashSet<&Var>,
        followed: &HashMap<usize, Var>,
    ) -> Option<Vec<Var>> {
        let storage = self.memory.storage.get(param)?;
        let leaves = self.index.leaves(param);
        let blocks = leaves.iter().zip(storage).map(|(leaf, storage)| {
            let home = storage.home()?;
            let class = self.class_of.get(&home.block)?;
            let whole = Home {
                block: home.block.clone(),
                lmad: Lmad::row_major(Size::zero(), &leaf.shape()),
            };
            let is_small = leaf.cells().as_constant().is_some_and(|cells| cells < SMALL);
            let good = inside.contains(&home.block)
                && !followed.contains_key(class)
                && self.classes.get(*class).is_some_and(|class| !class.left_out)
                && self.index.same_home(&whole, home)
                && !is_small;
            good.then(|| home.block.clone())
        });
        blocks.collect()
    }

    /// Cells of a followed block, or of one that takes turns with others.
    fn place(
        &self,
        leaf: &Leaf,
        home: &Home,
        followed: &HashMap<usize, Var>,
        in_turn: &HashSet<&Var>,
    ) -> Option<Place> {
        let block = match in_turn.get(&home.block) {
            Some(block) => *block,
            None => followed.get(self.class_of.get(&home.block)?)?,
        };
        let lmad = self.index.normalised(&home.lmad);
        let whole = self
            .index
            .normalised(&Lmad::row_major(lmad.offset.clone(), &leaf.shape()));
        let strides =
            |lmad: &Lmad<Var>| -> Vec<Size> { lmad.dims.iter().map(|dim| dim.stride.clone()).collect() };
        let strides = match strides(&lmad) == strides(&whole) {
            true => Vec::new(),
            false => strides(&lmad),
        };
        Some(Place::Cells {
            block: block.clone(),
            first: lmad.offset,
            strides,
        })
    }

    /// Whether a block has more than the one array that it would be made for anyway.
    fn is_worth_it(&self, class: &Class, block: &Block, made: usize) -> bool {
        let is_result = class.result.is_some();
        if !is_result && block.cells.as_constant().is_some_and(|cells| cells < SMALL) {
            return false;
        }
        let Some(made) = self.index.stmts.get(made) else {
            return false;
        };
        let mut writers = class.writers.iter();
        match (writers.next(), writers.next()) {
            (Some(_), Some(_)) => true,
            (Some(one), None) => {
                let Some(one) = self.index.stmts.get(*one) else {
                    return false;
                };
                // What is a result and nothing else is computed into its place anyway.
                let used_before = is_result && self.is_used_twice(one.stmt);
                one.body != made.body || matches!(one.stmt.exp, Exp::Loop(_)) || used_before
            }
            (None, _) => false,
        }
    }

    fn is_used_twice(&self, stmt: &Stmt) -> bool {
        let mut values = stmt.pattern.values.iter();
        values.any(|value| self.index.uses.get(&value.var).is_some_and(|uses| uses.len() > 1))
    }
}

fn is_concat(stmt: &Stmt) -> bool {
    matches!(&stmt.exp, Exp::Op(op) if op.prim == Prim::Concat)
}

/// Whether the translation computes an expression where it stands.
fn is_computed(exp: &Exp) -> bool {
    match exp {
        Exp::If { .. }
        | Exp::Case { .. }
        | Exp::Loop(_)
        | Exp::Call { .. }
        | Exp::Foreign { .. }
        | Exp::Array(..)
        | Exp::Update { .. } => true,
        // Windows may be made where they are used.
        Exp::Op(Op { prim, annotation, .. })
            if annotation.effect == Some(Effect::Eager) && prim.is_view() =>
        {
            *prim != Prim::Slide
        }
        Exp::Op(Op { prim, annotation, .. }) => {
            annotation.effect != Some(Effect::Source)
                && matches!(
                    prim,
                    Prim::Map
                        | Prim::Scan
                        | Prim::ScanExclusive
                        | Prim::ScanRows
                        | Prim::ScanRowsExclusive
                        | Prim::Filter
                        | Prim::Partition
                        | Prim::Gather
                        | Prim::Permute
                        | Prim::Materialise
                        | Prim::Reduce
                        | Prim::ReduceComm
                        | Prim::ReduceSeq
                        | Prim::ReduceByIndex
                        | Prim::Scatter
                        | Prim::ToGlobal
                        | Prim::ToLocal
                        | Prim::ToPrivate
                )
        }
        Exp::Atom(_)
        | Exp::Unary(..)
        | Exp::Binary(..)
        | Exp::Ternary(..)
        | Exp::Tuple(_)
        | Exp::Project(..)
        | Exp::Construct { .. }
        | Exp::ConstructNode { .. }
        | Exp::Index { .. }
        | Exp::Slice { .. }
        | Exp::Coerce { .. }
        | Exp::Trace { .. }
        | Exp::Assert { .. } => false,
    }
}

/// Whether a value has parts that the plan does not know the place of.
fn holds_elsewhere(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Vector(..) => false,
        Type::Tuple(parts) => parts.iter().any(holds_elsewhere),
        Type::Array(almach_core::Dim::Size(_), element) => holds_elsewhere(element),
        Type::Array(almach_core::Dim::Jagged, _) | Type::Data(_) | Type::Node(_) => true,
    }
}

/// An array of scalars, or of tuples of them: its leaves here are those of its memory.
fn is_plain_array(ty: &Type) -> bool {
    fn is_plain(ty: &Type) -> bool {
        match ty {
            Type::Scalar(_) => true,
            Type::Tuple(parts) => !parts.is_empty() && parts.iter().all(is_plain),
            Type::Array(almach_core::Dim::Size(_), element) => is_plain(element),
            Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => false,
        }
    }
    matches!(ty, Type::Array(..)) && is_plain(ty)
}

/// The memory plan of a function. Calls are opaque to the plan, so a function is looked at alone: in a large program every pass
/// would walk all of it for each of its steps.
pub(crate) fn plan(program: &Program, id: FunId) -> Result<Plan, Box<almach_base::Diagnostic>> {
    let annotated = almach_mem::introduce(program.alone(id));
    let log = &mut almach_mem::passes::Log::default();
    let annotated = almach_mem::passes::run(annotated, almach_mem::passes::STANDARD, log)?;
    Ok(Plan::of(&annotated))
}
