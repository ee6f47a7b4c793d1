//! One broken program per rule of the checker.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::{Rule, check};
use almach_core::parse::parse_program;
use almach_core::{Program, Stmt};

fn program(text: &str) -> Program {
    parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}: {text}", error.title))
}

fn accepts(text: &str) {
    if let Err(failure) = check(program(text), "test") {
        panic!("{:?}\n{text}", failure.diagnostic.notes);
    }
}

fn refuses(rule: Rule, text: &str) {
    refuses_program(rule, program(text), text);
}

fn refuses_program(rule: Rule, program: Program, text: &str) {
    match check(program, "test") {
        Ok(_) => panic!("accepted: {text}"),
        Err(failure) => assert_eq!(failure.rule, rule, "{:?}\n{text}", failure.diagnostic.notes),
    }
}

#[test]
fn the_diagnostic_names_pass_rule_function_and_statement() {
    let text = "fun f (x: i32): i32 =\n  let y: i32 = x + 1i64\n  in y";
    let failure = check(program(text), "constant folding").unwrap_err();
    assert_eq!(failure.diagnostic.code.0, "E9999");
    assert_eq!(
        failure.diagnostic.title,
        "the compiler has a bug: `constant folding` made a program that breaks CORE-14"
    );
    let span = failure.diagnostic.primary.span;
    assert_eq!(
        &text[span.start as usize..span.end as usize],
        "let y: i32 = x + 1i64"
    );
    let notes = failure.diagnostic.notes.join("\n");
    assert!(notes.contains("in the function `f`"), "{notes}");
    assert!(
        notes.contains("at the statement `let y_1: i32 = x_0 + 1i64`"),
        "{notes}"
    );
}

#[test]
fn bound_once_and_below_next_var() {
    let mut twice = program(
        "fun f (x: i32): i32 = let y: i32 = x in let z: i32 = y in z"
            .replace("in let", "let")
            .as_str(),
    );
    let stmts: &mut Vec<Stmt> = &mut twice.functions[0].body.stmts;
    stmts[1].pattern = stmts[0].pattern.clone();
    refuses_program(Rule::BoundOnce, twice, "y twice");

    let mut low = program("fun f (x: i32): i32 = x");
    low.next_var = 0;
    refuses_program(Rule::NextVar, low, "next_var 0");
}

#[test]
fn in_scope() {
    // The parser knows scopes too, so the use is put in by hand.
    let mut outside = program(
        "fun f (x: i32, c: bool): i32 =
           let y: i32 = if c: i32 then let inner: i32 = x in inner else x
           in y",
    );
    let inner = match &outside.functions[0].body.stmts[0].exp {
        almach_core::Exp::If { then, .. } => then.values.clone(),
        other => panic!("{other:?}"),
    };
    outside.functions[0].body.values = inner;
    refuses_program(Rule::InScope, outside, "inner outside its branch");
}

#[test]
fn operands() {
    refuses(
        Rule::OperandType,
        "fun f {n, m} (x: [n]i32, y: [m]i32): [n](i32, i32) = let z: [n](i32, i32) = zip x y in z",
    );
    refuses(Rule::OperandType, "fun f (x: i32): i32 = let y: i32 = x.0 in y");
    refuses(
        Rule::OperandType,
        "fun f (x: i32): i32 = let y: i32 = if x: i32 then x else x in y",
    );
    refuses(Rule::OperandType, "fun f (x: i64): i64 = let y: i64 = x[x] in y");
    refuses(
        Rule::OperandType,
        "fun f {n} (x: [n]f32): f32 = let y: f32 = x[0.0f32] in y",
    );
    refuses(
        Rule::OperandType,
        "fun g (x: i32): i32 = x fun f (x: i64): i32 = let y: i32 = g (x) in y",
    );
    refuses(
        Rule::OperandType,
        "fun f {n} (x: [n]f32): [2]f64 = let y: [2]f64 = x :> [2]f64 in y",
    );
    refuses(
        Rule::OperandType,
        "fun f {n} (x: [n]f32): f32 = let y: f32 = loop (s: f32 = x) for i: i64 < n do s in y",
    );
    refuses(
        Rule::OperandType,
        "fun f {n} (x: [n][?]f32): f32 = let y: [2][2]f32 = slice x[0i64:2i64:1i64, 0i64:2i64:1i64] in 0.0f32",
    );
    refuses(
        Rule::OperandType,
        "fun f {n} (x: [n]f32): f32 = let {m} y: [m]f32 = flatten x in 0.0f32",
    );
}

