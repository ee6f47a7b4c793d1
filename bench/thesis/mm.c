#include "mm_seq.h"
#include "thesis.h"

PROGRAM(mm, double, (int64_t n, const double *a, const double *b, double *result))

static int64_t n;
static double *a, *b;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(mm, n, n, a, n, n, b, &rows, &columns, &found);
}

RIVALS(mm, (n, a, b, own))

static bool setup(int64_t size) {
  n = size;
  a = doubles(n * n), b = doubles(n * n);
  REFERENCE(n * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 24.0 * (double)n * (double)n; }
static double flops(void) { return 2.0 * (double)n * (double)n * (double)n; }

const struct workload workload = {setup, error, 1e-10, bytes, flops, variants};
