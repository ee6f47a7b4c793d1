//! The checker's state, and the order of its work: names, data types, foreign functions, then definitions in groups.

use crate::dependencies;
use crate::modules::Modules;
use crate::names::{AliasEntry, Local, Namespace};
use crate::pending::Pending;
use crate::scheme::PolyType;
use crate::solver::{SizeChecks, Solver};
use crate::tree::{self, DataDef, DataId, DefId, ForeignDef, Program, Scheme, Type, TypeVar, Var};
use almach_base::codes::names as codes;
use almach_base::{Diagnostic, Name, Span};
use almach_prim::Prim;
use almach_syntax::ast;
use std::collections::HashMap;

pub(crate) struct Checker<'a> {
    pub solver: Solver,
    pub diagnostics: Vec<Diagnostic>,
    /// Whether an error was reported in the definition now being checked.
    pub failed: bool,
    /// Whether something is missing for which others report an error.
    pub incomplete: bool,
    pub data: Vec<DataDef>,
    pub foreign: Vec<(ForeignDef, PolyType)>,
    pub defs: Vec<GlobalDef<'a>>,
    pub aliases: Vec<AliasEntry<'a>>,
    pub namespaces: Vec<Namespace>,
    pub prelude: Option<usize>,
    /// The module now being checked.
    pub module: usize,
    /// What local names mean, innermost last, and the order in which they were bound.
    pub locals: HashMap<Name, Vec<Local>>,
    pub trail: Vec<Name>,
    /// Type variables written by the user that are in scope.
    pub type_names: HashMap<Name, TypeVar>,
    pub pending: Vec<Pending>,
    /// Positions of fields of records whose type was not known yet: see [`crate::pending`].
    pub field_positions: Vec<Option<u32>>,
    pub literals: Vec<LiteralUse>,
    pub prim_types: HashMap<Prim, PolyType>,
    pub local_schemes: HashMap<u32, Scheme>,
    /// Uses of recursive definitions inside their group: what must hold of them is only known at its end.
    pub recursive_uses: Vec<(TypeVar, Type, Span)>,
    pub next_group: u32,
    /// Functions now being inferred that use themselves at one type.
    pub monomorphic: Vec<Name>,
    /// The order of the fields of each record type, by their sorted names.
    pub record_orders: HashMap<Vec<Name>, Vec<Name>>,
    /// How many `foreach` and `build` are around.
    pub reference_depth: u32,
    /// Attempts now under way: see [`crate::solver::Attempt`].
    pub attempts: u32,
}

/// A literal whose range is checked when its type is known.
pub(crate) struct LiteralUse {
    pub value: u128,
    pub negative: bool,
    pub ty: Type,
    pub span: Span,
}

pub(crate) struct GlobalDef<'a> {
    pub ast: &'a ast::Def,
    pub module: usize,
    pub state: DefState,
    pub tree: Option<tree::Def>,
    /// The value of an `i64` constant.
    pub constant: Option<crate::tree::Size>,
}

#[derive(Clone)]
pub(crate) enum DefState {
    NotYet,
    /// In the group now being inferred, at one type.
    Monomorphic(Type),
    /// In the group now being inferred, with a complete signature.
    Declared(PolyType),
    Done(PolyType),
}

