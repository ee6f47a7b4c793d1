/* Transposition and stencils: one sweep, cells of the border are copied. */
#include "harness.h"

namespace {

/* A tile of 64 x 64 for a group of 256: lines of 16 float4 in, lines of 16 float4 out. */
__global__ void __launch_bounds__(256) transpose_kernel(const float4 *from, float4 *to, int64_t side) {
  __shared__ float tile[64][65];
  const int64_t quads = side / 4;
  const int line = threadIdx.x / 16, quad = threadIdx.x % 16;
  const int64_t row = 64 * (int64_t)blockIdx.y, column = 64 * (int64_t)blockIdx.x;
#pragma unroll
  for (int k = 0; k < 64; k += 16) {
    const float4 v = __ldcs(from + (row + line + k) * quads + column / 4 + quad);
    float *const cells = tile[line + k] + 4 * quad;
    cells[0] = v.x, cells[1] = v.y, cells[2] = v.z, cells[3] = v.w;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 64; k += 16) {
    const int at = line + k;
    const float4 v = {tile[4 * quad][at], tile[4 * quad + 1][at], tile[4 * quad + 2][at], tile[4 * quad + 3][at]};
    __stcs(to + (column + at) * quads + row / 4 + quad, v);
  }
}

/* The tile of 32 x 32 that everybody writes. */
__global__ void __launch_bounds__(256) transpose_plain_kernel(const float *from, float *to, int64_t side) {
  __shared__ float tile[32][33];
  const int64_t row = 32 * (int64_t)blockIdx.y, column = 32 * (int64_t)blockIdx.x;
#pragma unroll
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = from[(row + threadIdx.y + k) * side + column + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 32; k += 8) to[(column + threadIdx.y + k) * side + row + threadIdx.x] = tile[threadIdx.x][threadIdx.y + k];
}

/* A side of a grid at this divisor. */
int64_t side_of(int64_t most, int dimensions) {
  int64_t side = most;
  for (int64_t d = divisor; d > 1 && side > 64; d >>= dimensions) side /= 2;
  return side;
}

void transposed() {
  const int64_t side = side_of(16384, 2);
  const Array<float> xs(side * side), ys(xs.count), expected(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i); });
  const float *x = xs.data;
  fill(expected, [x, side] __device__(int64_t i) { return x[i % side * side + i / side]; });
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count, 1e-9); };
  const auto right = [&] { return difference(ys.data, expected.data, xs.count, 1e-9); };
  Workload w("transpose", text("%lld^2", side), 8.0 * xs.count);
  OURS(w, transposed, wrong, side, side, xs.at(SIDE), &out[SIDE].sizes[0], &out[SIDE].sizes[1], out[SIDE].place());
  const unsigned tiles = (unsigned)(side / 64);
  w.line(
      "hand 64x64 float4", [&] { transpose_kernel<<<dim3(tiles, tiles), 256>>>((const float4 *)x, (float4 *)ys.data, side); }, right);
  w.line(
      "hand 32x32", [&] { transpose_plain_kernel<<<dim3(2 * tiles, 2 * tiles), dim3(32, 8)>>>(x, ys.data, side); }, right);
  w.measure();
}

__global__ void jacobi1d_kernel(const float *xs, float *ys, int64_t count) {
  const int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float third = 1.0f / 3;
  const float4 x = *(const float4 *)(xs + i);
  const float left = i == 0 ? x.x : xs[i - 1], right = i + 4 == count ? x.w : xs[i + 4];
  const float4 y = {(left + x.x + x.y) * third, (x.x + x.y + x.z) * third, (x.y + x.z + x.w) * third, (x.z + x.w + right) * third};
  __stcs((float4 *)(ys + i), y);
}

void jacobi1d() {
  const Array<float> xs(mega(128)), ys(xs.count), expected(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i); });
  const float *x = xs.data;
  const int64_t count = xs.count;
  fill(expected, [x, count] __device__(int64_t i) {
    return (x[i == 0 ? 0 : i - 1] + x[i] + x[i == count - 1 ? i : i + 1]) / 3;
  });
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, count, 1e-6); };
  const auto right = [&] { return difference(ys.data, expected.data, count, 1e-6); };
  Workload w("jacobi1d", text("%lldM", count >> 20), 8.0 * count, 3.0 * count);
  OURS(w, jacobi1d, wrong, count, xs.at(SIDE), &out[SIDE].sizes[0], out[SIDE].place());
  w.line("hand float4", [&] { jacobi1d_kernel<<<groups(count / 4), GROUP>>>(x, ys.data, count); }, right);
  w.measure();
}

