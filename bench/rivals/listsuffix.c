#include "listsuffix.h"
#include "listsuffix_seq.h"
#include "almach.h"
#include "lists.h"

ALMACH(listsuffix)

/* The table of the list as a call takes it, and what one gives: the nodes in the order of the list. */
static uint32_t *tags;
static int64_t *references;
static struct list list;
static int32_t *sums, *scratch; /* `own` is a name of almach.h. */
static int64_t given_root, given_count;
static uint32_t *given_tags;
static int32_t *given_values;
static int64_t *given_references;
static enum { NONE, THREADS, SEQ } given;
static enum ours given_by;

void forget(void) {
  void *const blocks[] = {given_tags, given_values, given_references};
  for (int i = 0; i < 3; i++) {
    if (given == THREADS) listsuffix_give_back(given_by, blocks[i]);
    if (given == SEQ) listsuffix_seq_release(listsuffix_seq_context(), blocks[i]);
  }
  given = NONE;
}

/* What both walks have beside their results is theirs too. */
size_t result_bytes(void) { return block_bytes(sums) + block_bytes(scratch); }

static bool setup(int64_t size) {
  sums = room(size, sizeof *sums);
  scratch = room(size, sizeof *scratch);
  tags = room(size, sizeof *tags);
  references = room(size, sizeof *references);
  if (!make_list(&list, size)) return false;
  for (int64_t i = 0; i < size; i++) {
    tags[i] = list.next[i] != i;
    references[i] = list.next[i];
  }
  return true;
}

static void run_almach(void) {
  forget();
  CALL(listsuffix, list.first, list.n, tags, list.values, references, &given_root, &given_count, &given_tags,
       &given_values, &given_references);
  given = THREADS;
  given_by = ours;
}

static void run_almach_seq(void) {
  forget();
  CALL(listsuffix_seq, list.first, list.n, tags, list.values, references, &given_root, &given_count, &given_tags,
       &given_values, &given_references);
  given = SEQ;
}

static void run_plain(void) {
  forget();
  walk_list(&list, scratch, sums);
}

/* Sublists from nodes in equal distances (their order is random), several of each thread in flight: sums within a sublist and which one it is, for each
 * node. Then the sums behind each sublist, then one sweep over all nodes. */
enum { LANES = 16, MOST = 1 << 16 };

struct sublist {
  int32_t sum, behind;
  int32_t next;
};

static void run_tuned(void) {
  forget();
  const int64_t n = list.n;
  const int64_t wanted = n / 64 < MOST ? n / 64 + 1 : MOST;
  const int64_t width = (n + wanted - 1) / wanted, count = (n + width - 1) / width;
  struct sublist *sublists = room(count + 1, sizeof *sublists);
  int32_t *owner = scratch;
  /* Sublist b starts at node b * width, one more at the first of all. */
  const int64_t starts = count + (list.first % width != 0);
#define START(b) ((b) < count ? (int32_t)((b) * width) : list.first)
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t block = 0; block < (starts + 255) / 256; block++) {
    int64_t waiting = block * 256;
    const int64_t end = waiting + 256 < starts ? waiting + 256 : starts;
    int32_t at[LANES], sum[LANES], number[LANES];
    int lanes = 0;
    while (lanes < LANES && waiting < end) {
      number[lanes] = (int32_t)waiting;
      at[lanes] = START(waiting);
      sum[lanes++] = 0;
      waiting++;
    }
    while (lanes > 0) {
      for (int lane = 0; lane < lanes; lane++) {
        const int32_t here = at[lane], next = list.next[here];
        /* What comes before it in its sublist; the sum from it on is what is left. */
        sums[here] = sum[lane];
        owner[here] = number[lane];
        sum[lane] += list.values[here];
        at[lane] = next;
        if (next == here || next % width == 0) {
          sublists[number[lane]] = (struct sublist){sum[lane], 0, next == here ? -1 : next};
          if (waiting < end) {
            number[lane] = (int32_t)waiting;
            at[lane] = START(waiting);
            sum[lane] = 0;
            waiting++;
          } else {
            lanes--;
            number[lane] = number[lanes];
            at[lane] = at[lanes];
            sum[lane] = sum[lanes];
            lane--;
          }
        }
      }
    }
  }
  int32_t *path = room(starts, sizeof *path);
  int64_t length = 0;
  for (int32_t b = list.first % width == 0 ? (int32_t)(list.first / width) : (int32_t)count; b >= 0;) {
    path[length++] = b;
    b = sublists[b].next < 0 ? -1 : (int32_t)(sublists[b].next / width);
  }
  int32_t behind = 0;
  while (length > 0) {
    const int32_t b = path[--length];
    behind += sublists[b].sum;
    sublists[b].behind = behind;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) sums[i] = sublists[owner[i]].behind - sums[i];
  free(path);
  free(sublists);
}

static double error(void) {
  int64_t wrong = 0;
  if (given == NONE) {
    for (int64_t i = 0; i < list.n; i++) wrong += sums[i] != list.sums[i];
    return (double)wrong;
  }
  /* The end has no value. */
  if (given_root != 0 || given_count != list.n) return 1;
  for (int64_t i = 0; i + 1 < list.n; i++) wrong += given_values[i] != list.sums[list.order[i]] || given_references[i] != i + 1;
  return (double)wrong;
}

static double bytes(void) { return 12.0 * (double)list.n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
