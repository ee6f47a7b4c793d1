#include "bfs.h"
#include "bfs_seq.h"
#include "almach.h"

ALMACH(bfs)
ARRAY(bfs, int64_t)

enum { EDGES = 8 };

static int64_t n, edges;
static int64_t *offsets, *targets, *queue, *next_queue, *reference;

/* Edges from every vertex to others by chance: nearly all are reached in a few steps. */
static bool setup(int64_t size) {
  n = size;
  edges = EDGES * n;
  offsets = room(n + 1, sizeof *offsets);
  targets = room(edges, sizeof *targets);
  queue = room(n, sizeof *queue);
  next_queue = room(n, sizeof *next_queue);
  reference = room(n, sizeof *reference);
  own = room(n, sizeof *own);
  for (int64_t i = 0; i <= n; i++) offsets[i] = EDGES * i;
  for (int64_t i = 0; i < edges; i++) targets[i] = random_bits() % n;
  return true;
}

static void run_almach(void) {
  forget();
  int64_t count;
  CALL(bfs, n, offsets, edges, targets, 0, &count, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t count;
  CALL(bfs_seq, n, offsets, edges, targets, 0, &count, &found);
  GIVEN_SEQ;
}

static void search(int64_t *distances) {
  for (int64_t i = 0; i < n; i++) distances[i] = -1;
  int64_t first = 0, last = 1;
  distances[0] = 0;
  queue[0] = 0;
  while (first < last) {
    const int64_t at = queue[first++];
    for (int64_t edge = offsets[at]; edge < offsets[at + 1]; edge++) {
      const int64_t to = targets[edge];
      if (distances[to] >= 0) continue;
      distances[to] = distances[at] + 1;
      queue[last++] = to;
    }
  }
}

static void run_plain(void) {
  rival();
  scratch = block_bytes(queue);
  search(own);
}

/* A step at a time; who marks a vertex first puts it into the next step's queue. */
static void run_tuned(void) {
  rival();
  scratch = block_bytes(queue) + block_bytes(next_queue);
  int64_t *const distances = own;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) distances[i] = -1;
  distances[0] = 0;
  int64_t *from = queue, *to = next_queue, count = 1;
  from[0] = 0;
  for (int64_t step = 1; count > 0; step++) {
    int64_t reached = 0;
#pragma omp parallel if (count > 1024)
    {
      enum { ROOM = 1024 };
      int64_t mine[ROOM];
      int filled = 0;
#pragma omp for schedule(dynamic, 256) nowait
      for (int64_t i = 0; i < count; i++) {
        for (int64_t edge = offsets[from[i]]; edge < offsets[from[i] + 1]; edge++) {
          const int64_t vertex = targets[edge];
          int64_t none = -1;
          if (__atomic_load_n(&distances[vertex], __ATOMIC_RELAXED) >= 0) continue;
          if (!__atomic_compare_exchange_n(&distances[vertex], &none, step, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
          mine[filled++] = vertex;
          if (filled < ROOM) continue;
          memcpy(to + __atomic_fetch_add(&reached, ROOM, __ATOMIC_RELAXED), mine, sizeof mine);
          filled = 0;
        }
      }
      memcpy(to + __atomic_fetch_add(&reached, filled, __ATOMIC_RELAXED), mine, (size_t)filled * sizeof *mine);
    }
    int64_t *const held = from;
    from = to;
    to = held;
    count = reached;
  }
}

static double error(void) {
  search(reference);
  for (int64_t i = 0; i < n; i++)
    if (found[i] != reference[i]) return INFINITY;
  return 0;
}

static double bytes(void) { return 8.0 * (double)(edges + n) + 8.0 * (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
