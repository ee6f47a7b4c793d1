//! Recursions over lists that run on arrays, and those that stay.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use expect_test::{Expect, expect};

const LIST: &str = "data rec L = Nil | Cons i64 L\n";

fn after(text: &str, log: &mut Log) -> String {
    let text = format!("{LIST}{text}");
    let program = parse_program(&text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = ["lists", "dead-code"]
        .iter()
        .map(|name| pipelines::pass(name).unwrap())
        .collect();
    let program = run(program, &passes, log).unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    program_to_string(&program, Spans::Omit)
}

/// A recursion `f` with one argument besides the list, called once.
fn noted(steps: &str, expected: Expect) {
    let text = format!(
        "fun f (l: L, k: i64): i64 =
           let r: i64 = case l: i64 of
           | Nil () -> k
           | Cons (x: i64, rest: L) -> {steps}
           end
           in r
         fun main (l2: L): i64 = let s2: i64 = f (l2, 1i64) in s2
         entry main = main (l: sum \"L\" (Nil | Cons i64 rec \"L\")): i64"
    );
    let mut log = Log::default();
    after(&text, &mut log);
    let notes: Vec<String> = log.notes.into_iter().map(|note| note.text).collect();
    expected.assert_eq(&notes.join("\n"));
}

#[test]
fn a_fold() {
    let text = "fun total (l: L): i64 =
           let r: i64 = case l: i64 of
           | Nil () -> 0i64
           | Cons (x: i64, rest: L) ->
             let s: i64 = total (rest)
             let t: i64 = x + s
             in t
           end
           in r
         fun main (l2: L): i64 = let s2: i64 = total (l2) in s2
         entry main = main (l: sum \"L\" (Nil | Cons i64 rec \"L\")): i64";
    expect![[r#"
        data rec L = Nil | Cons i64 L

        fun main (l2: L): i64 =
          let s2: i64 = total_at_once (l2)
          in s2

        fun total_at_once (l: L): i64 =
          let {count} cells: [count]#L = reach l
          let n: i64 = length cells
          let last: i64 = n - 1i64
          let end_18: #L = cells[last]
          let is_end: bool = case end_18: bool of
          | Cons (x: i64, rest: i64) -> false
          | _ -> true
          end
          let checked: () = assert is_end, "the recursion has no end, since the list goes round in a circle"
          let elements: [count]i64 = map (\(cell: #L): i64 ->
            let given: i64 = case cell: i64 of
            | Cons (x_24: i64, rest_25: i64) -> x_24
            | _ -> 0i64
            end
            in given) cells
          let folded: i64 = reduce (\(a: i64, b: i64): i64 ->
            let c: i64 = a + b
            in c) 0i64 elements
          in folded

        entry main = main (l: sum "L" (Nil | Cons i64 rec "L")): i64
    "#]]
    .assert_eq(&after(text, &mut Log::default()));
}

#[test]
fn suffixes() {
    let text = "fun suffixes (l: L): L =
           let r: L = case l: L of
           | Nil () -> let n: L = new L Nil () in n
           | Cons (x: i64, rest: L) ->
             let s: L = suffixes (rest)
             let t: L = case s: L of
             | Nil () -> let c: L = new L Cons (x, s) in c
             | Cons (y: i64, far: L) ->
               let z: i64 = max x y
               let d: L = new L Cons (z, s)
               in d
             end
             in t
           end
           in r
         fun main (l2: L): L = let s2: L = suffixes (l2) in s2
         entry main = main (l: sum \"L\" (Nil | Cons i64 rec \"L\")): sum \"L\" (Nil | Cons i64 rec \"L\")";
    expect![[r#"
        data rec L = Nil | Cons i64 L

        fun main (l2: L): L =
          let s2: L = suffixes_at_once (l2)
          in s2

        fun suffixes_at_once (l: L): L =
          let {count} cells: [count]#L = reach l
          let n: i64 = length cells
          let last: i64 = n - 1i64
          let end_30: #L = cells[last]
          let is_end: bool = case end_30: bool of
          | Cons (x: i64, rest: i64) -> false
          | _ -> true
          end
          let checked: () = assert is_end, "the recursion has no end, since the list goes round in a circle"
          let elements: [count]i64 = map (\(cell: #L): i64 ->
            let given: i64 = case cell: i64 of
            | Cons (x_36: i64, rest_37: i64) -> x_36
            | _ -> -9223372036854775808i64
            end
            in given) cells
          let backwards: [count]i64 = reverse elements
          let scanned: [count]i64 = scan (\(a: i64, b: i64): i64 ->
            let c: i64 = max a b
            in c) -9223372036854775808i64 backwards
          let suffixes: [count]i64 = reverse scanned
          let positions: [count]i64 = iota n
          let new_60: [count]#L = map (\(position: i64, cell_48: #L, suffix: i64): #L ->
            let given_59: #L = case cell_48: #L of
            | Nil () ->
              let t: #L = node L Nil ()
              in t
            | Cons (x_55: i64, rest_56: i64) ->
              let t_57: i64 = position + 1i64
              let t_58: #L = node L Cons (suffix, t_57)
              in t_58
            end
            in given_59) positions cells suffixes
          let made: L = constructed new_60
          in made

        entry main = main (l: sum "L" (Nil | Cons i64 rec "L")): sum "L" (Nil | Cons i64 rec "L")
    "#]]
    .assert_eq(&after(text, &mut Log::default()));
}

#[test]
fn what_is_understood() {
    noted(
        "let s: i64 = f (rest, k) let t: i64 = s * x let u: i64 = k * t in u",
        expect![
            "`f` is a fold of `L` by `*`: its cells are brought into an array, in their order, and combined in parallel"
        ],
    );
    noted(
        "let m: i64 = max k x let s: i64 = f (rest, m) in s",
        expect![
            "`f` is a fold of `L` by `max`: its cells are brought into an array, in their order, and combined in parallel"
        ],
    );
}

#[test]
fn why_others_stay() {
    noted(
        "let s: i64 = f (rest, k) let t: i64 = x - s in t",
        expect!["`f` stays a recursion: `-` is not known to be associative"],
    );
    noted(
        "let s: i64 = f (rest, k) let t: i64 = x + s let u: i64 = t * k in u",
        expect!["`f` stays a recursion: `+` and `*` are mixed"],
    );
    noted(
        "let s: i64 = f (rest, k) let t: i64 = s + s in t",
        expect!["`f` stays a recursion: it uses the result for the rest more than once"],
    );
    // It goes along a tree, and is left to `trees`.
    noted(
        "let s: i64 = f (rest, k) let t: i64 = f (rest, x) let u: i64 = s + t in u",
        expect![[r#""#]],
    );
    noted(
        "let c: bool = x == k let r2: i64 = if c: i64 then x else let s: i64 = f (rest, k) in s in r2",
        expect!["`f` stays a recursion: whether it goes on depends on the element"],
    );
    noted(
        "let m: i64 = k + x let s: i64 = f (rest, m) let t: i64 = s + x in t",
        expect!["`f` stays a recursion: it passes something on, and makes something of the result"],
    );
    noted("x", expect![[r#""#]]);
    noted(
        "let h: i64 = case rest: i64 of | Nil () -> 0i64 | Cons (y: i64, far: L) -> y end let s: i64 = f (rest, k) let t: i64 = s + h in t",
        expect!["`f` stays a recursion: it looks at more than one cell at a time"],
    );
    noted(
        "let s: i64 = f (rest, k) let d: i64 = 1i64 / s let t: i64 = s + x in t",
        expect!["`f` stays a recursion: what it does with the result for the rest is not understood"],
    );
}
