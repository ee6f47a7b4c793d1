//! Every program and fragment of the NOVA paper, as it stands there: each runs, or is refused and runs corrected (the list in
//! `docs/nova.md`). The same programs with more calls, on every back end, are in `tests/programs/nova`.
#![allow(clippy::unwrap_used)]

use almach::{NothingOutside, Outside, Program, Value};

/// Foreign functions of the fragments.
struct Foreign;

impl Outside for Foreign {
    fn foreign(&mut self, name: &str, args: &[Value]) -> Result<Value, String> {
        match (name, args) {
            ("f", [x]) => Ok((x.scalar::<i32>().ok_or("not an int")? + 1).into()),
            ("ff", [xs, y]) => {
                let y = y.scalar::<f32>().ok_or("not a float")?;
                let xs = xs.slice::<f32>().ok_or("not floats")?;
                Ok(xs.iter().map(|x| x * y).collect::<Vec<_>>().into())
            }
            _ => Err(format!("no {name}")),
        }
    }
}

fn run(program: &str, args: &[&str], outside: &mut dyn Outside) -> Result<String, String> {
    let program = Program::nova(program).map_err(|errors| errors.to_string())?;
    let entry = program.entry("main").unwrap();
    let args: Vec<Value> = entry
        .params
        .iter()
        .zip(args)
        .map(|(param, arg)| param.ty.read(arg).unwrap())
        .collect();
    let machine = program.interpreter().unwrap();
    let value = machine
        .call_with("main", &args, outside)
        .map_err(|errors| errors.to_string())?;
    entry.result.show(&value)
}

