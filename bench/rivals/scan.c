#include "scan.h"
#include "scan_seq.h"
#include "almach.h"

ALMACH(scan)
ARRAY(scan, float)

static int64_t n;
static float *xs;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    xs[i] = 2 * uniform() - 1;
    sum += xs[i];
    reference[i] = sum;
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(scan, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(scan_seq, n, xs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  float sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += xs[i];
    own[i] = sum;
  }
}

static void run_tuned(void) {
  rival();
  /* Sums of chunks, their prefix, then every chunk again. */
  enum { CHUNK = 1 << 14 };
  const int64_t chunks = (n + CHUNK - 1) / CHUNK;
  float *before = room(chunks + 1, sizeof *before);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++) {
    const int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = c * CHUNK; i < end; i++) sum += xs[i];
    before[c + 1] = sum;
  }
  before[0] = 0;
  for (int64_t c = 0; c < chunks; c++) before[c + 1] += before[c];
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++) {
    const int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
    float sum = before[c];
#pragma omp simd reduction(inscan, + : sum)
    for (int64_t i = c * CHUNK; i < end; i++) {
      sum += xs[i];
#pragma omp scan inclusive(sum)
      own[i] = sum;
    }
  }
  free(before);
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 8.0 * (double)n; }
static double flops(void) { return (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-2, bytes, flops, variants};
