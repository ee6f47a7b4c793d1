//! Printing and parsing, normal forms, and what programs mean.

#![allow(clippy::unwrap_used)]

use almach_dpia::interp::{Block, RunError, Step, run};
use almach_dpia::normalise::normalise;
use almach_dpia::{Prim, check_program, parse_phrase, parse_program};
use almach_value::Scalar;

const DOT: &str = r"
proc dot : (n: nat) -> exp[n.f32] -> exp[n.f32] -> acc[f32] ->p comm =
  /\n: nat. \xs: exp[n.f32]. \ys: exp[n.f32]. \out: acc[f32].
    new{n.f32} (\tmp: var[n.f32].
      mapI<par>[n]{(f32, f32)}{f32} (\x: exp[(f32, f32)]. \o: acc[f32].
        o := {f32} (mul<f32> (get<0,2>{f32}{f32} x) (get<1,2>{f32}{f32} x))) (zip<2>[n]{f32}{f32} xs ys) tmp.1;
      reduceI[n]{f32}{f32} (\y: exp[f32]. \a: exp[f32]. \p: acc[f32]. p := {f32} (add<f32> a y)) #0.0f32 tmp.2
        (\r: exp[f32]. out := {f32} r))
";

fn floats(values: &[f32]) -> Block {
    let mut block = Block::default();
    for (at, value) in values.iter().enumerate() {
        block.set(&[Step::At(at as i64)], Scalar::F32(*value)).unwrap();
    }
    block
}

#[test]
fn dot_product_runs() {
    let checked = check_program(parse_program(DOT).unwrap()).unwrap();
    let inputs = [floats(&[1.0, 2.0, 3.0]), floats(&[4.0, 5.0, 6.0])];
    let results = run(&checked, "dot", &[3], &inputs).unwrap();
    assert_eq!(results[0].get(&[]), Some(Scalar::F32(32.0)));
}

/// From node 1 on: 1, 3, 0, and back to 3.
const ORDER: &str = r"
proc follow : (n: nat) -> exp[n.i32] -> acc[i64] ->p acc[i64] -> comm =
  /\n: nat. \links: exp[n.i32]. \size: acc[i64]. \back: acc[i64].
    new{some k'. k'.i64} (\order: var[some k'. k'.i64].
      orderIn<i32>[n] links #1i64 order.1 back;
      open{some k'. k'.i64} order.2 (/\k: nat. \rows: exp[k.i64]. size := {i64} (nat[k])))
";

#[test]
fn links_are_followed_until_they_come_back() {
    let Ok(program) = parse_program(ORDER) else {
        panic!("{:?}", parse_program(ORDER));
    };
    let checked = check_program(program).unwrap();
    let mut links = Block::default();
    for (at, link) in [3, 3, -1, 0].into_iter().enumerate() {
        links.set(&[Step::At(at as i64)], Scalar::I32(link)).unwrap();
    }
    let results = run(&checked, "follow", &[4], &[links]).unwrap();
    assert_eq!(results[0].get(&[]), Some(Scalar::I64(3)));
    assert_eq!(results[1].get(&[]), Some(Scalar::I64(1)));
}

#[test]
fn programs_read_back_as_they_print() {
    let program = parse_program(DOT).unwrap();
    let text = program.to_string();
    assert_eq!(parse_program(&text).unwrap(), program, "{text}");
}

