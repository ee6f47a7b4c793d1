//! What passes want to know of a program: what happens when, who uses what, and which blocks may be one.

use crate::ir::{Given, Home, Item, Kind, Memory, Storage, key};
use crate::leaves::{Leaf, leaves};
use almach_base::{Name, Span};
use almach_core::typing::Env;
use almach_core::{
    Atom, Body, Builder, Dim, Exp, Lambda, LoopForm, Op, Param, Program, Size, Stmt, Type, Var,
};
use almach_lmad::{Lmad, Range, Ranges};
use almach_prim::Prim;
use almach_value::BinOp;
use std::collections::{HashMap, HashSet};

/// A moment of a function: statements and ends of bodies, in the order of the text. What a statement takes is used at its
/// `start`, and what its functions take up to its `end`, after all that is inside it.
pub type Moment = usize;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BodyId(pub usize);

pub struct StmtInfo<'p> {
    pub stmt: &'p Stmt,
    pub body: BodyId,
    pub start: Moment,
    pub end: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    Function(usize),
    Branch,
    Loop,
    /// Of an operation: its iterations may run at once.
    Lambda,
}

pub struct BodyInfo<'p> {
    pub body: &'p Body,
    pub kind: BodyKind,
    /// The statement it is inside.
    pub around: Option<usize>,
    pub start: Moment,
    pub end: Moment,
}

pub struct Index<'p> {
    pub program: &'p Program,
    pub env: Env,
    pub known: Ranges<Var>,
    pub stmts: Vec<StmtInfo<'p>>,
    pub bodies: Vec<BodyInfo<'p>>,
    /// The statement that binds a variable in its pattern.
    pub defs: HashMap<Var, usize>,
    pub types: HashMap<Var, Type>,
    pub uses: HashMap<Var, Vec<Moment>>,
    /// When Core binds a variable.
    pub bound: HashMap<Var, Moment>,
    now: Moment,
    /// The statements that take their operands at a moment.
    takers: HashMap<Moment, usize>,
}

