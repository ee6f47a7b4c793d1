//! The small functions that emitted code is made of where C's own operators mean something else: wrapping integers, defined
//! shifts, saturating conversions, the language's `min` and `max`. A file holds those it uses. Each says in C what
//! `almach_value::raw` says in Rust.

use crate::Accounting;
use crate::tree::scalar_c_name;
use almach_base::Name;
use almach_imp::Order;
use almach_value::ir_text::{binary_name, unary_name};
use almach_value::{BinOp, ScalarType, UnOp};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Helper {
    Unary(UnOp, ScalarType),
    Binary(BinOp, ScalarType),
    /// Floor division and its remainder, for indices.
    FloorDivision,
    FloorRemainder,
    /// The remainder by a positive number of what is mostly near its range: an index that wraps around.
    NearRemainder,
    /// Arithmetic on sizes that stays at the largest number once it is reached.
    SizeSum,
    SizeDifference,
    SizeProduct,
    /// Gives back the end of a block.
    Shrink(Accounting),
    /// Steps on cells that several threads use.
    AtomicLoad(Order, ScalarType),
    AtomicStore(Order, ScalarType),
    AtomicExchange(Order, ScalarType),
    AtomicUpdate(BinOp, Order, ScalarType),
    /// The next iteration of a chain.
    TakeNext,
    /// How long threads have something to do.
    Idle,
    Pause,
    /// Of kernels: counts bytes that are copied.
    CountCopied,
    /// Waits for a value of a cell; the other one gives up where an earlier iteration fails.
    Await(ScalarType),
    AwaitOrFailure(ScalarType),
    /// Copies what a foreign function allocated.
    Adopt,
    /// Text that becomes a line.
    Text,
    /// Floats as text.
    Digits,
    /// A scalar as text, in a line.
    Show(ScalarType),
    /// Stands before the loop over the lanes of a vector.
    Lanes,
    /// Puts those of some lanes that are kept side by side.
    Pack(ScalarType),
    /// Turns a square of eight rows of eight cells.
    Square(ScalarType),
    /// Copies past the caches, and waits until that is seen.
    CopyOut,
    CopiedOut,
    /// Sine and cosine of an angle, of what is left of it when quarter turns are taken off.
    Turned,
    NearSine,
    NearCosine,
    Sine,
    Cosine,
}

/// The helpers that a file needs.
#[derive(Clone, Default, Debug)]
pub struct Helpers {
    needed: BTreeSet<Helper>,
    /// Columns whose cells are used.
    pub columns: BTreeSet<Name>,
    /// Stores of which rows are reserved.
    pub reserved: BTreeSet<Name>,
    /// Whether a cell is settled.
    pub settles: bool,
    /// Whether one is settled in a row that nobody else knows yet.
    pub settles_own: bool,
    /// Whether there are atomic steps on local memory.
    pub local_atomics: bool,
}

impl Helpers {
    /// Notes that a helper is used; its name.
    pub fn need(&mut self, helper: Helper) -> String {
        if let Helper::Show(ty) = helper {
            self.needed.insert(Helper::Text);
            if ty.is_float() {
                self.needed.insert(Helper::Digits);
            }
        }
        match helper {
            Helper::NearSine | Helper::Sine => self.needed.extend([Helper::Turned, Helper::NearSine]),
            Helper::NearCosine | Helper::Cosine => self.needed.extend([Helper::Turned, Helper::NearCosine]),
            _ => {}
        }
        self.needed.insert(helper);
        helper.name()
    }

    pub fn needs(&self, helper: Helper) -> bool {
        self.needed.contains(&helper)
    }

    pub fn all(&self) -> impl Iterator<Item = Helper> {
        self.needed.iter().copied()
    }

    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.needed.iter().map(|helper| helper.text())
    }
}