#[test]
fn phrases_read_back_as_they_print() {
    for text in [
        r"(skip; skip); skip",
        r"orderIn<i32>[n] links r order.1 back.1",
        r"if c.2 then (a := {f32} e; skip) else skip",
        r"while (lt<i64> k.2 (nat[n*m + 1])) do (k.1 := {i64} (add<i64> k.2 #1i64))",
        r"(\x: exp[n.(f32, i32)]. skip) (zip<2>[n]{f32}{i32} xs ys)",
        r"(\h: (acc[f32] ->p comm) -> comm. skip) (\k: acc[f32] ->p comm. k a)",
        r"(/\q: nat. /\s: data. \x: exp[q.s]. skip)[n + 1]{f32<4>} xs",
        r#"foreign<"f","([f32], bool) -> [i32]">[n] xs b out"#,
        r#"trace<"a \"label\"","[(i32, {A; B f64})]">[n + 1] xs"#,
        r#"check<E9999,"index {} \"is\" bad",0:3-9,i64> (lt<i64> i j) i"#,
        r"open{some k l. (k.f32, l.(i32,))} c.2 (/\k: nat. /\l: nat. \x: exp[(k.f32, l.(i32,))]. skip)",
        r"new<local>{n.()} (\t: var[n.()]. skip)",
        r"new<in b 1,own>[n + 1]{(n.f32, f32)} (\t: var[(n.f32, f32)]. skip)",
        r"new<in b 0 by 2>[k*n][n][-1]{m.m.f32} (\t: var[m.m.f32]. skip)",
        r"new<as o,as p 1>{(n.f32, n.f32)} (\t: var[(n.f32, n.f32)]. skip)",
        r"f (skip & (skip & skip)).1",
        r"#-1.5e-10f64",
    ] {
        let phrase = parse_phrase(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = phrase.to_string();
        assert_eq!(parse_phrase(&printed).unwrap(), phrase, "{printed}");
    }
}

#[test]
fn every_row_of_the_table_has_a_type() {
    for prim in Prim::PLAIN {
        assert!(prim.scheme().is_some(), "{}", prim.name());
    }
}

#[test]
fn normal_forms_have_no_redexes() {
    let phrase =
        parse_phrase(r"(\x: exp[f32]. \o: acc[f32]. o := {f32} (add<f32> x x)) e (a & e).1").unwrap();
    assert_eq!(normalise(&phrase).to_string(), "a := {f32} add<f32> e e");
    let phrase = parse_phrase(r"(/\q: nat. \x: exp[q.f32]. idx[q]{f32} x)[n*2] xs").unwrap();
    assert_eq!(normalise(&phrase).to_string(), "idx[2*n]{f32} xs");
    let phrase = parse_phrase(r"\x: acc[f32]. f x").unwrap();
    assert_eq!(normalise(&phrase).to_string(), "f");
}

#[test]
fn a_copied_binder_gets_its_own_name() {
    let phrase = parse_phrase(r"(\c: comm. c; c) (new{f32} (\t: var[f32]. t.1 := {f32} e))").unwrap();
    let text = normalise(&phrase).to_string();
    let mut names: Vec<&str> = text
        .match_indices("\\t_r")
        .map(|(at, _)| &text[at..at + 6])
        .collect();
    names.dedup();
    assert_eq!(names.len(), 2, "{text}");
}

fn run_one(text: &str, sizes: &[i64], inputs: &[Block]) -> Result<Vec<(Vec<Step>, Scalar)>, RunError> {
    let checked = check_program(parse_program(text).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let results = run(&checked, "main", sizes, inputs)?;
    Ok(results[0].scalars())
}

#[test]
fn filter_fills_a_cell_with_what_is_kept() {
    let text = r"proc main : (n: nat) -> exp[n.f32] -> acc[some k. k.f32] ->p comm =
      /\n: nat. \xs: exp[n.f32]. \out: acc[some k. k.f32].
        filterI<par>[n]{f32} (\x: exp[f32]. \o: acc[bool]. o := {bool} (gt<f32> x #1.5f32)) xs out";
    let found = run_one(text, &[3], &[floats(&[2.0, 1.0, 3.0])]).unwrap();
    let at = |i: i64| vec![Step::Contents, Step::At(i)];
    assert_eq!(
        found,
        [
            (at(0), Scalar::F32(2.0)),
            (at(1), Scalar::F32(3.0)),
            (vec![Step::Size(0)], Scalar::I64(2)),
        ]
        .into_iter()
        .collect::<std::collections::BTreeMap<_, _>>()
        .into_iter()
        .collect::<Vec<_>>()
    );
}

#[test]
fn what_is_written_can_be_mapped() {
    let scan = r"proc main : (n: nat) -> exp[n.f32] -> acc[n.i64] ->p comm =
      /\n: nat. \xs: exp[n.f32]. \out: acc[n.i64].
        scanI<par,inclusive,2,mapped>[n]{f32}{i64}
          (\x: exp[f32]. \y: exp[f32]. \o: acc[f32]. o := {f32} (add<f32> x y))
          (\i: exp[idx[n]]. \z: exp[f32]. \p: acc[i64]. p := {i64} (add<i64> (ofIndex[n] i) (to_i64<f32> z)))
          #10.0f32 xs out";
    assert_eq!(
        parse_program(&parse_program(scan).unwrap().to_string()),
        parse_program(scan)
    );
    let found = run_one(scan, &[3], &[floats(&[2.0, 1.0, 3.0])]).unwrap();
    let expected = [12, 14, 18].map(Scalar::I64).into_iter().enumerate();
    let expected: Vec<_> = expected.map(|(i, x)| (vec![Step::At(i as i64)], x)).collect();
    assert_eq!(found, expected);
    let filter = r"proc main : (n: nat) -> exp[n.f32] -> acc[some k. k.bool] ->p comm =
      /\n: nat. \xs: exp[n.f32]. \out: acc[some k. k.bool].
        filterI<seq,mapped>[n]{f32}{bool} (\x: exp[f32]. \o: acc[bool]. o := {bool} (gt<f32> x #1.5f32))
          (\z: exp[f32]. \p: acc[bool]. p := {bool} (gt<f32> z #2.5f32)) xs out";
    let found = run_one(filter, &[3], &[floats(&[2.0, 1.0, 3.0])]).unwrap();
    let values: Vec<Scalar> = found.into_iter().map(|(_, scalar)| scalar).collect();
    assert!(
        values.contains(&Scalar::Bool(false)) && values.contains(&Scalar::I64(2)),
        "{values:?}"
    );
}

#[test]
fn of_several_failures_the_first_iteration_counts() {
    let text = r#"proc main : (n: nat) -> exp[n.f32] -> acc[n.f32] ->p comm =
      /\n: nat. \xs: exp[n.f32]. \out: acc[n.f32].
        mapI<par>[n]{f32}{f32} (\x: exp[f32]. \o: acc[f32].
          check<E9999,"found {}",0:0-0,f32> (lt<f32> x #2.0f32) x; o := {f32} x) xs out"#;
    match run_one(text, &[4], &[floats(&[1.0, 2.0, 1.0, 3.0])]) {
        Err(RunError::Failed { arguments, .. }) => assert_eq!(arguments, [Scalar::F32(2.0)]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn views_and_acceptors_undo_each_other() {
    let text = r"proc main : (n: nat) -> (m: nat) -> exp[(n*m).f32] -> acc[(n*m).f32] ->p comm =
      /\n: nat. /\m: nat. \xs: exp[(n*m).f32]. \out: acc[(n*m).f32].
        mapI<par>[m]{n.f32}{n.f32} (\row: exp[n.f32]. \o: acc[n.f32]. o := {n.f32} row)
          (transpose[n][m]{f32} (split[n][m]{f32} xs))
          (transposeAcc[m][n]{f32} (joinAcc[n][m]{f32} out))";
    let values: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let found = run_one(text, &[2, 3], &[floats(&values)]).unwrap();
    let expected: Vec<_> = (0..6)
        .map(|i| (vec![Step::At(i)], Scalar::F32(i as f32)))
        .collect();
    assert_eq!(found, expected);
}
