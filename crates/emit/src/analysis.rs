//! What has to be known about a procedure before it is printed: which scalars are read, how buffers are used, and whether
//! it can fail.

use almach_base::Name;
use almach_imp::touch::has_kernel;
use almach_imp::{Argument, Expr, Groups, Index, Passing, Proc, Stmt, Touched, Transfer, is_column};
use almach_nat::Atom;
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};

/// Buffers of constant size up to this many bytes live on the stack.
const SMALL_BYTES: i64 = 2048;

/// Larger ones too, up to this size, as long as a function has few of them, and never in a frame of a recursion: there may be
/// a million of those. OpenMP's threads have small stacks on some systems.
const LARGE_BYTES: i64 = 16 * 1024;
const ALL_LARGE_BYTES: i64 = 64 * 1024;

/// Room on the stack for what has one cell for each of many elements: partial results of chunks are few, unless there are
/// very many elements.
const ROOM_BYTES: i64 = 4096;
const ELEMENTS_FOR_A_CELL: i64 = 4096;

/// And for what a loop allocates in every iteration: where that is little, the memory of the heap takes longer than the work.
const LOOP_ROOM_BYTES: i64 = 2048;

/// Where the cells of an owned buffer are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// A C array of so many cells.
    Stack(i64),
    /// A C array where so many cells are enough, else the heap.
    Room(i64),
    Heap {
        /// Whether it may hold cells when it is allocated or handed over.
        reused: bool,
    },
}

/// How the names of one procedure are used.
#[derive(Default, Debug)]
pub struct Uses {
    read: HashSet<Name>,
    /// Variables that are read where they are assigned.
    read_by_themselves: HashSet<Name>,
    buffers: HashMap<Name, BufferUse>,
    /// Names whose values decide how much is allocated.
    sizes: HashSet<Name>,
    /// What the values of scalars are made of.
    made_of: HashMap<Name, Vec<Name>>,
    /// Results that are assigned outside of nested blocks only, and not read.
    assigned_nested: HashSet<Name>,
    /// Whether rows of a store are reserved.
    reserves: bool,
    /// Buffers that are too large to be on the stack without looking at the others.
    large: HashMap<Name, Storage>,
    /// What constants are that were computed from sizes.
    indices: HashMap<Name, Index>,
    /// Where the statement stands that is being looked at.
    place: Place,
}

/// How a procedure waits for those that it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// On C's stack.
    Native,
    /// In a frame on a stack of its own.
    Frame,
}

#[derive(Default, Debug)]
struct BufferUse {
    allocations: usize,
    /// Swaps, and calls that allocate it.
    moves: usize,
    /// Whether all of those stand in the block that declares it.
    in_own_block: bool,
    constant_size: Option<i64>,
    /// How many elements there are for each of its cells, where that is known.
    elements_for_a_cell: Option<i64>,
    /// Its place among those of the procedure.
    number: usize,
    /// Whether kernels use it.
    on_device: bool,
    /// Whether some of its cells are given back.
    shrinks: bool,
    /// None for a parameter, whose cells the caller gets.
    ty: Option<ScalarType>,
    place: Place,
}

/// How often a statement may run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Place {
    #[default]
    Once,
    InLoop,
}

impl BufferUse {
    fn is_once(&self) -> bool {
        self.allocations + self.moves <= 1 && self.in_own_block
    }

    /// Whether its cells are allocated once, in the block that declares it, and stay its own.
    fn stays(&self) -> bool {
        self.is_once() && self.moves == 0 && !self.shrinks && !self.on_device
    }
}

impl Uses {
    pub fn of(proc: &Proc, waiting: Waiting) -> Uses {
        let mut uses = Uses::default();
        let mut declared = HashSet::new();
        for param in &proc.params {
            if param.passing == Passing::Owned {
                uses.declare(&param.name, None, &mut declared);
            }
        }
        uses.block(&proc.body, declared, Depth::Outermost);
        // The caller may allocate by what it gets.
        let results = proc.params.iter().filter(|param| param.passing == Passing::Out);
        uses.sizes.extend(results.map(|param| param.name.clone()));
        uses.close_sizes();
        if waiting == Waiting::Native {
            uses.place_large();
        }
        uses
    }

