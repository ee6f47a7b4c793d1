//! Fusion: an operation takes over the work of the one that makes its input, so that the input is never made.
//!
//! ```text
//! let ys: [n]f32 = map (\(x: f32): f32 ->       let zs: [n]f32 = map (\(x: f32): f32 ->
//!   let a: f32 = x * 2.0f32                       let a: f32 = x * 2.0f32
//!   in a) xs                                  =>  let y: f32 = a
//! let zs: [n]f32 = map (\(y: f32): f32 ->         let b: f32 = y + 1.0f32
//!   let b: f32 = y + 1.0f32                       in b) xs
//!   in b) ys
//! ```
//!
//! | consumer | producer | becomes |
//! | --- | --- | --- |
//! | `map f … ys …` | `ys = map g xs…` | `map` of both bodies, unless both are products of matrices |
//! | `map f … ps …` | `ps = zip xs ys` | `map` over `xs` and `ys` |
//! | `map f … rs …` | `rs = replicate n c` | `map` over the others, `c` for the element |
//! | `reduceSeq f e ys` | `ys = map g xs…` | `reduceSeq` of both bodies, over a `zip` where there are several arrays |
//! | `map`, `reduce` … of `ys` | `ys = gather is xs` | the same of `map (\i -> xs[i]) is`, which the rules above take further |
//! | `reduce f e ps` | `ps = zip xs ys`, one of them by `map` | the same of a `map` that makes the pairs |
//! | an element of `ys` | `ys = map g xs…` | `g` of an element of each, where that is little work |
//! | a slice, `take`, `drop` of `ys` | `ys = map g xs…` | `map` over slices |
//! | `scan`, `filter` … of `ys` | `ys = map g xs`, `gather is xs` | nothing here: a strategy reads through it (`map@S`, `gather@S`) |
//! | `map f … ys …` | `ys = scan g e xs`, `filter p xs` | nothing here: a strategy writes through the map (`scan@S`, `filter@S`) |
//! | `filter p ys` | `ys = filter q xs` | `filter` whose predicate asks `q`, then `p` |
//!
//! A parallel `reduce` or `scan` combines results with results, so it cannot take a map into its operator; the strategy
//! splits it into chunks, each a `reduceSeq`, and those fuse (NOVA, section 4.3; DPIA, section 6.3).
//!
//! Both operations stand in one body and the producer has no other use, so no work is repeated. Fixed operations
//! are left alone, and so is what prints.
//!
//! Removes: operations between others. Introduces: copies. Guarantees: each function is still applied to the same
//! elements; a predicate is asked only where it was.

mod elements;
mod filters;
mod folds;
mod gathers;
mod maps;
mod pairs;
mod slices;

use crate::facts::Facts;
use crate::sizes::size_matching;
use crate::{Log, Pass};
use almach_base::Span;
use almach_core::typing::Supply;
use almach_core::visit::{Substitution, UseCounts, WalkMut, walk_stmt_mut};
use almach_core::{Atom, Body, Dim, Exp, Function, Op, Param, Pattern, Program, Stmt, Type, Var};
use almach_prim::Prim;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "fusion",
    description: "fuses operations with those that make their inputs",
    run,
};

pub fn run(mut program: Program, log: &mut Log) -> Program {
    let mut facts = Facts::of(&program);
    let mut supply = Supply::starting_at(program.next_var);
    for function in &mut program.functions {
        fuse_function(function, &mut facts, &mut supply, log);
    }
    program.next_var = supply.next_var();
    program
}

fn fuse_function(function: &mut Function, facts: &mut Facts, supply: &mut Supply, log: &mut Log) {
    let uses = UseCounts::of_function(function);
    let mut fuser = Fuser {
        uses,
        looked_at: HashMap::new(),
        facts,
        supply,
        log,
    };
    fuser.body(&mut function.body);
}

/// What becomes of the producer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Producer {
    Goes,
    Stays,
}

struct Fuser<'a> {
    uses: UseCounts,
    /// How many uses of a map were elements that are computed elsewhere now.
    looked_at: HashMap<Var, usize>,
    facts: &'a mut Facts,
    supply: &'a mut Supply,
    log: &'a mut Log,
}

