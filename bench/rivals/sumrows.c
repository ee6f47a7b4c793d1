#include "sumrows.h"
#include "sumrows_seq.h"
#include "almach.h"

ALMACH(sumrows)
ARRAY(sumrows, float)

enum { LONGEST = 128 };

static int64_t rows, n;
static int64_t *offsets;
static float *xs;
static double *reference;

static bool setup(int64_t size) {
  rows = size;
  offsets = room(rows + 1, sizeof *offsets);
  offsets[0] = 0;
  for (int64_t i = 0; i < rows; i++) offsets[i + 1] = offsets[i] + random_bits() % (LONGEST + 1);
  n = offsets[rows];
  xs = room(n, sizeof *xs);
  own = room(rows, sizeof *own);
  reference = room(rows, sizeof *reference);
  for (int64_t i = 0; i < n; i++) xs[i] = uniform();
  for (int64_t i = 0; i < rows; i++) {
    reference[i] = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) reference[i] += xs[at];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(sumrows, rows, offsets, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(sumrows_seq, rows, offsets, n, xs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < rows; i++) {
    float sum = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) sum += xs[at];
    own[i] = sum;
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) sum += xs[at];
    own[i] = sum;
  }
}

static double error(void) { return difference_f32(found, reference, rows); }
static double bytes(void) { return 4.0 * (double)n + 12.0 * (double)rows; }
static double flops(void) { return (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
