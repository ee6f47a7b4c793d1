//! What the interference-controlled types reject, each with its rule, and what they accept.

#![allow(clippy::unwrap_used)]

use almach_base::Name;
use almach_dpia::{CheckError, Kind, PhraseType, check_phrase, parse_phrase, parse_phrase_type};

/// The names every phrase here may use.
type Context = (Vec<(Name, Kind)>, Vec<(Name, PhraseType)>);

fn context() -> Context {
    let names = [
        ("a", "acc[f32]"),
        ("b", "acc[f32]"),
        ("e", "exp[f32]"),
        ("v", "var[f32]"),
        ("w", "var[f32]"),
        ("c", "var[bool]"),
        ("k", "var[i64]"),
        ("xs", "exp[n.f32]"),
        ("is", "exp[n.i64]"),
        ("out", "acc[n.f32]"),
        ("vs", "var[n.f32]"),
        ("ws", "var[n.f32]"),
        ("pairs", "acc[n.(f32, f32)]"),
        ("rows", "var[m.f32]"),
        ("bounds", "exp[n.(i64, i64)]"),
        ("cell", "var[some k'. k'.f32]"),
        ("p", "acc[f32] ->p comm"),
        ("f", "acc[f32] -> comm"),
        ("g", "comm -> comm"),
    ];
    (
        vec![("n".into(), Kind::Nat), ("m".into(), Kind::Nat)],
        names
            .iter()
            .map(|(name, ty)| ((*name).into(), parse_phrase_type(ty).unwrap()))
            .collect(),
    )
}

