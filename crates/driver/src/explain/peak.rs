//! The most memory that a call holds at once, as a formula in the sizes of its arguments.
//!
//! The final program is walked from the procedure of an entry, with calls, in the order in which it runs. A moment is what all
//! buffers hold then: the sum over those that are alive. Branches are followed each for itself; a loop until another iteration
//! brings nothing new; what iterations of a parallel loop allocate is held once per thread. The formula is the maximum over all
//! moments, without those that others cover whatever the sizes are.

mod formula;

pub use formula::{Precision, Predicted};

use crate::back::Lowered;
use almach_base::Name;
use almach_imp::interface::Entry;
use almach_imp::marshal::{Slot, arguments_to_slots};
use almach_imp::{Argument, Expr, Groups, Index, Passing, Proc, Program, Stmt};
use almach_nat::{Range, Ranges};
use almach_value::{BinOp, Scalar, Value};
use formula::{Block, Number, Reached, Shown, Sizes, Together, add};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// The most that a call of an entry holds at once: results included, arguments apart.
#[derive(Clone, Debug)]
pub struct Peak {
    pub entry: Name,
    /// The largest of these; or why there is no formula.
    most: Result<Vec<Together>, &'static str>,
    numbers: HashMap<Name, Number>,
    /// What users call the parameters of the entry's procedure.
    names: HashMap<Name, Name>,
}

/// The peak of each entry.
pub fn peaks(lowered: &Lowered) -> Vec<Peak> {
    let program = lowered.imp.program();
    let groups = Groups::of(program.procs.iter());
    let of = |entry: &Entry| {
        let mut walk = Walk {
            program,
            groups: &groups,
            states: vec![BTreeMap::new()],
            most: Vec::new(),
            numbers: HashMap::new(),
            names: HashMap::new(),
            taken: HashMap::new(),
            depth: 0,
        };
        let proc = program.proc(&entry.proc);
        let found = proc.map_or(Err("it has no procedure"), |proc| walk.entry(proc));
        Peak {
            entry: entry.name.clone(),
            most: found.map(|()| walk.most),
            numbers: walk.numbers,
            names: walk.names,
        }
    };
    lowered.entries.iter().map(of).collect()
}

impl Peak {
    /// In words.
    pub fn formula(&self) -> String {
        match &self.most {
            Ok(most) => {
                let shown = Shown {
                    most,
                    names: &self.names,
                    numbers: &self.numbers,
                };
                shown.to_string()
            }
            Err(why) => format!("not known: {why}"),
        }
    }

    /// For a call with these arguments; none where sizes that decide are known only when the program runs.
    pub fn predict(
        &self,
        program: &Program,
        entry: &Entry,
        arguments: &[Value],
        threads: usize,
    ) -> Option<Predicted> {
        let proc = program.proc(&entry.proc)?;
        let slots = arguments_to_slots(entry, arguments).ok()?;
        let mut given: HashMap<&Name, i64> = HashMap::new();
        for (param, slot) in proc.params.iter().zip(&slots) {
            match slot {
                Slot::Size(size) => given.insert(&param.name, *size),
                Slot::Scalar(Scalar::I64(value)) => given.insert(&param.name, *value),
                Slot::Scalar(_) | Slot::Buffer(_) => None,
            };
        }
        let sizes = Sizes {
            given: &|name| given.get(name).copied(),
            numbers: &self.numbers,
            threads: i64::try_from(threads).ok()?,
        };
        sizes.most(self.most.as_ref().ok()?)
    }
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.most {
            Ok(most) if most.is_empty() => write!(f, "`{}` allocates nothing", self.entry),
            Ok(_) => write!(
                f,
                "`{}` holds at once, arguments apart, at most {}; a block takes up to 191 bytes more, one of a megabyte up to two pages",
                self.entry,
                self.formula()
            ),
            Err(why) => write!(f, "how much `{}` holds at once has no formula: {why}", self.entry),
        }
    }
}

