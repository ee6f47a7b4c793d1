#include "kd_tree.h"
#include "kd_tree_seq.h"
#include "almach.h"

ALMACH(kd_tree)
ARRAYS(kd_tree, double, 2)

struct point {
  double at[2];
};

static int64_t n, count;
static double *xs, *ys, *query_xs, *query_ys;
static struct point *tree;
static double *reference;

static bool setup(int64_t size) {
  n = size;
  double **const inputs[] = {&xs, &ys, &query_xs, &query_ys, &owns[0], &owns[1], &reference};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) *inputs[i] = room(n, sizeof(double));
  tree = room(n, sizeof *tree);
  for (int64_t i = 0; i < n; i++) {
    xs[i] = (double)uniform() + 0x1p-24 * (double)uniform();
    ys[i] = (double)uniform() + 0x1p-24 * (double)uniform();
    query_xs[i] = uniform();
    query_ys[i] = uniform();
  }
  return true;
}

static void run_almach(void) {
  forget();
  CALL(kd_tree, n, xs, ys, n, query_xs, query_ys, &count, &founds[0], &founds[1]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  CALL(kd_tree_seq, n, xs, ys, n, query_xs, query_ys, &count, &founds[0], &founds[1]);
  GIVEN_SEQ;
}

/* Puts the point in the middle where it belongs, smaller ones before it. */
static void halve(struct point *points, int64_t size, int axis) {
  int64_t low = 0, high = size - 1;
  const int64_t middle = size / 2;
  while (low < high) {
    const double pivot = points[low + (high - low) / 2].at[axis];
    int64_t i = low, j = high;
    while (i <= j) {
      while (points[i].at[axis] < pivot) i++;
      while (points[j].at[axis] > pivot) j--;
      if (i > j) break;
      const struct point held = points[i];
      points[i++] = points[j];
      points[j--] = held;
    }
    if (middle <= j) high = j;
    else if (middle >= i) low = i;
    else return;
  }
}

static void build(struct point *points, int64_t size, int axis, int64_t task) {
  if (size < 2) return;
  halve(points, size, axis);
  const int64_t middle = size / 2;
#pragma omp task if (size > task)
  build(points, middle, 1 - axis, task);
  build(points + middle + 1, size - middle - 1, 1 - axis, task);
}

static inline double distance(struct point p, struct point q) {
  const double dx = p.at[0] - q.at[0], dy = p.at[1] - q.at[1];
  return dx * dx + dy * dy;
}

static void nearer(const struct point *points, int64_t size, int axis, struct point q, struct point *best, double *least) {
  if (size == 0) return;
  const int64_t middle = size / 2;
  const struct point p = points[middle];
  const double away = distance(p, q), offset = q.at[axis] - p.at[axis];
  if (away < *least) *least = away, *best = p;
  const struct point *const right = points + middle + 1;
  const int64_t rest = size - middle - 1;
  if (offset < 0) nearer(points, middle, 1 - axis, q, best, least);
  else nearer(right, rest, 1 - axis, q, best, least);
  if (offset * offset >= *least) return;
  if (offset < 0) nearer(right, rest, 1 - axis, q, best, least);
  else nearer(points, middle, 1 - axis, q, best, least);
}

static void answer(int64_t i) {
  const struct point q = {{query_xs[i], query_ys[i]}};
  struct point best = tree[n / 2];
  double least = distance(best, q);
  nearer(tree, n, 0, q, &best, &least);
  owns[0][i] = best.at[0];
  owns[1][i] = best.at[1];
}

static void run_plain(void) {
  rival();
  scratch = block_bytes(tree);
  count = n;
  for (int64_t i = 0; i < n; i++) tree[i] = (struct point){{xs[i], ys[i]}};
  build(tree, n, 0, n);
  for (int64_t i = 0; i < n; i++) answer(i);
}

static void run_tuned(void) {
  rival();
  scratch = block_bytes(tree);
  count = n;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) tree[i] = (struct point){{xs[i], ys[i]}};
#pragma omp parallel
#pragma omp single
  build(tree, n, 0, 1 << 12);
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < n; i++) answer(i);
}

/* Distances: two points may be equally near. The tree of the rivals is right where its least distances are those of all points, for some queries. */
static double error(void) {
  static bool is_known;
  if (!is_known) {
    for (int64_t i = 0; i < n; i++) reference[i] = INFINITY;
    for (int64_t i = 0; i < n; i += n / 256 + 1)
      for (int64_t j = 0; j < n; j++)
        reference[i] = fmin(reference[i], distance((struct point){{xs[j], ys[j]}}, (struct point){{query_xs[i], query_ys[i]}}));
    is_known = true;
  }
  if (count != n) return INFINITY;
  for (int64_t i = 0; i < n; i++) {
    const double away = distance((struct point){{founds[0][i], founds[1][i]}}, (struct point){{query_xs[i], query_ys[i]}});
    if (isinf(reference[i])) reference[i] = away;
    if (away != reference[i]) return INFINITY;
  }
  return 0;
}

static double bytes(void) { return 48.0 * (double)n; }
static double flops(void) { return 0; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
