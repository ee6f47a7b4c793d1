//! Data types, foreign functions, functions and entries.

use crate::names::{Names, constructor_name};
use crate::parts::{Part, node_type, part, with_parameter};
use crate::records::{Borders, differs, without_sizes};
use crate::types::{Unnamed, Writing};
use crate::uses::Uses;
use almach_core::visit::{Walk, walk_exp, walk_function};
use almach_core::{
    DataDef, DataId, Dim, Entry, Exp, ForeignDef, ForeignId, FunId, Function, Param, Program, Recursive,
    Type, Var,
};
use almach_value::ValueType;
use std::collections::HashSet;
use std::fmt::Write;

/// Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => {{
        let _ = write!($out, $($format)*);
    }};
}
pub(crate) use put;

pub(crate) struct Printer<'p> {
    pub program: &'p Program,
    pub names: Names,
    pub uses: Uses,
    pub borders: Borders,
    /// The entry that a function is printed as.
    entry_of: Vec<Option<usize>>,
    /// Functions that can come back to themselves by calls.
    recursive: Vec<Recursive>,
}

impl<'p> Printer<'p> {
    pub fn new(program: &'p Program, taken: &HashSet<String>) -> Printer<'p> {
        let calls = Calls::of(program);
        let entry_of: Vec<Option<usize>> = (0..program.functions.len() as u32)
            .map(|id| calls.only_entry(program, FunId(id)))
            .collect();
        let entry = |id: FunId| entry_of.get(id.0 as usize).copied().flatten();
        Printer {
            program,
            names: Names::of(program, taken, &entry),
            uses: Uses::of(program),
            borders: Borders::of(program),
            recursive: (0..program.functions.len())
                .map(|at| calls.recursive(at))
                .collect(),
            entry_of,
        }
    }

    pub fn program(&self) -> String {
        let mut out = String::new();
        for (id, def) in (0..).zip(&self.program.data) {
            self.data(DataId(id), def, &mut out);
        }
        for (id, def) in (0..).zip(&self.program.foreign) {
            self.foreign(ForeignId(id), def, &mut out);
        }
        for (id, function) in (0..).zip(&self.program.functions) {
            if self.entry_of.get(id as usize).copied().flatten().is_none() {
                out.push('\n');
                self.function(FunId(id), function, None, &mut out);
            }
        }
        // Entries keep their order.
        for (at, entry) in self.program.entries.iter().enumerate() {
            out.push('\n');
            let function = self.program.functions.get(entry.function.0 as usize);
            match function.filter(|_| self.entry_of.contains(&Some(at))) {
                Some(function) => self.function(entry.function, function, Some(at), &mut out),
                None => self.entry(at, entry, &mut out),
            }
        }
        out
    }

    fn data(&self, id: DataId, def: &DataDef, out: &mut String) {
        // A sum in nodes has the constructors of the one that holds positions, and of that its parameter.
        let (of, def, parameter) = match part(self.program, id) {
            Some(Part::Whole { .. }) => return,
            Some(Part::Positions { whole }) => match self.program.data.get(whole.0 as usize) {
                Some(def) => (whole, def, " 't"),
                None => return,
            },
            None => (id, def, ""),
        };
        put!(out, "data {}{parameter} =", self.names.data(id));
        let writing = Writing {
            hidden: &|_| false,
            unnamed: Unnamed::Inferred,
        };
        for (at, constructor) in (0..).zip(&def.constructors) {
            put!(out, "\n  | {}", constructor_name(&constructor.name));
            for (field_at, field) in constructor.fields.iter().enumerate() {
                let border = self.borders.field(of, at, field_at);
                let ty = self
                    .ty(&without_sizes(field), border, &writing)
                    .unwrap_or_default();
                let ty = match node_type(self.program, of).filter(|_| of != id) {
                    Some(node) => with_parameter(&ty, self.names.data(node)),
                    None => ty,
                };
                let is_atomic = matches!(field, Type::Scalar(_) | Type::Tuple(_) | Type::Data(_));
                match is_atomic {
                    true => put!(out, " {ty}"),
                    false => put!(out, " ({ty})"),
                }
            }
        }
        out.push('\n');
    }

    fn foreign(&self, id: ForeignId, def: &ForeignDef, out: &mut String) {
        let writing = Writing {
            hidden: &|var| def.result.context.contains(var),
            unnamed: Unnamed::Inferred,
        };
        put!(out, "foreign {} : ", self.names.foreign(id));
        for param in &def.params {
            let ty = self.ty(&param.ty, None, &writing).unwrap_or_default();
            put!(out, "{ty} -> ");
        }
        let results: Vec<String> = def
            .result
            .types
            .iter()
            .map(|ty| self.ty(ty, None, &writing).unwrap_or_default())
            .collect();
        put!(out, "{}\n", several(&results));
    }

    /// A function, as the entry that it is where it is nothing else.
    fn function(&self, id: FunId, function: &Function, entry_at: Option<usize>, out: &mut String) {
        let entry = entry_at.and_then(|at| self.program.entries.get(at));
        match (entry_at, self.recursive.get(id.0 as usize)) {
            (Some(at), _) => put!(out, "entry {}", self.names.entry(at)),
            (None, Some(Recursive::Yes)) => put!(out, "def rec {}", self.names.function(id)),
            (None, _) => put!(out, "def {}", self.names.function(id)),
        }
        self.sizes(&function.context, &function.params, out);
        for (at, param) in function.params.iter().enumerate() {
            let border = entry.and_then(|entry| entry.params.get(at)).map(|(_, ty)| ty);
            self.param(param, border, out);
        }
        let border = entry.map(|entry| &entry.result);
        if let Some(ty) = self.result_type(function, border) {
            put!(out, ": {ty}");
        }
        out.push_str(" =\n");
        if let Some(entry) = entry {
            self.border_parameters(&function.params, &entry.params, out);
        }
        let result = self.tuple(&function.body.values);
        let result = match border {
            Some(border) => self.to_border(result, function, border),
            None => result,
        };
        self.body_giving(&function.body, &result, out);
        out.push('\n');
    }

    /// Sizes that parameters show are listed, others are passed.
    fn sizes(&self, context: &[Var], params: &[Param], out: &mut String) {
        for var in context {
            let name = self.names.var(var);
            match is_shown(var, params) {
                true => put!(out, " [{name}]"),
                false => put!(out, " ({name}: i64)"),
            }
        }
    }

    fn param(&self, param: &Param, border: Option<&ValueType>, out: &mut String) {
        let name = self.names.var(&param.var);
        let writing = Writing {
            hidden: &|_| false,
            unnamed: Unnamed::Inferred,
        };
        match self.ty(&param.ty, border, &writing) {
            Some(ty) => put!(out, " ({name}: {ty})"),
            None => put!(out, " {name}"),
        }
    }

    fn result_type(&self, function: &Function, border: Option<&ValueType>) -> Option<String> {
        let writing = Writing {
            hidden: &|var| function.result.context.contains(var),
            unnamed: Unnamed::Unknown,
        };
        self.several_types(&function.result.types, border, &writing)
    }

    fn several_types(
        &self,
        types: &[Type],
        border: Option<&ValueType>,
        writing: &Writing<'_>,
    ) -> Option<String> {
        match types {
            [ty] => self.ty(ty, border, writing),
            // The values of several results are the components of what the border shows.
            _ => self.ty(&Type::Tuple(types.to_vec()), border, writing),
        }
    }

    /// Parameters that the border shows as records become tuples.
    fn border_parameters(
        &self,
        params: &[Param],
        border: &[(almach_base::Name, ValueType)],
        out: &mut String,
    ) {
        let writing = Writing {
            hidden: &|_| false,
            unnamed: Unnamed::Inferred,
        };
        for (param, (_, border)) in params.iter().zip(border) {
            if differs(&param.ty, border)
                && let Some(ty) = self.ty(&param.ty, None, &writing)
            {
                let name = self.names.var(&param.var);
                put!(out, "let {name} = {name} :> {ty} in\n");
            }
        }
    }

    fn to_border(&self, result: String, function: &Function, border: &ValueType) -> String {
        let whole = whole_result(function);
        let writing = Writing {
            hidden: &|var| function.result.context.contains(var),
            unnamed: Unnamed::Inferred,
        };
        if differs(&whole, border)
            && let Some(ty) = self.ty(&whole, Some(border), &writing)
        {
            return format!("{result} :> {ty}");
        }
        result
    }

    /// An entry whose function is used from elsewhere as well.
    fn entry(&self, at: usize, entry: &Entry, out: &mut String) {
        let Some(function) = self.program.functions.get(entry.function.0 as usize) else {
            return;
        };
        put!(out, "entry {}", self.names.entry(at));
        self.sizes(&function.context, &function.params, out);
        for (param, (_, border)) in function.params.iter().zip(&entry.params) {
            self.param(param, Some(border), out);
        }
        if let Some(ty) = self.result_type(function, Some(&entry.result)) {
            put!(out, ": {ty}");
        }
        out.push_str(" =\n");
        self.border_parameters(&function.params, &entry.params, out);
        let mut call = self.names.function(entry.function).to_owned();
        for param in &function.params {
            put!(call, " {}", self.names.var(&param.var));
        }
        put!(out, "{}\n", self.to_border(call, function, &entry.result));
    }
}

/// None as `()`, one as it is, several as a tuple.
pub(crate) fn several(items: &[String]) -> String {
    match items {
        [item] => item.clone(),
        _ => format!("({})", items.join(", ")),
    }
}

fn whole_result(function: &Function) -> Type {
    match function.result.types.as_slice() {
        [ty] => ty.clone(),
        types => Type::Tuple(types.to_vec()),
    }
}

/// Whether an argument shows the size: a dimension of it is the size alone.
pub(crate) fn is_shown(var: &Var, params: &[Param]) -> bool {
    let mut found = false;
    for param in params {
        param.ty.for_each_dim(&mut |dim| {
            found |= matches!(dim, Dim::Size(size) if size.as_var() == Some(var));
        });
    }
    found
}

/// Who calls whom.
struct Calls(Vec<HashSet<u32>>);

impl Calls {
    fn of(program: &Program) -> Calls {
        let of_function = |function: &Function| {
            let mut found = Callees(HashSet::new());
            walk_function(&mut found, function);
            found.0
        };
        Calls(program.functions.iter().map(of_function).collect())
    }

