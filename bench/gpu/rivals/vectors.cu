/* One pass over vectors: maps and reductions. */
#include "hand.cuh"
#include "libraries.h"

#include <cmath>

namespace {

__global__ void scal_kernel(const float4 *xs, float4 *ys, int64_t quads) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  float4 x = __ldcs(xs + i);
  x.x *= 1.7f, x.y *= 1.7f, x.z *= 1.7f, x.w *= 1.7f;
  __stcs(ys + i, x);
}

void scal() {
  const Array<float> xs(mega(128)), ys(xs.count), expected(xs.count);
  const float *x = xs.data;
  fill(xs, [] __device__(int64_t i) { return uniform(i) - 0.5f; });
  fill(expected, [x] __device__(int64_t i) { return 1.7f * x[i]; });
  Workload w("scal", text("%lldM", xs.count >> 20), 8.0 * xs.count, xs.count);
  Results<float> out;
  const auto wrong = [&](Side side) { return difference(out[side].data(), expected.data, xs.count, 1e-6); };
  const auto right = [&] { return difference(ys.data, expected.data, xs.count, 1e-6); };
  OURS(w, scal, wrong, xs.count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
  w.line(
      "hand float4",
      [&] { scal_kernel<<<groups(xs.count / 4), GROUP>>>((const float4 *)xs.data, (float4 *)ys.data, xs.count / 4); }, right);
  w.line("CUB", [&] { cub_scal(xs.data, ys.data, xs.count); }, right);
  /* cuBLAS works in place. */
  const Array<float> zs(xs.count);
  TRY(cudaMemcpy(zs.data, x, 4 * (size_t)xs.count, cudaMemcpyDeviceToDevice));
  bool is_first = true;
  const auto scaled = [&] { return difference(zs.data, expected.data, xs.count, 1e-6); };
  if (blas_is_there()) {
    const auto once = [&] {
      blas_scal(zs.data, is_first ? 1.7f : 1.0f / 1.0000001f, zs.count);
      is_first = false;
    };
    w.line("cuBLAS", once, scaled);
  }
  w.measure();
}

/* Sums of floats, by hand and by libraries. */
struct Sums {
  const Array<float> out{1};
  const Partials<float> partials;
  double expected = 0;
  float ours[SIDES] = {0, 0};

  double wrong(Side side) const { return difference({ours[side]}, {expected}, 1e-4); }
  double right() const { return difference({on_host(out.data, 1)[0]}, {expected}, 1e-4); }
};

void asum() {
  const Array<float> xs(mega(128));
  fill(xs, [] __device__(int64_t i) { return uniform(i) - 0.5f; });
  const float *x = xs.data;
  Sums sums;
  float *out = sums.out.data;
  sums.expected = exact_sum(xs.count, [x] __device__(int64_t i) { return fabs((double)x[i]); });
  Workload w("asum", text("%lldM", xs.count >> 20), 4.0 * xs.count, 2.0 * xs.count);
  const auto wrong = [&](Side side) { return sums.wrong(side); };
  const auto right = [&] { return sums.right(); };
  OURS(w, asum, wrong, xs.count, xs.at(SIDE), &sums.ours[SIDE]);
  w.line(
      "hand float4",
      [&] {
        const auto load = [x] __device__(int64_t i) {
          const float4 v = __ldcs((const float4 *)x + i);
          return (fabsf(v.x) + fabsf(v.y)) + (fabsf(v.z) + fabsf(v.w));
        };
        reduce<Sum, float>(sums.partials, xs.count / 4, load, [out] __device__(float all) { *out = all; });
      },
      right);
  w.line("CUB", [&] { cub_asum(x, out, xs.count); }, right);
  if (blas_is_there()) w.line("cuBLAS", [&] { blas_asum(x, out, xs.count); }, right);
  w.measure();
}

void norm() {
  const Array<float> xs(mega(128));
  fill(xs, [] __device__(int64_t i) { return uniform(i) - 0.5f; });
  const float *x = xs.data;
  Sums sums;
  float *out = sums.out.data;
  sums.expected = std::sqrt(exact_sum(xs.count, [x] __device__(int64_t i) { return (double)x[i] * x[i]; }));
  Workload w("norm", text("%lldM", xs.count >> 20), 4.0 * xs.count, 2.0 * xs.count);
  const auto wrong = [&](Side side) { return sums.wrong(side); };
  const auto right = [&] { return sums.right(); };
  const auto squared = [&] { return difference({std::sqrt(on_host(out, 1)[0])}, {sums.expected}, 1e-4); };
  OURS(w, norm, wrong, xs.count, xs.at(SIDE), &sums.ours[SIDE]);
  w.line(
      "hand float4",
      [&] {
        const auto load = [x] __device__(int64_t i) {
          const float4 v = __ldcs((const float4 *)x + i);
          return (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
        };
        reduce<Sum, float>(sums.partials, xs.count / 4, load, [out] __device__(float all) { *out = sqrtf(all); });
      },
      right);
  w.line("CUB (no root)", [&] { cub_square_sum(x, out, xs.count); }, squared);
  if (blas_is_there()) w.line("cuBLAS", [&] { blas_norm(x, out, xs.count); }, right);
  w.measure();
}

void dot() {
  const Array<float> xs(mega(128)), ys(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i); });
  fill(ys, [] __device__(int64_t i) { return uniform(~i); });
  const float *x = xs.data, *y = ys.data;
  Sums sums;
  float *out = sums.out.data;
  sums.expected = exact_sum(xs.count, [x, y] __device__(int64_t i) { return (double)x[i] * y[i]; });
  Workload w("dot", text("%lldM", xs.count >> 20), 8.0 * xs.count, 2.0 * xs.count);
  const auto wrong = [&](Side side) { return sums.wrong(side); };
  const auto right = [&] { return sums.right(); };
  OURS(w, dot, wrong, xs.count, xs.at(SIDE), ys.count, ys.at(SIDE), &sums.ours[SIDE]);
  w.line(
      "hand float4",
      [&] {
        const auto load = [x, y] __device__(int64_t i) {
          const float4 v = __ldcs((const float4 *)x + i), u = __ldcs((const float4 *)y + i);
          return (v.x * u.x + v.y * u.y) + (v.z * u.z + v.w * u.w);
        };
        reduce<Sum, float>(sums.partials, xs.count / 4, load, [out] __device__(float all) { *out = all; });
      },
      right);
  w.line("CUB", [&] { cub_dot(x, y, out, xs.count); }, right);
  if (blas_is_there()) w.line("cuBLAS", [&] { blas_dot(x, y, out, xs.count); }, right);
  w.measure();
}