impl Helper {
    pub fn name(self) -> String {
        match self {
            Helper::Unary(UnOp::Convert(to), from) => format!("{to}_of_{from}"),
            Helper::Unary(op, ty) => format!("{}_{ty}", unary_name(op)),
            Helper::Binary(op, ty) => format!("{}_{ty}", binary_name(op)),
            Helper::FloorDivision => "floor_div".into(),
            Helper::FloorRemainder => "floor_rem".into(),
            Helper::NearRemainder => "near_rem".into(),
            Helper::SizeSum => "size_sum".into(),
            Helper::SizeDifference => "size_difference".into(),
            Helper::SizeProduct => "size_product".into(),
            Helper::Shrink(_) => "shrink".into(),
            Helper::AtomicLoad(order, ty) => format!("load_{}_{ty}", order_name(order)),
            Helper::AtomicStore(order, ty) => format!("store_{}_{ty}", order_name(order)),
            Helper::AtomicExchange(order, ty) => format!("exchange_{}_{ty}", order_name(order)),
            Helper::AtomicUpdate(op, order, ty) => {
                format!("atomic_{}_{}_{ty}", binary_name(op), order_name(order))
            }
            Helper::TakeNext => "take_next".into(),
            Helper::Idle => "threads_clock".into(),
            Helper::CountCopied => "count_copied".into(),
            Helper::Pause => "pause_a_while".into(),
            Helper::Await(ty) => format!("await_{ty}"),
            Helper::AwaitOrFailure(ty) => format!("arrives_{ty}"),
            Helper::Adopt => "adopt".into(),
            Helper::Text => "put_text".into(),
            Helper::Digits => "show_float".into(),
            Helper::Show(ty) => format!("show_{ty}"),
            Helper::Lanes => "LANES".into(),
            Helper::Pack(ty) => format!("pack_{ty}"),
            Helper::Square(ty) => format!("square_{ty}"),
            Helper::CopyOut => "copy_out".into(),
            Helper::CopiedOut => "copied_out".into(),
            Helper::Turned => "quarter_turns".into(),
            Helper::NearSine => "near_sin_f64".into(),
            Helper::NearCosine => "near_cos_f64".into(),
            Helper::Sine => "sin_f64".into(),
            Helper::Cosine => "cos_f64".into(),
        }
    }

    /// The text of a compiler that has no built-in functions for it.
    pub fn text_without_builtins(self) -> String {
        match self {
            Helper::Unary(op @ (UnOp::PopCount | UnOp::LeadingZeros | UnOp::TrailingZeros), ty) => {
                let (_, portable) = count_bodies(op, ty);
                format!(
                    "static inline int32_t {}({} x) {{\n  {portable}\n}}\n",
                    self.name(),
                    scalar_c_name(ty)
                )
            }
            Helper::Binary(op @ (BinOp::Min | BinOp::Max), ty) if ty.is_float() => {
                let (c, body) = (scalar_c_name(ty), least_or_greatest_in_kernels(op));
                format!("static inline {c} {}({c} x, {c} y) {{\n{body}}}\n", self.name())
            }
            _ => self.text(),
        }
    }

    fn text(self) -> String {
        let name = self.name();
        match self {
            Helper::Unary(op, ty) => {
                let result = op.result_type(ty).map_or("void", scalar_c_name);
                let body = unary_body(op, ty);
                format!(
                    "static inline {result} {name}({} x) {{\n{body}}}\n",
                    scalar_c_name(ty)
                )
            }
            Helper::Binary(op, ty) => {
                let result = op.result_type(ty).map_or("void", scalar_c_name);
                let c = scalar_c_name(ty);
                let body = binary_body(op, ty);
                format!("static inline {result} {name}({c} x, {c} y) {{\n{body}}}\n")
            }
            Helper::FloorDivision => FLOOR_DIVISION.into(),
            Helper::FloorRemainder => FLOOR_REMAINDER.into(),
            Helper::NearRemainder => NEAR_REMAINDER.into(),
            Helper::SizeSum => SIZE_SUM.into(),
            Helper::SizeDifference => SIZE_DIFFERENCE.into(),
            Helper::SizeProduct => SIZE_PRODUCT.into(),
            Helper::Shrink(accounting) => SHRINK.replace(
                "ACCOUNT\n",
                match accounting {
                    Accounting::Off => "",
                    Accounting::On => "  account_give(before - bytes);\n",
                },
            ),
            Helper::CopyOut => crate::outputs::COPY_OUT.into(),
            Helper::CopiedOut => crate::outputs::COPIED_OUT.into(),
            Helper::Pack(ty) => crate::packs::text(ty, &name, scalar_c_name(ty)),
            Helper::Square(ty) => crate::squares::text(ty, &name, scalar_c_name(ty)),
            Helper::TakeNext => TAKE_NEXT.into(),
            Helper::Idle => crate::idle::IDLE.into(),
            Helper::CountCopied => crate::kernel_copies::COUNT_COPIED.into(),
            Helper::Pause => PAUSE.into(),
            Helper::AtomicLoad(order, ty) => {
                let (c, order) = (scalar_c_name(ty), order_macro(order));
                format!(
                    "static inline {c} {name}(const {c} *cell) {{\n  {c} value;\n  __atomic_load(cell, &value, {order});\n  return value;\n}}\n"
                )
            }
            Helper::AtomicStore(order, ty) => {
                let (c, order) = (scalar_c_name(ty), order_macro(order));
                format!(
                    "static inline void {name}({c} *cell, {c} value) {{\n  __atomic_store(cell, &value, {order});\n}}\n"
                )
            }
            Helper::AtomicExchange(order, ty) => {
                let (c, order) = (scalar_c_name(ty), order_macro(order));
                format!(
                    "static inline {c} {name}({c} *cell, {c} value) {{\n  {c} old;\n  __atomic_exchange(cell, &value, &old, {order});\n  return old;\n}}\n"
                )
            }
            Helper::AtomicUpdate(op, order, ty) => {
                let c = scalar_c_name(ty);
                let body = update_body(op, order, ty);
                format!("static inline void {name}({c} *cell, {c} value) {{\n{body}}}\n")
            }
            Helper::Await(ty) => AWAIT.replace("NAME", &name).replace("TYPE", scalar_c_name(ty)),
            Helper::AwaitOrFailure(ty) => AWAIT_OR_FAILURE
                .replace("NAME", &name)
                .replace("TYPE", scalar_c_name(ty)),
            Helper::Adopt => ADOPT.into(),
            Helper::Text => crate::text::TEXT.into(),
            Helper::Digits => crate::text::SHOW_FLOAT.into(),
            Helper::Show(ty) => crate::text::show(ty),
            Helper::Lanes => LANES.into(),
            Helper::Turned => crate::turns::TURNED.into(),
            Helper::NearSine => crate::turns::NEAR_SINE.into(),
            Helper::NearCosine => crate::turns::NEAR_COSINE.into(),
            Helper::Sine => crate::turns::SINE.into(),
            Helper::Cosine => crate::turns::COSINE.into(),
        }
    }
}

