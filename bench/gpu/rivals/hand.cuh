/* Reductions by hand: float4 loads, several at a time, groups that fill the device; the last group to be done combines the others' results. */
#pragma once

#include "harness.h"

enum { REDUCING = 512, MOST_GROUPS = 4096 };

struct Sum {
  static __device__ float none() { return 0; }
  static __device__ float of(float a, float b) { return a + b; }
  static __device__ float down(float a, int step) { return __shfl_down_sync(0xffffffff, a, step); }
};

template <class O, class T> __device__ T of_group(T mine) {
  __shared__ T warps[REDUCING / 32];
  for (int step = 16; step > 0; step /= 2) mine = O::of(mine, O::down(mine, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = threadIdx.x < REDUCING / 32 ? warps[threadIdx.x] : O::none();
  if (threadIdx.x < 32) {
    for (int step = 16; step > 0; step /= 2) mine = O::of(mine, O::down(mine, step));
  }
  return mine;
}

/* `load(i)` combines the elements 4 i to 4 i + 3. */
template <class O, class T, class F, class E>
__global__ void __launch_bounds__(REDUCING) reduce_kernel(int64_t quads, F load, T *partials, unsigned *done, E end) {
  T mine[4] = {O::none(), O::none(), O::none(), O::none()};
  const int64_t step = (int64_t)gridDim.x * REDUCING;
  int64_t i = (int64_t)blockIdx.x * REDUCING + threadIdx.x;
  for (; i + 3 * step < quads; i += 4 * step) {
#pragma unroll
    for (int k = 0; k < 4; k++) mine[k] = O::of(mine[k], load(i + k * step));
  }
  for (; i < quads; i += step) mine[0] = O::of(mine[0], load(i));
  T all = of_group<O, T>(O::of(O::of(mine[0], mine[1]), O::of(mine[2], mine[3])));
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = all;
    __threadfence();
    is_last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  all = O::none();
  for (unsigned k = threadIdx.x; k < gridDim.x; k += REDUCING) all = O::of(all, partials[k]);
  all = of_group<O, T>(all);
  if (threadIdx.x == 0) {
    end(all);
    *done = 0;
  }
}

/* What reductions of one type share between launches. */
template <class T> struct Partials {
  T *cells;
  unsigned *done;
  Partials() {
    TRY(cudaMalloc(&cells, MOST_GROUPS * sizeof(T)));
    TRY(cudaMalloc(&done, sizeof *done));
    TRY(cudaMemset(done, 0, sizeof *done));
  }
  Partials(const Partials &) = delete;
  Partials &operator=(const Partials &) = delete;
  ~Partials() {
    cudaFree(cells);
    cudaFree(done);
  }
};

template <class O, class T, class F, class E> void reduce(const Partials<T> &partials, int64_t quads, F load, E end) {
  const unsigned wanted = groups(quads, REDUCING * 4), grid = full_grid() / 2;
  reduce_kernel<O, T><<<wanted < grid ? (wanted == 0 ? 1 : wanted) : grid, REDUCING>>>(quads, load, partials.cells, partials.done, end);
  TRY(cudaGetLastError());
}
