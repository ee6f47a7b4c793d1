#include "bundle_adjustment_seq.h"
#include "thesis.h"

PROGRAM(bundle_adjustment, double, (int64_t n, const double *cameras, const double *points, double *result))

static int64_t n;
static double *cameras, *points;

static void run_almach(void) {
  int64_t rows, columns;
  CALL(bundle_adjustment, n, 11, cameras, n, 3, points, &rows, &columns, &found);
}

RIVALS(bundle_adjustment, (n, cameras, points, own))

static bool setup(int64_t size) {
  n = size;
  cameras = doubles(11 * n), points = doubles(3 * n);
  /* Points in front of their cameras, lenses that distort a little. */
  for (int64_t i = 0; i < n; i++) {
    points[3 * i + 2] += 4;
    cameras[11 * i + 9] *= 0.1;
    cameras[11 * i + 10] *= 0.1;
  }
  REFERENCE(2 * n);
  return true;
}

static double error(void) { return difference_f64(found, reference, 2 * n); }
static double bytes(void) { return 128.0 * (double)n; }
static double flops(void) { return 80.0 * (double)n; }

const struct workload workload = {setup, error, 1e-10, bytes, flops, variants};
