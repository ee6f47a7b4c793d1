#include "dot.h"
#include "dot_seq.h"
#include "almach.h"
#include "blas.h"

ALMACH(dot)

static int64_t n;
static float *xs;
static float *ys;
static float out;
static double reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    ys[i] = uniform();
  }
  reference = 0;
  for (int64_t i = 0; i < n; i++) reference += (double)xs[i] * ys[i];
  return true;
}

static void run_almach(void) { CALL(dot, n, xs, n, ys, &out); }
static void run_almach_seq(void) { CALL(dot_seq, n, xs, n, ys, &out); }

static void run_plain(void) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) sum += xs[i] * ys[i];
  out = sum;
}

static void run_tuned(void) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum = fmaf(xs[i], ys[i], sum);
  out = sum;
}

BLAS(float, sdot, int, const float *, int, const float *, int)

static void run_blas(void) {
  out = sdot()((int)n, xs, 1, ys, 1);
}

static double error(void) { return difference_f32(&out, &reference, 1); }
static double bytes(void) { return 8.0 * (double)n; }
static double flops(void) { return 2.0 * (double)n; }

VARIANTS_AND({"openblas", run_blas, has_blas})
const struct workload workload = {setup, error, 1e-1, bytes, flops, variants};
