/* Much arithmetic: options, bodies, fractals, and products of matrices, dense and sparse. */
#include "hand.cuh"
#include "libraries.h"

#include <cmath>

namespace {

/* With the exact functions of f32, or with the device's quick ones. */
template <bool QUICK> __device__ float exponential(float x) { return QUICK ? __expf(x) : expf(x); }
template <bool QUICK> __device__ float logarithm(float x) { return QUICK ? __logf(x) : logf(x); }
template <bool QUICK> __device__ float quotient(float x, float y) { return QUICK ? __fdividef(x, y) : x / y; }

template <bool QUICK> __device__ float normal(float x) {
  const float l = fabsf(x), k = quotient<QUICK>(1.0f, 1.0f + 0.2316419f * l);
  const float polynomial =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float w = 1.0f - 0.39894228f * exponential<QUICK>(-l * l * 0.5f) * polynomial;
  return x < 0 ? 1.0f - w : w;
}

template <bool QUICK> __device__ float2 option(float s, float k, float t) {
  const float q = 0.3f * sqrtf(t), d = quotient<QUICK>(logarithm<QUICK>(quotient<QUICK>(s, k)) + (0.02f + 0.045f) * t, q);
  const float e = exponential<QUICK>(-0.02f * t) * k, call = s * normal<QUICK>(d) - e * normal<QUICK>(d - q);
  return {call, call - s + e};
}

template <bool QUICK>
__global__ void options_kernel(const float2 *ss, const float2 *ks, const float2 *ts, float2 *calls, float2 *puts, int64_t pairs) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const float2 s = __ldcs(ss + i), k = __ldcs(ks + i), t = __ldcs(ts + i);
  const float2 a = option<QUICK>(s.x, k.x, t.x), b = option<QUICK>(s.y, k.y, t.y);
  __stcs(calls + i, float2{a.x, b.x});
  __stcs(puts + i, float2{a.y, b.y});
}

void blackscholes() {
  const Array<float> ss(mega(64)), ks(ss.count), ts(ss.count), calls(ss.count), puts(ss.count), expected(ss.count), others(ss.count);
  const int64_t count = ss.count;
  fill(ss, [] __device__(int64_t i) { return 5 + 25 * uniform(3 * i); });
  fill(ks, [] __device__(int64_t i) { return 1 + 99 * uniform(3 * i + 1); });
  fill(ts, [] __device__(int64_t i) { return 0.25f + 9.75f * uniform(3 * i + 2); });
  const float *s = ss.data, *k = ks.data, *t = ts.data;
  float *puts_of = others.data;
  fill(expected, [=] __device__(int64_t i) {
    const float2 both = option<false>(s[i], k[i], t[i]);
    puts_of[i] = both.y;
    return both.x;
  });
  const auto same = [&](const float *call, const float *put) {
    return std::fmax(difference(call, expected.data, count, 1e-3), difference(put, others.data, count, 1e-3));
  };
  Results<float> out, second;
  const auto wrong = [&](Side side) { return same(out[side].data(), second[side].data()); };
  const auto right = [&] { return same(calls.data, puts.data); };
  Workload w("blackscholes", text("%lldM", count >> 20), 20.0 * count, 60.0 * count);
  OURS(
      w, blackscholes, wrong, count, ss.at(SIDE), count, ks.at(SIDE), count, ts.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place(),
      &second[SIDE].sizes[0], second[SIDE].place());
  const float2 *s2 = (const float2 *)s, *k2 = (const float2 *)k, *t2 = (const float2 *)t;
  float2 *calls2 = (float2 *)calls.data, *puts2 = (float2 *)puts.data;
  w.line("hand", [&] { options_kernel<false><<<groups(count / 2), GROUP>>>(s2, k2, t2, calls2, puts2, count / 2); }, right);
  w.line("hand, intrinsics", [&] { options_kernel<true><<<groups(count / 2), GROUP>>>(s2, k2, t2, calls2, puts2, count / 2); }, right);
  w.measure();
}

