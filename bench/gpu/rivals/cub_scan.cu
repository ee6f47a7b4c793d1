#include "cub_space.cuh"
#include "libraries.h"

#include <cub/device/device_scan.cuh>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

void cub_scan(const float *xs, float *sums, int64_t count) { CUB_CALL(cub::DeviceScan::InclusiveSum, xs, sums, count); }

void cub_scan(const int32_t *xs, int32_t *sums, int64_t count) { CUB_CALL(cub::DeviceScan::InclusiveSum, xs, sums, count); }

void thrust_scan(const float *xs, float *sums, int64_t count) { thrust::inclusive_scan(thrust::device, xs, xs + count, sums); }

void thrust_scan(const int32_t *xs, int32_t *sums, int64_t count) { thrust::inclusive_scan(thrust::device, xs, xs + count, sums); }
