#![allow(clippy::unwrap_used)]
//! What is read from files others wrote, and what is said about files that do not fit.

#[allow(dead_code)]
mod common;

use almach_base::Name;
use almach_formats::{
    FormatError, read_json, read_npy, read_npz, read_text, write_json, write_npy, write_npz,
};
use almach_value::{DimType, ScalarType, Value, ValueType, same};
use common::{array, jagged, list, maybe, record, scalar};
use expect_test::{Expect, expect};
use std::io::{Cursor, Write};

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn f32s() -> ValueType {
    array(scalar(ScalarType::F32))
}

fn said(result: Result<Value, FormatError>, expected: Expect) {
    let error = result.unwrap_err();
    let help: String = error
        .help
        .iter()
        .map(|help| format!("\n  help: {help}"))
        .collect();
    expected.assert_eq(&format!("{}: {error}{help}", error.code.0));
}

#[test]
fn big_endian_and_fortran_order_are_read() {
    let big: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    let file = npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", &big);
    assert!(same(
        &read_npy(&file, &f32s()).unwrap(),
        &vec![1.5f32, -2.0].into()
    ));

    // The rows [1 2 3] and [4 5 6], column by column.
    let columns: Vec<u8> = [1i32, 4, 2, 5, 3, 6]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let file = npy(
        "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '<i4'}\n",
        &columns,
    );
    let matrix = array(array(scalar(ScalarType::I32)));
    let read = read_npy(&file, &matrix).unwrap();
    assert_eq!(write_json(&read, &matrix).unwrap(), b"[[1, 2, 3], [4, 5, 6]]\n");
    let cube: Vec<u8> = (0..24u8).collect();
    let file = npy(
        "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}",
        &cube,
    );
    let ty = array(array(array(scalar(ScalarType::U8))));
    let text = write_json(&read_npy(&file, &ty).unwrap(), &ty).unwrap();
    let expected = "[[[0, 6, 12, 18], [2, 8, 14, 20], [4, 10, 16, 22]], [[1, 7, 13, 19], [3, 9, 15, 21], [5, 11, 17, 23]]]\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn the_header_is_what_numpy_writes() {
    let file = write_npy(&vec![1i64].into(), &array(scalar(ScalarType::I64))).unwrap();
    assert_eq!(file.len(), 128 + 8);
    let text = String::from_utf8_lossy(file.get(10..128).unwrap()).into_owned();
    assert_eq!(
        text.trim_end(),
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"
    );
    assert!(text.ends_with(" \n"));
    let file = write_npy(&true.into(), &scalar(ScalarType::Bool)).unwrap();
    assert!(
        String::from_utf8_lossy(&file).contains("'descr': '|b1', 'fortran_order': False, 'shape': (), }")
    );
}

