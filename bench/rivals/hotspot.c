#include "hotspot.h"
#include "hotspot_seq.h"
#include "almach.h"

ALMACH(hotspot)
ARRAY(hotspot, float)

enum { STEPS = 60 };

static int64_t n;
static float *temperature, *power, *other;
static double *reference;

static inline int64_t clamp(int64_t i) { return i < 0 ? 0 : i < n ? i : n - 1; }

static bool setup(int64_t size) {
  n = size;
  temperature = room(n * n, sizeof *temperature);
  power = room(n * n, sizeof *power);
  other = room(n * n, sizeof *other);
  scratch = block_bytes(other);
  own = room(n * n, sizeof *own);
  double *from = room(n * n, sizeof *from), *to = room(n * n, sizeof *to);
  for (int64_t i = 0; i < n * n; i++) {
    temperature[i] = uniform();
    power[i] = 0.01f * uniform();
    from[i] = temperature[i];
  }
  for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const double here = from[i * n + j];
        const double vertical = from[clamp(i - 1) * n + j] + from[clamp(i + 1) * n + j] - 2 * here;
        const double horizontal = from[i * n + clamp(j - 1)] + from[i * n + clamp(j + 1)] - 2 * here;
        to[i * n + j] = here + 0.125 * (power[i * n + j] + vertical + horizontal);
      }
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
  CALL(hotspot, STEPS, n, n, temperature, n, n, power, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(hotspot_seq, STEPS, n, n, temperature, n, n, power, &rows, &columns, &found);
  GIVEN_SEQ;
}

static inline float next(const float *from, int64_t i, int64_t j, int64_t up, int64_t down, int64_t left, int64_t right) {
  const float here = from[i * n + j];
  const float vertical = from[up * n + j] + from[down * n + j] - 2 * here;
  const float horizontal = from[i * n + left] + from[i * n + right] - 2 * here;
  return here + 0.125f * (power[i * n + j] + vertical + horizontal);
}

static void run_plain(void) {
  rival();
  const float *from = temperature;
  for (int step = 0; step < STEPS; step++) {
    float *to = (STEPS - step) % 2 == 1 ? own : other;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        to[i * n + j] = next(from, i, j, clamp(i - 1), clamp(i + 1), clamp(j - 1), clamp(j + 1));
    from = to;
  }
}

/* The ends of a row beside its loop, which then has no clamped index. */
static void run_tuned(void) {
  rival();
  const float *from = temperature;
  for (int step = 0; step < STEPS; step++) {
    float *restrict to = (STEPS - step) % 2 == 1 ? own : other;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      const int64_t up = clamp(i - 1), down = clamp(i + 1);
      to[i * n] = next(from, i, 0, up, down, 0, clamp(1));
#pragma omp simd
      for (int64_t j = 1; j < n - 1; j++) to[i * n + j] = next(from, i, j, up, down, j - 1, j + 1);
      to[i * n + n - 1] = next(from, i, n - 1, up, down, clamp(n - 2), n - 1);
    }
    from = to;
  }
}

static double error(void) { return difference_f32(found, reference, n * n); }
static double bytes(void) { return 12.0 * STEPS * (double)n * (double)n; }
static double flops(void) { return 9.0 * STEPS * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
