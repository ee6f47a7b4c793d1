//! The store-based interpreter: slow and obvious. Data is reached by paths, as in Figure 6: an expression is a function
//! from a store and a path to a scalar, an acceptor one that writes a scalar at a path, a command one that changes the
//! store. Parallel loops run backwards, so that what depends on order shows.

mod block;
mod collectives;
mod commands;
mod expressions;
mod rows;
mod store;

use crate::check::Checked;
use crate::phrase::{Phrase, Side};
use crate::prim::{Prim, Site};
use crate::ty::{Data, Kind, Nat, PhraseType};
use almach_base::Name;
use almach_value::Scalar;
use almach_value::ops::OpError;
use std::cell::RefCell;
use std::collections::HashMap;
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

/// Names in scope, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Env<'p>(Option<Rc<Node<'p>>>);

struct Node<'p> {
    name: &'p Name,
    value: Bound<'p>,
    outer: Env<'p>,
}

enum Bound<'p> {
    Phrase(Meaning<'p>),
    Nat(i64),
}

impl<'p> Env<'p> {
    fn phrase(&self, name: &'p Name, meaning: Meaning<'p>) -> Env<'p> {
        Env(Some(Rc::new(Node {
            name,
            value: Bound::Phrase(meaning),
            outer: self.clone(),
        })))
    }

    fn nat(&self, name: &'p Name, value: i64) -> Env<'p> {
        Env(Some(Rc::new(Node {
            name,
            value: Bound::Nat(value),
            outer: self.clone(),
        })))
    }

    fn find(&self, name: &Name) -> Option<&Bound<'p>> {
        let mut env = self;
        while let Some(node) = &env.0 {
            if node.name == name {
                return Some(&node.value);
            }
            env = &node.outer;
        }
        None
    }

    pub(crate) fn size(&self, nat: &Nat) -> Run<i64> {
        let value = nat.eval_saturating(&|name: &Name| match self.find(name) {
            Some(Bound::Nat(value)) => Some(*value),
            _ => None,
        });
        value.ok_or_else(|| broken(format!("the size {nat} has no value")))
    }
}

pub(crate) fn broken(what: impl Into<String>) -> RunError {
    RunError::Broken(what.into())
}

/// Runs a procedure of a checked program on sizes and inputs; gives what it wrote to its acceptors, in order.
pub fn run(checked: &Checked, proc: &str, sizes: &[i64], inputs: &[Block]) -> Result<Vec<Block>, RunError> {
    let program = checked.runnable();
    let Some(found) = program.procs.iter().find(|known| &*known.name == proc) else {
        return Err(broken(format!("there is no procedure `{proc}`")));
    };
    let mut store = Store::with(&program.stores);
    let interpreter = Interpreter {
        procs: &program.procs,
        arities: Rc::default(),
    };
    let mut meaning = interpreter.meaning(&found.body, &Env::default())?;
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

/// Meanings refer to the phrases they are made from, so nothing of a program is copied.
#[derive(Clone)]
pub(crate) struct Interpreter<'p> {
    procs: &'p [crate::phrase::Proc],
    /// How many arguments a primitive takes, by where its instance stands.
    arities: Rc<RefCell<HashMap<usize, usize>>>,
}