#[test]
fn npy_of_another_type_or_shape() {
    let doubles = write_npy(&vec![1.0f64].into(), &array(scalar(ScalarType::F64))).unwrap();
    said(
        read_npy(&doubles, &f32s()),
        expect![[r#"
        E0920: expected elements of type f32, and the file holds f64
          help: convert them in NumPy with `.astype(np.float32)`"#]],
    );
    said(
        read_npy(&doubles, &array(array(scalar(ScalarType::F64)))),
        expect!["E0921: expected an array of 2 dimensions, and the file holds an array of 1 dimension"],
    );
    let two = ValueType::array(DimType::Known(2), scalar(ScalarType::F64));
    said(
        read_npy(&doubles, &two),
        expect!["E0921: expected a dimension of 2, found 1"],
    );
    said(
        read_npy(&doubles, &maybe(f32s())),
        expect![[r#"
        E0909: a .npy file holds one regular array of numbers, and Maybe has a sum type
          help: read it from .json or .npz"#]],
    );
    let half = npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", &[0, 0]);
    said(
        read_npy(&half, &f32s()),
        expect![[r#"
        E0920: expected elements of type f32, and the file holds floats of a size Almach does not have (NumPy type <f2)
          help: convert them in NumPy with `.astype(np.float32)`"#]],
    );
    let fields = npy(
        "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        &[0; 4],
    );
    said(
        read_npy(&fields, &f32s()),
        expect![[r#"
        E0920: the elements are records (a structured NumPy type), not numbers
          help: save one array per field, for example with np.savez"#]],
    );
    let n = || DimType::Named(Name::from("n"));
    let square = ValueType::array(n(), ValueType::array(n(), scalar(ScalarType::U8)));
    let oblong = npy(
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}",
        &[0; 6],
    );
    said(
        read_npy(&oblong, &square),
        expect!["E0921: expected a dimension of n = 3, found 2"],
    );
}

#[test]
fn npy_that_is_damaged() {
    said(
        read_npy(b"PK\x03\x04", &f32s()),
        expect![[r#"E0908: this is no .npy file: it does not start with \x93NUMPY"#]],
    );
    said(
        read_npy(b"", &f32s()),
        expect!["E0908: the file ends inside the header of the .npy format"],
    );
    let huge = npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,)}",
        &[0; 8],
    );
    said(
        read_npy(&huge, &f32s()),
        expect![
            "E0908: the file is cut short: its header says shape (99999999999999,), which takes 399999999999996 bytes, and 8 are there"
        ],
    );
    let beyond = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({0}, {0})}}",
        u64::MAX
    );
    said(
        read_npy(&npy(&beyond, &[]), &array(f32s())),
        expect![
            "E0908: the header says shape (18446744073709551615, 18446744073709551615), which is larger than any memory"
        ],
    );
    let empty = npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 0)}",
        &[],
    );
    said(
        read_npy(&empty, &array(f32s())),
        expect![
            "E0908: the header says shape (99999999999999, 0): that many rows without elements make no sense"
        ],
    );
    let long = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", &[0; 8]);
    said(
        read_npy(&long, &f32s()),
        expect!["E0908: 4 bytes follow the array of shape (1,)"],
    );
    let odd = npy("{'descr': '<f4', 'shape': (1,)", &[0; 4]);
    said(
        read_npy(&odd, &f32s()),
        expect!["E0908: the header is damaged: expected `}`, found ``"],
    );
    let truth = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", &[2]);
    said(
        read_npy(&truth, &array(scalar(ScalarType::Bool))),
        expect!["E0908: a boolean is the byte 2, and should be 0 or 1"],
    );
    said(
        read_npy(b"\x93NUMPY\x09\x00", &f32s()),
        expect!["E0908: version 9 of the .npy format is not known; versions 1, 2 and 3 are"],
    );
}

fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn compressed_archives_are_read() {
    let zeros = write_npy(&vec![0i64; 10_000].into(), &array(scalar(ScalarType::I64))).unwrap();
    let file = archive(&[("anything.npy", zeros)]);
    assert!(file.len() < 1000);
    let read = read_npz(&file, &array(scalar(ScalarType::I64))).unwrap();
    assert!(same(&read, &vec![0i64; 10_000].into()));
}

