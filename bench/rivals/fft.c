#include "fft.h"
#include "fft_seq.h"
#include "almach.h"

ALMACH(fft)
ARRAYS(fft, float, 2)

static const double pi = 3.14159265358979323846;

static int64_t n;
static float *inputs[2], *others[2], *cosines, *sines;
static double *reference[2];

/* Stockham's form, in doubles. */
static void transform_f64(void) {
  double *from[2], *to[2];
  for (int at = 0; at < 2; at++) {
    from[at] = room(n, sizeof *from[at]);
    to[at] = room(n, sizeof *to[at]);
    for (int64_t i = 0; i < n; i++) from[at][i] = inputs[at][i];
  }
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t j = 0; j < n / 2; j++) {
      const int64_t k = j % half, i = j / half * 2 * half + k;
      const double angle = -pi * (double)k / (double)half, c = cos(angle), s = sin(angle);
      const double re = c * from[0][j + n / 2] - s * from[1][j + n / 2];
      const double im = c * from[1][j + n / 2] + s * from[0][j + n / 2];
      to[0][i] = from[0][j] + re, to[1][i] = from[1][j] + im;
      to[0][i + half] = from[0][j] - re, to[1][i + half] = from[1][j] - im;
    }
    for (int at = 0; at < 2; at++) {
      double *swapped = from[at];
      from[at] = to[at], to[at] = swapped;
    }
  }
  for (int at = 0; at < 2; at++) {
    reference[at] = from[at];
    free(to[at]);
  }
}

static bool setup(int64_t size) {
  n = size;
  cosines = room(n / 2, sizeof *cosines);
  sines = room(n / 2, sizeof *sines);
  scratch = block_bytes(cosines) + block_bytes(sines);
  for (int at = 0; at < 2; at++) {
    inputs[at] = room(n, sizeof *inputs[at]);
    others[at] = room(n, sizeof *others[at]);
    scratch += block_bytes(others[at]);
    owns[at] = room(n, sizeof *owns[at]);
    for (int64_t i = 0; i < n; i++) inputs[at][i] = uniform() - 0.5f;
  }
  transform_f64();
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(fft, n, inputs[0], n, inputs[1], &count, &founds[0], &count, &founds[1]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(fft_seq, n, inputs[0], n, inputs[1], &count, &founds[0], &count, &founds[1]);
  GIVEN_SEQ;
}

static void roots(int64_t k) {
  const double angle = -2 * pi * (double)k / (double)n;
  cosines[k] = (float)cos(angle), sines[k] = (float)sin(angle);
}

/* The array that a stage writes, so that the last one writes the result. */
static float **stage_to(int64_t half) {
  int left = 0;
  for (int64_t h = half; h < n; h *= 2) left++;
  return left % 2 == 1 ? owns : others;
}

static void run_plain(void) {
  rival();
  for (int64_t k = 0; k < n / 2; k++) roots(k);
  float **from = inputs;
  for (int64_t half = 1; half < n; half *= 2) {
    float **to = stage_to(half);
    for (int64_t j = 0; j < n / 2; j++) {
      const int64_t k = j % half, i = j / half * 2 * half + k;
      const float c = cosines[k * (n / 2 / half)], s = sines[k * (n / 2 / half)];
      const float re = c * from[0][j + n / 2] - s * from[1][j + n / 2];
      const float im = c * from[1][j + n / 2] + s * from[0][j + n / 2];
      to[0][i] = from[0][j] + re, to[1][i] = from[1][j] + im;
      to[0][i + half] = from[0][j] - re, to[1][i + half] = from[1][j] - im;
    }
    from = to;
  }
}

/* A stage: blocks of `half` neighbours, vectors within them once they are long enough. */
static void stage(int64_t half, float *const *from, float *const *to) {
  const float *restrict fr = from[0], *restrict fi = from[1];
  float *restrict tr = to[0], *restrict ti = to[1];
  const int64_t stride = n / 2 / half;
  if (half < 8) {
#pragma omp parallel for simd schedule(static)
    for (int64_t j = 0; j < n / 2; j++) {
      const int64_t k = j & (half - 1), i = 2 * j - k;
      const float c = cosines[k * stride], s = sines[k * stride];
      const float re = c * fr[j + n / 2] - s * fi[j + n / 2], im = c * fi[j + n / 2] + s * fr[j + n / 2];
      tr[i] = fr[j] + re, ti[i] = fi[j] + im;
      tr[i + half] = fr[j] - re, ti[i + half] = fi[j] - im;
    }
    return;
  }
  const int64_t run = half < 1024 ? half : 1024;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < n / 2; begin += run) {
    const int64_t first = begin & (half - 1), place = 2 * begin - first;
#pragma omp simd
    for (int64_t at = 0; at < run; at++) {
      const int64_t j = begin + at, i = place + at;
      const float c = cosines[(first + at) * stride], s = sines[(first + at) * stride];
      const float re = c * fr[j + n / 2] - s * fi[j + n / 2], im = c * fi[j + n / 2] + s * fr[j + n / 2];
      tr[i] = fr[j] + re, ti[i] = fi[j] + im;
      tr[i + half] = fr[j] - re, ti[i + half] = fi[j] - im;
    }
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < n / 2; k++) roots(k);
  float **from = inputs;
  for (int64_t half = 1; half < n; half *= 2) {
    float **to = stage_to(half);
    stage(half, from, to);
    from = to;
  }
}

static double error(void) {
  return fmax(difference_f32(founds[0], reference[0], n), difference_f32(founds[1], reference[1], n));
}
static double bytes(void) { return 16.0 * (double)n; }
static double flops(void) { return 5.0 * (double)n * log2((double)n); }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
