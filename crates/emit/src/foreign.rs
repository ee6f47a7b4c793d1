//! C functions that programs call.
//!
//! `void f(results…, parameters…)`: a scalar is passed as it is (`bool` as `int`), a short vector as a pointer to its lanes, a tuple
//! or sum as a struct, an array as its sizes and a pointer per component, in the order of slots; rows of their own sizes have a
//! pointer to their offsets before. A result is a pointer to that; arrays in it come from `malloc`.

mod declare;
mod kernel_code;

use crate::analysis::Storage;
use crate::device::Side;
use crate::helpers::Helper;
use crate::names::{Scope, sanitise};
use crate::procedure::Emitter;
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use almach_base::codes::concreteness::FOREIGN_NAME;
use almach_base::codes::runtime;
use almach_base::{Diagnostic, Name, Span};
use almach_imp::{Argument, Proc, Site, Stmt};
use almach_value::{DimType, Failure, ForeignType, ScalarType, ValueType};
use declare::{Cells, Structs, Way, array_cells, declare, parts, plain, struct_name};
use std::collections::BTreeMap;

pub use kernel_code::KernelCode;

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
        if sanitise(name) != **name || scope.fresh_function(name) != **name {
            let message = format!("`{name}` cannot be the name of a C function here");
            return Err(Box::new(
                Diagnostic::error(FOREIGN_NAME, *span, message)
                    .label("called here")
                    .help(
                        "C, its library or the emitted file has a meaning for it: give the function another name in C, and \
                         declare that one",
                    ),
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
    let lines: String = functions
        .values()
        .map(|(function, _)| prototype(function, Way::In, &mut structs))
        .collect();
    format!(
        "\n{}/* C functions that this file calls; whoever links it provides them. Results are written through the first pointers, their\n \
         * arrays allocated with malloc. They may be called from several threads at once. */\n{lines}",
        structs.text
    )
}

/// `void f(double *result, double x0);`
fn prototype(function: &ForeignType, way: Way, structs: &mut Structs) -> String {
    let mut params = Vec::new();
    declare(&function.result, "result", Way::Out, structs, &mut params);
    for (at, param) in function.params.iter().enumerate() {
        declare(param, &format!("x{at}"), way, structs, &mut params);
    }
    let list = match params.is_empty() {
        true => "void".to_string(),
        false => params.join(", "),
    };
    format!("void {}({list});\n", function.name)
}

/// An array that a function gave.
struct Given {
    data: CExpr,
    /// The sizes whose product is the number of cells.
    sizes: Vec<CExpr>,
    /// Whether one of these sizes is the last of some offsets.
    counted: Counted,
    /// Where these are the offsets of so many rows: the variable that gets the last of them.
    total: Option<String>,
    buffer: Name,
}

/// When the number of cells is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Before,
    ByOffsets,
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
        let mut results = Results::default();
        for param in &function.params {
            self.foreign_value(param, &mut rest, &mut values, &mut results.before)?;
        }
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
        before: &mut Vec<CStmt>,
    ) -> Emit<()> {
        match ty {
            ValueType::Scalar(scalar) => {
                let value = self.passed(arguments.next())?;
                values.push(self.of_its_type(value, *scalar));
            }
            ValueType::Vector(width, scalar) => {
                let lanes = self.lanes(*width, *scalar, arguments)?;
                let ty = CType::Scalar(*scalar);
                values.push(match &self.side {
                    Side::Host => CExpr::Cells(ty, lanes),
                    Side::Kernel { .. } => {
                        let lanes: Vec<String> = lanes.iter().map(crate::print::expression).collect();
                        let size = format!("[{width}]");
                        self.named(ty.constant(), &size, lanes, before)
                    }
                });
            }
            ValueType::Array(..) => {
                for cells in array_cells(ty) {
                    let value = self.passed(arguments.next())?;
                    match cells {
                        Cells::Total => before.push(CStmt::unused(value)),
                        _ => values.push(value),
                    }
                }
            }
            _ => {
                let fields = self.foreign_fields(ty, arguments, before)?;
                if !fields.is_empty() {
                    let name = format!("struct {}", struct_name(ty));
                    values.push(match &self.side {
                        Side::Host => CExpr::literal(format!("({name}){{{}}}", fields.join(", "))),
                        Side::Kernel { .. } => self.named(CType::Named(name).constant(), "", fields, before),
                    });
                }
            }
        }
        Ok(())
    }

    /// A variable for what C++ has no expression for.
    fn named(&mut self, ty: CType, size: &str, parts: Vec<String>, before: &mut Vec<CStmt>) -> CExpr {
        let name = self.scope.fresh("passed");
        before.push(CStmt::Declare {
            ty,
            name: format!("{name}{size}"),
            value: Some(CExpr::literal(format!("{{{}}}", parts.join(", ")))),
        });
        CExpr::name(name)
    }

    /// C++ lets nothing become narrower between braces.
    fn of_its_type(&self, value: CExpr, scalar: ScalarType) -> CExpr {
        match &self.side {
            Side::Host => value,
            Side::Kernel { .. } => CExpr::cast(CType::Named(plain(scalar).into()), value),
        }
    }

    fn lanes<'s>(
        &mut self,
        width: u32,
        scalar: ScalarType,
        arguments: &mut impl Iterator<Item = &'s Argument>,
    ) -> Emit<Vec<CExpr>> {
        let mut lanes = Vec::new();
        for _ in 0..width {
            let lane = self.passed(arguments.next())?;
            lanes.push(match &self.side {
                Side::Host => lane,
                Side::Kernel { .. } => CExpr::cast(CType::Scalar(scalar), lane),
            });
        }
        Ok(lanes)
    }

    /// The fields of a struct, as they stand in its braces.
    fn foreign_fields<'s>(
        &mut self,
        ty: &ValueType,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        before: &mut Vec<CStmt>,
    ) -> Emit<Vec<String>> {
        let mut fields = Vec::new();
        for part in parts(ty).unwrap_or_default() {
            match part {
                ValueType::Array(..) => {
                    for cells in array_cells(part) {
                        let value = self.passed(arguments.next())?;
                        let value = match cells {
                            Cells::Total => {
                                before.push(CStmt::unused(value));
                                continue;
                            }
                            Cells::Size => value,
                            Cells::Offsets => CExpr::cast(CType::Scalar(ScalarType::I64).pointer(), value),
                            Cells::Data(scalar) => CExpr::cast(CType::Scalar(scalar).pointer(), value),
                        };
                        fields.push(crate::print::expression(&value));
                    }
                }
                ValueType::Vector(width, scalar) => {
                    let lanes = self.lanes(*width, *scalar, arguments)?;
                    let lanes: Vec<String> = lanes.iter().map(crate::print::expression).collect();
                    fields.push(format!("{{{}}}", lanes.join(", ")));
                }
                other => {
                    let mut values = Vec::new();
                    self.foreign_value(other, arguments, &mut values, before)?;
                    fields.extend(values.iter().map(crate::print::expression));
                }
            }
        }
        Ok(fields)
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
        if declare::is_nothing(ty) {
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
            ValueType::Vector(width, scalar) => {
                results.before.push(CStmt::Declare {
                    ty: CType::Scalar(*scalar),
                    name: format!("{whole}[{width}]"),
                    value: Some(CExpr::literal("{0}")),
                });
                results.pointers.push(CExpr::name(whole.clone()));
                self.given_lanes(*width, &CExpr::name(whole), arguments, results)
            }
            ValueType::Array(..) => {
                let mut names = declare::Names::of(&whole);
                let mut places = Vec::new();
                for cells in array_cells(ty) {
                    let Some(name) = names.next(cells) else {
                        continue;
                    };
                    let (ty, value) = match cells {
                        Cells::Size | Cells::Total => (CType::Scalar(ScalarType::I64), "0"),
                        Cells::Offsets => (CType::Scalar(ScalarType::I64).pointer(), "NULL"),
                        Cells::Data(scalar) => (CType::Scalar(scalar).pointer(), "NULL"),
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
            _ => {
                results.before.push(CStmt::Declare {
                    ty: CType::Named(format!("struct {}", struct_name(ty))),
                    name: whole.clone(),
                    value: Some(CExpr::literal("{0}")),
                });
                results.pointers.push(address(&whole));
                self.given_tuple(ty, CExpr::name(whole), arguments, results)
            }
        }
    }

    fn given_lanes<'s>(
        &mut self,
        width: u32,
        place: &CExpr,
        arguments: &mut impl Iterator<Item = &'s Argument>,
        results: &mut Results,
    ) -> Emit<()> {
        for lane in 0..width {
            let Some(Argument::Out(name)) = arguments.next() else {
                return Err(self.bug("a lane without a variable"));
            };
            let value = place.clone().at(CExpr::literal(lane.to_string()));
            results.after.push((name.clone(), value));
        }
        Ok(())
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
                ValueType::Vector(width, _) => {
                    self.given_lanes(*width, &place.clone().dot(&field), arguments, results)?;
                }
                ValueType::Array(..) => {
                    let mut names = declare::Names::of(&field);
                    let places = array_cells(part)
                        .into_iter()
                        .filter_map(|cells| Some(place.clone().dot(&names.next(cells)?)));
                    let places: Vec<CExpr> = places.collect();
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
        let totals = array_cells(ty)
            .into_iter()
            .filter(|cells| *cells == Cells::Total)
            .map(|_| self.scope.fresh("total"));
        let mut totals = totals.collect::<Vec<_>>().into_iter();
        let mut walk = Arrays {
            places,
            arguments,
            totals: &mut totals,
            results,
        };
        match walk.array(ty, &Around::default()) {
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
        for given in &results.arrays {
            if given.counted == Counted::Before {
                let failed = (freed(0), &site(Failure::ForeignData));
                self.check_data(given, failed, out)?;
            }
        }
        self.allocates |= !results.arrays.is_empty();
        for (at, given) in results.arrays.iter().enumerate() {
            if given.counted == Counted::ByOffsets {
                let failed = (freed(at), &site(Failure::ForeignData));
                self.check_data(given, failed, out)?;
            }
            let memory = Site {
                code: runtime::OUT_OF_MEMORY,
                ..site(Failure::OutOfMemory)
            };
            let c_name = self.adopt(given, freed(at + 1), &memory, out)?;
            if let Some(total) = &given.total {
                let rows = self.number_of(&given.sizes);
                out.push(CStmt::Declare {
                    ty: CType::Const(Box::new(CType::Scalar(ScalarType::I64))),
                    name: total.clone(),
                    value: Some(CExpr::name(c_name).at(rows)),
                });
                let negative = CExpr::binary(CBinary::Less, CExpr::name(total.clone()), CExpr::literal("0"));
                let mut failed = freed(at + 1);
                let value = (CExpr::name(total.clone()), ScalarType::I64);
                failed.extend(self.failure(&site(Failure::ForeignSize), vec![value])?);
                out.push(CStmt::when(negative, failed));
            }
        }
        Ok(())
    }

    /// The product of sizes.
    fn number_of(&mut self, sizes: &[CExpr]) -> CExpr {
        let mut sizes = sizes.iter().cloned();
        let mut count = sizes.next().unwrap_or(CExpr::literal("0"));
        for size in sizes {
            count = CExpr::call(self.helpers.need(Helper::SizeProduct), [count, size]);
        }
        count
    }

    /// How many cells an array has: there is one offset more than there are rows.
    fn cells_of(&mut self, given: &Given) -> CExpr {
        let count = self.number_of(&given.sizes);
        match given.total {
            None => count,
            Some(_) => CExpr::Conditional(
                Box::new(CExpr::binary(
                    CBinary::Less,
                    count.clone(),
                    CExpr::name("INT64_MAX"),
                )),
                Box::new(CExpr::binary(CBinary::Add, count.clone(), CExpr::literal("1"))),
                Box::new(count),
            ),
        }
    }

    /// Where there are cells there is memory for them.
    fn check_data(
        &mut self,
        given: &Given,
        (mut failed, site): (Vec<CStmt>, &Site),
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let count = self.cells_of(given);
        let none = CExpr::binary(CBinary::Equal, given.data.clone(), CExpr::name("NULL"));
        let missing = match given.total {
            Some(_) => none,
            None => {
                let some = CExpr::binary(CBinary::Greater, count.clone(), CExpr::literal("0"));
                CExpr::binary(CBinary::And, some, none)
            }
        };
        failed.extend(self.failure(site, vec![(count, ScalarType::I64)])?);
        out.push(CStmt::when(missing, failed));
        Ok(())
    }

    /// Copies what a function gave into a block.
    fn adopt(
        &mut self,
        given: &Given,
        mut failed: Vec<CStmt>,
        memory: &Site,
        out: &mut Vec<CStmt>,
    ) -> Emit<String> {
        let count = self.cells_of(given);
        let (c_name, storage) = self.heap(&given.buffer)?;
        if storage != (Storage::Heap { reused: false }) {
            let released = self.release(&given.buffer)?;
            out.push(released);
        }
        let cell = CExpr::SizeOfCell(Box::new(CExpr::name(c_name.clone())));
        let adopt = self.helpers.need(Helper::Adopt);
        let owner = self.context()?;
        let block = CExpr::call(adopt, [owner, given.data.clone(), count.clone(), cell]);
        out.push(CStmt::Assign(CExpr::name(c_name.clone()), block));
        failed.extend(self.failure(memory, vec![(count, ScalarType::I64)])?);
        let none = CExpr::binary(CBinary::Equal, CExpr::name(c_name.clone()), CExpr::name("NULL"));
        out.push(CStmt::when(none, failed));
        Ok(c_name)
    }
}

/// The sizes that a part of an array stands in, since the last offsets.
#[derive(Clone)]
struct Around {
    sizes: Vec<CExpr>,
    counted: Counted,
}

impl Default for Around {
    fn default() -> Around {
        Around {
            sizes: Vec::new(),
            counted: Counted::Before,
        }
    }
}

/// What is left of the places and variables of a result, as its arrays are walked.
struct Arrays<'r, 's> {
    places: &'r mut dyn Iterator<Item = CExpr>,
    arguments: &'r mut dyn Iterator<Item = &'s Argument>,
    totals: &'r mut dyn Iterator<Item = String>,
    results: &'r mut Results,
}

impl Arrays<'_, '_> {
    fn array(&mut self, ty: &ValueType, around: &Around) -> Option<()> {
        match ty {
            ValueType::Array(DimType::Jagged, element) if !around.sizes.is_empty() => {
                let total = self.totals.next()?;
                self.owned(around.sizes.clone(), around.counted, Some(total.clone()))?;
                let Argument::Out(name) = self.arguments.next()? else {
                    return None;
                };
                let total = CExpr::name(total);
                self.results.after.push((name.clone(), total.clone()));
                let inside = Around {
                    sizes: vec![total],
                    counted: Counted::ByOffsets,
                };
                self.array(element, &inside)
            }
            ValueType::Array(_, element) => {
                let place = self.places.next()?;
                let Argument::Out(name) = self.arguments.next()? else {
                    return None;
                };
                self.results.sizes.push(place.clone());
                self.results.after.push((name.clone(), place.clone()));
                let mut inside = around.clone();
                inside.sizes.push(place);
                self.array(element, &inside)
            }
            ValueType::Scalar(_) => self.owned(around.sizes.clone(), around.counted, None),
            ValueType::Vector(width, _) => {
                let mut sizes = around.sizes.clone();
                sizes.push(CExpr::literal(width.to_string()));
                self.owned(sizes, around.counted, None)
            }
            other => parts(other)
                .unwrap_or_default()
                .into_iter()
                .try_for_each(|part| self.array(part, around)),
        }
    }

    fn owned(&mut self, sizes: Vec<CExpr>, counted: Counted, total: Option<String>) -> Option<()> {
        let Argument::Owned(buffer) = self.arguments.next()? else {
            return None;
        };
        self.results.arrays.push(Given {
            data: self.places.next()?,
            sizes,
            counted,
            total,
            buffer: buffer.clone(),
        });
        Some(())
    }
}
