//! The exponential function and the natural logarithm in C, so that loops compute them on lanes.
//!
//! No lane can call the C library's. Both are computed without a branch, for every argument, with errors below 1 ulp beside the C
//! library's in higher precision (all 2^32 floats; random doubles):
//!
//! - `exp x`: `x = n ln 2 + r`, where `r` is at most half of `ln 2` and what its last rounding lost is kept; then `1 + r + r^2 p(r)`, times `2^n` in two
//!   steps, of which only the last one can round (results that are subnormal) or overflow.
//! - `log x`: `x = 2^n m`, where `m` is between the root of a half and the root of two; then `n ln 2` and the logarithm of `m`, a polynomial of `m - 1` for
//!   floats, of `(m - 1) / (m + 1)` for doubles.
//!
//! Where the processor has no `fma`, the C library is asked.

use almach_value::ScalarType;

/// The body of `exp_f32` and its like, of a parameter `x`.
pub fn exponential(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::F32 => EXP_F32,
        _ => EXP_F64,
    }
}

/// The body of `log_f32` and its like.
pub fn logarithm(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::F32 => LOG_F32,
        _ => LOG_F64,
    }
}

/// The bits of `counted` end in `n`: it is `n` plus a number whose last bit is 1.
const EXP_F32: &str = "\
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
  const float near = x <= 89.0f ? (x >= -104.0f ? x : -104.0f) : 89.0f;
  const float counted = fmaf(near, 1.44269502f, 12582912.0f), whole = counted - 12582912.0f;
  const float first = fmaf(whole, -0.693145752f, near), r = fmaf(whole, -1.42860677e-6f, first);
  const float lost = fmaf(whole, -1.42860677e-6f, first - r), z = r * r;
  const float high = fmaf(r, 8.33345205e-3f, 4.16657962e-2f);
  const float top = fmaf(r, 1.98756912e-4f, 1.39819994e-3f);
  const float p = fmaf(z, fmaf(z, top, high), fmaf(r, 1.66666657e-1f, 0.5f));
  const float power = 1.0f + (r + fmaf(z, p, lost));
  uint32_t bits;
  memcpy(&bits, &counted, sizeof bits);
  const int32_t n = (int32_t)(bits - 0x4b400000u), half = n >> 1;
  const uint32_t one = (uint32_t)(half + 127) << 23, other = (uint32_t)(n - half + 127) << 23;
  float a, b;
  memcpy(&a, &one, sizeof a);
  memcpy(&b, &other, sizeof b);
  return x == x ? power * a * b : x;
#else
  return (float)exp((double)x);
#endif
";

/// What is not normal is made so first, by a power of two.
const LOG_F32: &str = "\
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
  const float whole = x < 1.17549435e-38f ? x * 8388608.0f : x, more = x < 1.17549435e-38f ? -23.0f : 0.0f;
  uint32_t bits;
  memcpy(&bits, &whole, sizeof bits);
  const int32_t n = (int32_t)(bits - 0x3f3504f3u) >> 23;
  const uint32_t rest = bits - ((uint32_t)n << 23);
  float m;
  memcpy(&m, &rest, sizeof m);
  const float r = m - 1.0f, z = r * r, e = (float)n + more;
  const float p0 = fmaf(r, -2.4999993993e-1f, 3.3333331174e-1f), p1 = fmaf(r, -1.6668057665e-1f, 2.0000714765e-1f);
  const float p2 = fmaf(r, -1.2420140846e-1f, 1.4249322787e-1f), p3 = fmaf(r, -1.1514610310e-1f, 1.1676998740e-1f);
  const float p = fmaf(z * z, fmaf(z, fmaf(z, 7.0376836292e-2f, p3), p2), fmaf(z, p1, p0));
  const float tail = fmaf(z * r, p, fmaf(e, -2.12194440e-4f, -0.5f * z));
  const float value = fmaf(e, 0.693359375f, r + tail);
  return x > 0.0f ? (x < INFINITY ? value : x) : x == 0.0f ? -INFINITY : NAN;
#else
  return (float)log((double)x);
#endif
";

/// As for floats.
const EXP_F64: &str = "\
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
  const double near = x <= 710.0 ? (x >= -746.0 ? x : -746.0) : 710.0;
  const double counted = fma(near, 1.4426950408889634, 6755399441055744.0), whole = counted - 6755399441055744.0;
  const double first = fma(whole, -6.93147180369123816e-01, near), r = fma(whole, -1.90821492927058770e-10, first);
  const double lost = fma(whole, -1.90821492927058770e-10, first - r), z = r * r, zz = z * z;
  const double p0 = fma(r, 1.0 / 6.0, 0.5), p1 = fma(r, 1.0 / 120.0, 1.0 / 24.0), p2 = fma(r, 1.0 / 5040.0, 1.0 / 720.0);
  const double p3 = fma(r, 1.0 / 362880.0, 1.0 / 40320.0), p4 = fma(r, 1.0 / 39916800.0, 1.0 / 3628800.0);
  const double p5 = fma(r, 1.0 / 6227020800.0, 1.0 / 479001600.0);
  const double p = fma(zz * zz, fma(z, p5, p4), fma(zz, fma(z, p3, p2), fma(z, p1, p0)));
  const double power = 1.0 + (r + fma(z, p, lost));
  uint64_t bits;
  memcpy(&bits, &counted, sizeof bits);
  const int64_t n = (int64_t)(bits - 0x4338000000000000u), half = n / 2;
  const uint64_t one = (uint64_t)(half + 1023) << 52, other = (uint64_t)(n - half + 1023) << 52;
  double a, b;
  memcpy(&a, &one, sizeof a);
  memcpy(&b, &other, sizeof b);
  return x == x ? power * a * b : x;
#else
  return exp(x);
#endif
";

/// Integers of 64 bits become doubles by their bits: not every processor has lanes for that.
const LOG_F64: &str = "\
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
  const double small = 2.2250738585072014e-308;
  const double whole = x < small ? x * 18014398509481984.0 : x, more = x < small ? -54.0 : 0.0;
  uint64_t bits;
  memcpy(&bits, &whole, sizeof bits);
  const uint64_t moved = bits - 0x3fe6a09e667f3bcdu;
  const uint64_t biased = (moved + (UINT64_C(1) << 63)) >> 52; /* exponent + 2048 */
  const uint64_t rest = bits - ((biased - 2048) << 52);
  double m, e;
  memcpy(&m, &rest, sizeof m);
  const uint64_t counted = biased + 0x4330000000000000u; /* 2^52 + exponent + 2048 */
  memcpy(&e, &counted, sizeof e);
  e = e - (4503599627370496.0 + 2048.0) + more;
  const double r = m - 1.0, s = r / (2.0 + r), z = s * s, zz = z * z, half = 0.5 * r * r;
  const double odd = z * fma(zz, fma(zz, fma(zz, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01), 6.666666666666735130e-01);
  const double even = zz * fma(zz, fma(zz, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01);
  const double tail = fma(s, half + (odd + even), e * 1.90821492927058770e-10);
  const double value = fma(e, 6.93147180369123816e-01, r - (half - tail));
  return x > 0.0 ? (x < INFINITY ? value : x) : x == 0.0 ? -INFINITY : NAN;
#else
  return log(x);
#endif
";