fn check(text: &str) -> Result<PhraseType, CheckError> {
    let phrase = parse_phrase(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (kinds, names) = context();
    check_phrase(&phrase, &kinds, &names).map(|(ty, _)| ty)
}

/// Claim, rule, a part of the message, phrase.
const REJECTED: &[(&str, &str, &str, &str)] = &[
    // The paper's own (end of section 3.3).
    (
        "parfor with a write to one place",
        "DPIA-06",
        "`b`",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. b := {f32} (idx[n]{f32} xs i))",
    ),
    (
        "parrows with a write beside its row",
        "DPIA-06",
        "`out`",
        r"parrows<par>[n][m]{f32} bounds rows.1 (\i: exp[idx[n]]. /\l: nat. \o: acc[l.f32]. idxAcc[n]{f32} out i := {f32} e)",
    ),
    (
        "parrows over a variable that its body reads",
        "DPIA-05",
        "`rows`",
        r"parrows<par>[n][m]{f32} bounds rows.1 (\i: exp[idx[n]]. /\l: nat. \o: acc[l.f32]. o := {l.f32} slice[m][l]{f32} 0i64 1i64 rows.2)",
    ),
    (
        "parfor that also writes outside",
        "DPIA-06",
        "`b`",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. o := {f32} e; b := {f32} e)",
    ),
    (
        "parfor over a variable that its body reads",
        "DPIA-05",
        "`vs`",
        r"parfor<par>[n]{f32} vs.1 (\i: exp[idx[n]]. \o: acc[f32]. o := {f32} (idx[n]{f32} vs.2 i))",
    ),
    (
        "parfor that writes another array at its index",
        "DPIA-06",
        "`ws`",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. idxAcc[n]{f32} ws.1 i := {f32} e)",
    ),
    (
        "parfor with a shared accumulator",
        "DPIA-06",
        "`v`",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. v.1 := {f32} (add<f32> v.2 (idx[n]{f32} xs i)))",
    ),
    (
        "parfor that calls an active procedure",
        "DPIA-06",
        "`f`",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. f o)",
    ),
    (
        "parfor in a parfor writing the outer array",
        "DPIA-06",
        "`out`",
        r"parfor<par>[m]{f32} (coerceAcc{m.f32}{n.f32} ws.1) (\i: exp[idx[m]]. \o: acc[f32]. parfor<par>[n]{f32} out (\j: exp[idx[n]]. \u: acc[f32]. u := {f32} e))",
    ),
    (
        "vector loops are parallel too",
        "DPIA-06",
        "`b`",
        r"parfor<vec>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. b := {f32} e)",
    ),
    (
        "grid loops are parallel too",
        "DPIA-06",
        "`b`",
        r"parfor<grid>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. b := {f32} e)",
    ),
    (
        "group and local loops as well",
        "DPIA-06",
        "`b`",
        r"parfor<group>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. new{f32} (\t: var[f32]. parfor<local.1>[n]{f32} ws.1 (\j: exp[idx[n]]. \u: acc[f32]. b := {f32} t.2)))",
    ),
    (
        "mapI with a function that writes outside",
        "DPIA-06",
        "`b`",
        r"mapI<par>[n]{f32}{f32} (\x: exp[f32]. \o: acc[f32]. b := {f32} x) xs out",
    ),
    (
        "mapI in place",
        "DPIA-05",
        "`vs`",
        r"mapI<par>[n]{f32}{f32} (\x: exp[f32]. \o: acc[f32]. o := {f32} x) vs.2 vs.1",
    ),
    (
        "mapI whose function reads what it writes",
        "DPIA-05",
        "`vs`",
        r"mapI<par>[n]{f32}{f32} (\x: exp[f32]. \o: acc[f32]. new{n.f32} (\t: var[n.f32]. mapI<seq>[n]{f32}{f32} (\y: exp[f32]. \u: acc[f32]. u := {f32} y) vs.2 t.1)) xs vs.1",
    ),
    (
        "scanI with a function that writes outside",
        "DPIA-06",
        "`b`",
        r"scanI<par,inclusive>[n]{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. b := {f32} x) e xs out",
    ),
    (
        "scanI in place",
        "DPIA-05",
        "`vs`",
        r"scanI<par,inclusive>[n]{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} x) e vs.2 vs.1",
    ),
    (
        "scanI with a map of its results that writes outside",
        "DPIA-06",
        "`b`",
        r"scanI<par,inclusive,mapped>[n]{f32}{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} x) (\i: exp[idx[n]]. \z: exp[f32]. \p: acc[f32]. b := {f32} z) e xs out",
    ),
    (
        "filterI with a predicate that counts",
        "DPIA-06",
        "`k`",
        r"filterI<par>[n]{f32} (\x: exp[f32]. \o: acc[bool]. k.1 := {i64} (add<i64> k.2 #1i64)) xs cell.1",
    ),
    (
        "filterI of what the cell itself holds",
        "DPIA-05",
        "`cell`",
        r"open{some k'. k'.f32} cell.2 (/\q: nat. \ys: exp[q.f32]. filterI<par>[q]{f32} (\x: exp[f32]. \o: acc[bool]. o := {bool} #true) ys cell.1)",
    ),
    (
        "histogram whose values are the histogram",
        "DPIA-05",
        "`vs`",
        r"reduceByIndexI<par,i64>[n][n]{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} (add<f32> x y)) is vs.2 vs",
    ),
    (
        "histogram with an operator that writes outside",
        "DPIA-06",
        "`b`",
        r"reduceByIndexI<par,i64>[n][n]{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. b := {f32} x) is xs vs",
    ),
    (
        "permutation in place",
        "DPIA-05",
        "`vs`",
        r#"permuteI<par,i64,E9999,"",0:0-0>[n]{f32} is vs.2 vs.1"#,
    ),
    (
        "a function applied to what it writes",
        "DPIA-05",
        "`a`",
        r"(\x: acc[f32]. x := {f32} e; a := {f32} e) a",
    ),
    (
        "two acceptors of one variable",
        "DPIA-05",
        "`v`",
        r"(\x: acc[f32]. \y: acc[f32]. x := {f32} e; y := {f32} e) v.1 v.1",
    ),
    (
        "reader and writer of one variable as two arguments",
        "DPIA-05",
        "`v`",
        r"(\x: acc[f32]. \y: exp[f32]. x := {f32} y) v.1 v.2",
    ),
    (
        "the same the other way round",
        "DPIA-05",
        "`v`",
        r"(\y: exp[f32]. \x: acc[f32]. x := {f32} y) v.2 v.1",
    ),
    (
        "a named expression while its variable is written",
        "DPIA-05",
        "`v`",
        r"(\y: exp[f32]. v.1 := {f32} y) (add<f32> v.2 e)",
    ),
    (
        "components of one acceptor as two arguments",
        "DPIA-05",
        "`pairs`",
        r"(\x: acc[n.f32]. \y: acc[n.f32]. mapI<seq>[n]{f32}{f32} (\z: exp[f32]. \o: acc[f32]. o := {f32} z) xs x) (zipAcc<0,2>[n]{f32}{f32} pairs) (zipAcc<1,2>[n]{f32}{f32} pairs)",
    ),
    (
        "an active function and what it closes over",
        "DPIA-05",
        "`a`",
        r"(\h: acc[f32] -> comm. h a) (\x: acc[f32]. x := {f32} e; a := {f32} e); a := {f32} e; (\h: comm -> comm. \x: acc[f32]. h (x := {f32} e)) (\z: comm. z; a := {f32} e) a",
    ),
    (
        "fill whose contents are read from the same cell",
        "DPIA-05",
        "`cell`",
        r"fill{some k'. k'.f32} cell.1 #3i64 (/\q: nat. \o: acc[q.f32]. open{some k'. k'.f32} cell.2 (/\r: nat. \ys: exp[r.f32]. skip))",
    ),
    (
        "open whose body fills the same cell",
        "DPIA-05",
        "`cell`",
        r"open{some k'. k'.f32} cell.2 (/\q: nat. \ys: exp[q.f32]. fill{some k'. k'.f32} cell.1 #3i64 (/\r: nat. \o: acc[r.f32]. skip))",
    ),
    (
        "promotion of a function with an active name",
        "DPIA-06",
        "`a`",
        r"(\h: acc[f32] ->p comm. skip) (\x: acc[f32]. a := {f32} e)",
    ),
    (
        "promotion of an active name",
        "DPIA-03",
        "->p",
        r"(\h: acc[f32] ->p comm. skip) f",
    ),
    (
        "reduceI that reads what its continuation's place holds",
        "DPIA-05",
        "`vs`",
        r"reduceI[n]{f32}{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} (add<f32> x y)) e vs.2 (\r: exp[f32]. idxAcc[n]{f32} vs.1 (toIndex[n] #0i64) := {f32} r)",
    ),
    (
        "reduceI whose start is its result",
        "DPIA-05",
        "`v`",
        r"reduceI[n]{f32}{f32} (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} y) v.2 xs (\r: exp[f32]. v.1 := {f32} r)",
    ),
    // Ordinary typing.
    ("an unbound name", "DPIA-01", "`zs`", r"a := {f32} zs"),
    ("a primitive without its size", "DPIA-02", "`n`", r"idx{f32} xs"),
    (
        "a primitive with a size too many",
        "DPIA-02",
        "too many",
        r"iota[n][m]",
    ),
    (
        "an operator on what it does not take",
        "DPIA-02",
        "sqrt",
        r"sqrt<bool> #true",
    ),
    (
        "arrays of different sizes zipped",
        "DPIA-03",
        "m.f32",
        r"zip<2>[m]{f32}{f32} xs",
    ),
    ("assignment at the wrong type", "DPIA-03", "i32", r"a := {i32} e"),
    (
        "an index of another array",
        "DPIA-03",
        "idx[m]",
        r"\i: exp[idx[m]]. idx[n]{f32} xs i",
    ),
    ("an expression applied", "DPIA-04", "exp[f32]", r"e e"),
    ("a size applied to a command", "DPIA-04", "nat", r"e[n]"),
    ("a component of an expression", "DPIA-07", "exp[f32]", r"e.1"),
    (
        "a name bound twice",
        "DPIA-08",
        "`x`",
        r"(\x: exp[f32]. skip) e; (\x: exp[f32]. skip) e",
    ),
    (
        "coerce to another element type",
        "DPIA-09",
        "i32",
        r"coerce{n.f32}{n.i32} xs",
    ),
    (
        "coerce to another number of dimensions",
        "DPIA-09",
        "n.n.f32",
        r"coerce{n.f32}{n.n.f32} xs",
    ),
    (
        "a place in nothing",
        "DPIA-13",
        "`q`",
        r"new<in q 0>[0]{n.f32} (\t: var[n.f32]. skip)",
    ),
    (
        "a row of nothing",
        "DPIA-13",
        "`q`",
        r"new<as q>{n.f32} (\t: var[n.f32]. skip)",
    ),
    (
        "two strides for one dimension",
        "DPIA-13",
        "2 strides",
        r"new<in vs 0 by 2>[0][1][1]{n.f32} (\t: var[n.f32]. skip)",
    ),
    (
        "more places than buffers",
        "DPIA-13",
        "2 places",
        r"new<in vs 0,in ws 0>[0][0]{n.f32} (\t: var[n.f32]. skip)",
    ),
    ("an unbound size", "DPIA-10", "`q`", r"iota[q]"),
    (
        "a vector of five lanes",
        "DPIA-10",
        "5",
        r"new{f32<5>} (\x: var[f32<5>]. skip)",
    ),
];

