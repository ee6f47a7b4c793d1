#include "mandelbrot.h"
#include "mandelbrot_seq.h"
#include "almach.h"

ALMACH(mandelbrot)
ARRAY(mandelbrot, int32_t)

enum { LIMIT = 256 };

static int64_t n;
static int32_t *reference;
static double steps_done;

static inline int32_t escape(float cx, float cy) {
  float x = 0, y = 0;
  int32_t steps = 0;
  while (steps < LIMIT && x * x + y * y <= 4) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    steps++;
  }
  return steps;
}

static inline float across(int64_t column) { return -2.0f + 2.5f * (float)column / (float)n; }
static inline float down(int64_t row) { return -1.25f + 2.5f * (float)row / (float)n; }

static bool setup(int64_t size) {
  n = size;
  own = room(n * n, sizeof *own);
  reference = room(n * n, sizeof *reference);
  steps_done = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      reference[i * n + j] = escape(across(j), down(i));
      steps_done += reference[i * n + j];
    }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(mandelbrot, n, n, LIMIT, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(mandelbrot_seq, n, n, LIMIT, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) own[i * n + j] = escape(across(j), down(i));
}

static void run_tuned(void) {
  /* Several points at once, until the last of them is done; rows take different time. */
  enum { LANES = 32 };
  rival();
  int32_t *to = own;
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t i = 0; i < n; i++) {
    const float cy = down(i);
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
      float x[LANES] = {0}, y[LANES] = {0}, cx[LANES];
      int32_t steps[LANES] = {0};
      for (int lane = 0; lane < LANES; lane++) cx[lane] = across(j + lane);
      int32_t active = 1;
      for (int step = 0; step < LIMIT && active != 0; step++) {
        active = 0;
#pragma omp simd reduction(| : active)
        for (int lane = 0; lane < LANES; lane++) {
          const float xx = x[lane] * x[lane], yy = y[lane] * y[lane];
          const int32_t inside = xx + yy <= 4;
          const float next = xx - yy + cx[lane];
          y[lane] = 2 * x[lane] * y[lane] + cy;
          x[lane] = next;
          steps[lane] += inside;
          active |= inside;
        }
      }
      for (int lane = 0; lane < LANES; lane++) to[i * n + j + lane] = steps[lane];
    }
    for (; j < n; j++) to[i * n + j] = escape(across(j), cy);
  }
}

static double error(void) {
  return memcmp(found, reference, (size_t)(n * n) * sizeof *reference) == 0 ? 0 : INFINITY;
}
static double bytes(void) { return 4.0 * (double)n * (double)n; }
static double flops(void) { return 8.0 * steps_done; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
