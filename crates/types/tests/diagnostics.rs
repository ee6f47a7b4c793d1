//! Every error and warning of the checker with its exact rendering. `UPDATE_EXPECT=1 cargo test` writes the files anew.
#![allow(clippy::unwrap_used)]

mod support;

use almach_base::codes;
use expect_test::expect_file;
use std::collections::HashSet;
use support::{Files, check, check_file};

/// By the name of the file with the rendering.
const MISTAKES: &[(&str, &str)] = &[
    // Names.
    ("unknown_name", "def f xs = fitler even xs\n"),
    ("unknown_name_without_advice", "def f x = frobnicate x\n"),
    (
        "unknown_type",
        "def f (x: Tre): i32 = 0\n\ndata Tree = Leaf | Fork Tree Tree\n",
    ),
    (
        "unknown_constructor",
        "def f m = case m of | Smoe x -> x | None -> 0\n",
    ),
    ("unknown_module", "def f a b = V.dot a b\n"),
    ("unknown_size", "def f (xs: [n]f32): f32 = sum xs\n"),
    (
        "duplicate_definition",
        "def area r = r * r\ndef area w h = w * h\n",
    ),
    ("duplicate_constructor", "data A = One | Two | One\n"),
    (
        "constructor_of_several_types",
        "data A = One | Two\ndata B = Two | Three\ndef f (): B = Two\n",
    ),
    ("duplicate_parameter", "def f x (y, x) = x + y\n"),
    (
        "recursion_without_rec",
        "def fact (n: i64): i64 = if n == 0 then 1 else n * fact (n - 1)\n",
    ),
    (
        "mutual_recursion_without_rec",
        "def rec even_ n = if n == 0 then true else odd_ (n - 1)\ndef odd_ n = if n == 0 then false else even_ (n - 1)\n",
    ),
    ("alias_cycle", "type A = (i32, B)\ntype B = [3]A\n"),
    // Types.
    ("annotation_and_body", "def f (n: i64): f32 = n * 2\n"),
    (
        "argument_of_a_definition",
        "def scale (k: f32) (x: f32): f32 = k * x\ndef g (n: i32): f32 = scale n 2.0\n",
    ),
    (
        "argument_of_a_primitive",
        "def f (n: i32): [n_]i64 = iota n\ndef n_: i64 = 3\n",
    ),
    ("operands_differ", "def f (x: f32) (y: f64) = x + y\n"),
    ("condition_is_not_bool", "def f (x: i32) = if x then 1 else 2\n"),
    ("branches_differ", "def f c (x: i32) = if c then x else true\n"),
    (
        "cases_differ",
        "def f (m: Maybe i32) =\n  case m of\n  | Some x -> x\n  | None -> 0.5\n",
    ),
    ("elements_differ", "def xs = [1, true]\n"),
    (
        "loop_state_differs",
        "def f (n: i64) = loop (x = 0i32) for i < n do x + i\n",
    ),
    (
        "missing_argument",
        "def add a b: i32 = a + b\ndef f (x: i32): i32 = add x\n",
    ),
    (
        "pattern_of_another_type",
        "def f (m: Maybe i32) = case m of | Ok x -> x | _ -> 0\n",
    ),
    ("array_for_an_element", "def f (xs: []f32): f32 = xs\n"),
    ("type_variable_is_rigid", "def f (x: 'a): 'a = 1i32\n"),
    ("too_many_arguments", "def f x = x + 1\ndef g y = f y 2\n"),
    ("not_a_function", "def f (x: i32) = x 1\n"),
    ("too_many_arrays", "def f [n] (xs: [n]i32) = map (+) xs xs xs\n"),
    (
        "arithmetic_on_arrays",
        "def add [n] (xs: [n]f32) (ys: [n]f32) = xs + ys\n",
    ),
    ("arithmetic_on_booleans", "def f (x: bool) = x * 2\n"),
    ("order_of_functions", "def f (g: i32 -> i32) = g < g\n"),
    ("bits_of_floats", "def f (x: f32) = x & 1\n"),
    ("root_of_an_integer", "def f (n: i32) = sqrt n\n"),
    ("float_index", "def f (xs: []i32) (x: f64) = xs[x]\n"),
    (
        "constraint_through_a_call",
        "def double x = x + x\ndef f (b: bool) = double b\n",
    ),
    ("infinite_type", "def f x = x x\n"),
    (
        "field_of_an_unknown_record",
        "def norm p = sqrt (p.x * p.x + p.y * p.y)\n",
    ),
    ("component_of_an_unknown_tuple", "def f p = p.0\n"),
    (
        "no_such_field",
        "def f (p: {width: f64, height: f64}) = p.widht\n",
    ),
    ("no_such_component", "def f (p: (i32, i32)) = p.2\n"),
    ("literal_out_of_range", "def f (x: u8) = x + 256\n"),
    ("negative_literal_out_of_range", "def x: i8 = -129\n"),
    ("float_literal_out_of_range", "def x = 1e999\n"),
    ("type_arguments", "def f (m: Maybe): i32 = 0\n"),
    ("function_in_an_array", "def fs = [sin, cos]\n"),
    ("function_in_a_sum", "data T = C (i32 -> i32)\n"),
    ("function_in_a_sum_by_use", "def f = Some sin\n"),
    ("general_entry", "entry main x = x\n"),
    ("entry_with_a_function", "entry main (f: i32 -> i32): i32 = f 1\n"),
    (
        "reference_in_a_new_node",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons h t\n",
    ),
    (
        "old_reference_in_a_sum_of_a_node",
        "data State 't = Idle | Waits 't\ndata Tree = Leaf (State Tree) | Fork (State Tree) Tree Tree\ndef f (t: Tree) =\n  foreach x in t with new, old do\n    case x of\n    | #Leaf s -> #Leaf s\n    | #Fork s l r -> #Fork Idle (new l) (new r)\n",
    ),
    (
        "datum_in_a_sum_of_a_node",
        "data State 't = Idle | Waits 't\ndata Tree = Leaf (State Tree) | Fork (State Tree) Tree Tree\ndef f (t: Tree) =\n  foreach x in t with new, old do\n    case x of\n    | #Leaf s -> #Leaf (Waits t)\n    | #Fork s l r -> #Fork Idle (new l) (new r)\n",
    ),
    (
        "reference_in_a_sum_of_a_datum",
        "data State 't = Idle | Waits 't\ndata Tree = Leaf (State Tree) | Fork (State Tree) Tree Tree\ndef f (t: Tree) =\n  foreach x in t with new, old do\n    case x of\n    | #Leaf s -> #Leaf Idle\n    | #Fork s l r -> (let whole = Leaf (Waits l) in #Fork Idle (new l) (new r))\n",
    ),
    (
        "number_in_a_sum_of_a_node",
        "data State 't = Idle | Waits 't\ndata Tree = Leaf (State Tree) | Fork (State Tree) Tree Tree\ndef f (t: Tree) =\n  foreach x in t with new, old do\n    case x of\n    | #Leaf s -> #Leaf (Waits 0)\n    | #Fork s l r -> #Fork s (new l) (new r)\n",
    ),
    (
        "sum_with_references_leaves_foreach",
        "data State 't = Idle | Waits 't\ndata Tree = Leaf (State Tree) | Fork (State Tree) Tree Tree\ndata Trees = One (State Tree) | More Trees\ndef f (t: Tree) =\n  foreach x in t with new, old do\n    case x of\n    | #Leaf s -> #One s\n    | #Fork s l r -> #More (new l)\n",
    ),
    (
        "reference_leaves_foreach",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons t (new t)\n",
    ),
    (
        "reference_of_another_foreach",
        "def f (l: List i32) (m: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t ->\n      let other = foreach y in m with new2, old2 do (case y of | #Nil -> #Nil | #Cons a b -> #Cons a (new2 t))\n      in #Cons h (new t)\n",
    ),
    (
        "foreach_over_something_else",
        "def f (m: Maybe i32) = foreach x in m with new, old do x\n",
    ),
    (
        "foreach_body_is_no_node",
        "def f (l: List i32) = foreach x in l with new, old do 0\n",
    ),
    (
        "datum_for_a_node",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> Nil\n    | #Cons h t -> #Cons h (new t)\n",
    ),
    (
        "reference_as_a_number",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons (h + t) (new t)\n",
    ),
    (
        "reference_in_an_array",
        "data L = E | C ([]i64) L\ndef f (l: L) =\n  foreach x in l with new, old do\n    case x of\n    | #E -> #E\n    | #C h t -> #C [t] (new t)\n",
    ),
    (
        "old_of_a_new_reference",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> (case old (new t) of | #Nil -> #Nil | #Cons a b -> #Cons a (new b))\n",
    ),
    (
        "new_of_a_new_reference",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons h (new (new t))\n",
    ),
    (
        "new_of_a_number",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons h (new 0)\n",
    ),
    (
        "old_of_a_datum",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> (case old l of | #Nil -> #Nil | #Cons a b -> #Cons a (new b))\n",
    ),
    (
        "old_reference_in_a_new_node",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons h t\n",
    ),
    (
        "node_as_a_datum",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons (i32 (list_length x)) (new t)\n",
    ),
    (
        "reference_as_a_datum",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons (i32 (list_length t)) (new t)\n",
    ),
    (
        "datum_as_a_reference",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons h l\n",
    ),
    (
        "case_of_a_node_as_a_datum",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | Nil -> #Nil\n    | Cons h t -> #Cons h (new t)\n",
    ),
    (
        "case_of_a_datum_as_a_node",
        "def f (l: List i32): i32 =\n  case l of\n  | #Nil -> 0\n  | #Cons h _ -> h\n",
    ),
    (
        "case_of_a_reference",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> (case t of | #Nil -> #Nil | #Cons a b -> #Cons a (new b))\n",
    ),
    (
        "nodes_of_two_types",
        "data Other = End | Cell i32 Other\ndef f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cell h (new t)\n",
    ),
    (
        "inner_reference_in_the_outer",
        "def f (l: List i32) (m: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t ->\n      let other = foreach y in m with new2, old2 do (case y of | #Nil -> #Nil | #Cons a b -> #Cons (case old b of | #Nil -> 0 | #Cons c _ -> c) (new2 b))\n      in #Cons h (new t)\n",
    ),
    (
        "reference_leaves_build",
        "def f (n: i64): List i64 = build n 0 (\\i ref -> ref i)\n",
    ),
    (
        "build_of_data",
        "def f (n: i64): List i64 = build n 0 (\\i ref -> Cons i Nil)\n",
    ),
    (
        "reference_of_build_as_a_number",
        "def f (n: i64): List i64 = build n 0 (\\i ref -> #Cons (ref i) (ref i))\n",
    ),
    (
        "node_with_too_few_fields",
        "def f (l: List i32) =\n  foreach x in l with new, old do\n    case x of\n    | #Nil -> #Nil\n    | #Cons h t -> #Cons (new t)\n",
    ),
    (
        "reference_in_a_result_beside",
        "def f (l: List i32) =\n  let (m, r) = (foreach x in l with new, old do (case x of | #Nil -> (#Nil, 0) | #Cons h t -> (#Cons h (new t), 1)))\n  in m\n",
    ),
    (
        "table_with_another_reference",
        "def f: List i32 = from_nodes 0 [#Cons 1 true, #Nil]\n",
    ),
    ("node_for_a_datum", "def f: List i32 = #Nil\n"),
    ("nodes_of_an_array", "def f (xs: []i32) = nodes xs\n"),
    ("node_constructor_of_a_plain_sum", "def f = #Some 1\n"),
    (
        "constructor_arity",
        "def f (m: Maybe i32) = case m of | Some -> 1 | None -> 0\n",
    ),
    (
        "type_variable_escapes",
        "def f x = let g (y: 'b): 'b = x in g 1\n",
    ),
    (
        "foreign_with_a_function",
        "foreign visit : (i32 -> i32) -> i32 -> i32\n",
    ),
    ("too_many_indices", "def f (xs: []f32) = xs[0, 1]\n"),
    ("index_of_a_number", "def f (x: f32) = x[0]\n"),
    ("undeclared_type_variable", "data Pair = Pair 'a 'a\n"),
    ("partial_build", "def make = build 3 0\n"),
    ("duplicate_field", "def p = {x = 1, x = 2}\n"),
    ("vector_width", "def f (xs: []f32) = asVector 5 xs\n"),
    // Sizes.
    (
        "named_sizes_differ",
        "def add [n] [m] (xs: [n]f32) (ys: [m]f32) = map (+) xs ys\n",
    ),
    ("literal_sizes_differ", "def f = map (+) [1, 2] [1, 2, 3]\n"),
    (
        "unknown_size_of_filter",
        "def f [n] (xs: [n]i32) = map (+) xs (filter even xs)\n",
    ),
    (
        "size_of_an_annotation",
        "def f [n] (xs: [n]i32): [n + 1]i32 = xs ++ [1, 2]\n",
    ),
    (
        "size_of_an_argument",
        "def dot [n] (xs: [n]f32) (ys: [n]f32) = sum (map (*) xs ys)\ndef f (n: i64) = dot (replicate n 1) (replicate (n + 1) 1)\n",
    ),
    ("rows_differ", "def xss = [[1, 2], [3]]\n"),
    (
        "size_from_a_value",
        "def f [n] (xs: [n]i64) = map (+) xs (iota xs[0])\n",
    ),
    (
        "recursive_size",
        "def rec f xs = if length xs < 2 then xs else f (filter even xs)\n",
    ),
    (
        "unsolved_size",
        "def pick [n] [m] (xs: [n * m]i32) (ys: [n + m]i32): i64 = n\ndef f (xs: [12]i32) (ys: [7]i32) = pick xs ys\n",
    ),
    ("size_is_no_i64", "def f (n: i32) (xs: [n]f32) = xs\n"),
    (
        "size_of_nothing",
        "def zeros [n] (x: f32): [n]f32 = replicate n x\n",
    ),
    ("jagged_where_regular", "def f (xss: [][?]i32) = transpose xss\n"),
    (
        "parameter_order",
        "def f (xs: []f32) (n: i64) = map (+) xs (replicate n 1)\n",
    ),
    (
        "size_leaves_its_function",
        "def f c x ns = map (\\n -> if c then x else iota n) ns\n",
    ),
    ("size_by_zero", "def f [n] (xs: [n]f32): [n / 0]f32 = xs\n"),
    // Patterns.
    (
        "non_exhaustive",
        "def f (m: Maybe i32) = case m of | Some x -> x\n",
    ),
    (
        "non_exhaustive_with_guards",
        "def f (x: i32) =\n  case x of\n  | 0 -> 0\n  | n if n > 0 -> 1\n  | n if n < 0 -> -1\n",
    ),
    ("refutable_let", "def f m = let Some x = m in x + 1\n"),
    ("refutable_parameter", "def f (Some x) = x + 1\n"),
    ("redundant", "def f (x: i32) = case x of | _ -> 0 | 1 -> 1\n"),
    // Annotations.
    ("level_on_a_function", "def f xs = sum@par xs\n"),
    ("level_on_a_view", "def f xs = split@par 4 xs\n"),
    ("chunk_on_a_map", "def f (xs: []i32) = map@par@64 (+ 1) xs\n"),
    ("effect_on_length", "def f xs = length@D xs\n"),
];

#[test]
fn mistakes_are_explained() {
    for (name, text) in MISTAKES {
        let outcome = check(text);
        let codes = outcome.codes();
        let output = outcome.rendered();
        expect_file![format!("diagnostics/{name}.txt")].assert_eq(&output);
        assert!(!codes.is_empty(), "{name} is not a mistake");
    }
}

/// With files to import: the root is the first.
const MISTAKES_OF_SEVERAL_FILES: &[(&str, &[(&str, &str)])] = &[
    (
        "import_cycle",
        &[
            ("a.alm", "import \"b\"\ndef f x = g x\n"),
            ("b.alm", "import \"c\"\ndef g x = h x\n"),
            ("c.alm", "import \"a\"\ndef h x = x\n"),
        ],
    ),
    (
        "ambiguous_name",
        &[
            ("a.alm", "import \"b\"\nimport \"c\"\ndef f x = g x\n"),
            ("b.alm", "def g x = x + 1\n"),
            ("c.alm", "def g x = x + 2\n"),
        ],
    ),
    (
        "unknown_name_of_a_module",
        &[
            ("a.alm", "import \"b\" as B\ndef f x = B.goo x\n"),
            ("b.alm", "def good x = x + 1\n"),
        ],
    ),
];

#[test]
fn mistakes_of_several_files_are_explained() {
    for (name, files) in MISTAKES_OF_SEVERAL_FILES {
        let (root, text) = files[0];
        let outcome = check_file(root, text, Files::Memory(files), |_, _| Vec::new());
        expect_file![format!("diagnostics/{name}.txt")].assert_eq(&outcome.rendered());
    }
}

#[test]
fn every_code_of_the_checker_has_a_rendering() {
    let mut seen: HashSet<&str> = MISTAKES
        .iter()
        .flat_map(|(_, text)| check(text).codes())
        .collect();
    // Of several files, above; of NOVA, in the command line's cases.
    seen.extend(["E0204", "E0205", "E0321"]);
    for info in codes::all().filter(|info| is_own(info.code.0)) {
        assert!(seen.contains(info.code.0), "{} has no rendering", info.code.0);
    }
}

/// The programs in the catalogue do what it says of them.
#[test]
fn programs_in_the_catalogue_are_right() {
    let mut wrongs = String::new();
    for info in codes::all().filter(|info| is_own(info.code.0)) {
        let code = info.code.0;
        let Some((_, examples)) = info.explanation.split_once("Erroneous:") else {
            continue;
        };
        let (wrong, right) = examples.split_once("Write instead:").unwrap_or((examples, ""));
        let outcome = check(&program(wrong));
        if !outcome.codes().contains(&code) {
            wrongs.push_str(&format!("{code} is not in: {wrong}{}", outcome.rendered()));
        }
        let outcome = check(&program(right));
        if !outcome.codes().is_empty() {
            wrongs.push_str(&format!("{code}: {right}{}", outcome.rendered()));
        }
    }
    assert!(wrongs.is_empty(), "{wrongs}");
}

fn is_own(code: &str) -> bool {
    let own_block = |block: &&str| code.starts_with(*block);
    ["E02", "E03", "E04", "E05", "W05"].iter().any(own_block) || code == "E0701"
}

/// The indented lines of an explanation.
fn program(text: &str) -> String {
    text.lines()
        .filter_map(|line| line.strip_prefix("    "))
        .map(|line| format!("{line}\n"))
        .collect()
}
