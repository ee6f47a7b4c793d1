//! Where results are built: an array that a body gives, also through views that have an inverse, is computed directly into
//! its place (the fourth group of Fig. 5a: `𝒜(join E)(A) = 𝒜(E)(joinAcc A)`; Lin, Fig. 5.6).
//!
//! ```text
//! let parts = map f xss      ~~>   mapI … xss (joinAcc out)
//! let all = join parts
//! in all
//! ```
//!
//! In A-normal form the operand of a view has a name and its own statement, so the places are found before the body is
//! translated, from its results backwards. An array qualifies where the result is its only use. A destination view that is
//! written (`concat@D`) and whose array is no result does the same from memory of its own, which is made before the first
//! statement that computes into it.
//!
//! Nothing here checks: a view whose inverse is only right once a check has passed (`split@D` of a size that may not divide) has
//! no inverse, and is copied.

use super::Translator;
use super::inverses::{Source, Target};
use crate::error::Lowering;
use almach_core::{Atom, Body, Exp, Lambda, Stmt, Type, Var};
use almach_dpia::{Data, Nat, Phrase, build};
use almach_prim::{Effect, Prim as Operation};
use std::collections::{HashMap, HashSet};

/// What becomes of the statements and results of a body.
#[derive(Default)]
pub(crate) struct Plan {
    /// Statements, by their number, that compute into these acceptors.
    computed: HashMap<usize, Vec<Phrase>>,
    /// Statements whose view is in the acceptors already.
    absorbed: HashSet<usize>,
    /// By the number of a statement, the views whose inverse is known before it: they need what is bound until then.
    late: HashMap<usize, Vec<Late>>,
    /// What is left to assign at the end.
    pub(crate) assigned: Vec<(Source, Phrase)>,
}

impl Plan {
    fn takes(&self, at: usize) -> bool {
        let late = || self.late.values().flatten().any(|late| late.view == at);
        self.computed.contains_key(&at) || self.absorbed.contains(&at) || late()
    }
}

/// A view that waits for what its inverse needs.
struct Late {
    /// The number of its statement.
    view: usize,
    acceptor: Phrase,
    /// The written destination view in whose memory that is; none where it is a result of the body.
    owner: Option<usize>,
}

/// The memory of a written destination view, and what is left to assign to it.
struct Opened {
    memory: Phrase,
    assigned: Vec<(Source, Phrase)>,
}