#[test]
fn npz_with_other_members() {
    let point = record(&[("x", scalar(ScalarType::F32)), ("count", scalar(ScalarType::I32))]);
    let x = write_npy(&1.5f32.into(), &scalar(ScalarType::F32)).unwrap();
    let count = write_npy(&2i32.into(), &scalar(ScalarType::I32)).unwrap();
    let good = archive(&[("count.npy", count.clone()), ("x.npy", x.clone())]);
    assert!(same(
        &read_npz(&good, &point).unwrap(),
        &Value::tuple([1.5f32.into(), 2i32.into()])
    ));
    said(
        read_npz(&archive(&[("x.npy", x.clone())]), &point),
        expect!["E0908: at count: the file has no array `count`; it holds `x`"],
    );
    said(
        read_npz(&archive(&[("x.npy", x.clone()), ("coutn.npy", count)]), &point),
        expect![[r#"
            E0908: the file holds `coutn`, and the type has no place for it; expected `x`, `count`
              help: should `coutn` be named `count`?"#]],
    );
    said(
        read_npz(&archive(&[("count.npy", x.clone()), ("x.npy", x)]), &point),
        expect![[r#"
            E0920: at count: expected elements of type i32, and the file holds f32
              help: convert them in NumPy with `.astype(np.int32)`"#]],
    );
    said(
        read_npz(b"no archive", &point),
        expect!["E0908: this is no .npz file: invalid Zip archive: Could not find EOCD"],
    );
}

#[test]
fn jagged_members_must_fit_together() {
    let ty = jagged(scalar(ScalarType::F32));
    let data = write_npy(&vec![1.0f32, 2.0, 3.0].into(), &f32s()).unwrap();
    let with = |offsets: Vec<i64>| {
        let segments = write_npy(&offsets.into(), &array(scalar(ScalarType::I64))).unwrap();
        archive(&[("data.npy", data.clone()), ("segments.npy", segments)])
    };
    let read = read_npz(&with(vec![0, 0, 1, 3]), &ty).unwrap();
    assert_eq!(write_json(&read, &ty).unwrap(), b"[[], [1.0], [2.0, 3.0]]\n");
    said(
        read_npz(&with(vec![0, 2]), &ty),
        expect!["E0921: at segments: the last offset is 2, and there are 3 elements"],
    );
    said(
        read_npz(&with(vec![0, 3, 1, 3]), &ty),
        expect!["E0921: at segments: the offset after row 1 is smaller than the one before"],
    );
    said(
        read_npz(&with(vec![1, 3]), &ty),
        expect!["E0921: at segments: the offsets of rows must start with 0"],
    );
    said(
        read_npz(&with(vec![]), &ty),
        expect!["E0921: at segments: the offsets of rows must start with 0"],
    );
}

#[test]
fn tables_of_nodes_must_fit_together() {
    let ty = list(scalar(ScalarType::F32));
    let with = |tags: Vec<u32>, values: Vec<f32>, references: Vec<i64>, root: i64| {
        let tags = write_npy(&tags.into(), &array(scalar(ScalarType::U32))).unwrap();
        let values = write_npy(&values.into(), &f32s()).unwrap();
        let references = write_npy(&references.into(), &array(scalar(ScalarType::I64))).unwrap();
        let root = write_npy(&root.into(), &scalar(ScalarType::I64)).unwrap();
        archive(&[
            ("nodes.tag.npy", tags),
            ("nodes.Cons.arr_0.npy", values),
            ("nodes.Cons.arr_1.npy", references),
            ("root.npy", root),
        ])
    };
    let read = read_npz(&with(vec![0, 1, 1], vec![0.0, 2.5, 1.5], vec![0, 0, 1], 2), &ty).unwrap();
    assert_eq!(
        write_json(&read, &ty).unwrap(),
        b"{\"Cons\": [1.5, {\"Cons\": [2.5, \"Nil\"]}]}\n"
    );
    said(
        read_npz(&with(vec![0, 2], vec![0.0, 2.5], vec![0, 0], 1), &ty),
        expect!["E0908: at nodes.tag: element 1 has the tag 2, and List has 2 constructors"],
    );
    said(
        read_npz(&with(vec![0, 1], vec![2.5], vec![0, 0], 1), &ty),
        expect!["E0921: at nodes.Cons.arr_0: its sizes [1] differ from the sizes [2] of `nodes.tag`"],
    );
    said(
        read_npz(&with(vec![0, 1], vec![0.0, 2.5], vec![0, 2], 1), &ty),
        expect!["E0908: node 1 refers to node 2, and there are 2 nodes"],
    );
    said(
        read_npz(&with(vec![0, 1], vec![0.0, 2.5], vec![0, 0], -1), &ty),
        expect!["E0908: the root is -1, and there are 2 nodes"],
    );
    said(
        read_npz(&with(vec![], vec![], vec![], 0), &ty),
        expect!["E0908: a table of nodes is empty"],
    );
    said(
        read_npz(&with(vec![0], vec![0.0], vec![0], 0), &array(ty.clone())),
        expect![[r#"
            E0909: NumPy's formats have a table for recursive data by themselves, and nothing for List in an array or in other data
              help: use .json or .txt"#]],
    );
    let lists = Value::array(almach_value::collect(&ty, vec![Value::cell(0, [])]).unwrap());
    said(
        write_npz(&lists, &array(ty)).map(|_| Value::unit()),
        expect![[r#"
            E0909: NumPy's formats have a table for recursive data by themselves, and nothing for List in an array or in other data
              help: use .json or .txt"#]],
    );
}

#[test]
fn json_as_people_write_it() {
    let ty = record(&[
        ("x", scalar(ScalarType::F32)),
        ("y", maybe(scalar(ScalarType::U64))),
    ]);
    let text = b"\xef\xbb\xbf{ \"y\": {\"Some\": 18446744073709551615},\n\t\"x\": \"-inf\" }";
    let read = read_json(text, &ty).unwrap();
    let expected = Value::tuple([f32::NEG_INFINITY.into(), Value::sum(1, [u64::MAX.into()])]);
    assert!(same(&read, &expected));
    let bytes = read_json(br#""a\u00e9\n\ud83d\ude00""#, &array(scalar(ScalarType::U8))).unwrap();
    assert!(same(&bytes, &"aé\n😀".as_bytes().to_vec().into()));
    let python = read_json(b"[NaN, -Infinity, 1e3, 5]", &f32s()).unwrap();
    assert!(same(
        &python,
        &vec![f32::NAN, f32::NEG_INFINITY, 1000.0, 5.0].into()
    ));
    // Rounded once, to the type: through f64 it would be a tie and round down.
    let close = read_json(b"16777217.0000000001", &scalar(ScalarType::F32)).unwrap();
    assert!(same(&close, &16777218.0f32.into()));
    let ty = list(scalar(ScalarType::I32));
    let ring = br#"{"root": 1, "nodes": [{"Cons": [2, 1]}, {"Cons": [1, 0]}]}"#;
    assert!(same(&read_json(ring, &ty).unwrap(), &common::cyclic_list(&ty)));
    assert!(same(
        &read_json(b"null", &ValueType::Tuple(vec![])).unwrap(),
        &Value::unit()
    ));
}

#[test]
fn json_that_does_not_fit() {
    let ints = array(scalar(ScalarType::I32));
    let point = record(&[("x", scalar(ScalarType::F32)), ("ys", array(maybe(ints.clone())))]);
    let say = |text: &str, ty: &ValueType, expected: Expect| said(read_json(text.as_bytes(), ty), expected);
    say(
        "[1, 2, 3.5]",
        &ints,
        expect!["E0922: line 1, column 8: at [2]: expected an integer (i32), found `3.5`"],
    );
    say(
        "[1, 2147483648]",
        &ints,
        expect!["E0923: line 1, column 5: at [1]: 2147483648 does not fit i32"],
    );
    say(
        "[1e999]",
        &f32s(),
        expect!["E0923: line 1, column 2: at [0]: 1e999 does not fit f32"],
    );
    say(
        "[1, 2",
        &ints,
        expect!["E0908: line 1, column 6: expected `,` or `]`, found the end of the file"],
    );
    say(
        "[1 2]",
        &ints,
        expect!["E0908: line 1, column 4: expected `,` or `]`, found `2`"],
    );
    say(
        "[01]",
        &ints,
        expect!["E0922: line 1, column 2: at [0]: expected an integer (i32), found `01`"],
    );
    say(
        "[1] x",
        &ints,
        expect!["E0908: line 1, column 5: expected the end of the file, found `x`"],
    );
    say(
        "{\"x\": 1}",
        &point,
        expect!["E0922: line 1, column 8: the field `ys` of type []Maybe is missing"],
    );
    say(
        "{\"x\": 1, \"yz\": []}",
        &point,
        expect![[r#"
        E0922: line 1, column 14: the type has no field `yz`; it has x, ys
          help: did you mean `ys`?"#]],
    );
    say(
        "{\"x\": 1, \"x\": 2}",
        &point,
        expect!["E0922: line 1, column 13: at .x: the field `x` is given twice"],
    );
    say(
        "{\"x\": 1, \"ys\": [\"None\",\n {\"Some\": [1, true]}]}",
        &point,
        expect!["E0922: line 2, column 15: at .ys[1].Some[1]: expected an integer (i32), found `true`"],
    );
    say(
        "{\"x\": 1, \"ys\": [\"Nome\"]}",
        &point,
        expect![[r#"
        E0922: line 1, column 17: at .ys[0]: Maybe has no constructor `Nome`; it has None, Some
          help: did you mean `None`?"#]],
    );
    say(
        "{\"x\": 1, \"ys\": [\"Some\"]}",
        &point,
        expect![[r#"E0922: line 1, column 17: at .ys[0]: `Some` needs 1 field: write {"Some": …}"#]],
    );
    say(
        "{\"x\": null, \"ys\": []}",
        &point,
        expect!["E0922: line 1, column 7: at .x: expected a number (f32), found `null`"],
    );
    say(
        "[[1, 2], [3]]",
        &array(ints.clone()),
        expect![[r#"
        E0921: at [1]: expected a row of 2 elements, found a row of 1 element
          help: rows of different lengths need `?` in the type: [n][?]t"#]],
    );
    say(
        "[1, 2]",
        &ValueType::array(DimType::Known(3), scalar(ScalarType::I32)),
        expect!["E0921: expected 3 elements, found 2"],
    );
    say(
        "[1]",
        &ValueType::Tuple(vec![ints.clone(), ints]),
        expect!["E0922: line 1, column 2: at .0: expected an array, found `1`"],
    );
    let ty = list(scalar(ScalarType::I32));
    say(
        "{\"Cons\": [1, {\"Cons\": [2]}]}",
        &ty,
        expect!["E0908: line 1, column 25: at .Cons.1.Cons.1: expected `,`: `Cons` has 2 fields, found `]`"],
    );
    say(
        "{\"nodes\": [{\"Cons\": [1, 7]}], \"root\": 0}",
        &ty,
        expect!["E0922: line 1, column 40: node 0 refers to node 7, and there are 1 nodes"],
    );
    said(
        read_json(b"\"a\xff\"", &ty),
        expect!["E0903: the file is not UTF-8 from byte 2 on, in line 1"],
    );
}

#[test]
fn numbers_in_text() {
    let read = read_text(b" 1 2.5\n-3e2\tinf nan\n", &f32s()).unwrap();
    assert!(same(
        &read,
        &vec![1.0f32, 2.5, -300.0, f32::INFINITY, f32::NAN].into()
    ));
    let read = read_text(b"[1, 2]", &array(scalar(ScalarType::U8))).unwrap();
    assert!(same(&read, &vec![1u8, 2].into()));
    let ints = array(scalar(ScalarType::I8));
    assert!(same(&read_text(b"", &ints).unwrap(), &Vec::<i8>::new().into()));
    said(
        read_text(b"1 2\n3 200", &ints),
        expect!["E0923: line 2, column 3: at [3]: 200 does not fit i8"],
    );
    said(
        read_text(b"1 2\n3 x", &ints),
        expect!["E0922: line 2, column 3: at [3]: expected i8, found `x`"],
    );
    said(
        read_text(b"1 2.0", &ints),
        expect!["E0922: line 1, column 3: at [1]: expected i8, found `2.0`"],
    );
    said(
        read_text(b"[1, x]", &ints),
        expect!["E0922: line 1, column 5: expected an i8, found `x`"],
    );
}