enum { BODIES = 4, TILE = 128, SPLIT = 8 };

/* Some bodies for a work-item; the others come in tiles, and are split among groups, whose sums are added atomically. */
__global__ void __launch_bounds__(TILE) bodies_kernel(const float4 *bodies, float *ax, float *ay, float *az, int64_t count) {
  __shared__ float4 tile[TILE];
  const int64_t first = (int64_t)blockIdx.x * TILE * BODIES + threadIdx.x, part = count / SPLIT;
  float3 at[BODIES], sum[BODIES];
#pragma unroll
  for (int b = 0; b < BODIES; b++) {
    const float4 body = bodies[first + b * TILE];
    at[b] = {body.x, body.y, body.z};
    sum[b] = {0, 0, 0};
  }
  for (int64_t from = blockIdx.y * part; from < (blockIdx.y + 1) * part; from += TILE) {
    __syncthreads();
    tile[threadIdx.x] = bodies[from + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (int other = 0; other < TILE; other++) {
      const float4 body = tile[other];
#pragma unroll
      for (int b = 0; b < BODIES; b++) {
        const float dx = body.x - at[b].x, dy = body.y - at[b].y, dz = body.z - at[b].z;
        const float inverse = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-3f))));
        const float strength = body.w * inverse * inverse * inverse;
        sum[b].x = fmaf(strength, dx, sum[b].x);
        sum[b].y = fmaf(strength, dy, sum[b].y);
        sum[b].z = fmaf(strength, dz, sum[b].z);
      }
    }
  }
#pragma unroll
  for (int b = 0; b < BODIES; b++) {
    atomicAdd(ax + first + b * TILE, sum[b].x);
    atomicAdd(ay + first + b * TILE, sum[b].y);
    atomicAdd(az + first + b * TILE, sum[b].z);
  }
}

void nbody() {
  const int64_t count = divisor >= 32 ? 8192 : 65536;
  const Array<float> xs(count), ys(count), zs(count), masses(count), ax(count), ay(count), az(count);
  const Array<float> ex(count), ey(count), ez(count);
  const Array<float4> bodies(count);
  fill(xs, [] __device__(int64_t i) { return uniform(4 * i) - 0.5f; });
  fill(ys, [] __device__(int64_t i) { return uniform(4 * i + 1) - 0.5f; });
  fill(zs, [] __device__(int64_t i) { return uniform(4 * i + 2) - 0.5f; });
  fill(masses, [count] __device__(int64_t i) { return (uniform(4 * i + 3) + 0.5f) / count; });
  const float *x = xs.data, *y = ys.data, *z = zs.data, *mass = masses.data;
  fill(bodies, [=] __device__(int64_t i) { return float4{x[i], y[i], z[i], mass[i]}; });
  float *to_y = ey.data, *to_z = ez.data;
  fill(ex, [=] __device__(int64_t i) {
    float sum[3] = {0, 0, 0};
    for (int64_t j = 0; j < count; j++) {
      const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), strength = mass[j] * inverse * inverse * inverse;
      sum[0] += strength * dx, sum[1] += strength * dy, sum[2] += strength * dz;
    }
    to_y[i] = sum[1];
    to_z[i] = sum[2];
    return sum[0];
  });
  const auto same = [&](const float *a, const float *b, const float *c) {
    return std::fmax(
        difference(a, ex.data, count, 1e-2), std::fmax(difference(b, ey.data, count, 1e-2), difference(c, ez.data, count, 1e-2)));
  };
  Results<float> a, b, c;
  const auto wrong = [&](Side s) { return same(a[s].data(), b[s].data(), c[s].data()); };
  const auto right = [&] { return same(ax.data, ay.data, az.data); };
  Workload w("nbody", text("%lldK", count >> 10), 28.0 * count, 20.0 * (double)count * count);
  OURS(
      w, nbody, wrong, count, xs.at(SIDE), count, ys.at(SIDE), count, zs.at(SIDE), count, masses.at(SIDE), &a[SIDE].sizes[0],
      a[SIDE].place(), &b[SIDE].sizes[0], b[SIDE].place(), &c[SIDE].sizes[0], c[SIDE].place());
  w.line(
      "hand split x4",
      [&] {
        for (float *sum : {ax.data, ay.data, az.data}) TRY(cudaMemsetAsync(sum, 0, 4 * (size_t)count, 0));
        const dim3 grid((unsigned)(count / (TILE * BODIES)), SPLIT);
        bodies_kernel<<<grid, TILE>>>(bodies.data, ax.data, ay.data, az.data, count);
      },
      right);
  w.measure();
}

