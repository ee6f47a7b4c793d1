/* CUB's functions are called twice: they say how much memory they need, then they work in it. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

inline void cub_try(cudaError_t status, const char *what) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  exit(1);
}

/* Memory that is kept from call to call. */
inline void *cub_space(size_t bytes) {
  static void *space;
  static size_t room;
  if (room < bytes) {
    cudaFree(space);
    cub_try(cudaMalloc(&space, bytes), "memory for CUB");
    room = bytes;
  }
  return space;
}

#define CUB_CALL(function, ...) \
  do { \
    size_t bytes = 0; \
    cub_try(function(nullptr, bytes, __VA_ARGS__), #function); \
    void *const space = cub_space(bytes == 0 ? 1 : bytes); \
    cub_try(function(space, bytes, __VA_ARGS__), #function); \
  } while (0)