    /// Puts the larger buffers of constant size, and those that are likely small, on the stack as long as there is room.
    fn place_large(&mut self) {
        let mut buffers: Vec<(&Name, &BufferUse)> = self.buffers.iter().collect();
        buffers.sort_by_key(|(_, buffer)| buffer.number);
        let (mut left, mut large) = (ALL_LARGE_BYTES, HashMap::new());
        for (name, buffer) in buffers {
            let Some(ty) = buffer.ty.filter(|_| buffer.stays()) else {
                continue;
            };
            let width = ty.bytes() as i64;
            let is_large = SMALL_BYTES / width + 1..=LARGE_BYTES / width;
            let (storage, cells) = match (buffer.constant_size, buffer.elements_for_a_cell) {
                (Some(size), _) if is_large.contains(&size) => (Storage::Stack(size), size),
                (None, Some(elements)) if elements >= ELEMENTS_FOR_A_CELL => {
                    (Storage::Room(ROOM_BYTES / width), ROOM_BYTES / width)
                }
                (None, _) if buffer.place == Place::InLoop => {
                    (Storage::Room(LOOP_ROOM_BYTES / width), LOOP_ROOM_BYTES / width)
                }
                _ => continue,
            };
            if cells * width <= left {
                left -= cells * width;
                large.insert(name.clone(), storage);
            }
        }
        self.large = large;
    }

    /// How a statement uses names.
    pub fn of_statement(stmt: &Stmt) -> Uses {
        let mut uses = Uses::default();
        uses.stmt(stmt, &mut HashSet::new(), Depth::Nested);
        uses
    }

    /// Whether a name occurs at all.
    pub fn mentions(&self, name: &Name) -> bool {
        [&self.read, &self.read_by_themselves, &self.assigned_nested]
            .into_iter()
            .any(|names| names.contains(name))
            || self.buffers.contains_key(name)
    }

    /// Whether a buffer is declared, allocated, swapped or handed over.
    pub fn moves(&self, buffer: &Name) -> bool {
        self.buffers.contains_key(buffer)
    }

    /// Whether rows of stores are made, read or written.
    pub fn touches_stores(&self) -> bool {
        self.reserves || self.read.iter().any(|name| is_column(name))
    }

    /// Whether a name is used, but for giving itself a new value.
    pub fn is_read(&self, name: &Name) -> bool {
        self.read.contains(name)
    }

    /// Whether a result is only assigned, in the procedure's own block.
    pub fn is_only_assigned_at_top(&self, name: &Name) -> bool {
        let read = self.read.contains(name) || self.read_by_themselves.contains(name);
        !read && !self.assigned_nested.contains(name)
    }

    /// Whether a scalar's value decides how much is allocated, here or in a caller.
    pub fn is_size(&self, name: &Name) -> bool {
        self.sizes.contains(name)
    }

    fn close_sizes(&mut self) {
        let mut open: Vec<Name> = self.sizes.iter().cloned().collect();
        while let Some(name) = open.pop() {
            for part in self.made_of.remove(&name).unwrap_or_default() {
                if self.sizes.insert(part.clone()) {
                    open.push(part);
                }
            }
        }
    }

    fn defines(&mut self, name: &Name, value: &Expr) {
        scalars(value, self.made_of.entry(name.clone()).or_default());
    }

    pub fn storage(&self, buffer: &Name) -> Storage {
        let Some(found) = self.buffers.get(buffer) else {
            return Storage::Heap { reused: true };
        };
        if let Some(storage) = self.large.get(buffer) {
            return *storage;
        }
        let size = found.constant_size.filter(|_| found.stays());
        match (size, found.ty) {
            (Some(size), Some(ty)) if (0..=SMALL_BYTES / ty.bytes() as i64).contains(&size) => {
                Storage::Stack(size.max(1))
            }
            _ => Storage::Heap {
                reused: !found.is_once(),
            },
        }
    }

