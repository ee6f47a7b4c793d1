//! Sums, recursive data, node tables.

use crate::{fails, run};

const LIST: &str = "data rec List = Nil | Cons i32 List\n";
const BORDER: &str = "sum \"List\" (Nil | Cons i32 rec \"List\")";

#[test]
fn sums() {
    let text = "
data Shape = Dots ([?](f32, f32)) | Circle f32 | Empty
fun make (k: i32): Shape =
  let a: bool = k == 0i32
  let s: Shape = if a: Shape then
      let s: Shape = new Shape Empty ()
      in s
    else
      let c: f32 = f32 k
      let s: Shape = new Shape Circle (c)
      in s
  in s
fun f {n} (ps: [n](f32, f32), k: i32): (Shape, f32, i64) =
  let d: Shape = new Shape Dots (ps)
  let m: Shape = make (k)
  let r: f32 = case m: f32 of
    | Circle (x: f32) -> x
    | _ -> -1.0f32
    end
  let l: i64 = case d: i64 of
    | Dots {m} (qs: [m](f32, f32)) -> m
    | Circle (x: f32) -> 0i64
    | Empty () -> 0i64
    end
  let t: (Shape, f32, i64) = (d, r, l)
  in t
entry main = f (ps: [](f32, f32), k: i32): (sum \"Shape\" (Dots []( f32, f32) | Circle f32 | Empty), f32, i64)";
    assert_eq!(run(text, &["[(1, 2)]", "3"]), "(Dots [(1.0, 2.0)], 3.0, 1)");
    assert_eq!(run(text, &["[]", "0"]), "(Dots [], -1.0, 0)");
}

#[test]
fn lists_by_constructors() {
    let text = format!(
        "{LIST}
fun append (l: List, m: List): List =
  let r: List = case l: List of
    | Nil () -> m
    | Cons (h: i32, t: List) ->
      let rest: List = append (t, m)
      let c: List = new List Cons (h, rest)
      in c
    end
  in r
entry main = append (l: {BORDER}, m: {BORDER}): {BORDER}"
    );
    assert_eq!(
        run(&text, &["Cons 1 (Cons 2 Nil)", "Cons 3 Nil"]),
        "Cons 1 (Cons 2 (Cons 3 Nil))"
    );
    assert_eq!(
        run(&text, &["Nil", "from_nodes 0 [#Cons 1 0]"]),
        "from_nodes 0 [#Cons 1 0]"
    );
}

#[test]
fn tables() {
    let text = format!(
        "{LIST}
fun f (l: List, root: i64): (i64, List, List) =
  let {{c}} table: [c]#List = nodes l
  let at: i64 = root_of l
  let doubled: [c]#List = map (\\(n: #List): #List ->
    let r: #List = case n: #List of
      | Nil () -> n
      | Cons (h: i32, next: i64) ->
        let k: i32 = h + h
        let m: #List = node List Cons (k, next)
        in m
      end
    in r) table
  let other: List = from_nodes root doubled
  let same: List = from_nodes at table
  let t: (i64, List, List) = (at, same, other)
  in t
entry main = f (l: {BORDER}, root: i64): (i64, {BORDER}, {BORDER})"
    );
    assert_eq!(
        run(&text, &["Cons 1 (Cons 2 Nil)", "1"]),
        "(0, Cons 1 (Cons 2 Nil), Cons 4 Nil)"
    );
    // Data from a table own it: its order and what cannot be reached stay.
    assert_eq!(
        run(&text, &["from_nodes 2 [#Nil, #Cons 9 0, #Cons 1 0]", "1"]),
        "(2, Cons 1 Nil, Cons 18 Nil)"
    );
    assert_eq!(
        fails(&text, &["Nil", "1"]),
        "E0815: reference 1 is to no node of 1"
    );
    assert_eq!(
        fails(&text, &["Nil", "-1"]),
        "E0815: reference -1 is to no node of 1"
    );
}

#[test]
fn build_makes_nodes_by_position() {
    let text = format!(
        "{LIST}
fun f (n: i64, root: i64, wrap: bool): List =
  let d: List = build (\\(i: i64): #List ->
    let next: i64 = i + 1i64
    let last: bool = next == n
    let x: i32 = i32 i
    let it: #List = if last: #List then
        let r: #List = if wrap: #List then
            let b: #List = node List Cons (x, 0i64)
            in b
          else
            let a: #List = node List Nil ()
            in a
        in r
      else
        let b: #List = node List Cons (x, next)
        in b
    in it) n root
  in d
entry main = f (n: i64, root: i64, wrap: bool): {BORDER}"
    );
    assert_eq!(run(&text, &["3", "0", "false"]), "Cons 0 (Cons 1 Nil)");
    assert_eq!(run(&text, &["3", "1", "false"]), "Cons 1 Nil");
    assert_eq!(
        run(&text, &["2", "1", "true"]),
        "from_nodes 1 [#Cons 0 1, #Cons 1 0]"
    );
    assert_eq!(
        fails(&text, &["0", "0", "false"]),
        "E0815: reference 0 is to no node of 0"
    );
    assert_eq!(fails(&text, &["-2", "0", "false"]), "E0806: negative size -2");
    assert_eq!(
        fails(&text, &["2", "2", "false"]),
        "E0815: reference 2 is to no node of 2"
    );
}

#[test]
fn shared_and_nested_references() {
    let text = "
data rec Rose = Rose i32 ([?]Rose)
fun total (r: Rose): i32 =
  let s: i32 = case r: i32 of
    | Rose {k} (x: i32, rs: [k]Rose) ->
      let ts: [k]i32 = map (\\(c: Rose): i32 -> let t: i32 = total (c) in t) rs
      let s: i32 = reduce (\\(a: i32, b: i32): i32 -> let c: i32 = a + b in c) x ts
      in s
    end
  in s
fun f (r: Rose): (i32, i32, i64) =
  let two: [2]Rose = array Rose [r, r]
  let top: Rose = new Rose Rose (100i32, two)
  let a: i32 = total (top)
  let {c} table: [c]#Rose = nodes top
  let again: Rose = from_nodes 0i64 table
  let b: i32 = total (again)
  let t: (i32, i32, i64) = (a, b, c)
  in t
entry main = f (r: sum \"Rose\" (Rose i32 []rec \"Rose\")): (i32, i32, i64)";
    assert_eq!(run(text, &["Rose 1 [Rose 2 [], Rose 3 []]"]), "(112, 112, 4)");
}

#[test]
fn arrays_of_sums() {
    let text = "
data Maybe = None | Some i32
fun f {n} (xs: [n]i32): ([n]Maybe, i32) =
  let ms: [n]Maybe = map (\\(x: i32): Maybe ->
    let b: bool = x > 0i32
    let m: Maybe = if b: Maybe then
        let s: Maybe = new Maybe Some (x)
        in s
      else
        let s: Maybe = new Maybe None ()
        in s
    in m) xs
  let vs: [n]i32 = map (\\(m: Maybe): i32 ->
    let v: i32 = case m: i32 of
      | None () -> 0i32
      | Some (x: i32) -> x
      end
    in v) ms
  let s: i32 = reduce (\\(a: i32, b: i32): i32 -> let c: i32 = a + b in c) 0i32 vs
  let t: ([n]Maybe, i32) = (ms, s)
  in t
entry main = f (xs: []i32): ([]sum \"Maybe\" (None | Some i32), i32)";
    assert_eq!(run(text, &["[1, -2, 3]"]), "([Some 1, None, Some 3], 4)");
}
