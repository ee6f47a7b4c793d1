//! How long a program takes, estimated from its Imp and the sizes of its arguments: scalar operations, memory that has to come
//! from farther away than the next cache, allocations, threads.
//!
//! The thesis' model (Fig. 6.1) counts what is allocated. This one also knows loops: how often each runs, whether lanes can share its
//! iterations, and in which strides it walks memory, so that it can tell a transposition that is read across from one that is
//! stored, and a tile from a row.
//!
//! Numbers are cycles of a present processor, roughly. They are for comparing programs, not for telling times.

use almach_base::Name;
use almach_driver::back::{Lowered, Target};
use almach_imp::interface::Entry;
use almach_imp::marshal::{Slot, arguments_to_slots};
use almach_imp::{Argument, Expr, Index, LoopMode, Passing, Proc, Program, Stmt};
use almach_strategy::weights;
use almach_value::{BinOp, Scalar, ScalarType, Value};
use std::collections::HashMap;

/// What a call costs.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// Cycles of arithmetic and control.
    pub work: f64,
    /// Cycles that memory takes, beside those.
    pub memory: f64,
    /// Blocks that are allocated, how often each is.
    pub allocations: f64,
    /// Bytes that are allocated in all.
    pub allocated: f64,
}

impl Cost {
    /// An allocation, and the first touch of its pages.
    const ALLOCATION: f64 = 100.0;
    const FIRST_TOUCH: f64 = 0.15;

    pub fn cycles(&self) -> f64 {
        self.work + self.memory + Self::ALLOCATION * self.allocations + Self::FIRST_TOUCH * self.allocated
    }

    fn add(&mut self, other: Cost, times: f64) {
        self.work += other.work * times;
        self.memory += other.memory * times;
        self.allocations += other.allocations * times;
        self.allocated += other.allocated * times;
    }
}

/// Bytes of a cache, and the cycles that a byte takes which is not in it.
const CACHES: [(f64, f64); 3] = [(32e3, 0.02), (1e6, 0.05), (24e6, 0.15)];
const LINE: f64 = 64.0;

/// Bytes that lanes work on at once.
const LANES: f64 = 32.0;

/// What one operation waits for the one before, where each needs the result of the last.
const LATENCY: f64 = 4.0;

/// A loop whose number of iterations is not known, a call of what is not known.
const UNKNOWN: f64 = weights::UNKNOWN as f64;

/// How deep calls are followed.
const DEPTH: usize = 8;

/// The sizes and numbers that a call is given, and what runs it.
pub struct Estimate<'a> {
    arguments: &'a [Value],
    threads: f64,
}

impl<'a> Estimate<'a> {
    /// For calls with these arguments on so many threads.
    pub fn new(arguments: &'a [Value], target: Target, threads: usize) -> Estimate<'a> {
        Estimate {
            arguments,
            threads: match target {
                Target::C => 1.0,
                Target::OpenMp | Target::OpenCl | Target::Cuda => threads.max(1) as f64,
            },
        }
    }

    /// What a call of the one entry of a program costs.
    pub fn of(&self, lowered: &Lowered) -> Cost {
        let program = lowered.imp.program();
        let found = lowered.entries.first();
        let Some((entry, proc)) = found.and_then(|entry| Some((entry, program.proc(&entry.proc)?))) else {
            return Cost::default();
        };
        let mut walk = Walk {
            program,
            threads: self.threads,
            values: self.values(entry, proc),
            widths: widths(proc),
            loops: Vec::new(),
            depth: 0,
        };
        walk.block(&proc.body)
    }

    /// The values of an entry's parameters that are numbers.
    fn values(&self, entry: &Entry, proc: &Proc) -> HashMap<Name, i64> {
        let slots = arguments_to_slots(entry, self.arguments).unwrap_or_default();
        let params = proc.params.iter().zip(slots);
        let number = |(param, slot): (&almach_imp::Param, Slot)| match slot {
            Slot::Size(size) => Some((param.name.clone(), size)),
            Slot::Scalar(scalar) => Some((param.name.clone(), integer(scalar)?)),
            Slot::Buffer(_) => None,
        };
        params.filter_map(number).collect()
    }
}

fn integer(scalar: Scalar) -> Option<i64> {
    i64::try_from(scalar.as_integer()?).ok()
}

/// The bytes of an element of every buffer parameter.
fn widths(proc: &Proc) -> HashMap<Name, f64> {
    let buffers = proc.params.iter().filter(|param| match param.passing {
        Passing::Read | Passing::Write | Passing::Owned => true,
        Passing::Value | Passing::Out => false,
    });
    buffers
        .map(|param| (param.name.clone(), bytes_of(param.ty)))
        .collect()
}

fn bytes_of(ty: ScalarType) -> f64 {
    ty.bytes() as f64
}

/// A loop around, with how often it runs.
struct Around {
    index: Name,
    count: f64,
}

struct Walk<'p> {
    program: &'p Program,
    threads: f64,
    /// Numbers that are known; the index of a loop is in its middle.
    values: HashMap<Name, i64>,
    widths: HashMap<Name, f64>,
    /// From the outermost.
    loops: Vec<Around>,
    depth: usize,
}

