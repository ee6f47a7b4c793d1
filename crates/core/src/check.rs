//! The checker of Core. It runs after elaboration and after every pass; a failure is a bug of the compiler.
//!
//! The rules:
//!
//! | rule | says |
//! | --- | --- |
//! | CORE-01 | every variable is bound once in the whole program |
//! | CORE-02 | a variable is used only where it is in scope |
//! | CORE-03 | an operand has the type its place asks for, up to equality of sizes |
//! | CORE-04 | contexts agree in number, and their values are `i64` |
//! | CORE-05 | a size in a type is a polynomial over `i64` variables in scope |
//! | CORE-06 | `?` stands below another array, in a constructor's field or in a foreign result only |
//! | CORE-07 | operands, parameters, results and functions are as many as their place asks for |
//! | CORE-08 | the function of an operation takes and gives what the operation asks for |
//! | CORE-09 | a body gives values of the types that are declared for it |
//! | CORE-10 | a pattern binds what its expression gives |
//! | CORE-11 | numbers of data types, constructors, functions and foreign functions exist |
//! | CORE-12 | a data type has constructors of different names, says truly whether it is recursive, and its fields have constant sizes |
//! | CORE-13 | a `case` has at most one arm per constructor, and a default where some have none |
//! | CORE-14 | a scalar operator applies to the types of its operands |
//! | CORE-15 | a level, chunk or effect is written only on operations that take one |
//! | CORE-16 | a loop counts with the type of its bound; its condition gives one boolean |
//! | CORE-17 | an entry is a function of the program, and its border types are those of the function |
//! | CORE-18 | vectors have 2, 3, 4, 8 or 16 lanes |
//! | CORE-19 | node values belong to recursive types |
//! | CORE-20 | the number of a variable is below `next_var` |

mod data;
mod entry;
pub mod parts;
mod scope;

use crate::ir::{
    Arm, Body, DataId, Exp, ForeignDef, Function, Lambda, Loop, LoopForm, Op, Program, ResultType, Stmt, Type,
};
use crate::typing::{Signatures, Supply, TypeError, Typed, result_type_for_pattern};
use crate::{build, print};
use almach_base::{Diagnostic, Span, compiler_bug};
use scope::{Placement, Scope};
use std::fmt;
use std::ops::Deref;

/// A rule of the checker; see the list at the top of this file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Rule {
    BoundOnce = 1,
    InScope,
    OperandType,
    Context,
    SizeInScope,
    JaggedPlacement,
    Arity,
    Function,
    BodyResult,
    Pattern,
    KnownId,
    DataDefinition,
    Case,
    ScalarOperator,
    Annotation,
    Loop,
    Entry,
    VectorWidth,
    Node,
    NextVar,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CORE-{:02}", *self as u8)
    }
}

/// A program that satisfies the rules. Only [`check`] makes one; later rooms take nothing else.
#[derive(Clone, Debug)]
pub struct Checked<T>(T);

