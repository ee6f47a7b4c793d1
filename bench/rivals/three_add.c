#include "three_add.h"
#include "three_add_seq.h"
#include "almach.h"

ALMACH(three_add)
ARRAY(three_add, double)

static int64_t n;
static double *xs, *ys, *zs, *reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  zs = room(n, sizeof *zs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    ys[i] = uniform();
    zs[i] = uniform();
    reference[i] = xs[i] + ys[i] + zs[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(three_add, n, xs, n, ys, n, zs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(three_add_seq, n, xs, n, ys, n, zs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) own[i] = xs[i] + ys[i] + zs[i];
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) own[i] = xs[i] + ys[i] + zs[i];
}

static double error(void) { return difference_f64(found, reference, n); }
static double bytes(void) { return 32.0 * (double)n; }
static double flops(void) { return 2.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