impl Translator<'_> {
    /// Plans a body whose values go to these acceptors. Types are asked of the statements' patterns, since nothing is in
    /// scope yet.
    pub(crate) fn plan(&mut self, body: &Body, acceptors: &[Phrase]) -> Lowering<Plan> {
        let mut planner = Planner::new(self, &body.stmts, 0, Plan::default());
        for (value, acceptor) in body.values.iter().zip(acceptors) {
            planner.place(Source::Atom(value.clone()), acceptor.clone())?;
        }
        Ok(planner.plan)
    }

    /// Runs statements as planned. Written destination views that the plan has no place for get memory, and hand it to what they
    /// view.
    pub(crate) fn stmts(&mut self, stmts: &[Stmt], mut plan: Plan) -> Lowering<()> {
        let mut starts = self.starts(stmts, &plan);
        let mut opened: HashMap<usize, Opened> = HashMap::new();
        for (at, stmt) in stmts.iter().enumerate() {
            self.place_late(stmts, at, &mut plan, &mut opened)?;
            for root in starts.remove(&at).unwrap_or_default() {
                match self.open(stmts, root, at, &mut plan)? {
                    Some(memory) => {
                        opened.insert(root, memory);
                    }
                    None if at < root => starts.entry(root).or_default().push(root),
                    None => {}
                }
            }
            if let Some(places) = plan.computed.remove(&at) {
                self.at(stmt, |this| {
                    this.into(&stmt.exp, &stmt.pattern, super::Dest::Each(places))
                })?;
                almach_core::build::enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
            } else if plan.absorbed.contains(&at) {
                self.make_blocks(stmt);
                almach_core::build::enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
            } else if let Some(view) = opened.remove(&at) {
                self.at(stmt, |this| this.close(stmt, view))?;
            } else {
                self.stmt(stmt)?;
            }
        }
        self.assign_all(plan.assigned)
    }

    /// Finds the places for what views view whose operands are known now. What is left to assign has to be there when the memory is
    /// read: where that is a destination view's, with the rest of it.
    fn place_late(
        &mut self,
        stmts: &[Stmt],
        at: usize,
        plan: &mut Plan,
        opened: &mut HashMap<usize, Opened>,
    ) -> Lowering<()> {
        for Late {
            view,
            acceptor,
            owner,
        } in plan.late.remove(&at).unwrap_or_default()
        {
            let Some(stmt) = stmts.get(view) else { continue };
            let before = std::mem::take(&mut plan.assigned);
            let mut planner = Planner::new(self, stmts, at, std::mem::take(plan));
            planner.owner = owner;
            let target = Target {
                acceptor: acceptor.clone(),
                reader: None,
            };
            match planner.through(stmt, &target)? {
                Some(parts) => {
                    planner.plan.absorbed.insert(view);
                    for (source, acceptor) in parts {
                        planner.place(source, acceptor)?;
                    }
                }
                None => {
                    planner.plan.computed.insert(view, vec![acceptor]);
                }
            }
            *plan = planner.plan;
            let left = std::mem::replace(&mut plan.assigned, before);
            match owner.and_then(|owner| opened.get_mut(&owner)) {
                Some(owner) => owner.assigned.extend(left),
                None => plan.assigned.extend(left),
            }
        }
        Ok(())
    }

    /// Assigns what a plan has left.
    pub(crate) fn assign_all(&mut self, assigned: Vec<(Source, Phrase)>) -> Lowering<()> {
        assigned
            .into_iter()
            .try_for_each(|(source, acceptor)| self.assign_source(source, acceptor))
    }

    /// For each written destination view that needs memory, by the number of its statement, when that is made: before the first
    /// statement that may compute into it.
    fn starts(&self, stmts: &[Stmt], plan: &Plan) -> HashMap<usize, Vec<usize>> {
        let bound = bound_in(stmts);
        let mut starts: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut claimed: HashSet<usize> = HashSet::new();
        for (root, stmt) in stmts.iter().enumerate().rev() {
            let is_root = is_written_destination(stmt)
                && is_alone(stmt)
                && !plan.takes(root)
                && !claimed.contains(&root)
                && !stmt
                    .pattern
                    .values
                    .iter()
                    .any(|value| self.plan.is_built_in_place(&value.var));
            if !is_root {
                continue;
            }
            let mut start = root;
            let mut open = vec![root];
            while let Some(at) = open.pop() {
                let Some(stmt) = stmts.get(at) else { continue };
                for var in almach_core::visit::Vars::of_exp(&stmt.exp).free() {
                    let Some(from) = bound.get(var).copied() else {
                        continue;
                    };
                    let Some(made) = stmts.get(from).filter(|made| is_alone(made)) else {
                        continue;
                    };
                    if from >= at || self.facts.uses(var).count != 1 || plan.takes(from) {
                        continue;
                    }
                    start = start.min(from);
                    if looks_through(made) && claimed.insert(from) {
                        open.push(from);
                    }
                }
            }
            let known = stmt.pattern.values.iter().map(|value| {
                let mut known = 0;
                value.ty.for_each_size_var(&mut |var| {
                    known = known.max(bound.get(var).map_or(0, |at| at + 1));
                });
                known
            });
            let operand = waits_for(stmt, &bound).unwrap_or(0);
            let start = known.fold(start.max(operand), usize::max).min(root);
            starts.entry(start).or_default().push(root);
        }
        starts
    }

    /// Makes the memory of a destination view, and plans what it views into it. None where that has to wait, or to be copied.
    fn open(
        &mut self,
        stmts: &[Stmt],
        root: usize,
        start: usize,
        plan: &mut Plan,
    ) -> Lowering<Option<Opened>> {
        let Some(stmt) = stmts.get(root) else {
            return Ok(None);
        };
        let [value] = stmt.pattern.values.as_slice() else {
            return Ok(None);
        };
        if self.layout(&value.ty)?.has_rows() {
            return Ok(None);
        }
        let data = self.data(&value.ty)?;
        let name = self.fresh(&value.var.name);
        let memory = Phrase::Var(name.clone());
        let before = std::mem::take(&mut plan.assigned);
        let outer = std::mem::take(plan);
        let mut planner = Planner::new(self, stmts, start, outer);
        planner.owner = Some(root);
        let target = Target {
            acceptor: memory.clone().writer(),
            reader: Some(memory.clone().reader()),
        };
        let parts = planner.through(stmt, &target)?;
        let found = parts.is_some();
        for (source, acceptor) in parts.into_iter().flatten() {
            planner.place(source, acceptor)?;
        }
        let mut found_plan = planner.plan;
        let assigned = std::mem::take(&mut found_plan.assigned);
        *plan = Plan {
            assigned: before,
            ..found_plan
        };
        if !found {
            return Ok(None);
        }
        self.items.push(super::Item::New {
            space: almach_dpia::Space::Any,
            data,
            name,
        });
        Ok(Some(Opened { memory, assigned }))
    }

    /// The rest of a destination view, once what it views is computed.
    fn close(&mut self, stmt: &Stmt, view: Opened) -> Lowering<()> {
        self.assign_all(view.assigned)?;
        almach_core::build::enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
        for value in &stmt.pattern.values {
            self.values
                .insert(value.var.clone(), view.memory.clone().reader());
        }
        Ok(())
    }
}