impl Walk<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Cost {
        let mut cost = Cost::default();
        for stmt in stmts {
            cost.add(self.stmt(stmt), 1.0);
        }
        cost
    }

    fn stmt(&mut self, stmt: &Stmt) -> Cost {
        match stmt {
            Stmt::Let { name, value, .. } | Stmt::Assign { name, value } => {
                let cost = self.expr(value);
                self.learn(name, Some(value));
                cost
            }
            Stmt::Var { name, value, .. } => {
                let cost = value
                    .as_ref()
                    .map_or_else(Cost::default, |value| self.expr(value));
                self.learn(name, value.as_ref());
                cost
            }
            Stmt::Store { buffer, index, value } => {
                let mut cost = self.expr(value);
                cost.add(self.access(buffer, index), 1.0);
                cost
            }
            Stmt::Buffer { name, ty, .. } => {
                self.widths.insert(name.clone(), bytes_of(*ty));
                Cost::default()
            }
            Stmt::Alloc { buffer, size, .. } => Cost {
                allocations: 1.0,
                allocated: self.number(size) * self.width(buffer),
                ..Cost::default()
            },
            Stmt::Copy { to, count, .. } => {
                let bytes = self.number(count) * self.width(to);
                Cost {
                    work: 8.0 + bytes / LANES,
                    memory: 2.0 * bytes * latency_of(bytes),
                    ..Cost::default()
                }
            }
            Stmt::For {
                index,
                count,
                mode,
                body,
                ..
            } => self.looped(index, count, *mode, body),
            Stmt::While { condition, body } => {
                let mut once = self.block(body);
                once.add(self.expr(condition), 1.0);
                let mut cost = Cost::default();
                cost.add(once, UNKNOWN);
                cost
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => self.branch(condition, then, otherwise),
            Stmt::Check { condition, .. } => {
                let mut cost = self.expr(condition);
                cost.work += 1.0;
                cost
            }
            Stmt::Call { proc, arguments, .. } => self.call(proc, arguments),
            Stmt::Kernel { body, .. } => self.block(body),
            Stmt::Foreign { .. } | Stmt::Trace { .. } => work(UNKNOWN),
            Stmt::Atomic {
                step, buffer, index, ..
            } => {
                let mut cost = self.access(buffer, index);
                if let Some(value) = step.value() {
                    cost.add(self.expr(value), 1.0);
                }
                cost.work += 20.0;
                cost
            }
            Stmt::Await { .. } | Stmt::Reserve { .. } | Stmt::Barrier => work(20.0),
            Stmt::Shrink { .. }
            | Stmt::Borrow { .. }
            | Stmt::Free(_)
            | Stmt::Swap(..)
            | Stmt::Transfer(_)
            | Stmt::At(_) => Cost::default(),
        }
    }

    /// The value of a number, where it has one that is known here.
    fn learn(&mut self, name: &Name, value: Option<&Expr>) {
        match value.and_then(|value| self.value(value)) {
            Some(value) => self.values.insert(name.clone(), value),
            None => self.values.remove(name),
        };
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Const(scalar) => integer(*scalar),
            Expr::Var(name) => self.values.get(name).copied(),
            Expr::Index(index) => self.known(index),
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match op {
                    BinOp::Add => left.checked_add(right),
                    BinOp::Sub => left.checked_sub(right),
                    BinOp::Mul => left.checked_mul(right),
                    BinOp::Div => left.checked_div(right),
                    BinOp::Rem => left.checked_rem(right),
                    BinOp::Min => Some(left.min(right)),
                    BinOp::Max => Some(left.max(right)),
                    _ => None,
                }
            }
            Expr::Load(..) | Expr::Unary(..) | Expr::Ternary(..) | Expr::Select(..) => None,
        }
    }

    fn known(&self, index: &Index) -> Option<i64> {
        index.eval(&|name| self.values.get(name).copied())
    }

    /// A size or a number of iterations.
    fn number(&self, index: &Index) -> f64 {
        self.known(index).map_or(UNKNOWN, |known| known.max(0) as f64)
    }

    fn width(&self, buffer: &Name) -> f64 {
        self.widths.get(buffer).copied().unwrap_or(8.0)
    }

    fn looped(&mut self, index: &Name, count: &Index, mode: LoopMode, body: &[Stmt]) -> Cost {
        let count = self.number(count);
        if count == 0.0 {
            return work(1.0);
        }
        self.values.insert(index.clone(), (count / 2.0) as i64);
        self.loops.push(Around {
            index: index.clone(),
            count,
        });
        let once = self.block(body);
        self.loops.pop();
        self.values.remove(index);
        let shape = Shape::of(body);
        let mut times = count;
        let mut cost = work(2.0);
        // On lanes, where the C compiler finds them too.
        let lanes = match (mode, shape) {
            (LoopMode::Simd, _) | (_, Shape::Straight) => LANES / self.widest(body),
            (_, Shape::Carried | Shape::Nested) => 1.0,
        };
        if mode.has_threads() {
            times /= self.threads.min(count);
            cost.work += 5000.0 * (self.threads - 1.0).min(1.0);
        }
        let mut each = once;
        each.work = match shape {
            Shape::Carried if mode == LoopMode::Seq => (once.work + 1.0).max(LATENCY),
            _ => once.work / lanes.max(1.0) + 1.0 / lanes.max(1.0),
        };
        cost.add(each, times);
        cost
    }

    /// Bytes of the widest element that the statements touch.
    fn widest(&self, body: &[Stmt]) -> f64 {
        let mut widest: f64 = 4.0;
        for stmt in body {
            let mut buffers = Vec::new();
            if let Stmt::Store { buffer, .. } = stmt {
                buffers.push(buffer.clone());
            }
            stmt.for_each_expr(&mut |expr| loads(expr, &mut buffers));
            for buffer in buffers {
                widest = widest.max(self.width(&buffer));
            }
        }
        widest
    }

    fn branch(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Cost {
        let mut cost = self.expr(condition);
        cost.work += 1.0;
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        // The expensive one is what the program is about; the other handles an edge.
        let (more, less) = match then.cycles() >= otherwise.cycles() {
            true => (then, otherwise),
            false => (otherwise, then),
        };
        cost.add(more, 0.9);
        cost.add(less, 0.1);
        cost
    }

    fn call(&mut self, proc: &Name, arguments: &[Argument]) -> Cost {
        let (program, Some(callee)) = (self.program, self.program.proc(proc)) else {
            return work(UNKNOWN);
        };
        if self.depth == DEPTH {
            return work(UNKNOWN);
        }
        let mut inner = Walk {
            program,
            threads: self.threads,
            values: HashMap::new(),
            widths: widths(callee),
            loops: Vec::new(),
            depth: self.depth + 1,
        };
        for (param, argument) in callee.params.iter().zip(arguments) {
            if let Argument::Value(value) = argument
                && let Some(value) = self.value(value)
            {
                inner.values.insert(param.name.clone(), value);
            }
        }
        let mut cost = inner.block(&callee.body);
        cost.work += 10.0;
        cost
    }

    fn expr(&self, expr: &Expr) -> Cost {
        match expr {
            Expr::Const(_) | Expr::Var(_) => Cost::default(),
            Expr::Index(_) => work(1.0),
            Expr::Load(buffer, index) => self.access(buffer, index),
            Expr::Unary(op, a) => self.operation(weights::unary(*op), &[a]),
            Expr::Binary(op, a, b) => self.operation(weights::binary(*op), &[a, b]),
            Expr::Ternary(_, a, b, c) => self.operation(1, &[a, b, c]),
            Expr::Select(a, b, c) => self.operation(1, &[a, b, c]),
        }
    }

    fn operation(&self, own: u64, arguments: &[&Expr]) -> Cost {
        let mut cost = work(own as f64);
        for argument in arguments {
            cost.add(self.expr(argument), 1.0);
        }
        cost
    }

    /// One access of a cell: what it takes on average over all iterations of the loops around.
    fn access(&self, buffer: &Name, index: &Index) -> Cost {
        let width = self.width(buffer);
        let mut memory = 0.0;
        for (size, cycles) in CACHES {
            memory += self.traffic(index, width, size) * cycles;
        }
        Cost {
            work: 0.5,
            memory,
            ..Cost::default()
        }
    }

    /// Bytes that an access brings into a cache of that size, on average.
    fn traffic(&self, index: &Index, width: f64, cache: f64) -> f64 {
        // What the inner loops touch, as long as it stays in the cache; the loops around bring it anew.
        let (mut touched, mut runs) = (width, 1.0);
        for around in self.loops.iter().rev() {
            let stride = self.stride(index, &around.index).abs() * width;
            let more = match stride {
                0.0 => touched,
                // Next to each other, or in the same lines.
                s if s <= touched.max(LINE) => touched + s * (around.count - 1.0),
                _ => touched.max(LINE) * around.count,
            };
            if more > cache {
                // It does not stay, and each iteration brings its own.
                let once = match stride {
                    0.0 => touched,
                    s if s < LINE => touched.min(s.max(width)),
                    _ => touched.max(LINE),
                };
                return once / runs;
            }
            touched = more;
            runs *= around.count;
        }
        // All of it stays: it comes once.
        touched / runs
    }

    /// How many cells one iteration of a loop moves an access.
    fn stride(&self, index: &Index, around: &Name) -> f64 {
        if !index.mentions(around) {
            return 0.0;
        }
        let at = |step: i64| {
            index.eval(&|name| {
                let value = self.values.get(name).copied();
                match name == around {
                    true => value.map(|value| value + step),
                    false => value,
                }
            })
        };
        match (at(0), at(1)) {
            (Some(here), Some(next)) => (next - here) as f64,
            // An index from memory: anywhere.
            _ => 1024.0,
        }
    }
}

