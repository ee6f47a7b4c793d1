#include "dot3.h"
#include "dot3_seq.h"
#include "almach.h"

ALMACH(dot3)
ARRAY(dot3, float)

static int64_t n;
static float *as, *bs;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  as = room(3 * n, sizeof *as);
  bs = room(3 * n, sizeof *bs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < 3 * n; i++) {
    as[i] = uniform();
    bs[i] = uniform();
  }
  for (int64_t i = 0; i < n; i++) {
    reference[i] = 0;
    for (int at = 0; at < 3; at++) reference[i] += (double)as[3 * i + at] * bs[3 * i + at];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(dot3, n, 3, as, n, 3, bs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(dot3_seq, n, 3, as, n, 3, bs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++)
    own[i] = as[3 * i] * bs[3 * i] + as[3 * i + 1] * bs[3 * i + 1] + as[3 * i + 2] * bs[3 * i + 2];
}

static void run_tuned(void) {
  rival();
  float *restrict to = own;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++)
    to[i] = fmaf(as[3 * i], bs[3 * i], fmaf(as[3 * i + 1], bs[3 * i + 1], as[3 * i + 2] * bs[3 * i + 2]));
}

static double error(void) { return difference_f32(found, reference, n); }
static double bytes(void) { return 28.0 * (double)n; }
static double flops(void) { return 5.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-6, bytes, flops, variants};
