//! What passes ask about expressions: can it fail, does it print, is it fixed by the user.

use almach_core::build::{Builder, enter_pattern};
use almach_core::typing::Env;
use almach_core::visit::{Walk, WalkMut, walk_exp, walk_exp_mut, walk_function_mut};
use almach_core::{Atom, Body, Dim, Exp, FunId, Function, Lambda, LoopForm, Op, Program, Size, Stmt, Type};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar};
use std::collections::HashMap;

/// Facts about a program's functions and variables.
pub struct Facts {
    pub env: Env,
    functions: Vec<FunctionFacts>,
}

#[derive(Clone, Copy, Default, Debug)]
struct FunctionFacts {
    can_fail: bool,
    prints: bool,
    /// Whether it holds an operation that the user fixed.
    fixed: bool,
}

impl Facts {
    pub fn of(program: &Program) -> Facts {
        let mut builder = Builder::for_program(program);
        for function in &program.functions {
            builder.enter_function(function);
        }
        let unknown = FunctionFacts {
            can_fail: true,
            prints: true,
            fixed: true,
        };
        let mut facts = Facts {
            env: builder.env,
            functions: vec![unknown; program.functions.len()],
        };
        for id in callees_first(program) {
            if let Some(function) = program.functions.get(id.0 as usize) {
                let found = facts.of_function(function);
                if let Some(slot) = facts.functions.get_mut(id.0 as usize) {
                    *slot = found;
                }
            }
        }
        facts
    }

    /// Recursive functions can exhaust the stack and may not end: the call that closes the circle still counts as unknown.
    fn of_function(&self, function: &Function) -> FunctionFacts {
        FunctionFacts {
            can_fail: self.body_can_fail(&function.body),
            prints: self.body_prints(&function.body),
            fixed: self.body_holds_fixed(&function.body),
        }
    }

    /// Makes a new statement's variables known.
    pub fn learn(&mut self, stmt: &Stmt) {
        enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
    }

    /// Makes everything known that a function binds, for a copy of one.
    pub fn learn_function(&mut self, program: &Program, function: &Function) {
        let mut builder = Builder::for_program(program);
        std::mem::swap(&mut builder.env, &mut self.env);
        builder.enter_function(function);
        self.env = builder.env;
    }

    pub fn body_can_fail(&self, body: &Body) -> bool {
        body.stmts.iter().any(|stmt| self.can_fail(&stmt.exp))
    }

