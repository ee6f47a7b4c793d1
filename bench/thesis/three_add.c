#include "three_add_seq.h"
#include "thesis.h"

PROGRAM(three_add, double, (int64_t n, const double *xs, const double *ys, const double *zs, double *result))

static int64_t n;
static double *xs, *ys, *zs;

static void run_almach(void) {
  int64_t count;
  CALL(three_add, n, xs, n, ys, n, zs, &count, &found);
}

RIVALS(three_add, (n, xs, ys, zs, own))

static bool setup(int64_t size) {
  n = size;
  xs = doubles(n), ys = doubles(n), zs = doubles(n);
  REFERENCE(n);
  return true;
}

static double error(void) { return difference_f64(found, reference, n); }
static double bytes(void) { return 32.0 * (double)n; }
static double flops(void) { return 2.0 * (double)n; }

const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
