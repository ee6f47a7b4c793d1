#include "lud.h"
#include "lud_seq.h"
#include "almach.h"

ALMACH(lud)
ARRAY(lud, float)

enum { BLOCK = 32 };

static int64_t n;
static float *matrix;
static double *reference;

static bool setup(int64_t size) {
  n = size / BLOCK * BLOCK;
  matrix = room(n * n, sizeof *matrix);
  own = room(n * n, sizeof *own);
  reference = room(n * n, sizeof *reference);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      matrix[i * n + j] = uniform() + (i == j ? (float)n : 0);
      reference[i * n + j] = matrix[i * n + j];
    }
  for (int64_t k = 0; k < n; k++)
#pragma omp parallel for schedule(static)
    for (int64_t i = k + 1; i < n; i++) {
      const double factor = reference[i * n + k] / reference[k * n + k];
      reference[i * n + k] = factor;
      for (int64_t j = k + 1; j < n; j++) reference[i * n + j] -= factor * reference[k * n + j];
    }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(lud, BLOCK, n, n, matrix, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(lud_seq, BLOCK, n, n, matrix, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  float *a = own;
  memcpy(a, matrix, (size_t)(n * n) * sizeof *a);
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) {
      const float factor = a[i * n + k] / a[k * n + k];
      a[i * n + k] = factor;
      for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
}

/* Rows i to i + 1 of what is left: less the product of a block's columns with its rows. */
static inline void update(float *a, int64_t i, int64_t d, int64_t e) {
  for (int64_t j = e; j < n; j += 64) {
    const int64_t width = n - j < 64 ? n - j : 64;
    float sums[64] = {0};
    for (int64_t t = d; t < e; t++) {
      const float factor = a[i * n + t];
      const float *restrict row = a + t * n + j;
#pragma omp simd
      for (int64_t at = 0; at < width; at++) sums[at] = fmaf(factor, row[at], sums[at]);
    }
    float *restrict to = a + i * n + j;
#pragma omp simd
    for (int64_t at = 0; at < width; at++) to[at] -= sums[at];
  }
}

static void run_tuned(void) {
  rival();
  float *a = own;
  memcpy(a, matrix, (size_t)(n * n) * sizeof *a);
  for (int64_t d = 0; d < n; d += BLOCK) {
    const int64_t e = d + BLOCK;
    for (int64_t k = d; k < e; k++)
      for (int64_t i = k + 1; i < e; i++) {
        const float factor = a[i * n + k] / a[k * n + k];
        a[i * n + k] = factor;
#pragma omp simd
        for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
      }
#pragma omp parallel for schedule(static)
    for (int64_t i = e; i < n; i++) {
      for (int64_t k = d; k < e; k++) {
        const float factor = a[i * n + k] / a[k * n + k];
        a[i * n + k] = factor;
        for (int64_t j = k + 1; j < e; j++) a[i * n + j] -= factor * a[k * n + j];
      }
      update(a, i, d, e);
    }
  }
}

static double error(void) { return difference_f32(found, reference, n * n); }
static double bytes(void) { return 8.0 * (double)n * (double)n; }
static double flops(void) { return 2.0 / 3.0 * (double)n * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
