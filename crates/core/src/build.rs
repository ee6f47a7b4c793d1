//! Building Core: fresh variables, and statements whose types follow from their expressions.
//!
//! ```text
//! builder.enter();
//! let ps = builder.bind(Exp::Op(map), "ps", span)?;
//! let s = builder.bind(Exp::Op(reduce), "s", span)?;
//! let body = builder.leave(vec![], vec![s]);
//! ```
//!
//! One builder serves a whole program: bodies nest, and function bodies may be built while another one is.

use crate::check::Rule;
use crate::ir::{
    Atom, Body, Exp, FunId, Function, Lambda, Loop, LoopForm, Op, Param, Pattern, Program, ResultType, Size,
    Stmt, Type, Var,
};
use crate::typing::{Env, Mark, Signature, Signatures, Supply, TypeError, Typed};
use crate::typing::{result_type, result_type_for_pattern};
use almach_base::{Name, Span};
use almach_nat::UnfoldedOp;
use almach_prim::{Annotation, Prim};
use almach_value::{BinOp, Scalar};

#[derive(Debug)]
pub struct Builder {
    pub signatures: Signatures,
    pub env: Env,
    pub supply: Supply,
    open: Vec<OpenBody>,
}

#[derive(Debug)]
struct OpenBody {
    stmts: Vec<Stmt>,
    mark: Mark,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new(Signatures::default(), 0)
    }
}

impl Builder {
    pub fn new(signatures: Signatures, next_var: u32) -> Builder {
        Builder {
            signatures,
            env: Env::new(),
            supply: Supply::starting_at(next_var),
            open: Vec::new(),
        }
    }

    /// For a pass that adds to a program.
    pub fn for_program(program: &Program) -> Builder {
        Builder::new(Signatures::of(program), program.next_var)
    }

    pub fn fresh(&mut self, name: impl Into<Name>) -> Var {
        self.supply.fresh(name)
    }

    /// A new variable of this type, for a parameter.
    pub fn param(&mut self, name: impl Into<Name>, ty: Type) -> Param {
        let var = self.fresh(name);
        self.env.bind(&var, &ty);
        Param { var, ty }
    }

    /// A new variable for a context.
    pub fn size_var(&mut self, name: impl Into<Name>) -> Var {
        let var = self.fresh(name);
        self.env.bind_size(&var);
        var
    }

    /// The type of an atom in scope, in normal form.
    pub fn type_of(&self, atom: &Atom) -> Typed<Type> {
        self.env.atom_type(atom)
    }

    /// An `i64` atom as a size, in normal form.
    pub fn size_of(&self, atom: &Atom) -> Typed<Size> {
        self.env.size(atom)
    }

    /// Starts a body.
    pub fn enter(&mut self) {
        self.open.push(OpenBody {
            stmts: Vec::new(),
            mark: self.env.mark(),
        });
    }

    /// Ends the body started last.
    pub fn leave(&mut self, context: Vec<Atom>, values: Vec<Atom>) -> Body {
        let stmts = match self.open.pop() {
            Some(body) => {
                self.env.rewind_facts(body.mark);
                body.stmts
            }
            None => Vec::new(),
        };
        Body {
            stmts,
            context,
            values,
        }
    }

    /// A body around what `inside` binds; it gives the body's context and values.
    pub fn body<E>(
        &mut self,
        inside: impl FnOnce(&mut Builder) -> Result<(Vec<Atom>, Vec<Atom>), E>,
    ) -> Result<Body, E> {
        self.enter();
        match inside(self) {
            Ok((context, values)) => Ok(self.leave(context, values)),
            Err(error) => {
                self.leave(Vec::new(), Vec::new());
                Err(error)
            }
        }
    }

    /// What the expression would give.
    pub fn result_type(&mut self, exp: &Exp) -> Typed<ResultType> {
        result_type(exp, &self.env, &self.signatures, &mut self.supply)
    }

    /// Binds the one value of an expression. Its context, if it has any, gets names of its own.
    pub fn bind(&mut self, exp: Exp, name: impl Into<Name>, span: Span) -> Typed<Atom> {
        let pattern = self.bind_all(exp, &[name.into()], span)?;
        match pattern.values.as_slice() {
            [value] => Ok(Atom::Var(value.var.clone())),
            values => Err(TypeError::new(
                Rule::Arity,
                format!("the expression gives {} values, not one", values.len()),
            )),
        }
    }