const LANES: &str = "\
/* The loop behind it runs over the lanes of a vector: gcc would write them out, and use no vector. */
#if defined(__GNUC__) && !defined(__clang__)
#define LANES _Pragma(\"GCC unroll 1\")
#else
#define LANES
#endif
";

const FLOOR_DIVISION: &str = "\
/* The greatest integer that is not above x / y. */
static inline int64_t floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return (int64_t)(UINT64_C(0) - (uint64_t)x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
";

const NEAR_REMAINDER: &str = "/* x % y, where y is positive: what is between 0 and 2 y needs no division. */
static inline int64_t near_rem(int64_t x, int64_t y) {
  if ((uint64_t)x < (uint64_t)y) return x;
  return x >= y && x - y < y ? x - y : x % y;
}
";

const FLOOR_REMAINDER: &str = "\
/* What floor division leaves; it has the sign of y. */
static inline int64_t floor_rem(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  return x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0);
}
";

const SIZE_SUM: &str = "\
/* x + y, or the largest number where that is too large. */
static inline int64_t size_sum(int64_t x, int64_t y) {
  if (x == INT64_MAX || y == INT64_MAX || (y > 0 && x > INT64_MAX - y)) return INT64_MAX;
  return y < 0 && x < INT64_MIN - y ? INT64_MIN : x + y;
}
";

const SIZE_DIFFERENCE: &str = "\
/* x - y, or the largest number where x is. */
static inline int64_t size_difference(int64_t x, int64_t y) {
  if (x == INT64_MAX || (y < 0 && x > INT64_MAX + y)) return INT64_MAX;
  return y > 0 && x < INT64_MIN + y ? INT64_MIN : x - y;
}
";

const SIZE_PRODUCT: &str = "\
/* x * y, or the largest number where that is too large. */
static inline int64_t size_product(int64_t x, int64_t y) {
  if (x == 0 || y == 0) return 0;
  if (x > 0 && y > 0) return x > INT64_MAX / y ? INT64_MAX : x * y;
  if (x < 0 && y < 0) return x < INT64_MAX / y ? INT64_MAX : x * y;
  return x > 0 ? (y < INT64_MIN / x ? INT64_MIN : x * y) : (x < INT64_MIN / y ? INT64_MIN : x * y);
}
";

const SHRINK: &str = "\
/* Keeps the first cells of a block, which may move. The end is given back where it is most of the block: one that is kept for the
 * next call would be too small for it. */
