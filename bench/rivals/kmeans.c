#include "kmeans.h"
#include "kmeans_seq.h"
#include "almach.h"

ALMACH(kmeans)
ARRAYS(kmeans, float, 2)

enum { CENTRES = 16, ROUNDS = 5 };

static int64_t n;
static float *xs, *ys;
static float start[2][CENTRES];
static double reference[2][CENTRES];

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  for (int at = 0; at < 2; at++) owns[at] = room(CENTRES, sizeof *owns[at]);
  for (int64_t i = 0; i < n; i++) {
    /* Around the points of a grid of four by four. */
    const uint32_t bits = random_bits();
    xs[i] = (float)(bits % 4) + 0.5f * uniform();
    ys[i] = (float)(bits / 4 % 4) + 0.5f * uniform();
  }
  for (int c = 0; c < CENTRES; c++) {
    start[0][c] = (float)(c % 4) + 0.2f;
    start[1][c] = (float)(c / 4) + 0.3f;
    for (int at = 0; at < 2; at++) reference[at][c] = start[at][c];
  }
  for (int round = 0; round < ROUNDS; round++) {
    double sums[2][CENTRES] = {{0}};
    int64_t counts[CENTRES] = {0};
    for (int64_t i = 0; i < n; i++) {
      int best = 0;
      double least = INFINITY;
      for (int c = 0; c < CENTRES; c++) {
        const double dx = reference[0][c] - xs[i], dy = reference[1][c] - ys[i], d = dx * dx + dy * dy;
        if (d < least) least = d, best = c;
      }
      sums[0][best] += xs[i], sums[1][best] += ys[i], counts[best]++;
    }
    for (int c = 0; c < CENTRES; c++)
      for (int at = 0; at < 2; at++)
        if (counts[c] > 0) reference[at][c] = sums[at][c] / (double)counts[c];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(kmeans, ROUNDS, n, xs, n, ys, CENTRES, start[0], CENTRES, start[1], &count, &founds[0], &count, &founds[1]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(kmeans_seq, ROUNDS, n, xs, n, ys, CENTRES, start[0], CENTRES, start[1], &count, &founds[0], &count, &founds[1]);
  GIVEN_SEQ;
}

static inline int nearest(float x, float y) {
  int best = 0;
  float least = INFINITY;
  for (int c = 0; c < CENTRES; c++) {
    const float dx = owns[0][c] - x, dy = owns[1][c] - y, d = dx * dx + dy * dy;
    if (d < least) least = d, best = c;
  }
  return best;
}

static void move(double sums[3][CENTRES]) {
  for (int c = 0; c < CENTRES; c++)
    for (int at = 0; at < 2; at++)
      if (sums[2][c] > 0) owns[at][c] = (float)(sums[at][c] / sums[2][c]);
}

static void run_plain(void) {
  rival();
  memcpy(owns[0], start[0], sizeof start[0]);
  memcpy(owns[1], start[1], sizeof start[1]);
  for (int round = 0; round < ROUNDS; round++) {
    double sums[3][CENTRES] = {{0}};
    for (int64_t i = 0; i < n; i++) {
      const int best = nearest(xs[i], ys[i]);
      sums[0][best] += xs[i], sums[1][best] += ys[i], sums[2][best]++;
    }
    move(sums);
  }
}

static void run_tuned(void) {
  rival();
  memcpy(owns[0], start[0], sizeof start[0]);
  memcpy(owns[1], start[1], sizeof start[1]);
  enum { CHUNK = 1 << 10 };
  const int64_t chunks = (n + CHUNK - 1) / CHUNK;
  for (int round = 0; round < ROUNDS; round++) {
    double sums[3][CENTRES] = {{0}};
    float cx[CENTRES], cy[CENTRES];
    memcpy(cx, owns[0], sizeof cx);
    memcpy(cy, owns[1], sizeof cy);
#pragma omp parallel for schedule(static) reduction(+ : sums[:3][:CENTRES])
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      const int64_t begin = chunk * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
      /* Centres outside, points as lanes: the least so far is compared without a branch. */
      float least[CHUNK];
      int32_t best[CHUNK];
      for (int64_t i = 0; i < end - begin; i++) least[i] = INFINITY, best[i] = 0;
      for (int c = 0; c < CENTRES; c++)
#pragma omp simd
        for (int64_t i = 0; i < end - begin; i++) {
          const float dx = cx[c] - xs[begin + i], dy = cy[c] - ys[begin + i], d = fmaf(dx, dx, dy * dy);
          best[i] = d < least[i] ? c : best[i];
          least[i] = d < least[i] ? d : least[i];
        }
      float part[3][CENTRES] = {{0}};
      for (int64_t i = begin; i < end; i++) {
        const int32_t c = best[i - begin];
        part[0][c] += xs[i], part[1][c] += ys[i], part[2][c]++;
      }
      for (int at = 0; at < 3; at++)
        for (int c = 0; c < CENTRES; c++) sums[at][c] += part[at][c];
    }
    move(sums);
  }
}

static double error(void) {
  return fmax(difference_f32(founds[0], reference[0], CENTRES), difference_f32(founds[1], reference[1], CENTRES));
}
static double bytes(void) { return 8.0 * ROUNDS * (double)n; }
static double flops(void) { return 6.0 * CENTRES * ROUNDS * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-3, bytes, flops, variants};
