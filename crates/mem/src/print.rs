//! Memory as text: Core's own text, with what is beside it. [`crate::parse`] reads what this prints.
//!
//! ```text
//! fun main @{xs_mem: f32, out out_mem: f32 = ys_mem} {n} (xs: [n]f32 @ xs_mem -> 0 + {(n : 1)}): [n]f32 =
//!   let ys_mem: mem = alloc f32 (n)
//!   let @{for i} ys: [n]f32 @ ys_mem -> 0 + {(n : 1)} = map …
//!   let @{z_mem: f32 = ys_mem | alloc (n)} z: [n]f32 @ z_mem -> 0 + {(n : 1)} = if c: [n]f32 then …
//!   let @{w_mem: f32 of v_mem = z_mem | u_mem} w: [n]f32 @ w_mem -> … = loop (v: [n]f32 @ v_mem -> … = z) …
//!   let is: [n]i64 @ view = iota n
//!   let @{s: i64, t, d: f32} xss: [n][?]f32 @ rows s -> 0 + {(n + 1 : 1)} of (d -> 0 + {(t : 1)}) = unflatten …
//! ```
//!
//! - `@{…}` before a pattern binds what the statement hands on beside it: blocks with their element type, integers, the number of
//!   the iteration (`for i`). After `=`, what they are at the end of each branch; of a loop (`of` names what holds it inside),
//!   before the first iteration and after each.
//! - `@ block -> offset + {(length : stride), …}` after a type says where it is; components of tuples are separated by `&`.
//!   Without one, it is held elsewhere. Rows of their own lengths have a place for where they begin, and places for their elements.
//!   What a branch has in no block, the statement brings into one (`found`), and finds out how many elements there are.
//! - After a function's name: the blocks and integers of its parameters, then `out`: the blocks of its results.

use crate::ir::{Annotated, Given, Home, Item, Kind, Memory, Storage, key};
use almach_core::names::Names;
use almach_core::print::{Beside, program_with};
use almach_core::{Size, Stmt, Var};
use std::fmt::Write;

pub fn annotated_to_string(program: &Annotated) -> String {
    program_with(&program.core, &program.memory)
}

impl Beside for Memory {
    fn vars(&self) -> Vec<Var> {
        let mut vars = Vec::new();
        for function in &self.functions {
            vars.extend(function.context.iter().map(|(var, _)| var.clone()));
            vars.extend(function.results.iter().map(|item| item.var.clone()));
        }
        vars.extend(self.allocs.values().flatten().map(|alloc| alloc.block.clone()));
        for head in self.heads.values() {
            vars.extend(head.index.clone());
            for item in &head.items {
                vars.push(item.var.clone());
                vars.extend(item.inside.clone());
            }
        }
        vars.sort();
        vars
    }

    fn of_function(&self, id: u32, names: &Names) -> String {
        let Some(function) = self.functions.get(id as usize) else {
            return String::new();
        };
        let mut parts: Vec<String> = function
            .context
            .iter()
            .map(|(var, kind)| bound(var, *kind, names))
            .collect();
        parts.extend(
            function
                .results
                .iter()
                .map(|result| format!("out {}", item(result, names))),
        );
        match parts.is_empty() {
            true => String::new(),
            false => format!(" @{{{}}}", parts.join(", ")),
        }
    }

    fn before(&self, stmt: &Stmt, names: &Names) -> Vec<String> {
        let allocs = key(stmt).and_then(|key| self.allocs.get(key));
        let line = |alloc: &crate::ir::Alloc| {
            let (block, cells) = (names.var(&alloc.block), size(&alloc.cells, names));
            format!("let {block}: mem = alloc {} ({cells})", alloc.element)
        };
        allocs.map_or_else(Vec::new, |allocs| allocs.iter().map(line).collect())
    }

    fn of_stmt(&self, stmt: &Stmt, names: &Names) -> String {
        let Some(head) = key(stmt).and_then(|key| self.heads.get(key)) else {
            return String::new();
        };
        let index = head.index.iter().map(|index| format!("for {}", names.var(index)));
        let parts: Vec<String> = index
            .chain(head.items.iter().map(|one| item(one, names)))
            .collect();
        format!("@{{{}}} ", parts.join(", "))
    }

    fn of_var(&self, var: &Var, names: &Names) -> String {
        let Some(storage) = self.storage.get(var) else {
            return String::new();
        };
        if storage.iter().all(|storage| *storage == Storage::Held) {
            return String::new();
        }
        let parts: Vec<String> = storage.iter().map(|storage| place(storage, names)).collect();
        format!(" @ {}", parts.join(" & "))
    }
}

fn place(storage: &Storage, names: &Names) -> String {
    match storage {
        Storage::View => "view".to_string(),
        Storage::Held => "held".to_string(),
        Storage::Placed(at) => home(at, names),
        Storage::Rows(rows) => {
            let elements: Vec<String> = rows.elements.iter().map(|one| place(one, names)).collect();
            format!(
                "rows {} of ({})",
                home(&rows.segments, names),
                elements.join(" & ")
            )
        }
    }
}

fn home(home: &Home, names: &Names) -> String {
    let mut out = format!(
        "{} -> {} + {{",
        names.var(&home.block),
        size(&home.lmad.offset, names)
    );
    for (at, dim) in home.lmad.dims.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(
            out,
            "{comma}({} : {})",
            size(&dim.length, names),
            size(&dim.stride, names)
        );
    }
    out.push('}');
    out
}

fn bound(var: &Var, kind: Kind, names: &Names) -> String {
    match kind {
        Kind::Block(element) => format!("{}: {element}", names.var(var)),
        Kind::Integer => names.var(var),
    }
}

fn item(item: &Item, names: &Names) -> String {
    let mut out = bound(&item.var, item.kind, names);
    if let Some(inside) = &item.inside {
        let _ = write!(out, " of {}", names.var(inside));
    }
    for (at, given) in item.given.iter().enumerate() {
        out.push_str(if at == 0 { " = " } else { " | " });
        match given {
            Given::Block(block) => out.push_str(&names.var(block)),
            Given::Alloc(cells) => {
                let _ = write!(out, "alloc ({})", size(cells, names));
            }
            Given::Integer(value) => out.push_str(&size(value, names)),
            Given::Found => out.push_str("found"),
        }
    }
    out
}

fn size(size: &Size, names: &Names) -> String {
    size.display(|var, f| f.write_str(&names.var(var))).to_string()
}