impl<T> Checked<T> {
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Checked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Checked<Program> {
    /// A program that is the same as this one satisfies the rules as well; another is handed back.
    pub fn recognise(&self, program: Program) -> Result<Checked<Program>, Program> {
        let is_same = self.functions == program.functions
            && self.entries == program.entries
            && self.data == program.data
            && self.foreign == program.foreign;
        match is_same {
            true => Ok(Checked(Program {
                next_var: self.next_var,
                ..program
            })),
            false => Err(program),
        }
    }

    /// Becomes a copy of another program. Functions that are the same already are not copied.
    pub fn follow(&mut self, other: &Checked<Program>) {
        let Program {
            data,
            foreign,
            functions,
            entries,
            next_var,
        } = &mut self.0;
        data.clone_from(&other.data);
        foreign.clone_from(&other.foreign);
        entries.clone_from(&other.entries);
        *next_var = other.next_var;
        functions.truncate(other.functions.len());
        for (known, function) in functions.iter_mut().zip(&other.functions) {
            if known != function {
                known.clone_from(function);
            }
        }
        functions.extend(other.functions.iter().skip(functions.len()).cloned());
    }
}

/// A program that breaks a rule, for who wants to save it, and what to tell the user.
#[derive(Clone, Debug)]
pub struct CheckFailure {
    pub rule: Rule,
    pub diagnostic: Diagnostic,
    pub program: Program,
}

/// Checks what the pass of that name made.
pub fn check(program: Program, pass: &str) -> Result<Checked<Program>, Box<CheckFailure>> {
    match Checker::new(&program).program(&program) {
        Ok(()) => Ok(Checked(program)),
        Err(failure) => Err(Box::new(CheckFailure {
            rule: failure.error.rule,
            diagnostic: diagnostic(&failure, pass),
            program,
        })),
    }
}

fn diagnostic(failure: &Failure, pass: &str) -> Diagnostic {
    let rule = failure.error.rule;
    let what = format!("`{pass}` made a program that breaks {rule}");
    let mut diagnostic = compiler_bug(failure.span, what)
        .label(failure.error.message.clone())
        .note(format!("{rule}: {}", failure.error.message))
        .note(format!("in {}", failure.place));
    if let Some(stmt) = &failure.stmt {
        diagnostic = diagnostic.note(format!("at the statement `{stmt}`"));
    }
    diagnostic
}

/// A broken rule with its place.
struct Failure {
    error: TypeError,
    span: Span,
    place: String,
    stmt: Option<String>,
}

/// An error, and the innermost statement it is in once that is known.
struct Located {
    error: TypeError,
    at: Option<(Span, String)>,
}

impl From<TypeError> for Located {
    fn from(error: TypeError) -> Located {
        Located { error, at: None }
    }
}

struct Checker {
    scope: Scope,
    signatures: Signatures,
    supply: Supply,
}

impl Checker {
    fn new(program: &Program) -> Checker {
        Checker {
            scope: Scope::new(program.next_var),
            signatures: Signatures::of(program),
            supply: Supply::starting_at(program.next_var),
        }
    }

    fn program(&mut self, program: &Program) -> Result<(), Failure> {
        for (id, def) in program.data.iter().enumerate() {
            let id = DataId(id as u32);
            let place = || format!("the data type `{}`", def.name);
            data::check(id, def, &self.signatures).map_err(|error| at(error, Span::NONE, place()))?;
        }
        for def in &program.foreign {
            let place = || format!("the foreign function `{}`", def.name);
            self.foreign(def).map_err(|error| at(error, def.span, place()))?;
        }
        for function in &program.functions {
            self.function(function).map_err(|located| {
                let (span, stmt) = located.at.unzip();
                Failure {
                    error: located.error,
                    span: span.unwrap_or(function.span),
                    place: format!("the function `{}`", function.name),
                    stmt,
                }
            })?;
        }
        for entry in &program.entries {
            let place = || format!("the entry `{}`", entry.name);
            entry::check(entry, program).map_err(|error| at(error, entry.span, place()))?;
        }
        Ok(())
    }

