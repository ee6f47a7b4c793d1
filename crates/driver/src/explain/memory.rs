//! What the final program allocates and copies, and how much it holds at once.

use super::Peak;
use almach_base::{Name, Span};
use almach_imp::ir::{Index, LoopMode, Program, Stmt};
use almach_value::ScalarType;
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Memory {
    pub allocations: Vec<(Span, String)>,
    pub copies: Vec<(Span, String)>,
    pub peaks: Vec<Peak>,
}

pub(super) fn of(program: &Program) -> Memory {
    let mut memory = Memory::default();
    // Procedures that only unpack arguments and pack results are the compiler's own.
    for proc in program
        .procs
        .iter()
        .filter(|proc| !proc.name.starts_with("entry_"))
    {
        let mut walk = Walk {
            memory: &mut memory,
            types: HashMap::new(),
            held: HashMap::new(),
            at: proc.span,
            loops: Loops::None,
            peak: Some(Index::zero()),
        };
        walk.block(&proc.body);
        let peak = walk.peak.filter(|peak| !peak.is_zero());
        if let Some(peak) = peak {
            memory.peaks.push(Peak {
                procedure: proc.name.to_string(),
                bytes: peak.to_string(),
            });
        }
    }
    memory
}

/// What is around a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loops {
    None,
    InOrder,
    Parallel,
}

struct Walk<'m> {
    memory: &'m mut Memory,
    types: HashMap<Name, ScalarType>,
    /// Bytes that buffers hold now.
    held: HashMap<Name, Index>,
    at: Span,
    loops: Loops,
    /// The most bytes so far; none where two sizes cannot be compared.
    peak: Option<Index>,
}

impl Walk<'_> {
    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::At(span) => self.at = *span,
            Stmt::Buffer { name, ty, .. } => {
                self.types.insert(name.clone(), *ty);
            }
            Stmt::Alloc { buffer, size, span } => self.alloc(buffer, size, *span),
            Stmt::Free(name) => {
                self.held.remove(name);
            }
            Stmt::Copy { to, from, count, .. } => {
                let text = format!("{count} elements are copied from `{from}` to `{to}`");
                self.memory.copies.push((self.at, text));
            }
            Stmt::For { mode, body, .. } => {
                let inside = match mode {
                    LoopMode::Seq => self.loops.max_with(Loops::InOrder),
                    _ => Loops::Parallel,
                };
                self.inside(inside, body);
            }
            Stmt::While { body, .. } => self.inside(self.loops.max_with(Loops::InOrder), body),
            Stmt::If { then, otherwise, .. } => {
                let before = self.held.clone();
                self.block(then);
                let after = std::mem::replace(&mut self.held, before);
                self.block(otherwise);
                self.held.extend(after);
            }
            _ => {}
        }
    }

    fn inside(&mut self, loops: Loops, body: &[Stmt]) {
        let outer = std::mem::replace(&mut self.loops, loops);
        self.block(body);
        self.loops = outer;
    }

    fn alloc(&mut self, buffer: &Name, size: &Index, span: Span) {
        let span = if span.is_none() { self.at } else { span };
        let ty = self.types.get(buffer).copied();
        let (bytes, of) = match ty {
            Some(ty) => (ty.bytes() as i64, format!(" of `{ty}`")),
            None => (1, String::new()),
        };
        let often = match self.loops {
            Loops::None => "",
            Loops::InOrder => ", in every iteration",
            Loops::Parallel => ", in every iteration of a parallel loop",
        };
        let elements = if size.as_constant() == Some(1) {
            "element"
        } else {
            "elements"
        };
        let text = format!("`{buffer}` is allocated: {size} {elements}{of}{often}");
        self.memory.allocations.push((span, text));
        if ty.is_none() || self.loops == Loops::Parallel {
            // The caller's memory, or as many as there are threads.
            if self.loops == Loops::Parallel {
                self.peak = None;
            }
            return;
        }
        self.held.insert(buffer.clone(), size * &Index::constant(bytes));
        let now = self.held.values().fold(Index::zero(), |sum, held| sum + held);
        self.peak = self.peak.take().and_then(|peak| larger(peak, now));
    }
}

impl Loops {
    fn max_with(self, other: Loops) -> Loops {
        match (self, other) {
            (Loops::Parallel, _) | (_, Loops::Parallel) => Loops::Parallel,
            (Loops::InOrder, _) | (_, Loops::InOrder) => Loops::InOrder,
            (Loops::None, Loops::None) => Loops::None,
        }
    }
}

/// The larger of two sizes, where one is so for all values of their variables.
fn larger(a: Index, b: Index) -> Option<Index> {
    let is_positive = |index: &Index| index.terms().iter().all(|(_, coefficient)| *coefficient >= 0);
    if is_positive(&(&a - &b)) {
        Some(a)
    } else if is_positive(&(&b - &a)) {
        Some(b)
    } else {
        None
    }
}
