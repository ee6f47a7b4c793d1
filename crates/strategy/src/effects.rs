//! The effect check (Lin, Fig. 4.5): which effects compose. It runs on what the user wrote; operations without an effect fit anywhere.
//!
//! - `S ⊖ D` is an error: a destination view says where to write what it views, and a source view is never written. The effect of a
//!   variable is that of what it is bound to (rule VAR), through tuples, branches and calls; that of `map@D` is also that of its
//!   function (rule ABS). A parameter of a lambda has none: an element of a source view may be copied to a place.
//! - The function of `map@S` must be an expression, since it is computed wherever an element is read and nothing is written there: scalar
//!   operators, views, branches of such. The thesis has its scalar operators eager and regrets it (section 8.3).

use almach_base::codes::levels as codes;
use almach_base::{Code, Diagnostic, Span};
use almach_core::visit::{WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Body, Exp, FunId, Lambda, Loop, LoopForm, Op, Program, Stmt, Var};
use almach_prim::{Effect, Prim};
use std::collections::{HashMap, HashSet};

/// What is wrong with the effects of a program.
pub fn check_effects(program: &Program) -> Vec<Diagnostic> {
    checked(program).found
}

/// Source views that came to stand under destination views, because rewrites took away what stood between them, are views like any
/// other: a program keeps to the check above.
pub fn settle_effects(mut program: Program) -> Program {
    struct Settle(HashSet<Var>);
    impl WalkMut for Settle {
        fn stmt(&mut self, stmt: &mut Stmt) {
            let is_under = (stmt.pattern.values.first()).is_some_and(|value| self.0.contains(&value.var));
            if let (Exp::Op(op), true) = (&mut stmt.exp, is_under) {
                op.annotation.effect = None;
            }
            walk_stmt_mut(self, stmt);
        }
    }
    let mut settle = Settle(checked(&program).under_destinations);
    if !settle.0.is_empty() {
        for function in &mut program.functions {
            walk_function_mut(&mut settle, function);
        }
    }
    program
}

fn checked(program: &Program) -> Checker<'_> {
    let mut checker = Checker {
        program,
        known: HashMap::new(),
        path: Vec::new(),
        calls: Vec::new(),
        reported: HashSet::new(),
        under_destinations: HashSet::new(),
        found: Vec::new(),
    };
    for entry in &program.entries {
        checker.function(entry.function, Vec::new());
    }
    checker
}

/// A source view: where it is written, and the first variable that it is bound to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Source {
    span: Span,
    var: Option<Var>,
}

/// The source view that a value is, and those that its components are.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Viewed {
    source: Option<Source>,
    components: Vec<Viewed>,
}

impl Viewed {
    fn source(source: Source) -> Viewed {
        Viewed {
            source: Some(source),
            components: Vec::new(),
        }
    }

    fn or(self, other: Viewed) -> Viewed {
        match self == Viewed::default() {
            true => other,
            false => self,
        }
    }

    fn component(&self, at: usize) -> Viewed {
        match (&self.source, self.components.get(at)) {
            (Some(source), _) => Viewed::source(source.clone()),
            (None, Some(component)) => component.clone(),
            (None, None) => Viewed::default(),
        }
    }
}

struct Checker<'p> {
    program: &'p Program,
    known: HashMap<Var, Viewed>,
    /// Functions that lead here.
    path: Vec<FunId>,
    /// Where they are called.
    calls: Vec<Span>,
    reported: HashSet<(Code, Span, Span)>,
    under_destinations: HashSet<Var>,
    found: Vec<Diagnostic>,
}

impl<'p> Checker<'p> {
    /// What a function gives for such arguments.
    fn function(&mut self, id: FunId, arguments: Vec<Viewed>) -> Vec<Viewed> {
        let Some(function) = self.program.functions.get(id.0 as usize) else {
            return Vec::new();
        };
        if self.path.contains(&id) {
            return Vec::new();
        }
        for (param, argument) in function.params.iter().zip(arguments) {
            self.known.insert(param.var.clone(), argument);
        }
        self.path.push(id);
        let result = self.body(&function.body);
        self.path.pop();
        result
    }

