//! What passes want to know of a program: what happens when, who uses what, and which blocks may be one.

use crate::ir::{Home, Memory, Storage, key};
use crate::leaves::{Leaf, leaves};
use almach_base::{Name, Span};
use almach_core::typing::Env;
use almach_core::{
    Atom, Body, Builder, Dim, Exp, Lambda, LoopForm, Op, Param, Program, Size, Stmt, Type, Var,
};
use almach_lmad::{Lmad, Range, Ranges};
use almach_prim::Prim;
use almach_value::BinOp;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
    shown: Shown,
    pub stmts: Vec<StmtInfo<'p>>,
    pub bodies: Vec<BodyInfo<'p>>,
    /// The statement that binds a variable in its pattern.
    pub defs: HashMap<Var, usize>,
    pub types: HashMap<Var, Type>,
    pub uses: HashMap<Var, Vec<Moment>>,
    /// When Core binds a variable.
    pub bound: HashMap<Var, Moment>,
    /// The last moment at which a variable is in scope.
    pub scope_end: HashMap<Var, Moment>,
    /// The statement whose bodies have a parameter.
    pub param_of: HashMap<Var, usize>,
    /// Parameters of operations' functions.
    pub rows: HashSet<Var>,
    /// What happens at each moment.
    moments: Vec<Event>,
    /// The bodies of each statement, in order.
    bodies_of: HashMap<usize, Vec<BodyId>>,
}

