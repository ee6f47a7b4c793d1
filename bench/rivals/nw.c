#include "nw.h"
#include "nw_seq.h"
#include "almach.h"

ALMACH(nw)

enum { BLOCK = 64 };

static int64_t n;
static uint8_t *xs, *ys;
static int32_t score, reference;

static inline int32_t greater(int32_t a, int32_t b) { return a > b ? a : b; }

/* Two rows of the table. */
static int32_t by_rows(void) {
  int32_t *row = room(n + 1, sizeof *row);
  for (int64_t j = 0; j <= n; j++) row[j] = -(int32_t)j;
  for (int64_t i = 0; i < n; i++) {
    int32_t across = row[0];
    row[0] = -(int32_t)(i + 1);
    for (int64_t j = 0; j < n; j++) {
      const int32_t best = greater(across + (xs[i] == ys[j] ? 1 : -1), greater(row[j + 1], row[j]) - 1);
      across = row[j + 1];
      row[j + 1] = best;
    }
  }
  const int32_t last = row[n];
  free(row);
  return last;
}

static bool setup(int64_t size) {
  n = size / BLOCK * BLOCK;
  xs = room(n, sizeof *xs);
  ys = room(n, sizeof *ys);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = "ACGT"[random_bits() % 4];
    ys[i] = "ACGT"[random_bits() % 4];
  }
  reference = by_rows();
  return true;
}

static void run_almach(void) { CALL(nw, BLOCK, n, xs, n, ys, &score); }
static void run_almach_seq(void) { CALL(nw_seq, BLOCK, n, xs, n, ys, &score); }

/* The whole table, as one writes it. */
static void run_plain(void) {
  const int64_t w = n + 1;
  int32_t *table = room(w * w, sizeof *table);
  for (int64_t j = 0; j <= n; j++) table[j] = -(int32_t)j;
  for (int64_t i = 1; i <= n; i++) {
    table[i * w] = -(int32_t)i;
    for (int64_t j = 1; j <= n; j++)
      table[i * w + j] = greater(table[(i - 1) * w + j - 1] + (xs[i - 1] == ys[j - 1] ? 1 : -1),
                                 greater(table[(i - 1) * w + j], table[i * w + j - 1]) - 1);
  }
  score = table[w * w - 1];
  free(table);
}

/* Blocks of an anti-diagonal at once, in one table whose rows are those of the matrix. */
static void run_tuned(void) {
  const int64_t w = n + 1, blocks = n / BLOCK;
  int32_t *table = room(w * w, sizeof *table);
  for (int64_t j = 0; j <= n; j++) table[j] = -(int32_t)j, table[j * w] = -(int32_t)j;
#pragma omp parallel
  for (int64_t diagonal = 0; diagonal < 2 * blocks - 1; diagonal++) {
    const int64_t first = diagonal < blocks ? 0 : diagonal - blocks + 1;
    const int64_t end = diagonal < blocks ? diagonal + 1 : blocks;
#pragma omp for schedule(static)
    for (int64_t r = first; r < end; r++) {
      const int64_t c = diagonal - r;
      for (int64_t i = r * BLOCK + 1; i <= (r + 1) * BLOCK; i++) {
        const int32_t *above = table + (i - 1) * w;
        int32_t *here = table + i * w;
        int32_t left = here[c * BLOCK];
        for (int64_t j = c * BLOCK + 1; j <= (c + 1) * BLOCK; j++) {
          left = greater(above[j - 1] + (xs[i - 1] == ys[j - 1] ? 1 : -1), greater(above[j], left) - 1);
          here[j] = left;
        }
      }
    }
  }
  score = table[w * w - 1];
  free(table);
}

static double error(void) { return score == reference ? 0 : INFINITY; }
static double bytes(void) { return 2.0 * (double)n; }
static double flops(void) { return 5.0 * (double)n * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
