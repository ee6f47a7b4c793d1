#include "lbm.h"
#include "lbm_seq.h"
#include "almach.h"

ALMACH(lbm)
ARRAY(lbm, float)

enum { STEPS = 20, Q = 9 };

static const float omega = 0.6f;
static const int across[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int down[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

static int64_t n;
static float *start, *other;
static double *reference;

static inline double weight(int q) { return q == 0 ? 4.0 / 9 : q < 5 ? 1.0 / 9 : 1.0 / 36; }

static void step_f64(const double *from, double *to) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double f[Q], density = 0, ux = 0, uy = 0;
      for (int q = 0; q < Q; q++) {
        f[q] = from[((i - down[q] + n) % n * n + (j - across[q] + n) % n) * Q + q];
        density += f[q], ux += across[q] * f[q], uy += down[q] * f[q];
      }
      ux /= density, uy /= density;
      const double still = 1 - 1.5 * (ux * ux + uy * uy);
      for (int q = 0; q < Q; q++) {
        const double along = across[q] * ux + down[q] * uy;
        const double equilibrium = weight(q) * density * (still + 3 * along + 4.5 * along * along);
        to[(i * n + j) * Q + q] = f[q] + (double)omega * (equilibrium - f[q]);
      }
    }
}

static bool setup(int64_t size) {
  n = size;
  const int64_t cells = n * n * Q;
  start = room(cells, sizeof *start);
  other = room(cells, sizeof *other);
  scratch = block_bytes(other);
  own = room(cells, sizeof *own);
  double *from = room(cells, sizeof *from), *to = room(cells, sizeof *to);
  for (int64_t i = 0; i < cells; i++) {
    start[i] = 0.5f + uniform();
    from[i] = start[i];
  }
  for (int step = 0; step < STEPS; step++) {
    step_f64(from, to);
    double *swapped = from;
    from = to, to = swapped;
  }
  reference = from;
  free(to);
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  int64_t directions;
  CALL(lbm, STEPS, omega, n, n, Q, start, &rows, &columns, &directions, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  int64_t directions;
  CALL(lbm_seq, STEPS, omega, n, n, Q, start, &rows, &columns, &directions, &found);
  GIVEN_SEQ;
}

static inline void relax(const float f[Q], float *to) {
  float density = 0, ux = 0, uy = 0;
  for (int q = 0; q < Q; q++) {
    density += f[q];
    ux += (float)across[q] * f[q];
    uy += (float)down[q] * f[q];
  }
  ux /= density, uy /= density;
  const float still = 1 - 1.5f * (ux * ux + uy * uy);
  for (int q = 0; q < Q; q++) {
    const float along = (float)across[q] * ux + (float)down[q] * uy;
    const float equilibrium = (float)weight(q) * density * (still + 3 * along + 4.5f * along * along);
    to[q] = f[q] + omega * (equilibrium - f[q]);
  }
}

static void run_plain(void) {
  rival();
  const float *from = start;
  for (int step = 0; step < STEPS; step++) {
    float *to = (STEPS - step) % 2 == 1 ? own : other;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        float f[Q];
        for (int q = 0; q < Q; q++)
          f[q] = from[((i - down[q] + n) % n * n + (j - across[q] + n) % n) * Q + q];
        relax(f, to + (i * n + j) * Q);
      }
    from = to;
  }
}

/* No division for the neighbours: rows are looked up once, and only the ends of a row wrap around. */
static void run_tuned(void) {
  rival();
  const float *from = start;
  for (int step = 0; step < STEPS; step++) {
    float *to = (STEPS - step) % 2 == 1 ? own : other;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      const float *rows[3] = {from + (i == 0 ? n - 1 : i - 1) * n * Q, from + i * n * Q,
                              from + (i == n - 1 ? 0 : i + 1) * n * Q};
      for (int64_t j = 0; j < n; j++) {
        const int64_t columns[3] = {(j == 0 ? n - 1 : j - 1) * Q, j * Q, (j == n - 1 ? 0 : j + 1) * Q};
        float f[Q];
        for (int q = 0; q < Q; q++) f[q] = rows[1 - down[q]][columns[1 - across[q]] + q];
        relax(f, to + (i * n + j) * Q);
      }
    }
    from = to;
  }
}

static double error(void) { return difference_f32(found, reference, n * n * Q); }
static double bytes(void) { return 72.0 * STEPS * (double)n * (double)n; }
static double flops(void) { return 150.0 * STEPS * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-4, bytes, flops, variants};
