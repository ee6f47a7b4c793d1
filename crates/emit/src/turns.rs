//! Sine and cosine in C, and loops that compute them on lanes.
//!
//! The C library's take most of the time of programs that turn points. An angle that is not very large is brought near to zero: a whole number of
//! quarter turns is taken off in three parts of pi/2, the first of which is exact and the others are added up with their errors. Then
//! the series of sine and cosine are short, and their sums have errors below 0.3 ulp beside the last rounding. Both are computed, without a branch: which one is
//! wanted cannot be foreseen, and a program that wants one often wants the other of the same angle.
//!
//! Very large angles are the C library's, whose functions no lane can call. A loop that holds nothing but arithmetic beside is therefore
//! done in strips, as if all angles were small; a strip in which one is not is done again:
//!
//! ```text
//! while (from < n) {
//!   uint64_t large = 0;
//!   for (step …) { … near_sin_f64(x, &large) … }
//!   if (large != 0) for (step …) { … sin_f64(x) … }
//! ```

use crate::Target;
use crate::index::Arithmetic;
use crate::procedure::Emitter;
use crate::tree::{CBinary, CExpr, CStmt, CType};
use almach_base::Diagnostic;
use almach_imp::{Access, Expr, Index, Stmt, Touched, Width, is_column};
use almach_value::{ScalarType, UnOp};

/// Iterations of a strip.
const STRIP: i64 = 256;

type Emit<T> = Result<T, Box<Diagnostic>>;

impl Emitter<'_> {
    /// Whether a loop can be done in strips, and has angles.
    pub fn has_angles_on_lanes(&self, count: &Index, body: &[Stmt]) -> bool {
        let few = count.as_constant().is_some_and(|count| count < 8);
        if few || self.unit.target.has_device() || self.frame.is_some() || self.angles.is_some() {
            return false;
        }
        has_angles(body) && is_arithmetic(body) && can_be_done_again(body)
    }

    /// The loop in strips.
    pub fn in_strips(&mut self, index: &str, count: &Index, body: &[Stmt], out: &mut Vec<CStmt>) -> Emit<()> {
        let count = self.index(count, Arithmetic::Wrapping);
        let [from, run, step, large] = ["from", "run", "step", "large"].map(|name| self.scope.fresh(name));
        let name = |name: &str| CExpr::name(name);
        let integer = |ty: CType, name: &str, value: CExpr| CStmt::Declare {
            ty,
            name: name.into(),
            value: Some(value),
        };
        let i64_type = || CType::Scalar(ScalarType::I64);
        let here = CExpr::binary(CBinary::Add, name(&from), name(&step));
        let here = integer(i64_type().constant(), index, here);
        let steps = |body: Vec<CStmt>| CStmt::Count {
            index: step.clone(),
            width: Width::W64,
            count: name(&run),
            body: std::iter::once(here.clone()).chain(body).collect(),
        };
        self.angles = Some(large.clone());
        let small = self.nested(body);
        self.angles = None;
        let (small, any) = (small?, self.nested(body)?);
        let left = CExpr::binary(CBinary::Subtract, count.clone(), name(&from));
        let most = CExpr::literal(STRIP.to_string());
        let run_value = CExpr::Conditional(
            Box::new(CExpr::binary(CBinary::Less, left.clone(), most.clone())),
            Box::new(left),
            Box::new(most),
        );
        let one_was = CExpr::binary(CBinary::NotEqual, name(&large), CExpr::literal("0"));
        out.push(integer(i64_type(), &from, CExpr::literal("0")));
        out.push(CStmt::While(
            CExpr::binary(CBinary::Less, name(&from), count),
            vec![
                integer(i64_type().constant(), &run, run_value),
                integer(CType::Scalar(ScalarType::U64), &large, CExpr::literal("0")),
                steps(small),
                CStmt::when(one_was, vec![steps(any)]),
                CStmt::Assign(name(&from), CExpr::binary(CBinary::Add, name(&from), name(&run))),
            ],
        ));
        Ok(())
    }

    /// Whether a loop of the target runs on one thread.
    pub fn is_on_one_thread(&self, mode: almach_imp::LoopMode) -> bool {
        self.unit.target == Target::C || !mode.has_threads()
    }
}

fn has_angles(stmts: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in stmts {
        stmt.for_each_expr(&mut |value| found |= has_angle(value));
        found |= stmt.blocks().into_iter().any(|inner| has_angles(inner));
    }
    found
}

fn has_angle(value: &Expr) -> bool {
    match value {
        Expr::Unary(UnOp::Sin | UnOp::Cos, _) => true,
        Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => false,
        Expr::Unary(_, a) => has_angle(a),
        Expr::Binary(_, a, b) => has_angle(a) || has_angle(b),
        Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => has_angle(a) || has_angle(b) || has_angle(c),
    }
}

/// Whether statements are made of what lanes can do, loops of a few iterations included.
fn is_arithmetic(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::At(_) => true,
        Stmt::If { then, otherwise, .. } => is_arithmetic(then) && is_arithmetic(otherwise),
        Stmt::For {
            count, body, mode, ..
        } => {
            let few = count.as_constant().is_some_and(|count| count <= 4);
            few && !mode.has_threads() && is_arithmetic(body)
        }
        _ => false,
    })
}

