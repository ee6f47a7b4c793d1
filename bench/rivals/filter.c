#include "filter.h"
#include "filter_seq.h"
#include "almach.h"

ALMACH(filter)
ARRAY(filter, float)

static int64_t n, kept;
static float *xs;
static double *reference;
static int64_t count;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  own = room(n, sizeof *own);
  reference = room(n, sizeof *reference);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    if (xs[i] > 0.5f) reference[kept++] = xs[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  CALL(filter, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  CALL(filter_seq, n, xs, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (xs[i] > 0.5f) own[count++] = xs[i];
  }
}

static void run_tuned(void) {
  rival();
  /* Counts of chunks, their prefix, then every chunk to its place. */
  enum { CHUNK = 1 << 14 };
  const int64_t chunks = (n + CHUNK - 1) / CHUNK;
  int64_t *before = room(chunks + 1, sizeof *before);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++) {
    const int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
    int64_t some = 0;
#pragma omp simd reduction(+ : some)
    for (int64_t i = c * CHUNK; i < end; i++) some += xs[i] > 0.5f;
    before[c + 1] = some;
  }
  before[0] = 0;
  for (int64_t c = 0; c < chunks; c++) before[c + 1] += before[c];
  count = before[chunks];
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++) {
    const int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
    int64_t at = before[c];
    for (int64_t i = c * CHUNK; i < end; i++) {
      if (at < before[c + 1]) own[at] = xs[i];
      at += xs[i] > 0.5f;
    }
  }
  free(before);
}

static double error(void) { return count == kept ? difference_f32(found, reference, n < kept ? n : kept) : INFINITY; }
static double bytes(void) { return 6.0 * (double)n; }
static double flops(void) { return (double)n; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
