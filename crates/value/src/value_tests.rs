#![allow(clippy::unwrap_used)]

use crate::{
    ArrayValue, Datum, ElementShape, Elements, NodeReferences, NodeTable, References, RowLengths, ScalarType,
    SumValue, TableError, Value, approximately_equal, same,
};
use std::sync::Arc;

fn rows(rows: &[&[i32]]) -> Value {
    let shape = ElementShape::Row(rows[0].len(), Box::new(ElementShape::Scalar(ScalarType::I32)));
    ArrayValue::from_values(&shape, rows.iter().map(|row| Value::from(row.to_vec())))
        .unwrap()
        .into()
}

fn jagged(rows: &[&[i32]]) -> ArrayValue {
    let shape = ElementShape::Jagged(Box::new(ElementShape::Scalar(ScalarType::I32)));
    ArrayValue::from_values(&shape, rows.iter().map(|row| Value::from(row.to_vec()))).unwrap()
}

/// `data List = Nil | Cons i32 List`.
fn list_references() -> Arc<NodeReferences> {
    Arc::new(vec![vec![], vec![References::None, References::Position]])
}

fn list(values: impl DoubleEndedIterator<Item = i32>) -> Value {
    values.rev().fold(Value::cell(0, []), |tail, head| {
        Value::cell(1, [head.into(), tail])
    })
}

fn list_table(nodes: &[Option<(i32, i64)>]) -> NodeTable {
    NodeTable {
        nodes: nodes
            .iter()
            .map(|node| match node {
                None => SumValue {
                    constructor: 0,
                    fields: vec![],
                },
                Some((head, tail)) => SumValue {
                    constructor: 1,
                    fields: vec![(*head).into(), (*tail).into()],
                },
            })
            .collect(),
        references: list_references(),
    }
}

#[test]
fn arrays_keep_their_shape() {
    let matrix = rows(&[&[1, 2, 3], &[4, 5, 6]]);
    let matrix = matrix.as_array().unwrap();
    assert_eq!(matrix.dimensions(), [Some(2), Some(3)]);
    assert!(same(&matrix.get(1).unwrap(), &vec![4, 5, 6].into()));
    assert!(matrix.get(2).is_none());
    assert_eq!(matrix.slice(1..1).unwrap().dimensions(), [Some(0), Some(3)]);
    let picked = matrix.gather(&[1, 0, 1]).unwrap();
    assert!(same(&picked.into(), &rows(&[&[4, 5, 6], &[1, 2, 3], &[4, 5, 6]])));
    assert!(matrix.gather(&[2]).is_none());
    let error = matrix.clone().push(vec![1, 2].into()).unwrap_err();
    assert_eq!(error.to_string(), "expected [3]i32, found [2]i32");
}