enum { STEPS = 1000, AT_ONCE = 8 };

/* Steps are done eight at a time; the last eight once more, one by one, to find which of them was the last. 1000 is 125 times eight. */
__global__ void __launch_bounds__(256) mandelbrot_kernel(int32_t *steps, int n) {
  const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= n || j >= n) return;
  const float cx = __fadd_rn(__fmul_rn((float)j, 3.0f / n), -2.0f), cy = __fadd_rn(__fmul_rn((float)i, 3.0f / n), -1.5f);
  float x = 0, y = 0;
  const auto step = [=](float &u, float &v) {
    const float next = fmaf(u, u, __fsub_rn(cx, __fmul_rn(v, v)));
    v = fmaf(__fmul_rn(2.0f, u), v, cy);
    u = next;
  };
  const auto stays = [](float u, float v) { return fmaf(u, u, __fmul_rn(v, v)) <= 4.0f; };
  int k = 0;
  while (k < STEPS) {
    float u = x, v = y;
#pragma unroll
    for (int s = 0; s < AT_ONCE; s++) step(u, v);
    /* A point that left does not come back: what it has grown to is no number, or is larger. */
    if (!stays(u, v)) break;
    x = u;
    y = v;
    k += AT_ONCE;
  }
  while (k < STEPS && stays(x, y)) {
    step(x, y);
    k++;
  }
  steps[(int64_t)i * n + j] = k;
}

void mandelbrot() {
  const int64_t n = divisor >= 16 ? 1024 : 4096;
  const Array<int32_t> found(n * n), expected(n * n);
  fill(expected, [n] __device__(int64_t at) {
    const float cx = __fadd_rn(__fmul_rn((float)(at % n), 3.0f / n), -2.0f), cy = __fadd_rn(__fmul_rn((float)(at / n), 3.0f / n), -1.5f);
    float x = 0, y = 0;
    int k = 0;
    for (; k < STEPS && fmaf(x, x, __fmul_rn(y, y)) <= 4; k++) {
      const float next = fmaf(x, x, __fsub_rn(cx, __fmul_rn(y, y)));
      y = fmaf(__fmul_rn(2.0f, x), y, cy);
      x = next;
    }
    return k;
  });
  const int32_t *k = expected.data;
  const double all = exact_sum(n * n, [k] __device__(int64_t i) { return (double)k[i]; });
  Results<int32_t> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, n * n); };
  const auto right = [&] { return difference(found.data, expected.data, n * n); };
  Workload w("mandelbrot", text("%lld^2", n), 4.0 * n * n, 8.0 * all);
  OURS(w, mandelbrot, wrong, n, &out[SIDE].sizes[0], &out[SIDE].sizes[1], out[SIDE].place());
  const dim3 grid(groups(n, 32), groups(n, 8));
  w.line("hand, 8 steps at once", [&] { mandelbrot_kernel<<<grid, dim3(32, 8)>>>(found.data, (int)n); }, right);
  w.measure();
}

/* Rows times a vector: a row for a group. */
__global__ void __launch_bounds__(256) gemv_kernel(const float4 *a, const float4 *x, float *y, int64_t quads) {
  const float4 *row = a + blockIdx.x * quads;
  float mine = 0;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < quads; i += 256) {
    const float4 v = __ldcs(row + i), u = __ldg(x + i);
    mine += (v.x * u.x + v.y * u.y) + (v.z * u.z + v.w * u.w);
  }
  __shared__ float warps[8];
  for (int step = 16; step > 0; step /= 2) mine += Sum::down(mine, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < 8; warp++) mine += warps[warp];
  y[blockIdx.x] = mine;
}

