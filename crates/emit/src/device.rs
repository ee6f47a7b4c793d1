//! Kernels: functions of the device, printed once in a language that is both OpenCL C and CUDA C++ (`device/prelude.cl`), and what
//! the host does to start them.
//!
//! ```text
//! kernel main_1 {                        KERNEL void main_1(volatile GLOBAL struct mailbox *box, const int32_t launch,
//!   par for i < n {                          const int64_t n, GLOBAL const float *restrict xs, GLOBAL float *restrict ys) {
//!     ys[i] = xs[i] + 1.0f32      ~~>      const int64_t i = WORK_ITEM;
//!   }                                      if (i >= n) return;
//! }                                        ys[i] = xs[i] + 1.0f;
//!                                        }
//! ```
//!
//! Scalars that a kernel of one work-item assigns go through a mailbox, and so do failures: of several work-items' that of the least
//! iteration stays. Kernels behind one that failed do nothing ([`failures`]).

mod failures;
mod group;
mod transfers;

use crate::KernelCode;
use crate::helpers::{Helper, Helpers};
use crate::index::{Arithmetic, integer};
use crate::kernel_copies::COPIED;
use crate::kernel_rows::{self, Columns};
use crate::names::Scope;
use crate::procedure::{Emitter, Known, Region, Repeated, Role};
use crate::tree::{CBinary, CExpr, CFunction, CParam, CStmt, CType, CUnary, Linkage, scalar_c_name};
use crate::{Form, Target, nvcc, print};
use almach_base::{Diagnostic, Name};
use almach_imp::{Access, Expr, Index, LoopMode, Proc, Stmt, Touched, Width, is_column};
use almach_value::{ScalarType, UnOp};
pub use failures::{behind_failures, kernels_fail};
use group::group;
use std::collections::{HashMap, HashSet};
pub use transfers::passing;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// The kernels of a file.
#[derive(Default)]
pub struct Kernels {
    pub helpers: Helpers,
    functions: Vec<CFunction>,
    /// Functions of the user's.
    foreign: Option<String>,
    scope: Option<Scope>,
    /// The most scalars that one kernel gives.
    results: usize,
    pub columns: Columns,
}

/// Where code runs that is printed.
#[derive(Clone, PartialEq, Debug)]
pub enum Side {
    Host,
    /// In a work-item, of this iteration.
    Kernel {
        at: CExpr,
    },
}

/// A buffer's cells in the device's memory. A `bool` is a byte there.
fn global_pointer(ty: ScalarType, access: Access) -> CType {
    let constant = match access {
        Access::Read => "const ",
        Access::Write => "",
    };
    CType::Named(format!("GLOBAL {constant}{} *", kernel_type(ty)))
}

fn kernel_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "uint8_t",
        _ => scalar_c_name(ty),
    }
}

/// What may have happened before a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Failures,
}

/// What a kernel gets, in the order of its parameters.
struct Border {
    before: Before,
    scalars: Vec<Name>,
    results: Vec<Name>,
    cells: Vec<(Name, Access)>,
}

impl Border {
    fn of(body: &[Stmt], before: Before) -> Border {
        let touched = Touched::of(body);
        let results: Vec<Name> = touched.results().cloned().collect();
        let mut scalars: Vec<Name> = touched.free_scalars().cloned().collect();
        // What is assigned under a condition only keeps its value otherwise.
        let others: Vec<Name> = results
            .iter()
            .filter(|name| !scalars.contains(name))
            .cloned()
            .collect();
        scalars.extend(others);
        Border {
            before,
            scalars,
            results,
            cells: touched
                .free_cells()
                .map(|(name, access)| (name.clone(), access))
                .collect(),
        }
    }
}

/// The loop whose iterations are work-items.
fn lanes(body: &[Stmt]) -> Option<(&Name, Width, &Index, &[Stmt])> {
    body.iter().find_map(|stmt| match stmt {
        Stmt::For {
            index,
            width,
            count,
            mode: LoopMode::Par | LoopMode::Chain,
            body,
        } => Some((index, *width, count, body.as_slice())),
        _ => None,
    })
}

