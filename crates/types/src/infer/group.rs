//! Definitions, in groups that depend on each other: top-level ones and local functions alike.
//!
//! A recursive definition with a complete signature (a type on every parameter and on the result) may call itself at other
//! types and sizes; one without is inferred at one type, and its result may mention no `i64` parameter, which would be
//! another one in every call.

use super::signature::{Member, Recursion, Target};
use crate::annotate::mentions_size;
use crate::checker::{Checker, DefState};
use crate::errors::Why;
use crate::names::Local;
use crate::scheme::PolyType;
use crate::sizes::Forgotten;
use crate::solver::SizeChecks;
use crate::tree::{Constraint, Def, DefId, DefKind, Expr, ExprKind, Scheme, Type, TypeVar, Var};
use almach_base::Diagnostic;
use almach_base::codes::sizes as size_codes;
use almach_syntax::ast;

/// A definition whose body has been inferred.
struct Inferred<'d> {
    member: Member<'d>,
    ty: Type,
    result: Type,
    body: Expr,
}

impl<'a> Checker<'a> {
    /// A group of top-level definitions.
    pub fn check_group(&mut self, group: &[(DefId, &'a ast::Def)], cyclic: bool) {
        self.failed = false;
        self.solver.level = 0;
        let first_type_var = self.solver.type_vars.len();
        let first_size = self.solver.vars.len();
        self.type_names.clear();
        let members: Vec<(Target, &ast::Def)> = group
            .iter()
            .map(|(id, def)| (Target::Global(*id), *def))
            .collect();
        let members = self.infer_group(&members, cyclic);
        if group.iter().any(|(_, def)| def.kind == ast::DefKind::Entry) {
            self.default_floats(first_type_var);
        }
        for (inferred, _) in &members {
            if inferred.member.ast.kind == ast::DefKind::Entry {
                self.default_numbers(&inferred.ty);
            }
        }
        let finished = self.generalise_group(members, cyclic);
        self.finish_definition(first_type_var, first_size);
        let mut defs = Vec::new();
        for (target, def, poly) in finished {
            let Target::Global(id) = target else { continue };
            let constant = self.constant_value(&def);
            let poly = PolyType::new(
                poly.scheme,
                poly.ty
                    .map_or(Type::Tuple(Vec::new()), |ty| self.solver.resolve(&ty)),
            );
            if let Some(global) = self.defs.get_mut(id.0 as usize) {
                global.state = DefState::Done(poly);
                global.constant = constant;
            }
            defs.push((id, def));
        }
        for (id, mut def) in defs {
            self.finish_tree(&mut def);
            self.check_entry(&def);
            if let Some(global) = self.defs.get_mut(id.0 as usize) {
                global.tree = Some(def);
            }
        }
    }

    fn constant_value(&self, def: &Def) -> Option<crate::tree::Size> {
        let is_i64 = *self.solver.head(&def.result) == super::expr::i64_type();
        if !def.params.is_empty() || !is_i64 {
            return None;
        }
        self.size_of(&def.body)
            .map(|size| self.solver.size(&size))
            .filter(|size| size.as_constant().is_some())
    }

    /// Functions bound by one `let`. Their names stay bound.
    pub fn local_functions(&mut self, defs: &[ast::Def]) -> Vec<(Var, Def)> {
        let cyclic = defs.iter().any(|def| def.recursive == ast::Recursive::Yes);
        let outer_names = self.type_names.clone();
        let members: Vec<(Target, &ast::Def)> = defs
            .iter()
            .map(|def| {
                let var = self.program_var(&def.name.name, def.name.span);
                (Target::Local(var), def)
            })
            .collect();
        let inferred = self.infer_group(&members, cyclic);
        let finished = self.generalise_group(inferred, cyclic);
        self.type_names = outer_names;
        let mut functions = Vec::new();
        for (target, def, poly) in finished {
            let Target::Local(var) = target else { continue };
            self.local_schemes.insert(var.id, poly.scheme.clone());
            self.bind_local(
                def.name.clone(),
                Local::Function {
                    var: var.clone(),
                    ty: poly,
                },
            );
            functions.push((var, def));
        }
        functions
    }

    fn infer_group<'d>(
        &mut self,
        group: &[(Target, &'d ast::Def)],
        cyclic: bool,
    ) -> Vec<(Inferred<'d>, Option<u32>)> {
        let mark = self.trail.len();
        let group_id = cyclic.then(|| {
            self.next_group += 1;
            self.next_group - 1
        });
        let mut members = Vec::new();
        for (target, def) in group {
            let member = self.read_signature(target.clone(), def, cyclic);
            self.assume(&member);
            members.push(member);
        }
        let known = self.monomorphic.len();
        self.monomorphic.extend(
            members
                .iter()
                .filter(|member| member.recursion == Recursion::Monomorphic)
                .map(|member| member.ast.name.name.clone()),
        );
        let monomorphic = self.monomorphic.len() > known;
        let outer_checks = self.solver.size_checks;
        if monomorphic {
            // All calls share one type, so that what it says about sizes must be true of each.
            self.solver.size_checks = SizeChecks::AtCompileTime;
        }
        let mut inferred = Vec::new();
        for member in members {
            inferred.push((self.infer_member(member), group_id));
        }
        self.solver.size_checks = outer_checks;
        self.monomorphic.truncate(known);
        self.unbind_to(mark);
        self.propagate_constraints();
        inferred
    }

    /// Makes a recursive definition known to its group.
    fn assume(&mut self, member: &Member<'_>) {
        let Some(assumed) = &member.assumed else {
            return;
        };
        let declared = PolyType::new(
            Scheme {
                types: member
                    .types
                    .iter()
                    .map(|var| (var.clone(), Constraint::Any))
                    .collect(),
                sizes: member.sizes.clone(),
            },
            assumed.clone(),
        );
        match (&member.target, member.recursion) {
            (_, Recursion::None) => {}
            (Target::Global(id), recursion) => {
                if let Some(def) = self.defs.get_mut(id.0 as usize) {
                    def.state = match recursion {
                        Recursion::Declared => DefState::Declared(declared),
                        Recursion::Monomorphic | Recursion::None => DefState::Monomorphic(assumed.clone()),
                    };
                }
            }
            (Target::Local(var), recursion) => {
                let local = match recursion {
                    Recursion::Declared => Local::Declared {
                        var: var.clone(),
                        ty: declared,
                    },
                    Recursion::Monomorphic | Recursion::None => Local::Monomorphic {
                        var: var.clone(),
                        ty: assumed.clone(),
                    },
                };
                self.bind_local(member.ast.name.name.clone(), local);
            }
        }
    }

    fn infer_member<'d>(&mut self, mut member: Member<'d>) -> Inferred<'d> {
        let outer = self.solver.level;
        let mark = self.trail.len();
        let outer_names = std::mem::take(&mut self.type_names);
        self.type_names = member.type_names.clone();
        for (name, local) in std::mem::take(&mut member.locals) {
            self.bind_local(name, local);
        }
        self.solver.level = outer + 2;
        let body = match &member.result {
            Some(result) => {
                let why = match &member.ast.result {
                    Some(written) => Why::Annotation(written.span),
                    None => Why::Text("because of the other calls of this recursive function"),
                };
                self.check(&member.ast.body, result, why)
            }
            None => self.infer(&member.ast.body),
        };
        self.solve_pending();
        self.unbind_to(mark);
        self.type_names = outer_names;
        self.solver.level = outer;
        let seen = member.result.clone().unwrap_or_else(|| body.ty.clone());
        let (result, forgotten) = self.solver.close(&seen, outer + 1, &[]);
        let body = match forgotten {
            Forgotten::Nothing => body,
            Forgotten::Known | Forgotten::Regularity => Expr {
                span: body.span,
                ty: result.clone(),
                kind: ExprKind::Forget(Box::new(body)),
            },
        };
        let ty = match (&member.assumed, member.recursion) {
            (Some(assumed), Recursion::Monomorphic) => self.solver.resolve(assumed),
            _ => self.function_type(&member.params, &result),
        };
        self.check_parameter_order(&member);
        Inferred {
            member,
            ty,
            result,
            body,
        }
    }

    /// The size of a parameter may mention parameters before it, not after it.
    fn check_parameter_order(&mut self, member: &Member<'_>) {
        let variables: Vec<Option<Var>> = member.params.variables().map(|var| var.cloned()).collect();
        for (at, ty) in member.params.types.iter().enumerate() {
            let resolved = self.solver.resolve(ty);
            for later in variables.iter().skip(at).flatten() {
                if !mentions_size(&resolved, later) {
                    continue;
                }
                let span = member
                    .params
                    .patterns
                    .get(at)
                    .map_or(member.ast.span, |pattern| pattern.span);
                let later_span = self.solver.var_info(later).map_or(span, |info| info.span);
                self.report(
                    Diagnostic::error(
                        size_codes::PARAMETER_ORDER,
                        span,
                        format!(
                            "the size of this parameter would have to be `{}`, which comes after it",
                            later.name
                        ),
                    )
                    .label(format!("its size must equal `{}`", later.name))
                    .also(later_span, "the later parameter")
                    .help(format!(
                        "put `{}` before it, or check the size at run time with `… :> type`",
                        later.name
                    )),
                );
            }
        }
    }

    /// Recursive calls must satisfy what the bodies ask of the declared type variables.
    fn propagate_constraints(&mut self) {
        let uses = std::mem::take(&mut self.recursive_uses);
        let constraint_of = |checker: &Self, var: &TypeVar| {
            checker
                .solver
                .type_var(var)
                .map_or(Constraint::Any, |info| info.constraint)
        };
        let mut changed = !uses.is_empty();
        while changed {
            let before: Vec<Constraint> = uses.iter().map(|(var, ..)| constraint_of(self, var)).collect();
            for ((_, ty, span), constraint) in uses.iter().zip(&before) {
                if !self.constrain(ty, *constraint, *span, Why::Unsaid) {
                    return;
                }
            }
            changed = uses
                .iter()
                .zip(&before)
                .any(|((var, ..), before)| constraint_of(self, var) != *before);
        }
    }

    fn generalise_group(
        &mut self,
        members: Vec<(Inferred<'_>, Option<u32>)>,
        cyclic: bool,
    ) -> Vec<(Target, Def, PolyType)> {
        if self.solver.size_checks == SizeChecks::AtRunTime {
            self.solve_pending();
            self.solver.equations.clear();
        }
        self.keep_open_questions();
        let common = cyclic.then(|| {
            let mono = || {
                members
                    .iter()
                    .map(|(inferred, _)| inferred)
                    .filter(|inferred| inferred.member.recursion == Recursion::Monomorphic)
            };
            let of: Vec<Type> = mono().map(|inferred| inferred.ty.clone()).collect();
            let types: Vec<TypeVar> = mono().flat_map(|i| i.member.types.iter().cloned()).collect();
            let sizes: Vec<Var> = mono().flat_map(|i| i.member.sizes.iter().cloned()).collect();
            (of, types, sizes)
        });
        let common = common.map(|(of, types, sizes)| self.generalise(&of, &types, &sizes));
        let mut finished = Vec::new();
        for (inferred, group) in members {
            let Inferred {
                member,
                ty,
                result,
                body,
            } = inferred;
            let scheme = match (member.recursion, &common) {
                (Recursion::Monomorphic, Some(common)) => common.clone(),
                // A value has one type, so that its literals are solved once and it can be computed once. For a function
                // neither matters, and `def f = compose g h` is as general as `def f x = compose g h x`.
                _ if member.ast.params.is_empty() && !matches!(self.solver.head(&ty), Type::Function(_)) => {
                    let closed = self.solver.resolve(&ty);
                    self.solver.lower(&closed, self.solver.level);
                    self.generalise(&[], &member.types, &member.sizes)
                }
                _ => self.generalise(std::slice::from_ref(&ty), &member.types, &member.sizes),
            };
            let def = Def {
                name: member.ast.name.name.clone(),
                kind: match member.ast.kind {
                    ast::DefKind::Def => DefKind::Def,
                    ast::DefKind::Entry => DefKind::Entry,
                    ast::DefKind::Local => DefKind::Local,
                },
                scheme: scheme.clone(),
                params: member.params.patterns,
                result,
                body,
                group,
                span: member.ast.span,
            };
            finished.push((
                member.target,
                def,
                PolyType::new(scheme, self.solver.resolve(&ty)),
            ));
        }
        finished
    }

    /// What open questions and equations mention must not be generalised away.
    fn keep_open_questions(&mut self) {
        let level = self.solver.level;
        let mut types = Vec::new();
        for pending in &self.pending {
            use crate::pending::Question;
            match &pending.question {
                Question::Field {
                    record: a, result: b, ..
                }
                | Question::Component {
                    tuple: a, result: b, ..
                }
                | Question::NodeOf { datum: a, node: b }
                | Question::Bits { float: a, bits: b } => types.extend([a.clone(), b.clone()]),
                Question::Recursive(ty) => types.push(ty.clone()),
            }
        }
        for ty in types {
            self.solver.lower(&ty, level);
        }
        let sizes: Vec<crate::tree::Size> = self
            .solver
            .equations
            .iter()
            .flat_map(|equation| [equation.found.clone(), equation.expected.clone()])
            .collect();
        for size in sizes {
            let size = self.solver.size(&size);
            self.solver.lower_size(&size, level);
        }
    }
}
