//! Value text: what is printed, that it reads back, and what is refused.

#![allow(clippy::unwrap_used)]

use crate::{
    Constructor, DimType, Extent, NodeTable, ScalarType, SumType, SumValue, Value, ValueType, parse, print,
    same,
};
use std::sync::Arc;

const I32: ValueType = ValueType::Scalar(ScalarType::I32);
const F32: ValueType = ValueType::Scalar(ScalarType::F32);
const F64: ValueType = ValueType::Scalar(ScalarType::F64);

fn array(ty: ValueType) -> ValueType {
    ValueType::array(DimType::Unknown, ty)
}

fn jagged(ty: ValueType) -> ValueType {
    array(ValueType::array(DimType::Jagged, ty))
}

fn sum(name: &str, constructors: &[(&str, &[ValueType])]) -> ValueType {
    ValueType::Sum(Arc::new(SumType {
        name: name.into(),
        constructors: constructors
            .iter()
            .map(|(name, fields)| Constructor {
                name: (*name).into(),
                fields: fields.to_vec(),
            })
            .collect(),
        part: false,
    }))
}

fn maybe(ty: ValueType) -> ValueType {
    sum("Maybe", &[("None", &[]), ("Some", &[ty])])
}

fn list() -> ValueType {
    sum(
        "List i32",
        &[
            ("Nil", &[]),
            ("Cons", &[I32, ValueType::Recursive("List i32".into())]),
        ],
    )
}

fn point() -> ValueType {
    ValueType::Record(vec![("x".into(), F32), ("y".into(), I32)])
}

/// Reads, prints, and reads what was printed.
#[track_caller]
fn round_trip(text: &str, ty: &ValueType, printed: &str) {
    let value = parse(text, ty).unwrap();
    let found = print(&value, ty, Extent::Full);
    assert_eq!(found, printed);
    assert!(same(&parse(&found, ty).unwrap(), &value), "{found} reads back");
}

#[track_caller]
fn refused(text: &str, ty: &ValueType, at: usize, message: &str) {
    let error = parse(text, ty).unwrap_err();
    assert_eq!((error.at, error.to_string().as_str()), (at, message));
}

#[test]
fn scalars() {
    round_trip("-12", &I32, "-12");
    round_trip("0xff", &I32, "255");
    round_trip("0b101", &I32, "5");
    round_trip("1_000i32", &I32, "1000");
    round_trip("(((7)))", &I32, "7");
    round_trip("32", &F32, "32.0");
    round_trip("1e-7", &F64, "1e-7");
    round_trip("1e22f64", &F64, "1e22");
    round_trip("0.1", &F32, "0.1");
    round_trip("3.4028235e38", &F32, "3.4028235e38");
    round_trip("nan", &F64, "nan");
    round_trip("-nan", &F32, "nan");
    round_trip("-inf", &F64, "-inf");
    round_trip("- 0.0", &F64, "-0.0");
    round_trip("5e-324", &F64, "5e-324");
    round_trip("true", &ValueType::Scalar(ScalarType::Bool), "true");
    round_trip(
        "18446744073709551615",
        &ValueType::Scalar(ScalarType::U64),
        "18446744073709551615",
    );
    round_trip("-128", &ValueType::Scalar(ScalarType::I8), "-128");
}

#[test]
fn every_float_reads_back_to_its_bits() {
    let mut state = 1u64;
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        for (value, ty) in [
            (Value::from(f32::from_bits((state >> 32) as u32)), F32),
            (Value::from(f64::from_bits(state)), F64),
        ] {
            let text = print(&value, &ty, Extent::Full);
            assert!(same(&parse(&text, &ty).unwrap(), &value), "{text}");
            assert!(
                text.contains(['.', 'e']) || text.contains("inf") || text == "nan",
                "{text}"
            );
        }
    }
}

#[test]
fn structures() {
    round_trip("[1, 2,3]", &array(I32), "[1, 2, 3]");
    round_trip("[]", &array(F32), "[]");
    round_trip("[-1, (-2)]", &array(I32), "[-1, -2]");
    round_trip("[[1,2],[3,4]]", &array(array(F64)), "[[1.0, 2.0], [3.0, 4.0]]");
    round_trip("[[], [1], []]", &jagged(I32), "[[], [1], []]");
    round_trip("()", &ValueType::unit(), "()");
    let pair = ValueType::Tuple(vec![I32, ValueType::Scalar(ScalarType::Bool)]);
    round_trip("(1, true)", &pair, "(1, true)");
    round_trip(
        "[(1, true), (-2, false)]",
        &array(pair),
        "[(1, true), (-2, false)]",
    );
    round_trip("{y = -3, x = 1}", &point(), "{x = 1.0, y = -3}");
    round_trip("[{x = 1, y = 2}]", &array(point()), "[{x = 1.0, y = 2}]");
    round_trip(
        "\"hi\\n\"",
        &array(ValueType::Scalar(ScalarType::U8)),
        "[104, 105, 10]",
    );
    round_trip(
        "vec [1, 2]",
        &ValueType::Vector(2, ScalarType::F32),
        "vec [1.0, 2.0]",
    );
    round_trip(
        "[vec [1, 2], vec [3, 4]]",
        &array(ValueType::Vector(2, ScalarType::I32)),
        "[vec [1, 2], vec [3, 4]]",
    );
}