#[derive(Clone, Copy)]
enum Event {
    /// Parameters are bound, or a body starts.
    Entered,
    StmtStart(usize),
    StmtEnd(usize),
    BodyEnd(usize),
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
            shown: Shown::default(),
            stmts: Vec::new(),
            bodies: Vec::new(),
            defs: HashMap::new(),
            types: HashMap::new(),
            uses: HashMap::new(),
            bound: HashMap::new(),
            scope_end: HashMap::new(),
            param_of: HashMap::new(),
            rows: HashSet::new(),
            moments: vec![Event::Entered],
            bodies_of: HashMap::new(),
        };
        for (id, function) in program.functions.iter().enumerate() {
            index.params(&function.context, &function.params);
            index.body(&function.body, BodyKind::Function(id), None);
            index.leave_params(&function.context, &function.params, None);
        }
        index
    }

    fn tick(&mut self, event: Event) -> Moment {
        self.moments.push(event);
        self.moments.len() - 1
    }

    /// Parameters of what ends now, of a statement's body where it is one.
    fn leave_params<'a>(
        &mut self,
        context: impl IntoIterator<Item = &'a Var>,
        params: impl IntoIterator<Item = &'a Param>,
        of: Option<usize>,
    ) {
        let end = self.moments.len() - 1;
        let params = params.into_iter().map(|param| &param.var);
        for var in context.into_iter().chain(params) {
            self.scope_end.insert(var.clone(), end);
            if let Some(stmt) = of {
                self.param_of.insert(var.clone(), stmt);
            }
        }
    }

    fn params(&mut self, context: &[Var], params: &[Param]) {
        let now = self.tick(Event::Entered);
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
        for size in sizes_shown(&ty) {
            self.show(&param.var, size);
        }
    }

    /// That array shows that a number is not negative.
    fn show(&mut self, by: &Var, size: Size) {
        let (known, open) = (&self.known, &self.scope_end);
        self.shown.add(by, size, known, |var| !open.contains_key(var));
    }

    /// What is known where something happens at each of these moments: the arrays that are in scope at one of them show more.
    pub fn known_at(&self, moments: &[Moment]) -> Ranges<Var> {
        self.known_where(moments, |_| true)
    }

    /// The same of some sizes only.
    pub fn known_where(&self, moments: &[Moment], wanted: impl Fn(&Size) -> bool) -> Ranges<Var> {
        let mut known = self.known.clone();
        let shown = self.shown.sizes.iter().filter(|(size, _)| wanted(size));
        for (size, by) in shown {
            if moments
                .iter()
                .any(|at| by.iter().any(|var| self.is_there(var, *at)))
            {
                known.assume_nonneg(size.clone());
            }
        }
        known
    }

    /// Assumes what the arrays in scope at a moment show.
    pub fn assume_shown_at(&self, moment: Moment, known: &mut Ranges<Var>) {
        for (size, by) in &self.shown.sizes {
            if by.iter().any(|var| self.is_there(var, moment)) {
                known.assume_nonneg(size.clone());
            }
        }
    }

    fn is_there(&self, var: &Var, moment: Moment) -> bool {
        let since = self.bound.get(var).copied().unwrap_or(Moment::MAX);
        let until = self.scope_end.get(var).copied().unwrap_or(0);
        since <= moment && moment <= until
    }

    fn body(&mut self, body: &'p Body, kind: BodyKind, around: Option<usize>) {
        let id = BodyId(self.bodies.len());
        let start = self.tick(Event::Entered);
        if let Some(stmt) = around {
            self.bodies_of.entry(stmt).or_default().push(id);
        }
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
        let end = self.tick(Event::BodyEnd(id.0));
        for stmt in &body.stmts {
            let values = stmt.pattern.values.iter();
            self.leave_params(&stmt.pattern.context, values, None);
        }
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
        let at = self.stmts.len();
        let start = self.tick(Event::StmtStart(at));
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
                    self.leave_params(&arm.context, &arm.fields, Some(at));
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
                self.leave_params(&vars, &params, Some(at));
                if let LoopForm::For { index, .. } = &looped.form {
                    self.leave_params([], [index], Some(at));
                }
            }
            Exp::Op(op) => {
                for function in &op.functions {
                    self.params(&function.context, &function.params);
                    for (param, below) in numbers(op, function, |var| self.defined(var)) {
                        if let Ok(below) = self.env.size(below) {
                            self.known.set(param.clone(), Range::below(&below));
                        }
                    }
                    self.body(&function.body, BodyKind::Lambda, Some(at));
                    self.leave_params(&function.context, &function.params, Some(at));
                    self.rows
                        .extend(function.params.iter().map(|param| param.var.clone()));
                }
            }
            _ => {}
        }
        let end = self.tick(Event::StmtEnd(at));
        if !is_control(&stmt.exp) {
            direct_uses(&stmt.exp, &mut |atom| self.used(atom, end));
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
        if let Some((by, size)) = behind(stmt, &self.env) {
            self.show(&by, size);
        }
        if let Some(info) = self.stmts.get_mut(at) {
            info.end = end;
        }
    }

    fn defined(&self, var: &Var) -> Option<&'p Exp> {
        let stmt = self.defs.get(var)?;
        Some(&self.stmts.get(*stmt)?.stmt.exp)
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

    /// A variable's leaves.
    pub fn leaves(&self, var: &Var) -> Vec<Leaf> {
        self.types
            .get(var)
            .map_or_else(Vec::new, |ty| leaves(&self.env.normalise(ty)))
    }

    /// The statement that takes its operands at a moment.
    pub fn taker(&self, at: Moment) -> Option<&StmtInfo<'p>> {
        self.taker_number(at).and_then(|at| self.stmts.get(at))
    }

    pub fn taker_number(&self, at: Moment) -> Option<usize> {
        match self.moments.get(at) {
            Some(Event::StmtEnd(stmt)) => {
                let takes = self
                    .stmts
                    .get(*stmt)
                    .is_some_and(|info| !is_control(&info.stmt.exp));
                takes.then_some(*stmt)
            }
            _ => None,
        }
    }

    /// The bodies of a statement, in order.
    pub fn bodies_of(&self, info: &StmtInfo<'_>) -> &[BodyId] {
        let at = match self.moments.get(info.start) {
            Some(Event::StmtStart(at)) => *at,
            _ => return &[],
        };
        self.bodies_of.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The statements that start after one moment and before another, in order.
    pub fn stmts_between(&self, after: Moment, before: Moment) -> &[StmtInfo<'p>] {
        let from = self.stmts.partition_point(|info| info.start <= after);
        let until = self.stmts.partition_point(|info| info.start < before);
        self.stmts.get(from..until).unwrap_or(&[])
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
        match self.moments.get(at)? {
            Event::StmtStart(stmt) | Event::StmtEnd(stmt) => self.stmts.get(*stmt).map(|info| info.stmt.span),
            Event::BodyEnd(body) => {
                let body = self.bodies.get(*body)?;
                match (body.around, body.kind) {
                    (Some(stmt), _) => self.stmts.get(stmt).map(|info| info.stmt.span),
                    (None, BodyKind::Function(id)) => self.program.functions.get(id).map(|f| f.span),
                    (None, _) => None,
                }
            }
            Event::Entered => None,
        }
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

/// Numbers that an array's being there shows not to be negative, and that nothing else does: with names that a statement has given them, as
/// in `n - 64 * count`.
#[derive(Default)]
pub struct Shown {
    pub sizes: BTreeMap<Size, Vec<Var>>,
    /// Those that need no array.
    clear: BTreeSet<Size>,
}

impl Shown {
    /// One array of those in scope is enough for each.
    pub fn add(&mut self, by: &Var, size: Size, known: &Ranges<Var>, is_open: impl Fn(&Var) -> bool) {
        if self.clear.contains(&size) {
            return;
        }
        let others = self.sizes.get(&size);
        if others.is_none() && known.is_nonneg(&size) {
            self.clear.insert(size);
        } else if others.is_none_or(|others| !others.iter().any(is_open)) {
            self.sizes.entry(size).or_default().push(by.clone());
        }
    }
}

/// The sizes of an array that are more than a name or a number.
pub fn sizes_shown(ty: &Type) -> Vec<Size> {
    let mut sizes = Vec::new();
    ty.for_each_dim(&mut |dim| {
        if let Dim::Size(size) = dim
            && size.as_var().is_none()
            && size.as_constant().is_none()
        {
            sizes.push(size.clone());
        }
    });
    sizes
}

/// How many elements there are behind those that were taken.
pub fn behind(stmt: &Stmt, env: &Env) -> Option<(Var, Size)> {
    let ([value], Exp::Op(op)) = (stmt.pattern.values.as_slice(), &stmt.exp) else {
        return None;
    };
    let (Prim::Take, [count, array]) = (op.prim, op.args.as_slice()) else {
        return None;
    };
    let Ok(Type::Array(Dim::Size(size), _)) = env.atom_type(array) else {
        return None;
    };
    let rest = env.normalise_size(&(&size - &env.size(count).ok()?));
    rest.as_constant().is_none().then(|| (value.var.clone(), rest))
}

/// The parameters of an operation's function that are elements of an `iota`, and its size: they are below it.
pub fn numbers<'o>(
    op: &'o Op,
    function: &'o Lambda,
    defined: impl Fn(&Var) -> Option<&'o Exp>,
) -> Vec<(&'o Var, &'o Atom)> {
    if !matches!(op.prim, Prim::Map | Prim::Filter | Prim::Partition) {
        return Vec::new();
    }
    let params = function.params.iter().zip(&op.args);
    let numbers = params.filter_map(|(param, arg)| {
        let Atom::Var(array) = arg else {
            return None;
        };
        match defined(array)? {
            Exp::Op(made) if made.prim == Prim::Iota => Some((&param.var, made.args.first()?)),
            _ => None,
        }
    });
    numbers.collect()
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
            .flat_map(Storage::homes)
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
                    .is_some_and(|all| all.iter().any(|one| !one.is_in_blocks()))
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

fn is_control(exp: &Exp) -> bool {
    matches!(exp, Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_))
}

/// The function of an operation that has one.
pub fn function_of(exp: &Exp) -> Option<(&Op, &Lambda)> {
    match exp {
        Exp::Op(op) => op.functions.first().map(|function| (op, function)),
        _ => None,
    }
}
