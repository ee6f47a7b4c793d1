#include "listrank.h"
#include "listrank_seq.h"
#include "almach.h"
#include "lists.h"

ALMACH(listrank)
ARRAY(listrank, int32_t)

static struct list list;
static int32_t *other, *from, *to;

static bool setup(int64_t size) {
  own = room(size, sizeof *own);
  other = room(size, sizeof *other);
  from = room(size, sizeof *from);
  to = room(size, sizeof *to);
  return make_list(&list, size);
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(listrank, list.n, list.next, list.n, list.values, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(listrank_seq, list.n, list.next, list.n, list.values, &count, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  scratch = block_bytes(other);
  walk_list(&list, other, own);
}

/* Wyllie: every node takes the sum of the one it refers to, and what that refers to. */
static void run_tuned(void) {
  rival();
  scratch = block_bytes(other) + block_bytes(from) + block_bytes(to);
  const int64_t n = list.n;
  const int32_t *sums = list.values, *next = list.next;
  int32_t *new_sums = own, *new_next = from;
  for (int64_t reach = 1; reach < n; reach *= 2) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      const int32_t at = next[i];
      new_sums[i] = sums[i] + sums[at];
      new_next[i] = next[at];
    }
    sums = new_sums;
    next = new_next;
    new_sums = sums == own ? other : own;
    new_next = next == from ? to : from;
  }
  found = (int32_t *)sums;
}

static double error(void) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < list.n; i++) wrong += found[i] != list.sums[i];
  return (double)wrong;
}

static double bytes(void) { return 12.0 * (double)list.n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
