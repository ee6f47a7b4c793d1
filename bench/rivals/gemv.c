#include "gemv.h"
#include "gemv_seq.h"
#include "almach.h"
#include "blas.h"

ALMACH(gemv)
ARRAY(gemv, float)

static int64_t n;
static float *a, *xs, *ys;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  a = room(n * n, sizeof *a);
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) a[i] = uniform();
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    ys[i] = uniform();
  }
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += (double)a[i * n + j] * xs[j];
    reference[i] = 1.5 * sum + 0.5 * ys[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(gemv, n, n, a, n, xs, n, ys, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(gemv_seq, n, n, a, n, xs, n, ys, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int64_t j = 0; j < n; j++) sum += a[i * n + j] * xs[j];
    own[i] = 1.5f * sum + 0.5f * ys[i];
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum = fmaf(a[i * n + j], xs[j], sum);
    own[i] = 1.5f * sum + 0.5f * ys[i];
  }
}

BLAS(void, sgemv, int, int, int, int, float, const float *, int, const float *, int, float, float *, int)

static void run_blas(void) {
  rival();
  memcpy(own, ys, (size_t)n * sizeof *own);
  sgemv()(ROW_MAJOR, AS_IT_IS, (int)n, (int)n, 1.5f, a, (int)n, xs, 1, 0.5f, own, 1);
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 4.0 * (double)n * (double)n + 12.0 * (double)n; }
static double flops(void) { return 2.0 * (double)n * (double)n; }

VARIANTS_AND({"openblas", run_blas, has_blas})
const struct workload workload = {setup, error, 1e-3, bytes, flops, variants};
