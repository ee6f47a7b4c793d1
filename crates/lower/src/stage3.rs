//! Stage III (paper, section 4.3, Figure 6): from loops to flat memory.
//!
//! ```text
//! parfor<par>[n] tmp.1 (\i. \o. o := mul (get 0 (idx (zip xs ys) i)) …)  ~~>  par for i < n { tmp[i] = xs[i] * ys[i] }
//! ```
//!
//! An array of tuples lies in memory as one array per component. Expressions and acceptors are followed along access
//! paths until a variable is reached; what is left of the path is then an index, simplified with the ranges of the loop
//! variables. Checks that these ranges prove are dropped.
//!
//! Removes: views, acceptors, cells, vectors, tuples. Introduces: buffers, scalar variables, flat indices. Guarantees:
//! nothing but scalars is left of views ([`left_over`]), the result passes Imp's check; memory is allocated where Dpia says `new` or `fill`, and nowhere else (but for
//! arguments of calls that do not lie in memory as the callee wants them).

mod acceptors;
mod calls;
pub(crate) mod collectives;
mod commands;
mod data;
pub(crate) mod entry;
mod expressions;
mod growing;
mod left_over;
mod outside;
mod storage;

use crate::error::{Lowering, bug};
use almach_base::{Name, Span};
use almach_dpia::{Data, Kind, Nat, Phrase, PhraseType, Program};
use almach_imp as imp;
use almach_imp::{Expr, Index, Stmt};
use almach_nat::{Range, Ranges};
use almach_value::{BinOp, Scalar, ScalarType};
use collectives::Procs;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use storage::Storage;

/// One step of an access path, the outermost first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    At(Index),
    Field(usize),
    Lane(Index),
}

pub(crate) type Path = Vec<Step>;

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Binding {
    /// Memory.
    Storage(Rc<Storage>),
    /// Another phrase, from some path on.
    Alias(Rc<Phrase>, Path),
    /// A scalar that is computed already.
    Scalar(Expr),
}

pub(crate) struct Generator<'a> {
    program: &'a Program,
    bindings: HashMap<Name, Binding>,
    /// Sizes that are called something else in Imp.
    nats: HashMap<Name, Index>,
    pub(crate) stmts: Vec<Stmt>,
    /// Types of scalars and of the cells of buffers.
    types: HashMap<Name, ScalarType>,
    /// Variables whose value changes.
    assigned: HashSet<Name>,
    ranges: Ranges<Name>,
    /// Integers that are sums, differences and products of others.
    sums: HashMap<Name, Index>,
    /// Whether a variable lives in the memory of another.
    shares_memory: bool,
    next: u32,
    span: Span,
    /// Whether a check before this place in the block always fails.
    unreachable: bool,
    /// Whether the code runs inside a parallel loop.
    parallel: Parallel,
    procs: &'a Procs,
    /// Whether there are acceptors that keep one element.
    keeps_elements: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parallel {
    Outside,
    /// In a group, whose work-items are free.
    Group,
    /// In a dimension of a grid that is not the last.
    Grid,
    Inside,
}

/// Translates every procedure.
pub(crate) fn to_imp(program: &Program) -> Lowering<Vec<imp::Proc>> {
    let procs = Procs::of(program);
    program
        .procs
        .iter()
        .map(|proc| Generator::new(program, &procs).proc(proc))
        .collect()
}

