#include "scal.h"
#include "scal_seq.h"
#include "almach.h"
#include "blas.h"

ALMACH(scal)
ARRAY(scal, float)

static int64_t n;
static float *xs;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    reference[i] = (double)1.7f * xs[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(scal, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(scal_seq, n, xs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) own[i] = 1.7f * xs[i];
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) own[i] = 1.7f * xs[i];
}

BLAS(void, saxpby, int, float, const float *, int, float, float *, int)

static void run_blas(void) {
  rival();
  saxpby()((int)n, 1.7f, xs, 1, 0, own, 1);
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 8.0 * (double)n; }
static double flops(void) { return (double)n; }

VARIANTS_AND({"openblas", run_blas, has_blas})
const struct workload workload = {setup, error, 1e-4, bytes, flops, variants};