#[test]
fn sizes_are_equal_as_polynomials() {
    accepts(
        "fun f {n, m} (xs: [n*m + n]f32, ys: [m*n + n]f32): [2*n*(m + 1)]f32 =
           let a: [2*n*m + 2*n]f32 = concat xs ys
           in a",
    );
    accepts(
        "fun f {n} (xs: [n]f32, k: i64): [n + k*k]f32 =
           let kk: i64 = k * k
           let less: i64 = neg kk
           let r: i64 = n - less
           let l: i64 = length xs
           let s: i64 = l + kk
           let a: [s]f32 = replicate r 0.0f32
           in a",
    );
    accepts(
        "fun f {n} (xs: [n]f32, k: i64): [n/2]f32 =
           let h: i64 = n / 2i64
           let a: [h]f32 = take h xs
           in a",
    );
    // Truncation and rounding down differ where the dividend may be negative.
    refuses(
        Rule::BodyResult,
        "fun f {n} (xs: [n]f32, k: i64): [k/2]f32 =
           let h: i64 = k / 2i64
           let a: [h]f32 = take h xs
           in a",
    );
    accepts(
        "fun g (k: i64): [k]i64 = let a: [k]i64 = iota k in a
         fun f {n} (xs: [n]f32): [n + 1]i64 =
           let m: i64 = n + 1i64
           let a: [n + 1]i64 = g (m)
           in a",
    );
}

#[test]
fn contexts() {
    refuses(
        Rule::Context,
        "fun g {n} (x: [n]f32): i64 = n fun f {n} (x: [n]f32): i64 = let y: i64 = g (x) in y",
    );
    refuses(Rule::Context, "fun f {n} (x: [n]f32): {k} [k]f32 = x");
    refuses(Rule::Context, "fun f {n} (x: [n]f32): {k} [k]f32 = {1i32} x");
    refuses(
        Rule::Context,
        "fun f {n} (x: [n]f32): [n]f32 = let y: [n]f32 = map (\\{c} (a: f32): f32 -> a) x in y",
    );
    refuses(
        Rule::Context,
        "fun f {n} (x: [n][?]f32): [n]i64 = let y: [n]i64 = map (\\(a: [n]f32): i64 -> 0i64) x in y",
    );
}

#[test]
fn sizes_in_scope() {
    refuses(Rule::SizeInScope, "fun f {n} (x: [n]f32, k: i32): [k]f32 = x");
    let text = "fun f {n} (x: [n]f32): [n]f32 = x fun g {n} (x: [n]f32): [n]f32 = x";
    let mut swapped = program(text);
    swapped.functions[0].result = swapped.functions[1].result.clone();
    refuses_program(Rule::SizeInScope, swapped, text);
}

#[test]
fn jagged_dimensions() {
    refuses(Rule::JaggedPlacement, "fun f (x: [?]f32): i32 = 0i32");
    refuses(Rule::JaggedPlacement, "fun f (x: (i32, [?]f32)): i32 = 0i32");
    accepts("fun f {n} (x: [n](i32, [?]f32)): i32 = 0i32");
    accepts(
        "fun f {n} (x: [n](i32, [?]f32)): [n][?]f32 =
           let y: [n][?]f32 = map (\\{c} (p: (i32, [c]f32)): [c]f32 -> let r: [c]f32 = p.1 in r) x
           in y",
    );
}

#[test]
fn counts() {
    refuses(
        Rule::Arity,
        "fun f {n} (x: [n]f32): [n]f32 = let y: [n]f32 = reverse x x in y",
    );
    refuses(
        Rule::Arity,
        "fun f {n} (x: [n]f32): [n]f32 = let y: [n]f32 = map x in y",
    );
    refuses(
        Rule::Arity,
        "fun g (x: i32): i32 = x fun f (x: i32): i32 = let y: i32 = g (x, x) in y",
    );
    refuses(
        Rule::Arity,
        "data T = C i32 fun f (x: i32): T = let y: T = new T C () in y",
    );
}