/* Least and greatest of two coordinates. */
struct Bounds {
  static __device__ float4 none() { return {INFINITY, -INFINITY, INFINITY, -INFINITY}; }
  static __device__ float4 of(float4 a, float4 b) {
    return {fminf(a.x, b.x), fmaxf(a.y, b.y), fminf(a.z, b.z), fmaxf(a.w, b.w)};
  }
  static __device__ float4 down(float4 a, int step) {
    return {Sum::down(a.x, step), Sum::down(a.y, step), Sum::down(a.z, step), Sum::down(a.w, step)};
  }
};

void bbox() {
  const Array<float> xs(mega(64)), ys(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i) - 0.25f; });
  fill(ys, [] __device__(int64_t i) { return uniform(~i) * 3; });
  const float *x = xs.data, *y = ys.data;
  const Array<float4> bounds(1);
  const Partials<float4> partials;
  float4 *out = bounds.data, ours[SIDES] = {};
  std::vector<double> expected = {INFINITY, -INFINITY, INFINITY, -INFINITY};
  const auto all_xs = on_host(x, xs.count), all_ys = on_host(y, ys.count);
  for (float v : all_xs) expected[0] = std::fmin(expected[0], v), expected[1] = std::fmax(expected[1], v);
  for (float v : all_ys) expected[2] = std::fmin(expected[2], v), expected[3] = std::fmax(expected[3], v);
  const auto same = [&](float4 v) { return difference({v.x, v.y, v.z, v.w}, expected, 1e-9); };
  const auto wrong = [&](Side side) { return same(ours[side]); };
  const auto right = [&] { return same(on_host(out, 1)[0]); };
  Workload w("bbox", text("%lldM", xs.count >> 20), 8.0 * xs.count, 4.0 * xs.count);
  OURS(
      w, bbox, wrong, xs.count, xs.at(SIDE), ys.count, ys.at(SIDE), &ours[SIDE].x, &ours[SIDE].y, &ours[SIDE].z, &ours[SIDE].w);
  w.line(
      "hand float4",
      [&] {
        const auto load = [x, y] __device__(int64_t i) {
          const float4 v = __ldcs((const float4 *)x + i), u = __ldcs((const float4 *)y + i);
          return float4{
            fminf(fminf(v.x, v.y), fminf(v.z, v.w)), fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), fminf(fminf(u.x, u.y), fminf(u.z, u.w)),
            fmaxf(fmaxf(u.x, u.y), fmaxf(u.z, u.w))};
        };
        reduce<Bounds, float4>(partials, xs.count / 4, load, [out] __device__(float4 all) { *out = all; });
      },
      right);
  w.line("CUB", [&] { cub_bounds(x, y, out, xs.count); }, right);
  w.measure();
}

