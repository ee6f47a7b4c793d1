/* Sums of rows: inputs and rivals. Workloads of the kind say how long their rows are. It comes behind ARRAY, whose names it uses. */
#ifndef ROWS_H
#define ROWS_H

#ifdef _OPENMP
#include <omp.h>
#endif

static int64_t rows, n;
static int64_t *offsets;
static float *xs;
static double *reference;

/* Whether the last run gave the sum of all elements for every row. */
static bool are_one;

static void make_rows(int64_t count, int64_t (*length)(int64_t row)) {
  rows = count;
  offsets = room(rows + 1, sizeof *offsets);
  offsets[0] = 0;
  for (int64_t i = 0; i < rows; i++) offsets[i + 1] = offsets[i] + length(i);
  n = offsets[rows];
  xs = room(n, sizeof *xs);
  own = room(rows, sizeof *own);
  reference = room(rows, sizeof *reference);
  for (int64_t i = 0; i < n; i++) xs[i] = uniform();
  for (int64_t i = 0; i < rows; i++) {
    reference[i] = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) reference[i] += xs[at];
  }
}

#define ROWS(name)                                            \
  static void run_almach(void) {                              \
    forget();                                                 \
    are_one = false;                                          \
    int64_t count;                                            \
    CALL(name, rows, offsets, n, xs, &count, &found);         \
    GIVEN;                                                    \
  }                                                           \
  static void run_almach_seq(void) {                          \
    forget();                                                 \
    are_one = false;                                          \
    int64_t count;                                            \
    CALL(name##_seq, rows, offsets, n, xs, &count, &found);   \
    GIVEN_SEQ;                                                \
  }

/* Long rows in one f32 would stop growing. */
static void run_plain(void) {
  rival();
  are_one = false;
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) sum += xs[at];
    own[i] = (float)sum;
  }
}

static inline float sum_of(int64_t begin, int64_t end) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t at = begin; at < end; at++) sum += xs[at];
  return sum;
}

/* The row that the border between shares goes through or stands before, where rows and elements before it are so many. */
static int64_t row_at(int64_t share) {
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (offsets[middle] + middle < share) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Every thread has as many rows and elements together. What it has of a row that begins before its share is added in the end. */
__attribute__((unused)) static void run_balanced(void) {
  enum { MOST_THREADS = 256 };
  rival();
  are_one = false;
  int64_t into[MOST_THREADS];
  float rest[MOST_THREADS];
  int team = 1;
#pragma omp parallel num_threads(omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS)
  {
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    if (me == 0) team = threads;
    const int64_t all = n + rows, share = all / threads * me, next = me + 1 == threads ? all : all / threads * (me + 1);
    const int64_t first = row_at(share), last = row_at(next), end = next - last;
    const int64_t own_begin = first < rows && first < last ? offsets[first] : end;
    into[me] = first - 1;
    rest[me] = sum_of(share - first, own_begin);
    for (int64_t i = first; i < last; i++) {
      const int64_t stop = offsets[i + 1] < end ? offsets[i + 1] : end;
      own[i] = sum_of(offsets[i], stop);
    }
  }
  for (int me = 0; me < team; me++)
    if (into[me] >= 0) own[into[me]] += rest[me];
}

/* What the machine needs at least: all elements added up, and a number written for every row. */
__attribute__((unused)) static void run_flat(void) {
  rival();
  are_one = true;
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += xs[i];
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < rows; i++) own[i] = sum;
}

static double error(void) {
  if (!are_one) return difference_f32(found, reference, rows);
  double all = 0;
  for (int64_t i = 0; i < rows; i++) all += reference[i];
  return fabs(found[rows - 1] - all) / all;
}

static double bytes(void) { return 4.0 * (double)n + 12.0 * (double)rows; }
static double flops(void) { return (double)n; }

#endif
