#include "norm.h"
#include "norm_seq.h"
#include "almach.h"
#include "blas.h"

ALMACH(norm)

static int64_t n;
static float *xs;
static float out;
static double reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
  }
  reference = 0;
  for (int64_t i = 0; i < n; i++) reference += (double)xs[i] * xs[i];
  reference = sqrt(reference);
  return true;
}

static void run_almach(void) { CALL(norm, n, xs, &out); }
static void run_almach_seq(void) { CALL(norm_seq, n, xs, &out); }

static void run_plain(void) {
  /* A float stops growing at 2^24 of these: sequential C needs a wider sum. */
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)(xs[i] * xs[i]);
  out = (float)sqrt(sum);
}

static void run_tuned(void) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum = fmaf(xs[i], xs[i], sum);
  out = sqrtf(sum);
}

BLAS(float, snrm2, int, const float *, int)

static void run_blas(void) {
  out = snrm2()((int)n, xs, 1);
}

static double error(void) { return difference_f32(&out, &reference, 1); }
static double bytes(void) { return 4.0 * (double)n; }
static double flops(void) { return 2.0 * (double)n; }

VARIANTS_AND({"openblas", run_blas, has_blas})
const struct workload workload = {setup, error, 1e-2, bytes, flops, variants};