    /// Whether running the expression could end the program with an error, or never end.
    pub fn can_fail(&self, exp: &Exp) -> bool {
        match exp {
            Exp::Atom(_)
            | Exp::Unary(..)
            | Exp::Ternary(..)
            | Exp::Tuple(_)
            | Exp::Project(..)
            | Exp::Array(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::Trace { .. } => false,
            Exp::Binary(op, _, right) => self.operator_can_fail(*op, right),
            Exp::If { then, otherwise, .. } => self.body_can_fail(then) || self.body_can_fail(otherwise),
            Exp::Case { arms, default, .. } => {
                arms.iter().any(|arm| self.body_can_fail(&arm.body))
                    || default.as_ref().is_some_and(|body| self.body_can_fail(body))
            }
            Exp::Loop(looped) => match &looped.form {
                LoopForm::For { .. } => self.body_can_fail(&looped.body),
                LoopForm::While(_) => true,
            },
            Exp::Call { function, .. } => self.function(*function).can_fail,
            Exp::Foreign { .. } | Exp::Assert { .. } => true,
            Exp::Op(op) => self.op_can_fail(op),
            Exp::Index { array, indices } => !self.is_within(array, indices),
            Exp::Slice { .. } | Exp::Update { .. } => true,
            Exp::Coerce { value, to } => match self.env.atom_type(value) {
                Ok(from) => !self.env.same_type(&from, to),
                Err(_) => true,
            },
        }
    }

    /// Whether indices are numbers below sizes that are numbers.
    fn is_within(&self, array: &Atom, indices: &[Atom]) -> bool {
        let Ok(mut ty) = self.env.atom_type(array) else {
            return false;
        };
        indices.iter().all(|index| {
            let (Type::Array(Dim::Size(size), element), Atom::Const(index)) = (&ty, index) else {
                return false;
            };
            let (size, index) = (size.as_constant(), index.as_integer());
            let within = size
                .zip(index)
                .is_some_and(|(size, index)| (0..i128::from(size)).contains(&index));
            ty = (**element).clone();
            within
        })
    }

    fn function(&self, id: FunId) -> FunctionFacts {
        self.functions
            .get(id.0 as usize)
            .copied()
            .unwrap_or(FunctionFacts {
                can_fail: true,
                prints: true,
                fixed: true,
            })
    }

    fn operator_can_fail(&self, op: BinOp, right: &Atom) -> bool {
        let ty = match self.env.atom_type(right) {
            Ok(Type::Scalar(ty) | Type::Vector(_, ty)) => ty,
            _ => return true,
        };
        if !op.can_fail(ty) {
            return false;
        }
        match (op, right) {
            (BinOp::Div | BinOp::Rem, Atom::Const(value)) => value.as_integer() == Some(0),
            (BinOp::Shl | BinOp::Shr | BinOp::Pow, Atom::Const(value)) => {
                value.as_integer().is_none_or(|value| value < 0)
            }
            _ => true,
        }
    }

    fn lambdas_can_fail(&self, functions: &[Lambda]) -> bool {
        functions
            .iter()
            .any(|function| self.body_can_fail(&function.body))
    }

    fn op_can_fail(&self, op: &Op) -> bool {
        match op.prim {
            Prim::Map
            | Prim::Reduce
            | Prim::ReduceComm
            | Prim::ReduceSeq
            | Prim::Scan
            | Prim::ScanExclusive
            | Prim::ScanRows
            | Prim::ScanRowsExclusive
            | Prim::Filter
            | Prim::Partition
            | Prim::ReduceByIndex
            | Prim::ToGlobal
            | Prim::ToLocal
            | Prim::ToPrivate => self.lambdas_can_fail(&op.functions),
            Prim::Length
            | Prim::Zip
            | Prim::Unzip
            | Prim::Concat
            | Prim::Reverse
            | Prim::Rotate
            | Prim::Transpose
            | Prim::Join
            | Prim::Flatten
            | Prim::Segments
            | Prim::Jagged
            | Prim::AsScalar
            | Prim::Materialise
            | Prim::Nodes
            | Prim::RootOf
            | Prim::Reach => false,
            Prim::Iota | Prim::Replicate => !op.args.first().is_some_and(|size| self.is_not_negative(size)),
            Prim::Pad => !op.args.iter().take(2).all(|size| self.is_not_negative(size)),
            Prim::Slide => {
                !matches!(op.args.as_slice(), [_, Atom::Const(Scalar::I64(1..)), _])
                    || !op.args.first().is_some_and(|size| self.is_not_negative(size))
            }
            Prim::Gather
            | Prim::Permute
            | Prim::Scatter
            | Prim::Range
            | Prim::Split
            | Prim::PadEdge
            | Prim::Take
            | Prim::Drop
            | Prim::Unflatten
            | Prim::AsVector
            | Prim::FromNodes
            | Prim::Constructed
            | Prim::Build => true,
        }
    }

    fn is_not_negative(&self, atom: &Atom) -> bool {
        self.env
            .size(atom)
            .is_ok_and(|size: Size| self.env.is_not_negative(&size))
    }

    pub fn body_prints(&self, body: &Body) -> bool {
        let mut found = Prints {
            facts: self,
            found: false,
        };
        found.body(body);
        found.found
    }

    /// Whether running the expression shows something to the user other than its value.
    pub fn prints(&self, exp: &Exp) -> bool {
        let mut found = Prints {
            facts: self,
            found: false,
        };
        found.exp(exp);
        found.found
    }
}

impl Facts {
    /// Whether an operation inside the expression is fixed, also in a function it calls: then it is not moved or made twice.
    pub fn holds_fixed(&self, exp: &Exp) -> bool {
        let mut found = Fixed {
            facts: self,
            found: false,
        };
        found.exp(exp);
        found.found
    }

