#include "bbox.h"
#include "bbox_seq.h"
#include "almach.h"

ALMACH(bbox)

enum { BOX = 4 };

static int64_t n;
static float *points;
static float box[BOX];
static double reference[BOX];

static bool setup(int64_t size) {
  n = size;
  points = room(2 * n, sizeof *points);
  for (int64_t i = 0; i < 2 * n; i++) points[i] = 7 * uniform() - 3;
  for (int at = 0; at < BOX; at++) reference[at] = at < 2 ? INFINITY : -INFINITY;
  for (int64_t i = 0; i < n; i++)
    for (int at = 0; at < 2; at++) {
      reference[at] = fmin(reference[at], points[2 * i + at]);
      reference[at + 2] = fmax(reference[at + 2], points[2 * i + at]);
    }
  return true;
}

static void run_almach(void) { CALL(bbox, n, 2, points, &box[0], &box[1], &box[2], &box[3]); }
static void run_almach_seq(void) { CALL(bbox_seq, n, 2, points, &box[0], &box[1], &box[2], &box[3]); }

static void run_plain(void) {
  float left = INFINITY, low = INFINITY, right = -INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    const float x = points[2 * i], y = points[2 * i + 1];
    left = x < left ? x : left;
    low = y < low ? y : low;
    right = x > right ? x : right;
    high = y > high ? y : high;
  }
  box[0] = left, box[1] = low, box[2] = right, box[3] = high;
}

static void run_tuned(void) {
  /* Even lanes are x, odd ones y: no element has to be moved between lanes. */
  enum { LANES = 64 };
  float least[2] = {INFINITY, INFINITY}, greatest[2] = {-INFINITY, -INFINITY};
  const int64_t rows = 2 * n / LANES;
#pragma omp parallel
  {
    float low[LANES], high[LANES];
    for (int lane = 0; lane < LANES; lane++) low[lane] = INFINITY, high[lane] = -INFINITY;
#pragma omp for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
      const float *at = points + row * LANES;
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) {
        low[lane] = at[lane] < low[lane] ? at[lane] : low[lane];
        high[lane] = at[lane] > high[lane] ? at[lane] : high[lane];
      }
    }
#pragma omp critical
    for (int lane = 0; lane < LANES; lane++) {
      if (low[lane] < least[lane % 2]) least[lane % 2] = low[lane];
      if (high[lane] > greatest[lane % 2]) greatest[lane % 2] = high[lane];
    }
  }
  for (int64_t i = rows * LANES; i < 2 * n; i++) {
    if (points[i] < least[i % 2]) least[i % 2] = points[i];
    if (points[i] > greatest[i % 2]) greatest[i % 2] = points[i];
  }
  for (int at = 0; at < 2; at++) box[at] = least[at], box[at + 2] = greatest[at];
}

static double error(void) { return difference_f32(box, reference, BOX); }
static double bytes(void) { return 8.0 * (double)n; }
static double flops(void) { return 4.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
