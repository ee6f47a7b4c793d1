//! Tables: recursive data that nobody but `foreach` looks at stay arrays of nodes.
//!
//! ```text
//! let d: L = from_nodes r xs                              let {count} t: [count]#L = nodes e
//! let {k} ns: [k]#L = nodes d         =>  let ns = xs          let r: i64 = root_of e
//! let l = loop (p: L = e) while                           let <r', t'> = loop (q: i64 = r, s: [count]#L = t) while
//!     (case p of | End -> false | … )                      =>      let node: #L = s[q]
//!   do                                                             in (case node of | #End -> false | … )
//!     let {k} ns: [k]#L = nodes p                                do
//!     let ms: [k]#L = map f ns                                     let ms: [count]#L = map f s
//!     let q: i64 = root_of p                                       in <q, ms>
//!     in from_nodes q ms                                       let l: L = from_nodes r' t'
//! ```
//!
//! A `foreach` is a map over the table of a datum (Nishimura and Ohori, section 6), and one behind another a map of a map. As arrays
//! they fuse, and the memory of one is that of the next; as data, each would have a table of its own until the call ends.
//!
//! References are positions in both forms. What `from_nodes` checks of them goes where it goes: an index is checked where
//! it is used.
//!
//! Where a loop's datum comes from elsewhere and is used as one behind the loop it stays: it may be shared with others.
//!
//! Removes: `nodes` and `root_of` of data that `from_nodes` made, data as states of loops that hold a `foreach` over them.
//! Introduces: arrays of nodes. Guarantees: a table has one size throughout such a loop.

mod unpack;

use crate::{Log, Pass};
use almach_base::Span;
use almach_core::build::{Builder, op};
use almach_core::visit::{UseCounts, Walk, WalkMut, walk_exp, walk_function_mut, walk_stmt_mut};
use almach_core::{
    Atom, Body, DataId, Dim, Exp, Loop, LoopForm, Op, Param, Pattern, Program, Size, Stmt, Type, Var,
};
use almach_prim::Prim;
use std::collections::{HashMap, HashSet};
use unpack::Unpack;

pub const PASS: Pass = Pass {
    name: "tables",
    description: "keeps recursive data between one foreach and the next as arrays of nodes",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut builder = Builder::for_program(&program);
    for function in &program.functions {
        builder.enter_function(function);
    }
    let mut loops = Loops {
        builder,
        uses: UseCounts::default(),
        made: HashSet::new(),
        iterated: HashMap::new(),
    };
    for function in &mut program.functions {
        loops.uses = UseCounts::of_function(function);
        loops.iterated = iterated(function);
        walk_function_mut(&mut loops, function);
    }
    program.next_var = loops.builder.supply.next_var();
    for function in &mut program.functions {
        let mut tables = Tables {
            made: HashMap::new(),
            iterated: iterated(function),
        };
        walk_function_mut(&mut tables, function);
    }
    program
}

/// A datum as its root and its table.
#[derive(Clone)]
struct Parts {
    root: Atom,
    table: Atom,
}

/// The loops of a program, those inside first.
struct Loops {
    builder: Builder,
    /// In the function at hand.
    uses: UseCounts,
    /// Data that `from_nodes` made.
    made: HashSet<Var>,
    iterated: HashMap<Var, usize>,
}

impl WalkMut for Loops {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            if let (Exp::Op(op), [value]) = (&stmt.exp, stmt.pattern.values.as_slice())
                && op.prim == Prim::FromNodes
            {
                self.made.insert(value.var.clone());
            }
            let mut behind = Vec::new();
            while let Some(unpacked) = self.unpacked(&stmt) {
                stmts.extend(unpacked.before);
                stmt = unpacked.looped;
                behind.push(unpacked.behind);
            }
            stmts.push(stmt);
            stmts.extend(behind);
        }
        body.stmts = stmts;
    }
}

/// What a loop with a datum becomes.
struct UnpackedLoop {
    before: [Stmt; 2],
    looped: Stmt,
    behind: Stmt,
}

impl Loops {
    /// The loop with one datum of its state as root and table; none where it has no such datum, or someone needs that as it is.
    fn unpacked(&mut self, stmt: &Stmt) -> Option<UnpackedLoop> {
        let Exp::Loop(looped) = &stmt.exp else {
            return None;
        };
        let candidates = (0..looped.params.len()).filter_map(|at| Some((at, iterated_datum(looped, at)?)));
        let candidates: Vec<(usize, DataId)> = candidates.collect();
        candidates
            .into_iter()
            .find_map(|(at, data)| self.unpacked_at(stmt, looped, at, data))
    }