    /// Buffers that take no memory of the heap where they have at most so many cells.
    pub fn on_the_stack(&self) -> HashMap<Name, i64> {
        let names = self.buffers.keys();
        names
            .filter_map(|name| match self.storage(name) {
                Storage::Stack(cells) | Storage::Room(cells) => Some((name.clone(), cells)),
                Storage::Heap { .. } => None,
            })
            .collect()
    }

    fn declare(&mut self, name: &Name, ty: Option<ScalarType>, declared: &mut HashSet<Name>) {
        declared.insert(name.clone());
        let new = BufferUse {
            in_own_block: true,
            number: self.buffers.len(),
            ty,
            place: self.place,
            ..BufferUse::default()
        };
        self.buffers.insert(name.clone(), new);
    }

    fn block(&mut self, stmts: &[Stmt], mut declared: HashSet<Name>, depth: Depth) {
        for stmt in stmts {
            self.stmt(stmt, &mut declared, depth);
        }
    }

    fn nested(&mut self, stmts: &[Stmt]) {
        self.block(stmts, HashSet::new(), Depth::Nested);
    }

    fn repeated(&mut self, stmts: &[Stmt]) {
        let around = std::mem::replace(&mut self.place, Place::InLoop);
        self.nested(stmts);
        self.place = around;
    }

