//! How long threads have something to do, where a run counts what it does: each loop on threads takes the time, and each thread of it its own.
//!
//! ```text
//! const int64_t began = threads_clock();
//! #pragma omp parallel …
//! {
//!   const int64_t began_own = threads_clock();
//!   …
//!   threads_worked(began_own);
//! }
//! threads_done(began);
//! ```
//!
//! What a thread waits for inside a chain counts as work.

use crate::helpers::Helper;
use crate::procedure::Emitter;
use crate::tree::{CExpr, CStmt, CType};
use crate::{Accounting, Target};
use almach_value::ScalarType;

impl Emitter<'_> {
    /// Whether times are taken.
    pub fn counts_idle(&self) -> bool {
        self.unit.accounting == Accounting::On && self.unit.target == Target::OpenMp
    }

    /// Statements that all threads of a team run.
    pub fn by_team(&mut self, team: CStmt, mut inside: Vec<CStmt>, out: &mut Vec<CStmt>) {
        if !self.counts_idle() {
            out.extend([team, CStmt::Block(inside)]);
            return;
        }
        self.helpers.need(Helper::Idle);
        let (began, own) = (self.scope.fresh("began"), self.scope.fresh("began_own"));
        let clock = |name: &str| CStmt::Declare {
            ty: CType::Scalar(ScalarType::I64),
            name: name.to_owned(),
            value: Some(CExpr::call("threads_clock".to_owned(), [])),
        };
        let done =
            |function: &str, since: String| CStmt::Do(CExpr::call(function.to_owned(), [CExpr::name(since)]));
        inside.insert(0, clock(&own));
        inside.push(done("threads_worked", own));
        out.push(clock(&began));
        out.extend([team, CStmt::Block(inside)]);
        out.push(done("threads_done", began));
    }
}

/// The functions, and what a caller asks: for how long several threads ran side by side, for how long the idlest of them had something to do, and how
/// many there were.
pub const IDLE: &str = r"/* How long threads work, by all contexts. Times are nanoseconds. */
enum { COUNTED_THREADS = 256 };
static struct {
  int64_t team, threads, together, worked[COUNTED_THREADS];
} idle;

void almach_idle(int64_t *numbers);

void almach_idle(int64_t *numbers) {
  int64_t least = idle.together;
  for (int64_t i = 0; i < idle.threads; i++) {
    if (idle.worked[i] < least) least = idle.worked[i];
  }
  numbers[0] = idle.together;
  numbers[1] = least;
  numbers[2] = idle.threads;
}

static inline int64_t threads_clock(void) {
  return (int64_t)(omp_get_wtime() * 1e9);
}

/* A thread of a team is done. */
static inline void threads_worked(int64_t began) {
  const int me = omp_get_thread_num();
  if (omp_get_num_threads() < 2 || me >= COUNTED_THREADS) return;
  __atomic_add_fetch(&idle.worked[me], threads_clock() - began, __ATOMIC_RELAXED);
  if (me == 0) __atomic_store_n(&idle.team, omp_get_num_threads(), __ATOMIC_RELAXED);
}

/* All are. */
static inline void threads_done(int64_t began) {
  if (idle.team < 2) return;
  idle.together += threads_clock() - began;
  if (idle.team > idle.threads) idle.threads = idle.team < COUNTED_THREADS ? idle.team : COUNTED_THREADS;
  idle.team = 0;
}
";
