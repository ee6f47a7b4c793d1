//! The store-based interpreter: slow and obvious. Data is reached by paths, as in Figure 6: an expression is a function
//! from a store and a path to a scalar, an acceptor one that writes a scalar at a path, a command one that changes the
//! store. Parallel loops run backwards, so that what depends on order shows.

mod block;
mod code;
mod collectives;
mod commands;
mod expressions;
mod rows;
mod store;

use crate::check::Checked;
use crate::phrase::Side;
use crate::prim::Site;
use crate::ty::{Kind, Nat, PhraseType};
use almach_base::Name;
use almach_value::Scalar;
use almach_value::ops::OpError;
use code::{Call, Code, Passed, Ready, Size};
use std::fmt;
use std::rc::Rc;

pub use block::Block;
pub use store::{Shape, Step, Store};

/// Why a run ended without a result.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// A check of the program failed, with the values its message mentions.
    Failed { site: Site, arguments: Vec<Scalar> },
    /// A C function, which this interpreter cannot call.
    Foreign(Name),
    /// Calls wait for others deeper than this interpreter goes, which is on the native stack.
    TooDeep,
    /// Something a checked program does not do.
    Broken(String),
}

/// How many calls may wait for others.
const DEEPEST: usize = 2_000;

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Failed { site, .. } => write!(f, "{}: {}", site.code.0, site.text),
            RunError::Foreign(name) => write!(f, "`{name}` is a function of C"),
            RunError::TooDeep => f.write_str("a recursion is too deep for this interpreter"),
            RunError::Broken(what) => f.write_str(what),
        }
    }
}

impl From<OpError> for RunError {
    fn from(error: OpError) -> RunError {
        RunError::Broken(format!("an unchecked operation failed: {error:?}"))
    }
}

pub(crate) type Run<T> = Result<T, RunError>;
pub(crate) type Exp<'p> = Rc<dyn Fn(&Store, &[Step]) -> Run<Scalar> + 'p>;
pub(crate) type Acc<'p> = Rc<dyn Fn(&mut Store, &[Step], Scalar) -> Run<()> + 'p>;

pub(crate) type Comm<'p> = Rc<dyn Fn(&mut Store) -> Run<()> + 'p>;

