#include "box3x3.h"
#include "box3x3_seq.h"
#include "almach.h"

ALMACH(box3x3)
ARRAY(box3x3, float)

static int64_t n, inner;
static float *image;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  inner = n - 2;
  image = room(n * n, sizeof *image);
  own = room(inner * inner, sizeof *own);
  reference = room(inner * inner, sizeof *reference);
  for (int64_t i = 0; i < n * n; i++) image[i] = uniform();
  for (int64_t i = 0; i < inner; i++)
    for (int64_t j = 0; j < inner; j++) {
      double sum = 0;
      for (int64_t a = 0; a < 3; a++)
        for (int64_t b = 0; b < 3; b++) sum += image[(i + a) * n + j + b];
      reference[i * inner + j] = sum / 9;
    }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(box3x3, n, n, image, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(box3x3_seq, n, n, image, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < inner; i++)
    for (int64_t j = 0; j < inner; j++) {
      const float *at = image + i * n + j;
      own[i * inner + j] =
          (at[0] + at[1] + at[2] + at[n] + at[n + 1] + at[n + 2] + at[2 * n] + at[2 * n + 1] + at[2 * n + 2]) / 9;
    }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < inner; i++) {
    const float *restrict above = image + i * n, *restrict here = above + n, *restrict below = here + n;
    float *restrict to = own + i * inner;
#pragma omp simd
    for (int64_t j = 0; j < inner; j++) {
      const float left = above[j] + here[j] + below[j];
      const float middle = above[j + 1] + here[j + 1] + below[j + 1];
      const float right = above[j + 2] + here[j + 2] + below[j + 2];
      to[j] = (left + middle + right) * (1.0f / 9);
    }
  }
}

static double error(void) { return difference_f32(found, reference, inner * inner); }
static double bytes(void) { return 4.0 * (double)(n * n) + 4.0 * (double)(inner * inner); }
static double flops(void) { return 9.0 * (double)(inner * inner); }

VARIANTS
const struct workload workload = {setup, error, 1e-6, bytes, flops, variants};