/* Least, greatest, and the sums of the first four powers. */
struct Powers {
  float least, greatest, sums[4];
};

struct Moments {
  static __device__ Powers none() { return {INFINITY, -INFINITY, {0, 0, 0, 0}}; }
  static __device__ Powers of(Powers a, Powers b) {
    return {
      fminf(a.least, b.least),
      fmaxf(a.greatest, b.greatest),
      {a.sums[0] + b.sums[0], a.sums[1] + b.sums[1], a.sums[2] + b.sums[2], a.sums[3] + b.sums[3]}};
  }
  static __device__ Powers down(Powers a, int step) {
    return {
      Sum::down(a.least, step),
      Sum::down(a.greatest, step),
      {Sum::down(a.sums[0], step), Sum::down(a.sums[1], step), Sum::down(a.sums[2], step), Sum::down(a.sums[3], step)}};
  }
  static __device__ Powers one(float x) {
    const float square = x * x;
    return {x, x, {x, square, square * x, square * square}};
  }
};

/* Mean, variance, skewness and kurtosis from sums of powers. */
template <class T> __host__ __device__ void statistics(const T *sums, T count, T *to) {
  const T m1 = sums[0] / count, m2 = sums[1] / count, m3 = sums[2] / count, m4 = sums[3] / count;
  const T variance = m2 - m1 * m1;
  to[0] = m1;
  to[1] = variance;
  to[2] = (m3 - 3 * m1 * m2 + 2 * m1 * m1 * m1) / (variance * sqrt(variance));
  to[3] = (m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1 * m1 * m1 * m1) / (variance * variance);
}

void sumstats() {
  const Array<float> xs(mega(64)), found(6);
  fill(xs, [] __device__(int64_t i) { return uniform(i) * uniform(i); });
  const float *x = xs.data;
  const int64_t count = xs.count;
  const Partials<Powers> partials;
  float *out = found.data, ours[SIDES][6] = {};
  double sums[4], expected_of[4];
  for (int power = 0; power < 4; power++) {
    sums[power] = exact_sum(count, [x, power] __device__(int64_t i) {
      double term = x[i];
      for (int k = 0; k < power; k++) term *= x[i];
      return term;
    });
  }
  statistics<double>(sums, (double)count, expected_of);
  std::vector<double> expected = {INFINITY, -INFINITY, expected_of[0], expected_of[1], expected_of[2], expected_of[3]};
  for (float v : on_host(x, count)) expected[0] = std::fmin(expected[0], v), expected[1] = std::fmax(expected[1], v);
  const auto same = [&](const float *v) { return difference({v[0], v[1], v[2], v[3], v[4], v[5]}, expected, 1e-3); };
  const auto wrong = [&](Side side) { return same(ours[side]); };
  const auto right = [&] { return same(on_host(out, 6).data()); };
  Workload w("sumstats", text("%lldM", count >> 20), 4.0 * count, 9.0 * count);
  OURS(
      w, sumstats, wrong, count, xs.at(SIDE), &ours[SIDE][0], &ours[SIDE][1], &ours[SIDE][2], &ours[SIDE][3], &ours[SIDE][4],
      &ours[SIDE][5]);
  w.line(
      "hand power sums",
      [&] {
        const auto load = [x] __device__(int64_t i) {
          const float4 v = __ldcs((const float4 *)x + i);
          return Moments::of(
              Moments::of(Moments::one(v.x), Moments::one(v.y)), Moments::of(Moments::one(v.z), Moments::one(v.w)));
        };
        reduce<Moments, Powers>(partials, count / 4, load, [out, count] __device__(Powers all) {
          out[0] = all.least;
          out[1] = all.greatest;
          statistics<float>(all.sums, (float)count, out + 2);
        });
      },
      right);
  w.measure();
}