#[test]
fn sums_take_parentheses_where_needed() {
    round_trip("Some 3", &maybe(I32), "Some 3");
    round_trip("Some (-3)", &maybe(I32), "Some (-3)");
    round_trip("Some -3.5", &maybe(F64), "Some (-3.5)");
    round_trip("None", &maybe(I32), "None");
    round_trip("(Some ((Some 1)))", &maybe(maybe(I32)), "Some (Some 1)");
    round_trip("Some None", &maybe(maybe(I32)), "Some None");
    round_trip("[Some 1, None]", &array(maybe(I32)), "[Some 1, None]");
    round_trip("Some [1]", &maybe(array(I32)), "Some [1]");
    round_trip("Some {x = 0, y = 0}", &maybe(point()), "Some {x = 0.0, y = 0}");
    round_trip(
        "Some (vec [1, 2])",
        &maybe(ValueType::Vector(2, ScalarType::I32)),
        "Some (vec [1, 2])",
    );
    round_trip(
        "Some (1, 2)",
        &maybe(ValueType::Tuple(vec![I32, I32])),
        "Some (1, 2)",
    );
}

#[test]
fn recursive_data() {
    round_trip("Cons 1 (Cons (-2) Nil)", &list(), "Cons 1 (Cons (-2) Nil)");
    round_trip("from_nodes 1 [#Nil, #Cons 5 0]", &list(), "Cons 5 Nil");
    round_trip(
        "from_nodes 0 [#Cons 1 1, #Cons 2 0]",
        &list(),
        "from_nodes 0 [#Cons 1 1, #Cons 2 0]",
    );
    round_trip(
        "Some (from_nodes 0 [#Cons 1 0])",
        &maybe(list()),
        "Some (from_nodes 0 [#Cons 1 0])",
    );
    let rose = sum(
        "Rose",
        &[("Rose", &[I32, array(ValueType::Recursive("Rose".into()))])],
    );
    round_trip(
        "Rose 1 [Rose 2 [], Rose 3 [Rose 4 []]]",
        &rose,
        "Rose 1 [Rose 2 [], Rose 3 [Rose 4 []]]",
    );
    round_trip(
        "from_nodes 0 [#Rose 1 [0, 1], #Rose 2 []]",
        &rose,
        "from_nodes 0 [#Rose 1 [0, 1], #Rose 2 []]",
    );
    // A mutually recursive group.
    let forest = sum(
        "Forest",
        &[
            ("Empty", &[]),
            (
                "More",
                &[
                    ValueType::Recursive("Tree".into()),
                    ValueType::Recursive("Forest".into()),
                ],
            ),
        ],
    );
    let tree = sum("Tree", &[("Tree", &[I32, forest])]);
    round_trip(
        "Tree 1 (More (Tree 2 Empty) Empty)",
        &tree,
        "Tree 1 (More (Tree 2 Empty) Empty)",
    );
}

#[test]
fn shared_nodes_print_once_where_unfolding_explodes() {
    let tree = sum(
        "T",
        &[
            ("L", &[]),
            (
                "N",
                &[ValueType::Recursive("T".into()), ValueType::Recursive("T".into())],
            ),
        ],
    );
    let mut value = Value::cell(0, []);
    for _ in 0..60 {
        value = Value::cell(1, [value.clone(), value]);
    }
    let text = print(&value, &tree, Extent::Full);
    assert!(text.starts_with("from_nodes 0 [#N 1 1, #N 2 2, "), "{text}");
    assert!(same(&parse(&text, &tree).unwrap(), &value));
}

#[test]
fn a_million_cells_print_and_read() {
    let ty = list();
    let mut value = Value::cell(0, []);
    for head in 0..1_000_000 {
        value = Value::cell(1, [head.into(), value]);
    }
    let text = print(&value, &ty, Extent::Full);
    assert!(text.starts_with("Cons 999999 (Cons 999998 (") && text.contains("(Cons 0 Nil)))"));
    assert!(same(&parse(&text, &ty).unwrap(), &value));
}