impl<'p> Index<'p> {
    pub fn new(program: &'p Program) -> Index<'p> {
        let mut builder = Builder::for_program(program);
        for function in &program.functions {
            builder.enter_function(function);
        }
        let mut index = Index {
            program,
            env: builder.env,
            known: Ranges::unknown(),
            stmts: Vec::new(),
            bodies: Vec::new(),
            defs: HashMap::new(),
            types: HashMap::new(),
            uses: HashMap::new(),
            bound: HashMap::new(),
            now: 0,
            takers: HashMap::new(),
        };
        for (id, function) in program.functions.iter().enumerate() {
            index.params(&function.context, &function.params);
            index.body(&function.body, BodyKind::Function(id), None);
        }
        index
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    fn params(&mut self, context: &[Var], params: &[Param]) {
        let now = self.tick();
        for var in context {
            self.bound.insert(var.clone(), now);
            self.known.set(var.clone(), Range::natural());
            self.types.insert(var.clone(), Type::I64);
        }
        params.iter().for_each(|param| self.param(param, now));
    }

    fn param(&mut self, param: &Param, now: Moment) {
        self.bound.insert(param.var.clone(), now);
        self.types.insert(param.var.clone(), param.ty.clone());
        let ty = self.env.normalise(&param.ty);
        ty.for_each_dim(&mut |dim| {
            if let Dim::Size(size) = dim
                && let Some(var) = size.as_var()
                && self.known.range(var).lower.is_none()
            {
                self.known.set(var.clone(), Range::natural());
            }
        });
    }

    fn body(&mut self, body: &'p Body, kind: BodyKind, around: Option<usize>) {
        let id = BodyId(self.bodies.len());
        let start = self.tick();
        self.bodies.push(BodyInfo {
            body,
            kind,
            around,
            start,
            end: start,
        });
        for stmt in &body.stmts {
            self.stmt(stmt, id);
        }
        let end = self.tick();
        for atom in body.context.iter().chain(&body.values) {
            self.used(atom, end);
        }
        if let Some(info) = self.bodies.get_mut(id.0) {
            info.end = end;
        }
    }

    fn used(&mut self, atom: &Atom, at: Moment) {
        if let Atom::Var(var) = atom {
            self.uses.entry(var.clone()).or_default().push(at);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt, body: BodyId) {
        let start = self.tick();
        let at = self.stmts.len();
        self.stmts.push(StmtInfo {
            stmt,
            body,
            start,
            end: start,
        });
        match &stmt.exp {
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                self.used(condition, start);
                self.body(then, BodyKind::Branch, Some(at));
                self.body(otherwise, BodyKind::Branch, Some(at));
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => {
                self.used(scrutinee, start);
                for arm in arms {
                    self.params(&arm.context, &arm.fields);
                    self.body(&arm.body, BodyKind::Branch, Some(at));
                }
                if let Some(body) = default {
                    self.body(body, BodyKind::Branch, Some(at));
                }
            }
            Exp::Loop(looped) => {
                for atom in looped
                    .context
                    .iter()
                    .map(|(_, atom)| atom)
                    .chain(looped.params.iter().map(|(_, atom)| atom))
                {
                    self.used(atom, start);
                }
                let (vars, params): (Vec<Var>, Vec<Param>) = (
                    looped.context.iter().map(|(var, _)| var.clone()).collect(),
                    looped.params.iter().map(|(param, _)| param.clone()).collect(),
                );
                self.params(&vars, &params);
                match &looped.form {
                    LoopForm::For { index, bound } => {
                        self.used(bound, start);
                        self.params(&[], std::slice::from_ref(index));
                        if let Ok(bound) = self.env.size(bound) {
                            self.known.set(index.var.clone(), Range::below(&bound));
                        }
                    }
                    LoopForm::While(condition) => self.body(condition, BodyKind::Loop, Some(at)),
                }
                self.body(&looped.body, BodyKind::Loop, Some(at));
            }
            Exp::Op(op) => {
                for function in &op.functions {
                    self.params(&function.context, &function.params);
                    self.body(&function.body, BodyKind::Lambda, Some(at));
                }
            }
            _ => {}
        }
        let end = self.tick();
        if !matches!(&stmt.exp, Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_)) {
            direct_uses(&stmt.exp, &mut |atom| self.used(atom, end));
            self.takers.insert(end, at);
        }
        for var in &stmt.pattern.context {
            self.bound.insert(var.clone(), end);
            self.known.set(var.clone(), Range::natural());
            self.types.insert(var.clone(), Type::I64);
            self.defs.insert(var.clone(), at);
        }
        for value in &stmt.pattern.values {
            self.param(value, end);
            self.defs.insert(value.var.clone(), at);
        }
        if let Some((var, range)) = bounds(stmt, &self.env) {
            self.known.set(var, range);
        }
        if let Some(info) = self.stmts.get_mut(at) {
            info.end = end;
        }
    }

    /// Ranges of the iterations that memory counts.
    pub fn count_iterations(&mut self, memory: &Memory) {
        for info in &self.stmts {
            let head = key(info.stmt).and_then(|key| memory.heads.get(key));
            if let (Some(index), Exp::Op(op)) = (head.and_then(|head| head.index.as_ref()), &info.stmt.exp)
                && let Some(count) = count(op, &self.env)
            {
                self.known.set(index.clone(), Range::below(&count));
            }
        }
    }

    /// When each variable of memory is bound.
    pub fn memory_bound(&self, memory: &Memory) -> HashMap<Var, Moment> {
        let mut bound = HashMap::new();
        for function in &memory.functions {
            bound.extend(function.context.iter().map(|(var, _)| (var.clone(), 0)));
        }
        for info in &self.stmts {
            let Some(key) = key(info.stmt) else {
                continue;
            };
            for alloc in memory.allocs.get(key).into_iter().flatten() {
                bound.insert(alloc.block.clone(), info.start);
            }
            let Some(head) = memory.heads.get(key) else {
                continue;
            };
            bound.extend(head.index.iter().map(|index| (index.clone(), info.start)));
            for item in &head.items {
                bound.insert(item.var.clone(), info.end);
                bound.extend(item.inside.iter().map(|inside| (inside.clone(), info.start)));
            }
        }
        bound
    }

    /// A variable's leaves.
    pub fn leaves(&self, var: &Var) -> Vec<Leaf> {
        self.types
            .get(var)
            .map_or_else(Vec::new, |ty| leaves(&self.env.normalise(ty)))
    }

    /// The statement that takes its operands at a moment.
    pub fn taker(&self, at: Moment) -> Option<&StmtInfo<'p>> {
        self.takers.get(&at).and_then(|at| self.stmts.get(*at))
    }

    pub fn stmt_of(&self, var: &Var) -> Option<&StmtInfo<'p>> {
        self.defs.get(var).and_then(|at| self.stmts.get(*at))
    }