impl Emitter<'_> {
    /// Starts a kernel, and takes what it gives.
    pub fn kernel(&mut self, name: &Name, body: &[Stmt], out: &mut Vec<CStmt>) -> Emit<()> {
        let before = match self.unit.behind_failures.contains(name) {
            true => Before::Failures,
            false => Before::Nothing,
        };
        let border = Border::of(body, before);
        let number = self.kernel_function(name, body, &border)?;
        let (items, of_group) = match lanes(body) {
            Some((_, _, count, inner)) => match group(inner) {
                Some(group) => (
                    self.index(&(count * group.items), Arithmetic::Wrapping),
                    self.index(group.items, Arithmetic::Wrapping),
                ),
                None => (self.index(count, Arithmetic::Wrapping), integer(0)),
            },
            None => (integer(1), integer(0)),
        };
        let mut arguments = Vec::new();
        for name in &border.scalars {
            arguments.push(self.scalar_argument(name, out)?);
        }
        for (name, access) in &border.cells {
            arguments.push(match is_column(name) {
                true => self.rows_argument(name, *access, body)?,
                false => self.cells_argument(name, *access)?,
            });
        }
        let count = arguments.len();
        let arguments = match count {
            0 => CExpr::name("NULL"),
            _ => CExpr::Cells(CType::Named("struct argument".into()), arguments),
        };
        let context = self.context()?;
        let launch = CExpr::call(
            "launch",
            [
                context.clone(),
                CExpr::literal(number.to_string()),
                items,
                of_group,
                arguments,
                CExpr::literal(count.to_string()),
            ],
        );
        self.or_fail(launch, out)?;
        if border.results.is_empty() {
            return Ok(());
        }
        self.or_fail(CExpr::call("collect", [context.clone()]), out)?;
        let box_ = context.arrow("device").arrow("box").dot("results");
        for (at, name) in border.results.iter().enumerate() {
            let raw = box_.clone().at(CExpr::literal(at.to_string()));
            let value = self.value_of_raw(raw, self.known(name)?.ty);
            out.push(CStmt::Assign(self.variable(name)?, value));
        }
        Ok(())
    }

    /// `if (call != 0) goto failed;`
    fn or_fail(&mut self, call: CExpr, out: &mut Vec<CStmt>) -> Emit<()> {
        let region = self.region()?;
        region.jumps = true;
        let jump = CStmt::Goto(region.label.clone());
        let failed = CExpr::binary(CBinary::NotEqual, call, CExpr::literal("0"));
        out.push(CStmt::when(failed, vec![jump]));
        Ok(())
    }

    fn scalar_argument(&mut self, name: &Name, out: &mut Vec<CStmt>) -> Emit<CExpr> {
        let mut value = self.variable(name)?;
        // Of a loop's index C may have half only.
        if self.narrow.contains(name) {
            let wide = self.scope.fresh(&format!("{name}_wide"));
            out.push(CStmt::Declare {
                ty: CType::Scalar(ScalarType::I64).constant(),
                name: wide.clone(),
                value: Some(value),
            });
            value = CExpr::name(wide);
        }
        let size = CExpr::call("sizeof", [value.clone()]);
        Ok(CExpr::call(
            "scalar",
            [CExpr::unary(CUnary::Address, value), size],
        ))
    }

    fn cells_argument(&mut self, name: &Name, access: Access) -> Emit<CExpr> {
        let known = self.known(name)?;
        let cells = CExpr::name(known.c_name.clone());
        let passing = CExpr::name(passing(access));
        Ok(match known.role {
            Role::Buffer(None) => {
                let cell = CExpr::SizeOfCell(Box::new(cells.clone()));
                CExpr::call("part_of", [cells, cell, passing])
            }
            _ => CExpr::call("block_of", [cells, passing]),
        })
    }

    /// A scalar that the mailbox has in 64 bits.
    fn value_of_raw(&mut self, raw: CExpr, ty: ScalarType) -> CExpr {
        let bits = |this: &mut Self, bits: ScalarType, raw: CExpr| {
            let function = this.helpers.need(Helper::Unary(UnOp::FromBits, bits));
            CExpr::call(function, [CExpr::cast(CType::Scalar(bits), raw)])
        };
        match ty {
            ScalarType::F32 => bits(self, ScalarType::U32, raw),
            ScalarType::F64 => bits(self, ScalarType::U64, raw),
            ScalarType::Bool => CExpr::binary(CBinary::NotEqual, raw, CExpr::literal("0")),
            _ => CExpr::cast(CType::Scalar(ty), raw),
        }
    }

    /// The function of a kernel; its number.
    fn kernel_function(&mut self, name: &Name, body: &[Stmt], border: &Border) -> Emit<usize> {
        let Some(kernels) = self.kernels.take() else {
            return Err(self.bug("a kernel inside a kernel"));
        };
        let mut scope = kernels.scope.take().unwrap_or_else(Scope::kernels);
        let c_name = scope.fresh_function(name);
        let types: Vec<ScalarType> = border
            .scalars
            .iter()
            .map(|name| Ok(self.known(name)?.ty))
            .collect::<Emit<_>>()?;
        let mut buffers = Vec::new();
        for (name, access) in &border.cells {
            let known = self.known(name)?;
            buffers.push((name.clone(), *access, known.ty, known.role == Role::Buffer(None)));
        }
        let mut inner = Emitter {
            unit: self.unit,
            helpers: &mut kernels.helpers,
            sites: self.sites,
            uses: self.uses,
            proc_name: self.proc_name.clone(),
            frame: None,
            names: HashMap::new(),
            narrow: HashSet::new(),
            reserved: HashSet::new(),
            facts: self.facts.clone(),
            scope: scope.clone(),
            rooms: HashMap::new(),
            locals: HashSet::new(),
            regions: vec![Region {
                label: "failed".into(),
                jumps: false,
                settles: false,
                buffers: Vec::new(),
                context: CExpr::name("box"),
            }],
            span: self.span,
            shown: None,
            at_region_level: true,
            arithmetic: Arithmetic::Wrapping,
            allocates: false,
            chain: None,
            repeated: Repeated::No,
            outputs: None,
            loops_around: 0,
            calls: Vec::new(),
            angles: None,
            side: Side::Kernel { at: integer(0) },
            kernels: None,
        };
        let function = inner.kernel_text(&c_name, body, border, &types, &buffers);
        let results = border.results.len();
        kernels.results = kernels.results.max(results);
        kernels.scope = Some(scope);
        let number = kernels.functions.len();
        let function = function.map(|function| kernels.functions.push(function));
        self.kernels = Some(kernels);
        function.map(|()| number)
    }

    fn kernel_text(
        &mut self,
        c_name: &str,
        body: &[Stmt],
        border: &Border,
        types: &[ScalarType],
        buffers: &[(Name, Access, ScalarType, bool)],
    ) -> Emit<CFunction> {
        let (mut params, mut stmts) = (Vec::new(), Vec::new());
        let fixed = [
            ("volatile GLOBAL struct mailbox *", "box"),
            ("const int32_t", "launch"),
        ];
        for (ty, name) in fixed {
            params.push(CParam {
                ty: CType::Named(ty.into()),
                name: name.to_string(),
            });
        }
        for (name, ty) in border.scalars.iter().zip(types) {
            self.scalar_param(name, *ty, border.results.contains(name), &mut params, &mut stmts);
        }
        for (name, access, ty, is_part) in buffers {
            self.cells_param(name, *access, *ty, *is_part, &mut params, &mut stmts);
        }
        match lanes(body) {
            Some((index, width, count, inner)) => {
                let c_count = self.index(count, Arithmetic::Wrapping);
                let c_index = self.bind(index, ScalarType::I64, Role::Constant);
                if count.free_vars().all(|var| self.stays(var)) {
                    self.facts.enter_loop(index, count);
                }
                if let Some(group) = group(inner) {
                    let over =
                        || CExpr::call("has_failed_before", [CExpr::name("box"), CExpr::name("launch")]);
                    stmts.extend(border.before.unless(over));
                    self.group_text(&group, &c_index, &mut stmts)?;
                    return Ok(self.kernel_of(c_name, params, stmts));
                }
                self.side = Side::Kernel {
                    at: CExpr::name(c_index.clone()),
                };
                stmts.extend(work_item(&c_index, width, c_count));
                stmts.extend(border.before.unless(|| is_over(CExpr::name(&*c_index))));
                if width == Width::W32 {
                    self.narrow.insert(index.clone());
                }
                stmts.extend(self.block(inner)?);
            }
            None => {
                stmts.extend(border.before.unless(|| is_over(integer(0))));
                stmts.extend(self.block(body)?);
            }
        }
        for (at, name) in border.results.iter().enumerate() {
            let ty = self.known(name)?.ty;
            let value = self.variable(name)?;
            let place = CExpr::name("box")
                .arrow("results")
                .at(CExpr::literal(at.to_string()));
            let raw = self.raw(value, ty);
            stmts.push(CStmt::Assign(place, raw));
        }
        Ok(self.kernel_of(c_name, params, stmts))
    }

    fn kernel_of(&self, c_name: &str, params: Vec<CParam>, stmts: Vec<CStmt>) -> CFunction {
        let returns = CStmt::Return(None);
        CFunction {
            linkage: Linkage::External,
            result: CType::Named("KERNEL void".into()),
            name: c_name.to_string(),
            params,
            body: stmts
                .into_iter()
                .map(|stmt| stmt.with_goto("failed", &returns))
                .collect(),
        }
    }

    fn scalar_param(
        &mut self,
        name: &Name,
        ty: ScalarType,
        is_result: bool,
        params: &mut Vec<CParam>,
        stmts: &mut Vec<CStmt>,
    ) {
        let c_type = CType::Named(kernel_type(ty).into());
        if !is_result {
            let c_name = self.bind(name, ty, Role::Constant);
            params.push(CParam {
                ty: c_type.constant(),
                name: c_name,
            });
            return;
        }
        let given = self.scope.fresh(&format!("{name}_in"));
        let c_name = self.bind(name, ty, Role::Variable);
        params.push(CParam {
            ty: c_type.constant(),
            name: given.clone(),
        });
        stmts.push(CStmt::Declare {
            ty: CType::Scalar(ty),
            name: c_name,
            value: Some(CExpr::name(given)),
        });
    }

    fn cells_param(
        &mut self,
        name: &Name,
        access: Access,
        ty: ScalarType,
        is_part: bool,
        params: &mut Vec<CParam>,
        stmts: &mut Vec<CStmt>,
    ) {
        let pointer = global_pointer(ty, access);
        let restricted = |name: &str| format!("restrict {name}");
        let c_name = self.scope.fresh(name);
        self.names.insert(
            name.clone(),
            Known {
                c_name: c_name.clone(),
                ty,
                role: Role::Buffer(None),
            },
        );
        if !is_part {
            params.push(CParam {
                ty: pointer,
                name: restricted(&c_name),
            });
            return;
        }
        let block = self.scope.fresh(&format!("{name}_block"));
        let from = self.scope.fresh(&format!("{name}_from"));
        params.push(CParam {
            ty: pointer.clone(),
            name: restricted(&block),
        });
        params.push(CParam {
            ty: CType::Scalar(ScalarType::I64).constant(),
            name: from.clone(),
        });
        let first = CExpr::call("PART", [CExpr::name(block), CExpr::name(from)]);
        stmts.push(CStmt::Declare {
            ty: pointer,
            name: c_name,
            value: Some(first),
        });
    }

    /// `{ const uint64_t values[] = {…}; fail(box, launch, i, 3, 1, values); goto failed; }`
    pub fn kernel_failure(&mut self, at: CExpr, number: usize, raw: Vec<CExpr>) -> Emit<Vec<CStmt>> {
        let region = self.region()?;
        region.jumps = true;
        let label = region.label.clone();
        let count = raw.len();
        let texts: Vec<String> = raw.iter().map(print::expression).collect();
        let values = match count {
            0 => CExpr::literal("(const uint64_t *)0"),
            _ => CExpr::name("values"),
        };
        let mut stmts = Vec::new();
        if count > 0 {
            stmts.push(CStmt::Declare {
                ty: CType::Named("const uint64_t".into()),
                name: "values[]".into(),
                value: Some(CExpr::literal(format!("{{{}}}", texts.join(", ")))),
            });
        }
        stmts.push(CStmt::Do(CExpr::call(
            "fail",
            [
                CExpr::name("box"),
                CExpr::name("launch"),
                at,
                CExpr::literal(number.to_string()),
                CExpr::literal(count.to_string()),
                values,
            ],
        )));
        stmts.push(CStmt::Goto(label));
        Ok(stmts)
    }

    /// A copy inside a kernel, cell by cell.
    pub fn kernel_copy(
        &mut self,
        [to, from]: [&Name; 2],
        [to_index, from_index]: [&Index; 2],
        count: &Index,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let cell = self.known(to)?.ty;
        self.count_in_kernel(cell, count, out);
        let index = Name::from(self.scope.fresh("cell"));
        let at = Index::var(index.clone());
        let copy = Stmt::For {
            index,
            width: Width::W64,
            count: count.clone(),
            mode: LoopMode::Seq,
            body: vec![Stmt::Store {
                buffer: to.clone(),
                index: to_index + &at,
                value: Expr::Load(from.clone(), from_index + &at),
            }],
        };
        self.for_loop(&copy, out)
    }
}

