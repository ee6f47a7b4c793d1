#include "quicksort.h"
#include "quicksort_seq.h"
#include "almach.h"

ALMACH(quicksort)
ARRAY(quicksort, int32_t)

static int64_t n;
static int32_t *xs;

static bool setup(int64_t size) {
  n = size;
  xs = room(n, sizeof *xs);
  own = room(n, sizeof *own);
  for (int64_t i = 0; i < n; i++) xs[i] = (int32_t)random_bits();
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(quicksort, n, xs, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(quicksort_seq, n, xs, &count, &found);
  GIVEN_SEQ;
}

/* Hoare's partition: none up to `right` is greater than any from `left` on. */
static void partition(int32_t *part, int64_t count, int64_t *right, int64_t *left) {
  const int32_t pivot = part[count / 2];
  int64_t i = 0, j = count - 1;
  while (i <= j) {
    while (part[i] < pivot) i++;
    while (part[j] > pivot) j--;
    if (i > j) break;
    const int32_t held = part[i];
    part[i++] = part[j];
    part[j--] = held;
  }
  *right = j;
  *left = i;
}

static void sort(int32_t *part, int64_t count) {
  if (count < 2) return;
  int64_t right, left;
  partition(part, count, &right, &left);
  sort(part, right + 1);
  sort(part + left, count - left);
}

static void run_plain(void) {
  rival();
  memcpy(own, xs, (size_t)n * sizeof *xs);
  sort(own, n);
}

/* Short parts are sorted by insertion. */
static void sort_well(int32_t *part, int64_t count) {
  enum { SHORT = 24, TASK = 1 << 14 };
  if (count <= SHORT) {
    for (int64_t i = 1; i < count; i++) {
      const int32_t x = part[i];
      int64_t at = i;
      for (; at > 0 && part[at - 1] > x; at--) part[at] = part[at - 1];
      part[at] = x;
    }
    return;
  }
  int64_t right, left;
  partition(part, count, &right, &left);
#pragma omp task if (count > TASK)
  sort_well(part, right + 1);
  sort_well(part + left, count - left);
}

static void run_tuned(void) {
  rival();
  memcpy(own, xs, (size_t)n * sizeof *xs);
#pragma omp parallel
#pragma omp single
  sort_well(own, n);
}

/* In order, and the same numbers, as their sum and that of their squares say. */
static double error(void) {
  uint64_t difference = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i > 0 && found[i - 1] > found[i]) return INFINITY;
    difference += (uint64_t)found[i] - (uint64_t)xs[i];
    squares += (uint64_t)found[i] * (uint64_t)found[i] - (uint64_t)xs[i] * (uint64_t)xs[i];
  }
  return difference == 0 && squares == 0 ? 0 : INFINITY;
}

static double bytes(void) { return 8.0 * (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
