#include "hand_tracking_seq.h"
#include "thesis.h"

PROGRAM(hand_tracking, double, (int64_t n, const double *axes, const double *points, double *result))

static int64_t n;
static double *axes, *points;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(hand_tracking, n, 3, axes, n, 3, points, &rows, &columns, &found);
}

RIVALS(hand_tracking, (n, axes, points, own))

static bool setup(int64_t size) {
  n = size;
  axes = doubles(3 * n), points = doubles(3 * n);
  REFERENCE(3 * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, 3 * n); }
static double bytes(void) { return 72.0 * (double)n; }
static double flops(void) { return 90.0 * (double)n; }

const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
