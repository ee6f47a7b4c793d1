//! Recursive data between one `foreach` and the next are arrays of nodes.
#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_rewrite::{Log, Pass, pipelines, run};
use expect_test::{Expect, expect};

const LIST: &str = "data rec L = Nil | Cons i64 L\n";

fn rewritten(text: &str, expected: Expect) {
    let text = format!("{LIST}{text}");
    let program = parse_program(&text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let program = check(program, "test").unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic.notes));
    let passes: Vec<&Pass> = ["tables", "copy-propagation", "known-results", "dead-code"]
        .iter()
        .map(|name| pipelines::pass(name).unwrap())
        .collect();
    let program = run(program, &passes, &mut Log::default())
        .unwrap_or_else(|failure| panic!("{:?}", failure.diagnostic));
    expected.assert_eq(&program_to_string(&program, Spans::Omit));
}

#[test]
fn nodes_of_what_is_made_of_nodes() {
    rewritten(
        "fun f {n} (xs: [n]#L): L =
           let d: L = from_nodes 0i64 xs
           let {k} ns: [k]#L = nodes d
           let r: i64 = root_of d
           let e: L = from_nodes r ns
           in e",
        expect![[r#"
            data rec L = Nil | Cons i64 L

            fun f {n} (xs: [n]#L): L =
              let e: L = from_nodes 0i64 xs
              in e
        "#]],
    );
}

#[test]
fn a_datum_that_is_used_stays() {
    rewritten(
        "fun f {n} (xs: [n]#L): <L, i64> =
           let d: L = from_nodes 0i64 xs
           let {k} ns: [k]#L = nodes d
           in <d, k>",
        expect![[r#"
            data rec L = Nil | Cons i64 L

            fun f {n} (xs: [n]#L): <L, i64> =
              let d: L = from_nodes 0i64 xs
              let {k} ns: [k]#L = nodes d
              in <d, k>
        "#]],
    );
}

#[test]
fn a_loop_carries_root_and_table() {
    rewritten(
        "fun f {n} (xs: [n]#L): L =
           let d: L = from_nodes 0i64 xs
           let <l: L, c: bool> = loop (p: L = d, b: bool = true) while
               let more: bool = case p: bool of
                 | Nil () -> false
                 | Cons (x: i64, rest: L) ->
                   let far: bool = case rest: bool of
                     | Nil () -> b
                     | _ -> true
                   end
                   in far
                 end
               in more
             do
               let {k} ns: [k]#L = nodes p
               let r: i64 = root_of p
               let ms: [k]#L = reverse ns
               let e: L = from_nodes r ms
               in <e, false>
           in l",
        expect![[r#"
            data rec L = Nil | Cons i64 L

            fun f {n} (xs: [n]#L): L =
              let <root_21: i64, table_22: [n]#L, c: bool> = loop (root: i64 = 0i64, table: [n]#L = xs, b: bool = true) while
                let node_23: #L = table[root]
                let more: bool = case node_23: bool of
                | Nil () -> false
                | Cons (x: i64, rest: i64) ->
                  let node_25: #L = table[rest]
                  let far: bool = case node_25: bool of
                  | Nil () -> b
                  | _ -> true
                  end
                  in far
                end
                in more
              do
                let ms: [n]#L = reverse table
                in <root, ms, false>
              let l: L = from_nodes root_21 table_22
              in l
        "#]],
    );
}

#[test]
fn what_may_be_shared_stays_a_datum() {
    rewritten(
        "fun f (d: L, i: i64): <L, L> =
           let l: L = loop (p: L = d) for j: i64 < i do
               let {k} ns: [k]#L = nodes p
               let r: i64 = root_of p
               let ms: [k]#L = reverse ns
               let e: L = from_nodes r ms
               in e
           in <d, l>",
        expect![[r#"
            data rec L = Nil | Cons i64 L

            fun f (d: L, i: i64): <L, L> =
              let l: L = loop (p: L = d) for j: i64 < i do
                let {k} ns: [k]#L = nodes p
                let r: i64 = root_of p
                let ms: [k]#L = reverse ns
                let e: L = from_nodes r ms
                in e
              in <d, l>
        "#]],
    );
}