    fn stmt(&mut self, stmt: &Stmt, declared: &mut HashSet<Name>, depth: Depth) {
        match stmt {
            Stmt::At(_) => {}
            Stmt::Let { name, value, .. } => {
                if let Expr::Index(index) = value {
                    self.indices.insert(name.clone(), index.clone());
                }
                self.defines(name, value);
                self.expr(value);
            }
            Stmt::Var { name, value, .. } => {
                if let Some(value) = value {
                    self.defines(name, value);
                    self.expr(value);
                }
            }
            Stmt::Assign { name, value } => {
                self.defines(name, value);
                let before = self.read.contains(name);
                self.expr(value);
                // Compilers do not call that a use.
                if !before && self.read.remove(name) {
                    self.read_by_themselves.insert(name.clone());
                }
                if depth == Depth::Nested {
                    self.assigned_nested.insert(name.clone());
                }
            }
            Stmt::Store { buffer, index, value } => {
                self.read.insert(buffer.clone());
                self.index(index);
                self.expr(value);
            }
            Stmt::Buffer { name, ty, .. } => self.declare(name, Some(*ty), declared),
            Stmt::Alloc { buffer, size, .. } => {
                self.index(size);
                self.sizes.extend(size.free_vars().cloned());
                let here = declared.contains(buffer);
                let elements = self.elements_for_a_cell(size);
                let found = self.buffers.entry(buffer.clone()).or_default();
                found.allocations += 1;
                found.elements_for_a_cell = elements;
                found.in_own_block &= here;
                found.constant_size = size.as_constant();
            }
            Stmt::Shrink { buffer, size } => {
                self.index(size);
                self.buffers.entry(buffer.clone()).or_default().shrinks = true;
            }
            Stmt::Atomic {
                step, buffer, index, ..
            } => {
                self.read.insert(buffer.clone());
                self.index(index);
                step.value().into_iter().for_each(|value| self.expr(value));
            }
            Stmt::Await { buffer, index, value } => {
                self.read.insert(buffer.clone());
                self.index(index);
                self.expr(value);
            }
            Stmt::Reserve { count, .. } => {
                self.index(count);
                self.sizes.extend(count.free_vars().cloned());
                self.reserves = true;
            }
            Stmt::Free(_) | Stmt::Barrier => {}
            Stmt::Kernel { body, .. } => {
                let touched = Touched::of(body);
                for (buffer, _) in touched.free_cells().filter(|(name, _)| !is_column(name)) {
                    self.buffers.entry(buffer.clone()).or_default().on_device = true;
                }
                self.nested(body);
            }
            Stmt::Transfer(Transfer::Attach { buffer, size }) => {
                self.read.insert(buffer.clone());
                self.index(size);
            }
            Stmt::Transfer(Transfer::Copied { buffer: _, count }) => self.index(count),
            Stmt::Transfer(Transfer::Cell { column, index, .. }) => {
                self.read.insert(column.clone());
                self.index(index);
            }
            Stmt::Transfer(Transfer::Fetch { buffer, .. }) if is_column(buffer) => {
                self.read.insert(buffer.clone());
            }
            Stmt::Transfer(Transfer::Fresh { buffer } | Transfer::Fetch { buffer, .. }) => {
                self.buffers.entry(buffer.clone()).or_default().on_device = true;
                self.read.insert(buffer.clone());
            }
            Stmt::Borrow { from, first, .. } => {
                self.read.insert(from.clone());
                self.index(first);
            }
            Stmt::Swap(a, b) => {
                self.moved(a, declared);
                self.moved(b, declared);
            }
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                self.read.extend([to.clone(), from.clone()]);
                [to_index, from_index, count]
                    .into_iter()
                    .for_each(|index| self.index(index));
            }
            Stmt::For { count, body, .. } => {
                self.index(count);
                self.repeated(body);
            }
            Stmt::While { condition, body } => {
                self.expr(condition);
                self.repeated(body);
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                self.expr(condition);
                self.nested(then);
                self.nested(otherwise);
            }
            Stmt::Check {
                condition, arguments, ..
            } => {
                self.expr(condition);
                arguments.iter().for_each(|argument| self.expr(argument));
            }
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => arguments.iter().for_each(|argument| match argument {
                Argument::Value(value) => self.expr(value),
                Argument::Out(name) => {
                    self.assigned_nested.insert(name.clone());
                }
                Argument::Buffer(name, index) => {
                    self.read.insert(name.clone());
                    self.index(index);
                }
                Argument::Owned(name) => self.moved(name, declared),
            }),
        }
    }

    /// The divisor of a size that is a quotient.
    fn elements_for_a_cell(&self, size: &Index) -> Option<i64> {
        let size = size
            .as_var()
            .and_then(|name| self.indices.get(name))
            .unwrap_or(size);
        match size.as_atom()? {
            Atom::Quotient(ratio) => ratio.divisor.as_constant(),
            Atom::Var(_) | Atom::Remainder(_) | Atom::Unfolded(_) => None,
        }
    }

    fn moved(&mut self, buffer: &Name, declared: &HashSet<Name>) {
        let here = declared.contains(buffer);
        let found = self.buffers.entry(buffer.clone()).or_default();
        found.moves += 1;
        found.in_own_block &= here;
    }

    fn index(&mut self, index: &Index) {
        self.read.extend(index.free_vars().cloned());
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Var(name) => {
                self.read.insert(name.clone());
            }
            Expr::Index(index) => self.index(index),
            Expr::Load(buffer, index) => {
                self.read.insert(buffer.clone());
                self.index(index);
            }
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| self.expr(e)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|e| self.expr(e))
            }
        }
    }
}

/// The scalars in an expression that its value is computed from.
fn scalars(expr: &Expr, into: &mut Vec<Name>) {
    match expr {
        Expr::Const(_) | Expr::Load(..) => {}
        Expr::Var(name) => into.push(name.clone()),
        Expr::Index(index) => into.extend(index.free_vars().cloned()),
        Expr::Unary(_, a) => scalars(a, into),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| scalars(e, into)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|e| scalars(e, into))
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Outermost,
    Nested,
}

/// What a procedure's callers need to know.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traits {
    /// It may end with an error.
    pub fails: bool,
    /// It has a parallel loop, or calls a procedure that has.
    pub parallel: bool,
    /// It starts kernels, or calls a procedure that does.
    pub kernels: bool,
    /// It works on stores, or calls a procedure that does.
    pub stores: bool,
}

