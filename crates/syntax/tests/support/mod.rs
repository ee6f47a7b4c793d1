//! Trees as fully bracketed text, so that tests can say what a program means.
#![allow(dead_code)]

use almach_base::FileId;
use almach_syntax::ast::*;
use almach_value::UnOp;

pub const FILE: FileId = FileId(0);

/// The shape of an expression that must parse.
pub fn shape(text: &str) -> String {
    let (expr, diagnostics) = almach_syntax::parse_expr(FILE, text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    expr_shape(&expr)
}

pub fn type_shape_of(text: &str) -> String {
    let (ty, diagnostics) = almach_syntax::parse_type(FILE, text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    type_shape(&ty)
}

/// Titles of the errors of a file.
pub fn errors(text: &str) -> Vec<String> {
    almach_syntax::parse_file(FILE, text)
        .diagnostics
        .into_iter()
        .map(|diagnostic| diagnostic.title)
        .collect()
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn path(path: &Path) -> String {
    match &path.qualifier {
        Some(qualifier) => format!("{}.{}", qualifier.name, path.name.name),
        None => path.name.name.to_string(),
    }
}

fn suffix(suffix: &Option<almach_value::ScalarType>) -> String {
    suffix.map_or(String::new(), |ty| ty.name().to_string())
}

pub fn expr_shape(expr: &Expr) -> String {
    let go = |expr: &Expr| expr_shape(expr);
    match &expr.kind {
        ExprKind::Int { value, suffix: ty } => format!("{value}{}", suffix(ty)),
        ExprKind::Float { text, suffix: ty } => format!("{text}f{}", suffix(ty)),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Str(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        ExprKind::Var(name) => path(name),
        ExprKind::Annotated { name, annotation } => format!("{}{annotation}", path(name)),
        ExprKind::Constructor(name) => path(name),
        ExprKind::NodeConstructor(name) => format!("#{}", path(name)),
        ExprKind::Apply(function, arguments) => format!("({} {})", go(function), list(arguments, go)),
        ExprKind::Lambda(params, body) => {
            format!(
                "(\\{} -> {})",
                list(params, |param| pattern_shape(&param.pattern)),
                go(body)
            )
        }
        ExprKind::Let(bindings, body) => format!("(let {} in {})", list(bindings, binding_shape), go(body)),
        ExprKind::If(condition, yes, no) => format!("(if {} {} {})", go(condition), go(yes), go(no)),
        ExprKind::Case(scrutinee, arms) => format!("(case {} {})", go(scrutinee), list(arms, arm_shape)),
        ExprKind::Tuple(items) => format!(
            "(tuple{}{})",
            if items.is_empty() { "" } else { " " },
            list(items, go)
        ),
        ExprKind::Record(fields) => {
            format!(
                "{{{}}}",
                list(fields, |(name, value)| format!("{}={}", name.name, go(value)))
            )
        }
        ExprKind::Project(inner, position) => format!("{}.{position}", go(inner)),
        ExprKind::Field(inner, name) => format!("{}.{}", go(inner), name.name),
        ExprKind::Index(inner, indices) => format!("{}[{}]", go(inner), list(indices, index_shape)),
        ExprKind::Range(from, to) => format!("(..< {} {})", go(from), go(to)),
        ExprKind::Array(items) => format!("[{}]", list(items, go)),
        ExprKind::Unary(UnaryOp::Scalar(op), inner) => {
            let symbol = match op {
                UnOp::Neg => "neg",
                UnOp::Not => "not",
                _ => "complement",
            };
            format!("({symbol} {})", go(inner))
        }
        ExprKind::Binary(op, _, left, right) => format!("({} {} {})", op.symbol(), go(left), go(right)),
        ExprKind::Operator(op) => format!("(op {})", op.symbol()),
        ExprKind::LeftSection(op, inner) => format!("(left {} {})", go(inner), op.symbol()),
        ExprKind::RightSection(op, inner) => format!("(right {} {})", op.symbol(), go(inner)),
        ExprKind::Loop(inner) => loop_shape(inner),
        ExprKind::With {
            array,
            indices,
            value,
            in_place,
        } => {
            let mark = if *in_place == InPlace::Required { "!" } else { "" };
            format!(
                "(with{mark} {} [{}] {})",
                go(array),
                list(indices, index_shape),
                go(value)
            )
        }
        ExprKind::Assert {
            condition,
            text,
            body,
        } => format!("(assert {} {:?} {})", go(condition), text.as_str(), go(body)),
        ExprKind::Trace { label, body } => format!("(trace {:?} {})", label.as_str(), go(body)),
        ExprKind::Ascribe(inner, ty) => format!("({} : {})", go(inner), type_shape(ty)),
        ExprKind::Coerce(inner, ty) => format!("({} :> {})", go(inner), type_shape(ty)),
        ExprKind::Foreach {
            node,
            datum,
            rename,
            down,
            body,
        } => format!(
            "(foreach {} {} {} {} {})",
            pattern_shape(node),
            go(datum),
            rename.name,
            down.name,
            go(body)
        ),
        // Parentheses are visible in the shape itself.
        ExprKind::Paren(inner) => go(inner),
        ExprKind::Error => "<error>".to_string(),
    }
}

fn loop_shape(inner: &Loop) -> String {
    let initial = inner
        .initial
        .as_ref()
        .map_or(String::new(), |value| format!(" = {}", expr_shape(value)));
    let form = match &inner.form {
        LoopForm::For { index, bound } => format!("for {} {}", index.name, expr_shape(bound)),
        LoopForm::While(condition) => format!("while {}", expr_shape(condition)),
    };
    format!(
        "(loop {}{initial} {form} {})",
        pattern_shape(&inner.pattern),
        expr_shape(&inner.body)
    )
}

fn index_shape(index: &IndexArg) -> String {
    let part = |part: &Option<Expr>| part.as_ref().map_or(String::new(), expr_shape);
    match index {
        IndexArg::At(index) => expr_shape(index),
        IndexArg::Slice {
            begin,
            end,
            bound,
            step,
            ..
        } => {
            let colon = match bound {
                SliceBound::Before => ":",
                SliceBound::Count => ":+",
            };
            format!("{}{colon}{}:{}", part(begin), part(end), part(step))
        }
    }
}

fn binding_shape(binding: &Binding) -> String {
    match binding {
        Binding::Value { pattern, value, .. } => format!("{}={};", pattern_shape(pattern), expr_shape(value)),
        Binding::Functions(defs) => format!("{};", list(defs, def_shape)),
    }
}

pub fn def_shape(def: &Def) -> String {
    let keyword = match (def.kind, def.recursive) {
        (DefKind::Def, Recursive::No) => "def ",
        (DefKind::Def, Recursive::Yes) => "def rec ",
        (DefKind::Entry, _) => "entry ",
        (DefKind::Local, Recursive::No) => "fun ",
        (DefKind::Local, Recursive::Yes) => "fun rec ",
    };
    let sizes: String = def.sizes.iter().map(|size| format!(" [{}]", size.name)).collect();
    let params: String = def
        .params
        .iter()
        .map(|param| format!(" {}", pattern_shape(&param.pattern)))
        .collect();
    let result = def
        .result
        .as_ref()
        .map_or(String::new(), |ty| format!(" : {}", type_shape(ty)));
    format!(
        "{keyword}{}{sizes}{params}{result} = {}",
        def.name.name,
        expr_shape(&def.body)
    )
}

fn arm_shape(arm: &Arm) -> String {
    let guard = arm
        .guard
        .as_ref()
        .map_or(String::new(), |guard| format!(" if {}", expr_shape(guard)));
    format!(
        "| {}{guard} -> {}",
        pattern_shape(&arm.pattern),
        expr_shape(&arm.body)
    )
}

pub fn pattern_shape(pattern: &Pattern) -> String {
    let sign = |negative: &Negative| if *negative == Negative::Yes { "-" } else { "" };
    match &pattern.kind {
        PatternKind::Wildcard => "_".to_string(),
        PatternKind::Var(name) => name.to_string(),
        PatternKind::Int {
            value,
            negative,
            suffix: ty,
        } => format!("{}{value}{}", sign(negative), suffix(ty)),
        PatternKind::Float {
            text,
            negative,
            suffix: ty,
        } => format!("{}{text}f{}", sign(negative), suffix(ty)),
        PatternKind::Bool(value) => value.to_string(),
        PatternKind::Tuple(items) => format!("(tuple {})", list(items, pattern_shape)),
        PatternKind::Record(fields) => {
            format!(
                "{{{}}}",
                list(fields, |(name, inner)| format!(
                    "{}={}",
                    name.name,
                    pattern_shape(inner)
                ))
            )
        }
        PatternKind::Constructor(name, fields) if fields.is_empty() => path(name),
        PatternKind::Constructor(name, fields) => format!("({} {})", path(name), list(fields, pattern_shape)),
        PatternKind::NodeConstructor(name, fields) => {
            format!("(#{} {})", path(name), list(fields, pattern_shape))
        }
        PatternKind::Ascribed(inner, ty) => format!("({} : {})", pattern_shape(inner), type_shape(ty)),
        PatternKind::Paren(inner) => pattern_shape(inner),
        PatternKind::Error => "<error>".to_string(),
    }
}

pub fn type_shape(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Scalar(scalar) => scalar.name().to_string(),
        TypeKind::Var(name) => format!("'{name}"),
        TypeKind::Named(name, arguments) if arguments.is_empty() => path(name),
        TypeKind::Named(name, arguments) => format!("({} {})", path(name), list(arguments, type_shape)),
        TypeKind::Tuple(items) => format!("(tuple {})", list(items, type_shape)),
        TypeKind::Record(fields) => {
            format!(
                "{{{}}}",
                list(fields, |(name, inner)| format!(
                    "{}:{}",
                    name.name,
                    type_shape(inner)
                ))
            )
        }
        TypeKind::Array(dim, element) => format!("[{}]{}", dim_shape(dim), type_shape(element)),
        TypeKind::Vector(width, element) => format!("(vec {} {})", size_shape(width), type_shape(element)),
        TypeKind::Function {
            param_name,
            param,
            result,
        } => match param_name {
            Some(name) => format!("({}:{} -> {})", name.name, type_shape(param), type_shape(result)),
            None => format!("({} -> {})", type_shape(param), type_shape(result)),
        },
        TypeKind::Error => "<error>".to_string(),
    }
}

fn dim_shape(dim: &Dim) -> String {
    match dim {
        Dim::Inferred(_) => String::new(),
        Dim::Unknown(_) => "?".to_string(),
        Dim::Size(size) => size_shape(size),
    }
}

fn size_shape(size: &SizeExpr) -> String {
    match &size.kind {
        SizeKind::Literal(value) => value.to_string(),
        SizeKind::Var(name) => name.to_string(),
        SizeKind::Binary(op, left, right) => {
            let symbol = match op {
                SizeOp::Add => "+",
                SizeOp::Sub => "-",
                SizeOp::Mul => "*",
                SizeOp::Div => "/",
            };
            format!("({symbol} {} {})", size_shape(left), size_shape(right))
        }
        SizeKind::Error => "<error>".to_string(),
    }
}

/// The programs of the repository that are meant to be right: the prelude, the examples, and the file tests that
/// run. Names and texts.
pub fn programs() -> Vec<(String, String)> {
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a program can be read");
        (almach_corpus::name_of(&path), text)
    };
    let places = ["prelude", "examples", "tests/programs"];
    almach_corpus::programs(&places).into_iter().map(read).collect()
}

/// The seeds of random tests: one, or as many as `ALMACH_FUZZ` says, for long runs by hand.
pub fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("ALMACH_FUZZ")
        .ok()
        .and_then(|count| count.parse().ok());
    0..count.unwrap_or(1)
}

/// A small generator of random numbers, so that runs repeat.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Some characters removed, repeated, swapped or replaced by pieces of programs.
    pub fn damage(&mut self, text: &str) -> String {
        const PIECES: &[&str] = &[
            "(", ")", "[", "]", "{", "}", "{-", "-}", "--", "let ", " in ", "|", "\\", "->", "'", "\"", "@",
            "#", ".", "..<", ":", ":>", "=", "case ", " of ", "def ", "\ndef ", "\ndata ", "-", "é", "\u{0}",
            "1e", "0x", "1.", "with", "?", ",",
        ];
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let at = self.below(characters.len());
            let length = self.below(12).min(characters.len() - at);
            match self.below(4) {
                0 => drop(characters.drain(at..at + length)),
                1 => {
                    let copy = characters[at..at + length].to_vec();
                    let to = self.below(characters.len());
                    characters.splice(to..to, copy);
                }
                2 => characters.truncate(at),
                _ => {
                    let piece = self.pick(PIECES);
                    characters.splice(at..at, piece.chars());
                }
            }
        }
        characters.into_iter().collect()
    }
}
