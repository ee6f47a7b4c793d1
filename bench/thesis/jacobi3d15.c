#include "jacobi3d15_seq.h"
#include "thesis.h"

PROGRAM(jacobi3d15, float, (int64_t n, const float *t, float *result))

static int64_t n;
static float *t;

static void run_almach(void) {
  int64_t planes, rows, columns;
  CALL(jacobi3d15, n, n, n, t, &planes, &rows, &columns, &found);
}

RIVALS(jacobi3d15, (n, t, own))

static bool setup(int64_t size) {
  n = size;
  t = floats(n * n * n);
  REFERENCE(n * n * n);
  return true;
}

static double error(void) { return difference_f32(found, reference, n * n * n); }
static double bytes(void) { return 8.0 * (double)n * (double)n * (double)n; }
static double flops(void) { return 15.0 * (double)n * (double)n * (double)n; }

const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
