#include "sumrows.h"
#include "sumrows_seq.h"
#include "almach.h"

ALMACH(sumrows)
ARRAY(sumrows, float)

#include "rows.h"

ROWS(sumrows)

enum { LONGEST = 128 };

static int64_t length(int64_t row) {
  (void)row;
  return random_bits() % (LONGEST + 1);
}

static bool setup(int64_t size) {
  make_rows(size, length);
  return true;
}

static void run_tuned(void) {
  rival();
  are_one = false;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) own[i] = sum_of(offsets[i], offsets[i + 1]);
}

VARIANTS_AND({"flat", run_flat, NULL})
const struct workload workload = {setup, error, 1e-5, bytes, flops, variants};
