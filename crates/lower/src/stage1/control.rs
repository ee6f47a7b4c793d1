//! Branches, `case`, loops and calls.

use super::checks::{as_i64, binary, unary};
use super::layout::Held;
use super::types::ResultData;
use super::{Dest, Translator};
use crate::error::{Lowering, bug, refuse};
use almach_base::Name;
use almach_core::{Arm, Atom, Body, Exp, FunId, Loop, LoopForm, Param, Pattern, Type, Var};
use almach_dpia::{Data, Nat, Phrase, Prim, Space, build};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::collections::HashSet;

impl Translator<'_> {
    /// Binds a pattern to an expression (the paper's 𝒞).
    pub(crate) fn bind(&mut self, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        match exp {
            Exp::Op(op) => self.bind_op(op, exp, pattern),
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } if is_plain(then) && is_plain(otherwise) => match self.select(condition, then, otherwise)? {
                Some(value) => self.bind_one(pattern, exp, value),
                None => self.compute_new(pattern, exp, |this, dest| this.into(exp, pattern, dest)),
            },
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } if self.lazily.is_on() => {
                if !self.lazy_branch(condition, (then, otherwise), exp, pattern)? {
                    self.compute_new(pattern, exp, |this, dest| this.into(exp, pattern, dest))?;
                }
                Ok(())
            }
            Exp::Construct { data, fields, .. } if self.is_recursive(*data) && !fields.is_empty() => {
                self.compute_new(pattern, exp, |this, dest| this.into(exp, pattern, dest))
            }
            Exp::Array(elements, _) if self.binds_rows(pattern)? => {
                let value = self.rows_literal(elements, pattern)?;
                self.bind_one_held(pattern, exp, value)
            }
            Exp::Update {
                array, parts, value, ..
            } if self.binds_rows(pattern)? => {
                let value = self.updated_rows(array, parts, value)?;
                self.bind_one_held(pattern, exp, value)
            }
            Exp::If { .. } | Exp::Case { .. } | Exp::Call { .. } | Exp::Array(..) | Exp::Update { .. } => {
                self.compute_new(pattern, exp, |this, dest| this.into(exp, pattern, dest))
            }
            Exp::Loop(looped) => self.bind_loop(looped, exp, pattern),
            Exp::Foreign { function, args, .. } => match self.all_cells.cast(*function) {
                Some(way) => self.bind_cast(way, args, exp, pattern),
                None => self.foreign(*function, args, exp, pattern),
            },
            Exp::Trace { label, value } => self.trace(label, value, exp, pattern),
            Exp::Assert { condition, text } => {
                let condition = self.value(condition)?;
                self.assertion(condition, text);
                self.bind_one(pattern, exp, build::tuple(&[], vec![]))
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
            | Exp::Coerce { .. } => {
                let value = self.expression(exp, pattern)?;
                self.bind_one_held(pattern, exp, value)
            }
        }
    }

    /// Computes an expression into acceptors (the paper's 𝒜).
    pub(crate) fn into(&mut self, exp: &Exp, pattern: &Pattern, dest: Dest) -> Lowering<()> {
        match exp {
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let condition = self.value(condition)?;
                let then = self.block(|this| this.body_into(then, dest.again()))?;
                let otherwise = self.block(|this| this.body_into(otherwise, dest))?;
                self.push(build::if_then_else(condition, then, otherwise));
                Ok(())
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => self.case(scrutinee, arms, default.as_ref(), dest),
            // A procedure gets places of its own for its results: parts of one place would interfere.
            Exp::Call { .. } if shares_places(&dest) => self.bind_then_give(exp, pattern, dest),
            Exp::Call {
                function,
                context,
                args,
            } => self.call(*function, context, args, dest),
            Exp::Op(op) => self.op_into(op, exp, pattern, dest),
            Exp::Array(elements, _) => match dest {
                Dest::Each(acceptors) => self.array_literal(elements, exp, pattern, acceptors),
                dest @ Dest::Cell { .. } => self.bind_then_give(exp, pattern, dest),
            },
            Exp::Update {
                array, parts, value, ..
            } => match dest {
                Dest::Each(acceptors) => self.update(array, parts, value, acceptors),
                dest @ Dest::Cell { .. } => self.bind_then_give(exp, pattern, dest),
            },
            Exp::Construct {
                data,
                constructor,
                fields,
            } if self.is_recursive(*data) && !fields.is_empty() => match dest {
                Dest::Each(acceptors) => self.construct_cell(*data, *constructor, fields, acceptors),
                Dest::Cell { .. } => bug("a cell with a size of its own", self.span),
            },
            _ => self.bind_then_give(exp, pattern, dest),
        }
    }

    /// For what has no acceptor-passing form of its own.
    pub(crate) fn bind_then_give(&mut self, exp: &Exp, pattern: &Pattern, dest: Dest) -> Lowering<()> {
        self.bind(exp, pattern)?;
        self.give_bound(pattern, dest)
    }

    /// Puts what a pattern has bound where it should go.
    pub(crate) fn give_bound(&mut self, pattern: &Pattern, dest: Dest) -> Lowering<()> {
        let values = pattern
            .values
            .iter()
            .map(|value| self.held(&Atom::Var(value.var.clone())));
        let values = values.collect::<Lowering<Vec<_>>>()?;
        let sizes = pattern
            .context
            .iter()
            .map(|var| self.size(&Atom::Var(var.clone())));
        let sizes = sizes.collect::<Lowering<Vec<Nat>>>()?;
        self.give(sizes, values, dest)
    }

    /// A branch whose sides are only values, as an expression; none for several or large values.
    fn select(&mut self, condition: &Atom, then: &Body, otherwise: &Body) -> Lowering<Option<Phrase>> {
        let ([a], [b]) = (then.values.as_slice(), otherwise.values.as_slice()) else {
            return Ok(None);
        };
        let data = self.data_of(a)?;
        if !data.is_base() {
            return Ok(None);
        }
        let select = Phrase::prim(Prim::Select, vec![], vec![data]);
        Ok(Some(select.apply([
            self.value(condition)?,
            self.value(a)?,
            self.value(b)?,
        ])))
    }

    fn case(&mut self, scrutinee: &Atom, arms: &[Arm], default: Option<&Body>, dest: Dest) -> Lowering<()> {
        if let Type::Data(id) = self.type_of(scrutinee)?
            && self.is_recursive(id)
        {
            return self.case_of_datum(id, scrutinee, arms, default, dest);
        }
        let mut value = self.held(scrutinee)?;
        value.data = self.let_exp("scrutinee", &value.layout.data(), value.data);
        let Data::Tuple(parts) = value.layout.data() else {
            return bug("a sum that is no tuple", self.span);
        };
        let mut branches = Vec::new();
        for arm in arms {
            let body = self.arm(arm, &value, dest.again())?;
            branches.push((arm.constructor, body));
        }
        let tag = build::get(0, &parts, value.data);
        self.branches(tag, branches, default, dest)
    }

    /// Runs the branch of a tag.
    pub(crate) fn branches(
        &mut self,
        tag: Phrase,
        mut branches: Vec<(u32, Phrase)>,
        default: Option<&Body>,
        dest: Dest,
    ) -> Lowering<()> {
        let mut rest = match default {
            Some(body) => self.block(|this| this.body_into(body, dest))?,
            // The last constructor needs no test.
            None => match branches.pop() {
                Some((_, body)) => body,
                None => return refuse("a `case` without arms", self.span),
            },
        };
        for (constructor, body) in branches.into_iter().rev() {
            let test = binary(
                BinOp::Eq,
                super::layout::TAG,
                tag.clone(),
                build::literal(Scalar::U32(constructor)),
            );
            rest = build::if_then_else(test, body, rest);
        }
        self.push(rest);
        Ok(())
    }

    fn arm(&mut self, arm: &Arm, value: &Held, dest: Dest) -> Lowering<Phrase> {
        let Some(fields) = value.component(arm.constructor as usize + 1) else {
            return bug("a constructor without fields", self.span);
        };
        let mut values = Vec::new();
        for at in 0..arm.fields.len() {
            match fields.component(at) {
                Some(field) => values.push(field),
                None => return bug("a constructor without its fields", self.span),
            }
        }
        self.block(|this| {
            this.bind_fields(&arm.context, &arm.fields, values)?;
            this.body_into(&arm.body, dest)
        })
    }

    /// `f[n] x y out`.
    fn call(&mut self, function: FunId, context: &[Atom], args: &[Atom], dest: Dest) -> Lowering<()> {
        let Some(name) = self.proc_names.get(&function) else {
            return bug("a call of a function that is not there", self.span);
        };
        let mut phrase = Phrase::Var(name.clone());
        let callee = super::function(self.program, function)?;
        let callee_facts = crate::facts::Facts::of(callee);
        for atom in context {
            phrase = Phrase::NatApp(Box::new(phrase), self.size(atom)?);
        }
        let mut values = Vec::new();
        let mut pool_sizes = Vec::new();
        for (param, atom) in callee.params.iter().zip(args) {
            match param.ty == Type::I64 && callee_facts.is_size(&param.var) {
                true => phrase = Phrase::NatApp(Box::new(phrase), self.count(atom)?),
                false => {
                    let held = self.held(atom)?;
                    let held = self.pack(held)?;
                    values.push(held.data);
                    for pool in held.pools {
                        pool_sizes.push(pool.size);
                        values.push(pool.elements);
                    }
                }
            }
        }
        for size in pool_sizes {
            phrase = Phrase::NatApp(Box::new(phrase), size);
        }
        let acceptors = match dest {
            Dest::Each(acceptors) => acceptors,
            Dest::Cell { acceptor, .. } => vec![acceptor],
        };
        let acceptors = match acceptors.is_empty() {
            true => vec![self.new_var("nothing", &Data::Tuple(vec![])).writer()],
            false => acceptors,
        };
        self.push(phrase.apply(values).apply(acceptors));
        Ok(())
    }

    fn bind_loop(&mut self, looped: &Loop, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let initial = looped
            .params
            .iter()
            .map(|(_, atom)| self.held(atom))
            .collect::<Lowering<Vec<_>>>()?;
        let sizes = looped.context.iter().map(|(_, atom)| self.count(atom));
        let sizes = sizes.collect::<Lowering<Vec<Nat>>>()?;
        let bound = match &looped.form {
            LoopForm::For { bound, .. } => {
                let scalar = self.scalar_of(bound)?;
                let value = as_i64(scalar, self.value(bound)?);
                Some(self.let_nat("bound", value))
            }
            LoopForm::While(_) => None,
        };
        almach_core::build::enter_loop(&mut self.env, looped);
        let state = self.results(
            looped.context.iter().map(|(var, _)| var),
            looped.params.iter().map(|(param, _)| &param.ty),
        )?;
        // Two of everything: the state, and what the body computes from it.
        // Where the plan has one place for both, what is computed is there at once.
        let datas = state.acceptors();
        let vars: Vec<&Var> = looped.params.iter().map(|(param, _)| &param.var).collect();
        let plain = state.cell().is_none();
        let news = |this: &mut Self, stem: &str| -> Vec<Phrase> {
            let each = datas.iter().enumerate();
            each.map(|(at, data)| match (vars.get(at), plain) {
                (Some(var), true) => this.new_var_of(var, Space::Any, stem, data),
                _ => this.new_var(stem, data),
            })
            .collect()
        };
        let pairs = LoopState {
            current: news(self, "state"),
            next: news(self, "next"),
            handed_down: match plain {
                true => handed_down(looped, &datas),
                false => Vec::new(),
            },
            datas,
            result: state,
        };
        for (var, current) in vars.iter().zip(&pairs.current) {
            let Phrase::Var(name) = current else { continue };
            let blocks = self.plan.carried(var).iter().enumerate();
            let blocks: Vec<_> = blocks
                .map(|(leaf, block)| (block.clone(), (name.clone(), leaf)))
                .collect();
            self.blocks.extend(blocks);
        }
        self.give(sizes, initial, pairs.result.dest(writers(&pairs.current)))?;
        match (&looped.form, bound) {
            (LoopForm::For { index, .. }, Some(bound)) => self.for_loop(looped, index, bound, &pairs)?,
            (LoopForm::While(condition), _) => self.while_loop(looped, condition, &pairs)?,
            (LoopForm::For { .. }, None) => return bug("a loop without a bound", self.span),
        }
        self.leave_loop(pattern, exp, &pairs)
    }

    fn for_loop(&mut self, looped: &Loop, index: &Param, bound: Nat, state: &LoopState) -> Lowering<()> {
        let name = self.fresh(&index.var.name);
        let number = build::of_index(bound.clone(), Phrase::Var(name.clone()));
        let number = match index.ty {
            Type::Scalar(ScalarType::I64) => number,
            Type::Scalar(scalar) => unary(UnOp::Convert(scalar), ScalarType::I64, number),
            _ => return bug("a loop that counts with something else", self.span),
        };
        let run = self.block(|this| {
            this.enter_state(looped, state)?;
            let data = this.data(&index.ty)?;
            this.bind_value(&index.var, &data, number);
            this.next_state(looped, state)
        })?;
        let body = build::seq(run, state.advance());
        self.push(build::for_loop(bound, name, body));
        Ok(())
    }

    /// The state is opened once per iteration, for the condition and the body.
    fn while_loop(&mut self, looped: &Loop, condition: &Body, state: &LoopState) -> Lowering<()> {
        let boolean = Data::Scalar(ScalarType::Bool);
        let go = self.new_var("go", &boolean);
        let set = build::literal(Scalar::Bool(true));
        self.push(build::assign(boolean, go.clone().writer(), set));
        let run = self.block(|this| {
            this.enter_state(looped, state)?;
            let test = this.block(|this| this.body_into(condition, Dest::Each(vec![go.clone().writer()])))?;
            let body = this.block(|this| this.next_state(looped, state))?;
            this.push(test);
            this.push(build::if_then_else(go.clone().reader(), body, build::skip()));
            Ok(())
        })?;
        let advance = build::if_then_else(go.clone().reader(), state.advance(), build::skip());
        self.push(build::while_loop(go.reader(), build::seq(run, advance)));
        Ok(())
    }

    /// Computes the next state, but for what is handed down from one variable of the state to another.
    fn next_state(&mut self, looped: &Loop, state: &LoopState) -> Lowering<()> {
        if state.handed_down.is_empty() {
            return self.body_into(&looped.body, state.result.dest(writers(&state.next)));
        }
        let computed = |at: &usize| state.handed_down.iter().all(|(to, _)| to != at);
        let mut body = looped.body.clone();
        body.values = pick(&looped.body.values, computed);
        self.body_into(&body, Dest::Each(pick(&writers(&state.next), computed)))
    }

    /// The state under the names the loop gives it.
    fn enter_state(&mut self, looped: &Loop, state: &LoopState) -> Lowering<()> {
        if let (Some(_), [cell]) = (state.result.cell(), state.current.as_slice()) {
            let pattern = Pattern {
                context: looped.context.iter().map(|(var, _)| var.clone()).collect(),
                values: looped.params.iter().map(|(param, _)| param.clone()).collect(),
            };
            return self.open_cell(&pattern, cell.clone().reader(), &state.result);
        }
        for ((param, _), var) in looped.params.iter().zip(&state.current) {
            let data = self.data(&param.ty)?;
            self.bind_value(&param.var, &data, var.clone().reader());
        }
        Ok(())
    }

    fn leave_loop(&mut self, pattern: &Pattern, exp: &Exp, state: &LoopState) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        if let (Some(_), [cell]) = (state.result.cell(), state.current.as_slice()) {
            return self.open_cell(pattern, cell.clone().reader(), &state.result);
        }
        for ((value, data), var) in pattern.values.iter().zip(&result.values()).zip(&state.current) {
            self.bind_value(&value.var, data, var.clone().reader());
        }
        Ok(())
    }
}

