#include "zipfrows.h"
#include "zipfrows_seq.h"
#include "almach.h"

ALMACH(zipfrows)
ARRAY(zipfrows, float)

#include "rows.h"

ROWS(zipfrows)

enum { SHORTEST = 4 };

static int64_t count;

/* The k-th longest row is as long as the longest divided by k. They stand in no order: a number of rows that is a power of two, times an odd number, is one. */
static int64_t length(int64_t row) {
  const int64_t rank = (int64_t)((uint64_t)row * 0x9e3779b97f4a7c15u % (uint64_t)count) + 1;
  return SHORTEST * count / rank;
}

static bool setup(int64_t size) {
  for (count = 1; 2 * count <= size;) count *= 2;
  make_rows(count, length);
  return true;
}

static void run_tuned(void) { run_balanced(); }

VARIANTS_AND({"flat", run_flat, NULL})
const struct workload workload = {setup, error, 1e-4, bytes, flops, variants};
