//! Definitions, in groups that depend on each other: top-level ones and local functions alike.
//!
//! A recursive definition with a complete signature (a type on every parameter and on the result) may call itself at other
//! types and sizes; one without is inferred at one type, and its result may mention no `i64` parameter, which would be
//! another one in every call.

use super::functions::Params;
use crate::annotate::{Blank, Reading, mentions_size};
use crate::checker::{Checker, DefState};
use crate::errors::Why;
use crate::names::Local;
use crate::scheme::PolyType;
use crate::sizes::Forgotten;
use crate::solver::{Flavour, VarKind};
use crate::tree::{Constraint, Def, DefId, DefKind, Dim, Expr, ExprKind, Scheme, Type, TypeVar, Var};
use almach_base::codes::{names as name_codes, sizes as size_codes};
use almach_base::{Diagnostic, Name, Span};
use almach_syntax::ast;
use std::collections::HashMap;

/// Who a definition is.
#[derive(Clone)]
enum Target {
    Global(DefId),
    Local(Var),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Recursion {
    None,
    /// At one type.
    Monomorphic,
    /// With a complete signature.
    Declared,
}

/// A definition whose signature has been read.
struct Member<'d> {
    ast: &'d ast::Def,
    target: Target,
    recursion: Recursion,
    /// Declared type variables and sizes.
    types: Vec<TypeVar>,
    sizes: Vec<Var>,
    type_names: HashMap<Name, TypeVar>,
    params: Params,
    result: Option<Type>,
    /// What the parameters and sizes bind.
    locals: Vec<(Name, Local)>,
    /// The type at which the group uses it.
    assumed: Option<Type>,
}

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
        let mut inferred = Vec::new();
        for member in members {
            inferred.push((self.infer_member(member), group_id));
        }
        self.monomorphic.truncate(known);
        self.unbind_to(mark);
        self.propagate_constraints();
        inferred
    }

    /// Reads a signature and binds its parameters, for the time being in a list of their own.
    fn read_signature<'d>(&mut self, target: Target, def: &'d ast::Def, cyclic: bool) -> Member<'d> {
        let outer = self.solver.level;
        let outer_names = self.type_names.clone();
        let mark = self.trail.len();
        let complete = def.result.is_some() && def.params.iter().all(|param| is_annotated(&param.pattern));
        let recursion = match (cyclic, complete) {
            (false, _) => Recursion::None,
            (true, false) => Recursion::Monomorphic,
            (true, true) => Recursion::Declared,
        };
        self.solver.level = outer + 1;
        let types = self.declare_type_vars(def);
        let mut sizes = self.declare_sizes(&def.sizes);
        self.refuse_duplicates(def.params.iter().map(|param| &param.pattern));
        let mut params = Params {
            patterns: Vec::new(),
            types: Vec::new(),
        };
        for param in &def.params {
            let ty = self.param_type(&param.pattern, recursion, &mut sizes);
            params
                .patterns
                .push(self.bind_param_pattern(&param.pattern, &ty, outer));
            params.types.push(ty);
            self.solver.level = outer + 1;
        }
        if recursion == Recursion::Monomorphic {
            self.deepen_variables(&params, outer + 2);
        }
        let result = self.result_type(def, recursion, outer);
        self.check_listed_sizes(def, &sizes, &params);
        let locals = self.take_locals(mark);
        let type_names = std::mem::replace(&mut self.type_names, outer_names);
        self.solver.level = outer + 1;
        let assumed = match recursion {
            Recursion::None => None,
            Recursion::Declared => result.as_ref().map(|result| self.function_type(&params, result)),
            Recursion::Monomorphic => {
                let result = match &result {
                    Some(result) => result.clone(),
                    None => self.any_type(def.name.span),
                };
                Some(self.function_type(&params, &result))
            }
        };
        self.solver.level = outer;
        let result = match (recursion, &assumed) {
            (Recursion::Monomorphic, Some(assumed)) => Some(result_of(assumed, params.types.len())),
            _ => result,
        };
        Member {
            ast: def,
            target,
            recursion,
            types,
            sizes,
            type_names,
            params,
            result,
            locals,
            assumed,
        }
    }

    /// The type variables a signature mentions that are not in scope yet.
    fn declare_type_vars(&mut self, def: &ast::Def) -> Vec<TypeVar> {
        let mut names = Vec::new();
        for param in &def.params {
            type_vars_of_pattern(&param.pattern, &mut names);
        }
        if let Some(result) = &def.result {
            type_vars_of(result, &mut names);
        }
        let mut types = Vec::new();
        for (name, span) in names {
            if !self.type_names.contains_key(&name) {
                let var = self.solver.fresh_rigid(name.clone(), span);
                self.type_names.insert(name, var.clone());
                types.push(var);
            }
        }
        types
    }

    fn declare_sizes(&mut self, idents: &[ast::Ident]) -> Vec<Var> {
        let mut sizes: Vec<Var> = Vec::new();
        for ident in idents {
            if sizes.iter().any(|other| other.name == ident.name) {
                self.report(
                    Diagnostic::error(
                        name_codes::DUPLICATE_BINDING,
                        ident.span,
                        format!("the size `{}` is listed twice", ident.name),
                    )
                    .label("again here"),
                );
                continue;
            }
            let var = self
                .solver
                .fresh_var(ident.name.clone(), ident.span, VarKind::Named);
            self.bind_local(ident.name.clone(), Local::Size(var.clone()));
            sizes.push(var);
        }
        sizes
    }

    fn param_type(&mut self, pattern: &ast::Pattern, recursion: Recursion, sizes: &mut Vec<Var>) -> Type {
        let Some(written) = written_type(pattern) else {
            return self.any_type(pattern.span);
        };
        let blank = match recursion {
            Recursion::None | Recursion::Monomorphic => Blank::Infer(Flavour::Parameter),
            Recursion::Declared => Blank::Named,
        };
        let mut reading = Reading::new(blank);
        reading.made_sizes = std::mem::take(sizes);
        let ty = self.read_type(written, &mut reading);
        *sizes = reading.made_sizes;
        ty
    }

    fn result_type(&mut self, def: &ast::Def, recursion: Recursion, outer: u32) -> Option<Type> {
        let written = def.result.as_ref()?;
        let (level, blank) = match recursion {
            Recursion::None => (outer + 2, Blank::Infer(Flavour::Flexible)),
            Recursion::Monomorphic => (outer + 1, Blank::Infer(Flavour::Flexible)),
            Recursion::Declared => (outer, Blank::UnknownOutside),
        };
        self.solver.level = level;
        let ty = self.read_type(written, &mut Reading::new(blank));
        self.solver.level = outer + 1;
        Some(ty)
    }

    /// In every call of the recursion an `i64` parameter is another one.
    fn deepen_variables(&mut self, params: &Params, level: u32) {
        let vars: Vec<Var> = params.variables().flatten().cloned().collect();
        for var in vars {
            if let Some(info) = self.solver.var_mut(&var) {
                info.level = level;
            }
        }
    }

    fn check_listed_sizes(&mut self, def: &ast::Def, sizes: &[Var], params: &Params) {
        for (ident, var) in def.sizes.iter().zip(sizes) {
            let found = params
                .types
                .iter()
                .any(|ty| determines_size(&self.solver.resolve(ty), var));
            if !found {
                self.report(
                    Diagnostic::error(
                        size_codes::SIZE_OF_NOTHING,
                        ident.span,
                        format!("the size `{}` is the size of no parameter", ident.name),
                    )
                    .label("its value would not be known")
                    .help(format!(
                        "make it a parameter instead: `({}: i64)`; an `i64` parameter may appear in sizes",
                        ident.name
                    )),
                );
            }
        }
    }

    fn take_locals(&mut self, mark: usize) -> Vec<(Name, Local)> {
        let mut taken = Vec::new();
        while self.trail.len() > mark {
            if let Some(name) = self.trail.pop()
                && let Some(local) = self.locals.get_mut(&name).and_then(Vec::pop)
            {
                taken.push((name, local));
            }
        }
        taken.reverse();
        taken
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

/// Whether a value of the type has the size in its shape. Values inside data types have sizes of their own.
fn determines_size(ty: &Type, var: &Var) -> bool {
    match ty {
        Type::Array(dim, element) => {
            matches!(dim, Dim::Size(size) if size.mentions(var)) || determines_size(element, var)
        }
        Type::Vector(width, _) => width.mentions(var),
        Type::Tuple(parts) => parts.iter().any(|part| determines_size(part, var)),
        Type::Record(fields) => fields.iter().any(|(_, ty)| determines_size(ty, var)),
        Type::Scalar(_)
        | Type::Data(..)
        | Type::Node { .. }
        | Type::Reference(_)
        | Type::Function(_)
        | Type::Var(_) => false,
    }
}

fn is_annotated(pattern: &ast::Pattern) -> bool {
    written_type(pattern).is_some()
}

/// The type written on a whole parameter.
fn written_type(pattern: &ast::Pattern) -> Option<&ast::TypeExpr> {
    match &pattern.kind {
        ast::PatternKind::Ascribed(_, ty) => Some(ty),
        ast::PatternKind::Paren(inner) => written_type(inner),
        _ => None,
    }
}

fn result_of(ty: &Type, params: usize) -> Type {
    match ty {
        Type::Function(function) if params > 0 => result_of(&function.result, params - 1),
        _ => ty.clone(),
    }
}

fn type_vars_of_pattern(pattern: &ast::Pattern, into: &mut Vec<(Name, Span)>) {
    match &pattern.kind {
        ast::PatternKind::Ascribed(inner, ty) => {
            type_vars_of(ty, into);
            type_vars_of_pattern(inner, into);
        }
        ast::PatternKind::Paren(inner) => type_vars_of_pattern(inner, into),
        ast::PatternKind::Tuple(parts)
        | ast::PatternKind::Constructor(_, parts)
        | ast::PatternKind::NodeConstructor(_, parts) => {
            parts.iter().for_each(|part| type_vars_of_pattern(part, into));
        }
        ast::PatternKind::Record(fields) => {
            fields
                .iter()
                .for_each(|(_, part)| type_vars_of_pattern(part, into));
        }
        ast::PatternKind::Wildcard
        | ast::PatternKind::Var(_)
        | ast::PatternKind::Int { .. }
        | ast::PatternKind::Float { .. }
        | ast::PatternKind::Bool(_)
        | ast::PatternKind::Error => {}
    }
}

fn type_vars_of(ty: &ast::TypeExpr, into: &mut Vec<(Name, Span)>) {
    match &ty.kind {
        ast::TypeKind::Var(name) => into.push((name.clone(), ty.span)),
        ast::TypeKind::Named(_, parts) | ast::TypeKind::Tuple(parts) => {
            parts.iter().for_each(|part| type_vars_of(part, into));
        }
        ast::TypeKind::Record(fields) => fields.iter().for_each(|(_, ty)| type_vars_of(ty, into)),
        ast::TypeKind::Array(_, element) | ast::TypeKind::Vector(_, element) => type_vars_of(element, into),
        ast::TypeKind::Function { param, result, .. } => {
            type_vars_of(param, into);
            type_vars_of(result, into);
        }
        ast::TypeKind::Scalar(_) | ast::TypeKind::Error => {}
    }
}
