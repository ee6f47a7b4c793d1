//! Branches, loops and calls.

use super::{Flat, Given, Loc, Lower, Lowered, output_of};
use crate::interp::code::{B, CallInstr, FieldInstr, Instr, Node, Output, S};
use crate::ir::{Arm, Atom, Body, Exp, FunId, Loop, LoopForm, ResultType, Stmt, Type};
use almach_base::Span;
use almach_value::{Scalar, ScalarType};

impl Lower<'_, '_> {
    /// Registers for the results of branches or a call.
    fn joined(&mut self, result: &ResultType) -> Joined {
        Joined {
            context: result.context.iter().map(|_| self.fresh(&Type::I64)).collect(),
            values: result.types.iter().map(|ty| self.fresh(ty)).collect(),
        }
    }

    /// A body that ends by writing its results to registers.
    fn body_into(&mut self, body: &Body, targets: &[Loc]) -> Lowered<()> {
        let (context, values) = self.body(body)?;
        let sources: Vec<Loc> = context.into_iter().chain(values).collect();
        self.assign(targets, &sources)
    }

    pub(super) fn branch(
        &mut self,
        condition: &Atom,
        then: &Body,
        otherwise: &Body,
        result: &ResultType,
    ) -> Lowered<Given> {
        let condition = self.scalar_atom(condition)?;
        let joined = self.joined(result);
        let targets = joined.all();
        let then = self.in_block(|lower| lower.body_into(then, &targets))?;
        let otherwise = self.in_block(|lower| lower.body_into(otherwise, &targets))?;
        self.block.push(Node::If {
            condition,
            then,
            otherwise,
        });
        Ok(joined.given())
    }

    pub(super) fn case(
        &mut self,
        scrutinee: &Atom,
        arms: &[Arm],
        default: Option<&Body>,
        result: &ResultType,
    ) -> Lowered<Given> {
        let joined = self.joined(result);
        let targets = joined.all();
        self.switch(scrutinee, arms, default, &mut |lower, body| {
            lower.body_into(body, &targets)
        })?;
        Ok(joined.given())
    }

    /// A `case` whose bodies end as `finish` says.
    fn switch(
        &mut self,
        scrutinee: &Atom,
        arms: &[Arm],
        default: Option<&Body>,
        finish: &mut dyn FnMut(&mut Self, &Body) -> Lowered<()>,
    ) -> Lowered<()> {
        let on = self.boxed_atom(scrutinee)?;
        let beyond = arms.iter().map(|arm| arm.constructor as usize + 1).max();
        let mut blocks = Vec::with_capacity(arms.len() + 1);
        // Constructors without an arm go to the block at the end; the last target is for all beyond the others.
        let mut targets = vec![arms.len(); beyond.unwrap_or(0) + 1];
        for (index, arm) in arms.iter().enumerate() {
            if let Some(target) = targets.get_mut(arm.constructor as usize) {
                *target = index;
            }
            blocks.push(self.in_block(|lower| {
                lower.fields(on, arm)?;
                finish(lower, &arm.body)
            })?);
        }
        blocks.push(match default {
            Some(body) => self.in_block(|lower| finish(lower, body))?,
            None => vec![Node::Instr(Instr::Bug(
                "a case without an arm for a value".into(),
            ))],
        });
        self.block.push(Node::Switch {
            on,
            arms: blocks,
            targets,
        });
        Ok(())
    }

    fn fields(&mut self, of: B, arm: &Arm) -> Lowered<()> {
        let mut typed = Vec::new();
        for (index, param) in (0..).zip(&arm.fields) {
            let to = self.wanted_output(param, &arm.context);
            if matches!(to, Output::Ignored) {
                continue;
            }
            typed.push((&param.ty, self.var(&param.var)?));
            self.emit(Instr::Field(Box::new(FieldInstr { to, of, index })));
        }
        self.bind_sizes(&arm.context, &typed)
    }

    pub(super) fn looped(&mut self, looped: &Loop) -> Lowered<Given> {
        let mut targets = Vec::new();
        let mut initial = Vec::new();
        for (var, atom) in &looped.context {
            initial.push(self.atom(atom)?);
            let loc = self.fresh(&Type::I64);
            self.bind(var, loc.clone());
            targets.push(loc);
        }
        for (param, atom) in &looped.params {
            initial.push(self.atom(atom)?);
            targets.push(self.bind_new(param));
        }
        self.assign(&targets, &initial)?;
        match &looped.form {
            LoopForm::For { index, bound } => {
                let bound = self.counted_bound(bound)?;
                let Type::Scalar(ty) = index.ty else {
                    return Err("a loop counts with what is no scalar".to_owned());
                };
                let counter = self.scalar();
                self.bind(&index.var, Loc::Scalar(counter, ty));
                let inner = self.inner();
                let body = self.in_block(|lower| lower.body_into(&looped.body, &targets))?;
                self.block.push(Node::Count {
                    counter,
                    bound,
                    body,
                    inner,
                });
            }
            LoopForm::While(condition) => {
                let flag = self.scalar();
                let inner = self.inner();
                let target = Loc::Scalar(flag, ScalarType::Bool);
                let head =
                    self.in_block(|lower| lower.body_into(condition, std::slice::from_ref(&target)))?;
                let body = self.in_block(|lower| lower.body_into(&looped.body, &targets))?;
                self.block.push(Node::While {
                    head,
                    condition: flag,
                    body,
                    inner,
                });
            }
        }
        let values = targets.split_off(looped.context.len());
        Ok(Given {
            context: Some(targets),
            values,
        })
    }