/// What a phrase means.
#[derive(Clone)]
pub(crate) enum Meaning<'p> {
    Exp(Exp<'p>),
    Acc(Acc<'p>),
    Comm(Comm<'p>),
    Pair(Rc<(Meaning<'p>, Meaning<'p>)>),
    Fun(Rc<dyn Fn(Meaning<'p>) -> Run<Meaning<'p>> + 'p>),
    /// A function of a size.
    NatFun(Rc<dyn Fn(i64) -> Run<Meaning<'p>> + 'p>),
}

/// What binders stand for, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Env<'p>(Option<Rc<Node<'p>>>);

struct Node<'p> {
    value: Bound<'p>,
    outer: Env<'p>,
}

enum Bound<'p> {
    Phrase(Meaning<'p>),
    Nat(i64),
}

impl<'p> Env<'p> {
    fn bind(&self, value: Bound<'p>) -> Env<'p> {
        Env(Some(Rc::new(Node {
            value,
            outer: self.clone(),
        })))
    }

    fn phrase(&self, meaning: Meaning<'p>) -> Env<'p> {
        self.bind(Bound::Phrase(meaning))
    }

    fn nat(&self, value: i64) -> Env<'p> {
        self.bind(Bound::Nat(value))
    }

    /// With that many binders in between.
    fn find(&self, distance: usize) -> Option<&Bound<'p>> {
        let mut node = self.0.as_ref()?;
        for _ in 0..distance {
            node = node.outer.0.as_ref()?;
        }
        Some(&node.value)
    }

    fn number(&self, distance: usize) -> Option<i64> {
        match self.find(distance) {
            Some(Bound::Nat(value)) => Some(*value),
            Some(Bound::Phrase(_)) | None => None,
        }
    }

    fn size(&self, size: &Size<'p>) -> Run<i64> {
        let unknown = |nat: &Nat| broken(format!("the size {nat} has no value"));
        match size {
            Size::Known(value) => Ok(*value),
            Size::Var(distance) => self
                .number(*distance)
                .ok_or_else(|| broken("a size without a value")),
            Size::Term(nat, names) => {
                let value = nat.eval_saturating(&|name: &Name| {
                    let known = names.iter().find(|(known, _)| *known == name)?;
                    self.number(known.1)
                });
                value.ok_or_else(|| unknown(nat))
            }
            Size::Unknown(nat) => Err(unknown(nat)),
        }
    }
}

pub(crate) fn broken(what: impl Into<String>) -> RunError {
    RunError::Broken(what.into())
}

/// Runs a procedure of a checked program on sizes and inputs; gives what it wrote to its acceptors, in order.
pub fn run(checked: &Checked, proc: &str, sizes: &[i64], inputs: &[Block]) -> Result<Vec<Block>, RunError> {
    let program = checked.runnable();
    let ready = Ready::of(checked, proc)?;
    let Some(found) = program.procs.get(ready.start) else {
        return Err(broken(format!("there is no procedure `{proc}`")));
    };
    let mut store = Store::with(&program.stores);
    let interpreter = Interpreter { procs: &ready.procs };
    let mut meaning = interpreter.proc(ready.start)?;
    let (mut ty, mut sizes, mut inputs) = (&found.ty, sizes.iter(), inputs.iter());
    let mut outputs = Vec::new();
    loop {
        (meaning, ty) = match (meaning, ty) {
            (Meaning::NatFun(function), PhraseType::Dependent(_, Kind::Nat, body)) => {
                let size = *sizes.next().ok_or_else(|| broken("too few sizes"))?;
                (function(size)?, body)
            }
            (Meaning::Fun(function), PhraseType::Fun(_, from, to)) => match &**from {
                PhraseType::Exp(_) => {
                    let block = inputs.next().ok_or_else(|| broken("too few inputs"))?.clone();
                    let cell = store.allocate(block);
                    (function(store::cell_reader(cell))?, to)
                }
                PhraseType::Acc(_) => {
                    let cell = store.allocate(Block::default());
                    outputs.push(cell);
                    (function(store::cell_writer(cell))?, to)
                }
                other => return Err(broken(format!("a procedure is given a `{other}`"))),
            },
            (Meaning::Comm(command), PhraseType::Comm) => {
                command(&mut store)?;
                break;
            }
            (_, ty) => return Err(broken(format!("a phrase does not have the type `{ty}`"))),
        };
    }
    outputs
        .into_iter()
        .map(|cell| store.block(cell).cloned())
        .collect()
}

/// Meanings refer to the code they are made from, so nothing of a program is copied.
#[derive(Clone, Copy)]
pub(crate) struct Interpreter<'p> {
    procs: &'p [Option<Code<'p>>],
}

impl<'p> Interpreter<'p> {
    fn proc(self, number: usize) -> Run<Meaning<'p>> {
        match self.procs.get(number) {
            Some(Some(code)) => self.meaning(code, &Env::default()),
            _ => Err(broken("a procedure that nothing reaches")),
        }
    }

    fn meaning(self, code: &'p Code<'p>, env: &Env<'p>) -> Run<Meaning<'p>> {
        match code {
            Code::Var(distance) => match env.find(*distance) {
                Some(Bound::Phrase(meaning)) => Ok(meaning.clone()),
                Some(Bound::Nat(_)) | None => Err(broken("a variable without a meaning")),
            },
            Code::Proc(number) => self.proc(*number),
            Code::Prim(primitive, arguments) => self.prim(primitive, arguments, env),
            Code::Lam(body) => {
                let env = env.clone();
                Ok(Meaning::Fun(Rc::new(move |argument| {
                    self.meaning(body, &env.phrase(argument))
                })))
            }
            Code::Sequence(commands) => {
                // The second command's sizes may only have values once the first has run.
                let env = env.clone();
                Ok(Meaning::Comm(Rc::new(move |store| {
                    self.meaning(&commands.0, &env)?.run(store)?;
                    self.meaning(&commands.1, &env)?.run(store)
                })))
            }
            Code::Call(call) => {
                // Procedures may call each other in turn: what a call means is asked when it runs.
                let env = env.clone();
                Ok(Meaning::Comm(Rc::new(move |store| {
                    store.enter_call(DEEPEST)?;
                    self.call(call, &env, store)?;
                    store.leave_call();
                    Ok(())
                })))
            }
            Code::App(parts) => {
                let function = self.meaning(&parts.0, env)?;
                function.apply(self.meaning(&parts.1, env)?)
            }
            Code::NatLam(body) => {
                let env = env.clone();
                Ok(Meaning::NatFun(Rc::new(move |size| {
                    self.meaning(body, &env.nat(size))
                })))
            }
            Code::NatApp(function, size) => match self.meaning(function, env)? {
                Meaning::NatFun(function) => function(env.size(size)?),
                _ => Err(broken("a size is given to what takes none")),
            },
            Code::Pair(parts) => Ok(Meaning::Pair(Rc::new((
                self.meaning(&parts.0, env)?,
                self.meaning(&parts.1, env)?,
            )))),
            Code::Project(side, inner) => match (side, self.meaning(inner, env)?) {
                (Side::First, Meaning::Pair(pair)) => Ok(pair.0.clone()),
                (Side::Second, Meaning::Pair(pair)) => Ok(pair.1.clone()),
                _ => Err(broken("a component of what is no pair")),
            },
            Code::Broken(what) => Err(broken(what.clone())),
        }
    }

    /// Runs a call. Scalars are computed before it, once.
    fn call(self, call: &'p Call<'p>, env: &Env<'p>, store: &mut Store) -> Run<()> {
        let mut meaning = self.meaning(&call.head, env)?;
        for (how, argument) in &call.arguments {
            let mut passed = self.meaning(argument, env)?;
            if *how == Passed::AsValue {
                let value = passed.exp()?(store, &[])?;
                passed = Meaning::Exp(Rc::new(move |_, _| Ok(value)));
            }
            meaning = meaning.apply(passed)?;
        }
        meaning.run(store)
    }
}

impl<'p> Meaning<'p> {
    pub(crate) fn apply(self, argument: Meaning<'p>) -> Run<Meaning<'p>> {
        match self {
            Meaning::Fun(function) => function(argument),
            _ => Err(broken("an argument is given to what takes none")),
        }
    }

    pub(crate) fn exp(self) -> Run<Exp<'p>> {
        match self {
            Meaning::Exp(exp) => Ok(exp),
            _ => Err(broken("no expression")),
        }
    }

    pub(crate) fn acc(self) -> Run<Acc<'p>> {
        match self {
            Meaning::Acc(acc) => Ok(acc),
            _ => Err(broken("no acceptor")),
        }
    }

    /// Runs a command.
    pub(crate) fn run(self, store: &mut Store) -> Run<()> {
        match self {
            Meaning::Comm(command) => command(store),
            _ => Err(broken("no command")),
        }
    }

    pub(crate) fn pair(self) -> Run<(Meaning<'p>, Meaning<'p>)> {
        match self {
            Meaning::Pair(pair) => Ok((*pair).clone()),
            _ => Err(broken("no pair")),
        }
    }
}