static inline void *shrink(void *cells, int64_t count, size_t cell) {
  struct head *const whole = (struct head *)(void *)((char *)cells - BLOCK_HEAD);
  const size_t before = whole->bytes, begin = (size_t)((char *)cells - (char *)whole->memory);
  const size_t front = begin < PAGE ? BLOCK_HEAD : PAGE;
  const size_t bytes = front + ((size_t)count * cell + BLOCK_HEAD - 1) / BLOCK_HEAD * BLOCK_HEAD;
  whole->count = count;
  char *memory = NULL;
  if (bytes < before / 4) memory = realloc(whole->memory, bytes + begin - front);
  if (memory == NULL) return cells;
  struct head *const smaller = (struct head *)(void *)(memory + begin - BLOCK_HEAD);
  smaller->bytes = bytes;
  smaller->memory = memory;
ACCOUNT
  return (char *)smaller + BLOCK_HEAD;
}
";

const TAKE_NEXT: &str = "\
/* Iterations of a chain are taken in order. */
static inline int64_t take_next(int64_t *next) {
  return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
}
";

const PAUSE: &str = "\
/* Lets others go on while a thread waits: those of the same core first, then those that have no core. */
static inline void pause_a_while(int64_t round) {
  if (round >= 64) {
    sched_yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__(\"yield\");
#endif
}
";

const AWAIT: &str = "\
/* Waits until an earlier iteration has published a value. */
static inline void NAME(const TYPE *cell, TYPE value) {
  for (int64_t round = 0; __atomic_load_n(cell, __ATOMIC_ACQUIRE) != value; round++) pause_a_while(round);
}
";

const AWAIT_OR_FAILURE: &str = "\
/* Waits until an earlier iteration has published a value; false where an earlier one than `own` has failed. */
static inline bool NAME(const TYPE *cell, TYPE value, const int64_t *first, int64_t own) {
  for (int64_t round = 0; __atomic_load_n(cell, __ATOMIC_ACQUIRE) != value; round++) {
    if (__atomic_load_n(first, __ATOMIC_RELAXED) < own) return false;
    pause_a_while(round);
  }
  return true;
}
";

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcquireRelease => "acq_rel",
    }
}

fn order_macro(order: Order) -> String {
    format!("__ATOMIC_{}", order_name(order).to_ascii_uppercase())
}

/// Whether there is a built-in for an atomic update.
pub fn is_one_instruction(op: BinOp, ty: ScalarType) -> bool {
    let exact = matches!(op, BinOp::Add | BinOp::And | BinOp::Or | BinOp::Xor);
    exact && !ty.is_float() && ty != ScalarType::Bool
}

/// An instruction where there is one, else a loop that tries again when another thread was faster.
fn update_body(op: BinOp, order: Order, ty: ScalarType) -> String {
    let (c, order) = (scalar_c_name(ty), order_macro(order));
    match is_one_instruction(op, ty) {
        true => line(format_args!(
            "__atomic_fetch_{}(cell, value, {order});",
            binary_name(op)
        )),
        false => {
            let combine = Helper::Binary(op, ty).name();
            line(format_args!(
                "{c} old, next;\n  __atomic_load(cell, &old, __ATOMIC_RELAXED);\n  do {{\n    next = {combine}(old, value);\n  \
                 }} while (!__atomic_compare_exchange(cell, &old, &next, 1, {order}, __ATOMIC_RELAXED));"
            ))
        }
    }
}

const ADOPT: &str = "\
/* A block with what a foreign function allocated, which is freed; NULL where there is not enough memory. */
static void *adopt(struct CONTEXT *ctx, void *data, int64_t count, size_t cell) {
  void *const block = allocate(ctx, count, cell);
  if (block != NULL && count > 0) memcpy(block, data, (size_t)count * cell);
  free(data);
  return block;
}
";

/// The unsigned type in which sums and products of a type are computed: it is at least as wide as `int`, so that
/// nothing is promoted to a signed type.
fn wide_unsigned(ty: ScalarType) -> &'static str {
    match ty.bytes() {
        8 => "uint64_t",
        _ => "uint32_t",
    }
}

/// The unsigned type of the same width.
fn unsigned(ty: ScalarType) -> &'static str {
    match ty.bytes() {
        1 => "uint8_t",
        2 => "uint16_t",
        4 => "uint32_t",
        _ => "uint64_t",
    }
}

fn line(text: impl std::fmt::Display) -> String {
    format!("  {text}\n")
}