/// The number of the work-item, which may be one too many.
fn work_item(index: &str, width: Width, count: CExpr) -> Vec<CStmt> {
    let ty = match width {
        Width::W32 => ScalarType::I32,
        Width::W64 => ScalarType::I64,
    };
    let item = match width {
        Width::W32 => CExpr::cast(CType::Scalar(ty), CExpr::name("WORK_ITEM")),
        Width::W64 => CExpr::name("WORK_ITEM"),
    };
    let too_many = CExpr::binary(CBinary::GreaterEqual, CExpr::name(index), count);
    vec![
        CStmt::Declare {
            ty: CType::Scalar(ty).constant(),
            name: index.to_string(),
            value: Some(item),
        },
        CStmt::when(too_many, vec![CStmt::Return(None)]),
    ]
}

fn is_over(at: CExpr) -> CExpr {
    CExpr::call("is_over", [CExpr::name("box"), CExpr::name("launch"), at])
}

impl Before {
    /// `if (…) return;` where an earlier kernel may have failed.
    fn unless(self, over: impl FnOnce() -> CExpr) -> Option<CStmt> {
        match self {
            Before::Nothing => None,
            Before::Failures => Some(CStmt::when(over(), vec![CStmt::Return(None)])),
        }
    }
}

const BLOCKS: &str = include_str!("device/blocks.c");
const CACHE: &str = include_str!("device/cache.c");
/// Arrays on the device between calls.
pub const ARRAYS: &str = include_str!("device/arrays.c");
pub const PRELUDE: &str = include_str!("device/prelude.cl");
const OPENCL: [&str; 2] = [
    include_str!("device/opencl.c"),
    include_str!("device/opencl_driver.c"),
];
const CUDA: [&str; 2] = [
    include_str!("device/cuda.c"),
    include_str!("device/cuda_driver.c"),
];

