/* As much of CUDA as a C++ compiler needs to look at a source that is meant for nvcc. Nothing here does anything. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cmath>

#define __global__
#define __device__
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static const dim3 blockIdx, blockDim, threadIdx;

typedef int cudaError_t;
typedef struct event *cudaEvent_t;
enum { cudaSuccess, cudaErrorInvalidConfiguration };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
struct cudaDeviceProp {
  char name[256];
};

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, void *stream);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, void *stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaLaunchKernel(const void *kernel, dim3 groups, dim3 group, void **arguments, size_t shared, void *stream);

void __syncthreads();
int __syncthreads_or(int value);
void __threadfence();
template <class T, class U> T atomicExch(T *cell, U value);
template <class T, class U, class V> T atomicCAS(T *cell, U old, V value);
template <class T, class U> T atomicAdd(T *cell, U value);
template <class T, class U> T atomicAnd(T *cell, U value);
template <class T, class U> T atomicOr(T *cell, U value);
template <class T, class U> T atomicXor(T *cell, U value);
int __float_as_int(float x);
float __int_as_float(int x);
long long __double_as_longlong(double x);
double __longlong_as_double(long long x);
