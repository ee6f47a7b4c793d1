/* Times all workloads, each line of one in turn, and prints a table in Markdown.
 *
 * A line's time is the device's: from the start of its first kernel to the end of its last one, by events. Before every run 256 MB of
 * other memory are written, so that nothing is in the cache, and so that kernels are there when the device gets to them. */
#include "harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

checked_ctx *checked;
unchecked_ctx *unchecked;
int64_t divisor = 1;

namespace {

int rounds = 15;
std::vector<std::string> wanted;
int failures = 0;
void *before;
const size_t BEFORE = (size_t)256 << 20;

double of_calls(int side) {
  const char *name;
  double seconds = 0, least;
  int64_t count;
  for (int number = 0;; number++) {
    const int none = side == CHECKED ? checked_kernel_time(checked, number, &name, &seconds, &least, &count)
                                     : unchecked_kernel_time(unchecked, number, &name, &seconds, &least, &count);
    if (none) return seconds;
  }
}

const char *why_not(int side) {
  const char *why = side == CHECKED ? checked_error(checked) : side == UNCHECKED ? unchecked_error(unchecked) : nullptr;
  return why == nullptr ? "failed" : why;
}

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds.empty() ? NAN : seconds[seconds.size() / 2];
}

void time_once(Line &line) {
  if (line.side >= 0) {
    const double start = of_calls(line.side);
    line.run();
    line.seconds.push_back(of_calls(line.side) - start);
    return;
  }
  static cudaEvent_t events[2];
  for (cudaEvent_t &event : events) {
    if (event == nullptr) TRY(cudaEventCreate(&event));
  }
  TRY(cudaMemsetAsync(before, 0, BEFORE, 0));
  TRY(cudaEventRecord(events[0], 0));
  line.run();
  TRY(cudaEventRecord(events[1], 0));
  TRY(cudaEventSynchronize(events[1]));
  float milliseconds = 0;
  TRY(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
  line.seconds.push_back(1e-3 * milliseconds);
}

/* Whether a line gives what it should; its message otherwise. */
std::string checked_line(Line &line) {
  if (line.run() != 0) return why_not(line.side);
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return cudaGetErrorString(status);
  const double wrong = line.wrong();
  if (wrong <= 1) return "";
  char text[96];
  snprintf(text, sizeof text, "wrong: %.3g times what is allowed", wrong);
  return text;
}

bool is_wanted(const std::string &name) {
  if (wanted.empty()) return true;
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string &one) { return name.find(one) == 0; });
}

} // namespace

unsigned full_grid() {
  static int processors = 0;
  if (processors == 0) TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  return (unsigned)processors * 8;
}

void Workload::measure() {
  if (!is_wanted(name)) return;
  for (auto line = lines.begin(); line != lines.end();) {
    const std::string trouble = checked_line(*line);
    if (trouble.empty()) {
      ++line;
      continue;
    }
    fprintf(stderr, "%s, %s: %s\n", name.c_str(), line->name.c_str(), trouble.c_str());
    failures++;
    line = lines.erase(line);
  }
  for (int round = 0; round < rounds; round++) {
    for (Line &line : lines) time_once(line);
  }
  double best = INFINITY, mine = NAN, bare = NAN;
  std::string best_name = "none", others;
  for (const Line &line : lines) {
    const double seconds = median(line.seconds);
    if (line.side == CHECKED) mine = seconds;
    if (line.side == UNCHECKED) bare = seconds;
    if (line.side >= 0) continue;
    char text[128];
    snprintf(text, sizeof text, "%s%s %.4f", others.empty() ? "" : ", ", line.name.c_str(), 1e3 * seconds);
    others += text;
    if (seconds < best) best = seconds, best_name = line.name;
  }
  const double least = std::isnan(bare) ? mine : std::isnan(mine) ? bare : std::min(mine, bare);
  printf(
      "| %s %s | %.4f | %.4f | %.4f %s | %.2f | %.2f | %.2f | %.0f | %.1f | %s |\n", name.c_str(), size.c_str(), 1e3 * mine, 1e3 * bare,
      1e3 * best, best_name.c_str(), best / mine, best / bare, mine / bare, 1e-9 * bytes / least, 1e-12 * flops / least, others.c_str());
  fflush(stdout);
}