enum { MARCH = 32 };

/* Four columns for a work-item, which goes down some rows with three of them in registers. */
__global__ void __launch_bounds__(128) jacobi2d_kernel(const float *xs, float *ys, int64_t side) {
  const int64_t column = 4 * ((int64_t)blockIdx.x * 128 + threadIdx.x);
  if (column >= side) return;
  const int64_t first = (int64_t)blockIdx.y * MARCH;
  const auto load = [=](int64_t row) { return *(const float4 *)(xs + row * side + column); };
  float4 up = first == 0 ? float4{} : load(first - 1), mid = load(first);
#pragma unroll 4
  for (int64_t row = first; row < first + MARCH; row++) {
    const float4 down = row + 1 == side ? float4{} : load(row + 1);
    const float *const here = xs + row * side + column;
    float4 y = mid;
    if (row > 0 && row + 1 < side) {
      const float left = column == 0 ? 0 : here[-1], right = column + 4 == side ? 0 : here[4];
      if (column > 0) y.x = (mid.x + up.x + down.x + left + mid.y) * 0.2f;
      y.y = (mid.y + up.y + down.y + mid.x + mid.z) * 0.2f;
      y.z = (mid.z + up.z + down.z + mid.y + mid.w) * 0.2f;
      if (column + 4 < side) y.w = (mid.w + up.w + down.w + mid.z + right) * 0.2f;
    }
    __stcs((float4 *)(ys + row * side + column), y);
    up = mid;
    mid = down;
  }
}

void jacobi2d() {
  const int64_t side = side_of(16384, 2);
  const Array<float> xs(side * side), ys(xs.count), expected(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i); });
  const float *x = xs.data;
  fill(expected, [x, side] __device__(int64_t at) {
    const int64_t i = at / side, j = at % side;
    if (i == 0 || j == 0 || i == side - 1 || j == side - 1) return x[at];
    return (x[at] + x[at - side] + x[at + side] + x[at - 1] + x[at + 1]) * 0.2f;
  });
  Results<float> out;
  const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count, 1e-6); };
  const auto right = [&] { return difference(ys.data, expected.data, xs.count, 1e-6); };
  Workload w("jacobi2d", text("%lld^2", side), 8.0 * xs.count, 5.0 * xs.count);
  OURS(w, jacobi2d, wrong, side, side, xs.at(SIDE), &out[SIDE].sizes[0], &out[SIDE].sizes[1], out[SIDE].place());
  const dim3 grid(groups(side / 4, 128), (unsigned)(side / MARCH));
  w.line("hand float4 march", [&] { jacobi2d_kernel<<<grid, 128>>>(x, ys.data, side); }, right);
  w.measure();
}

enum { PLANES = 32 };

/* Four cells of a row for a work-item, which goes through some planes with three of them in registers. */
__global__ void __launch_bounds__(256) jacobi7_kernel(const float *xs, float *ys, int64_t side) {
  const int64_t z = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x), y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
  if (z >= side || y >= side) return;
  const int64_t plane = side * side, first = (int64_t)blockIdx.z * PLANES;
  const float *here = xs + first * plane + y * side + z;
  const auto load = [](const float *from) { return *(const float4 *)from; };
  float4 before = first == 0 ? float4{} : load(here - plane), mid = load(here);
  for (int64_t x = first; x < first + PLANES; x++, here += plane) {
    const float4 behind = x + 1 == side ? float4{} : load(here + plane);
    float4 to = mid;
    if (x > 0 && x + 1 < side && y > 0 && y + 1 < side) {
      const float4 up = load(here - side), down = load(here + side);
      const float left = z == 0 ? 0 : here[-1], right = z + 4 == side ? 0 : here[4];
      if (z > 0) to.x = 0.4f * mid.x + 0.1f * (before.x + behind.x + up.x + down.x + left + mid.y);
      to.y = 0.4f * mid.y + 0.1f * (before.y + behind.y + up.y + down.y + mid.x + mid.z);
      to.z = 0.4f * mid.z + 0.1f * (before.z + behind.z + up.z + down.z + mid.y + mid.w);
      if (z + 4 < side) to.w = 0.4f * mid.w + 0.1f * (before.w + behind.w + up.w + down.w + mid.z + right);
    }
    __stcs((float4 *)(ys + x * plane + y * side + z), to);
    before = mid;
    mid = behind;
  }
}

/* Of a plane around a cell: itself, the sum of its edges, that of its corners. */
struct Ring {
  float centre, edges, corners;
};

