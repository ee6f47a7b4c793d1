#include "jacobi1d_seq.h"
#include "thesis.h"

PROGRAM(jacobi1d, double, (int64_t n, const double *xs, double *result))

static int64_t n;
static double *xs;

static void run_almach(void) {
  int64_t count;
  CALL(jacobi1d, n, xs, &count, &found);
}

RIVALS(jacobi1d, (n, xs, own))

static bool setup(int64_t size) {
  n = size;
  xs = doubles(n);
  REFERENCE(n);
  return true;
}

static double error(void) { return difference_f64(found, reference, n); }
static double bytes(void) { return 16.0 * (double)n; }
static double flops(void) { return 3.0 * (double)n; }

const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
