#include "cross_seq.h"
#include "thesis.h"

PROGRAM(cross, double, (int64_t n, const double *us, const double *vs, double *result))

static int64_t n;
static double *us, *vs;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(cross, n, 3, us, n, 3, vs, &rows, &columns, &found);
}

RIVALS(cross, (n, us, vs, own))

static bool setup(int64_t size) {
  n = size;
  us = doubles(3 * n), vs = doubles(3 * n);
  REFERENCE(3 * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, 3 * n); }
static double bytes(void) { return 72.0 * (double)n; }
static double flops(void) { return 9.0 * (double)n; }

const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