/// What buffers hold.
type Held = BTreeMap<Name, Block>;

type Walked = Result<(), &'static str>;

/// More moments, states or rounds than this and there is no formula worth reading.
const MOST_STATES: usize = 12;
const MOST_MOMENTS: usize = 24;
const MOST_ROUNDS: usize = 4;

struct Walk<'a> {
    program: &'a Program,
    groups: &'a Groups,
    /// What may be held now.
    states: Vec<Held>,
    most: Vec<Together>,
    numbers: HashMap<Name, Number>,
    names: HashMap<Name, Name>,
    /// Names of numbers, by the statement that makes them.
    taken: HashMap<(usize, Name), Name>,
    /// Loops and branches around.
    depth: usize,
}

/// A procedure that is being walked: its names in those of the entry.
struct Frame {
    values: HashMap<Name, Index>,
    buffers: HashMap<Name, Name>,
    widths: HashMap<Name, i64>,
    /// Buffers that are on the stack where they have at most so many cells.
    stack: HashMap<Name, i64>,
    /// Tells calls of a procedure apart.
    id: usize,
    is_entry: bool,
}

impl Frame {
    fn index(&self, index: &Index) -> Index {
        index.substitute(|name| self.values.get(name).cloned())
    }

    fn buffer(&self, name: &Name) -> Name {
        self.buffers.get(name).unwrap_or(name).clone()
    }
}

impl<'a> Walk<'a> {
    fn entry(&mut self, proc: &'a Proc) -> Walked {
        let mut frame = self.frame(proc, 0);
        frame.is_entry = true;
        self.block(&proc.body, &mut frame)
    }

    fn frame(&self, proc: &Proc, id: usize) -> Frame {
        let owned = proc.params.iter();
        let owned = owned.filter(|param| param.passing == Passing::Owned);
        Frame {
            values: HashMap::new(),
            buffers: HashMap::new(),
            widths: owned
                .map(|param| (param.name.clone(), param.ty.bytes() as i64))
                .collect(),
            stack: almach_emit::stack_buffers(proc),
            id,
            is_entry: false,
        }
    }

    fn block(&mut self, stmts: &'a [Stmt], frame: &mut Frame) -> Walked {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt, frame))
    }

    fn stmt(&mut self, stmt: &'a Stmt, frame: &mut Frame) -> Walked {
        match stmt {
            Stmt::Let { name, value, .. } | Stmt::Assign { name, value } => {
                self.bind(stmt, name, Some(value), frame);
            }
            Stmt::Var { name, value, .. } => self.bind(stmt, name, value.as_ref(), frame),
            Stmt::Buffer { name, ty, .. } => {
                frame.widths.insert(name.clone(), ty.bytes() as i64);
                let global = self.name_of(stmt, name, frame);
                frame.buffers.insert(name.clone(), global);
            }
            Stmt::Alloc { buffer, size, .. } => return self.alloc(buffer, size, frame),
            Stmt::Shrink { buffer, size } => self.shrink(buffer, size, frame),
            Stmt::Free(name) => {
                let name = frame.buffer(name);
                self.states.iter_mut().for_each(|held| {
                    held.remove(&name);
                });
            }
            Stmt::Swap(a, b) => {
                let (a, b) = (frame.buffer(a), frame.buffer(b));
                for held in &mut self.states {
                    let (first, second) = (held.remove(&a), held.remove(&b));
                    held.extend(first.map(|block| (b.clone(), block)));
                    held.extend(second.map(|block| (a.clone(), block)));
                }
            }
            Stmt::For {
                index,
                count,
                mode,
                body,
                ..
            } => {
                let count = frame.index(count);
                let bound = self.name_of(stmt, index, frame);
                frame.values.insert(index.clone(), Index::var(bound.clone()));
                return match mode.has_threads() {
                    true => self.parallel(stmt, body, &bound, &count, frame),
                    false => self.repeat(stmt, body, Some((&bound, &count)), frame),
                };
            }
            Stmt::Kernel { body, .. } => return self.block(body, frame),
            Stmt::While { body, .. } => return self.repeat(stmt, body, None, frame),
            Stmt::If { then, otherwise, .. } => return self.branches(stmt, [then, otherwise], frame),
            Stmt::Call { proc, arguments, .. } => return self.call(stmt, proc, arguments, frame),
            Stmt::Reserve { .. } => {
                return Err("it makes recursive data, and how much is known only when it runs");
            }
            Stmt::Foreign { arguments, .. } => {
                if arguments.iter().any(|one| matches!(one, Argument::Owned(_))) {
                    return Err("foreign functions give it arrays");
                }
            }
            Stmt::Atomic { step, .. } => {
                if let Some((name, _)) = step.bound() {
                    self.bind(stmt, name, None, frame);
                }
            }
            Stmt::Store { .. }
            | Stmt::Copy { .. }
            | Stmt::Borrow { .. }
            | Stmt::Await { .. }
            | Stmt::Barrier
            | Stmt::Transfer(_)
            | Stmt::Check { .. }
            | Stmt::Trace { .. }
            | Stmt::At(_) => {}
        }
        Ok(())
    }