    /// Binds everything an expression gives. The last name is repeated where there are too few.
    pub fn bind_all(&mut self, exp: Exp, names: &[Name], span: Span) -> Typed<Pattern> {
        let result = self.result_type(&exp)?;
        let name = |at: usize| names.get(at).or(names.last()).cloned();
        let mut values = Vec::with_capacity(result.types.len());
        for (at, ty) in result.types.into_iter().enumerate() {
            let var = self.supply.fresh(name(at).unwrap_or_else(|| "x".into()));
            values.push(Param { var, ty });
        }
        let pattern = Pattern {
            context: result.context,
            values,
        };
        self.push(pattern.clone(), exp, span);
        Ok(pattern)
    }

    /// Binds variables made beforehand, after comparing their types with what the expression gives.
    pub fn bind_pattern(&mut self, pattern: Pattern, exp: Exp, span: Span) -> Typed<()> {
        let context = pattern.context.len();
        let found = result_type_for_pattern(&exp, context, &self.env, &self.signatures, &mut self.supply)?;
        check_pattern(&pattern, &found, &self.env, &self.signatures)?;
        self.push(pattern, exp, span);
        Ok(())
    }

    /// Adds a statement whose pattern is known to be right.
    pub fn push(&mut self, pattern: Pattern, exp: Exp, span: Span) {
        enter_pattern(&mut self.env, &pattern, &exp);
        if let Some(body) = self.open.last_mut() {
            body.stmts.push(Stmt { pattern, exp, span });
        }
    }

    /// Statements that compute a size, and the atom that holds it.
    pub fn size_atom(&mut self, size: &Size, span: Span) -> Typed<Atom> {
        let mut sum: Option<Atom> = None;
        let (added, taken): (Vec<_>, Vec<_>) = size.terms().iter().partition(|(_, by)| *by > 0);
        for (monomial, coefficient) in added.into_iter().chain(taken) {
            let mut product: Option<Atom> = None;
            for (factor, power) in monomial.factors() {
                let factor = self.size_factor(factor, span)?;
                for _ in 0..*power {
                    product = Some(self.combine(BinOp::Mul, product, factor.clone(), span)?);
                }
            }
            let (op, magnitude) = match sum {
                Some(_) if *coefficient < 0 && *coefficient != i64::MIN => (BinOp::Sub, -coefficient),
                _ => (BinOp::Add, *coefficient),
            };
            let term = match product {
                Some(product) if magnitude == 1 => product,
                product => self.combine(BinOp::Mul, product, Atom::Const(Scalar::I64(magnitude)), span)?,
            };
            sum = Some(self.combine(op, sum, term, span)?);
        }
        Ok(sum.unwrap_or(Atom::Const(Scalar::I64(0))))
    }

    fn combine(&mut self, op: BinOp, left: Option<Atom>, right: Atom, span: Span) -> Typed<Atom> {
        match left {
            None => Ok(right),
            Some(left) => self.bind(Exp::Binary(op, left, right), "size", span),
        }
    }

    fn size_factor(&mut self, atom: &almach_nat::Atom<Var>, span: Span) -> Typed<Atom> {
        let (op, left, right) = match atom {
            almach_nat::Atom::Var(var) => return Ok(Atom::Var(var.clone())),
            almach_nat::Atom::Quotient(ratio) => (BinOp::Div, &ratio.dividend, &ratio.divisor),
            almach_nat::Atom::Remainder(ratio) => (BinOp::Rem, &ratio.dividend, &ratio.divisor),
            almach_nat::Atom::Unfolded(operation) => {
                let op = match operation.op {
                    UnfoldedOp::Sum => BinOp::Add,
                    UnfoldedOp::Product => BinOp::Mul,
                };
                (op, &operation.left, &operation.right)
            }
        };
        let left = self.size_atom(left, span)?;
        let right = self.size_atom(right, span)?;
        self.bind(Exp::Binary(op, left, right), "size", span)
    }

    /// The size of an array's outermost dimension as an atom.
    pub fn length(&mut self, array: &Atom, span: Span) -> Typed<Atom> {
        let exp = op(Prim::Length, vec![], vec![array.clone()]);
        self.bind(exp, "n", span)
    }

