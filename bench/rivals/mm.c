#include "mm.h"
#include "mm_seq.h"
#include "almach.h"
#include "blas.h"

ALMACH(mm)
ARRAY(mm, double)

static int64_t n;
static double *a, *b, *reference;

static bool setup(int64_t size) {
  n = size;
  a = room(n * n, sizeof *a);
  b = room(n * n, sizeof *b);
  own = room(n * n, sizeof *own);
  reference = room(n * n, sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) {
    a[i] = uniform();
    b[i] = uniform();
  }
  memset(reference, 0, (size_t)(n * n) * sizeof *reference);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < n; j++) reference[i * n + j] += a[i * n + k] * b[k * n + j];
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(mm, n, n, a, n, n, b, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(mm_seq, n, n, a, n, n, b, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
      own[i * n + j] = sum;
    }
}

static void run_tuned(void) {
  rival();
  /* Four rows and a strip of columns at a time: each element of b is used four times while it is in a register. */
  enum { ROWS = 4, STRIP = 16, DEPTH = 256 };
  memset(own, 0, (size_t)(n * n) * sizeof *own);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i += ROWS)
    for (int64_t depth = 0; depth < n; depth += DEPTH)
      for (int64_t j = 0; j < n; j += STRIP) {
        const int64_t last = depth + DEPTH < n ? depth + DEPTH : n;
        const int64_t rows = n - i < ROWS ? n - i : ROWS, width = n - j < STRIP ? n - j : STRIP;
        double sums[ROWS][STRIP] = {{0}};
        if (rows == ROWS && width == STRIP) {
          for (int64_t k = depth; k < last; k++)
            for (int r = 0; r < ROWS; r++)
#pragma omp simd
              for (int c = 0; c < STRIP; c++) sums[r][c] = fma(a[(i + r) * n + k], b[k * n + j + c], sums[r][c]);
        } else {
          for (int64_t k = depth; k < last; k++)
            for (int64_t r = 0; r < rows; r++)
              for (int64_t c = 0; c < width; c++) sums[r][c] = fma(a[(i + r) * n + k], b[k * n + j + c], sums[r][c]);
        }
        for (int64_t r = 0; r < rows; r++)
          for (int64_t c = 0; c < width; c++) own[(i + r) * n + j + c] += sums[r][c];
      }
}

BLAS(void, dgemm, int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int)

static void run_blas(void) {
  rival();
  dgemm()(ROW_MAJOR, AS_IT_IS, AS_IT_IS, (int)n, (int)n, (int)n, 1, a, (int)n, b, (int)n, 0, own, (int)n);
}

static double error(void) { return difference_f64(found, reference, n * n); }
static double bytes(void) { return 24.0 * (double)n * (double)n; }
static double flops(void) { return 2.0 * (double)n * (double)n * (double)n; }

VARIANTS_AND({"openblas", run_blas, has_blas})
const struct workload workload = {setup, error, 1e-10, bytes, flops, variants};
