//! Types and values that the tests of all formats share.

use almach_base::Name;
use almach_value::{
    ArrayValue, Buffer, Constructor, DimType, NodeTable, RowLengths, Scalar, ScalarType, SumType, SumValue,
    Value, ValueType, collect,
};
use std::sync::Arc;

pub fn scalar(ty: ScalarType) -> ValueType {
    ValueType::Scalar(ty)
}

pub fn array(element: ValueType) -> ValueType {
    ValueType::array(DimType::Unknown, element)
}

pub fn jagged(element: ValueType) -> ValueType {
    array(ValueType::array(DimType::Jagged, element))
}

pub fn record(fields: &[(&str, ValueType)]) -> ValueType {
    ValueType::Record(
        fields
            .iter()
            .map(|(name, ty)| (Name::from(*name), ty.clone()))
            .collect(),
    )
}

pub fn sum(name: &str, constructors: &[(&str, &[ValueType])]) -> ValueType {
    ValueType::Sum(Arc::new(SumType {
        name: Name::from(name),
        constructors: constructors
            .iter()
            .map(|(name, fields)| Constructor {
                name: Name::from(*name),
                fields: fields.to_vec(),
            })
            .collect(),
        part: false,
    }))
}

pub fn maybe(ty: ValueType) -> ValueType {
    sum("Maybe", &[("None", &[]), ("Some", &[ty])])
}

pub fn list(ty: ValueType) -> ValueType {
    let tail = ValueType::Recursive(Name::from("List"));
    sum("List", &[("Nil", &[]), ("Cons", &[ty, tail])])
}

pub fn list_value(values: impl DoubleEndedIterator<Item = Value>) -> Value {
    values
        .rev()
        .fold(Value::cell(0, []), |tail, head| Value::cell(1, [head, tail]))
}

/// `from_nodes 0 [#Cons 1 1, #Cons 2 0]`.
pub fn cyclic_list(ty: &ValueType) -> Value {
    let ValueType::Sum(sum) = ty else {
        return Value::unit();
    };
    let node = |head: i32, tail: i64| SumValue {
        constructor: 1,
        fields: vec![head.into(), tail.into()],
    };
    let table = NodeTable {
        nodes: vec![node(1, 1), node(2, 0)],
        references: Arc::new(sum.references()),
    };
    Value::Datum(table.datum(0).unwrap())
}

/// A few scalars of each type, the ends of its range among them.
pub fn buffer(ty: ScalarType) -> Buffer {
    match ty {
        ScalarType::I8 => vec![0, 1, -1, i8::MIN, i8::MAX, 7].into(),
        ScalarType::I16 => vec![0, 1, -1, i16::MIN, i16::MAX, 7].into(),
        ScalarType::I32 => vec![0, 1, -1, i32::MIN, i32::MAX, 7].into(),
        ScalarType::I64 => vec![0, 1, -1, i64::MIN, i64::MAX, 7].into(),
        ScalarType::U8 => vec![0, 1, 2, u8::MAX, 254, 7].into(),
        ScalarType::U16 => vec![0, 1, 2, u16::MAX, 254, 7].into(),
        ScalarType::U32 => vec![0, 1, 2, u32::MAX, 254, 7].into(),
        ScalarType::U64 => vec![0, 1, 2, u64::MAX, 254, 7].into(),
        ScalarType::F32 => vec![
            0.1,
            -0.0,
            f32::MAX,
            f32::MIN_POSITIVE / 8.0,
            f32::NEG_INFINITY,
            f32::NAN,
        ]
        .into(),
        ScalarType::F64 => vec![
            0.1,
            -0.0,
            f64::MAX,
            f64::MIN_POSITIVE / 8.0,
            f64::INFINITY,
            f64::NAN,
        ]
        .into(),
        ScalarType::Bool => vec![true, false, false, true, true, true].into(),
    }
}

pub fn flat(ty: ScalarType) -> Value {
    Value::array(ArrayValue::scalars(buffer(ty)))
}

pub fn rows(len: usize, row: usize, inner: ArrayValue) -> ArrayValue {
    ArrayValue::rows(len, row, Arc::new(inner)).unwrap()
}

pub fn jagged_rows(lengths: &[usize], inner: ArrayValue) -> ArrayValue {
    ArrayValue::jagged(RowLengths::from_lengths(lengths.iter().copied()), Arc::new(inner)).unwrap()
}

