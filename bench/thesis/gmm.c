#include "gmm_seq.h"
#include "thesis.h"

PROGRAM(gmm, double,
        (int64_t n, int64_t k, int64_t d, const double *points, const double *weights, const double *means,
         const double *diagonals, const double *triangles, double *result))

enum { COMPONENTS = 25, DIMENSIONS = 20, TRIANGLE = DIMENSIONS * (DIMENSIONS - 1) / 2 };

static int64_t n;
static double *points, *weights, *means, *diagonals, *triangles, value;

static void run_almach(void) {
  forget();
  if (gmm_seq_main(context(), n, DIMENSIONS, points, COMPONENTS, weights, COMPONENTS, DIMENSIONS, means, COMPONENTS, DIMENSIONS,
                   diagonals, COMPONENTS, TRIANGLE, triangles, &value) != 0)
    failed(gmm_seq_error(context()));
  found = &value;
}

RIVALS(gmm, (n, COMPONENTS, DIMENSIONS, points, weights, means, diagonals, triangles, own))

static bool setup(int64_t size) {
  n = size;
  points = doubles(n * DIMENSIONS);
  weights = doubles(COMPONENTS);
  means = doubles(COMPONENTS * DIMENSIONS);
  diagonals = doubles(COMPONENTS * DIMENSIONS);
  triangles = doubles(COMPONENTS * TRIANGLE);
  REFERENCE(1);
  return true;
}

static double error(void) { return difference_f64(found, reference, 1); }
static double bytes(void) { return 8.0 * (double)n * DIMENSIONS; }
static double flops(void) { return (double)n * COMPONENTS * (2.0 * TRIANGLE + 5.0 * DIMENSIONS); }

const struct workload workload = {setup, error, 1e-10, bytes, flops, variants};