/// Whether statements give the same when they are done once more: nothing that they write do they read.
fn can_be_done_again(stmts: &[Stmt]) -> bool {
    let touched = Touched::of(stmts);
    let written = touched
        .free_cells()
        .filter(|(_, access)| *access == Access::Write);
    let mut loaded = Vec::new();
    loads(stmts, &mut loaded);
    touched.results().next().is_none()
        && touched.cells.keys().all(|name| !is_column(name))
        && written.into_iter().all(|(name, _)| !loaded.contains(&name))
}

fn loads<'s>(stmts: &'s [Stmt], found: &mut Vec<&'s almach_base::Name>) {
    fn of<'s>(value: &'s Expr, found: &mut Vec<&'s almach_base::Name>) {
        match value {
            Expr::Load(buffer, _) => found.push(buffer),
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
            Expr::Unary(_, a) => of(a, found),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| of(part, found)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| of(part, found));
            }
        }
    }
    for stmt in stmts {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } | Stmt::Store { value, .. } => {
                of(value, found)
            }
            Stmt::Var { value, .. } => value.iter().for_each(|value| of(value, found)),
            Stmt::If { condition, .. } => of(condition, found),
            _ => {}
        }
        stmt.blocks().into_iter().for_each(|inner| loads(inner, found));
    }
}

/// The constant's low bits hold the number of quarter turns once it is added.
pub const TURNED: &str = "\
/* An angle without its quarter turns: sine and cosine of the rest, and how many there were. */
struct quarter_turn {
  double sine, cosine;
  uint64_t quarters;
};

static inline struct quarter_turn quarter_turns(double x) {
  const double quarters = rint(x * 0.6366197723675814) + 0.0, counted = quarters + 6755399441055744.0;
  const double near = fma(-quarters, 1.5707963267948966, x);
  const double off = quarters * 6.123233995736766e-17;
  const double r = near - off, back = r - near;
  const double lost = (near - (r - back)) - (off + back);
  const double rest = lost - fma(quarters, 6.123233995736766e-17, -off) + quarters * 1.4973849048591698e-33;
  const double z = r * r, zz = z * z, half = 0.5 * z, first = 1.0 - half;
  const double s0 = fma(z, 1.0 / 120.0, -1.0 / 6.0), s1 = fma(z, 1.0 / 362880.0, -1.0 / 5040.0);
  const double s2 = fma(z, 1.0 / 6227020800.0, -1.0 / 39916800.0);
  const double s3 = fma(z, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0);
  const double s = fma(zz * zz, fma(zz, s3, s2), fma(zz, s1, s0));
  const double c0 = fma(z, -1.0 / 720.0, 1.0 / 24.0), c1 = fma(z, -1.0 / 3628800.0, 1.0 / 40320.0);
  const double c2 = fma(z, -1.0 / 87178291200.0, 1.0 / 479001600.0);
  const double c = fma(zz * zz, fma(zz, 1.0 / 20922789888000.0, c2), fma(zz, c1, c0));
  struct quarter_turn result;
  result.sine = copysign(r + fma(z * r, s, fma(-half, rest, rest)), r); /* r may be -0 */
  result.cosine = first + ((1.0 - first - half) + fma(zz, c, -r * rest));
  memcpy(&result.quarters, &counted, sizeof counted);
  return result;
}

/* One part of a turn or the other, with the other sign where `negative` ends in 1. */
static inline double either_part(double one, double other, uint64_t second, uint64_t negative) {
  uint64_t a, b;
  memcpy(&a, &one, sizeof a);
  memcpy(&b, &other, sizeof b);
  a ^= ((a ^ b) & (0 - (second & 1))) ^ negative << 63;
  memcpy(&one, &a, sizeof one);
  return one;
}

/* From here on, and everywhere where the processor has no fma, the C library is asked. */
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
static const double LARGE_ANGLE = 65536.0;
#else
static const double LARGE_ANGLE = 0.0;
#endif
";

pub const NEAR_SINE: &str = "\
/* The sine of an angle that is not large; notes one that is. */
static inline double near_sin_f64(double x, uint64_t *large) {
  if (LARGE_ANGLE == 0) return sin(x);
  *large |= fabs(x) < LARGE_ANGLE ? 0 : 1;
  const struct quarter_turn rest = quarter_turns(x);
  return either_part(rest.sine, rest.cosine, rest.quarters, rest.quarters >> 1);
}
";

pub const NEAR_COSINE: &str = "\
static inline double near_cos_f64(double x, uint64_t *large) {
  if (LARGE_ANGLE == 0) return cos(x);
  *large |= fabs(x) < LARGE_ANGLE ? 0 : 1;
  const struct quarter_turn rest = quarter_turns(x);
  return either_part(rest.cosine, rest.sine, rest.quarters, (rest.quarters + 1) >> 1);
}
";

pub const SINE: &str = "\
static inline double sin_f64(double x) {
  if (!(fabs(x) < LARGE_ANGLE)) return sin(x);
  uint64_t large = 0;
  return near_sin_f64(x, &large);
}
";

pub const COSINE: &str = "\
static inline double cos_f64(double x) {
  if (!(fabs(x) < LARGE_ANGLE)) return cos(x);
  uint64_t large = 0;
  return near_cos_f64(x, &large);
}
";