impl<'a> Checker<'a> {
    pub fn new(modules: &Modules) -> Checker<'a> {
        Checker {
            solver: Solver::default(),
            diagnostics: Vec::new(),
            failed: false,
            incomplete: false,
            data: Vec::new(),
            foreign: Vec::new(),
            defs: Vec::new(),
            aliases: Vec::new(),
            namespaces: Vec::new(),
            prelude: modules.prelude,
            module: 0,
            locals: HashMap::new(),
            trail: Vec::new(),
            type_names: HashMap::new(),
            pending: Vec::new(),
            field_positions: Vec::new(),
            literals: Vec::new(),
            prim_types: HashMap::new(),
            local_schemes: HashMap::new(),
            recursive_uses: Vec::new(),
            next_group: 0,
            monomorphic: Vec::new(),
            record_orders: HashMap::new(),
            reference_depth: 0,
            attempts: 0,
        }
    }

    /// Checks one file; those it imports have been.
    pub fn check_module(&mut self, imports: &[Option<usize>], file: &'a ast::File) {
        self.module = self.namespaces.len();
        self.solver.dialect = file.dialect;
        self.solver.size_checks = match file.dialect {
            ast::Dialect::Almach => SizeChecks::AtCompileTime,
            // Vectors of NOVA carry no sizes.
            ast::Dialect::Nova => SizeChecks::AtRunTime,
        };
        let declared = self.declare(imports, &file.items);
        self.declare_parameters(&declared.data);
        self.check_aliases(&declared.aliases);
        self.check_data(&declared.data);
        self.check_foreign(&declared.foreign);
        self.check_defs(&declared.defs);
    }

    fn check_defs(&mut self, defs: &[(DefId, &'a ast::Def)]) {
        let asts: Vec<&ast::Def> = defs.iter().map(|(_, def)| *def).collect();
        for group in dependencies::groups(&asts) {
            let members: Vec<(DefId, &'a ast::Def)> = group
                .members
                .iter()
                .filter_map(|at| defs.get(*at).copied())
                .collect();
            if group.cyclic {
                self.require_rec(&members);
            }
            self.solver.unknown_sizes = 0;
            self.check_group(&members, group.cyclic);
        }
    }

    fn require_rec(&mut self, members: &[(DefId, &'a ast::Def)]) {
        for (_, def) in members {
            if def.recursive == ast::Recursive::Yes {
                continue;
            }
            let name = &def.name.name;
            let others: Vec<String> = members
                .iter()
                .filter(|(_, other)| other.name.span != def.name.span)
                .map(|(_, other)| format!("`{}`", other.name.name))
                .collect();
            let title = if others.is_empty() {
                format!("`{name}` uses itself without `rec`")
            } else {
                format!("`{name}` uses itself through {} without `rec`", others.join(", "))
            };
            let keyword = match def.kind {
                ast::DefKind::Entry => "entry rec",
                ast::DefKind::Def | ast::DefKind::Local => "def rec",
            };
            self.report(
                Diagnostic::error(codes::RECURSION_WITHOUT_REC, def.name.span, title)
                    .label("recursive")
                    .help(format!("write `{keyword} {name} …`")),
            );
        }
    }

    pub fn finish(self) -> (Option<Program>, Vec<Diagnostic>) {
        if self.incomplete || self.diagnostics.iter().any(Diagnostic::is_error) {
            return (None, self.diagnostics);
        }
        let entries = self
            .defs
            .iter()
            .enumerate()
            .filter(|(_, def)| def.ast.kind == ast::DefKind::Entry && def.module + 1 == self.namespaces.len())
            .map(|(at, _)| DefId(at as u32))
            .collect();
        let defs: Option<Vec<tree::Def>> = self.defs.into_iter().map(|def| def.tree).collect();
        let mut diagnostics = self.diagnostics;
        if defs.is_none() {
            diagnostics.push(Diagnostic::error(
                almach_base::codes::bugs::COMPILER_BUG,
                Span::NONE,
                "a definition was not checked and no error was reported",
            ));
        }
        let program = defs.map(|defs| Program {
            data: self.data,
            foreign: self.foreign.into_iter().map(|(def, _)| def).collect(),
            defs,
            entries,
            next_var: self.solver.vars.len() as u32,
        });
        (program, diagnostics)
    }

    pub fn data_def(&self, id: DataId) -> Option<&DataDef> {
        self.data.get(id.0 as usize)
    }

    pub fn bind_local(&mut self, name: Name, local: Local) {
        self.locals.entry(name.clone()).or_default().push(local);
        self.trail.push(name);
    }

    pub fn unbind_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some(name) = self.trail.pop()
                && let Some(stack) = self.locals.get_mut(&name)
            {
                stack.pop();
            }
        }
    }

    pub fn program_var(&mut self, name: &Name, span: Span) -> Var {
        self.solver
            .fresh_var(name.clone(), span, crate::solver::VarKind::Program)
    }
}