/// Values that NumPy's formats hold.
pub fn numeric() -> Vec<(Value, ValueType)> {
    let mut all = Vec::new();
    for ty in ScalarType::ALL {
        let numbers = || ArrayValue::scalars(buffer(ty));
        for at in 0..6 {
            all.push((buffer(ty).get(at).unwrap().into(), scalar(ty)));
        }
        all.push((flat(ty), array(scalar(ty))));
        all.push((rows(2, 3, numbers()).into(), array(array(scalar(ty)))));
        all.push((
            rows(1, 2, rows(2, 3, numbers())).into(),
            array(array(array(scalar(ty)))),
        ));
        all.push((
            rows(3, 0, ArrayValue::scalars(Buffer::new(ty))).into(),
            array(array(scalar(ty))),
        ));
        all.push((ArrayValue::scalars(Buffer::new(ty)).into(), array(scalar(ty))));
    }
    let lanes = [1.0f32, 2.0].map(Scalar::F32);
    all.push((Value::vector(lanes), ValueType::Vector(2, ScalarType::F32)));
    let vectors = collect(
        &ValueType::Vector(2, ScalarType::F32),
        vec![Value::vector(lanes); 3],
    )
    .unwrap();
    all.push((vectors.into(), array(ValueType::Vector(2, ScalarType::F32))));
    all
}

/// Values of which `.npz` holds several arrays.
pub fn composite() -> Vec<(Value, ValueType)> {
    let (f32s, i64s) = (scalar(ScalarType::F32), scalar(ScalarType::I64));
    let numbers = || ArrayValue::scalars(buffer(ScalarType::F32));
    let integers = || ArrayValue::scalars(buffer(ScalarType::I64));
    let pair = ValueType::Tuple(vec![f32s.clone(), i64s.clone()]);
    let point = record(&[("x", f32s.clone()), ("rows", jagged(i64s.clone()))]);
    let pairs = ArrayValue::tuples(6, vec![Arc::new(numbers()), Arc::new(integers())]).unwrap();
    let three_rows = jagged_rows(&[0, 4, 2], numbers());
    let deep = jagged_rows(&[2, 0, 1], three_rows.clone());
    vec![
        (Value::tuple([1.5f32.into(), 7i64.into()]), pair.clone()),
        (Value::unit(), ValueType::Tuple(Vec::new())),
        (
            Value::tuple([2.5f32.into(), jagged_rows(&[1, 5], integers()).into()]),
            point.clone(),
        ),
        (pairs.clone().into(), array(pair.clone())),
        (rows(2, 3, pairs).into(), array(array(pair))),
        (three_rows.into(), jagged(f32s.clone())),
        (
            deep.into(),
            array(ValueType::array(
                DimType::Jagged,
                ValueType::array(DimType::Jagged, f32s.clone()),
            )),
        ),
        (
            rows(2, 2, jagged_rows(&[1, 2, 3, 0], numbers())).into(),
            array(jagged(f32s)),
        ),
    ]
}

/// Values that only text formats hold.
pub fn symbolic() -> Vec<(Value, ValueType)> {
    let i32s = scalar(ScalarType::I32);
    let lists = list(i32s.clone());
    let leaves = sum(
        "Rose",
        &[(
            "Rose",
            &[i32s.clone(), array(ValueType::Recursive(Name::from("Rose")))],
        )],
    );
    let rose = |label: i32, children: Vec<Value>| {
        let children = collect(&ValueType::Recursive(Name::from("Rose")), children).unwrap();
        Value::cell(0, [label.into(), children.into()])
    };
    let nested = rose(1, vec![rose(2, vec![]), rose(3, vec![rose(4, vec![])])]);
    let pair = ValueType::Tuple(vec![i32s.clone(), maybe(i32s.clone())]);
    let options = collect(
        &maybe(i32s.clone()),
        vec![Value::sum(0, []), Value::sum(1, [4i32.into()])],
    )
    .unwrap();
    vec![
        (Value::sum(0, []), maybe(i32s.clone())),
        (Value::sum(1, [3i32.into()]), maybe(i32s.clone())),
        (
            Value::sum(1, [Value::tuple([3i32.into(), Value::sum(0, [])])]),
            maybe(pair),
        ),
        (options.into(), array(maybe(i32s.clone()))),
        (list_value((0..5).map(Value::from)), lists.clone()),
        (cyclic_list(&lists), lists),
        (nested, leaves),
        (
            Value::sum(1, [flat(ScalarType::F64)]),
            maybe(array(scalar(ScalarType::F64))),
        ),
    ]
}

/// xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % n as u64) as usize
    }
}