/* A cell of a plane for a work-item, which goes through some planes; each plane is read once. */
__global__ void __launch_bounds__(256) jacobi27_kernel(const float *xs, float *ys, int64_t side) {
  const int64_t z = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
  if (z >= side || y >= side) return;
  const int64_t plane = side * side, first = (int64_t)blockIdx.z * PLANES;
  const float *here = xs + first * plane + y * side + z;
  const bool is_inside = y > 0 && z > 0 && y + 1 < side && z + 1 < side;
  const auto ring = [=](const float *at) {
    Ring r = {*at, 0, 0};
    if (is_inside) {
      r.edges = (at[-side] + at[side]) + (at[-1] + at[1]);
      r.corners = (at[-side - 1] + at[-side + 1]) + (at[side - 1] + at[side + 1]);
    }
    return r;
  };
  Ring before = first == 0 ? Ring{} : ring(here - plane), mid = ring(here);
  for (int64_t x = first; x < first + PLANES; x++, here += plane) {
    const Ring behind = x + 1 == side ? Ring{} : ring(here + plane);
    float to = mid.centre;
    if (is_inside && x > 0 && x + 1 < side) {
      to = 0.2f * mid.centre + 0.05f * (mid.edges + before.centre + behind.centre) +
           0.025f * (mid.corners + before.edges + behind.edges + before.corners + behind.corners);
    }
    __stcs(ys + x * plane + y * side + z, to);
    before = mid;
    mid = behind;
  }
}

void jacobi3d() {
  const int64_t side = side_of(512, 3), plane = side * side;
  const Array<float> xs(side * plane), ys(xs.count), expected(xs.count);
  fill(xs, [] __device__(int64_t i) { return uniform(i); });
  const float *t = xs.data;
  const auto right = [&] { return difference(ys.data, expected.data, xs.count, 1e-6); };
  {
    fill(expected, [t, side, plane] __device__(int64_t at) {
      const int64_t x = at / plane, y = at / side % side, z = at % side;
      if (x == 0 || y == 0 || z == 0 || x == side - 1 || y == side - 1 || z == side - 1) return t[at];
      return 0.4f * t[at] +
             0.1f * (t[at - plane] + t[at + plane] + t[at - side] + t[at + side] + t[at - 1] + t[at + 1]);
    });
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count, 1e-6); };
    Workload w("jacobi3d_7pt", text("%lld^3", side), 8.0 * xs.count, 8.0 * xs.count);
    OURS(
        w, jacobi3d_7, wrong, side, side, side, xs.at(SIDE), &out[SIDE].sizes[0], &out[SIDE].sizes[1], &out[SIDE].sizes[2],
        out[SIDE].place());
    const dim3 group(32, 8), grid(groups(side / 4, 32), groups(side, 8), (unsigned)(side / PLANES));
    w.line("hand float4 march", [&] { jacobi7_kernel<<<grid, group>>>(t, ys.data, side); }, right);
    w.measure();
  }
  {
    fill(expected, [t, side, plane] __device__(int64_t at) {
      const int64_t x = at / plane, y = at / side % side, z = at % side;
      if (x == 0 || y == 0 || z == 0 || x == side - 1 || y == side - 1 || z == side - 1) return t[at];
      float sums[4] = {0, 0, 0, 0};
      for (int dx = -1; dx <= 1; dx++) {
        for (int dy = -1; dy <= 1; dy++) {
          for (int dz = -1; dz <= 1; dz++) sums[dx * dx + dy * dy + dz * dz] += t[at + dx * plane + dy * side + dz];
        }
      }
      return 0.2f * sums[0] + 0.05f * sums[1] + 0.025f * sums[2] + 0.025f * sums[3];
    });
    Results<float> out;
    const auto wrong = [&](Side s) { return difference(out[s].data(), expected.data, xs.count, 1e-6); };
    Workload w("jacobi3d_27pt", text("%lld^3", side), 8.0 * xs.count, 30.0 * xs.count);
    OURS(
        w, jacobi3d_27, wrong, side, side, side, xs.at(SIDE), &out[SIDE].sizes[0], &out[SIDE].sizes[1], &out[SIDE].sizes[2],
        out[SIDE].place());
    const dim3 group(64, 4), grid(groups(side, 64), groups(side, 4), (unsigned)(side / PLANES));
    w.line("hand march", [&] { jacobi27_kernel<<<grid, group>>>(t, ys.data, side); }, right);
    w.measure();
  }
}

} // namespace

void grids() {
  transposed();
  jacobi1d();
  jacobi2d();
  jacobi3d();
}
