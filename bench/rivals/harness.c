/* Runs the variants of a workload in turn and prints the times of each, in nanoseconds per run. */
#define _POSIX_C_SOURCE 200809L
#include "harness.h"

#include <malloc.h>
#include <time.h>

/* Memory of the whole program, libraries included: these stand before the C library's functions of the same names. */
static int64_t held, peak;

static void *taken(void *block) {
  if (block == NULL) return NULL;
  const int64_t now = __atomic_add_fetch(&held, (int64_t)malloc_usable_size(block), __ATOMIC_RELAXED);
  int64_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);
  while (now > most && !__atomic_compare_exchange_n(&peak, &most, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return block;
}

static void given(void *block) {
  if (block != NULL) __atomic_sub_fetch(&held, (int64_t)malloc_usable_size(block), __ATOMIC_RELAXED);
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

void *malloc(size_t bytes) {
  return taken(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes) {
  return taken(__libc_calloc(count, bytes));
}

void *realloc(void *block, size_t bytes) {
  given(block);
  void *const moved = __libc_realloc(block, bytes);
  /* Where it fails the block stays. */
  taken(moved == NULL && bytes > 0 ? block : moved);
  return moved;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return taken(__libc_memalign(alignment, bytes));
}

void free(void *block) {
  given(block);
  __libc_free(block);
}

size_t block_bytes(void *block) {
  return block == NULL ? 0 : malloc_usable_size(block);
}

/* Runs a variant once. What it held at most beside what was there before; of a rival, with its results. */
static int64_t peak_of(const struct variant *variant) {
  if (forget != NULL) forget();
  const int64_t before = held;
  peak = held;
  variant->run();
  const bool is_rival = strncmp(variant->name, "almach", 6) != 0;
  return peak - before + (is_rival && result_bytes != NULL ? (int64_t)result_bytes() : 0);
}

enum { MOST_VARIANTS = 12, MOST_SAMPLES = 400 };

static uint64_t state = 0x9e3779b97f4a7c15u;

uint32_t random_bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

float uniform(void) {
  return (float)(random_bits() >> 8) * 0x1p-24f;
}

void *room(int64_t count, size_t cell) {
  const size_t bytes = ((size_t)count * cell + 63) / 64 * 64 + 64;
  char *block = aligned_alloc(64, bytes);
  if (block == NULL) {
    fprintf(stderr, "not enough memory for %zu bytes\n", bytes);
    exit(1);
  }
#pragma omp parallel for schedule(static)
  for (size_t at = 0; at < bytes; at += 4096) block[at] = 0;
  return block;
}

double difference_f32(const float *found, const double *expected, int64_t count) {
  double most = 0, largest = 1e-30;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(found[i])) return INFINITY;
    most = fmax(most, fabs((double)found[i] - expected[i]));
    largest = fmax(largest, fabs(expected[i]));
  }
  return most / largest;
}

double difference_f64(const double *found, const double *expected, int64_t count) {
  double most = 0, largest = 1e-30;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(found[i])) return INFINITY;
    most = fmax(most, fabs(found[i] - expected[i]));
    largest = fmax(largest, fabs(expected[i]));
  }
  return most / largest;
}

void failed(const char *error) {
  fprintf(stderr, "%s\n", error);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* So many runs take long enough to be measured. */
static int repeats(const struct variant *variant) {
  int count = 1;
  for (;;) {
    const double start = now();
    for (int i = 0; i < count; i++) variant->run();
    const double spent = now() - start;
    if (spent > 1e6 || count > 1000000) return count;
    count *= spent < 1e5 ? 8 : 2;
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s SIZE SECONDS\n", argv[0]);
    return 2;
  }
  const int64_t size = strtoll(argv[1], NULL, 10);
  const double limit = strtod(argv[2], NULL) * 1e9;
  if (!workload.setup(size)) return 1;
  printf("bytes %.0f\nflops %.0f\n", workload.bytes(), workload.flops());
  int count = 0, times[MOST_VARIANTS];
  const struct variant *variants[MOST_VARIANTS];
  for (const struct variant *variant = workload.variants; variant->name != NULL && count < MOST_VARIANTS; variant++) {
    if (variant->is_here != NULL && !variant->is_here()) continue;
    const int64_t most = peak_of(variant);
    printf("%s-peak %lld\n", variant->name, (long long)most);
    const double error = workload.error();
    if (!(error <= workload.tolerance)) {
      fprintf(stderr, "%s: the result differs from the reference by %g\n", variant->name, error);
      return 1;
    }
    times[count] = repeats(variant);
    variants[count++] = variant;
  }
  const double start = now();
  for (int sample = 0; sample < MOST_SAMPLES; sample++) {
    if (sample >= 5 && now() - start > limit) break;
    for (int at = 0; at < count; at++) {
      const double begin = now();
      for (int i = 0; i < times[at]; i++) variants[at]->run();
      printf("%s %.1f\n", variants[at]->name, (now() - begin) / times[at]);
    }
    fflush(stdout);
  }
  return 0;
}