fn unary_body(op: UnOp, ty: ScalarType) -> String {
    let (c, wide) = (scalar_c_name(ty), wide_unsigned(ty));
    match op {
        UnOp::Neg => line(format_args!("return ({c})(({wide})0 - ({wide})x);")),
        UnOp::Complement => line(format_args!("return ({c})~x;")),
        UnOp::Abs => line(format_args!("return x < 0 ? ({c})(({wide})0 - ({wide})x) : x;")),
        UnOp::Signum if ty.is_float() => {
            let (one, copysign) = (float_literal(1.0, ty), math("copysign", ty));
            line(format_args!(
                "return x != x || x == 0 ? x : {copysign}({one}, x);"
            ))
        }
        UnOp::Signum if ty.is_signed_integer() => line(format_args!("return ({c})((x > 0) - (x < 0));")),
        UnOp::Signum => line("return x > 0;"),
        UnOp::PopCount | UnOp::LeadingZeros | UnOp::TrailingZeros => {
            let (builtin, portable) = count_bodies(op, ty);
            counted(&builtin, &portable)
        }
        UnOp::ToBits => {
            let (result, nan) = match ty {
                ScalarType::F32 => ("uint32_t", "0x7fc00000u"),
                _ => ("uint64_t", "UINT64_C(0x7ff8000000000000)"),
            };
            line(format_args!(
                "{result} bits;\n  memcpy(&bits, &x, sizeof bits);\n  return x != x ? {nan} : bits;"
            ))
        }
        UnOp::FromBits => {
            let result = op.result_type(ty).map_or("void", scalar_c_name);
            line(format_args!(
                "{result} value;\n  memcpy(&value, &x, sizeof value);\n  return value;"
            ))
        }
        UnOp::Exp => crate::powers::exponential(ty).to_owned(),
        UnOp::Log => crate::powers::logarithm(ty).to_owned(),
        UnOp::Convert(ScalarType::Bool) => line("return x != 0;"),
        UnOp::Convert(to) => saturating_body(ty, to),
        // The others are operators or functions of C.
        _ => line(format_args!("return ({c})x;")),
    }
}

/// How bits are counted: with a built-in function, and without.
fn count_bodies(op: UnOp, ty: ScalarType) -> (String, String) {
    let (unsigned, bits) = (unsigned(ty), ty.bits());
    match op {
        UnOp::LeadingZeros => (
            format!(
                "return x == 0 ? {bits} : __builtin_clzll(({unsigned})x) - {};",
                64 - bits
            ),
            format!(
                "int32_t count = {bits};\n  for (uint64_t rest = ({unsigned})x; rest != 0; rest >>= 1) count--;\n  return count;"
            ),
        ),
        UnOp::TrailingZeros => (
            format!("return x == 0 ? {bits} : __builtin_ctzll(({unsigned})x);"),
            format!(
                "int32_t count = 0;\n  for (uint64_t rest = ({unsigned})x; count < {bits} && (rest & 1) == 0; rest >>= 1) count++;\n  return count;"
            ),
        ),
        _ => (
            format!("return __builtin_popcountll(({unsigned})x);"),
            format!(
                "int32_t count = 0;\n  for (uint64_t rest = ({unsigned})x; rest != 0; rest &= rest - 1) count++;\n  return count;"
            ),
        ),
    }
}

/// A function of compilers that have GNU's built-ins, and one for all others.
fn counted(builtin: &str, portable: &str) -> String {
    format!("#if defined(__GNUC__)\n  {builtin}\n#else\n  {portable}\n#endif\n")
}

/// Float to integer. The bounds are powers of two and so exact in either float type.
fn saturating_body(from: ScalarType, to: ScalarType) -> String {
    let c = scalar_c_name(to);
    let stem = to
        .name()
        .to_ascii_uppercase()
        .replace('I', "INT")
        .replace('U', "UINT");
    let bound = |power: u32| float_literal((2.0f64).powi(power as i32), from);
    match to.is_signed_integer() {
        true => {
            let bound = bound(to.bits() - 1);
            line(format_args!(
                "return x != x ? 0 : x >= {bound} ? {stem}_MAX : x <= -{bound} ? {stem}_MIN : ({c})x;"
            ))
        }
        false => {
            let bound = bound(to.bits());
            line(format_args!(
                "return !(x > 0) ? 0 : x >= {bound} ? {stem}_MAX : ({c})x;"
            ))
        }
    }
}