fn work(work: f64) -> Cost {
    Cost {
        work,
        ..Cost::default()
    }
}

/// Cycles for a byte of so many that are walked once.
fn latency_of(bytes: f64) -> f64 {
    let missed = CACHES.iter().filter(|(size, _)| bytes > *size);
    missed.map(|(_, cycles)| cycles).sum()
}

fn loads(expr: &Expr, found: &mut Vec<Name>) {
    match expr {
        Expr::Load(buffer, _) => found.push(buffer.clone()),
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
        Expr::Unary(_, a) => loads(a, found),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| loads(part, found)),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
            [a, b, c].into_iter().for_each(|part| loads(part, found));
        }
    }
}

/// What decides whether lanes can share the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Scalars are computed and cells are written.
    Straight,
    /// A variable goes from iteration to iteration, or something may end the loop.
    Carried,
    /// It holds loops, branches or calls.
    Nested,
}

impl Shape {
    fn of(body: &[Stmt]) -> Shape {
        let mut shape = Shape::Straight;
        for stmt in body {
            let here = match stmt {
                Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Store { .. } | Stmt::At(_) => Shape::Straight,
                Stmt::Assign { .. } | Stmt::Check { .. } => Shape::Carried,
                _ => return Shape::Nested,
            };
            if here == Shape::Carried {
                shape = Shape::Carried;
            }
        }
        shape
    }
}