    /// What the binder of a variable calls it; uses may spell it otherwise.
    pub fn name(&self, var: &Var) -> Name {
        self.types
            .get_key_value(var)
            .map_or(&var.name, |(binder, _)| &binder.name)
            .clone()
    }

    /// Where in the source something happens at a moment: the statement, or the one around the body that ends.
    pub fn span_at(&self, at: Moment) -> Option<Span> {
        let stmt = self.stmts.iter().find(|info| info.start == at || info.end == at);
        let around = || {
            let body = self.bodies.iter().find(|info| info.end == at)?;
            match (body.around, body.kind) {
                (Some(stmt), _) => self.stmts.get(stmt).map(|info| info.stmt.span),
                (None, BodyKind::Function(id)) => self.program.functions.get(id).map(|f| f.span),
                (None, _) => None,
            }
        };
        stmt.map(|info| info.stmt.span).or_else(around)
    }

    pub fn normalised(&self, lmad: &Lmad<Var>) -> Lmad<Var> {
        let size = |size: &Size| self.env.normalise_size(size);
        Lmad {
            offset: size(&lmad.offset),
            dims: lmad
                .dims
                .iter()
                .map(|dim| almach_lmad::Dim {
                    length: size(&dim.length),
                    stride: size(&dim.stride),
                })
                .collect(),
        }
    }

    pub fn same_home(&self, a: &Home, b: &Home) -> bool {
        a.block == b.block
            && crate::introduce::same_cells(&self.normalised(&a.lmad), &self.normalised(&b.lmad))
    }

    /// Enclosing bodies, innermost first.
    pub fn around(&self, body: BodyId) -> Vec<BodyId> {
        let mut out = vec![body];
        let mut at = body;
        while let Some(stmt) = self.bodies.get(at.0).and_then(|info| info.around) {
            let Some(info) = self.stmts.get(stmt) else {
                break;
            };
            at = info.body;
            out.push(at);
        }
        out
    }
}

/// What is known of a number that is the greater or the smaller of two: `max 0 x` is not negative.
pub fn bounds(stmt: &Stmt, env: &Env) -> Option<(Var, Range<Var>)> {
    let ([value], Exp::Binary(op, a, b)) = (stmt.pattern.values.as_slice(), &stmt.exp) else {
        return None;
    };
    if value.ty != Type::I64 {
        return None;
    }
    let sizes: Vec<Size> = [a, b]
        .into_iter()
        .filter_map(|atom| env.size(atom).ok())
        .collect();
    let constant = sizes.iter().find(|size| size.as_constant().is_some());
    let known = constant.or(sizes.first())?.clone();
    let range = match op {
        BinOp::Max => Range {
            lower: Some(known),
            upper: None,
        },
        BinOp::Min => Range {
            lower: None,
            upper: Some(known),
        },
        _ => return None,
    };
    Some((value.var.clone(), range))
}

