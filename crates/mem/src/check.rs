//! The checker of memory. It runs after every memory pass; a failure is a bug of the compiler.
//!
//! The rules (FUNMEM, Figure 8, and what section 3.4 leaves to the compiler's proofs):
//!
//! | rule | says |
//! | --- | --- |
//! | MEM-01 | blocks and integers of memory are bound once, and used where they are in scope |
//! | MEM-02 | a variable has one place per leaf of its type; what is held elsewhere is in no block |
//! | MEM-03 | a descriptor has the dimensions of its array, up to equality of sizes |
//! | MEM-04 | a block holds scalars of one type, which is that of the array |
//! | MEM-05 | what is derived from an array is where its part of that array is |
//! | MEM-06 | rows that an operation's function takes are where they are in the array |
//! | MEM-07 | a statement hands on one block or integer per branch; a loop one before and one after each iteration |
//! | MEM-08 | an array that a statement makes is provably inside its block |
//! | MEM-09 | two elements of an array that a statement makes provably have different cells |
//! | MEM-10 | what different iterations of a parallel operation make in one block is provably disjoint |
//! | MEM-11 | of a final plan: what an iteration of a parallel operation writes, no other one reads or writes ([`races`]) |
//! | MEM-12 | of a final plan: no array is overwritten while it is needed, nor by the statement that reads it ([`overwrites`]) |

mod across;
mod arrays;
mod change;
mod heads;
mod overwrites;
mod races;

pub use change::Changes;

use arrays::Scope;

use crate::derive::{Derived, derive};
use crate::draft::Draft;
use crate::index::{Index, Shown, behind, bounds, count, numbers, sizes_shown};
use crate::introduce::same_cells;
use crate::ir::{Annotated, Home, Kind, Memory, Storage, key};
use crate::leaves::{Leaf, leaves};
use almach_base::{Diagnostic, Span, compiler_bug};
use almach_core::build::{enter_loop, enter_params, enter_pattern};
use almach_core::typing::Env;
use almach_core::{Body, Exp, Function, Lambda, Loop, LoopForm, Op, Param, Program, Size, Stmt, Type, Var};
use almach_lmad::{Lmad, Range, Ranges};
use almach_prim::{Level, Prim};
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A rule of the checker; see the list at the top of this file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Rule {
    Scope = 1,
    Places,
    Dimensions,
    Elements,
    Derived,
    Rows,
    Heads,
    InBounds,
    Injective,
    Races,
    Iterations,
    Overwrites,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MEM-{:02}", *self as u8)
    }
}

/// What is wrong, by the rule it breaks.
#[derive(Clone, Debug)]
pub struct Broken {
    pub rule: Rule,
    pub message: String,
    pub span: Span,
}

impl Broken {
    /// For the user: the pass of that name has a bug.
    pub fn diagnostic(&self, pass: &str) -> Diagnostic {
        let what = format!("`{pass}` made memory that breaks {}", self.rule);
        compiler_bug(self.span, what).note(format!("{}: {}", self.rule, self.message))
    }
}

type Checked<T> = Result<T, Broken>;

fn broken<T>(rule: Rule, message: impl Into<String>) -> Checked<T> {
    Err(Broken {
        rule,
        message: message.into(),
        span: Span::NONE,
    })
}

/// Checks memory. The program itself is Core's checker's.
pub fn check(program: &Annotated) -> Checked<()> {
    check_memory(&program.core, &program.memory)
}

/// Checks a final plan as a whole: that iterations stay apart, and that nothing is overwritten while it is needed. The proofs are made
/// anew; what passes proved is not asked for.
pub fn check_final(program: &Annotated) -> Checked<()> {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let draft = Draft::new(&index, program.memory.clone());
    races::races(&draft)?;
    overwrites::overwrites(&draft)
}

/// As [`check`], for memory that is not yet beside its program.
pub fn check_memory(core: &Program, memory: &Memory) -> Checked<()> {
    let mut checker = Checker {
        memory,
        env: Env::new(),
        blocks: HashMap::new(),
        integers: HashSet::new(),
        seen: HashSet::new(),
        trail: Vec::new(),
        parts: HashMap::new(),
        occupied: Vec::new(),
        known: Ranges::unknown(),
        shown: Shown::default(),
        open: HashSet::new(),
        iterations: Vec::new(),
        later: Var {
            id: memory.next_var,
            name: "later".into(),
        },
        iotas: HashMap::new(),
    };
    for (id, function) in core.functions.iter().enumerate() {
        checker.function(id, function)?;
    }
    Ok(())
}