    fn body(&mut self, body: &'p Body) -> Vec<Viewed> {
        for stmt in &body.stmts {
            let given = self.stmt(stmt);
            for (value, viewed) in stmt.pattern.values.iter().zip(given) {
                self.known.insert(value.var.clone(), viewed);
            }
        }
        body.values.iter().map(|value| self.of(value)).collect()
    }

    fn of(&self, atom: &Atom) -> Viewed {
        match atom {
            Atom::Var(var) => self.known.get(var).cloned().unwrap_or_default(),
            Atom::Const(_) => Viewed::default(),
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Vec<Viewed> {
        match &stmt.exp {
            Exp::Atom(atom) | Exp::Coerce { value: atom, .. } | Exp::Trace { value: atom, .. } => {
                vec![self.of(atom)]
            }
            Exp::Tuple(parts) => vec![Viewed {
                source: None,
                components: parts.iter().map(|part| self.of(part)).collect(),
            }],
            Exp::Project(tuple, at) => vec![self.of(tuple).component(*at as usize)],
            Exp::If { then, otherwise, .. } => {
                let (then, otherwise) = (self.body(then), self.body(otherwise));
                either(then, otherwise)
            }
            Exp::Case { arms, default, .. } => {
                let bodies = arms.iter().map(|arm| &arm.body).chain(default.as_ref());
                let mut all = Vec::new();
                for body in bodies {
                    let given = self.body(body);
                    all = either(all, given);
                }
                all
            }
            Exp::Loop(looped) => {
                self.looped(looped);
                Vec::new()
            }
            Exp::Call { function, args, .. } => {
                let args = args.iter().map(|arg| self.of(arg)).collect();
                self.calls.push(stmt.span);
                let result = self.function(*function, args);
                self.calls.pop();
                result
            }
            Exp::Op(op) => self.op(op, stmt),
            Exp::Unary(..)
            | Exp::Binary(..)
            | Exp::Ternary(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::Index { .. }
            | Exp::Slice { .. }
            | Exp::Array(..)
            | Exp::Update { .. }
            | Exp::Foreign { .. }
            | Exp::Assert { .. } => Vec::new(),
        }
    }

    /// The state of a loop is in memory.
    fn looped(&mut self, looped: &'p Loop) {
        if let LoopForm::While(condition) = &looped.form {
            self.body(condition);
        }
        self.body(&looped.body);
    }

    fn op(&mut self, op: &'p Op, stmt: &Stmt) -> Vec<Viewed> {
        let span = stmt.span;
        let mut given = Vec::new();
        for function in &op.functions {
            given = self.body(&function.body);
        }
        match op.annotation.effect {
            None | Some(Effect::Eager) => Vec::new(),
            Some(Effect::Source) => {
                if let (Prim::Map, [function]) = (op.prim, op.functions.as_slice()) {
                    self.expression(op, function, span);
                }
                let var = stmt.pattern.values.first().map(|value| value.var.clone());
                vec![Viewed::source(Source { span, var }); 1.max(given.len())]
            }
            Some(Effect::Destination) => {
                let viewed = written_through(op).iter().map(|arg| self.of(arg)).chain(given);
                let sources: Vec<Source> = viewed.filter_map(|viewed| viewed.source).collect();
                if let Some(source) = sources.first() {
                    self.destination(op, span, source.span);
                }
                (self.under_destinations).extend(sources.into_iter().filter_map(|source| source.var));
                Vec::new()
            }
        }
    }

    fn destination(&mut self, op: &Op, span: Span, source: Span) {
        let title = format!("`{}` is a destination view over a source view", shown(op));
        let diagnostic = Diagnostic::error(codes::DESTINATION_OVER_SOURCE, span, title)
            .label("what it views must be written")
            .also(source, "this is only read")
            .help("write `@E` on the inner operation to store it, or leave one of the effects out");
        self.report(diagnostic, span, source);
    }

    /// A function that is computed wherever an element is read.
    fn expression(&mut self, op: &Op, function: &Lambda, span: Span) {
        let Some(obstacle) = self.obstacle(&function.body, &mut self.path.clone()) else {
            return;
        };
        let title = format!("`{}` is a source view, and its function writes", shown(op));
        let mut diagnostic = Diagnostic::error(codes::SOURCE_FUNCTION_WRITES, span, title)
            .label("computed wherever an element is read");
        if obstacle.span != span {
            diagnostic = diagnostic.also(obstacle.span, obstacle.why.clone());
        }
        let diagnostic = diagnostic
            .note(format!(
                "its function may use scalar operators, views and `if`: {}",
                obstacle.why
            ))
            .help("write `@E` to compute the array once, or leave the effect out");
        self.report(diagnostic, span, obstacle.span);
    }

    /// What cannot be computed as an expression.
    fn obstacle(&self, body: &Body, path: &mut Vec<FunId>) -> Option<Obstacle> {
        body.stmts.iter().find_map(|stmt| {
            let here = |why: &str| {
                Some(Obstacle {
                    span: stmt.span,
                    why: why.to_owned(),
                })
            };
            match &stmt.exp {
                Exp::Op(op) => match (op.annotation.effect, op.prim) {
                    (Some(Effect::Eager | Effect::Destination), _) => {
                        here(&format!("`{}` writes an array", shown(op)))
                    }
                    (_, Prim::Map) => op
                        .functions
                        .iter()
                        .find_map(|function| self.obstacle(&function.body, path)),
                    (_, Prim::Length) => None,
                    (_, prim) if prim.is_view() => None,
                    (_, prim) => here(&format!("`{}` takes a loop", prim.name())),
                },
                Exp::If { then, otherwise, .. } => {
                    let then = self.obstacle(then, path);
                    then.or_else(|| self.obstacle(otherwise, path))
                }
                Exp::Loop(_) => here("a loop has a state"),
                Exp::Case { .. } => here("a `case` has branches of its own"),
                Exp::Array(..) => here("an array is written out"),
                Exp::Update { .. } => here("an update writes an array"),
                Exp::Foreign { .. } => here("a foreign function runs once"),
                Exp::Trace { .. } => here("a trace prints once"),
                Exp::Call { function, .. } => {
                    if path.contains(function) {
                        return here("a recursive function takes a stack");
                    }
                    let called = self.program.functions.get(function.0 as usize)?;
                    path.push(*function);
                    let inside = self.obstacle(&called.body, path);
                    path.pop();
                    inside.map(|obstacle| Obstacle {
                        span: stmt.span,
                        why: obstacle.why,
                    })
                }
                Exp::Atom(_)
                | Exp::Unary(..)
                | Exp::Binary(..)
                | Exp::Ternary(..)
                | Exp::Tuple(_)
                | Exp::Project(..)
                | Exp::Construct { .. }
                | Exp::ConstructNode { .. }
                | Exp::Index { .. }
                | Exp::Slice { .. }
                | Exp::Coerce { .. }
                | Exp::Assert { .. } => None,
            }
        })
    }

    fn report(&mut self, diagnostic: Diagnostic, span: Span, other: Span) {
        if !self.reported.insert((diagnostic.code, span, other)) {
            return;
        }
        let with_calls = self.calls.iter().fold(diagnostic, |diagnostic, call| {
            diagnostic.also(*call, "it is called here")
        });
        self.found.push(with_calls);
    }
}

struct Obstacle {
    span: Span,
    why: String,
}

/// The operands that a destination view is of: what `pad` puts around its array is copied there.
fn written_through(op: &Op) -> &[Atom] {
    match (op.prim, op.args.as_slice()) {
        (Prim::Pad, [.., array]) => std::slice::from_ref(array),
        (_, args) => args,
    }
}

fn either(a: Vec<Viewed>, b: Vec<Viewed>) -> Vec<Viewed> {
    let count = a.len().max(b.len());
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    (0..count)
        .map(|_| a.next().unwrap_or_default().or(b.next().unwrap_or_default()))
        .collect()
}

fn shown(op: &Op) -> String {
    format!("{}{}", op.prim.name(), op.annotation)
}