/// The traits of all procedures: the least that is consistent with who calls whom. A recursion may be too deep.
pub fn traits(procs: &[(&Proc, Uses)], groups: &Groups) -> HashMap<Name, Traits> {
    let mut found: HashMap<Name, Traits> = HashMap::new();
    loop {
        let mut changed = false;
        for (proc, uses) in procs {
            let now = Traits {
                fails: groups.is_recursive(&proc.name) || fails(&proc.body, uses, &found),
                parallel: is_parallel(&proc.body, &found),
                kernels: has_kernel(&proc.body) || calls_one(&proc.body, &found, |traits| traits.kernels),
                stores: uses.touches_stores() || calls_one(&proc.body, &found, |traits| traits.stores),
            };
            changed |= found.insert(proc.name.clone(), now) != Some(now);
        }
        if !changed {
            return found;
        }
    }
}

/// Whether statements may end the call with an error.
pub fn fails(stmts: &[Stmt], uses: &Uses, known: &HashMap<Name, Traits>) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Check { .. } | Stmt::Reserve { .. } => true,
        Stmt::Kernel { .. } => true,
        Stmt::Transfer(Transfer::Attach { .. } | Transfer::Fetch { .. } | Transfer::Cell { .. }) => true,
        // Arrays that a function gives are checked and copied.
        Stmt::Foreign { arguments, .. } => arguments
            .iter()
            .any(|argument| matches!(argument, Argument::Owned(_))),
        Stmt::Alloc { buffer, .. } => !matches!(uses.storage(buffer), Storage::Stack(_)),
        Stmt::Call { proc, .. } => known.get(proc).is_some_and(|traits| traits.fails),
        Stmt::For { body, .. } | Stmt::While { body, .. } => fails(body, uses, known),
        Stmt::If { then, otherwise, .. } => fails(then, uses, known) || fails(otherwise, uses, known),
        _ => false,
    })
}

/// Whether a procedure with some trait is called.
fn calls_one(stmts: &[Stmt], known: &HashMap<Name, Traits>, wanted: impl Fn(&Traits) -> bool) -> bool {
    let mut called = Vec::new();
    almach_imp::naturals::calls(stmts, &mut called);
    called.into_iter().filter_map(|name| known.get(name)).any(wanted)
}

fn is_parallel(stmts: &[Stmt], known: &HashMap<Name, Traits>) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::For { mode, .. } if mode.has_threads() => true,
        Stmt::Call { proc, .. } => known.get(proc).is_some_and(|traits| traits.parallel),
        Stmt::For { body, .. } | Stmt::While { body, .. } => is_parallel(body, known),
        Stmt::If { then, otherwise, .. } => is_parallel(then, known) || is_parallel(otherwise, known),
        _ => false,
    })
}

/// Whether a loop's body is made of what a vector unit can do: no calls and no memory from the heap.
pub fn is_simple(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Check { .. } | Stmt::Call { .. } | Stmt::Alloc { .. } | Stmt::Free(_) | Stmt::Swap(..) => false,
        Stmt::Buffer { .. } | Stmt::Shrink { .. } | Stmt::While { .. } | Stmt::Reserve { .. } => false,
        Stmt::Borrow { .. } => false,
        Stmt::Foreign { .. } | Stmt::Trace { .. } => false,
        Stmt::Atomic { .. } | Stmt::Await { .. } | Stmt::Barrier => false,
        Stmt::Kernel { .. } | Stmt::Transfer(_) => false,
        Stmt::For { body, mode, .. } => !mode.has_threads() && is_simple(body),
        Stmt::If { then, otherwise, .. } => is_simple(then) && is_simple(otherwise),
        Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } => true,
        Stmt::Copy { .. } | Stmt::At(_) => true,
    })
}

/// The procedures that are reached from some, in the program's order.
pub fn reachable<'a>(procs: &'a [Proc], from: impl IntoIterator<Item = &'a Name>) -> Vec<&'a Proc> {
    let by_name: HashMap<&Name, &Proc> = procs.iter().map(|proc| (&proc.name, proc)).collect();
    let mut seen: HashSet<&Name> = HashSet::new();
    let mut open: Vec<&Name> = from.into_iter().collect();
    while let Some(name) = open.pop() {
        if seen.insert(name)
            && let Some(proc) = by_name.get(name)
        {
            almach_imp::naturals::calls(&proc.body, &mut open);
        }
    }
    procs.iter().filter(|proc| seen.contains(&proc.name)).collect()
}