    fn unpacked_at(&mut self, stmt: &Stmt, looped: &Loop, at: usize, data: DataId) -> Option<UnpackedLoop> {
        let (param, initial) = looped.params.get(at)?;
        let old = stmt.pattern.values.get(at)?;
        if !self.is_no_part(initial) && !self.iterated.contains_key(&old.var) {
            return None;
        }
        let count = self.builder.size_var("count");
        let table_type = Type::Array(Dim::Size(Size::var(count.clone())), Box::new(Type::Node(data)));
        let first_table = self.builder.param("table", table_type.clone());
        let first_root = self.builder.param("root", Type::I64);
        let (root, table) = self.parts(&table_type);
        let (last_root, last_table) = self.parts(&table_type);

        let mut unpack = Unpack::new(&mut self.builder, data, count.clone());
        unpack.know(&param.var, parts_of(&root, &table));
        let form = match &looped.form {
            LoopForm::For { index, bound } => LoopForm::For {
                index: index.clone(),
                bound: bound.clone(),
            },
            LoopForm::While(condition) => LoopForm::While(unpack.body(condition, &[])),
        };
        let body = unpack.body(&looped.body, &[at]);
        let mut params = looped.params.clone();
        let states = [
            (root, Atom::Var(first_root.var.clone())),
            (table, Atom::Var(first_table.var.clone())),
        ];
        params.splice(at..=at, states);
        let exp = Exp::Loop(Box::new(Loop {
            context: looped.context.clone(),
            params,
            form,
            body,
        }));
        if !unpack.is_done(&exp) {
            return None;
        }
        let mut values = stmt.pattern.values.clone();
        values.splice(at..=at, [last_root.clone(), last_table.clone()]);
        let pattern = Pattern {
            context: stmt.pattern.context.clone(),
            values,
        };
        let span = stmt.span;
        let nodes = Pattern {
            context: vec![count],
            values: vec![first_table],
        };
        Some(UnpackedLoop {
            before: [
                operation(Prim::Nodes, vec![initial.clone()], nodes, span),
                operation(Prim::RootOf, vec![initial.clone()], one(first_root), span),
            ],
            looped: Stmt { pattern, exp, span },
            behind: operation(
                Prim::FromNodes,
                vec![Atom::Var(last_root.var), Atom::Var(last_table.var)],
                one(old.clone()),
                span,
            ),
        })
    }

    /// Whether the datum is surely no part of another, nor another of it: who has both would see that the loop's is a copy.
    fn is_no_part(&self, datum: &Atom) -> bool {
        matches!(datum, Atom::Var(var) if self.made.contains(var) && self.uses.of(var) == 1)
    }

    fn parts(&mut self, table: &Type) -> (Param, Param) {
        (
            self.builder.param("root", Type::I64),
            self.builder.param("table", table.clone()),
        )
    }
}

fn parts_of(root: &Param, table: &Param) -> Parts {
    Parts {
        root: Atom::Var(root.var.clone()),
        table: Atom::Var(table.var.clone()),
    }
}

fn one(param: Param) -> Pattern {
    Pattern {
        context: Vec::new(),
        values: vec![param],
    }
}

fn operation(prim: Prim, args: Vec<Atom>, pattern: Pattern, span: Span) -> Stmt {
    Stmt {
        pattern,
        exp: op(prim, Vec::new(), args),
        span,
    }
}

/// The type of a loop's state that the loop takes the nodes of.
fn iterated_datum(looped: &Loop, at: usize) -> Option<DataId> {
    let (param, _) = looped.params.get(at)?;
    let Type::Data(data) = param.ty else {
        return None;
    };
    let mut found = TakesNodes {
        of: &param.var,
        found: false,
    };
    found.body(&looped.body);
    found.found.then_some(data)
}

struct TakesNodes<'v> {
    of: &'v Var,
    found: bool,
}

impl Walk for TakesNodes<'_> {
    fn exp(&mut self, exp: &Exp) {
        if let Exp::Op(Op {
            prim: Prim::Nodes,
            args,
            ..
        }) = exp
        {
            self.found |= matches!(args.as_slice(), [Atom::Var(var)] if var == self.of);
        }
        walk_exp(self, exp);
    }
}

/// How often data are asked for their nodes or root, where that is all that is done with them.
fn iterated(function: &almach_core::Function) -> HashMap<Var, usize> {
    struct Asked(HashMap<Var, usize>);
    impl Walk for Asked {
        fn exp(&mut self, exp: &Exp) {
            if let Exp::Op(Op {
                prim: Prim::Nodes | Prim::RootOf,
                args,
                ..
            }) = exp
                && let [Atom::Var(var)] = args.as_slice()
            {
                *self.0.entry(var.clone()).or_insert(0) += 1;
            }
            walk_exp(self, exp);
        }
    }
    let mut asked = Asked(HashMap::new());
    almach_core::visit::walk_function(&mut asked, function);
    let uses = UseCounts::of_function(function);
    asked.0.retain(|var, times| uses.of(var) == *times);
    asked.0
}

/// Takes the nodes of what was made of nodes.
struct Tables {
    made: HashMap<Var, Parts>,
    iterated: HashMap<Var, usize>,
}

impl WalkMut for Tables {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            self.learn(&stmt);
            match self.short(&stmt) {
                Some(short) => stmts.extend(short),
                None => stmts.push(stmt),
            }
        }
        body.stmts = stmts;
    }
}

impl Tables {
    fn learn(&mut self, stmt: &Stmt) {
        if let (Exp::Op(made), [value]) = (&stmt.exp, stmt.pattern.values.as_slice())
            && made.prim == Prim::FromNodes
            && self.iterated.contains_key(&value.var)
            && let [root, table] = made.args.as_slice()
        {
            let parts = Parts {
                root: root.clone(),
                table: table.clone(),
            };
            self.made.insert(value.var.clone(), parts);
        }
    }

    fn short(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::Op(asked) = &stmt.exp else {
            return None;
        };
        let [Atom::Var(datum)] = asked.args.as_slice() else {
            return None;
        };
        let parts = self.made.get(datum)?;
        let copy = |atom: &Atom| Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: stmt.pattern.values.clone(),
            },
            exp: Exp::Atom(atom.clone()),
            span: stmt.span,
        };
        match (asked.prim, stmt.pattern.context.as_slice()) {
            (Prim::RootOf, []) => Some(vec![copy(&parts.root)]),
            (Prim::Nodes, [count]) => {
                let size = Param {
                    var: count.clone(),
                    ty: Type::I64,
                };
                let length = operation(Prim::Length, vec![parts.table.clone()], one(size), stmt.span);
                Some(vec![length, copy(&parts.table)])
            }
            _ => None,
        }
    }
}
