#include "seidel2d_seq.h"
#include "thesis.h"

PROGRAM(seidel2d, double, (int64_t n, const double *xs, double *result))

static int64_t n;
static double *xs;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(seidel2d, n, n, xs, &rows, &columns, &found);
}

RIVALS(seidel2d, (n, xs, own))

static bool setup(int64_t size) {
  n = size;
  xs = doubles(n * n);
  REFERENCE(n * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 16.0 * (double)n * (double)n; }
static double flops(void) { return 9.0 * (double)n * (double)n; }

const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
