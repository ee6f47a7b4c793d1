#include "blackscholes.h"
#include "blackscholes_seq.h"
#include "almach.h"

ALMACH(blackscholes)
ARRAYS(blackscholes, float, 2)

static int64_t n;
static float *spots, *strikes, *years;
static double *call_prices, *put_prices;

/* Abramowitz and Stegun, 26.2.17. */
static double normal(double d) {
  const double k = 1 / (1 + 0.2316419 * fabs(d));
  const double polynomial =
      k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  const double tail = 0.39894228 * exp(-0.5 * d * d) * polynomial;
  return d > 0 ? 1 - tail : tail;
}

static bool setup(int64_t size) {
  n = size;
  spots = room(n, sizeof *spots);
  strikes = room(n, sizeof *strikes);
  years = room(n, sizeof *years);
  for (int at = 0; at < 2; at++) owns[at] = room(n, sizeof *owns[at]);
  call_prices = room(n, sizeof *call_prices);
  put_prices = room(n, sizeof *put_prices);
  for (int64_t i = 0; i < n; i++) {
    spots[i] = 5 + 25 * uniform();
    strikes[i] = 1 + 99 * uniform();
    years[i] = 0.25f + 9.75f * uniform();
    const double spot = spots[i], strike = strikes[i], time = years[i];
    const double spread = 0.30 * sqrt(time);
    const double d1 = (log(spot / strike) + (0.02 + 0.5 * 0.30 * 0.30) * time) / spread;
    const double below1 = normal(d1), below2 = normal(d1 - spread), discounted = strike * exp(-0.02 * time);
    call_prices[i] = spot * below1 - discounted * below2;
    put_prices[i] = discounted * (1 - below2) - spot * (1 - below1);
  }
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(blackscholes, n, spots, n, strikes, n, years, &count, &founds[0], &count, &founds[1]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(blackscholes_seq, n, spots, n, strikes, n, years, &count, &founds[0], &count, &founds[1]);
  GIVEN_SEQ;
}

static inline float normal_f32(float d) {
  const float k = 1 / (1 + 0.2316419f * fabsf(d));
  const float polynomial =
      k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
  return d > 0 ? 1 - tail : tail;
}

static inline void price(int64_t i, float *restrict to_calls, float *restrict to_puts) {
  const float spread = 0.30f * sqrtf(years[i]);
  const float d1 = (logf(spots[i] / strikes[i]) + (0.02f + 0.5f * 0.30f * 0.30f) * years[i]) / spread;
  const float below1 = normal_f32(d1), below2 = normal_f32(d1 - spread);
  const float discounted = strikes[i] * expf(-0.02f * years[i]);
  to_calls[i] = spots[i] * below1 - discounted * below2;
  to_puts[i] = discounted * (1 - below2) - spots[i] * (1 - below1);
}

static void run_plain(void) {
  rival();
  for (int64_t i = 0; i < n; i++) price(i, owns[0], owns[1]);
}

/* exp and log as polynomials, so that the loop has no call in it and becomes vector code. */
static inline float fast_exp(float x) {
  const float scaled = x * 1.44269504f;
  const float whole = rintf(scaled);
  const float r = fmaf(whole, -1.42860677e-6f, fmaf(whole, -0.693145752f, x));
  float p = 1.98756912e-4f;
  p = fmaf(p, r, 1.39819994e-3f);
  p = fmaf(p, r, 8.33345205e-3f);
  p = fmaf(p, r, 4.16657962e-2f);
  p = fmaf(p, r, 1.66666657e-1f);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r * r, r) + 1;
  const int32_t bits = ((int32_t)whole + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return whole < -126 ? 0 : p * power;
}

static inline float fast_log(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int32_t exponent = (bits - 0x3f3504f3) >> 23;
  const int32_t mantissa = bits - (exponent << 23);
  float m;
  memcpy(&m, &mantissa, sizeof m);
  const float r = m - 1, e = (float)exponent;
  float p = 7.0376836e-2f;
  p = fmaf(p, r, -1.1514610e-1f);
  p = fmaf(p, r, 1.1676998e-1f);
  p = fmaf(p, r, -1.2420141e-1f);
  p = fmaf(p, r, 1.4249323e-1f);
  p = fmaf(p, r, -1.6668057e-1f);
  p = fmaf(p, r, 2.0000714e-1f);
  p = fmaf(p, r, -2.4999994e-1f);
  p = fmaf(p, r, 3.3333331e-1f);
  const float square = r * r;
  float y = p * r * square;
  y = fmaf(e, -2.12194440e-4f, y);
  y = fmaf(-0.5f, square, y);
  return fmaf(e, 0.693359375f, r + y);
}

static inline float fast_normal(float d) {
  const float k = 1 / fmaf(0.2316419f, fabsf(d), 1);
  float polynomial = fmaf(k, 1.330274429f, -1.821255978f);
  polynomial = fmaf(k, polynomial, 1.781477937f);
  polynomial = fmaf(k, polynomial, -0.356563782f);
  polynomial = k * fmaf(k, polynomial, 0.319381530f);
  const float tail = 0.39894228f * fast_exp(-0.5f * d * d) * polynomial;
  return d > 0 ? 1 - tail : tail;
}

static void run_tuned(void) {
  rival();
  float *restrict to_calls = owns[0], *restrict to_puts = owns[1];
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const float spread = 0.30f * sqrtf(years[i]);
    const float d1 = fmaf(0.02f + 0.5f * 0.30f * 0.30f, years[i], fast_log(spots[i] / strikes[i])) / spread;
    const float below1 = fast_normal(d1), below2 = fast_normal(d1 - spread);
    const float discounted = strikes[i] * fast_exp(-0.02f * years[i]);
    to_calls[i] = spots[i] * below1 - discounted * below2;
    to_puts[i] = discounted * (1 - below2) - spots[i] * (1 - below1);
  }
}

static double error(void) {
  return fmax(difference_f32(founds[0], call_prices, n), difference_f32(founds[1], put_prices, n));
}
static double bytes(void) { return 20.0 * (double)n; }
static double flops(void) { return 60.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