#[test]
fn functions_of_operations() {
    refuses(
        Rule::Function,
        "fun f {n} (x: [n]f32): [n]i32 = let y: [n]i32 = map (\\(a: i32): i32 -> a) x in y",
    );
    refuses(
        Rule::Function,
        "fun f {n} (x: [n]f32): [n]f32 = let y: [n]f32 = map (\\(a: f32, b: f32): f32 -> a) x in y",
    );
    refuses(
        Rule::Function,
        "fun f {n} (x: [n]f32): i32 = let {k} y: [k]f32 = filter (\\(a: f32): f32 -> a) x in 0i32",
    );
    refuses(
        Rule::Function,
        "fun f {n} (x: [n]f32): f32 = let y: f32 = reduce (\\(a: f32, b: i32): f32 -> a) 0.0f32 x in y",
    );
    // Any function may fold in order, but the accumulator has the type of the result.
    accepts("fun f {n} (x: [n]f32): i32 = let y: i32 = reduceSeq (\\(a: i32, b: f32): i32 -> a) 0i32 x in y");
    refuses(
        Rule::Function,
        "fun f {n} (x: [n]f32): i32 = let y: i32 = reduceSeq (\\(a: f32, b: f32): i32 -> 1i32) 0i32 x in y",
    );
    refuses(
        Rule::Function,
        "data rec T = N fun f (n: i64): T = let y: T = build (\\(i: i64): i64 -> i) n 0i64 in y"
            .replace("= N ", "= N T ")
            .as_str(),
    );
}

#[test]
fn bodies_and_patterns() {
    refuses(Rule::BodyResult, "fun f (x: i32): i64 = x");
    refuses(Rule::BodyResult, "fun f (x: i32): <i32, i32> = x");
    refuses(
        Rule::BodyResult,
        "fun f (x: i32, c: bool): i32 = let y: i32 = if c: i32 then true else x in y",
    );
    refuses(Rule::Pattern, "fun f (x: i32): i64 = let y: i64 = x in y");
    refuses(Rule::Pattern, "fun f (x: i32): i64 = let {k} y: i32 = x in k");
    refuses(
        Rule::Pattern,
        "fun f {n} (x: [n]f32): i64 = let y: [n]f32 = filter (\\(a: f32): bool -> true) x in n",
    );
    refuses(
        Rule::Pattern,
        "fun f {n} (x: [n]f32): [n]f32 = let y: [n]f32 = take 3i64 x in y",
    );
}

#[test]
fn known_ids_and_data() {
    let mut missing = program("fun g (x: i32): i32 = x fun f (x: i32): i32 = let y: i32 = g (x) in y");
    missing.functions.swap(0, 1);
    missing.functions.pop();
    refuses_program(
        Rule::KnownId,
        {
            let mut only = missing.clone();
            if let almach_core::Exp::Call { function, .. } = &mut only.functions[0].body.stmts[0].exp {
                function.0 = 7;
            }
            only
        },
        "function 7",
    );
    refuses(
        Rule::KnownId,
        "data T = C i32 fun f (x: i32): T = let y: T = new T 3 (x) in y",
    );
    refuses(Rule::DataDefinition, "data rec T = C i32");
    refuses(Rule::DataDefinition, "data T = C T | D");
    refuses(Rule::DataDefinition, "data A = C B data rec B = D A");
    refuses(Rule::DataDefinition, "data T = C | C");
    accepts("data rec A = C B | E data rec B = D A");
    accepts("data rec Stream = Next i32 Stream");
    refuses(
        Rule::Node,
        "data T = C i32 fun f (x: i32): #T = let y: #T = node T C (x) in y",
    );
    refuses(Rule::Node, "data T = C i32 fun f (x: #T): i32 = 0i32");
}

#[test]
fn cases() {
    let data = "data T = A | B i32\n";
    refuses(
        Rule::Case,
        &format!("{data} fun f (t: T): i32 = let y: i32 = case t: i32 of | A () -> 0i32 end in y"),
    );
    refuses(
        Rule::Case,
        &format!(
            "{data} fun f (t: T): i32 = let y: i32 = case t: i32 of | A () -> 0i32 | A () -> 1i32 | _ -> 2i32 end in y"
        ),
    );
    refuses(
        Rule::OperandType,
        &format!(
            "{data} fun f (t: T): i32 = let y: i32 = case t: i32 of | B (x: i64) -> 0i32 | _ -> 2i32 end in y"
        ),
    );
    accepts(&format!(
        "{data} fun f (t: T): i32 = let y: i32 = case t: i32 of | B (x: i32) -> x | A () -> 2i32 end in y"
    ));
}

