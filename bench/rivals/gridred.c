#include "gridred.h"
#include "gridred_seq.h"
#include "almach.h"

ALMACH(gridred)
ARRAY(gridred, float)

static int64_t n;
static float *g;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  g = room(n * n, sizeof *g);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  memset(reference, 0, (size_t)n * sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) {
    g[i] = uniform();
    reference[i % n] += g[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(gridred, n, n, g, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(gridred_seq, n, n, g, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t j = 0; j < n; j++) own[j] = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) own[j] += g[i * n + j];
}

static void run_tuned(void) {
  rival();
  enum { WIDTH = 1024 };
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < n; begin += WIDTH) {
    const int64_t end = begin + WIDTH < n ? begin + WIDTH : n;
    float sums[WIDTH] = {0};
    for (int64_t i = 0; i < n; i++)
#pragma omp simd
      for (int64_t j = begin; j < end; j++) sums[j - begin] += g[i * n + j];
    memcpy(own + begin, sums, (size_t)(end - begin) * sizeof *own);
  }
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 4.0 * (double)n * (double)n + 4.0 * (double)n; }
static double flops(void) { return (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-3, bytes, flops, variants};
