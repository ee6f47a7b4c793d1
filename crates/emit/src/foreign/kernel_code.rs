//! What the user has written for kernels: functions of the device, in a language that is OpenCL C, or CUDA C++, or both.

use super::declare::{Structs, Way};
use super::prototype;
use crate::names::Scope;
use almach_base::Name;
use almach_imp::{Proc, Stmt};
use almach_value::ForeignType;
use std::collections::{BTreeMap, HashSet};

/// Text for kernels, and which foreign functions of a program it defines.
#[derive(Clone, Default, Debug)]
pub struct KernelCode {
    text: String,
    functions: HashSet<Name>,
    defined: Vec<ForeignType>,
}

impl KernelCode {
    pub fn new(text: &str, declared: &[ForeignType]) -> KernelCode {
        let words = without_comments(text);
        let defined = declared.iter().filter(|function| defines(&words, &function.name));
        let defined: Vec<ForeignType> = defined.cloned().collect();
        KernelCode {
            functions: defined.iter().map(|function| function.name.clone()).collect(),
            defined,
            text: text.to_owned(),
        }
    }

    pub fn functions(&self) -> &HashSet<Name> {
        &self.functions
    }

    /// Names that nothing else in kernels may have.
    pub(crate) fn take_names(&self, scope: &mut Scope) {
        self.functions.iter().for_each(|name| drop(scope.fresh(name)));
    }

    /// The text as kernels have it: behind what the program says of its functions, so that one of another type is an error.
    pub(crate) fn source<'p>(&self, procs: impl IntoIterator<Item = &'p Proc>) -> Option<String> {
        let mut called = BTreeMap::new();
        procs
            .into_iter()
            .for_each(|proc| collect(&proc.body, &mut called));
        if called.is_empty() {
            return None;
        }
        // What the text does not need for kernels must have its structs nevertheless.
        let mut structs = Structs::default();
        for function in &self.defined {
            prototype(function, Way::InKernel, &mut structs);
        }
        let lines: String = called
            .values()
            .map(|function| prototype(function, Way::InKernel, &mut structs))
            .collect();
        Some(format!(
            "/* Functions of the user's. */\n#if defined(__CUDACC__)\nextern \"C\" {{\n#endif\n{}{lines}\n{}\n\
             #if defined(__CUDACC__)\n}}\n#endif\n",
            structs.text,
            self.text.trim_end()
        ))
    }
}

/// The functions that kernels call.
fn collect<'p>(stmts: &'p [Stmt], called: &mut BTreeMap<&'p Name, &'p ForeignType>) {
    fn all<'p>(stmts: &'p [Stmt], called: &mut BTreeMap<&'p Name, &'p ForeignType>) {
        for stmt in stmts {
            if let Stmt::Foreign { function, .. } = stmt {
                called.insert(&function.name, function);
            }
            stmt.blocks().into_iter().for_each(|block| all(block, called));
        }
    }
    for stmt in stmts {
        match stmt {
            Stmt::Kernel { body, .. } => all(body, called),
            _ => stmt.blocks().into_iter().for_each(|block| collect(block, called)),
        }
    }
}

/// C with blanks for its comments, strings and characters.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' | '\'' => closing(rest, first),
            _ => {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or("");
                continue;
            }
        };
        out.push(' ');
        rest = rest.get(end..).unwrap_or("");
    }
    out
}

/// Where a string or character that starts here ends.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether there is `name ( … ) {`.
fn defines(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (
            text.get(..at).unwrap_or(""),
            text.get(at + name.len()..).unwrap_or(""),
        );
        let Some(params) = behind.trim_start().strip_prefix('(') else {
            return false;
        };
        let mut depth = 1;
        let end = params.find(|c: char| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0
        });
        let after = end.and_then(|end| params.get(end + 1..)).unwrap_or("");
        !before.ends_with(is_part) && after.trim_start().starts_with('{')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_and_calls_are_not() {
        let text = "/* void f(void) {} */ static double g(double x) { return f(x, (x)); }\nvoid\nhalve (double *r,\n double x)\n{ }";
        let words = without_comments(text);
        let found = ["f", "g", "halve", "alve"].map(|name| defines(&words, name));
        assert_eq!(found, [false, true, true, false]);
        assert!(!defines(&without_comments("\"f(x) {\" '\\'' f(void);"), "f"));
    }
}
