#include "transpose.h"
#include "transpose_seq.h"
#include "almach.h"

ALMACH(transpose)
ARRAY(transpose, float)

static int64_t n;
static float *xs;

static bool setup(int64_t size) {
  n = size;
  xs = room(n * n, sizeof *xs);
  own = room(n * n, sizeof *own);
  for (int64_t i = 0; i < n * n; i++) xs[i] = uniform();
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(transpose, n, n, xs, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(transpose_seq, n, n, xs, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) own[j * n + i] = xs[i * n + j];
}

static void run_tuned(void) {
  rival();
  enum { TILE = 32 };
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t bj = 0; bj < n; bj += TILE)
    for (int64_t bi = 0; bi < n; bi += TILE) {
      const int64_t ei = bi + TILE < n ? bi + TILE : n, ej = bj + TILE < n ? bj + TILE : n;
      for (int64_t j = bj; j < ej; j++)
#pragma omp simd
        for (int64_t i = bi; i < ei; i++) own[j * n + i] = xs[i * n + j];
    }
}

static double error(void) { for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (found[j * n + i] != xs[i * n + j]) return INFINITY;
  return 0; }
static double bytes(void) { return 8.0 * (double)n * (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