impl<'p> Interpreter<'p> {
    pub(crate) fn meaning(&self, phrase: &'p Phrase, env: &Env<'p>) -> Run<Meaning<'p>> {
        match phrase {
            Phrase::At(_, inner) => self.meaning(inner, env),
            Phrase::Var(name) => match env.find(name) {
                Some(Bound::Phrase(meaning)) => Ok(meaning.clone()),
                Some(Bound::Nat(_)) => Err(broken(format!("the size `{name}` is no phrase"))),
                None => match self.procs.iter().find(|proc| proc.name == *name) {
                    Some(proc) => self.meaning(&proc.body, &Env::default()),
                    None => Err(broken(format!("`{name}` has no meaning"))),
                },
            },
            Phrase::Prim(instance) => self.prim(instance, env),
            Phrase::Lam(name, _, body) => {
                let (this, name, body, env) = (self.clone(), name, body, env.clone());
                Ok(Meaning::Fun(Rc::new(move |argument| {
                    this.meaning(body, &env.phrase(name, argument))
                })))
            }
            Phrase::App(..) if let Some((first, second)) = sequence(phrase) => {
                // The second command's sizes may only have values once the first has run.
                let (this, env) = (self.clone(), env.clone());
                Ok(Meaning::Comm(Rc::new(move |store| {
                    this.meaning(first, &env)?.run(store)?;
                    this.meaning(second, &env)?.run(store)
                })))
            }
            Phrase::App(..) if let Some(proc) = self.called(phrase, env) => {
                // Procedures may call each other in turn: what a call means is asked when it runs.
                let (this, env) = (self.clone(), env.clone());
                Ok(Meaning::Comm(Rc::new(move |store| {
                    store.enter_call(DEEPEST)?;
                    this.call(phrase, proc, &env, store)?;
                    store.leave_call();
                    Ok(())
                })))
            }
            Phrase::App(function, argument) => {
                let function = self.meaning(function, env)?;
                function.apply(self.meaning(argument, env)?)
            }
            Phrase::TypeLam(name, Kind::Nat, body) => {
                let (this, name, body, env) = (self.clone(), name, body, env.clone());
                Ok(Meaning::NatFun(Rc::new(move |size| {
                    this.meaning(body, &env.nat(name, size))
                })))
            }
            Phrase::TypeLam(_, Kind::Data, _) | Phrase::DataApp(..) => Err(broken(
                "functions of data types are instantiated before a program runs",
            )),
            Phrase::NatApp(function, nat) => match self.meaning(function, env)? {
                Meaning::NatFun(function) => function(env.size(nat)?),
                _ => Err(broken("a size is given to what takes none")),
            },
            Phrase::Pair(left, right) => Ok(Meaning::Pair(Rc::new((
                self.meaning(left, env)?,
                self.meaning(right, env)?,
            )))),
            Phrase::Project(side, inner) => match (side, self.meaning(inner, env)?) {
                (Side::First, Meaning::Pair(pair)) => Ok(pair.0.clone()),
                (Side::Second, Meaning::Pair(pair)) => Ok(pair.1.clone()),
                _ => Err(broken("a component of what is no pair")),
            },
        }
    }
}

impl<'p> Interpreter<'p> {
    /// The number of the procedure that a phrase gives all its arguments to.
    fn called(&self, phrase: &Phrase, env: &Env<'p>) -> Option<usize> {
        let (mut head, arguments) = phrase.spine();
        while let Phrase::NatApp(inner, _) = head {
            head = inner.unmarked();
        }
        let Phrase::Var(name) = head else {
            return None;
        };
        let at = self.procs.iter().position(|proc| proc.name == *name)?;
        let proc = self.procs.get(at)?;
        (env.find(name).is_none() && arguments.len() == parameters(&proc.ty)).then_some(at)
    }

    /// Runs a call. Scalars are computed before it, once.
    fn call(&self, phrase: &'p Phrase, proc: usize, env: &Env<'p>, store: &mut Store) -> Run<()> {
        let (head, arguments) = phrase.spine();
        let mut meaning = self.meaning(head, env)?;
        let mut ty = self.procs.get(proc).map(|proc| &proc.ty);
        for argument in arguments {
            while let Some(PhraseType::Dependent(_, _, inner)) = ty {
                ty = Some(inner);
            }
            let Some(PhraseType::Fun(_, from, to)) = ty else {
                return Err(broken("an argument is given to what takes none"));
            };
            let mut passed = self.meaning(argument, env)?;
            if let PhraseType::Exp(Data::Scalar(_) | Data::Index(_)) = &**from {
                let value = passed.exp()?(store, &[])?;
                passed = Meaning::Exp(Rc::new(move |_, _| Ok(value)));
            }
            meaning = meaning.apply(passed)?;
            ty = Some(to);
        }
        meaning.run(store)
    }
}

/// How many phrases a procedure takes.
fn parameters(ty: &PhraseType) -> usize {
    match ty {
        PhraseType::Fun(_, _, result) => 1 + parameters(result),
        PhraseType::Dependent(_, _, result) => parameters(result),
        PhraseType::Exp(_) | PhraseType::Acc(_) | PhraseType::Comm | PhraseType::Product(..) => 0,
    }
}

/// The two commands of `first; second`.
fn sequence(phrase: &Phrase) -> Option<(&Phrase, &Phrase)> {
    match phrase {
        Phrase::App(head, argument) => match (head.unmarked(), argument.unmarked()) {
            (Phrase::Prim(instance), Phrase::Pair(first, second)) if instance.prim == Prim::Seq => {
                Some((first, second))
            }
            _ => None,
        },
        _ => None,
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