enum { DEEP = 128 };

/* Columns times a vector: four rows for a work-item, some columns for a group, whose sums are added atomically. */
__global__ void __launch_bounds__(256) gemv_columns_kernel(const float4 *a, const float *x, float *y, int64_t quads) {
  const int64_t quad = (int64_t)blockIdx.x * 32 + threadIdx.x, first = (int64_t)blockIdx.y * DEEP;
  if (quad >= quads) return;
  float4 mine = {0, 0, 0, 0};
#pragma unroll 8
  for (int64_t j = first + threadIdx.y; j < first + DEEP; j += 8) {
    const float4 v = __ldcs(a + j * quads + quad);
    const float u = __ldg(x + j);
    mine.x += v.x * u, mine.y += v.y * u, mine.z += v.z * u, mine.w += v.w * u;
  }
  __shared__ float4 parts[8][32];
  parts[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int part = 1; part < 8; part++) {
    const float4 v = parts[part][threadIdx.x];
    mine.x += v.x, mine.y += v.y, mine.z += v.z, mine.w += v.w;
  }
  atomicAdd(y + 4 * quad, mine.x);
  atomicAdd(y + 4 * quad + 1, mine.y);
  atomicAdd(y + 4 * quad + 2, mine.z);
  atomicAdd(y + 4 * quad + 3, mine.w);
}