    /// Makes a function known before it has a body, so that it can call itself.
    pub fn declare(&mut self, signature: Signature) -> FunId {
        self.signatures.functions.push(signature);
        FunId(self.signatures.functions.len() as u32 - 1)
    }

    /// Puts a function's context and parameters in scope.
    pub fn enter_signature(&mut self, context: &[Var], params: &[Param]) {
        enter_params(&mut self.env, context, params);
    }

    /// Puts everything a function binds in scope, also inside its bodies. Names are unique, so this is only wrong to
    /// who wants to know what is in scope; a pass that moves expressions about has the types it needs.
    pub fn enter_function(&mut self, function: &Function) {
        enter_params(&mut self.env, &function.context, &function.params);
        self.env_of_body(&function.body);
    }

    fn env_of_body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            enter_nested(self, &stmt.exp);
            enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
        }
    }
}

fn enter_nested(builder: &mut Builder, exp: &Exp) {
    let mark = builder.env.mark();
    match exp {
        Exp::If { then, otherwise, .. } => {
            builder.env_of_body(then);
            builder.env_of_body(otherwise);
        }
        Exp::Case { arms, default, .. } => {
            for arm in arms {
                enter_params(&mut builder.env, &arm.context, &arm.fields);
                builder.env_of_body(&arm.body);
            }
            if let Some(body) = default {
                builder.env_of_body(body);
            }
        }
        Exp::Loop(looped) => {
            enter_loop(&mut builder.env, looped);
            if let LoopForm::While(condition) = &looped.form {
                builder.env_of_body(condition);
            }
            builder.env_of_body(&looped.body);
        }
        Exp::Op(op) => {
            for function in &op.functions {
                enter_params(&mut builder.env, &function.context, &function.params);
                builder.env_of_body(&function.body);
            }
        }
        _ => {}
    }
    builder.env.rewind_facts(mark);
}

/// Puts a context and parameters in scope.
pub fn enter_params(env: &mut Env, context: &[Var], params: &[Param]) {
    for var in context {
        env.bind_size(var);
    }
    for param in params {
        env.bind(&param.var, &param.ty);
    }
}

/// Puts a loop's state, and its index where it has one, in scope.
pub fn enter_loop(env: &mut Env, looped: &Loop) {
    for (var, _) in &looped.context {
        env.bind_size(var);
    }
    for (param, _) in &looped.params {
        env.bind(&param.var, &param.ty);
    }
    if let LoopForm::For { index, .. } = &looped.form {
        env.bind(&index.var, &index.ty);
    }
}

/// Puts what a statement binds in scope, with the equalities of sizes that follow.
pub fn enter_pattern(env: &mut Env, pattern: &Pattern, exp: &Exp) {
    enter_params(env, &pattern.context, &pattern.values);
    if let ([], [value]) = (pattern.context.as_slice(), pattern.values.as_slice()) {
        env.define(&value.var, exp);
    }
}

/// A pattern binds what its expression gives (CORE-10).
pub fn check_pattern(pattern: &Pattern, found: &ResultType, env: &Env, signatures: &Signatures) -> Typed<()> {
    let counts = [
        ("sizes", pattern.context.len(), found.context.len()),
        ("values", pattern.values.len(), found.types.len()),
    ];
    for (what, bound, given) in counts {
        if bound != given {
            let message = format!("the pattern binds {bound} {what}, the expression gives {given}");
            return Err(TypeError::new(Rule::Pattern, message));
        }
    }
    let named = |var: &Var| {
        let at = found.context.iter().position(|given| given == var)?;
        pattern.context.get(at).cloned().map(Size::var)
    };
    for (value, ty) in pattern.values.iter().zip(&found.types) {
        let (declared, given) = (env.normalise(&value.ty), env.normalise(&ty.substitute(&named)));
        if declared != given {
            let show = |ty: &Type| ty.display(&signatures.data).to_string();
            let message = format!(
                "`{}` is declared with type `{}`, but the expression gives `{}`",
                value.var,
                show(&declared),
                show(&given)
            );
            return Err(TypeError::new(Rule::Pattern, message));
        }
    }
    Ok(())
}

/// A primitive without annotation.
pub fn op(prim: Prim, functions: Vec<Lambda>, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation::NONE,
        functions,
        args,
    })
}
