#include "cub_space.cuh"
#include "libraries.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/std/functional>
#include <cuda/std/tuple>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

struct Absolute {
  __host__ __device__ float operator()(float x) const { return fabsf(x); }
};

struct Square {
  __host__ __device__ float operator()(float x) const { return x * x; }
};

struct Scaled {
  __host__ __device__ float operator()(float x) const { return 1.7f * x; }
};

struct Product {
  const float *xs, *ys;
  __host__ __device__ float operator()(int64_t i) const { return xs[i] * ys[i]; }
};

struct Point {
  const float *xs, *ys;
  __host__ __device__ float4 operator()(int64_t i) const { return {xs[i], xs[i], ys[i], ys[i]}; }
};

struct Around {
  __host__ __device__ float4 operator()(float4 a, float4 b) const {
    return {fminf(a.x, b.x), fmaxf(a.y, b.y), fminf(a.z, b.z), fmaxf(a.w, b.w)};
  }
};

struct Start {
  const uint8_t *text;
  static __host__ __device__ bool is_letter(uint8_t c) { return (uint8_t)((c | 32) - 97) < 26; }
  __host__ __device__ int64_t operator()(int64_t i) const {
    return is_letter(text[i]) && (i == 0 || !is_letter(text[i - 1])) ? 1 : 0;
  }
};

struct RowEnd {
  int64_t columns;
  __host__ __device__ int64_t operator()(int64_t row) const { return row * columns; }
};

thrust::counting_iterator<int64_t> numbers() { return thrust::counting_iterator<int64_t>(0); }

} // namespace

void cub_sum(const float *xs, float *sum, int64_t count) { CUB_CALL(cub::DeviceReduce::Sum, xs, sum, count); }

void cub_asum(const float *xs, float *sum, int64_t count) {
  CUB_CALL(cub::DeviceReduce::TransformReduce, xs, sum, count, cuda::std::plus<>(), Absolute(), 0.0f);
}

void cub_square_sum(const float *xs, float *sum, int64_t count) {
  CUB_CALL(cub::DeviceReduce::TransformReduce, xs, sum, count, cuda::std::plus<>(), Square(), 0.0f);
}

void cub_dot(const float *xs, const float *ys, float *sum, int64_t count) {
  CUB_CALL(cub::DeviceReduce::TransformReduce, numbers(), sum, count, cuda::std::plus<>(), Product{xs, ys}, 0.0f);
}

void cub_scal(const float *xs, float *ys, int64_t count) {
  cub_try(cub::DeviceTransform::Transform(cuda::std::make_tuple(xs), ys, count, Scaled()), "DeviceTransform");
}

void cub_bounds(const float *xs, const float *ys, float4 *bounds, int64_t count) {
  const float4 none = {INFINITY, -INFINITY, INFINITY, -INFINITY};
  CUB_CALL(cub::DeviceReduce::TransformReduce, numbers(), bounds, count, Around(), Point{xs, ys}, none);
}

void cub_count_words(const uint8_t *text, int64_t *words, int64_t count) {
  CUB_CALL(cub::DeviceReduce::TransformReduce, numbers(), words, count, cuda::std::plus<>(), Start{text}, (int64_t)0);
}

void cub_row_sums(const float *cells, float *sums, int64_t rows, int64_t columns) {
  const auto ends = thrust::make_transform_iterator(numbers(), RowEnd{columns});
  CUB_CALL(cub::DeviceSegmentedReduce::Sum, cells, sums, rows, ends, ends + 1);
}

void cub_segment_sums(const float *cells, const int64_t *offsets, float *sums, int64_t segments) {
  CUB_CALL(cub::DeviceSegmentedReduce::Sum, cells, sums, segments, offsets, offsets + 1);
}