    /// A bound as a signed number. One beyond the largest would not be reached either way.
    fn counted_bound(&mut self, bound: &Atom) -> Lowered<S> {
        let loc = self.atom(bound)?;
        let is_u64 = matches!(loc, Loc::Scalar(_, ScalarType::U64) | Loc::Const(Scalar::U64(_)));
        let bound = self.scalar_of(&loc)?;
        if !is_u64 {
            return Ok(bound);
        }
        let to = self.scalar();
        self.emit(Instr::Unary {
            function: |raw| raw.min(i64::MAX as u64),
            to,
            arg: bound,
        });
        Ok(to)
    }

    fn arguments(&mut self, context: &[Atom], args: &[Atom]) -> Lowered<Flat> {
        let mut flat = Flat::default();
        for atom in context.iter().chain(args) {
            let loc = self.atom(atom)?;
            self.flatten(&loc, &mut flat)?;
        }
        Ok(flat)
    }

    pub(super) fn call(
        &mut self,
        function: FunId,
        context: &[Atom],
        args: &[Atom],
        span: Span,
    ) -> Lowered<Given> {
        let site = self.site(span);
        let flat = self.arguments(context, args)?;
        let called = self.facts.program.functions.get(function.0 as usize);
        let joined = self.joined(&called.ok_or("a called function does not exist")?.result);
        let (mut scalars, mut boxed) = (Vec::new(), Vec::new());
        for loc in joined.context.iter().chain(&joined.values) {
            result_registers(&output_of(loc), &mut scalars, &mut boxed);
        }
        self.emit(Instr::Call(Box::new(CallInstr {
            function: function.0,
            scalars: flat.scalars.into(),
            boxed: flat.boxed.into(),
            scalar_results: scalars.into(),
            boxed_results: boxed.into(),
            site,
        })));
        Ok(joined.given())
    }

    /// A body in tail position: its last action may be a call that needs no frame of its own.
    pub(super) fn tail_body(&mut self, body: &Body) -> Lowered<()> {
        if let Some((last, before)) = body.stmts.split_last()
            && gives_all(body, last)
            && matches!(last.exp, Exp::Call { .. } | Exp::If { .. } | Exp::Case { .. })
        {
            for stmt in before {
                self.stmt(stmt)?;
            }
            return self.tail_stmt(last);
        }
        let (context, values) = self.body(body)?;
        self.ret(&context, &values)
    }

    fn tail_stmt(&mut self, stmt: &Stmt) -> Lowered<()> {
        match &stmt.exp {
            Exp::Call {
                function,
                context,
                args,
            } => {
                let site = self.site(stmt.span);
                let flat = self.arguments(context, args)?;
                self.emit(Instr::TailCall(Box::new(CallInstr {
                    function: function.0,
                    scalars: flat.scalars.into(),
                    boxed: flat.boxed.into(),
                    scalar_results: Box::default(),
                    boxed_results: Box::default(),
                    site,
                })));
                Ok(())
            }
            Exp::If {
                condition,
                then,
                otherwise,
                result: _,
            } => {
                let condition = self.scalar_atom(condition)?;
                let then = self.in_block(|lower| lower.tail_body(then))?;
                let otherwise = self.in_block(|lower| lower.tail_body(otherwise))?;
                self.block.push(Node::If {
                    condition,
                    then,
                    otherwise,
                });
                Ok(())
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                result: _,
            } => self.switch(scrutinee, arms, default.as_ref(), &mut |lower, body| {
                lower.tail_body(body)
            }),
            _ => Err("no tail position".to_owned()),
        }
    }
}

/// Where the results of branches or a call go.
struct Joined {
    context: Vec<Loc>,
    values: Vec<Loc>,
}

impl Joined {
    fn all(&self) -> Vec<Loc> {
        self.context.iter().chain(&self.values).cloned().collect()
    }

    fn given(self) -> Given {
        Given {
            context: Some(self.context),
            values: self.values,
        }
    }
}

/// Whether a body gives exactly what its last statement binds.
fn gives_all(body: &Body, last: &Stmt) -> bool {
    let is = |atom: &Atom, id: u32| matches!(atom, Atom::Var(var) if var.id == id);
    let (context, values) = (&last.pattern.context, &last.pattern.values);
    body.context.len() == context.len()
        && body.values.len() == values.len()
        && body
            .context
            .iter()
            .zip(context)
            .all(|(atom, var)| is(atom, var.id))
        && body
            .values
            .iter()
            .zip(values)
            .all(|(atom, param)| is(atom, param.var.id))
}

fn result_registers(output: &Output, scalars: &mut Vec<S>, boxed: &mut Vec<B>) {
    match output {
        Output::Scalar(reg) => scalars.push(*reg),
        Output::Lanes(regs) => scalars.extend(regs.iter()),
        Output::Tuple(parts) => parts
            .iter()
            .for_each(|part| result_registers(part, scalars, boxed)),
        Output::Boxed(reg) => boxed.push(*reg),
        Output::Ignored => {}
    }
}