impl WalkMut for Fuser<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut stmts: Vec<Option<Stmt>> = Vec::with_capacity(body.stmts.len());
        let mut made_by: HashMap<Var, usize> = HashMap::new();
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            let element = self.element_of_map(&mut stmt, &stmts, &made_by);
            stmts.extend(element.into_iter().map(Some));
            self.absorb(&mut stmt, &mut stmts, &made_by);
            for value in &stmt.pattern.values {
                made_by.insert(value.var.clone(), stmts.len());
            }
            stmts.push(Some(stmt));
        }
        body.stmts = stmts.into_iter().flatten().collect();
    }
}

impl Fuser<'_> {
    /// Fuses a statement with producers of its inputs until none is left. Statements it needs in front are put
    /// before it.
    fn absorb(&mut self, stmt: &mut Stmt, before: &mut Vec<Option<Stmt>>, made_by: &HashMap<Var, usize>) {
        while let Some(setup) = self.absorb_map_into_slice(stmt, before, made_by) {
            before.extend(setup.into_iter().map(Some));
        }
        loop {
            let Exp::Op(op) = &stmt.exp else { return };
            if self.facts.holds_fixed(&stmt.exp) || self.facts.prints(&stmt.exp) {
                return;
            }
            let producers: Vec<usize> = op.args.iter().filter_map(|arg| producer(arg, made_by)).collect();
            let fused = producers
                .into_iter()
                .find_map(|at| self.absorb_one(stmt, at, before));
            match fused {
                Some(setup) => before.extend(setup.into_iter().map(Some)),
                None => return,
            }
        }
    }

    /// Makes a map of slices of a slice of a map; gives the statements that slice.
    fn absorb_map_into_slice(
        &mut self,
        stmt: &mut Stmt,
        before: &mut [Option<Stmt>],
        made_by: &HashMap<Var, usize>,
    ) -> Option<Vec<Stmt>> {
        let at = producer(Fuser::sliced(stmt)?, made_by)?;
        if self.facts.holds_fixed(&stmt.exp) {
            return None;
        }
        let slot = before.get_mut(at)?;
        let (exp, setup) = self.slice_of_map(stmt, slot.as_ref()?)?;
        self.log
            .note(stmt.span, "only the part of `map` that is looked at is computed");
        stmt.exp = exp;
        *slot = None;
        for stmt in &setup {
            self.facts.learn(stmt);
        }
        Some(setup)
    }

    /// Fuses with the producer at that place; gives statements to put before the consumer.
    fn absorb_one(
        &mut self,
        consumer: &mut Stmt,
        at: usize,
        before: &mut [Option<Stmt>],
    ) -> Option<Vec<Stmt>> {
        let slot = before.get_mut(at)?;
        let made = slot.as_ref()?;
        let (Exp::Op(taker), Exp::Op(giver)) = (&consumer.exp, &made.exp) else {
            return None;
        };
        if self.facts.holds_fixed(&made.exp) || self.facts.prints(&made.exp) {
            return None;
        }
        if giver.prim == Prim::Gather && takes_elements(taker.prim) {
            let map = self.gather_as_map(taker, made)?;
            *slot = Some(map);
            return Some(Vec::new());
        }
        if giver.prim == Prim::Zip && matches!(taker.prim, Prim::Reduce | Prim::ReduceComm) {
            let taker = taker.clone();
            let map = self.pairs_as_map(&taker, at, before)?;
            self.facts.learn(&map);
            *before.get_mut(at)? = Some(map);
            return Some(Vec::new());
        }
        let spans = (consumer.span, made.span);
        let pair = (taker.prim, giver.prim);
        let (exp, setup, producer_after) = match pair {
            (Prim::Map, Prim::Zip) => self.view(taker, made, Fuser::map_of_zip)?,
            (Prim::Map, Prim::Replicate) => self.view(taker, made, Fuser::map_of_replicate)?,
            (Prim::Map, Prim::Map) => (self.map_of_map(taker, made)?, Vec::new(), Producer::Goes),
            (Prim::ReduceSeq, Prim::Map) => {
                let (exp, setup) = self.fold_of_map(taker, made)?;
                (exp, setup, Producer::Goes)
            }
            (Prim::Filter, Prim::Filter) => (self.filter_of_filter(taker, made)?, Vec::new(), Producer::Goes),
            _ => return None,
        };
        if producer_after == Producer::Stays {
            // What it reads now has other readers: as many as it had here.
            for _ in taker
                .args
                .iter()
                .filter(|arg| position(arg, &made.pattern).is_some())
            {
                giver.args.iter().for_each(|arg| self.uses.add(arg));
            }
        }
        consumer.exp = exp;
        if producer_after == Producer::Goes {
            *slot = None;
            let text = format!("`{}` is fused into `{}`", pair.1.name(), pair.0.name());
            self.log.note(spans.1, text);
        }
        for stmt in &setup {
            self.facts.learn(stmt);
        }
        Some(setup)
    }

    /// Fuses with an operation that costs nothing, which stays where others use it.
    fn view(
        &mut self,
        taker: &Op,
        made: &Stmt,
        fuse: fn(&mut Self, &Op, &Stmt) -> Option<Exp>,
    ) -> Option<(Exp, Vec<Stmt>, Producer)> {
        let exp = fuse(self, taker, made)?;
        let after = match self.only_used_by(taker, &made.pattern) {
            true => Producer::Goes,
            false => Producer::Stays,
        };
        Some((exp, Vec::new(), after))
    }

    fn uses_of(&self, var: &Var) -> usize {
        let gone = self.looked_at.get(var).copied().unwrap_or(0);
        self.uses.of(var).saturating_sub(gone)
    }

    /// Whether the consumer's arguments are the only uses of what the producer makes.
    fn only_used_by(&self, consumer: &Op, producer: &Pattern) -> bool {
        let uses: usize = producer.values.iter().map(|value| self.uses_of(&value.var)).sum();
        let here = consumer
            .args
            .iter()
            .filter(|arg| position(arg, producer).is_some());
        uses == here.count()
    }

    /// Binds a parameter of the consumer to the value the producer's function gives, with the sizes of its rows. None where a
    /// size has no name, or where the rows of rows are regular on one side and jagged on the other.
    fn link(&self, sizes: &[Var], param: &Param, value: &Atom, span: Span) -> Option<Vec<Stmt>> {
        let found = self.facts.env.atom_type(value).ok()?;
        let mut links = Vec::new();
        let mut named = Substitution::new();
        for size in sizes {
            let atom = size_matching(size, &param.ty, &found)?;
            named.insert(size.clone(), atom.clone());
            let ty = Type::I64;
            let var = size.clone();
            links.push(copy(Param { var, ty }, atom, span));
        }
        if !self.facts.env.same_type(&found, &named.of_type(&param.ty)) {
            return None;
        }
        links.push(copy(param.clone(), value.clone(), span));
        Some(links)
    }

    /// How many sizes of rows an array brings into the context of a function over its elements.
    fn row_sizes(&self, array: &Atom) -> Option<usize> {
        match self.facts.env.atom_type(array).ok()? {
            Type::Array(Dim::Size(_), element) => Some(element.open_count()),
            _ => None,
        }
    }
}

/// Whether the operation looks at each element once, so that it may as well compute it.
fn takes_elements(prim: Prim) -> bool {
    matches!(
        prim,
        Prim::Map | Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq
    )
}

fn producer(arg: &Atom, made_by: &HashMap<Var, usize>) -> Option<usize> {
    match arg {
        Atom::Var(var) => made_by.get(var).copied(),
        Atom::Const(_) => None,
    }
}

/// Which value of a pattern an atom is.
fn position(atom: &Atom, pattern: &Pattern) -> Option<usize> {
    match atom {
        Atom::Var(var) => pattern.values.iter().position(|value| value.var == *var),
        Atom::Const(_) => None,
    }
}

/// `let value = exp`.
fn bound(value: Param, exp: Exp, span: Span) -> Stmt {
    Stmt {
        pattern: Pattern {
            context: Vec::new(),
            values: vec![value],
        },
        exp,
        span,
    }
}

/// `let param = atom`.
fn copy(param: Param, atom: Atom, span: Span) -> Stmt {
    Stmt {
        pattern: Pattern {
            context: Vec::new(),
            values: vec![param],
        },
        exp: Exp::Atom(atom),
        span,
    }
}
