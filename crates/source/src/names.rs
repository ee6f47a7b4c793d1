//! Names of the source: every variable of the program has one of its own.

use almach_core::visit::{Walk, walk_function};
use almach_core::{DataId, ForeignId, FunId, Program, Var};
use almach_prim::{Prim, scalar_function};
use std::collections::{HashMap, HashSet};

/// Words that mean something where an expression or an item may stand.
const KEYWORDS: [&str; 29] = [
    "and", "as", "assert", "case", "data", "def", "do", "else", "entry", "false", "for", "foreach",
    "foreign", "if", "import", "in", "inf", "let", "loop", "nan", "of", "rec", "then", "trace", "true",
    "type", "vec", "while", "with",
];

/// The papers' names of operations at a level (`almach_syntax` reads them so).
const PAPER_NAMES: [&str; 8] = [
    "mapSeq",
    "mapVec",
    "mapPar",
    "reducePar",
    "scanSeq",
    "mapGlobal",
    "mapWorkgroup",
    "mapLocal",
];

/// The function that gives a size which an array has further in.
pub(crate) const INNER_SIZE: &str = "inner_size";

/// Whether a word cannot name a value.
pub fn is_keyword(word: &str) -> bool {
    let stem = word.strip_suffix(['0', '1', '2']).unwrap_or(word);
    KEYWORDS.contains(&word)
        || PAPER_NAMES.contains(&stem)
        || Prim::from_name(word).is_some()
        || scalar_function(word).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    Small,
    Capital,
}

/// Names in use, and how often a stem was asked for.
struct Taken {
    names: HashSet<String>,
    asked: HashMap<String, u32>,
}

impl Taken {
    fn new(names: &HashSet<String>) -> Taken {
        Taken {
            names: names.clone(),
            asked: HashMap::new(),
        }
    }

    /// The name as it is where it is free: others know what it names by it.
    fn keep(&mut self, name: &str, initial: Initial) -> String {
        let whole = identifier(name, initial);
        match self.is_free(&whole) {
            true => {
                self.names.insert(whole.clone());
                whole
            }
            false => self.take(name, initial),
        }
    }

    fn is_free(&self, name: &str) -> bool {
        !is_keyword(name) && !self.names.contains(name)
    }

    /// The name itself, without a number that was added before, where it is free, else with a number.
    fn take(&mut self, name: &str, initial: Initial) -> String {
        let stem = identifier(without_number(name), initial);
        let mut chosen = stem.clone();
        let mut number = self.asked.get(&stem).copied().unwrap_or(1);
        while !self.is_free(&chosen) {
            number += 1;
            chosen = format!("{stem}_{number}");
        }
        self.asked.insert(stem, number);
        self.names.insert(chosen.clone());
        chosen
    }
}

fn without_number(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('_') {
        Some(stem) if !stem.is_empty() && stem.len() + 1 < name.len() => stem,
        _ => name,
    }
}

/// The name with nothing in it that an identifier cannot have.
fn identifier(name: &str, initial: Initial) -> String {
    let clean: String = name
        .chars()
        .map(|c| {
            let fits = c.is_ascii_alphanumeric() || c == '_' || c == '\'';
            if fits { c } else { '_' }
        })
        .collect();
    let first = clean.chars().next().unwrap_or('_');
    match initial {
        Initial::Small if first.is_ascii_lowercase() => clean,
        Initial::Small if first.is_ascii_uppercase() => {
            let rest = clean.get(1..).unwrap_or("");
            format!("{}{rest}", first.to_ascii_lowercase())
        }
        Initial::Small => format!("x{clean}"),
        Initial::Capital if first.is_ascii_uppercase() => clean,
        Initial::Capital if first.is_ascii_lowercase() => {
            let rest = clean.get(1..).unwrap_or("");
            format!("{}{rest}", first.to_ascii_uppercase())
        }
        Initial::Capital => format!("T{clean}"),
    }
}

