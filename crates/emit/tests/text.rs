//! The text of emitted files.

#![allow(clippy::unwrap_used)]

use almach_base::{Name, SourceMap};
use almach_emit::{CSource, Export, Options, Target, emit_c};
use almach_imp::{check, parse};
use expect_test::expect_file;

fn emit(text: &str, target: Target, exports: &[&str]) -> CSource {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let checked = check(program).unwrap_or_else(|error| panic!("{error}"));
    let mut sources = SourceMap::new();
    sources.add("dot.alm", "def dot xs ys =\n  reduce (+) 0 (map (*) xs ys)\n");
    let exports = exports
        .iter()
        .map(|name| Export::new(Name::from(*name)))
        .collect();
    let options = Options {
        name: "dot".into(),
        target,
        exports,
        foreign: Vec::new(),
        accounting: Default::default(),
        kernel_code: almach_emit::KernelCode::default(),
    };
    emit_c(&checked, &sources, &options).unwrap()
}

const DOT: &str = r#"
proc dot(n: i64, xs: read f32, ys: read f32, result: out f32) {
  check n > 0i64 else E0814("no {} elements" 0:18-25, n)
  buffer tmp: f32
  alloc tmp[n]
  par for i < n {
    check xs[i] > 0.0f32 else E0811("{} is not positive" 0:18-25, xs[i])
    tmp[i] = xs[i] * ys[i]
  }
  var acc: f32 = 0.0f32
  for j < n {
    acc = acc + tmp[j]
  }
  result = acc
  free tmp
}
"#;

#[test]
fn a_small_program_for_openmp() {
    let c = emit(DOT, Target::OpenMp, &["dot"]);
    expect_file!["golden/dot_openmp.h"].assert_eq(&c.header);
    expect_file!["golden/dot_openmp.c"].assert_eq(&c.source);
}

#[test]
fn a_small_program_for_c() {
    let c = emit(DOT, Target::C, &["dot"]);
    expect_file!["golden/dot.c"].assert_eq(&c.source);
}