void gemv(int64_t n) {
  const Array<float> a(n * n), x(n), y(n), expected(n);
  fill(a, [] __device__(int64_t i) { return uniform(i) - 0.5f; });
  fill(x, [] __device__(int64_t i) { return uniform(~i); });
  const float *cells = a.data, *vector = x.data;
  const auto right = [&] { return difference(y.data, expected.data, n, 1e-3); };
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, n, 1e-3); };
  {
    fill(expected, [=] __device__(int64_t i) {
      double sum = 0;
      for (int64_t j = 0; j < n; j++) sum += (double)cells[i * n + j] * vector[j];
      return (float)sum;
    });
    Workload w("gemv", text("%lld^2", n), 4.0 * n * n + 8.0 * n, 2.0 * n * n);
    OURS(w, gemv, wrong, n, n, a.at(SIDE), n, x.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line(
        "hand float4", [&] { gemv_kernel<<<(unsigned)n, 256>>>((const float4 *)cells, (const float4 *)vector, y.data, n / 4); }, right);
    if (blas_is_there()) w.line("cuBLAS", [&] { blas_gemv_rows(cells, vector, y.data, n, n); }, right);
    w.measure();
  }
  {
    fill(expected, [=] __device__(int64_t i) {
      double sum = 0;
      for (int64_t j = 0; j < n; j++) sum += (double)cells[j * n + i] * vector[j];
      return (float)sum;
    });
    Workload w("gemv_colmajor", text("%lld^2", n), 4.0 * n * n + 8.0 * n, 2.0 * n * n);
    OURS(w, gemv_columns, wrong, n, n, a.at(SIDE), n, x.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
    w.line(
        "hand float4, atomics",
        [&] {
          TRY(cudaMemsetAsync(y.data, 0, 4 * (size_t)n, 0));
          const dim3 grid(groups(n / 4, 32), (unsigned)(n / DEEP));
          gemv_columns_kernel<<<grid, dim3(32, 8)>>>((const float4 *)cells, vector, y.data, n / 4);
        },
        right);
    if (blas_is_there()) w.line("cuBLAS", [&] { blas_gemv_columns(cells, vector, y.data, n, n); }, right);
    w.measure();
  }
}

enum { SIDE_OF_TILE = 128, STEP = 16 };

/* 128 x 128 cells of C for a group of 256, 8 x 8 for a work-item, 16 steps in local memory at a time; the next 16 are on their way meanwhile. */
__global__ void __launch_bounds__(256) gemm_kernel(const float *a, const float *b, float *c, int64_t n) {
  __shared__ float as[2][STEP][SIDE_OF_TILE + 4], bs[2][STEP][SIDE_OF_TILE];
  const int64_t row = (int64_t)blockIdx.y * SIDE_OF_TILE, column = (int64_t)blockIdx.x * SIDE_OF_TILE;
  const int item = threadIdx.x, mine_row = item / 16 * 4, mine_column = item % 16 * 4;
  float4 next_a[2], next_b[2];
  const auto fetch = [&](int64_t k) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int at = item + 256 * half;
      next_a[half] = *(const float4 *)(a + (row + at / 4) * n + k + at % 4 * 4);
      next_b[half] = *(const float4 *)(b + (k + at / 32) * n + column + at % 32 * 4);
    }
  };
  const auto put = [&](int to) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int at = item + 256 * half, line = at / 4, k = at % 4 * 4;
      as[to][k][line] = next_a[half].x, as[to][k + 1][line] = next_a[half].y;
      as[to][k + 2][line] = next_a[half].z, as[to][k + 3][line] = next_a[half].w;
      *(float4 *)&bs[to][at / 32][at % 32 * 4] = next_b[half];
    }
  };
  float sums[8][8] = {};
  fetch(0);
  put(0);
  __syncthreads();
  for (int64_t k = 0; k < n; k += STEP) {
    const int now = (int)(k / STEP % 2);
    if (k + STEP < n) fetch(k + STEP);
#pragma unroll
    for (int step = 0; step < STEP; step++) {
      float x[8], y[8];
      *(float4 *)x = *(const float4 *)&as[now][step][mine_row];
      *(float4 *)(x + 4) = *(const float4 *)&as[now][step][mine_row + 64];
      *(float4 *)y = *(const float4 *)&bs[now][step][mine_column];
      *(float4 *)(y + 4) = *(const float4 *)&bs[now][step][mine_column + 64];
#pragma unroll
      for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
      }
    }
    if (k + STEP < n) put(1 - now);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    float *const to = c + (row + mine_row + (i < 4 ? i : 60 + i)) * n + column + mine_column;
    *(float4 *)to = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    *(float4 *)(to + 64) = {sums[i][4], sums[i][5], sums[i][6], sums[i][7]};
  }
}

void gemm(int64_t n) {
  const Array<float> a(n * n), b(n * n), c(n * n), expected(n * n);
  fill(a, [] __device__(int64_t i) { return uniform(i) - 0.5f; });
  fill(b, [] __device__(int64_t i) { return uniform(~i) - 0.5f; });
  const float *as = a.data, *bs = b.data;
  fill(expected, [=] __device__(int64_t at) {
    const float *row = as + at / n * n, *column = bs + at % n;
    float sum = 0;
    for (int64_t k = 0; k < n; k++) sum += row[k] * column[k * n];
    return sum;
  });
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, n * n, 1e-3); };
  const auto right = [&] { return difference(c.data, expected.data, n * n, 1e-3); };
  Workload w("gemm", text("%lld^3", n), 12.0 * n * n, 2.0 * (double)n * n * n);
  OURS(w, gemm, wrong, n, n, a.at(SIDE), n, n, b.at(SIDE), &out[SIDE].sizes[0], &out[SIDE].sizes[1], out[SIDE].place());
  const unsigned tiles = (unsigned)(n / SIDE_OF_TILE);
  w.line("hand 8x8", [&] { gemm_kernel<<<dim3(tiles, tiles), 256>>>(as, bs, c.data, n); }, right);
  if (blas_is_there()) w.line("cuBLAS", [&] { blas_gemm(as, bs, c.data, n); }, right);
  w.measure();
}

enum { PER_ROW = 25, LANES = 8 };

