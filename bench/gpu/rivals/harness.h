/* What all files of the comparison share: arrays on the device, lines that are timed in turn, and checks of what they compute. */
#pragma once

#include "checked.h"
#include "unchecked.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <vector>

#define TRY(call) \
  do { \
    const cudaError_t status_ = (call); \
    if (status_ != cudaSuccess) { \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      exit(1); \
    } \
  } while (0)

/* Almach's code with its checks, and without them. */
enum Side { CHECKED, UNCHECKED, SIDES };

extern checked_ctx *checked;
extern unchecked_ctx *unchecked;

/* Sizes are divided by this (--divide). */
extern int64_t divisor;

/* An array on the device, for kernels of this program and for calls of Almach's. */
template <class T> struct Array {
  int64_t count;
  T *data = nullptr;
  void *handles[SIDES] = {nullptr, nullptr};

  explicit Array(int64_t count) : count(count) {
    TRY(cudaMalloc(&data, sizeof(T) * (size_t)count + 64));
    handles[CHECKED] = checked_borrow_array(checked, data, count, sizeof(T));
    handles[UNCHECKED] = unchecked_borrow_array(unchecked, data, count, sizeof(T));
    for (void *handle : handles) {
      if (handle != nullptr) continue;
      const char *why = checked_error(checked) != nullptr ? checked_error(checked) : unchecked_error(unchecked);
      fprintf(stderr, "Almach's side does not take an array: %s\n", why == nullptr ? "" : why);
      exit(1);
    }
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() {
    checked_release(checked, handles[CHECKED]);
    unchecked_release(unchecked, handles[UNCHECKED]);
    cudaFree(data);
  }

  const T *at(Side side) const { return (const T *)handles[side]; }
  void zero() const { TRY(cudaMemset(data, 0, sizeof(T) * (size_t)count)); }
};

/* An array that a call of Almach's gives, until the next call. */
template <class T> struct Result {
  Side side;
  T *cells = nullptr;
  int64_t sizes[3] = {0, 0, 0};

  explicit Result(Side side) : side(side) {}
  Result(const Result &) = delete;
  Result &operator=(const Result &) = delete;
  ~Result() { drop(); }

  void drop() {
    if (side == CHECKED) checked_release(checked, cells);
    else unchecked_release(unchecked, cells);
    cells = nullptr;
  }
  /* Where the call puts it. */
  T **place() {
    drop();
    return &cells;
  }
  const T *data() const {
    return (const T *)(side == CHECKED ? checked_device_memory(checked, cells) : unchecked_device_memory(unchecked, cells));
  }
};

/* One way to compute a workload. */
struct Line {
  std::string name;
  std::function<int()> run;     /* 0, or not where it failed */
  std::function<double()> wrong; /* how far its result is from the expected one, as a multiple of what is allowed */
  int side;                     /* of Almach's; -1 for others */
  std::vector<double> seconds;
};

struct Workload {
  std::string name, size;
  double bytes, flops;
  std::vector<Line> lines;

  Workload(std::string name, std::string size, double bytes, double flops = 0)
      : name(std::move(name)), size(std::move(size)), bytes(bytes), flops(flops) {}

  void line(std::string name, std::function<void()> run, std::function<double()> wrong) {
    lines.push_back({std::move(name), [run] { return run(), 0; }, std::move(wrong), -1, {}});
  }
  void ours(Side side, std::function<int()> run, std::function<double()> wrong) {
    lines.push_back({side == CHECKED ? "almach" : "almach --unchecked", std::move(run), std::move(wrong), side, {}});
  }

  /* Checks all lines, times them in turn, and prints a row of the table. */
  void measure();
};

/* Almach's two lines: `OURS(w, scal, wrong, xs.count, xs.at(SIDE), …)`, where SIDE is that of the line. */
#define OURS(workload, entry, wrong, ...) \
  do { \
    { \
      constexpr Side SIDE = CHECKED; \
      (workload).ours(SIDE, [&] { return checked_##entry(checked, __VA_ARGS__); }, [&] { return wrong(SIDE); }); \
    } \
    { \
      constexpr Side SIDE = UNCHECKED; \
      (workload).ours(SIDE, [&] { return unchecked_##entry(unchecked, __VA_ARGS__); }, [&] { return wrong(SIDE); }); \
    } \
  } while (0)

/* Both sides' results. */
template <class T> struct Results {
  Result<T> of[SIDES] = {Result<T>(CHECKED), Result<T>(UNCHECKED)};
  Result<T> &operator[](Side side) { return of[side]; }
};

/* Numbers that look random, the same on every run. */
__host__ __device__ inline uint32_t mixed(uint64_t x) {
  x = (x + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 29)) * 0x94D049BB133111EBull;
  return (uint32_t)(x >> 32);
}
/* In [0, 1). */
__host__ __device__ inline float uniform(uint64_t x) { return (float)(mixed(x) >> 8) * (1.0f / 16777216); }

enum { GROUP = 256 };

inline unsigned groups(int64_t items, int64_t of_group = GROUP) { return (unsigned)((items + of_group - 1) / of_group); }

/* How many groups fill the device a few times. */
unsigned full_grid();

template <class T, class F> __global__ void fill_kernel(T *data, int64_t count, F element) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = element(i);
}

template <class T, class F> void fill(const Array<T> &array, F element) {
  fill_kernel<<<groups(array.count), GROUP>>>(array.data, array.count, element);
  TRY(cudaGetLastError());
}

/* The largest difference of elements, as a multiple of `allowed` of the expected one's size (of 1 where that is smaller). */
double difference(const float *found, const float *expected, int64_t count, double allowed);
/* 0 where all are equal, 2 where one is not. */
double difference(const int32_t *found, const int32_t *expected, int64_t count);
/* The same for a few numbers on the host. */
double difference(const std::vector<double> &found, const std::vector<double> &expected, double allowed);

template <class T> std::vector<T> on_host(const T *data, int64_t count) {
  std::vector<T> cells((size_t)count);
  TRY(cudaMemcpy(cells.data(), data, sizeof(T) * (size_t)count, cudaMemcpyDeviceToHost));
  return cells;
}

/* Sums in double precision, of terms of the caller's: for expected results. */
template <class F> __global__ void exact_sum_kernel(double *sum, int64_t count, F term) {
  double mine = 0;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) mine += term(i);
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

template <class F> double exact_sum(int64_t count, F term) {
  double *sum, found = 0;
  TRY(cudaMalloc(&sum, sizeof *sum));
  TRY(cudaMemset(sum, 0, sizeof *sum));
  exact_sum_kernel<<<full_grid(), GROUP>>>(sum, count, term);
  TRY(cudaMemcpy(&found, sum, sizeof found, cudaMemcpyDeviceToHost));
  TRY(cudaFree(sum));
  return found;
}

inline std::string text(const char *format, long long a, long long b = 0, long long c = 0) {
  char to[64];
  snprintf(to, sizeof to, format, a, b, c);
  return to;
}

/* Sizes are those of powers of two: 128 is 128 Mi elements. */
inline int64_t mega(int64_t count) { return (count << 20) / divisor; }

/* The workloads, by file. */
void vectors();
void grids();
void lists();
void dense();
