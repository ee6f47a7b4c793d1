#include "sumstats.h"
#include "sumstats_seq.h"
#include "almach.h"

ALMACH(sumstats)

enum { POWERS = 4, STATISTICS = 6 };

static int64_t n;
static float *xs;
static float found_statistics[STATISTICS];
static double reference[STATISTICS];

/* Least, greatest, mean, variance, skewness and kurtosis from the sums of powers. */
static void statistics(double least, double greatest, const double sums[POWERS], double to[STATISTICS]) {
  const double count = (double)n;
  const double m1 = sums[0] / count, m2 = sums[1] / count, m3 = sums[2] / count, m4 = sums[3] / count;
  const double variance = m2 - m1 * m1;
  const double third = m3 - 3 * m1 * m2 + 2 * m1 * m1 * m1;
  const double fourth = m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1 * m1 * m1 * m1;
  to[0] = least, to[1] = greatest, to[2] = m1, to[3] = variance;
  to[4] = third / (variance * sqrt(variance));
  to[5] = fourth / (variance * variance);
}

static void report(float least, float greatest, const double sums[POWERS]) {
  double to[STATISTICS];
  statistics(least, greatest, sums, to);
  for (int at = 0; at < STATISTICS; at++) found_statistics[at] = (float)to[at];
}

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  double least = INFINITY, greatest = -INFINITY, sums[POWERS] = {0};
  for (int64_t i = 0; i < n; i++) {
    const float u = uniform();
    xs[i] = u * u;
    const double x = xs[i];
    least = fmin(least, x), greatest = fmax(greatest, x);
    sums[0] += x, sums[1] += x * x, sums[2] += x * x * x, sums[3] += x * x * x * x;
  }
  statistics(least, greatest, sums, reference);
  return true;
}

#define RESULTS                                                                                                   \
  &found_statistics[0], &found_statistics[1], &found_statistics[2], &found_statistics[3], &found_statistics[4], \
      &found_statistics[5]

static void run_almach(void) { CALL(sumstats, n, xs, RESULTS); }
static void run_almach_seq(void) { CALL(sumstats_seq, n, xs, RESULTS); }

/* Sums of so many elements in f32 would be far off: doubles, as one writes it. */
static void run_plain(void) {
  float least = INFINITY, greatest = -INFINITY;
  double sums[POWERS] = {0};
  for (int64_t i = 0; i < n; i++) {
    const float x = xs[i];
    least = x < least ? x : least;
    greatest = x > greatest ? x : greatest;
    const double d = x, square = d * d;
    sums[0] += d, sums[1] += square, sums[2] += square * d, sums[3] += square * square;
  }
  report(least, greatest, sums);
}

static void run_tuned(void) {
  /* Sums of a chunk in f32 by lanes, and those of chunks in f64. */
  enum { CHUNK = 1 << 12 };
  const int64_t chunks = (n + CHUNK - 1) / CHUNK;
  float least = INFINITY, greatest = -INFINITY;
  double s1 = 0, s2 = 0, s3 = 0, s4 = 0;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : greatest) reduction(+ : s1, s2, s3, s4)
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int64_t end = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    float low = INFINITY, high = -INFINITY, a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : a, b, c, d)
    for (int64_t i = chunk * CHUNK; i < end; i++) {
      const float x = xs[i], square = x * x;
      low = x < low ? x : low;
      high = x > high ? x : high;
      a += x;
      b += square;
      c = fmaf(square, x, c);
      d = fmaf(square, square, d);
    }
    least = low < least ? low : least;
    greatest = high > greatest ? high : greatest;
    s1 += a, s2 += b, s3 += c, s4 += d;
  }
  report(least, greatest, (const double[POWERS]){s1, s2, s3, s4});
}

static double error(void) { return difference_f32(found_statistics, reference, STATISTICS); }
static double bytes(void) { return 4.0 * (double)n; }
static double flops(void) { return 9.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-2, bytes, flops, variants};