/// What stands in the paper, the program around it (with `@` for it), and a call.
const FRAGMENTS: &[(&str, &str, &str, &[&str], &str)] = &[
    (
        "3.1.1",
        "(foreign (f : (int → int)))",
        "((x : int)) @ (f (f x))",
        &["5"],
        "7",
    ),
    (
        "3.1.2",
        "(types (Maybe : (+ (Some : int) (None : unit))))",
        "((x : int)) @ (if (> x 0) then (Some x) else (None nil))",
        &["5"],
        "Some 5",
    ),
    (
        "3.1.2",
        "(types (IntList : (+ (Nil : unit) (Cons : (int, IntList)))))",
        "((l : IntList)) @ (case l (Nil x 0) (Cons c (c.0)))",
        &["Cons 3 Nil"],
        "3",
    ),
    (
        "3.1.4",
        "(types (List 'a : (+ (Nil : unit) (Cons : ('a, (List 'a))))))",
        "((l : (List int))) @ l",
        &["Cons 1 (Cons 2 Nil)"],
        "Cons 1 (Cons 2 Nil)",
    ),
    ("3.2", "(+ a b)", "((a : int) (b : int)) @", &["1", "2"], "3"),
    (
        "3.2",
        "(f x y)",
        "((x : int) (y : int)) (let (f -) in (@, ((f x) y)))",
        &["5", "3"],
        "(2, 2)",
    ),
    (
        "3.2",
        "(lambda (x : int) (y : int) : int (+ x y))",
        "((a : int)) (@ a a)",
        &["4"],
        "8",
    ),
    (
        "3.3",
        "(lambda (x : 'a) : 'a (from_double (+ (to_double x) 1.0L)))",
        "((i : int) (d : double)) (let (inc @) in ((inc i), (inc d)))",
        &["1", "0.5"],
        "(2, 1.5)",
    ),
    (
        "3.5",
        "(let
  (len (mu (len : int → (List 'a) → int)
    (lambda (l : int) (xs : (List 'a)) : int
      (case xs
        (Nil x l)
        (Cons xs (len (+ l 1) (xs.1)))))))
in (len 0 input))",
        "((input : (List bool))) (types (List 'a : (+ (Nil : unit) (Cons : ('a, (List 'a)))))) @",
        &["Cons true (Cons false Nil)"],
        "2",
    ),
    (
        "4.1",
        "(map (+ 1) X)",
        "((X : vector int)) @",
        &["[1, 2]"],
        "[2, 3]",
    ),
    (
        "5",
        "(let (inc (lambda (x:int) : int (+ x 1))) in (inc (+ a b)))",
        "((a : int) (b : int)) @",
        &["1", "2"],
        "4",
    ),
    (
        "5",
        "((if C then f else g) x)",
        "((C : bool) (x : int)) (let (f (+ 1)) (g (* 10)) in @)",
        &["false", "7"],
        "70",
    ),
    (
        "5",
        "((+ (- a b) (- a b)))",
        "((a : int) (b : int)) @",
        &["5", "2"],
        "6",
    ),
    (
        "5.1",
        "(map (map (+ 1)) X)",
        "((X : vector vector int)) @",
        &["[[1], []]"],
        "[[2], []]",
    ),
    (
        "5.1",
        "(map (reduce + 0) X)",
        "((X : vector vector int)) @",
        &["[[1, 2], []]"],
        "[3, 0]",
    ),
    (
        "6",
        "(map f (gather I X))",
        "((I : vector int) (X : vector int)) (let (f (* 2)) in @)",
        &["[1, 0]", "[5, 6]"],
        "[12, 10]",
    ),
    (
        "6.1",
        "(reduce f i X)",
        "((i : int) (X : vector int)) (let (f +) in @)",
        &["10", "[1, 2]"],
        "13",
    ),
    (
        "6.1",
        "(ff : vector float → float → vector float)",
        "((X : vector float)) (foreign @) (ff X 2.0)",
        &["[1, 1.5]"],
        "[2.0, 3.0]",
    ),
    (
        "Table 1",
        "map f X Z",
        "((X : vector int) (Z : vector int)) (let (f +) in (@))",
        &["[1]", "[2]"],
        "[3]",
    ),
    (
        "Table 1",
        "scan f i X",
        "((X : vector int)) (let (f +) (i 1) in (@))",
        &["[1, 2]"],
        "[2, 4]",
    ),
    (
        "Table 1",
        "permute I X",
        "((I : vector int) (X : vector int)) (@)",
        &["[1, 0]", "[5, 6]"],
        "[6, 5]",
    ),
    (
        "Table 1",
        "slice b s e X",
        "((X : vector int)) (let (b 1) (s 2) (e 4) in (@))",
        &["[0, 1, 2, 3, 4]"],
        "[1, 3]",
    ),
    (
        "Table 1",
        "filter f X",
        "((X : vector int)) (let (f (< 1)) in (@))",
        &["[1, 2]"],
        "[2]",
    ),
];

#[test]
fn fragments_run_as_they_stand() {
    for (section, fragment, around, args, expected) in FRAGMENTS {
        let program = around.replace('@', fragment);
        let value = run(&program, args, &mut Foreign);
        assert_eq!(value.as_deref(), Ok(*expected), "{section}: {fragment}");
    }
}

/// What stands in the paper, what is meant, the program around it, and a call.
type Slip = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const SLIPS: &[Slip] = &[
    (
        "3.1.3",
        "(fib (-n 1) (-n 2))",
        "(+ (fib (-n 1)) (fib (-n 2)))",
        "((n : int)) ((mu (fib : int → int) (lambda (n : int) (if (< n 2) then 1 else @))) n)",
        &["5"],
        "8",
    ),
    (
        "3.2",
        "(lambda (x : int) : (int → int) (lambda (y : int) : int (+ x y))",
        "(lambda (x : int) : (int → int) (lambda (y : int) : int (+ x y)))",
        "((a : int)) (@ a a)",
        &["4"],
        "8",
    ),
    (
        "3.5",
        "(Tree 'a : (+ (Leaf : 'a)) (Node : ('a, (Tree 'a), (Tree 'a)))))",
        "(Tree 'a : (+ (Leaf : 'a) (Node : ('a, (Tree 'a), (Tree 'a)))))",
        "((t : (Tree int))) (types @) (case t (Leaf l (l)) (Node n (n.0)))",
        &["Leaf 4"],
        "4",
    ),
    (
        "3.5",
        "(t.0)",
        "(n.0)",
        "((t : (Tree int))) (types (Tree 'a : (+ (Leaf : 'a) (Node : ('a, (Tree 'a), (Tree 'a))))))
         (case t (Leaf l (l)) (Node n @))",
        &["Node 7 (Leaf 1) (Leaf 2)"],
        "7",
    ),
    (
        "5",
        "(let (x1 (+ a b) in (+ x1 1)))",
        "(let (x1 (+ a b)) in (+ x1 1))",
        "((a : int) (b : int)) @",
        &["1", "2"],
        "4",
    ),
    (
        "5",
        "(let (f (lambda (x:int) (y:int) (z:int)): int (+ (- x z) (- y z)))) in (map f X X Z))",
        "(let (f (lambda (x:int) (y:int) (z:int) : int (+ (- x z) (- y z)))) in (map f X X Z))",
        "((X : vector int) (Z : vector int)) @",
        &["[5]", "[1]"],
        "[8]",
    ),
    (
        "5",
        "(let (Y (map f X))) in (map g Y))",
        "(let (Y (map f X)) in (map g Y))",
        "((X : vector int)) (let (f (+ 1)) (g (* 2)) in @)",
        &["[1]"],
        "[4]",
    ),
    (
        "5",
        "(let (t x)) in (+ (- x y) (- t y)))",
        "(let (t x) in (+ (- x y) (- t y)))",
        "((x : int) (y : int)) @",
        &["5", "3"],
        "4",
    ),
    (
        "5",
        "(let (t (+ 2 3))) in (+ x t))",
        "(let (t (+ 2 3)) in (+ x t))",
        "((x : int)) @",
        &["1"],
        "6",
    ),
    (
        "5.1",
        "(unflatten (map (+ 1) (flatten X)))",
        "(unflatten (segments X) (map (+ 1) (flatten X)))",
        "((X : vector vector int)) @",
        &["[[1], [2, 3]]"],
        "[[2], [3, 4]]",
    ),
];

#[test]
fn slips_are_refused_and_run_corrected() {
    for (section, slip, meant, around, args, expected) in SLIPS {
        let refused = run(&around.replace('@', slip), args, &mut NothingOutside);
        assert!(refused.is_err(), "{section}: {slip} gives {refused:?}");
        let value = run(&around.replace('@', meant), args, &mut NothingOutside);
        assert_eq!(value.as_deref(), Ok(*expected), "{section}: {meant}");
    }
}