impl Dest {
    /// The same place for the other branch: only one of the two runs.
    pub(crate) fn again(&self) -> Dest {
        match self {
            Dest::Each(acceptors) => Dest::Each(acceptors.clone()),
            Dest::Cell { acceptor, holds } => Dest::Cell {
                acceptor: acceptor.clone(),
                holds: holds.clone(),
            },
        }
    }
}

/// Whether several acceptors are parts of something.
fn shares_places(dest: &Dest) -> bool {
    fn variables<'p>(phrase: &'p Phrase, found: &mut HashSet<&'p Name>) {
        match phrase {
            Phrase::Var(name) => {
                found.insert(name);
            }
            Phrase::Prim(_) => {}
            Phrase::App(left, right) | Phrase::Pair(left, right) => {
                variables(left, found);
                variables(right, found);
            }
            Phrase::Lam(_, _, body)
            | Phrase::TypeLam(_, _, body)
            | Phrase::NatApp(body, _)
            | Phrase::DataApp(body, _)
            | Phrase::Project(_, body)
            | Phrase::At(_, body) => variables(body, found),
        }
    }
    let Dest::Each(acceptors) = dest else {
        return false;
    };
    let mut seen = HashSet::new();
    acceptors.iter().any(|acceptor| {
        let mut names = HashSet::new();
        variables(acceptor, &mut names);
        let shares = names.iter().any(|name| seen.contains(name));
        seen.extend(names);
        shares
    })
}