    /// A name of the whole walk for what a statement binds.
    fn name_of(&mut self, stmt: &Stmt, name: &Name, frame: &Frame) -> Name {
        let key = (frame.id ^ std::ptr::from_ref(stmt).addr(), name.clone());
        if let Some(known) = self.taken.get(&key) {
            return known.clone();
        }
        let count = self.taken.keys().filter(|(_, other)| other == name).count();
        let new: Name = match count {
            0 => name.clone(),
            _ => format!("{name}'{count}").into(),
        };
        self.taken.insert(key, new.clone());
        new
    }

    fn bind(&mut self, stmt: &Stmt, name: &Name, value: Option<&Expr>, frame: &mut Frame) {
        let number = value.map_or(Number::Unknown, |value| number(value, frame));
        let index = match number {
            Number::Index(index) => index,
            number => {
                let known = self.name_of(stmt, name, frame);
                self.numbers.entry(known.clone()).or_insert(number);
                Index::var(known)
            }
        };
        frame.values.insert(name.clone(), index);
    }

    fn alloc(&mut self, buffer: &Name, size: &Index, frame: &Frame) -> Walked {
        let room = frame.stack.get(buffer).copied();
        if room.is_some() && size.as_constant().is_some() {
            return Ok(());
        }
        let width = frame.widths.get(buffer).copied().unwrap_or(1);
        let cells = frame.index(size);
        let buffer = frame.buffer(buffer);
        let reached = match self.depth {
            0 => Reached::Always,
            _ => Reached::Perhaps,
        };
        for held in &mut self.states {
            let cells = cells.clone();
            held.insert(buffer.clone(), Block { cells, width, room });
            let moment = Together {
                blocks: held.values().cloned().collect(),
                parallel: Vec::new(),
                reached,
            };
            add(&mut self.most, moment);
        }
        self.merged()
    }

    /// A block has at least as many cells as are kept of it.
    fn shrink(&mut self, buffer: &Name, size: &Index, frame: &Frame) {
        let (buffer, cells) = (frame.buffer(buffer), frame.index(size));
        for held in &mut self.states {
            let Some(block) = held.get_mut(&buffer) else {
                continue;
            };
            if let Some(var) = cells.as_var()
                && self
                    .numbers
                    .get(var)
                    .is_none_or(|known| *known == Number::Unknown)
            {
                self.numbers
                    .insert(var.clone(), Number::AtMost(block.cells.clone()));
            }
            block.cells = cells.clone();
        }
    }

