//! What the final program allocates and copies.

use almach_base::{Name, Span};
use almach_imp::ir::{Index, LoopMode, Program, Stmt};
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(super) struct Memory {
    pub allocations: Vec<(Span, String)>,
    pub copies: Vec<Copied>,
    /// What is read where it is.
    pub borrowed: Vec<(Span, String)>,
}

/// A copy, and what would help where the memory plan has none there.
pub(super) struct Copied {
    pub span: Span,
    pub text: String,
    pub advice: String,
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
            given: proc.params.iter().map(|param| param.name.clone()).collect(),
            stack: almach_emit::stack_buffers(proc),
            at: proc.span,
            loops: Loops::None,
            branches: 0,
        };
        walk.block(&proc.body);
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
    /// The caller's.
    given: HashSet<Name>,
    /// C arrays, if they have at most so many cells.
    stack: HashMap<Name, i64>,
    at: Span,
    loops: Loops,
    /// How many branches are around.
    branches: usize,
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
            Stmt::Copy { to, from, count, .. } => {
                let text = format!("{count} elements are copied from `{from}` to `{to}`");
                let advice = self.advice(from);
                let span = self.at;
                self.memory.copies.push(Copied { span, text, advice });
            }
            // What a branch made for it is said to be allocated.
            Stmt::Borrow {
                buffer, from, count, ..
            } if !from.starts_with(&format!("{buffer}_own")) => {
                let text = format!("`{buffer}` is {count} elements of `{from}`, read where they are");
                self.memory.borrowed.push((self.at, text));
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
                self.branches += 1;
                self.block(then);
                self.block(otherwise);
                self.branches -= 1;
            }
            _ => {}
        }
    }

    /// Why an array is not built where it is needed, and what would help.
    fn advice(&self, from: &Name) -> String {
        if self.given.contains(from) {
            return format!(
                "`{from}` is the caller's, and what is made here has a block of its own; an operation on it (`map`) would write there directly"
            );
        }
        match self.branches {
            0 => "the translation follows the memory plan through operations, loops and branches, not through calls whose results have sizes of their own, nor \
                  into jagged arrays and sums; an array that is made where it is used last is built in place"
                .to_owned(),
            _ => format!(
                "what the branches give is changed, passed to a call, or kept afterwards, and `{from}` is needed later; it costs nothing where \
                 `{from}` is not used again, or where what they give is only read by its indices"
            ),
        }
    }

    fn inside(&mut self, loops: Loops, body: &[Stmt]) {
        let outer = std::mem::replace(&mut self.loops, loops);
        self.block(body);
        self.loops = outer;
    }

    fn alloc(&mut self, buffer: &Name, size: &Index, span: Span) {
        if self.stack.contains_key(buffer) && size.as_constant().is_some() {
            return;
        }
        let span = if span.is_none() { self.at } else { span };
        let of = match self.types.get(buffer) {
            Some(ty) => format!(" of `{ty}`"),
            None => String::new(),
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