pub(crate) struct Planner<'a, 't, 'p> {
    pub(crate) this: &'a mut Translator<'t>,
    stmts: &'p [Stmt],
    bound: HashMap<&'p Var, usize>,
    /// What is bound before this statement has been translated.
    start: usize,
    plan: Plan,
    /// The written destination view whose memory is planned.
    owner: Option<usize>,
    /// In the function of `map@D`: the sizes of the arrays that are mapped. What leaves out a part is gone through only there, since
    /// elsewhere the rewrites compute nothing that is left out.
    pub(crate) counts: Option<Vec<Nat>>,
}

impl<'a, 't, 'p> Planner<'a, 't, 'p> {
    pub(crate) fn new(
        this: &'a mut Translator<'t>,
        stmts: &'p [Stmt],
        start: usize,
        plan: Plan,
    ) -> Planner<'a, 't, 'p> {
        Planner {
            this,
            bound: bound_in(stmts),
            stmts,
            start,
            plan,
            owner: None,
            counts: None,
        }
    }

    /// Finds how a value gets to an acceptor.
    pub(crate) fn place(&mut self, source: Source, acceptor: Phrase) -> Lowering<()> {
        if let Source::Atom(atom) = &source
            && let Some((at, stmt)) = self.only_use(atom)
        {
            let target = Target {
                acceptor: acceptor.clone(),
                reader: None,
            };
            if let Some(parts) = self.through(stmt, &target)? {
                self.plan.absorbed.insert(at);
                return parts
                    .into_iter()
                    .try_for_each(|(source, acceptor)| self.place(source, acceptor));
            }
            match waits_for(stmt, &self.bound).filter(|known| *known > self.start) {
                Some(known) if is_written_destination(stmt) => {
                    self.plan.late.entry(known).or_default().push(Late {
                        view: at,
                        acceptor,
                        owner: self.owner,
                    });
                    return Ok(());
                }
                _ => {}
            }
            if computes_array(stmt) {
                self.plan.computed.insert(at, vec![acceptor]);
                return Ok(());
            }
        }
        self.plan.assigned.push((source, acceptor));
        Ok(())
    }

    /// The statement that binds an atom, and only that, where this is the atom's only use, and which has not been translated.
    pub(crate) fn only_use(&self, atom: &Atom) -> Option<(usize, &'p Stmt)> {
        let Atom::Var(var) = atom else {
            return None;
        };
        if self.this.facts.uses(var).count != 1
            || self.this.facts.is_size(var)
            || self.this.plan.takes_turns(var)
        {
            return None;
        }
        let at = *self.bound.get(var)?;
        let stmt = self.stmts.get(at)?;
        (at >= self.start && is_alone(stmt) && !self.plan.takes(at)).then_some((at, stmt))
    }

    /// Whether a value is known where this plan starts.
    pub(crate) fn is_known(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => {
                self.bound.get(var).is_none_or(|at| *at < self.start) && self.this.values.contains_key(var)
            }
        }
    }

    /// Whether a value comes from outside of these statements.
    pub(crate) fn is_outside(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => !self.bound.contains_key(var) && self.this.values.contains_key(var),
        }
    }

    /// Types of operands that are bound here or that are in scope already; none where one is unknown here.
    pub(crate) fn types_of(&self, atoms: &[Atom]) -> Lowering<Option<Vec<Data>>> {
        let mut types = Vec::new();
        for atom in atoms {
            let ty = match atom {
                Atom::Const(scalar) => Some(Type::Scalar(scalar.ty())),
                Atom::Var(var) => match self.bound.get(var).and_then(|at| self.stmts.get(*at)) {
                    Some(stmt) => {
                        let value = stmt.pattern.values.iter().find(|value| value.var == *var);
                        value
                            .map(|value| value.ty.clone())
                            .filter(|ty| self.sizes_are_known(ty))
                    }
                    None => self.this.env.atom_type(atom).ok(),
                },
            };
            match ty {
                Some(ty) => types.push(self.this.data(&ty)?),
                None => return Ok(None),
            }
        }
        Ok(Some(types))
    }

    /// Whether a type's sizes are known where this plan starts: others have no name yet, or another one.
    pub(crate) fn sizes_are_known(&self, ty: &Type) -> bool {
        !ty.mentions(&|var| self.bound.get(var).is_some_and(|at| *at >= self.start))
    }

    /// Whether all that a function and its types mention from outside is known where this plan starts.
    pub(crate) fn is_known_function(&self, lambda: &Lambda) -> bool {
        let values = lambda.body.stmts.iter().flat_map(|stmt| &stmt.pattern.values);
        let mut types = values.chain(&lambda.params).map(|value| &value.ty);
        let late = |var: &Var| self.bound.get(var).is_some_and(|at| *at >= self.start);
        let used = almach_core::visit::Vars::of_body(&lambda.body);
        types.all(|ty| !ty.mentions(&late))
            && lambda.result.types.iter().all(|ty| !ty.mentions(&late))
            && !used.free().any(late)
    }

    /// Whether the plan has gone through every statement, and computes none.
    pub(crate) fn went_through_all(&self) -> bool {
        self.plan.computed.is_empty() && self.plan.absorbed.len() == self.stmts.len()
    }

    pub(crate) fn assigned(&self) -> &[(Source, Phrase)] {
        &self.plan.assigned
    }

    /// A tuple's components are written each to its place.
    pub(crate) fn tuple(&self, parts: &[Atom], acceptor: &Phrase) -> Lowering<Option<Vec<(Source, Phrase)>>> {
        let Some(types) = self.types_of(parts)? else {
            return Ok(None);
        };
        let places = parts.iter().enumerate().map(|(at, part)| {
            let place = build::tuple_acc(at, &types, acceptor.clone());
            (Source::Atom(part.clone()), place)
        });
        Ok(Some(places.collect()))
    }
}