const NVCC: [&str; 2] = [
    include_str!("device/nvcc.c"),
    include_str!("device/nvcc_driver.c"),
];

/// Work-items of a group where nothing says how many.
const GROUP: usize = 256;

impl Kernels {
    pub fn new(code: &KernelCode, procs: &[&Proc]) -> Kernels {
        let mut scope = Scope::kernels();
        code.take_names(&mut scope);
        Kernels {
            foreign: code.source(procs.iter().copied()),
            scope: Some(scope),
            ..Kernels::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether there are functions of the user's in kernels.
    pub fn has_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    fn counts_copies(&self) -> bool {
        self.helpers.needs(Helper::CountCopied)
    }

    /// How many numbers kernels give through the mailbox; the last is what they copied, where that is counted.
    fn mailbox_results(&self) -> usize {
        self.results.max(1) + usize::from(self.counts_copies())
    }

    /// The source of all kernels, for the device's compiler.
    pub fn source(&self, values: usize) -> String {
        let mut parts = vec![
            PRELUDE
                .replace("VALUES", &values.to_string())
                .replace("RESULTS", &self.mailbox_results().to_string()),
        ];
        parts.extend(self.foreign.clone());
        parts.extend(self.helpers.kernel_texts());
        parts.extend(self.functions.iter().map(print::function));
        parts.join("\n")
    }

    /// The kernels for the device's compiler, as lines of text, or for nvcc, as they are.
    fn sources(&self, form: Form, values: usize) -> String {
        let source = self.source(values);
        if form == Form::Nvcc {
            let functions: String = self
                .functions
                .iter()
                .map(|function| format!("  (const void *)kernels::{},\n", function.name))
                .collect();
            let kernels = nvcc::kernels(&source);
            return format!("{kernels}static const void *const kernel_functions[] = {{\n{functions}}};\n\n");
        }
        let lines: String = source
            .lines()
            .map(|line| format!("  {},\n", print::string_literal(&format!("{line}\n"))))
            .collect();
        format!("/* The kernels. */\nstatic const char *const kernel_source[] = {{\n{lines}}};\n\n")
    }

    /// The host's side: the driver, blocks, and the kernels.
    pub fn runtime(&self, target: Target, form: Form, values: usize, kernels_fail: bool) -> String {
        let [types, driver] = match (form, target) {
            (Form::Nvcc, _) => NVCC,
            (Form::C, Target::Cuda) => CUDA,
            (Form::C, Target::C | Target::OpenMp | Target::OpenCl) => OPENCL,
        };
        let cache = match form {
            Form::Nvcc => "",
            Form::C => CACHE,
        };
        let names: String = self
            .functions
            .iter()
            .map(|function| format!("  {},\n", print::string_literal(&function.name)))
            .collect();
        let sources = format!(
            "{}static const char *const kernel_names[] = {{\n{names}}};\n\n",
            self.sources(form, values)
        );
        let columns = match self.columns.count() {
            0 => String::new(),
            columns => format!(", COLUMNS = {columns}"),
        };
        let constants = format!(
            "/* KERNELS_REPORT: whether the host looks after each call at what kernels have to say. */\n\
             enum {{ KERNELS = {}, GROUP = {GROUP}, KERNELS_REPORT = {}{columns} }};\n\n",
            self.functions.len(),
            u8::from(kernels_fail || self.counts_copies())
        );
        let wanted = WANTED_DEVICE;
        let [counter, field, collect, forget] = match self.counts_copies() {
            true => COPIED,
            false => [""; 4],
        };
        let blocks = BLOCKS
            .replace("VALUES", &values.to_string())
            .replace("RESULTS", &self.mailbox_results().to_string())
            .replace("COPIED\n", field)
            .replace("COLLECT\n", collect)
            .replace("FORGOTTEN\n", forget);
        let blocks = kernel_rows::filled(blocks, &self.columns);
        let [quickly, as_before] = match form {
            Form::Nvcc => [""; 2],
            Form::C => QUICKLY_COMPILED,
        };
        [
            quickly,
            &constants,
            types,
            wanted,
            counter,
            &blocks,
            "\n",
            &sources,
            cache,
            driver,
            KERNEL_TIME,
            as_before,
        ]
        .concat()
    }
}

/// Around what is the same in all programs, and for most of them longer than what is their own.
const QUICKLY_COMPILED: [&str; 2] = [
    r#"/* The host's side waits for the device: gcc need not spend its time on it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif

"#,
    r#"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"#,
];

const KERNEL_TIME: &str = r#"
int NAME_kernel_time(struct NAME_ctx *ctx, int number, const char **name, double *seconds, double *least, int64_t *count) {
  static const char *const others[] = {"to the device", "from the device", "all kernels of a call"};
  if (ctx->device == NULL || number < 0 || number >= MEASURED) return 1;
  *name = number < KERNELS ? kernel_names[number] : others[number - KERNELS];
  *seconds = ctx->device->times[number].seconds;
  *least = ctx->device->times[number].least;
  *count = ctx->device->times[number].count;
  return 0;
}
"#;

const WANTED_DEVICE: &str = r#"/* What the user says of the device; NULL where that is nothing. */
static const char *wanted_device(const struct NAME_ctx *ctx) {
  const char *const text = ctx->device_name[0] != 0 ? ctx->device_name : getenv("ALMACH_DEVICE");
  return text != NULL && text[0] != 0 ? text : NULL;
}

"#;
