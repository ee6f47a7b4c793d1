#![allow(clippy::unwrap_used)]
//! What is written reads back to the same value; what is damaged gives an error and never a panic.

mod common;

use almach_formats::{
    FormatError, read_json, read_npy, read_npz, read_text, write_json, write_npy, write_npz, write_text,
};
use almach_value::{ScalarType, Value, ValueType, collect, same};
use common::{
    Random, array, composite, cyclic_list, list, list_value, maybe, numeric, scalar, sum, symbolic,
};

type Read = fn(&[u8], &ValueType) -> Result<Value, FormatError>;
type Write = fn(&Value, &ValueType) -> Result<Vec<u8>, FormatError>;

fn round_trips(cases: &[(Value, ValueType)], read: Read, write: Write) {
    for (value, ty) in cases {
        let bytes = write(value, ty).unwrap_or_else(|error| panic!("{ty}: {error}"));
        let back = read(&bytes, ty)
            .unwrap_or_else(|error| panic!("{ty}: {error}\n{}", String::from_utf8_lossy(&bytes)));
        assert!(same(value, &back), "{ty}\n{value:?}\n{back:?}");
        almach_value::conforms(&back, ty).unwrap();
    }
}

#[test]
fn npy_holds_regular_arrays() {
    round_trips(&numeric(), read_npy, write_npy);
}

#[test]
fn npz_holds_tuples_records_and_jagged_arrays() {
    round_trips(&numeric(), read_npz, write_npz);
    round_trips(&composite(), read_npz, write_npz);
}

/// A sum is a tag and arrays for the fields of all constructors.
#[test]
fn npz_holds_sums() {
    let choice = maybe(scalar(ScalarType::I32));
    let some = |x: i32| Value::sum(1, [Value::from(x)]);
    let values = collect(&choice, vec![some(3), Value::sum(0, []), some(-1)]).unwrap();
    let rows = maybe(array(scalar(ScalarType::F64)));
    let several = ValueType::Tuple(vec![rows.clone(), array(choice.clone())]);
    let row = Value::sum(1, [Value::from(vec![1.5f64, 2.5])]);
    let cases = [
        (some(7), choice.clone()),
        (Value::sum(0, []), choice.clone()),
        (Value::array(values.clone()), array(choice)),
        (row.clone(), rows),
        (Value::tuple([row, Value::array(values)]), several),
    ];
    round_trips(&cases, read_npz, write_npz);
}

/// Recursive data are their table, in its order, and a root.
#[test]
fn npz_holds_recursive_data_as_tables() {
    let ints = list(scalar(ScalarType::I64));
    let numbers = |range: std::ops::Range<i64>| list_value(range.map(Value::from));
    let both = ValueType::Tuple(vec![ints.clone(), scalar(ScalarType::I64)]);
    let cases = [
        (numbers(0..5), ints.clone()),
        (numbers(0..0), ints.clone()),
        (numbers(0..100_000), ints.clone()),
        (Value::tuple([numbers(3..5), Value::from(4i64)]), both),
    ];
    round_trips(&cases, read_npz, write_npz);
    let small = list(scalar(ScalarType::I32));
    round_trips(&[(cyclic_list(&small), small)], read_npz, write_npz);
    let rose = sum(
        "Rose",
        &[(
            "Rose",
            &[
                scalar(ScalarType::I32),
                array(ValueType::Recursive("Rose".into())),
            ],
        )],
    );
    let text = b"from_nodes 1 [#Rose 1 [0, 2], #Rose 2 [0, 0, 2], #Rose 3 []]";
    round_trips(&[(read_text(text, &rose).unwrap(), rose)], read_npz, write_npz);
}

#[test]
fn json_holds_everything() {
    round_trips(&numeric(), read_json, write_json);
    round_trips(&composite(), read_json, write_json);
    round_trips(&symbolic(), read_json, write_json);
}

#[test]
fn text_holds_everything() {
    round_trips(&numeric(), read_text, write_text);
    round_trips(&composite(), read_text, write_text);
    round_trips(&symbolic(), read_text, write_text);
}

/// Every prefix, and every byte changed in some ways.
fn damage(cases: &[(Value, ValueType)], read: Read, write: Write) {
    let mut random = Random(99);
    for (value, ty) in cases {
        let bytes = write(value, ty).unwrap();
        for end in 0..bytes.len() {
            if let Ok(read) = read(&bytes[..end], ty) {
                almach_value::conforms(&read, ty).unwrap();
            }
        }
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(damaged.len());
                damaged[at] = match random.below(3) {
                    0 => random.below(256) as u8,
                    1 => b"[]{},:\"-0199eE.()'L"[random.below(19)],
                    _ => damaged[at] ^ (1 << random.below(8)),
                };
            }
            if let Ok(read) = read(&damaged, ty) {
                almach_value::conforms(&read, ty).unwrap();
            }
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let few = |cases: Vec<(Value, ValueType)>| cases.into_iter().step_by(3).collect::<Vec<_>>();
    damage(&few(numeric()), read_npy, write_npy);
    damage(&few(composite()), read_npz, write_npz);
    damage(&few(numeric()), read_json, write_json);
    damage(&composite(), read_json, write_json);
    damage(&symbolic(), read_json, write_json);
    damage(&symbolic(), read_text, write_text);
}

#[test]
fn truncated_npy_is_an_error_at_every_byte() {
    let (value, ty) = (
        common::flat(almach_value::ScalarType::F32),
        common::array(scalar(almach_value::ScalarType::F32)),
    );
    let bytes = write_npy(&value, &ty).unwrap();
    for end in 0..bytes.len() {
        assert!(read_npy(&bytes[..end], &ty).is_err(), "{end}");
    }
    let text = write_json(&value, &ty).unwrap();
    for end in 0..text.len() - 1 {
        assert!(read_json(&text[..end], &ty).is_err(), "{end}");
    }
}

#[test]
fn deep_data_need_no_deep_stack() {
    let ty = list(scalar(almach_value::ScalarType::I32));
    let value = list_value((0..300_000).map(Value::from));
    for (read, write) in [(read_json as Read, write_json as Write), (read_text, write_text)] {
        let bytes = write(&value, &ty).unwrap();
        assert!(same(&value, &read(&bytes, &ty).unwrap()));
        let cut = &bytes[..bytes.len() / 2];
        assert!(read(cut, &ty).unwrap_err().path.len() < 1000);
    }
}
