//! Errors about types and sizes: what was expected, what was found, where both came from, and what to do.

use crate::checker::Checker;
use crate::print::{Names, constraint_text, size_text, type_text};
use crate::solver::{Solver, TypeBinding, VarKind};
use crate::tree::{Constraint, DataId, Dim, Size, Type, TypeVar, Var};
use crate::unify::Mismatch;
use almach_base::codes::{sizes as size_codes, types as type_codes};
use almach_base::{Diagnostic, Name, Span};
use almach_value::ScalarType;

/// Why an expression has to have a type.
#[derive(Clone, Debug, Default)]
pub(crate) enum Why {
    #[default]
    Unsaid,
    /// The user wrote the type here.
    Annotation(Span),
    /// The n-th argument (from 1) of a function, declared there.
    Argument {
        function: String,
        position: usize,
        declared: Option<Span>,
    },
    /// The other operand of an operator.
    Operand {
        operator: &'static str,
        other: Span,
    },
    Operator(&'static str),
    Condition,
    /// The first branch of an `if` or `case`.
    Branch(Span),
    /// The first element of an array.
    Element(Span),
    /// The initial value of a loop.
    LoopState(Span),
    Index,
    /// The value a pattern takes apart.
    Matched(Span),
    Text(&'static str),
}

/// What was being compared.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub span: Span,
    pub why: Why,
    pub found: Option<Type>,
    pub expected: Option<Type>,
    /// Where the name that has the found type is bound.
    pub bound: Option<(Name, Span)>,
}

impl Default for Cause {
    fn default() -> Self {
        Cause {
            span: Span::NONE,
            why: Why::Unsaid,
            found: None,
            expected: None,
            bound: None,
        }
    }
}

/// Names as the checker knows them in the middle of its work.
pub(crate) struct CurrentNames<'a> {
    pub solver: &'a Solver,
    pub data: &'a [crate::tree::DataDef],
}

impl Names for CurrentNames<'_> {
    fn data(&self, id: DataId) -> Name {
        self.data
            .get(id.0 as usize)
            .map_or_else(|| Name::from("?"), |data| data.name.clone())
    }

    fn type_var(&self, var: &TypeVar) -> String {
        match self.solver.type_var(var) {
            Some(info) if matches!(info.binding, TypeBinding::Rigid) => format!("'{}", info.name),
            Some(info) => match info.constraint {
                Constraint::Any | Constraint::Equality | Constraint::Order => "_",
                Constraint::Scalar => "scalar",
                Constraint::Number => "number",
                Constraint::Bits => "bits",
                Constraint::Integer => "integer",
                Constraint::Float => "float",
            }
            .to_string(),
            None => "_".to_string(),
        }
    }

    fn size_var(&self, var: &Var) -> String {
        match self.solver.var_info(var) {
            Some(info) => match info.kind {
                VarKind::Open(_) => "_".to_string(),
                VarKind::Program
                | VarKind::Known(_)
                | VarKind::Named
                | VarKind::Unknown(_)
                | VarKind::Solved(_) => info.var.name.to_string(),
            },
            None => "_".to_string(),
        }
    }

    fn reference(&self, reference: u32) -> String {
        self.solver
            .references
            .get(reference as usize)
            .map_or_else(|| "reference".to_string(), |info| info.name.clone())
    }
}