fn binary_body(op: BinOp, ty: ScalarType) -> String {
    let (c, wide, bits) = (scalar_c_name(ty), wide_unsigned(ty), ty.bits());
    let wrapping = |symbol: &str| line(format_args!("return ({c})(({wide})x {symbol} ({wide})y);"));
    let plain = |symbol: &str| line(format_args!("return ({c})(x {symbol} y);"));
    let compare = |symbol: &str| line(format_args!("return x {symbol} y;"));
    match op {
        BinOp::Add if ty.is_float() => plain("+"),
        BinOp::Sub if ty.is_float() => plain("-"),
        BinOp::Add => wrapping("+"),
        BinOp::Sub => wrapping("-"),
        BinOp::Mul => wrapping("*"),
        BinOp::Div if ty.is_signed_integer() => line(format_args!(
            "return y == -1 ? ({c})(({wide})0 - ({wide})x) : ({c})(x / y);"
        )),
        BinOp::Rem if ty.is_signed_integer() => line(format_args!("return y == -1 ? 0 : ({c})(x % y);")),
        BinOp::Div => plain("/"),
        BinOp::Rem => plain("%"),
        BinOp::Pow => line(format_args!(
            "{wide} base = ({wide})x, power = 1;\n  for (uint64_t rest = (uint64_t)y; rest != 0; rest >>= 1) {{\n    \
             if (rest & 1) power *= base;\n    base *= base;\n  }}\n  return ({c})power;"
        )),
        BinOp::Shl => line(format_args!(
            "return (uint64_t)y >= {bits} ? 0 : ({c})(({wide})x << y);"
        )),
        BinOp::Shr if ty.is_signed_integer() => line(format_args!(
            "return (uint64_t)y >= {bits} ? (x < 0 ? -1 : 0) : ({c})(x >> y);"
        )),
        BinOp::Shr => line(format_args!("return (uint64_t)y >= {bits} ? 0 : ({c})(x >> y);")),
        BinOp::And => plain("&"),
        BinOp::Or => plain("|"),
        BinOp::Xor => plain("^"),
        BinOp::Eq => compare("=="),
        BinOp::Ne => compare("!="),
        BinOp::Lt => compare("<"),
        BinOp::Le => compare("<="),
        BinOp::Gt => compare(">"),
        BinOp::Ge => compare(">="),
        BinOp::Min | BinOp::Max if ty.is_float() => least_or_greatest(op, ty),
        BinOp::Min => line("return y < x ? y : x;"),
        BinOp::Max => line("return y > x ? y : x;"),
        // Which sign a NaN has is nobody's business.
        BinOp::CopySign => line(format_args!(
            "return {}(x, y != y ? {} : y);",
            math(binary_name(op), ty),
            float_literal(1.0, ty)
        )),
        // The others are functions of C.
        BinOp::Atan2 | BinOp::Hypot => line(format_args!("return ({c}){}(x, y);", math(binary_name(op), ty))),
    }
}

/// The least or greatest of two floats: a NaN only where both are, and -0 before 0. Of equal floats, which are zeros where they are not the same, it
/// is both their signs or the common one. Processors choose on lanes without a branch; conditions that are joined would be masks of masks.
fn least_or_greatest(op: BinOp, ty: ScalarType) -> String {
    let (c, bits) = match ty {
        ScalarType::F32 => ("float", "uint32_t"),
        _ => ("double", "uint64_t"),
    };
    let (before, joins) = match op {
        BinOp::Min => ("<", "|"),
        _ => (">", "&"),
    };
    line(format_args!(
        "{bits} a, b;\n  memcpy(&a, &x, sizeof a);\n  memcpy(&b, &y, sizeof b);\n  a {joins}= b;\n  {c} same;\n  \
         memcpy(&same, &a, sizeof same);\n  const {c} one = x {before} y ? x : y, found = x == y ? same : one;\n  \
         return y != y ? x : found;"
    ))
}

/// The same in the words of kernels.
fn least_or_greatest_in_kernels(op: BinOp) -> String {
    match op {
        BinOp::Min => line("return x < y || (x == y && signbit(x)) || y != y ? x : y;"),
        _ => line("return x > y || (x == y && signbit(y)) || y != y ? x : y;"),
    }
}

/// A function of `math.h` for a float type: `sqrtf` or `sqrt`.
pub fn math(name: &str, ty: ScalarType) -> String {
    match ty {
        ScalarType::F32 => format!("{name}f"),
        _ => name.to_string(),
    }
}

/// A finite float that is exact in the type.
fn float_literal(value: f64, ty: ScalarType) -> String {
    match ty {
        ScalarType::F32 => format!("{value:?}f"),
        _ => format!("{value:?}"),
    }
}
