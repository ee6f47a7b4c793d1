//! C functions that programs call.
//!
//! `void f(results…, parameters…)`: a scalar is passed as it is (`bool` as `int`), a tuple as a struct, an array as its sizes and a
//! pointer per component, in the order of slots. A result is a pointer to that; arrays in it come from `malloc`.

use crate::analysis::Storage;
use crate::helpers::Helper;
use crate::names::{Scope, sanitise};
use crate::procedure::Emitter;
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary, scalar_c_name};
use almach_base::codes::concreteness::FOREIGN_NAME;
use almach_base::codes::runtime;
use almach_base::{Diagnostic, Name, Span};
use almach_imp::{Argument, Proc, Site, Stmt};
use almach_value::{Failure, ForeignType, ScalarType, ValueType};
use std::collections::{BTreeMap, BTreeSet};

type Emit<T> = Result<T, Box<Diagnostic>>;

/// The functions that procedures call, by name.
pub fn functions<'p>(procs: impl IntoIterator<Item = &'p Proc>) -> BTreeMap<Name, (&'p ForeignType, Span)> {
    let mut found = BTreeMap::new();
    for proc in procs {
        collect(&proc.body, &mut found);
    }
    found
}

fn collect<'p>(stmts: &'p [Stmt], found: &mut BTreeMap<Name, (&'p ForeignType, Span)>) {
    for stmt in stmts {
        match stmt {
            Stmt::Foreign { function, span, .. } => {
                found.insert(function.name.clone(), (function, *span));
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => collect(body, found),
            Stmt::If { then, otherwise, .. } => {
                collect(then, found);
                collect(otherwise, found);
            }
            _ => {}
        }
    }
}

/// Takes the names of C functions; one that C or the emitted file gives another meaning is an error.
pub fn take_names(functions: &BTreeMap<Name, (&ForeignType, Span)>, scope: &mut Scope) -> Emit<()> {
    for (name, (_, span)) in functions {
        if sanitise(name) != **name || scope.fresh(name) != **name {
            let message = format!("`{name}` cannot be the name of a C function here");
            return Err(Box::new(
                Diagnostic::error(FOREIGN_NAME, *span, message)
                    .label("called here")
                    .help("give the function another name in C, and declare that one"),
            ));
        }
    }
    Ok(())
}

/// What the header says of them.
pub fn prototypes(functions: &BTreeMap<Name, (&ForeignType, Span)>) -> String {
    if functions.is_empty() {
        return String::new();
    }
    let mut structs = Structs::default();
    let mut lines = String::new();
    for (name, (function, _)) in functions {
        let mut params = Vec::new();
        declare(&function.result, "result", Way::Out, &mut structs, &mut params);
        for (at, param) in function.params.iter().enumerate() {
            declare(param, &format!("x{at}"), Way::In, &mut structs, &mut params);
        }
        let list = match params.is_empty() {
            true => "void".to_string(),
            false => params.join(", "),
        };
        lines.push_str(&format!("void {name}({list});\n"));
    }
    format!(
        "\n{}/* C functions that this file calls; whoever links it provides them. Results are written through the first pointers, their\n \
         * arrays allocated with malloc. They may be called from several threads at once. */\n{lines}",
        structs.text
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// The parameters that pass a value.
fn declare(ty: &ValueType, name: &str, way: Way, structs: &mut Structs, params: &mut Vec<String>) {
    let star = if way == Way::Out { "*" } else { "" };
    match ty {
        ValueType::Scalar(scalar) => params.push(format!("{} {star}{name}", plain(*scalar))),
        _ if parts(ty).is_some_and(|parts| parts.is_empty()) => {}
        _ if parts(ty).is_some() => params.push(format!("struct {} {star}{name}", structs.name(ty))),
        _ => {
            let mut sizes = 0;
            for slot in array_slots(ty) {
                params.push(match slot {
                    ArraySlot::Size => {
                        sizes += 1;
                        format!("int64_t {star}{}", size_name(name, sizes))
                    }
                    ArraySlot::Data(scalar, at) => {
                        let cell = scalar_c_name(scalar);
                        match way {
                            Way::In => format!("const {cell} *{}", data_name(name, at)),
                            Way::Out => format!("{cell} **{}", data_name(name, at)),
                        }
                    }
                });
            }
        }
    }
}

fn size_name(name: &str, number: usize) -> String {
    match number {
        1 => format!("{name}_size"),
        _ => format!("{name}_size_{number}"),
    }
}

fn data_name(name: &str, at: usize) -> String {
    match at {
        0 => format!("{name}_data"),
        _ => format!("{name}_data_{at}"),
    }
}

/// A scalar as C functions take it.
fn plain(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "int",
        other => scalar_c_name(other),
    }
}

/// The components of a tuple or record.
fn parts(ty: &ValueType) -> Option<Vec<&ValueType>> {
    match ty {
        ValueType::Tuple(parts) => Some(parts.iter().collect()),
        ValueType::Record(fields) => Some(fields.iter().map(|(_, field)| field).collect()),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum ArraySlot {
    Size,
    /// A pointer, and how many were before it.
    Data(ScalarType, usize),
}

/// The slots of an array.
fn array_slots(ty: &ValueType) -> Vec<ArraySlot> {
    fn walk(ty: &ValueType, pointers: &mut usize, slots: &mut Vec<ArraySlot>) {
        match ty {
            ValueType::Array(_, element) => {
                slots.push(ArraySlot::Size);
                walk(element, pointers, slots);
            }
            ValueType::Scalar(scalar) | ValueType::Vector(_, scalar) => {
                slots.push(ArraySlot::Data(*scalar, *pointers));
                *pointers += 1;
            }
            other => {
                for part in parts(other).unwrap_or_default() {
                    walk(part, pointers, slots);
                }
            }
        }
    }
    let mut slots = Vec::new();
    walk(ty, &mut 0, &mut slots);
    slots
}

/// Structs of tuples. They are named after their types, so that several headers, and files of the user's, may define them.
#[derive(Default)]
struct Structs {
    known: BTreeSet<String>,
    text: String,
}

impl Structs {
    /// The struct of a tuple, which is defined where it was not yet.
    fn name(&mut self, ty: &ValueType) -> String {
        let name = struct_name(ty);
        if self.known.insert(name.clone()) {
            let mut fields = Vec::new();
            for (at, part) in parts(ty).unwrap_or_default().into_iter().enumerate() {
                let field = format!("v{at}");
                match part {
                    ValueType::Array(..) => {
                        let mut sizes = 0;
                        for slot in array_slots(part) {
                            fields.push(match slot {
                                ArraySlot::Size => {
                                    sizes += 1;
                                    format!("int64_t {}", size_name(&field, sizes))
                                }
                                ArraySlot::Data(scalar, at) => {
                                    format!("{} *{}", scalar_c_name(scalar), data_name(&field, at))
                                }
                            });
                        }
                    }
                    other => declare(other, &field, Way::In, self, &mut fields),
                }
            }
            let guard = name.to_ascii_uppercase();
            let fields: String = fields.iter().map(|field| format!("  {field};\n")).collect();
            self.text.push_str(&format!(
                "#ifndef {guard}\n#define {guard}\nstruct {name} {{\n{fields}}};\n#endif\n\n"
            ));
        }
        name
    }
}

/// `almach_tuple_i32_f64`.
fn struct_name(ty: &ValueType) -> String {
    fn code(ty: &ValueType) -> String {
        match ty {
            ValueType::Array(_, element) => format!("array_{}", code(element)),
            ValueType::Scalar(scalar) | ValueType::Vector(_, scalar) => scalar.to_string(),
            other => {
                let parts: Vec<String> = parts(other).unwrap_or_default().into_iter().map(code).collect();
                format!("tuple_{}_end", parts.join("_"))
            }
        }
    }
    let name = format!("almach_{}", code(ty));
    name.strip_suffix("_end").map_or(name.clone(), str::to_owned)
}

/// An array that a function gave.
struct Given {
    data: CExpr,
    /// The sizes whose product is the number of cells.
    sizes: Vec<CExpr>,
    buffer: Name,
}

/// What is known while a call is printed.
#[derive(Default)]
struct Results {
    before: Vec<CStmt>,
    pointers: Vec<CExpr>,
    arrays: Vec<Given>,
    sizes: Vec<CExpr>,
    /// What goes to variables once all is well.
    after: Vec<(Name, CExpr)>,
}

impl Emitter<'_> {
    pub fn foreign(
        &mut self,
        function: &ForeignType,
        arguments: &[Argument],
        span: Span,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let mut rest = arguments.iter();
        let mut values = Vec::new();
        for param in &function.params {
            self.foreign_value(param, &mut rest, &mut values)?;
        }
        let mut results = Results::default();
        self.foreign_result(&function.result, &mut rest, &mut results)?;
        let mut block = std::mem::take(&mut results.before);
        let arguments: Vec<CExpr> = results.pointers.drain(..).chain(values).collect();
        block.push(CStmt::Do(CExpr::call(function.name.to_string(), arguments)));
        self.take_arrays(&results, span, &mut block)?;
        for (name, value) in results.after {
            block.push(CStmt::Assign(self.variable(&name)?, value));
        }
        out.push(CStmt::Block(block));
        Ok(())
    }

    /// An argument as C's.
    fn foreign_value<'s>(
        &mut self,
        ty: &ValueType,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        values: &mut Vec<CExpr>,
    ) -> Emit<()> {
        match ty {
            ValueType::Scalar(_) => values.push(self.passed(arguments.next())?),
            _ if parts(ty).is_some() => {
                let all = parts(ty).unwrap_or_default();
                let mut fields = Vec::new();
                for part in &all {
                    match part {
                        ValueType::Array(..) => {
                            for slot in array_slots(part) {
                                let value = self.passed(arguments.next())?;
                                fields.push(match slot {
                                    ArraySlot::Size => value,
                                    ArraySlot::Data(scalar, _) => {
                                        CExpr::cast(CType::Scalar(scalar).pointer(), value)
                                    }
                                });
                            }
                        }
                        other => self.foreign_value(other, arguments, &mut fields)?,
                    }
                }
                if !all.is_empty() {
                    let fields: Vec<String> = fields.iter().map(crate::print::expression).collect();
                    let text = format!("(struct {}){{{}}}", struct_name(ty), fields.join(", "));
                    values.push(CExpr::literal(text));
                }
            }
            _ => {
                for _ in array_slots(ty) {
                    values.push(self.passed(arguments.next())?);
                }
            }
        }
        Ok(())
    }

    /// A slot of an argument.
    pub fn passed(&mut self, argument: Option<&Argument>) -> Emit<CExpr> {
        match argument {
            Some(Argument::Value(value)) => self.expr(value),
            Some(Argument::Buffer(buffer, index)) => self.buffer_from(buffer, index),
            _ => Err(self.bug("an argument that is no slot")),
        }
    }

    /// Variables for a result, which the function gets pointers to.
    fn foreign_result<'s>(
        &mut self,
        ty: &ValueType,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        results: &mut Results,
    ) -> Emit<()> {
        if parts(ty).is_some_and(|parts| parts.is_empty()) {
            return Ok(());
        }
        let whole = self.scope.fresh("result");
        let address = |name: &str| CExpr::unary(CUnary::Address, CExpr::name(name));
        match ty {
            ValueType::Scalar(scalar) => {
                results.before.push(CStmt::Declare {
                    ty: CType::Named(plain(*scalar).into()),
                    name: whole.clone(),
                    value: Some(CExpr::literal("0")),
                });
                results.pointers.push(address(&whole));
                self.given_scalar(*scalar, arguments.next(), CExpr::name(whole), results)
            }
            _ if parts(ty).is_some() => {
                results.before.push(CStmt::Declare {
                    ty: CType::Named(format!("struct {}", struct_name(ty))),
                    name: whole.clone(),
                    value: Some(CExpr::literal("{0}")),
                });
                results.pointers.push(address(&whole));
                self.given_tuple(ty, CExpr::name(whole), arguments, results)
            }
            _ => {
                let mut sizes = 0;
                let mut places = Vec::new();
                for slot in array_slots(ty) {
                    let (ty, name, value) = match slot {
                        ArraySlot::Size => {
                            sizes += 1;
                            (CType::Scalar(ScalarType::I64), size_name(&whole, sizes), "0")
                        }
                        ArraySlot::Data(scalar, at) => {
                            (CType::Scalar(scalar).pointer(), data_name(&whole, at), "NULL")
                        }
                    };
                    let name = self.scope.fresh(&name);
                    results.before.push(CStmt::Declare {
                        ty,
                        name: name.clone(),
                        value: Some(CExpr::literal(value)),
                    });
                    results.pointers.push(address(&name));
                    places.push(CExpr::name(name));
                }
                self.given_array(ty, &mut places.into_iter(), arguments, results)
            }
        }
    }

    fn given_scalar(
        &mut self,
        scalar: ScalarType,
        argument: Option<&Argument>,
        place: CExpr,
        results: &mut Results,
    ) -> Emit<()> {
        let Some(Argument::Out(name)) = argument else {
            return Err(self.bug("a result without a variable"));
        };
        let value = match scalar {
            ScalarType::Bool => CExpr::binary(CBinary::NotEqual, place, CExpr::literal("0")),
            _ => place,
        };
        results.after.push((name.clone(), value));
        Ok(())
    }

    fn given_tuple<'s>(
        &mut self,
        ty: &ValueType,
        place: CExpr,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        results: &mut Results,
    ) -> Emit<()> {
        for (at, part) in parts(ty).unwrap_or_default().into_iter().enumerate() {
            let field = format!("v{at}");
            match part {
                ValueType::Scalar(scalar) => {
                    self.given_scalar(*scalar, arguments.next(), place.clone().dot(&field), results)?;
                }
                ValueType::Array(..) => {
                    let mut sizes = 0;
                    let places: Vec<CExpr> = array_slots(part)
                        .into_iter()
                        .map(|slot| match slot {
                            ArraySlot::Size => {
                                sizes += 1;
                                place.clone().dot(&size_name(&field, sizes))
                            }
                            ArraySlot::Data(_, at) => place.clone().dot(&data_name(&field, at)),
                        })
                        .collect();
                    self.given_array(part, &mut places.into_iter(), arguments, results)?;
                }
                other => self.given_tuple(other, place.clone().dot(&field), arguments, results)?,
            }
        }
        Ok(())
    }

    fn given_array<'s>(
        &mut self,
        ty: &ValueType,
        places: &mut impl Iterator<Item = CExpr>,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        results: &mut Results,
    ) -> Emit<()> {
        fn walk(
            ty: &ValueType,
            around: &[CExpr],
            places: &mut dyn Iterator<Item = CExpr>,
            arguments: &mut dyn Iterator<Item = &Argument>,
            results: &mut Results,
        ) -> Option<()> {
            match ty {
                ValueType::Array(_, element) => {
                    let place = places.next()?;
                    let Argument::Out(name) = arguments.next()? else {
                        return None;
                    };
                    results.sizes.push(place.clone());
                    results.after.push((name.clone(), place.clone()));
                    let mut inside = around.to_vec();
                    inside.push(place);
                    walk(element, &inside, places, arguments, results)
                }
                ValueType::Scalar(_) | ValueType::Vector(..) => {
                    let Argument::Owned(buffer) = arguments.next()? else {
                        return None;
                    };
                    let mut sizes = around.to_vec();
                    if let ValueType::Vector(width, _) = ty {
                        sizes.push(CExpr::literal(width.to_string()));
                    }
                    results.arrays.push(Given {
                        data: places.next()?,
                        sizes,
                        buffer: buffer.clone(),
                    });
                    Some(())
                }
                other => parts(other)
                    .unwrap_or_default()
                    .into_iter()
                    .try_for_each(|part| walk(part, around, places, arguments, results)),
            }
        }
        match walk(ty, &[], places, arguments, results) {
            Some(()) => Ok(()),
            None => Err(self.bug("a result without a place")),
        }
    }

    /// Checks what a function gave, and copies its arrays into blocks.
    fn take_arrays(&mut self, results: &Results, span: Span, out: &mut Vec<CStmt>) -> Emit<()> {
        let site = |failure: Failure| Site {
            code: failure.code(),
            span,
            text: failure.text().into(),
        };
        let freed = |from: usize| -> Vec<CStmt> {
            let rest = results.arrays.iter().skip(from);
            rest.map(|given| CStmt::Do(CExpr::call("free", [given.data.clone()])))
                .collect()
        };
        for size in &results.sizes {
            let negative = CExpr::binary(CBinary::Less, size.clone(), CExpr::literal("0"));
            let mut failed = freed(0);
            failed.extend(self.failure(&site(Failure::ForeignSize), vec![(size.clone(), ScalarType::I64)])?);
            out.push(CStmt::when(negative, failed));
        }
        let mut counts = Vec::new();
        for given in &results.arrays {
            let mut sizes = given.sizes.iter().cloned();
            let mut count = sizes.next().unwrap_or(CExpr::literal("0"));
            for size in sizes {
                count = CExpr::call(self.helpers.need(Helper::SizeProduct), [count, size]);
            }
            let missing = CExpr::binary(
                CBinary::And,
                CExpr::binary(CBinary::Greater, count.clone(), CExpr::literal("0")),
                CExpr::binary(CBinary::Equal, given.data.clone(), CExpr::name("NULL")),
            );
            let mut failed = freed(0);
            failed.extend(self.failure(
                &site(Failure::ForeignData),
                vec![(count.clone(), ScalarType::I64)],
            )?);
            out.push(CStmt::when(missing, failed));
            counts.push(count);
        }
        self.allocates |= !results.arrays.is_empty();
        for (at, (given, count)) in results.arrays.iter().zip(counts).enumerate() {
            let (c_name, storage) = self.heap(&given.buffer)?;
            if storage != (Storage::Heap { reused: false }) {
                let released = self.release(&c_name)?;
                out.push(released);
            }
            let cell = CExpr::SizeOfCell(Box::new(CExpr::name(c_name.clone())));
            let adopt = self.helpers.need(Helper::Adopt);
            let owner = self.context()?;
            let block = CExpr::call(adopt, [owner, given.data.clone(), count.clone(), cell]);
            out.push(CStmt::Assign(CExpr::name(c_name.clone()), block));
            let mut failed = freed(at + 1);
            let memory = Site {
                code: runtime::OUT_OF_MEMORY,
                ..site(Failure::OutOfMemory)
            };
            failed.extend(self.failure(&memory, vec![(count, ScalarType::I64)])?);
            let none = CExpr::binary(CBinary::Equal, CExpr::name(c_name), CExpr::name("NULL"));
            out.push(CStmt::when(none, failed));
        }
        Ok(())
    }
}