/// How many iterations an operation's function has.
pub fn count(op: &Op, env: &Env) -> Option<Size> {
    let array = match op.prim {
        Prim::Map | Prim::Filter | Prim::Partition => op.args.first()?,
        Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq | Prim::Scan | Prim::ScanExclusive => {
            op.args.get(1)?
        }
        Prim::ReduceByIndex => op.args.last()?,
        _ => return None,
    };
    match env.atom_type(array).ok()? {
        Type::Array(Dim::Size(size), _) => Some(size),
        _ => None,
    }
}

/// Atoms of an expression that are not inside its bodies.
pub fn direct_uses(exp: &Exp, visit: &mut dyn FnMut(&Atom)) {
    use almach_core::SlicePart;
    let parts_of = |parts: &[SlicePart], visit: &mut dyn FnMut(&Atom)| {
        for part in parts {
            match part {
                SlicePart::At(index) => visit(index),
                SlicePart::Slice { begin, count, step } => {
                    [begin, count, step].into_iter().for_each(&mut *visit)
                }
            }
        }
    };
    match exp {
        Exp::Atom(a) | Exp::Unary(_, a) | Exp::Project(a, _) => visit(a),
        Exp::Binary(_, a, b) => [a, b].into_iter().for_each(visit),
        Exp::Ternary(_, a, b, c) => [a, b, c].into_iter().for_each(visit),
        Exp::Tuple(all) | Exp::Array(all, _) => all.iter().for_each(visit),
        Exp::Construct { fields, .. } | Exp::ConstructNode { fields, .. } => fields.iter().for_each(visit),
        Exp::If { condition, .. } => visit(condition),
        Exp::Case { scrutinee, .. } => visit(scrutinee),
        Exp::Loop(looped) => looped.params.iter().for_each(|(_, atom)| visit(atom)),
        Exp::Call { context, args, .. } | Exp::Foreign { context, args, .. } => {
            context.iter().chain(args).for_each(visit);
        }
        Exp::Op(op) => op.args.iter().for_each(visit),
        Exp::Index { array, indices } => std::iter::once(array).chain(indices).for_each(visit),
        Exp::Slice { array, parts } => {
            visit(array);
            parts_of(parts, visit);
        }
        Exp::Update {
            array, parts, value, ..
        } => {
            visit(array);
            visit(value);
            parts_of(parts, visit);
        }
        Exp::Coerce { value, .. } | Exp::Trace { value, .. } => visit(value),
        Exp::Assert { condition, .. } => visit(condition),
    }
}

/// The blocks that each variable's elements are read from: its own, and of a view those of what it is computed from.
pub fn blocks_read(index: &Index<'_>, memory: &Memory) -> HashMap<Var, HashSet<Var>> {
    let mut out: HashMap<Var, HashSet<Var>> = HashMap::new();
    for (var, storage) in &memory.storage {
        let blocks = storage
            .iter()
            .filter_map(Storage::home)
            .map(|home| home.block.clone());
        out.entry(var.clone()).or_default().extend(blocks);
    }
    // In the order of the text, so that views of views are complete.
    for info in &index.stmts {
        let views: Vec<&Var> = info
            .stmt
            .pattern
            .values
            .iter()
            .map(|value| &value.var)
            .filter(|var| {
                memory
                    .storage
                    .get(*var)
                    .is_some_and(|all| all.iter().any(|one| one.home().is_none()))
            })
            .collect();
        if views.is_empty() {
            continue;
        }
        let free = almach_core::visit::Vars::of_exp(&info.stmt.exp);
        let sources: HashSet<Var> = free
            .free()
            .filter_map(|var| out.get(var))
            .flatten()
            .cloned()
            .collect();
        for view in views {
            out.entry(view.clone())
                .or_default()
                .extend(sources.iter().cloned());
        }
    }
    out
}

/// Blocks that may be one at run time, because statements hand them on.
pub struct Aliases {
    edges: HashMap<Var, HashSet<Var>>,
    /// What a block may be that a statement hands on.
    origins: HashMap<Var, HashSet<Origin>>,
}

