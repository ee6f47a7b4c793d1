#include "cub_space.cuh"
#include "libraries.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>

namespace {

struct IsBelow {
  int32_t limit;
  __host__ __device__ bool operator()(int32_t x) const { return (x & 65535) < limit; }
};

} // namespace

void cub_filter(const int32_t *xs, int32_t *kept, int64_t *how_many, int64_t count, int32_t below) {
  CUB_CALL(cub::DeviceSelect::If, xs, kept, how_many, count, IsBelow{below});
}

void cub_histogram(const int32_t *keys, int32_t *bins, int64_t count, int32_t how_many) {
  CUB_CALL(cub::DeviceHistogram::HistogramEven, keys, bins, how_many + 1, 0, how_many, count);
}

void thrust_gather(const int32_t *from, const int32_t *xs, int32_t *ys, int64_t count) {
  thrust::gather(thrust::device, from, from + count, xs, ys);
}

void thrust_scatter(const int32_t *to, const int32_t *xs, int32_t *ys, int64_t count) {
  thrust::scatter(thrust::device, xs, xs + count, to, ys);
}