    fn merged(&mut self) -> Walked {
        let mut different: Vec<Held> = Vec::new();
        for held in std::mem::take(&mut self.states) {
            if !different.contains(&held) {
                different.push(held);
            }
        }
        self.states = different;
        match self.states.len() > MOST_STATES || self.most.len() > MOST_MOMENTS {
            true => Err("too many branches differ in what they hold"),
            false => Ok(()),
        }
    }

    /// What is assigned inside is not known afterwards, nor in a loop before.
    fn forget(&mut self, stmt: &'a Stmt, bodies: &[&'a [Stmt]], frame: &mut Frame) {
        let mut assigned = HashSet::new();
        bodies.iter().for_each(|body| assigned_in(body, &mut assigned));
        let known: Vec<Name> = assigned
            .into_iter()
            .filter(|name| frame.values.contains_key(name))
            .collect();
        for name in known {
            let new = self.name_of(stmt, &name, frame);
            self.numbers.entry(new.clone()).or_insert(Number::Unknown);
            frame.values.insert(name, Index::var(new));
        }
    }

    fn branches(&mut self, stmt: &'a Stmt, bodies: [&'a Vec<Stmt>; 2], frame: &mut Frame) -> Walked {
        let before = self.states.clone();
        let values = frame.values.clone();
        let mut after = Vec::new();
        self.depth += 1;
        for body in bodies {
            self.states = before.clone();
            frame.values = values.clone();
            self.block(body, frame)?;
            after.append(&mut self.states);
        }
        self.depth -= 1;
        self.states = after;
        frame.values = values;
        self.forget(stmt, &bodies.map(Vec::as_slice), frame);
        self.merged()
    }

    fn repeat(
        &mut self,
        stmt: &'a Stmt,
        body: &'a [Stmt],
        index: Option<(&Name, &Index)>,
        frame: &mut Frame,
    ) -> Walked {
        self.forget(stmt, &[body], frame);
        self.depth += 1;
        let values = frame.values.clone();
        let mut stable = false;
        for _ in 0..MOST_ROUNDS {
            let before = self.states.clone();
            frame.values = values.clone();
            self.block(body, frame)?;
            if let Some((index, count)) = index {
                self.over_all(index, count);
            }
            let after = std::mem::replace(&mut self.states, before.clone());
            self.states.extend(after);
            self.merged()?;
            if self.states.len() == before.len() {
                stable = true;
                break;
            }
        }
        self.depth -= 1;
        frame.values = values;
        match stable {
            true => Ok(()),
            false => Err("what a loop holds grows from iteration to iteration"),
        }
    }

    /// Sizes that depend on the iteration are at most as in the largest one.
    fn over_all(&mut self, index: &Name, count: &Index) {
        let known = Ranges::naturals().with(index.clone(), Range::below(count));
        let bounded = |size: &mut Index| {
            if size.mentions(index)
                && let Some(bound) = known.upper_bound(size, &|var| var == index)
            {
                *size = bound;
            }
        };
        self.states
            .iter_mut()
            .flat_map(|held| held.values_mut())
            .for_each(|block| bounded(&mut block.cells));
        self.most
            .iter_mut()
            .for_each(|together| together.for_each_size(&bounded));
    }

    fn parallel(
        &mut self,
        stmt: &'a Stmt,
        body: &'a [Stmt],
        index: &Name,
        count: &Index,
        frame: &mut Frame,
    ) -> Walked {
        let outside = std::mem::replace(&mut self.states, vec![BTreeMap::new()]);
        let most = std::mem::take(&mut self.most);
        self.repeat(stmt, body, Some((index, count)), frame)?;
        let inside = std::mem::replace(&mut self.most, most);
        self.states = outside;
        if inside.is_empty() {
            return Ok(());
        }
        for held in &self.states {
            let moment = Together {
                blocks: held.values().cloned().collect(),
                parallel: vec![(count.clone(), inside.clone())],
                reached: Reached::Perhaps,
            };
            add(&mut self.most, moment);
        }
        self.merged()
    }

    fn call(&mut self, stmt: &'a Stmt, name: &Name, arguments: &[Argument], frame: &mut Frame) -> Walked {
        if self.groups.is_recursive(name) {
            return Err("it recurses, and how deep is known only when it runs");
        }
        let Some(proc) = self.program.proc(name) else {
            return Err("it calls a procedure that is not there");
        };
        let mut inner = self.frame(proc, frame.id ^ std::ptr::from_ref(stmt).addr().rotate_left(7));
        for (param, argument) in proc.params.iter().zip(arguments) {
            match argument {
                Argument::Value(value) => {
                    if let Some(var) = plain_name(value)
                        && frame.is_entry
                    {
                        self.names.entry(var.clone()).or_insert(param.name.clone());
                    }
                    if let Number::Index(index) = number(value, frame) {
                        inner.values.insert(param.name.clone(), index);
                    } else {
                        self.bind(stmt, &param.name, None, &mut inner);
                    }
                }
                Argument::Owned(buffer) => {
                    inner.buffers.insert(param.name.clone(), frame.buffer(buffer));
                }
                Argument::Out(_) | Argument::Buffer(..) => {}
            }
        }
        self.block(&proc.body, &mut inner)?;
        for (param, argument) in proc.params.iter().zip(arguments) {
            if let Argument::Out(name) = argument {
                match inner.values.get(&param.name) {
                    Some(value) => {
                        frame.values.insert(name.clone(), value.clone());
                    }
                    None => self.bind(stmt, name, None, frame),
                }
            }
        }
        Ok(())
    }
}