#[test]
fn scalar_operators() {
    refuses(
        Rule::ScalarOperator,
        "fun f (x: f32): f32 = let y: f32 = x << x in y",
    );
    refuses(
        Rule::ScalarOperator,
        "fun f (x: i32): i32 = let y: i32 = sqrt x in y",
    );
    refuses(
        Rule::ScalarOperator,
        "fun f (x: (i32, i32)): bool = let y: bool = x == x in y",
    );
    accepts("fun f (x: vec 4 f32, s: f32): vec 4 f32 = let y: vec 4 f32 = x * s in y");
    refuses(
        Rule::ScalarOperator,
        "fun f (x: vec 4 f32, s: vec 2 f32): vec 4 f32 = let y: vec 4 f32 = x * s in y",
    );
}

#[test]
fn annotations_loops_vectors() {
    refuses(
        Rule::Annotation,
        "fun f {n} (x: [n]f32): i64 = let y: i64 = length@par x in y",
    );
    refuses(
        Rule::Annotation,
        "fun f {n} (x: [n]f32): i64 = let y: i64 = length@S x in y",
    );
    refuses(
        Rule::Loop,
        "fun f (x: f32): f32 = let y: f32 = loop (s: f32 = x) for i: i64 < 3i32 do s in y",
    );
    refuses(
        Rule::Loop,
        "fun f (x: f32): f32 = let y: f32 = loop (s: f32 = x) while x do s in y",
    );
    refuses(Rule::VectorWidth, "fun f (x: vec 5 f32): i32 = 0i32");
    refuses(
        Rule::VectorWidth,
        "fun f {n} (x: [n]f32): i32 = let y: [n/5]vec 4 f32 = asVector 5i64 x in 0i32",
    );
}

#[test]
fn entries() {
    let f = "data rec L = N | C i32 L fun f {n} (x: [n]f32): <i32, f32> = <0i32, 1.0f32>\n";
    accepts(&format!("{f} entry f = f (x: [n]f32): (i32, f32)"));
    refuses(Rule::Entry, &format!("{f} entry f = f (x: [n]f64): (i32, f32)"));
    refuses(Rule::Entry, &format!("{f} entry f = f (): (i32, f32)"));
    refuses(Rule::Entry, &format!("{f} entry f = f (x: [n]f32): i32"));
    refuses(Rule::Entry, &format!("{f} entry f = f (x: [?]f32): (i32, f32)"));
    refuses(
        Rule::Entry,
        "fun f {n} (x: [n + 1]f32): i32 = 0i32 entry f = f (x: []f32): i32",
    );
    let g = "data rec L = N | C i32 L fun f (x: L): L = x\n";
    accepts(&format!(
        "{g} entry f = f (x: sum \"L\" (N | C i32 rec \"L\")): sum \"L\" (N | C i32 rec \"L\")"
    ));
    refuses(
        Rule::Entry,
        &format!("{g} entry f = f (x: sum \"L\" (N | C i32 rec \"M\")): sum \"L\" (N | C i32 rec \"L\")"),
    );
}

/// `slide` has a known number of windows where the array is provably long enough, and any pattern may forget it.
#[test]
fn windows() {
    accepts("fun f {n} (x: [n + 2]f32): [n][3]f32 = let y: [n][3]f32 = slide 3i64 1i64 x in y");
    accepts("fun f {n} (x: [n + 2]f32): {k} [k][3]f32 = let {k} y: [k][3]f32 = slide 3i64 1i64 x in {k} y");
    accepts("fun f {n} (x: [n]f32): {k} [k][3]f32 = let {k} y: [k][3]f32 = slide 3i64 1i64 x in {k} y");
    refuses(
        Rule::Pattern,
        "fun f {n} (x: [n]f32): [n - 2][3]f32 = let y: [n - 2][3]f32 = slide 3i64 1i64 x in y",
    );
}
