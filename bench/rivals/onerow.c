#include "onerow.h"
#include "onerow_seq.h"
#include "almach.h"

ALMACH(onerow)
ARRAY(onerow, float)

#include "rows.h"

ROWS(onerow)

enum { ELEMENTS_A_ROW = 48 };

static int64_t count;

/* One has all elements, the others have none. */
static int64_t length(int64_t row) {
  return row == count / 3 ? ELEMENTS_A_ROW * count : 0;
}

static bool setup(int64_t size) {
  count = size;
  make_rows(count, length);
  return true;
}

static void run_tuned(void) { run_balanced(); }

VARIANTS_AND({"flat", run_flat, NULL})
const struct workload workload = {setup, error, 1e-4, bytes, flops, variants};