#[derive(Clone)]
struct BlockInfo {
    element: ScalarType,
    /// Where it is known before.
    cells: Option<Size>,
    /// How many parallel operations are around it.
    depth: usize,
}

/// A parallel operation that is around.
#[derive(Clone)]
struct Iteration {
    index: Var,
    count: Size,
}

struct Checker<'a> {
    memory: &'a Memory,
    env: Env,
    blocks: HashMap<Var, BlockInfo>,
    integers: HashSet<Var>,
    seen: HashSet<Var>,
    trail: Vec<Var>,
    /// Where arrays are that are there already: inside their blocks.
    parts: HashMap<Var, Vec<Lmad<Var>>>,
    /// The blocks of `parts`, in order, to leave scopes.
    occupied: Vec<Var>,
    known: Ranges<Var>,
    shown: Shown,
    /// The arrays in scope that show something.
    open: HashSet<Var>,
    iterations: Vec<Iteration>,
    /// A variable that occurs nowhere.
    later: Var,
    iotas: HashMap<Var, &'a Exp>,
}

impl<'a> Checker<'a> {
    fn function(&mut self, id: usize, function: &'a Function) -> Checked<()> {
        let Some(memory) = self.memory.functions.get(id) else {
            return broken(Rule::Heads, format!("`{}` has no memory", function.name));
        };
        let mark = self.trail.len();
        self.params(&function.context, &function.params);
        for (var, kind) in &memory.context {
            self.bind_memory(var, *kind, None)?;
        }
        for param in &function.params {
            self.places(param)?;
        }
        self.vacate(0);
        self.stmts(&function.body)?;
        self.results(function, memory)?;
        self.leave(mark);
        Ok(())
    }