__global__ void ell_kernel(const float *values, const int32_t *columns, const float *x, float *y, int64_t rows) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < PER_ROW; k++) sum += __ldcs(values + k * rows + i) * __ldg(x + __ldcs(columns + k * rows + i));
  y[i] = sum;
}

/* Eight work-items for a row. */
__global__ void csr_kernel(const int64_t *offsets, const float *values, const int32_t *columns, const float *x, float *y, int64_t rows) {
  const int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  float sum = 0;
  if (row < rows) {
    const int64_t end = offsets[row + 1];
    for (int64_t i = offsets[row] + lane; i < end; i += LANES) sum += __ldcs(values + i) * __ldg(x + __ldcs(columns + i));
  }
  for (int step = LANES / 2; step > 0; step /= 2) sum += Sum::down(sum, step);
  if (row < rows && lane == 0) y[row] = sum;
}

void spmv() {
  const int64_t rows = mega(2), count = rows * PER_ROW;
  const Array<float> x(rows), y(rows), expected(rows), values(count), turned(count);
  const Array<int32_t> columns(count), turned_columns(count);
  const Array<int64_t> offsets(rows + 1);
  fill(x, [] __device__(int64_t i) { return uniform(i); });
  fill(offsets, [] __device__(int64_t i) { return i * PER_ROW; });
  fill(values, [] __device__(int64_t i) { return uniform(~i) - 0.5f; });
  const float *vector = x.data, *cells = values.data;
  const int32_t *at = columns.data;
  for (const bool is_banded : {true, false}) {
    fill(columns, [=] __device__(int64_t i) {
      if (!is_banded) return (int32_t)(mixed(i) % (uint64_t)rows);
      const int64_t column = i / PER_ROW + i % PER_ROW - PER_ROW / 2;
      return (int32_t)(column < 0 ? column + rows : column >= rows ? column - rows : column);
    });
    fill(turned, [=] __device__(int64_t i) { return cells[i % rows * PER_ROW + i / rows]; });
    fill(turned_columns, [=] __device__(int64_t i) { return at[i % rows * PER_ROW + i / rows]; });
    fill(expected, [=] __device__(int64_t row) {
      double sum = 0;
      for (int64_t i = row * PER_ROW; i < (row + 1) * PER_ROW; i++) sum += (double)cells[i] * vector[at[i]];
      return (float)sum;
    });
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, rows, 1e-4); };
    const auto right = [&] { return difference(y.data, expected.data, rows, 1e-4); };
    {
      Workload w(is_banded ? "spmv_csr_banded" : "spmv_csr_random", text("%lldM rows", rows >> 20), 8.0 * count + 12.0 * rows, 2.0 * count);
      OURS(
          w, spmv_csr, wrong, rows, offsets.at(SIDE), count, values.at(SIDE), columns.at(SIDE), rows, x.at(SIDE), &out[SIDE].sizes[0],
          out[SIDE].place());
      w.line(
          "hand, 8 for a row",
          [&] { csr_kernel<<<groups(rows * LANES), GROUP>>>(offsets.data, cells, at, vector, y.data, rows); }, right);
      w.measure();
    }
    {
      Workload w(is_banded ? "spmv_ell_banded" : "spmv_ell_random", text("%lldM rows", rows >> 20), 8.0 * count + 8.0 * rows, 2.0 * count);
      OURS(
          w, spmv_ell, wrong, PER_ROW, rows, turned.at(SIDE), PER_ROW, rows, turned_columns.at(SIDE), rows, x.at(SIDE),
          &out[SIDE].sizes[0], out[SIDE].place());
      w.line(
          "hand, by columns",
          [&] { ell_kernel<<<groups(rows), GROUP>>>(turned.data, turned_columns.data, vector, y.data, rows); }, right);
      w.measure();
    }
  }
}

} // namespace

void dense() {
  blackscholes();
  nbody();
  mandelbrot();
  spmv();
  for (const int64_t n : {16384, 8192}) gemv(divisor > 1 ? n / 8 : n);
  gemm(divisor > 1 ? 1024 : 4096);
}
