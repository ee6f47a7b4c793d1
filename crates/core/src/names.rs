//! Words of the text form: scalar operators, keywords, and identifiers for variables and definitions.

use crate::ir::{Program, Var};
use crate::visit::{Walk, walk_function};
use almach_prim::Prim;
use almach_value::{BinOp, TernOp, UnOp};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

const KEYWORDS: [&str; 30] = [
    "array", "assert", "case", "ccall", "data", "do", "else", "end", "entry", "false", "for", "foreign",
    "fun", "if", "in", "let", "loop", "new", "node", "of", "rec", "slice", "sum", "then", "trace", "true",
    "vec", "while", "with", "_",
];

/// Operators of one argument are words here, so that a minus is always the sign of a constant.
pub fn unary_name(op: UnOp) -> &'static str {
    match op {
        UnOp::Neg => "neg",
        UnOp::Not => "not",
        UnOp::Complement => "complement",
        _ => op.name(),
    }
}

pub fn unary(name: &str) -> Option<UnOp> {
    UnOp::all().find(|op| unary_name(*op) == name)
}

/// How an operator of two arguments is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryForm {
    Infix,
    Prefix,
}

pub fn binary_form(op: BinOp) -> BinaryForm {
    if op.name().starts_with(|c: char| c.is_ascii_alphabetic()) {
        BinaryForm::Prefix
    } else {
        BinaryForm::Infix
    }
}

/// The operator of that name or symbol.
pub fn binary(form: BinaryForm, name: &str) -> Option<BinOp> {
    BinOp::ALL
        .into_iter()
        .find(|op| op.name() == name && binary_form(*op) == form)
}

pub fn ternary(name: &str) -> Option<TernOp> {
    (TernOp::Fma.name() == name).then_some(TernOp::Fma)
}

/// Words that no identifier may be.
pub fn is_reserved(word: &str) -> bool {
    static RESERVED: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let reserved = RESERVED.get_or_init(|| {
        let prims = Prim::ALL.iter().map(|prim| prim.name());
        let unary = UnOp::all().map(unary_name);
        let binary = BinOp::ALL.into_iter().map(BinOp::name);
        let words = KEYWORDS.into_iter().chain(prims).chain(unary).chain(binary);
        words.chain([TernOp::Fma.name()]).collect()
    });
    reserved.contains(word)
}

pub fn is_identifier(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(is_identifier_char)
        && !is_reserved(word)
}

pub fn is_identifier_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Identifiers that are in use.
#[derive(Default)]
struct Taken(HashSet<String>);

impl Taken {
    /// The name itself where it is free, else with its number.
    fn take(&mut self, name: &str, id: u32) -> String {
        let mut clean: String = name
            .chars()
            .map(|c| if is_identifier_char(c) { c } else { '_' })
            .collect();
        if !clean.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            clean.insert(0, 'v');
        }
        let mut chosen = clean.clone();
        if is_reserved(&chosen) || self.0.contains(&chosen) {
            chosen = format!("{clean}_{id}");
        }
        while self.0.contains(&chosen) {
            chosen.push('_');
        }
        self.0.insert(chosen.clone());
        chosen
    }
}

/// An identifier for everything a program binds.
#[derive(Default)]
pub struct Names {
    vars: HashMap<Var, String>,
    data: Vec<String>,
    foreign: Vec<String>,
    functions: Vec<String>,
}

impl Names {
    pub fn of(program: &Program) -> Names {
        Names::with_more(program, &[])
    }

    /// With names for variables that an annotation beside the program binds.
    pub fn with_more(program: &Program, more: &[Var]) -> Names {
        let mut vars = VarNames::default();
        for def in &program.foreign {
            def.context.iter().for_each(|var| vars.binder(var));
            def.params.iter().for_each(|param| vars.binder(&param.var));
            def.result.context.iter().for_each(|var| vars.binder(var));
        }
        for function in &program.functions {
            walk_function(&mut vars, function);
        }
        more.iter().for_each(|var| vars.binder(var));
        let all = |names: &mut dyn Iterator<Item = &str>| {
            let mut taken = Taken::default();
            let names = names.enumerate();
            names.map(|(id, name)| taken.take(name, id as u32)).collect()
        };
        Names {
            vars: vars.names,
            data: all(&mut program.data.iter().map(|def| def.name.as_str())),
            foreign: all(&mut program.foreign.iter().map(|def| def.name.as_str())),
            functions: all(&mut program.functions.iter().map(|def| def.name.as_str())),
        }
    }

    pub fn var(&self, var: &Var) -> String {
        self.vars.get(var).cloned().unwrap_or_else(|| var.to_string())
    }

    pub fn data(&self, id: u32) -> String {
        self.data
            .get(id as usize)
            .cloned()
            .unwrap_or_else(|| format!("data_{id}"))
    }

    pub fn foreign(&self, id: u32) -> String {
        self.foreign
            .get(id as usize)
            .cloned()
            .unwrap_or_else(|| format!("foreign_{id}"))
    }

    pub fn function(&self, id: u32) -> String {
        self.functions
            .get(id as usize)
            .cloned()
            .unwrap_or_else(|| format!("fun_{id}"))
    }
}

#[derive(Default)]
struct VarNames {
    taken: Taken,
    names: HashMap<Var, String>,
}

impl Walk for VarNames {
    fn binder(&mut self, var: &Var) {
        let name = self.taken.take(&var.name, var.id);
        self.names.insert(var.clone(), name);
    }
}
