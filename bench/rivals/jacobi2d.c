#include "jacobi2d.h"
#include "jacobi2d_seq.h"
#include "almach.h"

ALMACH(jacobi2d)
ARRAY(jacobi2d, double)

static int64_t n;
static double *xs, *reference;

static bool setup(int64_t size) {
  n = size;
  xs = room(n * n, sizeof *xs);
  own = room(n * n, sizeof *own);
  reference = room(n * n, sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) xs[i] = uniform();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const double *at = &xs[i * n + j];
      const bool inner = i > 0 && j > 0 && i < n - 1 && j < n - 1;
      reference[i * n + j] = inner ? (at[-n] + at[-1] + at[0] + at[1] + at[n]) / 5 : *at;
    }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(jacobi2d, n, n, xs, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(jacobi2d_seq, n, n, xs, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const double *at = &xs[i * n + j];
      const bool inner = i > 0 && j > 0 && i < n - 1 && j < n - 1;
      own[i * n + j] = inner ? (at[-n] + at[-1] + at[0] + at[1] + at[n]) / 5 : *at;
    }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || i == n - 1) {
      memcpy(own + i * n, xs + i * n, (size_t)n * sizeof *own);
      continue;
    }
    own[i * n] = xs[i * n];
#pragma omp simd
    for (int64_t j = 1; j < n - 1; j++) {
      const double *at = &xs[i * n + j];
      own[i * n + j] = (at[-n] + at[-1] + at[0] + at[1] + at[n]) / 5;
    }
    own[i * n + n - 1] = xs[i * n + n - 1];
  }
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 16.0 * (double)n * (double)n; }
static double flops(void) { return 5.0 * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