fn is_plain(body: &Body) -> bool {
    body.stmts.is_empty() && body.context.is_empty()
}

fn pick<T: Clone>(all: &[T], which: impl Fn(&usize) -> bool) -> Vec<T> {
    let picked = all.iter().enumerate().filter(|(at, _)| which(at));
    picked.map(|(_, one)| one.clone()).collect()
}

/// Arrays of the state that become others of it as they are, `(to, from)`, each before what it becomes is overwritten:
/// `loop (two, one) = … do (one, new)` moves `one` to `two` and then `new` to `one`, and copies nothing.
fn handed_down(looped: &Loop, datas: &[Data]) -> Vec<(usize, usize)> {
    let at_of = |atom: &Atom| {
        let mut params = looped.params.iter();
        params.position(|(param, _)| {
            matches!(param.ty, Type::Array(..)) && matches!(atom, Atom::Var(var) if *var == param.var)
        })
    };
    let same_type =
        |a: usize, b: usize| matches!((datas.get(a), datas.get(b)), (Some(a), Some(b)) if a.equal(b));
    let mut left: Vec<(usize, usize)> = Vec::new();
    for (to, value) in looped.body.values.iter().enumerate() {
        if let Some(from) = at_of(value)
            && from != to
            && same_type(from, to)
            && left.iter().all(|(_, taken)| *taken != from)
        {
            left.push((to, from));
        }
    }
    let mut ordered = Vec::new();
    // What no other one waits for comes first; what is left goes round in a circle, and is copied.
    while let Some(at) = left
        .iter()
        .position(|(to, _)| left.iter().all(|(_, from)| from != to))
    {
        ordered.push(left.remove(at));
    }
    ordered
}

/// The variables of a loop.
struct LoopState {
    /// Which variables get the value of which others.
    handed_down: Vec<(usize, usize)>,
    result: ResultData,
    datas: Vec<Data>,
    current: Vec<Phrase>,
    next: Vec<Phrase>,
}

impl LoopState {
    /// What was computed becomes the state.
    fn advance(&self) -> Phrase {
        let handed = self.handed_down.iter().filter_map(|(to, from)| {
            let data = self.datas.get(*to)?;
            Some((data, self.current.get(*to)?, self.current.get(*from)?))
        });
        let each = self.datas.iter().zip(&self.current).zip(&self.next).enumerate();
        let computed = each
            .filter(|(at, _)| self.handed_down.iter().all(|(to, _)| to != at))
            .map(|(_, ((data, to), from))| (data, to, from));
        let moves = handed.chain(computed).map(|(data, to, from)| {
            let pair = Phrase::pair(to.clone(), from.clone());
            Phrase::prim(Prim::Move, vec![], vec![data.clone()]).app(pair)
        });
        build::seq_all(moves)
    }
}

fn writers(vars: &[Phrase]) -> Vec<Phrase> {
    vars.iter().map(|var| var.clone().writer()).collect()
}