/* A row for a group. */
__global__ void __launch_bounds__(256) rows_kernel(const float4 *cells, float *sums, int64_t quads) {
  float mine = 0;
  const float4 *row = cells + blockIdx.x * quads;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < quads; i += 256) {
    const float4 v = __ldcs(row + i);
    mine += (v.x + v.y) + (v.z + v.w);
  }
  __shared__ float warps[8];
  for (int step = 16; step > 0; step /= 2) mine += Sum::down(mine, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  mine = threadIdx.x < 8 ? warps[threadIdx.x] : 0;
  for (int step = 4; step > 0; step /= 2) mine += Sum::down(mine, step);
  if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

enum { COLUMN_ROWS = 64 };

/* Groups of 32 x 8 work-items: four columns each, some rows; their sums are added atomically. */
__global__ void __launch_bounds__(256) columns_kernel(const float4 *cells, float *sums, int64_t quads) {
  const int64_t column = (int64_t)blockIdx.x * 32 + threadIdx.x;
  if (column >= quads) return;
  const float4 *from = cells + ((int64_t)blockIdx.y * COLUMN_ROWS + threadIdx.y) * quads + column;
  float4 mine = {0, 0, 0, 0};
#pragma unroll
  for (int row = 0; row < COLUMN_ROWS; row += 8) {
    const float4 v = __ldcs(from + row * quads);
    mine.x += v.x, mine.y += v.y, mine.z += v.z, mine.w += v.w;
  }
  __shared__ float4 parts[8][32];
  parts[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int y = 1; y < 8; y++) {
    const float4 v = parts[y][threadIdx.x];
    mine.x += v.x, mine.y += v.y, mine.z += v.z, mine.w += v.w;
  }
  atomicAdd(sums + 4 * column, mine.x);
  atomicAdd(sums + 4 * column + 1, mine.y);
  atomicAdd(sums + 4 * column + 2, mine.z);
  atomicAdd(sums + 4 * column + 3, mine.w);
}

void gridred() {
  const int64_t side = divisor >= 64 ? 1024 : 8192;
  const Array<float> xss(side * side), expected(side), sums_of(side);
  fill(xss, [] __device__(int64_t i) { return uniform(i); });
  const float *x = xss.data;
  const std::string size = text("%lld^2", side);
  const double bytes = 4.0 * side * side, flops = (double)side * side;
  {
    Sums sums;
    float *out = sums.out.data;
    sums.expected = exact_sum(xss.count, [x] __device__(int64_t i) { return (double)x[i]; });
    const auto wrong = [&](Side s) { return sums.wrong(s); };
    const auto right = [&] { return sums.right(); };
    Workload w("gridred_all", size, bytes, flops);
    OURS(w, gridred_all, wrong, side, side, xss.at(SIDE), &sums.ours[SIDE]);
    w.line(
        "hand float4",
        [&] {
          const auto load = [x] __device__(int64_t i) {
            const float4 v = __ldcs((const float4 *)x + i);
            return (v.x + v.y) + (v.z + v.w);
          };
          reduce<Sum, float>(sums.partials, xss.count / 4, load, [out] __device__(float all) { *out = all; });
        },
        right);
    w.line("CUB", [&] { cub_sum(x, out, xss.count); }, right);
    w.measure();
  }
  const auto right = [&] { return difference(sums_of.data, expected.data, side, 1e-4); };
  {
    fill(expected, [x, side] __device__(int64_t i) {
      double sum = 0;
      for (int64_t j = 0; j < side; j++) sum += x[i * side + j];
      return (float)sum;
    });
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, side, 1e-4); };
    Workload w("gridred_rows", size, bytes + 4.0 * side, flops);
    OURS(w, gridred_rows, wrong, side, side, xss.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line("hand float4", [&] { rows_kernel<<<(unsigned)side, 256>>>((const float4 *)x, sums_of.data, side / 4); }, right);
    w.line("CUB", [&] { cub_row_sums(x, sums_of.data, side, side); }, right);
    w.measure();
  }
  {
    fill(expected, [x, side] __device__(int64_t i) {
      double sum = 0;
      for (int64_t j = 0; j < side; j++) sum += x[j * side + i];
      return (float)sum;
    });
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, side, 1e-4); };
    Workload w("gridred_cols", size, bytes + 4.0 * side, flops);
    OURS(w, gridred_cols, wrong, side, side, xss.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line(
        "hand float4, atomics",
        [&] {
          TRY(cudaMemsetAsync(sums_of.data, 0, 4 * (size_t)side, 0));
          const dim3 grid(groups(side / 4, 32), (unsigned)(side / COLUMN_ROWS));
          columns_kernel<<<grid, dim3(32, 8)>>>((const float4 *)x, sums_of.data, side / 4);
        },
        right);
    w.measure();
  }
}

} // namespace

void vectors() {
  scal();
  asum();
  dot();
  norm();
  bbox();
  sumstats();
  gridred();
}