#[test]
fn jagged_arrays() {
    let array = jagged(&[&[1], &[], &[2, 3]]);
    assert!(same(&array.get(2).unwrap(), &vec![2, 3].into()));
    let both = array.concat(&jagged(&[&[9, 9]])).unwrap();
    assert_eq!(both.len, 4);
    assert!(same(
        &both.gather(&[3, 1]).unwrap().into(),
        &jagged(&[&[9, 9], &[]]).into()
    ));
    let inner = match &both.elements {
        Elements::Jagged { lengths, inner } => {
            assert_eq!(*lengths, RowLengths::from_lengths([1, 0, 2, 2]));
            inner
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(inner.len, 5);
    assert!(same(
        &jagged(&[&[1, 2], &[3, 4]]).into(),
        &rows(&[&[1, 2], &[3, 4]])
    ));
}

#[test]
fn updates_copy_what_is_shared() {
    let old = rows(&[&[1, 2], &[3, 4]]);
    let mut new = old.as_array().unwrap().clone();
    new.set(0, &vec![7, 8].into()).unwrap();
    assert!(same(&new.into(), &rows(&[&[7, 8], &[3, 4]])));
    assert!(same(&old, &rows(&[&[1, 2], &[3, 4]])));
}

#[test]
fn equality_of_scalars_is_the_laws() {
    assert!(same(&f32::NAN.into(), &(-f32::NAN).into()));
    assert!(!same(&0.0f32.into(), &(-0.0f32).into()));
    assert!(same(&vec![f64::NAN].into(), &vec![f64::NAN].into()));
    assert!(!same(&1i32.into(), &1i64.into()));
    assert!(approximately_equal(&1.0f64.into(), &1.000001f64.into(), 1e-5));
    assert!(!approximately_equal(&1.0f64.into(), &1.0001f64.into(), 1e-5));
    assert!(approximately_equal(&0.0f32.into(), &(-0.0f32).into(), 1e-5));
    assert!(!approximately_equal(&f32::INFINITY.into(), &1e30f32.into(), 1e-5));
    assert!(!approximately_equal(&1i32.into(), &2i32.into(), 10.0));
}

#[test]
fn data_compare_by_unfolding() {
    let cells = list([1, 2, 1, 2].into_iter());
    let shared = list_table(&[None, Some((2, 0)), Some((1, 1)), Some((2, 2)), Some((1, 3))]);
    assert!(same(&cells, &Value::Datum(shared.datum(4).unwrap())));
    // 1 2 1 2 … as a cycle of two and of four.
    let two = list_table(&[Some((1, 1)), Some((2, 0))]).datum(0).unwrap();
    let four = list_table(&[Some((1, 1)), Some((2, 2)), Some((1, 3)), Some((2, 0))]);
    let four = four.datum(0).unwrap();
    assert!(same(&Value::Datum(two.clone()), &Value::Datum(four.clone())));
    let other = list_table(&[Some((1, 1)), Some((3, 0))]).datum(0).unwrap();
    assert!(!same(&Value::Datum(other), &Value::Datum(four)));
    assert!(!same(&Value::Datum(two), &cells));
}

#[test]
fn a_table_of_cells_has_each_node_once_in_order() {
    // data Tree = Leaf i32 | Node Tree Tree, with a shared leaf.
    let references: Arc<NodeReferences> = Arc::new(vec![
        vec![References::None],
        vec![References::Position, References::Position],
    ]);
    let leaf = |x: i32| Value::cell(0, [x.into()]);
    let shared = leaf(7);
    let left = Value::cell(1, [leaf(1), shared.clone()]);
    let root = Value::cell(1, [left, shared]);
    let Value::Datum(datum) = &root else { panic!() };
    let (table, at) = datum.in_table(&references);
    assert_eq!(at, 0);
    let shown: Vec<String> = table
        .nodes
        .iter()
        .map(|node| {
            let fields: Vec<_> = node.fields.iter().map(|f| f.as_scalar().unwrap()).collect();
            format!("{} {fields:?}", node.constructor)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "1 [I64(1), I64(3)]",
            "1 [I64(2), I64(3)]",
            "0 [I32(1)]",
            "0 [I32(7)]"
        ]
    );
    assert!(Arc::ptr_eq(&datum.in_table(&references).0, &table), "remembered");
    assert!(same(&Value::Datum(Datum::InTable { table, at }), &root));
}

#[test]
fn references_inside_arrays_and_tuples() {
    // data Rose = Rose i32 [](i32, Rose).
    let inside = References::Tuple(vec![References::None, References::Position]);
    let references: Arc<NodeReferences> =
        Arc::new(vec![vec![References::None, References::Array(Box::new(inside))]]);
    let shape = ElementShape::Tuple(vec![ElementShape::Scalar(ScalarType::I32), ElementShape::Boxed]);
    let rose = |x: i32, children: Vec<Value>| {
        let children = children.into_iter().map(|c| Value::tuple([0i32.into(), c]));
        Value::cell(
            0,
            [
                x.into(),
                ArrayValue::from_values(&shape, children).unwrap().into(),
            ],
        )
    };
    let root = rose(1, vec![rose(2, vec![]), rose(3, vec![rose(4, vec![])])]);
    let Value::Datum(datum) = &root else { panic!() };
    let (table, at) = datum.in_table(&references);
    assert_eq!(table.nodes.len(), 4);
    assert!(same(&Value::Datum(Datum::InTable { table, at }), &root));
}

#[test]
fn bad_tables_are_refused() {
    assert_eq!(list_table(&[]).datum(0).unwrap_err(), TableError::Empty);
    let error = list_table(&[None]).datum(1).unwrap_err();
    assert_eq!(error, TableError::Root { root: 1, nodes: 1 });
    let error = list_table(&[None, Some((5, -1))]).datum(0).unwrap_err();
    assert_eq!(
        error,
        TableError::Reference {
            node: 1,
            reference: -1,
            nodes: 2
        }
    );
}

#[test]
fn a_million_cells_compare_tabulate_and_free_without_recursion() {
    let left = list(0..1_000_000);
    let right = list(0..1_000_000);
    assert!(same(&left, &right));
    let Value::Datum(datum) = &left else { panic!() };
    let (table, _) = datum.in_table(&list_references());
    assert_eq!(table.nodes.len(), 1_000_001);
    // Deep through sums, tuples and arrays as well.
    let mut deep = Value::cell(0, []);
    for _ in 0..300_000 {
        let array = ArrayValue::from_values(&ElementShape::Boxed, [deep]).unwrap();
        deep = Value::cell(1, [Value::tuple([Value::sum(0, [array.into()])])]);
    }
    drop(deep);
}
