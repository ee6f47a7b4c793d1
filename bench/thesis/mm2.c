#include "mm2_seq.h"
#include "thesis.h"

PROGRAM(mm2, double, (int64_t n, const double *a, const double *b, const double *c, double *result))

static int64_t n;
static double *a, *b, *c;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(mm2, n, n, a, n, n, b, n, n, c, &rows, &columns, &found);
}

RIVALS(mm2, (n, a, b, c, own))

static bool setup(int64_t size) {
  n = size;
  a = doubles(n * n), b = doubles(n * n), c = doubles(n * n);
  REFERENCE(n * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 32.0 * (double)n * (double)n; }
static double flops(void) { return 4.0 * (double)n * (double)n * (double)n; }

const struct workload workload = {setup, error, 1e-10, bytes, flops, variants};
