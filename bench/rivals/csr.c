#include "csr.h"
#include "csr_seq.h"
#include "almach.h"

ALMACH(csr)
ARRAY(csr, float)

enum { LONGEST = 64 };

static int64_t n, entries;
static int64_t *offsets;
static int32_t *columns;
static float *values, *x;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  offsets = room(n + 1, sizeof *offsets);
  offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) offsets[i + 1] = offsets[i] + random_bits() % (LONGEST + 1);
  entries = offsets[n];
  columns = room(entries, sizeof *columns);
  values = room(entries, sizeof *values);
  x = room(n, sizeof *x);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) x[i] = uniform();
  for (int64_t i = 0; i < n; i++) {
    reference[i] = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) {
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
  CALL(csr, n, offsets, entries, columns, values, n, x, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(csr_seq, n, offsets, entries, columns, values, n, x, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) sum += values[at] * x[columns[at]];
    own[i] = sum;
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) sum = fmaf(values[at], x[columns[at]], sum);
    own[i] = sum;
  }
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 8.0 * (double)entries + 16.0 * (double)n; }
static double flops(void) { return 2.0 * (double)entries; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
