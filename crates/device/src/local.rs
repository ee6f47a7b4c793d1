//! Local memory that a program asks for (`toLocal`) has room in a group's: what it does not ask for may go elsewhere, but not this.
//!
//! ```text
//! par for i < n {
//!   buffer t: local f32        error: 262144 bytes, and a group has 32768
//!   alloc t[65536]
//! ```

use crate::groups::LOCAL_BYTES;
use almach_base::codes::runtime::OUT_OF_MEMORY;
use almach_base::{Diagnostic, Name, Span};
use almach_imp::{LoopMode, Proc, Space, Stmt};
use almach_value::ScalarType;
use std::collections::HashMap;

/// The groups that ask for too much.
pub(crate) fn too_large(procs: &[Proc]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for proc in procs {
        groups(&proc.body, &mut found);
    }
    found
}

fn groups(stmts: &[Stmt], found: &mut Vec<Diagnostic>) {
    for stmt in stmts {
        match stmt {
            Stmt::For {
                mode: LoopMode::Par,
                body,
                ..
            } => found.extend(group(body)),
            _ => stmt.blocks().into_iter().for_each(|block| groups(block, found)),
        }
    }
}

/// What one group asks for.
struct Asked<'s> {
    local: HashMap<&'s Name, ScalarType>,
    bytes: i64,
    /// The largest array, and where it is made.
    largest: (i64, Span),
}

fn group(body: &[Stmt]) -> Option<Diagnostic> {
    let mut asked = Asked {
        local: HashMap::new(),
        bytes: 0,
        largest: (0, Span::NONE),
    };
    asked.add(body);
    let over = asked.bytes.checked_sub(LOCAL_BYTES).filter(|over| *over > 0)?;
    let message = format!(
        "a group has {LOCAL_BYTES} bytes of local memory, and this needs {}: {over} too many",
        asked.bytes
    );
    Some(
        Diagnostic::error(OUT_OF_MEMORY, asked.largest.1, message)
            .help("split the work into smaller groups, or leave out `toLocal`: then global memory is used"),
    )
}

impl<'s> Asked<'s> {
    fn add(&mut self, stmts: &'s [Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Buffer {
                    name,
                    ty,
                    space: Space::Local,
                } => {
                    self.local.insert(name, *ty);
                }
                Stmt::Alloc { buffer, size, span } => {
                    let bytes = self
                        .local
                        .get(buffer)
                        .map(|ty| i64::try_from(ty.bytes()).unwrap_or(8));
                    let cells = size.as_constant();
                    if let (Some(bytes), Some(cells)) = (bytes, cells) {
                        let bytes = cells.max(0).saturating_mul(bytes);
                        self.bytes = self.bytes.saturating_add(bytes);
                        if bytes >= self.largest.0 {
                            self.largest = (bytes, *span);
                        }
                    }
                }
                _ => stmt.blocks().into_iter().for_each(|block| self.add(block)),
            }
        }
    }
}