impl Checker<'_> {
    pub fn names(&self) -> CurrentNames<'_> {
        CurrentNames {
            solver: &self.solver,
            data: &self.data,
        }
    }

    pub fn show(&self, ty: &Type) -> String {
        type_text(&self.solver.resolve(ty), &self.names())
    }

    pub fn show_size(&self, size: &Size) -> String {
        size_text(&self.solver.size(size), &self.names())
    }

    pub fn report(&mut self, diagnostic: Diagnostic) {
        if diagnostic.is_error() {
            self.failed = true;
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reports why the types of a cause do not agree.
    pub fn report_mismatch(&mut self, cause: &Cause, mismatch: &Mismatch) {
        let diagnostic = match mismatch {
            Mismatch::Types => self.types_differ(cause),
            Mismatch::Sizes { found, expected } => self.sizes_differ(cause, found, expected),
            Mismatch::Jagged => self.rows_differ(cause),
            Mismatch::Constraint {
                constraint,
                ty,
                asked,
            } => self.constraint_fails(cause, *constraint, ty, *asked),
            Mismatch::Infinite => self.infinite_type(cause),
            Mismatch::ReferenceEscapes(reference) => self.reference_escapes(cause, *reference),
            Mismatch::SizeEscapes(size) => self.size_escapes(cause, size),
            Mismatch::RigidEscapes(var) => self.rigid_escapes(cause, var),
        };
        self.report(diagnostic);
    }

    fn types_differ(&self, cause: &Cause) -> Diagnostic {
        let (found, expected) = self.both_types(cause);
        let mut diagnostic = Diagnostic::error(
            type_codes::TYPE_MISMATCH,
            cause.span,
            format!("expected `{expected}`, found `{found}`"),
        )
        .label(format!("this is `{found}`"));
        diagnostic = self.explain_why(diagnostic, cause, &expected);
        if let Some((name, span)) = &cause.bound {
            diagnostic = diagnostic.also(*span, format!("`{name}` is bound here"));
        }
        diagnostic = self.explain_references(diagnostic, cause);
        self.hint(diagnostic, cause)
    }

    fn both_types(&self, cause: &Cause) -> (String, String) {
        let text = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_string(), |ty| self.show(ty));
        (text(&cause.found), text(&cause.expected))
    }

    /// Where the expected type came from.
    fn explain_why(&self, diagnostic: Diagnostic, cause: &Cause, expected: &str) -> Diagnostic {
        match &cause.why {
            Why::Unsaid => diagnostic,
            Why::Annotation(span) => diagnostic.also(*span, format!("`{expected}` because of this type")),
            Why::Argument {
                function,
                position,
                declared,
            } => {
                let text = format!("argument {position} of `{function}` is `{expected}`");
                match declared {
                    Some(span) => diagnostic.also(*span, text),
                    None => diagnostic.note(text),
                }
            }
            Why::Operand { operator, other } => diagnostic.also(
                *other,
                format!("the other operand of `{operator}` is `{expected}`"),
            ),
            Why::Operator(operator) => {
                diagnostic.note(format!("`{operator}` takes operands of type `{expected}`"))
            }
            Why::Condition => diagnostic.note("a condition is a `bool`"),
            Why::Branch(span) => diagnostic.also(
                *span,
                format!("all branches have one type; this one is `{expected}`"),
            ),
            Why::Element(span) => diagnostic.also(
                *span,
                format!("all elements have one type; this one is `{expected}`"),
            ),
            Why::LoopState(span) => diagnostic.also(
                *span,
                format!("the loop starts with a value of type `{expected}`"),
            ),
            Why::Index => diagnostic.note("an index is an integer of any type"),
            Why::Matched(span) => diagnostic.also(*span, format!("the value matched here is `{expected}`")),
            Why::Text(text) => diagnostic.note(*text),
        }
    }

    /// Types with references print letters for them: say which nodes they mean.
    fn explain_references(&self, mut diagnostic: Diagnostic, cause: &Cause) -> Diagnostic {
        let mut seen = Vec::new();
        for ty in [&cause.found, &cause.expected].into_iter().flatten() {
            crate::solver::walk_type(&self.solver.resolve(ty), &mut |part| {
                if let Type::Reference(reference) = part
                    && !seen.contains(reference)
                {
                    seen.push(*reference);
                }
            });
        }
        for reference in seen {
            if let Some(info) = self.solver.references.get(reference as usize) {
                diagnostic = diagnostic.also(info.span, reference_text(&info.name));
            }
        }
        diagnostic
    }

    /// What is probably meant.
    fn hint(&self, diagnostic: Diagnostic, cause: &Cause) -> Diagnostic {
        let (Some(found), Some(expected)) = (&cause.found, &cause.expected) else {
            return diagnostic;
        };
        let (found, expected) = (self.solver.head(found), self.solver.head(expected));
        match (found, expected) {
            (Type::Var(var), Type::Scalar(to)) if self.is_float_literal(var) && to.is_integer() => {
                diagnostic.help(format!("a literal with a point is a float; an `{to}` has none"))
            }
            (Type::Scalar(from), Type::Scalar(to))
                if *to != ScalarType::Bool && *from != ScalarType::Bool =>
            {
                match &cause.bound {
                    Some((name, _)) => diagnostic.suggest(
                        cause.span,
                        format!("({to} {name})"),
                        format!("convert it to `{to}`"),
                    ),
                    None => diagnostic.help(format!("convert it with `{to} …`")),
                }
            }
            (Type::Scalar(ScalarType::Bool), Type::Scalar(to)) => {
                diagnostic.help(format!("`{to} …` turns a `bool` into 0 or 1"))
            }
            (Type::Function(function), other) if !matches!(other, Type::Function(_)) => {
                diagnostic.help(format!(
                    "this is a function; an argument of type `{}` is missing",
                    self.show(&function.param)
                ))
            }
            (Type::Data(c, _), Type::Node { data: d, .. }) if c == d => {
                diagnostic.help("this is a whole datum; a node value is written with `#`")
            }
            (Type::Node { data: c, .. }, Type::Data(d, _)) if c == d => {
                diagnostic.help("this is a node value; a datum is written without `#`")
            }
            (Type::Data(..), Type::Reference(_)) => {
                diagnostic.help("a reference to one of the nodes is needed; a whole datum is none")
            }
            (Type::Node { .. }, Type::Reference(_)) => {
                diagnostic.help("the expected one is a reference; the down function of its `foreach` gives the node that it refers to")
            }
            (Type::Reference(_), Type::Node { .. } | Type::Data(..)) => {
                diagnostic.help("this is a reference; the down function of its `foreach` gives the node that it refers to")
            }
            (Type::Reference(_), Type::Reference(_)) => {
                diagnostic.help("references belong to one `foreach`, and to its old nodes or its new ones: its renaming function makes a new one of an old one")
            }
            (Type::Array(Dim::Size(_) | Dim::Unknown, element), other)
                if self.solver.resolve(element) == self.solver.resolve(other) =>
            {
                diagnostic.help("this is an array; index it, or `map` over it")
            }
            (Type::Var(var), _) | (_, Type::Var(var)) => match self.solver.type_var(var) {
                Some(info) if matches!(info.binding, TypeBinding::Rigid) => diagnostic.help(format!(
                    "`'{}` stands for every type, so nothing may be assumed about it here",
                    info.name
                )),
                _ => diagnostic,
            },
            _ => diagnostic,
        }
    }

    fn is_float_literal(&self, var: &TypeVar) -> bool {
        self.solver
            .type_var(var)
            .is_some_and(|info| info.constraint == Constraint::Float)
    }

    /// The expected type of an array, with what is not known about it taken from the one found.
    fn completed(&self, expected: &Type, found: &Type) -> Type {
        match (self.solver.head(expected), self.solver.head(found)) {
            (Type::Array(dim, wanted), Type::Array(_, element)) => {
                Type::Array(dim.clone(), Box::new(self.completed(wanted, element)))
            }
            (_, found) if self.solver.open_head(expected).is_some() => found.clone(),
            (expected, _) => expected.clone(),
        }
    }

    fn sizes_differ(&self, cause: &Cause, found: &Size, expected: &Size) -> Diagnostic {
        let (found_text, expected_text) = (self.show_size(found), self.show_size(expected));
        let mut cause = cause.clone();
        let mut title = format!("the sizes `{found_text}` and `{expected_text}` are not known to be equal");
        if let (Some(found), Some(expected)) = (&cause.found, &cause.expected) {
            cause.expected = Some(self.completed(expected, found));
            let (found, expected) = self.both_types(&cause);
            title.push_str(&format!(": expected `{expected}`, found `{found}`"));
        }
        let expected_type = self.both_types(&cause).1;
        let mut diagnostic = Diagnostic::error(size_codes::SIZE_MISMATCH, cause.span, title)
            .label(format!("has size `{found_text}`"));
        diagnostic = self.explain_why(diagnostic, &cause, &expected_type);
        diagnostic = self.explain_sizes(diagnostic, &[found, expected]);
        if let Why::Argument { function, .. } = &cause.why
            && self.monomorphic.iter().any(|name| name.as_str() == function)
        {
            return diagnostic.help(format!(
                "write the types of `{function}`'s parameters and of its result: then it may call itself at other sizes"
            ));
        }
        match (&cause.expected, &cause.why) {
            (_, Why::Element(_)) => {
                diagnostic.help("write a type, `([…] : [][?]t)`, where rows of their own sizes are meant")
            }
            (Some(ty), _)
                if matches!(self.solver.head(ty), Type::Array(..)) && !self.solver.has_open_size(ty) =>
            {
                match self.unknown_in(expected) {
                    Some(unknown) => diagnostic.help(format!(
                        "if they are equal, name that size, `let {unknown} = length …`, and say so of both: `… :> {expected_type}` is checked at run time"
                    )),
                    None => diagnostic.help(format!(
                        "if they are equal, say so: `… :> {expected_type}` checks it at run time"
                    )),
                }
            }
            _ => diagnostic.help("if they are equal, say so with `… :> type`: it is checked at run time"),
        }
    }

    /// The name of a size in it that the program has no name for.
    fn unknown_in(&self, size: &Size) -> Option<Name> {
        self.solver.size(size).free_vars().into_iter().find_map(|var| {
            let info = self.solver.var_info(var)?;
            matches!(info.kind, VarKind::Unknown(_)).then(|| info.var.name.clone())
        })
    }

    /// Where each size was bound.
    fn explain_sizes(&self, mut diagnostic: Diagnostic, sizes: &[&Size]) -> Diagnostic {
        let mut seen: Vec<Var> = Vec::new();
        for size in sizes {
            for var in self.solver.size(size).free_vars() {
                if seen.contains(var) {
                    continue;
                }
                seen.push(var.clone());
                let Some(info) = self.solver.var_info(var) else {
                    continue;
                };
                if info.span.is_none() {
                    continue;
                }
                let name = &info.var.name;
                let text = match &info.kind {
                    VarKind::Named => format!("`{name}` is bound here"),
                    VarKind::Program => format!("`{name}` is this variable"),
                    VarKind::Unknown(what) => format!("`{name}` is {what}, known only at run time"),
                    VarKind::Known(_) | VarKind::Solved(_) | VarKind::Open(_) => continue,
                };
                diagnostic = diagnostic.also(info.span, text);
            }
        }
        diagnostic
    }

    fn rows_differ(&self, cause: &Cause) -> Diagnostic {
        let (found, expected) = self.both_types(cause);
        let diagnostic = Diagnostic::error(
            size_codes::JAGGED_MISMATCH,
            cause.span,
            format!("expected `{expected}`, found `{found}`: one has rows of one size, the other rows of their own sizes"),
        )
        .label(format!("this is `{found}`"));
        self.explain_why(diagnostic, cause, &expected).help(
            "`jagged xs` makes a jagged array of a regular one; `xss :> [n][m]t` a regular one of a jagged one, checked at run time",
        )
    }

    fn constraint_fails(&self, cause: &Cause, constraint: Constraint, ty: &Type, asked: Span) -> Diagnostic {
        let is_literal = cause
            .found
            .as_ref()
            .is_some_and(|found| self.solver.open_head(found).is_some());
        if is_literal && cause.expected.is_some() {
            // It is the found type that asks for something, and the expected one that does not fit.
            return self.types_differ(cause);
        }
        let shown = self.show(ty);
        let wanted = constraint_text(constraint).unwrap_or("is anything");
        let wanted = wanted.trim_start_matches("is ").replace("has ", "a type with ");
        let mut diagnostic = Diagnostic::error(
            type_codes::CONSTRAINT,
            cause.span,
            format!("expected {wanted}, found `{shown}`"),
        )
        .label(format!("this is `{shown}`"));
        if asked != cause.span && !asked.is_none() {
            diagnostic = diagnostic.also(asked, format!("{wanted} is needed here"));
        }
        if cause.expected.is_some() {
            let expected = self.both_types(cause).1;
            diagnostic = self.explain_why(diagnostic, cause, &expected);
        }
        match (constraint, self.solver.head(ty)) {
            (Constraint::Integer, Type::Scalar(scalar)) if scalar.is_float() => {
                diagnostic.help("convert it with `i32 …` or `i64 …`, which round towards zero")
            }
            (Constraint::Float, Type::Scalar(scalar)) if scalar.is_integer() => diagnostic
                .help("a literal with a point is a float; convert an integer with `f32 …` or `f64 …`"),
            (_, Type::Function(function)) => diagnostic.help(format!(
                "this is a function; an argument of type `{}` may be missing",
                self.show(&function.param)
            )),
            _ => diagnostic,
        }
    }

    fn infinite_type(&self, cause: &Cause) -> Diagnostic {
        let (found, expected) = self.both_types(cause);
        let diagnostic = Diagnostic::error(
            type_codes::INFINITE_TYPE,
            cause.span,
            format!("a type would contain itself: `{found}` cannot equal `{expected}`"),
        )
        .label(format!("this is `{found}`"));
        self.explain_why(diagnostic, cause, &expected)
            .help("a type that contains itself is declared with `data`")
    }

    fn reference_escapes(&self, cause: &Cause, reference: u32) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(
            type_codes::REFERENCE_ESCAPES,
            cause.span,
            "a node reference leaves the expression it belongs to",
        )
        .label("this holds a reference");
        if let Some(info) = self.solver.references.get(reference as usize) {
            diagnostic = diagnostic.also(info.span, reference_text(&info.name));
        }
        diagnostic.note("references only mean something in the table of their own `foreach` or `build`")
    }

    fn size_escapes(&self, cause: &Cause, size: &Size) -> Diagnostic {
        let text = self.show_size(size);
        let diagnostic = Diagnostic::error(
            size_codes::SIZE_ESCAPES,
            cause.span,
            format!("the size `{text}` is not known outside of the function or loop that binds it"),
        )
        .label(format!("its type mentions `{text}`"));
        self.explain_sizes(diagnostic, &[size])
            .help("name the size with `[n]` where the parameter is declared, or forget it with a type `[?]t`")
    }

    fn rigid_escapes(&self, cause: &Cause, var: &TypeVar) -> Diagnostic {
        let diagnostic = Diagnostic::error(
            type_codes::TYPE_VARIABLE_ESCAPES,
            cause.span,
            format!("the type variable `'{}` is not known here", var.name),
        )
        .label(format!("its type mentions `'{}`", var.name));
        match self.solver.type_var(var) {
            Some(info) if !info.span.is_none() => {
                diagnostic.also(info.span, format!("`'{}` belongs to this function", var.name))
            }
            _ => diagnostic,
        }
    }

    /// What is left of the equations at the end of a definition.
    pub fn report_unsolved(&mut self, found: &Size, expected: &Size, cause: &Cause) {
        let (found_text, expected_text) = (self.show_size(found), self.show_size(expected));
        let diagnostic = Diagnostic::error(
            size_codes::UNSOLVED_SIZE,
            cause.span,
            format!("cannot tell whether the sizes `{found_text}` and `{expected_text}` are equal"),
        )
        .label("not enough is known about the sizes here");
        let expected_type = self.both_types(cause).1;
        let diagnostic = self.explain_why(diagnostic, cause, &expected_type);
        let diagnostic = self
            .explain_sizes(diagnostic, &[found, expected])
            .help("write the sizes in a type annotation, or check them at run time with `… :> type`");
        self.report(diagnostic);
    }
}

/// What the letters for references mean.
fn reference_text(name: &str) -> String {
    match name.chars().next() {
        Some('n') => format!("`{name}` are references among these nodes"),
        Some('s') => format!("`{name}` are references to the new nodes, which this gives"),
        _ => format!("`{name}` are references to the nodes of this `build`"),
    }
}
