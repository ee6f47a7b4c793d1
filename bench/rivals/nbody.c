#include "nbody.h"
#include "nbody_seq.h"
#include "almach.h"

ALMACH(nbody)
ARRAYS(nbody, float, 3)

static const float softening = 1e-3f;

static int64_t n;
static float *xs, *ys, *zs, *masses;
static double *reference[3];

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  zs = room(n, sizeof *zs);
  masses = room(n, sizeof *masses);
  for (int at = 0; at < 3; at++) {
    owns[at] = room(n, sizeof *owns[at]);
    reference[at] = room(n, sizeof *reference[at]);
  }
  for (int64_t i = 0; i < n; i++) {
    xs[i] = uniform();
    ys[i] = uniform();
    zs[i] = uniform();
    masses[i] = uniform();
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double sum[3] = {0};
    for (int64_t j = 0; j < n; j++) {
      const double dx = (double)xs[j] - xs[i], dy = (double)ys[j] - ys[i], dz = (double)zs[j] - zs[i];
      const double distance = dx * dx + dy * dy + dz * dz + softening;
      const double strength = masses[j] / (distance * sqrt(distance));
      sum[0] += strength * dx, sum[1] += strength * dy, sum[2] += strength * dz;
    }
    for (int at = 0; at < 3; at++) reference[at][i] = sum[at];
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(nbody, n, xs, n, ys, n, zs, n, masses, &count, &founds[0], &count, &founds[1], &count, &founds[2]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(nbody_seq, n, xs, n, ys, n, zs, n, masses, &count, &founds[0], &count, &founds[1], &count, &founds[2]);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) {
    float ax = 0, ay = 0, az = 0;
    for (int64_t j = 0; j < n; j++) {
      const float dx = xs[j] - xs[i], dy = ys[j] - ys[i], dz = zs[j] - zs[i];
      const float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening);
      const float strength = masses[j] * inverse * inverse * inverse;
      ax += strength * dx;
      ay += strength * dy;
      az += strength * dz;
    }
    owns[0][i] = ax, owns[1][i] = ay, owns[2][i] = az;
  }
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const float x = xs[i], y = ys[i], z = zs[i];
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int64_t j = 0; j < n; j++) {
      const float dx = xs[j] - x, dy = ys[j] - y, dz = zs[j] - z;
      const float inverse = 1 / sqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
      const float strength = masses[j] * inverse * inverse * inverse;
      ax = fmaf(strength, dx, ax);
      ay = fmaf(strength, dy, ay);
      az = fmaf(strength, dz, az);
    }
    owns[0][i] = ax, owns[1][i] = ay, owns[2][i] = az;
  }
}

static double error(void) {
  double worst = 0;
  for (int at = 0; at < 3; at++) worst = fmax(worst, difference_f32(founds[at], reference[at], n));
  return worst;
}
static double bytes(void) { return 28.0 * (double)n; }
static double flops(void) { return 20.0 * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-3, bytes, flops, variants};