/// What statements bind, each by the number of its statement.
fn bound_in(stmts: &[Stmt]) -> HashMap<&Var, usize> {
    let mut bound = HashMap::new();
    for (at, stmt) in stmts.iter().enumerate() {
        for var in &stmt.pattern.context {
            bound.insert(var, at);
        }
        for value in &stmt.pattern.values {
            bound.insert(&value.var, at);
        }
    }
    bound
}

/// The first statement before which what the inverse of a view needs is known.
fn waits_for(stmt: &Stmt, bound: &HashMap<&Var, usize>) -> Option<usize> {
    let Exp::Op(op) = &stmt.exp else { return None };
    match (op.prim, op.args.as_slice()) {
        (Operation::Permute | Operation::Rotate, [Atom::Var(var), _]) => bound.get(var).map(|at| at + 1),
        _ => None,
    }
}

fn is_alone(stmt: &Stmt) -> bool {
    stmt.pattern.context.is_empty() && stmt.pattern.values.len() == 1
}

/// Whether a place may be found through a statement for what it views.
fn looks_through(stmt: &Stmt) -> bool {
    match &stmt.exp {
        Exp::Op(op) => op.prim.is_view() || is_written_destination(stmt),
        Exp::Tuple(_) | Exp::Array(..) => true,
        _ => false,
    }
}

fn is_written_destination(stmt: &Stmt) -> bool {
    matches!(&stmt.exp, Exp::Op(op) if op.annotation.effect == Some(Effect::Destination))
}

/// Whether a statement computes one array into a place of its choice.
fn computes_array(stmt: &Stmt) -> bool {
    let array = stmt
        .pattern
        .values
        .iter()
        .all(|value| matches!(value.ty, Type::Array(..)));
    array
        && match &stmt.exp {
            Exp::Op(op) => match op.annotation.effect {
                Some(Effect::Source) => false,
                Some(Effect::Destination | Effect::Eager) if op.prim.is_view() => true,
                _ => matches!(
                    op.prim,
                    Operation::Map
                        | Operation::Scan
                        | Operation::ScanExclusive
                        | Operation::Gather
                        | Operation::Permute
                        | Operation::Materialise
                ),
            },
            Exp::If { .. } | Exp::Case { .. } | Exp::Call { .. } | Exp::Array(..) | Exp::Update { .. } => {
                true
            }
            _ => false,
        }
}
