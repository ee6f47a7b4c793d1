#include "spmv.h"
#include "spmv_seq.h"
#include "almach.h"

ALMACH(spmv)
ARRAY(spmv, float)

enum { ENTRIES = 32 };

static int64_t n;
static float *values, *x;
static int32_t *columns;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  values = room(ENTRIES * n, sizeof *values);
  columns = room(ENTRIES * n, sizeof *columns);
  x = room(n, sizeof *x);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) x[i] = uniform();
  for (int64_t i = 0; i < n; i++) {
    reference[i] = 0;
    for (int64_t at = ENTRIES * i; at < ENTRIES * (i + 1); at++) {
      values[at] = uniform();
      columns[at] = (int32_t)(random_bits() % (uint64_t)n);
      reference[i] += (double)values[at] * x[columns[at]];
    }
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(spmv, n, ENTRIES, values, n, ENTRIES, columns, n, x, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(spmv_seq, n, ENTRIES, values, n, ENTRIES, columns, n, x, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int64_t at = ENTRIES * i; at < ENTRIES * (i + 1); at++) sum += values[at] * x[columns[at]];
    own[i] = sum;
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t at = 0; at < ENTRIES; at++)
      sum = fmaf(values[ENTRIES * i + at], x[columns[ENTRIES * i + at]], sum);
    own[i] = sum;
  }
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return (8.0 * ENTRIES + 8.0) * (double)n; }
static double flops(void) { return 2.0 * ENTRIES * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