fn plain_name(value: &Expr) -> Option<&Name> {
    match value {
        Expr::Var(name) => Some(name),
        Expr::Index(index) => index.as_var(),
        _ => None,
    }
}

/// A number of a procedure in terms of the entry's.
fn number(value: &Expr, frame: &Frame) -> Number {
    match value {
        Expr::Const(Scalar::I64(value)) => Number::Index(Index::constant(*value)),
        Expr::Var(name) => Number::Index(
            frame
                .values
                .get(name)
                .cloned()
                .unwrap_or(Index::var(name.clone())),
        ),
        Expr::Index(index) => Number::Index(frame.index(index)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a, frame), number(b, frame));
            match (op, a, b) {
                (BinOp::Add, Number::Index(a), Number::Index(b)) => Number::Index(a + b),
                (BinOp::Sub, Number::Index(a), Number::Index(b)) => Number::Index(a - b),
                (BinOp::Mul, Number::Index(a), Number::Index(b)) => Number::Index(a * b),
                (BinOp::Div, a, Number::Index(by)) if by.as_constant() == Some(1) => a,
                (BinOp::Min, a, b) => Number::Of(*op, Box::new(a), Box::new(b)),
                (_, Number::Unknown, _) | (_, _, Number::Unknown) => Number::Unknown,
                (op, a, b) => Number::Of(*op, Box::new(a), Box::new(b)),
            }
        }
        Expr::Select(condition, then, otherwise) => {
            match [condition, then, otherwise].map(|part| number(part, frame)) {
                [Number::Unknown, ..] => Number::Unknown,
                [condition, then, otherwise] => {
                    Number::Chosen(Box::new(condition), Box::new(then), Box::new(otherwise))
                }
            }
        }
        _ => Number::Unknown,
    }
}

fn assigned_in(stmts: &[Stmt], out: &mut HashSet<Name>) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { name, .. } => {
                out.insert(name.clone());
            }
            Stmt::Call { arguments, .. } | Stmt::Foreign { arguments, .. } => {
                let written = arguments.iter().filter_map(Argument::written);
                out.extend(written.cloned());
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => assigned_in(body, out),
            Stmt::If { then, otherwise, .. } => {
                assigned_in(then, out);
                assigned_in(otherwise, out);
            }
            _ => {}
        }
    }
}