    pub fn body_holds_fixed(&self, body: &Body) -> bool {
        body.stmts.iter().any(|stmt| self.holds_fixed(&stmt.exp))
    }
}

struct Prints<'f> {
    facts: &'f Facts,
    found: bool,
}

impl Walk for Prints<'_> {
    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Trace { .. } => self.found = true,
            Exp::Call { function, .. } => self.found |= self.facts.function(*function).prints,
            _ => walk_exp(self, exp),
        }
    }
}

/// Whether the user wrote a level or effect on the operation: then it stays what and where it is.
pub fn is_fixed(op: &Op) -> bool {
    !op.annotation.is_none()
}

struct Fixed<'f> {
    facts: &'f Facts,
    found: bool,
}

impl Walk for Fixed<'_> {
    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Op(op) => self.found |= is_fixed(op),
            Exp::Call { function, .. } => self.found |= self.facts.function(*function).fixed,
            _ => {}
        }
        walk_exp(self, exp);
    }
}

/// The functions an expression calls.
pub fn callees(body: &Body) -> Vec<FunId> {
    let mut calls = Calls(Vec::new());
    calls.body(body);
    calls.0
}

/// The functions an expression calls, once for every call.
pub fn callees_of_exp(exp: &Exp) -> Vec<FunId> {
    let mut calls = Calls(Vec::new());
    calls.exp(exp);
    calls.0
}

struct Calls(Vec<FunId>);

impl Walk for Calls {
    fn exp(&mut self, exp: &Exp) {
        if let Exp::Call { function, .. } = exp {
            self.0.push(*function);
        }
        walk_exp(self, exp);
    }
}

/// Lets a function call others in place of those that it calls.
pub fn redirect_calls(function: &mut Function, to: &dyn Fn(FunId) -> FunId) {
    struct Redirect<'r>(&'r dyn Fn(FunId) -> FunId);
    impl WalkMut for Redirect<'_> {
        fn exp(&mut self, exp: &mut Exp) {
            if let Exp::Call { function, .. } = exp {
                *function = (self.0)(*function);
            }
            walk_exp_mut(self, exp);
        }
    }
    walk_function_mut(&mut Redirect(to), function);
}

/// All functions, each after those it calls, but for recursive groups.
pub fn callees_first(program: &Program) -> Vec<FunId> {
    let mut order = Vec::with_capacity(program.functions.len());
    let mut state: HashMap<FunId, Visit> = HashMap::new();
    for root in 0..program.functions.len() {
        let mut stack = vec![(FunId(root as u32), Visit::Entered)];
        while let Some((id, step)) = stack.pop() {
            match (step, state.get(&id)) {
                (Visit::Left, _) => {
                    state.insert(id, Visit::Left);
                    order.push(id);
                }
                (Visit::Entered, Some(_)) => {}
                (Visit::Entered, None) => {
                    state.insert(id, Visit::Entered);
                    stack.push((id, Visit::Left));
                    if let Some(function) = program.functions.get(id.0 as usize) {
                        stack.extend(callees(&function.body).into_iter().map(|id| (id, Visit::Entered)));
                    }
                }
            }
        }
    }
    order
}

#[derive(Clone, Copy)]
enum Visit {
    Entered,
    Left,
}

/// How many statements a body has, those inside counted too.
pub fn size_of_body(body: &Body) -> usize {
    struct Size(usize);
    impl Walk for Size {
        fn exp(&mut self, exp: &Exp) {
            self.0 += 1;
            walk_exp(self, exp);
        }
    }
    let mut size = Size(0);
    size.body(body);
    size.0
}