#[test]
fn interfering_and_ill_typed_phrases_are_rejected() {
    for (claim, rule, part, text) in REJECTED {
        match check(text) {
            Ok(ty) => panic!("{claim}: accepted as {ty}"),
            Err(error) => {
                assert_eq!(error.rule, *rule, "{claim}: {error}");
                assert!(
                    error.message.contains(part),
                    "{claim}: `{part}` is not in: {error}"
                );
            }
        }
    }
}

/// Claim, type, phrase.
const ACCEPTED: &[(&str, &str, &str)] = &[
    (
        "parfor that writes its own place",
        "comm",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. o := {f32} (idx[n]{f32} xs i))",
    ),
    (
        "parrows that writes its own row",
        "comm",
        r"parrows<par>[n][m]{f32} bounds rows.1 (\i: exp[idx[n]]. /\l: nat. \o: acc[l.f32]. o := {l.f32} replicate[l]{f32} (idx[n]{f32} xs i))",
    ),
    (
        "parfor with a private variable",
        "comm",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. new{f32} (\t: var[f32]. t.1 := {f32} (idx[n]{f32} xs i); o := {f32} t.2))",
    ),
    (
        "parfor that calls a passive procedure",
        "comm",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. p o)",
    ),
    (
        "parfor that reads a variable nobody writes",
        "comm",
        r"parfor<par>[n]{f32} out (\i: exp[idx[n]]. \o: acc[f32]. o := {f32} (add<f32> v.2 v.2))",
    ),
    (
        "a sequential loop may accumulate",
        "comm",
        r"for[n] (\i: exp[idx[n]]. v.1 := {f32} (add<f32> v.2 (idx[n]{f32} xs i)))",
    ),
    (
        "assignment may read what it writes",
        "comm",
        r"v.1 := {f32} (add<f32> v.2 e)",
    ),
    (
        "commands in sequence share",
        "comm",
        r"v.1 := {f32} e; w.1 := {f32} v.2; v.1 := {f32} w.2",
    ),
    (
        "one expression twice",
        "comm",
        r"(\x: exp[f32]. \y: exp[f32]. a := {f32} (add<f32> x y)) e e",
    ),
    ("a passive function twice", "comm", r"p a; p b"),
    (
        "a while loop reads what its body writes",
        "comm",
        r"while c.2 do (c.1 := {bool} #false)",
    ),
    (
        "mapI between two variables",
        "comm",
        r"mapI<par>[n]{f32}{f32} (\x: exp[f32]. \o: acc[f32]. o := {f32} x) vs.2 ws.1",
    ),
    (
        "zip of an array with itself",
        "exp[n.(f32, f32)]",
        r"zip<2>[n]{f32}{f32} xs xs",
    ),
    (
        "sizes equal as polynomials",
        "exp[n.m.f32]",
        r"split[n][m]{f32} (coerce{n.f32}{(m*n).f32} xs)",
    ),
    (
        "the functional dot product",
        "exp[f32]",
        r"reduce[n]{f32}{f32} (\x: exp[f32]. \y: exp[f32]. add<f32> x y) #0.0f32 (map<par>[n]{(f32, f32)}{f32} (\z: exp[(f32, f32)]. mul<f32> (get<0,2>{f32}{f32} z) (get<1,2>{f32}{f32} z)) (zip<2>[n]{f32}{f32} xs xs))",
    ),
    (
        "a cell filled and opened",
        "comm",
        r"fill{some k'. k'.f32} cell.1 #3i64 (/\q: nat. \o: acc[q.f32]. skip); open{some k'. k'.f32} cell.2 (/\r: nat. \ys: exp[r.f32]. skip)",
    ),
    (
        "a size from a number",
        "comm",
        r"letNat k.2 (/\q: nat. new{q.f32} (\t: var[q.f32]. skip))",
    ),
];

#[test]
fn race_free_phrases_are_accepted() {
    for (claim, ty, text) in ACCEPTED {
        match check(text) {
            Ok(found) => assert_eq!(found.to_string(), *ty, "{claim}"),
            Err(error) => panic!("{claim}: {error}"),
        }
    }
}

#[test]
fn there_are_at_least_thirty_interfering_phrases() {
    let interfering = REJECTED
        .iter()
        .filter(|(_, rule, ..)| matches!(*rule, "DPIA-05" | "DPIA-06"));
    assert!(interfering.count() >= 30);
}
