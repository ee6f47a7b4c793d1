#include "seidel2d.h"
#include "seidel2d_seq.h"
#include "almach.h"

ALMACH(seidel2d)
ARRAY(seidel2d, double)

static int64_t n;
static double *xs, *reference;

static int64_t inside(int64_t i) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* One row of the result from three rows of the grid. */
static void line(double *to, const double *above, const double *here, const double *below) {
#define CELL(i, j, k) \
  ((above[i] + above[j] + above[k] + here[i] + here[j] + here[k] + below[i] + below[j] + below[k]) / 9)
  to[0] = CELL(0, 0, 1);
#pragma omp simd
  for (int64_t j = 1; j < n - 1; j++) to[j] = CELL(j - 1, j, j + 1);
  to[n - 1] = CELL(n - 2, n - 1, n - 1);
#undef CELL
}

static void rows_in_order(double *to) {
  for (int64_t i = 0; i < n; i++) line(to + i * n, xs + inside(i - 1) * n, xs + i * n, xs + inside(i + 1) * n);
}

static bool setup(int64_t size) {
  n = size;
  xs = room(n * n, sizeof *xs);
  own = room(n * n, sizeof *own);
  reference = room(n * n, sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) xs[i] = uniform();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t a = -1; a <= 1; a++)
        for (int64_t b = -1; b <= 1; b++) sum += xs[inside(i + a) * n + inside(j + b)];
      reference[i * n + j] = sum / 9;
    }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(seidel2d, n, n, xs, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(seidel2d_seq, n, n, xs, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  rows_in_order(own);
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) line(own + i * n, xs + inside(i - 1) * n, xs + i * n, xs + inside(i + 1) * n);
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 16.0 * (double)n * (double)n; }
static double flops(void) { return 9.0 * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