/// The names of everything a program binds.
pub(crate) struct Names {
    vars: HashMap<Var, String>,
    functions: Vec<String>,
    entries: Vec<String>,
    foreign: Vec<String>,
    data: Vec<String>,
    constructors: Vec<Vec<String>>,
}

struct VarNames<'n> {
    taken: &'n mut Taken,
    vars: HashMap<Var, String>,
}

impl Walk for VarNames<'_> {
    fn binder(&mut self, var: &Var) {
        let name = self.taken.take(&var.name, Initial::Small);
        self.vars.insert(var.clone(), name);
    }
}

impl Names {
    /// `entry_of` says which functions are printed as entries themselves.
    pub fn of(
        program: &Program,
        prelude: &HashSet<String>,
        entry_of: &dyn Fn(FunId) -> Option<usize>,
    ) -> Names {
        // C calls entries and is called by foreign functions by these names.
        let mut taken = Taken::new(&HashSet::new());
        let foreign = program.foreign.iter().map(|def| def.name.to_string());
        let foreign: Vec<String> = foreign.collect();
        taken.names.extend(foreign.iter().cloned());
        let entries = program.entries.iter();
        let entries: Vec<String> = entries
            .map(|entry| taken.keep(&entry.name, Initial::Small))
            .collect();
        taken.names.extend(prelude.iter().cloned());
        taken.names.insert(INNER_SIZE.to_owned());
        let mut functions = Vec::with_capacity(program.functions.len());
        for (id, function) in (0..).zip(&program.functions) {
            let entry = entry_of(FunId(id)).and_then(|at| entries.get(at));
            functions.push(match entry {
                Some(entry) => entry.clone(),
                None => taken.take(&function.name, Initial::Small),
            });
        }
        let mut vars = VarNames {
            taken: &mut taken,
            vars: HashMap::new(),
        };
        for def in &program.foreign {
            def.context.iter().for_each(|var| vars.binder(var));
        }
        for function in &program.functions {
            walk_function(&mut vars, function);
        }
        let vars = vars.vars;
        let mut types = Taken::new(&HashSet::new());
        let data = program.data.iter();
        let data: Vec<String> = data.map(|def| types.keep(&def.name, Initial::Capital)).collect();
        Names {
            vars,
            functions,
            entries,
            foreign,
            constructors: constructors(program, &data),
            data,
        }
    }

    pub fn var(&self, var: &Var) -> &str {
        self.vars.get(var).map_or("", String::as_str)
    }

    pub fn function(&self, id: FunId) -> &str {
        self.functions.get(id.0 as usize).map_or("", String::as_str)
    }

    pub fn entry(&self, at: usize) -> &str {
        self.entries.get(at).map_or("", String::as_str)
    }

    pub fn foreign(&self, id: ForeignId) -> &str {
        self.foreign.get(id.0 as usize).map_or("", String::as_str)
    }

    pub fn data(&self, id: DataId) -> &str {
        self.data.get(id.0 as usize).map_or("", String::as_str)
    }

    /// As it is used: with its type in front where several types have a constructor of the name.
    pub fn constructor(&self, id: DataId, at: u32) -> &str {
        let of_type = self.constructors.get(id.0 as usize);
        of_type
            .and_then(|names| names.get(at as usize))
            .map_or("", String::as_str)
    }
}

pub(crate) fn constructor_name(name: &str) -> String {
    identifier(name, Initial::Capital)
}

fn constructors(program: &Program, data: &[String]) -> Vec<Vec<String>> {
    let mut count: HashMap<String, u32> = HashMap::new();
    for constructor in program.data.iter().flat_map(|def| &def.constructors) {
        *count.entry(constructor_name(&constructor.name)).or_default() += 1;
    }
    let qualified = |ty: &String, name: String| match count.get(&name) {
        Some(1) => name,
        _ => format!("{ty}.{name}"),
    };
    let of_type = |(def, ty): (&almach_core::DataDef, &String)| {
        let names = def.constructors.iter();
        names
            .map(|it| qualified(ty, constructor_name(&it.name)))
            .collect()
    };
    program.data.iter().zip(data).map(of_type).collect()
}