    fn stmts(&mut self, body: &'a Body) -> Checked<()> {
        body.stmts.iter().try_for_each(|stmt| {
            self.stmt(stmt).map_err(|broken| Broken {
                span: if broken.span.is_none() {
                    stmt.span
                } else {
                    broken.span
                },
                ..broken
            })
        })
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Checked<()> {
        for alloc in key(stmt)
            .and_then(|key| self.memory.allocs.get(key))
            .into_iter()
            .flatten()
        {
            self.in_scope(&alloc.cells)?;
            self.bind_memory(
                &alloc.block,
                Kind::Block(alloc.element),
                Some(alloc.cells.clone()),
            )?;
        }
        let ends = self.nested(stmt)?;
        self.pattern(stmt);
        self.head(stmt, &ends)?;
        for value in &stmt.pattern.values {
            self.places(value)?;
        }
        self.statement_arrays(stmt)?;
        for value in &stmt.pattern.values {
            self.is_there(&value.var);
        }
        Ok(())
    }

    /// Notes where an array is, once it is there.
    fn is_there(&mut self, var: &Var) {
        let storage = self.memory.storage.get(var).into_iter().flatten();
        for home in storage.flat_map(Storage::homes) {
            self.occupy(home.clone());
        }
    }

    fn occupy(&mut self, home: Home) {
        self.occupied.push(home.block.clone());
        self.parts.entry(home.block).or_default().push(home.lmad);
    }

    /// Forgets what is there since `occupied` had that length.
    fn vacate(&mut self, mark: usize) {
        for block in self.occupied.drain(mark.min(self.occupied.len())..) {
            if let Some(parts) = self.parts.get_mut(&block) {
                parts.pop();
            }
        }
    }

    /// Checks the bodies of a statement, and what its head gives at their ends.
    fn nested(&mut self, stmt: &'a Stmt) -> Checked<usize> {
        let (mark, parts) = (self.trail.len(), self.occupied.len());
        let mut count = 0;
        match &stmt.exp {
            Exp::If { then, otherwise, .. } => {
                for body in [then, otherwise] {
                    self.branch(stmt, &mut count, &[], &[], body)?;
                }
            }
            Exp::Case { arms, default, .. } => {
                for arm in arms {
                    self.branch(stmt, &mut count, &arm.context, &arm.fields, &arm.body)?;
                }
                if let Some(body) = default {
                    self.branch(stmt, &mut count, &[], &[], body)?;
                }
            }
            Exp::Loop(looped) => {
                self.looped(stmt, looped)?;
                count = 2;
            }
            Exp::Op(op) => {
                for function in &op.functions {
                    self.operation(stmt, op, function)?;
                }
            }
            _ => {}
        }
        self.vacate(parts);
        self.leave(mark);
        Ok(count)
    }

    fn branch(
        &mut self,
        stmt: &'a Stmt,
        at: &mut usize,
        context: &[Var],
        fields: &[Param],
        body: &'a Body,
    ) -> Checked<()> {
        let (mark, facts) = (self.trail.len(), self.env.mark());
        let parts = self.occupied.len();
        self.params(context, fields);
        for field in fields {
            self.places(field)?;
        }
        self.stmts(body)?;
        self.given_at(stmt, *at)?;
        *at += 1;
        self.env.rewind_facts(facts);
        self.vacate(parts);
        self.leave(mark);
        Ok(())
    }

    fn looped(&mut self, stmt: &'a Stmt, looped: &'a Loop) -> Checked<()> {
        self.given_at(stmt, 0)?;
        let facts = self.env.mark();
        let known = self.known.mark();
        enter_loop(&mut self.env, looped);
        for (var, _) in &looped.context {
            self.core_integer(var);
        }
        let head = key(stmt).and_then(|key| self.memory.heads.get(key));
        for item in head.into_iter().flat_map(|head| &head.items) {
            match &item.inside {
                Some(inside) => self.bind_memory(inside, item.kind, None)?,
                None => {
                    return broken(
                        Rule::Heads,
                        format!("a loop hands on `{}`, which it does not hold", item.var),
                    );
                }
            }
        }
        for (param, _) in &looped.params {
            self.core_var(param);
            self.places(param)?;
        }
        match &looped.form {
            LoopForm::For { index, bound } => {
                self.core_var(index);
                if let Ok(bound) = self.env.size(bound) {
                    self.known.set(index.var.clone(), Range::below(&bound));
                    self.known.assume_nonneg(&bound - &Size::one());
                }
            }
            LoopForm::While(condition) => {
                let mark = self.trail.len();
                self.stmts(condition)?;
                self.leave(mark);
            }
        }
        self.stmts(&looped.body)?;
        self.given_at(stmt, 1)?;
        self.known.rewind(known);
        self.env.rewind_facts(facts);
        Ok(())
    }

    fn operation(&mut self, stmt: &'a Stmt, op: &'a Op, function: &'a Lambda) -> Checked<()> {
        let (mark, facts) = (self.trail.len(), self.env.mark());
        let index = key(stmt)
            .and_then(|key| self.memory.heads.get(key))
            .and_then(|head| head.index.clone());
        let parallel = op.prim == Prim::Map && op.annotation.level != Some(Level::Seq);
        let known = self.known.mark();
        if let Some(index) = &index {
            self.bind_memory(index, Kind::Integer, None)?;
            if let Some(count) = count(op, &self.env) {
                self.known.set(index.clone(), Range::below(&count));
                // Inside there is an iteration.
                self.known.assume_nonneg(&count - &Size::one());
                if parallel {
                    self.iterations.push(Iteration {
                        index: index.clone(),
                        count,
                    });
                }
            }
        }
        let pushed = parallel && index.is_some() && count(op, &self.env).is_some();
        self.params(&function.context, &function.params);
        for (param, below) in numbers(op, function, |var| self.iotas.get(var).copied()) {
            if let Ok(below) = self.env.size(below) {
                self.known.set(param.clone(), Range::below(&below));
            }
        }
        for param in &function.params {
            self.places(param)?;
        }
        self.rows(op, function, index.as_ref())?;
        for param in &function.params {
            self.is_there(&param.var);
        }
        self.results_of_iterations(stmt, op, index.as_ref());
        self.stmts(&function.body)?;
        if pushed {
            self.iterations.pop();
        }
        self.known.rewind(known);
        self.env.rewind_facts(facts);
        self.leave(mark);
        Ok(())
    }

    fn params(&mut self, context: &[Var], params: &[Param]) {
        enter_params(&mut self.env, context, params);
        context.iter().for_each(|var| self.core_integer(var));
        params.iter().for_each(|param| self.core_var(param));
    }

    fn pattern(&mut self, stmt: &'a Stmt) {
        enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
        stmt.pattern.context.iter().for_each(|var| self.core_integer(var));
        stmt.pattern.values.iter().for_each(|value| self.core_var(value));
        if let (Exp::Op(op), [value]) = (&stmt.exp, stmt.pattern.values.as_slice())
            && op.prim == Prim::Iota
        {
            self.iotas.insert(value.var.clone(), &stmt.exp);
        }
        if let Some((var, range)) = bounds(stmt, &self.env) {
            self.known.set(var, range);
        }
        if let Some((by, size)) = behind(stmt, &self.env) {
            self.show(&by, size);
        }
    }

    /// That array shows that a number is not negative.
    fn show(&mut self, by: &Var, size: Size) {
        let open = &self.open;
        self.shown.add(by, size, &self.known, |var| open.contains(var));
        self.open.insert(by.clone());
        self.trail.push(by.clone());
    }

    fn core_integer(&mut self, var: &Var) {
        self.known.set(var.clone(), Range::natural());
        self.integers.insert(var.clone());
        self.trail.push(var.clone());
    }

    fn core_var(&mut self, param: &Param) {
        if matches!(&param.ty, Type::Scalar(ty) if ty.is_integer()) {
            self.integers.insert(param.var.clone());
            self.trail.push(param.var.clone());
        }
        // Sizes of arrays are not negative.
        param.ty.for_each_dim(&mut |dim| {
            if let almach_core::Dim::Size(size) = dim
                && let Some(var) = self.env.normalise_size(size).as_var()
                && self.known.range(var).lower.is_none()
            {
                self.known.set(var.clone(), Range::natural());
            }
        });
        for size in sizes_shown(&self.env.normalise(&param.ty)) {
            self.show(&param.var, size);
        }
    }

    fn bind_memory(&mut self, var: &Var, kind: Kind, cells: Option<Size>) -> Checked<()> {
        if !self.seen.insert(var.clone()) {
            return broken(Rule::Scope, format!("`{var}` is bound twice"));
        }
        match kind {
            Kind::Block(element) => {
                let depth = self.iterations.len();
                self.blocks.insert(
                    var.clone(),
                    BlockInfo {
                        element,
                        cells,
                        depth,
                    },
                );
            }
            Kind::Integer => {
                self.integers.insert(var.clone());
            }
        }
        self.trail.push(var.clone());
        Ok(())
    }

    fn leave(&mut self, mark: usize) {
        for var in self.trail.drain(mark.min(self.trail.len())..) {
            self.integers.remove(&var);
            self.blocks.remove(&var);
            self.open.remove(&var);
        }
    }

    /// Notes where the rows of a `map` go, if the whole is inside its block.
    fn results_of_iterations(&mut self, stmt: &Stmt, op: &Op, index: Option<&Var>) {
        let (Prim::Map, Some(index)) = (op.prim, index) else {
            return;
        };
        let values = stmt.pattern.values.iter();
        let storage = values
            .filter_map(|value| self.memory().storage.get(&value.var))
            .flatten();
        let mut rows = Vec::new();
        for home in storage.filter_map(Storage::home) {
            if self.is_inside(home)
                && let Some(lmad) = home.lmad.index(&Size::var(index.clone()))
            {
                rows.push(Home {
                    block: home.block.clone(),
                    lmad,
                });
            }
        }
        rows.into_iter().for_each(|row| self.occupy(row));
    }
}

impl Scope for Checker<'_> {
    fn memory(&self) -> &Memory {
        self.memory
    }

    fn env(&self) -> &Env {
        &self.env
    }

    fn known(&self) -> &Ranges<Var> {
        &self.known
    }

    fn known_here(&self) -> Ranges<Var> {
        let mut known = self.known.clone();
        for (size, by) in &self.shown.sizes {
            if by.iter().any(|var| self.open.contains(var)) {
                known.assume_nonneg(size.clone());
            }
        }
        known
    }

    fn find_block(&self, var: &Var) -> Option<BlockInfo> {
        self.blocks.get(var).cloned()
    }

    fn has_integer(&self, var: &Var) -> bool {
        self.integers.contains(var)
    }

    fn iterations(&self) -> &[Iteration] {
        &self.iterations
    }

    fn is_occupied(&self, home: &Home) -> bool {
        let lmad = self.normalised(&home.lmad);
        let parts = self.parts.get(&home.block).into_iter().flatten();
        parts.rev().any(|part| same_cells(&self.normalised(part), &lmad))
    }

    fn later(&self) -> &Var {
        &self.later
    }
}
