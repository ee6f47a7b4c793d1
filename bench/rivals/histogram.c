#include "histogram.h"
#include "histogram_seq.h"
#include "almach.h"

ALMACH(histogram)
ARRAY(histogram, int32_t)

static int64_t n;
static int32_t *keys;
static double *reference;
enum { BINS = 1024 };

static bool setup(int64_t size) {
  n = size;
  keys = room(n, sizeof *keys);
  own = room(BINS, sizeof *own);
  reference = room(BINS, sizeof *reference);
  memset(reference, 0, BINS * sizeof *reference);
  for (int64_t i = 0; i < n; i++) {
    keys[i] = (int32_t)(random_bits() % BINS);
    reference[keys[i]]++;
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(histogram, n, keys, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(histogram_seq, n, keys, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  memset(own, 0, BINS * sizeof *own);
  for (int64_t i = 0; i < n; i++) own[keys[i]]++;
}

static void run_tuned(void) {
  rival();
  memset(own, 0, BINS * sizeof *own);
#pragma omp parallel
  {
    /* Four copies a thread, so that equal neighbours do not wait for each other. */
    int32_t counts[4][BINS] = {{0}};
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n / 4; i++) {
      for (int k = 0; k < 4; k++) counts[k][keys[4 * i + k]]++;
    }
#pragma omp single nowait
    for (int64_t i = n / 4 * 4; i < n; i++) counts[0][keys[i]]++;
#pragma omp critical
    for (int b = 0; b < BINS; b++) own[b] += counts[0][b] + counts[1][b] + counts[2][b] + counts[3][b];
  }
}

static double error(void) { double most = 0;
  for (int b = 0; b < BINS; b++) most = fmax(most, fabs(found[b] - reference[b]));
  return most; }
static double bytes(void) { return 4.0 * (double)n; }
static double flops(void) { return (double)n; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