namespace {

__global__ void worst_kernel(float *worst, const float *found, const float *expected, int64_t count) {
  float mine = 0;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
    const float off = fabsf(found[i] - expected[i]) / fmaxf(1.0f, fabsf(expected[i]));
    /* Something that is no number is as wrong as can be. */
    mine = fmaxf(mine, off == off ? off : 1e30f);
  }
  atomicMax((int *)worst, __float_as_int(mine));
}

__global__ void unequal_kernel(int *unequal, const int32_t *found, const int32_t *expected, int64_t count) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
    if (found[i] != expected[i]) *unequal = 1;
  }
}

} // namespace

double difference(const float *found, const float *expected, int64_t count, double allowed) {
  float *worst, value = 0;
  if (found == nullptr) return INFINITY;
  TRY(cudaMalloc(&worst, sizeof *worst));
  TRY(cudaMemset(worst, 0, sizeof *worst));
  worst_kernel<<<full_grid(), GROUP>>>(worst, found, expected, count);
  TRY(cudaMemcpy(&value, worst, sizeof value, cudaMemcpyDeviceToHost));
  TRY(cudaFree(worst));
  return value / allowed;
}

double difference(const int32_t *found, const int32_t *expected, int64_t count) {
  int *unequal, value = 0;
  if (found == nullptr) return INFINITY;
  TRY(cudaMalloc(&unequal, sizeof *unequal));
  TRY(cudaMemset(unequal, 0, sizeof *unequal));
  unequal_kernel<<<full_grid(), GROUP>>>(unequal, found, expected, count);
  TRY(cudaMemcpy(&value, unequal, sizeof value, cudaMemcpyDeviceToHost));
  TRY(cudaFree(unequal));
  return value == 0 ? 0 : 2;
}

double difference(const std::vector<double> &found, const std::vector<double> &expected, double allowed) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    const double off = std::fabs(found[i] - expected[i]) / std::fmax(1.0, std::fabs(expected[i]));
    worst = std::isnan(off) ? INFINITY : std::fmax(worst, off);
  }
  return worst / allowed;
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--divide") == 0 && i + 1 < count) {
      divisor = atoll(arguments[++i]);
    } else if (strcmp(arguments[i], "--rounds") == 0 && i + 1 < count) {
      rounds = atoi(arguments[++i]);
    } else {
      wanted.push_back(arguments[i]);
    }
  }
  if (divisor < 1 || (divisor & (divisor - 1)) != 0 || rounds < 1) {
    fprintf(stderr, "--divide takes a power of two, --rounds a number\n");
    return 2;
  }
  TRY(cudaSetDevice(0));
  TRY(cudaMalloc(&before, BEFORE));
  cudaDeviceProp device;
  TRY(cudaGetDeviceProperties(&device, 0));
  checked = checked_new();
  unchecked = unchecked_new();
  if (checked == nullptr || unchecked == nullptr) return 1;
  checked_set_device(checked, "0");
  unchecked_set_device(unchecked, "0");
  checked_keep_results(checked, true);
  unchecked_keep_results(unchecked, true);
  if (checked_time_kernels(checked, true) != 0 || unchecked_time_kernels(unchecked, true) != 0) return 1;
  printf("%s, milliseconds, median of %d; a ratio of 1 is as fast as the best other line, below 1 is slower.\n\n", device.name, rounds);
  printf("| workload | almach | unchecked | best other line | best/almach | best/unchecked | almach/unchecked | GB/s | TFLOP/s | all other lines |\n");
  printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  vectors();
  grids();
  lists();
  dense();
  checked_free(checked);
  unchecked_free(unchecked);
  if (failures > 0) fprintf(stderr, "%d lines are missing: see above\n", failures);
  return failures > 0;
}
