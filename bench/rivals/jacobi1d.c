#include "jacobi1d.h"
#include "jacobi1d_seq.h"
#include "almach.h"

ALMACH(jacobi1d)
ARRAY(jacobi1d, double)

static int64_t n;
static double *xs, *reference;

static void sweep(double *to) {
  to[0] = xs[0];
  for (int64_t i = 1; i < n - 1; i++) to[i] = (xs[i - 1] + xs[i] + xs[i + 1]) / 3;
  to[n - 1] = xs[n - 1];
}

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) xs[i] = uniform();
  sweep(reference);
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(jacobi1d, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(jacobi1d_seq, n, xs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  sweep(own);
}

static void run_tuned(void) {
  rival();
  own[0] = xs[0];
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 1; i < n - 1; i++) own[i] = (xs[i - 1] + xs[i] + xs[i + 1]) / 3;
  own[n - 1] = xs[n - 1];
}

static double error(void) { return difference_f64(found, reference, n); }
static double bytes(void) { return 16.0 * (double)n; }
static double flops(void) { return 3.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
