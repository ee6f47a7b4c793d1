/* What this machine can do: reading, copying, copying past the cache, multiply-adds. */
#include "harness.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static int64_t n;
static float *from, *to;
static volatile float keep;

static bool setup(int64_t size) {
  n = size;
  from = room(n, sizeof *from);
  to = room(n, sizeof *to);
  return true;
}

static void read_all(void) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += from[i];
  keep = sum;
}

static void copy_all(void) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

static void stream_all(void) {
#if defined(__AVX__)
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n / 8; i++) _mm256_stream_ps(to + 8 * i, _mm256_load_ps(from + 8 * i));
#else
  copy_all();
#endif
}

/* n multiply-adds of each of 16 accumulators of 16 lanes, on every thread. */
enum { LANES = 16, ACCUMULATORS = 16 };

static void multiply_add(void) {
  float sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    float acc[ACCUMULATORS][LANES];
    for (int a = 0; a < ACCUMULATORS; a++)
      for (int l = 0; l < LANES; l++) acc[a][l] = (float)(a + l);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n / 16; i++)
      for (int a = 0; a < ACCUMULATORS; a++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) acc[a][l] = fmaf(acc[a][l], 0.999f, 0.5f);
    for (int a = 0; a < ACCUMULATORS; a++)
      for (int l = 0; l < LANES; l++) sum += acc[a][l];
  }
  keep = sum;
}

static double none(void) { return 0; }
static double bytes(void) { return 4.0 * (double)n; }
static double flops(void) { return 2.0 * ACCUMULATORS * LANES * (double)(n / 16); }

static const struct variant variants[] = {
  {"read", read_all, NULL}, {"copy", copy_all, NULL}, {"stream", stream_all, NULL}, {"fma", multiply_add, NULL},
  {NULL, NULL, NULL}};

const struct workload workload = {setup, none, 0, bytes, flops, variants};
