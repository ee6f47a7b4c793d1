//! Entry points called with values.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_base::{Name, SourceMap, Span};
use almach_emit::{Export, Options, Target, emit_c};
use almach_imp::interface::{Entry, EntryParam, Shape};
use almach_value::{DimType, Extent, ScalarType, Value, ValueType, parse, print};

const SCALE: &str = r#"
proc entry_scale(xs_size: i64, xs_0: read f32, xs_1: read i64, by: f32, size: out i64, result: owned f32, sum: out i64) {
  check by != 0.0f32 else E0811("{} is nothing" 0:4-6, by)
  alloc result[xs_size]
  par for i < xs_size { result[i] = xs_0[i] * by }
  var total: i64 = 0i64
  for j < xs_size { total = total + xs_1[j] }
  size = xs_size
  sum = total
}
"#;

fn ty(text: &str) -> ValueType {
    match text {
        "f32" => ValueType::Scalar(ScalarType::F32),
        "i64" => ValueType::Scalar(ScalarType::I64),
        "pairs" => ValueType::array(DimType::Unknown, ValueType::Tuple(vec![ty("f32"), ty("i64")])),
        _ => ValueType::Tuple(vec![ValueType::array(DimType::Unknown, ty("f32")), ty("i64")]),
    }
}

#[test]
fn values_go_in_and_come_out() {
    let checked = support::checked(SCALE);
    let (float, whole) = (Shape::Scalar(ScalarType::F32), Shape::Scalar(ScalarType::I64));
    let entry = Entry {
        name: Name::from("scale"),
        proc: Name::from("entry_scale"),
        params: vec![
            EntryParam {
                name: Name::from("xs"),
                ty: ty("pairs"),
                shape: Shape::Array(None, Box::new(Shape::Tuple(vec![float.clone(), whole.clone()]))),
            },
            EntryParam {
                name: Name::from("by"),
                ty: ty("f32"),
                shape: float.clone(),
            },
        ],
        results: vec![Shape::Array(None, Box::new(float)), whole],
        result_type: ty("result"),
        span: Span::NONE,
    };
    let export = Export::of_entry(&entry, checked.program());
    assert_eq!(export.sizes, [Name::from("xs_size")]);
    let options = Options {
        name: "scaling".into(),
        target: Target::OpenMp,
        exports: vec![export],
        foreign: Vec::new(),
        accounting: Default::default(),
        kernel_code: almach_emit::KernelCode::default(),
    };
    let source = emit_c(&checked, &SourceMap::new(), &options).unwrap();
    assert!(
        source
            .header
            .contains("int scaling_scale(\n    struct scaling_ctx *ctx,"),
        "{}",
        source.header
    );
    assert!(
        source
            .header
            .contains("/* scale (xs: [](f32, i64)) (by: f32): ([]f32, i64)\n"),
        "{}",
        source.header
    );
    for toolchain in support::toolchains() {
        let mut library = support::load(&toolchain, &source, Target::OpenMp);
        let value = |text: &str, of: &str| parse(text, &ty(of)).unwrap();
        let mut call = |xs: &str, by: &str| {
            let arguments: [Value; 2] = [value(xs, "pairs"), value(by, "f32")];
            library
                .call_entry(&entry, &arguments)
                .map(|result| print(&result, &ty("result"), Extent::Full))
        };
        assert_eq!(call("[(1, 2), (3, 4)]", "1.5").unwrap(), "([1.5, 4.5], 6)");
        assert_eq!(call("[]", "2").unwrap(), "([], 0)");
        assert_eq!(call("[(1, 2)]", "0").unwrap_err().title, "0.0 is nothing");
    }
}