/// Where a block comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Origin {
    /// It is this one, or what this one may be.
    Block(Var),
    /// It is made for what holds it, at the end with that number.
    Made(Var, usize),
}

impl Aliases {
    pub fn new(index: &Index<'_>, memory: &Memory) -> Aliases {
        let mut aliases = Aliases {
            edges: HashMap::new(),
            origins: HashMap::new(),
        };
        for info in &index.stmts {
            let Some(head) = key(info.stmt).and_then(|key| memory.heads.get(key)) else {
                continue;
            };
            for item in &head.items {
                aliases.item(item);
            }
            if let Exp::Call { args, .. } = &info.stmt.exp {
                for item in &head.items {
                    for storage in args.iter().flat_map(|arg| memory.of(arg)) {
                        if let Some(home) = storage.home() {
                            aliases.hand_on(&home.block, &item.var);
                        }
                    }
                    // Two results may be one block.
                    for other in &head.items {
                        aliases.hand_on(&other.var, &item.var);
                    }
                }
            }
        }
        aliases
    }

    fn item(&mut self, item: &Item) {
        if !matches!(item.kind, Kind::Block(_)) {
            return;
        }
        let held = item.inside.as_ref().unwrap_or(&item.var);
        self.hand_on(held, &item.var);
        for (end, given) in item.given.iter().enumerate() {
            match given {
                Given::Block(block) => self.hand_on(block, held),
                Given::Alloc(_) => {
                    let origins = self.origins.entry(held.clone()).or_default();
                    origins.insert(Origin::Made(held.clone(), end));
                }
                Given::Integer(_) => {}
            }
        }
        if item.given.is_empty() {
            let origins = self.origins.entry(item.var.clone()).or_default();
            origins.insert(Origin::Made(item.var.clone(), 0));
        }
    }

    fn hand_on(&mut self, from: &Var, to: &Var) {
        self.edges.entry(from.clone()).or_default().insert(to.clone());
        self.edges.entry(to.clone()).or_default().insert(from.clone());
        if from != to {
            let origins = self.origins.entry(to.clone()).or_default();
            origins.insert(Origin::Block(from.clone()));
        }
    }

    /// All blocks that statements connect with this one, in any direction.
    pub fn class(&self, block: &Var) -> HashSet<Var> {
        let mut found: HashSet<Var> = HashSet::new();
        let mut open = vec![block.clone()];
        while let Some(block) = open.pop() {
            if found.insert(block.clone()) {
                open.extend(self.edges.get(&block).into_iter().flatten().cloned());
            }
        }
        found
    }

    /// All blocks that may be this one: what may be `xs` or new is neither what is new nor `xs` for sure, but those two are
    /// never one.
    pub fn may_be(&self, block: &Var) -> HashSet<Var> {
        let own = self.made(block);
        let mut found = self.class(block);
        found.retain(|other| other == block || !self.made(other).is_disjoint(&own));
        found
    }

    /// Where a block may have been made.
    fn made(&self, block: &Var) -> HashSet<Origin> {
        let mut made = HashSet::new();
        let mut seen = HashSet::new();
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            if !seen.insert(block) {
                continue;
            }
            match self.origins.get(block) {
                None => {
                    made.insert(Origin::Block(block.clone()));
                }
                Some(origins) => {
                    for origin in origins {
                        match origin {
                            Origin::Block(block) => open.push(block),
                            Origin::Made(..) => {
                                made.insert(origin.clone());
                            }
                        }
                    }
                }
            }
        }
        made
    }

    /// Whether statements hand it on.
    pub fn is_handed_on(&self, block: &Var) -> bool {
        self.edges.contains_key(block)
    }
}

/// The function of an operation that has one.
pub fn function_of(exp: &Exp) -> Option<(&Op, &Lambda)> {
    match exp {
        Exp::Op(op) => op.functions.first().map(|function| (op, function)),
        _ => None,
    }
}