#[test]
fn abridged() {
    let ty = array(I32);
    let value = Value::from((0..100).collect::<Vec<i32>>());
    assert_eq!(
        print(&value, &ty, Extent::Abridged { longest: 5 }),
        "[0, 1, 2, ..., 98, 99]"
    );
    assert_eq!(print(&value, &ty, Extent::Abridged { longest: 1 }), "[0, ...]");
    let rows = array(ty);
    let value = parse("[[1,2,3],[4,5,6]]", &rows).unwrap();
    assert_eq!(
        print(&value, &rows, Extent::Abridged { longest: 2 }),
        "[[1, ..., 3], [4, ..., 6]]"
    );
}

#[test]
fn nodes_print_as_values() {
    let node = SumValue {
        constructor: 1,
        fields: vec![1.into(), 0i64.into()],
    };
    let ValueType::Sum(list) = list() else { panic!() };
    let table = NodeTable {
        nodes: vec![node],
        references: Arc::new(list.references()),
    };
    let value = Value::Datum(table.datum(0).unwrap());
    assert_eq!(
        print(&value, &ValueType::Sum(list), Extent::Full),
        "from_nodes 0 [#Cons 1 0]"
    );
}

#[test]
fn mistakes_have_a_place_and_say_what_was_expected() {
    refused("1.5", &I32, 0, "expected an i32, found `1.5`");
    refused(
        "300",
        &ValueType::Scalar(ScalarType::U8),
        0,
        "expected a u8, found `300` (u8 goes from 0 to 255)",
    );
    refused(
        "-1",
        &ValueType::Scalar(ScalarType::U64),
        1,
        "expected a u64, found `1` (u64 goes from 0 to 18446744073709551615)",
    );
    refused("1i64", &I32, 0, "expected an i32, found `1i64`");
    refused("[1, x]", &array(I32), 4, "expected an i32, found `x`");
    refused(
        "[1, 2",
        &array(I32),
        5,
        "expected `,` or `]`, found the end of the text",
    );
    refused(
        "[1] 2",
        &array(I32),
        4,
        "expected the end of the value, found `2`",
    );
    refused("3", &array(I32), 0, "expected an array of type []i32, found `3`");
    refused(
        "[[1, 2], [3]]",
        &array(array(I32)),
        9,
        "expected a row of 2 elements, found a row of 1 element (rows of a regular array have equal lengths; `[?]` is for others)",
    );
    refused(
        "(1)",
        &ValueType::Tuple(vec![I32, I32]),
        2,
        "expected `,`, found `)`",
    );
    refused(
        "{x = 1}",
        &point(),
        0,
        "expected {x: f32, y: i32}, found a record without `y`",
    );
    refused(
        "{z = 1}",
        &point(),
        1,
        "expected one of the fields `x`, `y`, found `z`",
    );
    refused(
        "{x = 1, x = 2}",
        &point(),
        8,
        "expected each field once, found `x`",
    );
    refused(
        "Sum 1",
        &maybe(I32),
        0,
        "expected a value of type Maybe, found `Sum` (it starts with None or Some)",
    );
    refused(
        "Some Some 1",
        &maybe(maybe(I32)),
        5,
        "expected one word or something in parentheses, found `Some` (write `(Some …)`)",
    );
    refused(
        "Some",
        &maybe(I32),
        4,
        "expected an i32, found the end of the text",
    );
    refused(
        "from_nodes 2 [#Nil]",
        &list(),
        0,
        "expected a table of List i32, found root 2 in a table of 1 nodes",
    );
    refused(
        "\"ab",
        &array(ValueType::Scalar(ScalarType::U8)),
        0,
        "expected a closing `\"`, found the end of the text",
    );
    refused("@", &I32, 0, "expected a value, found `@`");
    refused("", &F32, 0, "expected an f32, found the end of the text");
}

#[test]
fn sizes_within_one_value_agree() {
    let n = || DimType::Named("n".into());
    let two = ValueType::Tuple(vec![ValueType::array(n(), I32), ValueType::array(n(), F32)]);
    round_trip("([1, 2], [3, 4])", &two, "([1, 2], [3.0, 4.0])");
    refused(
        "([1, 2], [3])",
        &two,
        0,
        "expected 2 elements (n is 2 elsewhere), found 1 (at .1)",
    );
    let three = ValueType::array(DimType::Known(3), I32);
    refused("[1, 2]", &three, 0, "expected 3 elements, found 2");
}

#[test]
fn deep_nonsense_does_not_overflow_the_stack() {
    let deep = "(".repeat(200_000);
    assert!(parse(&deep, &I32).is_err());
    assert!(parse(&deep, &list()).is_err());
    assert!(parse(&format!("[{deep}"), &array(I32)).is_err());
    let deep = "Cons 1 (".repeat(200_000);
    assert!(parse(&deep, &list()).is_err());
}