    /// The one entry of a function, where those who call the function see it as the entry shows it.
    fn only_entry(&self, program: &Program, id: FunId) -> Option<usize> {
        let function = program.functions.get(id.0 as usize)?;
        let mut entries = program.entries.iter().enumerate();
        let (at, entry) = entries.find(|(_, entry)| entry.function == id)?;
        let is_called = self.0.iter().any(|callees| callees.contains(&id.0));
        let params = function.params.iter().zip(&entry.params);
        let shown_otherwise = params
            .clone()
            .any(|(param, (_, border))| differs(&param.ty, border))
            || differs(&whole_result(function), &entry.result);
        let is_recursive = self.recursive(id.0 as usize) == Recursive::Yes;
        let has_more = entries.any(|(_, entry)| entry.function == id);
        let hidden = has_more || is_recursive || (is_called && shown_otherwise);
        (!hidden).then_some(at)
    }

    fn recursive(&self, at: usize) -> Recursive {
        let mut reached: HashSet<u32> = HashSet::new();
        let mut work: Vec<u32> = self.0.get(at).into_iter().flatten().copied().collect();
        while let Some(next) = work.pop() {
            if reached.insert(next) {
                work.extend(self.0.get(next as usize).into_iter().flatten());
            }
        }
        match reached.contains(&(at as u32)) {
            true => Recursive::Yes,
            false => Recursive::No,
        }
    }
}

struct Callees(HashSet<u32>);

impl Walk for Callees {
    fn exp(&mut self, exp: &Exp) {
        if let Exp::Call { function, .. } = exp {
            self.0.insert(function.0);
        }
        walk_exp(self, exp);
    }
}
