//! The complaints of elaboration.

use crate::specialise::{Active, Source};
use crate::ty::Ty;
use almach_base::codes::bugs::COMPILER_BUG;
use almach_base::codes::concreteness::{
    ENDLESS_DATA, ENDLESS_SPECIALISATION, FUNCTION_FROM_RECURSION, FUNCTION_IN_LOOP, LITERAL_OUT_OF_RANGE,
};
use almach_base::codes::sizes::UNSOLVED_SIZE;
use almach_base::{Diagnostic, Name, Span};
use almach_core::typing::TypeError;
use almach_types::tree::{DataDef, Def};
use almach_value::ScalarType;

/// An invariant that does not hold.
pub(crate) fn bug(span: Span, what: impl Into<String>) -> Box<Diagnostic> {
    let what = what.into();
    Box::new(
        Diagnostic::error(
            COMPILER_BUG,
            span,
            format!("compiler bug during elaboration: {what}"),
        )
        .label("while elaborating this"),
    )
}

/// A size that is used where no argument has told it: `n` of an entry that takes a `[n * n]f32`.
pub(crate) fn untold_size(span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(UNSOLVED_SIZE, span, "no argument tells this size")
            .label("used here")
            .help("make it a parameter of type `i64`, or let an array have it as its size alone"),
    )
}

/// A statement that Core's own rules refuse.
pub(crate) fn ill_typed(span: Span, error: &TypeError) -> Box<Diagnostic> {
    bug(span, format!("{} ({})", error.message, error.rule))
}

/// A definition that would need code without end.
pub(crate) fn endless<'a>(
    active: &[Active<'a>],
    source: Source<'a>,
    types: &[Ty],
    name: &Name,
    span: Span,
) -> Box<Diagnostic> {
    let chain: Vec<&Active<'a>> = active.iter().filter(|it| it.source == source).collect();
    let types_differ = chain.last().is_some_and(|last| last.types != types);
    let reason = match types_differ {
        true => "it calls itself at a new type each time (polymorphic recursion)",
        false => "it calls itself with a new function each time, made from the one before",
    };
    let mut error = Diagnostic::error(
        ENDLESS_SPECIALISATION,
        span,
        format!("`{name}` would need a version of its own for every depth of recursion"),
    )
    .label(reason)
    .note(format!(
        "the calls so far: {}",
        chain_text(active, source).join(" -> ")
    ));
    if let Some(first) = chain.first() {
        error = error.also(first.span, "the first of these calls");
    }
    error = match types_differ {
        true => error.help("call it at the same types, or use a data type instead of types that grow"),
        false => error
            .help("pass the numbers the function depends on instead of a function that wraps the old one"),
    };
    Box::new(error)
}

/// The names of calls from the first specialisation of a definition on, abridged.
fn chain_text<'a>(active: &[Active<'a>], source: Source<'a>) -> Vec<String> {
    let from = active.iter().position(|it| it.source == source).unwrap_or(0);
    let names = active.iter().skip(from).map(|it| format!("`{}`", it.name));
    let mut chain: Vec<String> = names.take(6).collect();
    chain.push("…".to_owned());
    chain
}

/// A data type that contains itself at ever larger arguments.
pub(crate) fn endless_data(def: &DataDef) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(
            ENDLESS_DATA,
            def.span,
            format!(
                "the data type `{}` contains itself at ever larger types",
                def.name
            ),
        )
        .label("its fields mention it with arguments that grow each time")
        .help("mention the type with the arguments it is declared with"),
    )
}

pub(crate) fn recursive_function_result(def: &Def, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(
            FUNCTION_FROM_RECURSION,
            span,
            format!(
                "`{}` is recursive and gives functions inside a tuple or record",
                def.name
            ),
        )
        .label("which functions it gives depends on how deep the recursion goes")
        .also(def.span, "defined here")
        .help("give the values the functions depend on instead, and apply the functions where they are used"),
    )
}

pub(crate) fn loop_function(span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(
            FUNCTION_IN_LOOP,
            span,
            "a loop makes a new function in every iteration",
        )
        .label("this wraps a function around the one of the iteration before")
        .note("a loop may change the functions in its state, but there must be finitely many of them")
        .help(
            "keep the values that the function depends on in the state, and make the function after the loop",
        ),
    )
}

pub(crate) fn literal_range(value: i128, ty: ScalarType, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(
            LITERAL_OUT_OF_RANGE,
            span,
            format!("the literal {value} does not fit {ty}"),
        )
        .label(format!("this definition is used at type {ty}"))
        .help("use the definition at a wider type, or convert: `i64 x`"),
    )
}