impl<'a> Generator<'a> {
    fn new(program: &'a Program, procs: &'a Procs) -> Generator<'a> {
        Generator {
            program,
            bindings: HashMap::new(),
            nats: HashMap::new(),
            stmts: Vec::new(),
            types: data::column_types(program),
            assigned: HashSet::new(),
            ranges: Ranges::unknown(),
            sums: HashMap::new(),
            shares_memory: false,
            next: 0,
            span: Span::NONE,
            unreachable: false,
            parallel: Parallel::Outside,
            procs,
            keeps_elements: false,
        }
    }

    fn proc(mut self, proc: &almach_dpia::Proc) -> Lowering<imp::Proc> {
        self.span = proc.span;
        self.keeps_elements = acceptors::keeps_elements(&proc.body);
        let mut params = Vec::new();
        let mut body = proc.body.unmarked();
        loop {
            body = match body {
                Phrase::TypeLam(name, Kind::Nat, inner) => {
                    params.push(imp::Param {
                        name: name.clone(),
                        ty: ScalarType::I64,
                        passing: imp::Passing::Value,
                    });
                    inner.unmarked()
                }
                Phrase::Lam(name, ty, inner) => {
                    let (data, access) = match &**ty {
                        PhraseType::Exp(data) => (data, storage::Access::Read),
                        PhraseType::Acc(data) => (data, storage::Access::Write),
                        other => return bug(format!("a procedure takes a `{other}`"), self.span),
                    };
                    // The size of a result may be what the body has yet to check.
                    if let PhraseType::Exp(data) = &**ty {
                        self.sizes_of(data);
                    }
                    let storage = storage::of_param(self.index_data(data)?, name, access);
                    params.extend(storage.params(access));
                    self.bindings
                        .insert(name.clone(), Binding::Storage(Rc::new(storage)));
                    inner.unmarked()
                }
                _ => break,
            };
        }
        for param in &params {
            self.types.insert(param.name.clone(), param.ty);
            if param.passing == imp::Passing::Out {
                self.assigned.insert(param.name.clone());
            }
        }
        self.command(body)?;
        Ok(imp::Proc {
            name: proc.name.clone(),
            params,
            body: self.stmts,
            span: proc.span,
        })
    }

    /// Sizes of arrays that exist are not negative.
    fn sizes_of(&mut self, data: &Data) {
        match data {
            Data::Array(size, element) => {
                if let Some(name) = size.as_var() {
                    self.ranges.set(name.clone(), Range::natural());
                }
                self.sizes_of(element);
            }
            Data::Tuple(parts) => parts.iter().for_each(|part| self.sizes_of(part)),
            Data::Some(_, body) => self.sizes_of(body),
            Data::Scalar(_) | Data::Index(_) | Data::Vector(..) | Data::Var(_) => {}
        }
    }

    pub(crate) fn fresh(&mut self, stem: &str) -> Name {
        self.next += 1;
        Name::from(format!("{stem}_t{}", self.next))
    }

    pub(crate) fn emit(&mut self, stmt: Stmt) {
        // Behind a check that always fails only what was declared before it needs an end.
        if self.unreachable && !matches!(&stmt, Stmt::Free(name) if self.types.contains_key(name)) {
            return;
        }
        if let Stmt::Reserve { name, .. } = &stmt {
            self.types.insert(name.clone(), ScalarType::I64);
        }
        if let Stmt::Let { name, ty, .. } | Stmt::Var { name, ty, .. } | Stmt::Buffer { name, ty, .. } = &stmt
        {
            self.types.insert(name.clone(), *ty);
        }
        if let Stmt::Let {
            name,
            ty: ScalarType::I64,
            value,
        } = &stmt
            && let Some(sum) = self.sum(value)
        {
            self.sums.insert(name.clone(), sum);
        }
        self.stmts.push(stmt);
    }

    /// An integer as a polynomial of variables that keep their values. Both wrap alike, so equal polynomials are equal numbers.
    fn sum(&self, expr: &Expr) -> Option<Index> {
        match expr {
            Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
            Expr::Index(index) => Some(self.spelled_out(index)),
            Expr::Var(name) if !self.assigned.contains(name) => {
                Some(self.spelled_out(&Index::var(name.clone())))
            }
            Expr::Binary(BinOp::Add, a, b) => Some(self.sum(a)? + self.sum(b)?),
            Expr::Binary(BinOp::Sub, a, b) => Some(self.sum(a)? - self.sum(b)?),
            Expr::Binary(BinOp::Mul, a, b) => Some(self.sum(a)? * self.sum(b)?),
            _ => None,
        }
    }

    pub(crate) fn spelled_out(&self, index: &Index) -> Index {
        index.substitute(|name| self.sums.get(name).cloned())
    }

    /// Whether two indices are the same, also where one has a name for a part of the other.
    pub(crate) fn is_same(&self, a: &Index, b: &Index) -> bool {
        a == b || self.spelled_out(a) == self.spelled_out(b)
    }

    /// Runs `inside` with an empty list of statements, and gives what it made.
    pub(crate) fn capture<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Lowering<T>,
    ) -> Lowering<(T, Vec<Stmt>)> {
        let outer = std::mem::take(&mut self.stmts);
        let (ranges, unreachable) = (self.ranges.clone(), self.unreachable);
        let result = inside(self);
        (self.ranges, self.unreachable) = (ranges, unreachable);
        let stmts = std::mem::replace(&mut self.stmts, outer);
        Ok((result?, stmts))
    }

    /// A size over Imp's names.
    pub(crate) fn size(&self, nat: &Nat) -> Index {
        nat.substitute(|name| self.nats.get(name).cloned())
    }

    /// A data type over Imp's names.
    pub(crate) fn index_data(&self, data: &Data) -> Lowering<Data> {
        let filling = almach_dpia::Substitution {
            nats: self
                .nats
                .iter()
                .map(|(name, index)| (name.clone(), index.clone()))
                .collect(),
            datas: Default::default(),
        };
        Ok(data.subst(&filling))
    }

    /// An `i64` expression as an index: a new name for what is no polynomial.
    pub(crate) fn as_index(&mut self, expr: Expr) -> Index {
        match expr {
            Expr::Index(index) => index,
            Expr::Const(Scalar::I64(value)) => Index::constant(value),
            Expr::Var(name) => Index::var(name),
            other => {
                let name = self.fresh("at");
                self.emit(Stmt::Let {
                    name: name.clone(),
                    ty: ScalarType::I64,
                    value: other,
                });
                Index::var(name)
            }
        }
    }

    pub(crate) fn simplify(&self, index: &Index) -> Index {
        self.ranges.simplify(index)
    }

    pub(crate) fn bug<T>(&self, what: impl std::fmt::Display) -> Lowering<T> {
        bug(what, self.span)
    }
}