    fn foreign(&mut self, def: &ForeignDef) -> Typed<()> {
        let mark = self.scope.env.mark();
        self.scope.params(&def.context, &def.params, &self.signatures)?;
        self.scope
            .result(&def.result, Placement::OpenOutside, &self.signatures)?;
        self.scope.env.rewind(mark);
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Result<(), Located> {
        let mark = self.scope.env.mark();
        self.scope
            .params(&function.context, &function.params, &self.signatures)?;
        self.scope
            .result(&function.result, Placement::Value, &self.signatures)?;
        self.body(&function.body, &function.result)?;
        self.scope.env.rewind(mark);
        Ok(())
    }

    /// A body in a scope of its own.
    fn body(&mut self, body: &Body, expected: &ResultType) -> Result<(), Located> {
        let mark = self.scope.env.mark();
        for stmt in &body.stmts {
            self.stmt(stmt).map_err(|located| Located {
                at: located.at.or_else(|| Some((stmt.span, summary(stmt)))),
                error: located.error,
            })?;
        }
        self.scope.body_result(body, expected, &self.signatures)?;
        self.scope.env.rewind(mark);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Located> {
        self.nested(&stmt.exp)?;
        let context = stmt.pattern.context.len();
        let env = &self.scope.env;
        let found = result_type_for_pattern(&stmt.exp, context, env, &self.signatures, &mut self.supply)?;
        self.scope.pattern(&stmt.pattern, &self.signatures)?;
        build::check_pattern(&stmt.pattern, &found, &self.scope.env, &self.signatures)?;
        self.scope.define(&stmt.pattern, &stmt.exp);
        Ok(())
    }

    /// What [`crate::typing`] leaves to the checker: types written in the expression, and bodies.
    fn nested(&mut self, exp: &Exp) -> Result<(), Located> {
        match exp {
            Exp::Array(_, ty) => Ok(self.scope.ty(ty, Placement::OpenOutside, &self.signatures)?),
            Exp::Coerce { value: _, to } => Ok(self.scope.ty(to, Placement::Value, &self.signatures)?),
            Exp::If {
                condition: _,
                then,
                otherwise,
                result,
            } => {
                self.scope.result(result, Placement::Value, &self.signatures)?;
                self.body(then, result)?;
                self.body(otherwise, result)
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => {
                let ty = self.scope.env.atom_type(scrutinee)?;
                self.case(&ty, arms, default.as_ref(), result)
            }
            Exp::Loop(looped) => self.looped(looped),
            Exp::Op(Op { functions, .. }) => functions.iter().try_for_each(|function| self.lambda(function)),
            Exp::Atom(_)
            | Exp::Unary(..)
            | Exp::Binary(..)
            | Exp::Ternary(..)
            | Exp::Tuple(_)
            | Exp::Project(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::Call { .. }
            | Exp::Foreign { .. }
            | Exp::Index { .. }
            | Exp::Slice { .. }
            | Exp::Update { .. }
            | Exp::Assert { .. }
            | Exp::Trace { .. } => Ok(()),
        }
    }

    fn lambda(&mut self, lambda: &Lambda) -> Result<(), Located> {
        let mark = self.scope.env.mark();
        self.scope
            .params(&lambda.context, &lambda.params, &self.signatures)?;
        self.scope
            .result(&lambda.result, Placement::Value, &self.signatures)?;
        self.body(&lambda.body, &lambda.result)?;
        self.scope.env.rewind(mark);
        Ok(())
    }

    fn case(
        &mut self,
        scrutinee: &Type,
        arms: &[Arm],
        default: Option<&Body>,
        result: &ResultType,
    ) -> Result<(), Located> {
        data::check_coverage(scrutinee, arms, default, &self.signatures)?;
        self.scope.result(result, Placement::Value, &self.signatures)?;
        for arm in arms {
            let mark = self.scope.env.mark();
            self.scope.params(&arm.context, &arm.fields, &self.signatures)?;
            self.body(&arm.body, result)?;
            self.scope.env.rewind(mark);
        }
        default.map_or(Ok(()), |body| self.body(body, result))
    }

    fn looped(&mut self, looped: &Loop) -> Result<(), Located> {
        let mark = self.scope.env.mark();
        let state = ResultType {
            context: looped.context.iter().map(|(var, _)| var.clone()).collect(),
            types: looped.params.iter().map(|(param, _)| param.ty.clone()).collect(),
        };
        self.scope.state(looped, &self.signatures)?;
        match &looped.form {
            LoopForm::For { index, bound } => {
                let ty = self.scope.env.atom_type(bound)?;
                if ty != index.ty || !matches!(&ty, Type::Scalar(ty) if ty.is_integer()) {
                    let message = format!("`{}` must have the integer type of the bound", index.var);
                    return Err(TypeError::new(Rule::Loop, message).into());
                }
                self.scope
                    .params(&[], std::slice::from_ref(index), &self.signatures)?;
            }
            LoopForm::While(condition) => {
                self.body(condition, &ResultType::one(Type::BOOL))
                    .map_err(|mut located| {
                        if located.at.is_none() {
                            located.error.rule = Rule::Loop;
                        }
                        located
                    })?;
            }
        }
        self.body(&looped.body, &state)?;
        self.scope.env.rewind(mark);
        Ok(())
    }
}

fn at(error: TypeError, span: Span, place: String) -> Failure {
    Failure {
        error,
        span,
        place,
        stmt: None,
    }
}

/// The first line of a statement.
fn summary(stmt: &Stmt) -> String {
    let text = print::stmt_to_string(stmt);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_string();
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first,
    }
}
