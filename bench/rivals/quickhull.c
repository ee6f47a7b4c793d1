#include "quickhull.h"
#include "quickhull_seq.h"
#include "almach.h"

ALMACH(quickhull)
ARRAYS(quickhull, double, 2)

struct points {
  double *x, *y;
};

struct point {
  double x, y;
};

static int64_t n, count, expected;
static struct points all, kept, hull;
static double *reference[2];

static struct points points_of(int64_t size) {
  return (struct points){room(size, sizeof(double)), room(size, sizeof(double))};
}

static struct point at(struct points points, int64_t i) { return (struct point){points.x[i], points.y[i]}; }

static void put(struct points points, int64_t i, struct point p) {
  points.x[i] = p.x;
  points.y[i] = p.y;
}

static bool before(struct point p, struct point q) { return p.x < q.x || (p.x == q.x && p.y < q.y); }

/* Twice the area of the triangle o a b. */
static inline double cross(struct point o, struct point a, struct point b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

static void run_almach(void) {
  forget();
  CALL(quickhull, n, all.x, all.y, &count, &founds[0], &founds[1]);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  CALL(quickhull_seq, n, all.x, all.y, &count, &founds[0], &founds[1]);
  GIVEN_SEQ;
}

/* Those of `from` to the left of the way from a to b go to `room`, and the hull's corners among them to `corners`: how many these are. */
static int64_t side(struct points from, int64_t size, struct point a, struct point b, struct points room, struct points corners) {
  int64_t left = 0, far = 0;
  double most = 0;
  for (int64_t i = 0; i < size; i++) {
    const struct point p = at(from, i);
    const double area = cross(a, b, p);
    if (area <= 0) continue;
    if (area > most) most = area, far = left;
    put(room, left++, p);
  }
  if (left == 0) return 0;
  const struct point p = at(room, far);
  const struct points rest = {room.x + left, room.y + left};
  const int64_t made = side(room, left, a, p, rest, corners);
  put(corners, made, p);
  return made + 1 + side(room, left, p, b, rest, (struct points){corners.x + made + 1, corners.y + made + 1});
}

/* The leftmost point and the rightmost. */
static void ends(struct point *first, struct point *last) {
  *first = *last = at(all, 0);
  for (int64_t i = 1; i < n; i++) {
    const struct point p = at(all, i);
    if (before(p, *first)) *first = p;
    if (before(*last, p)) *last = p;
  }
}

static void run_plain(void) {
  rival();
  scratch = block_bytes(kept.x) + block_bytes(kept.y);
  struct point a, b;
  ends(&a, &b);
  put(hull, 0, a);
  count = 1 + side(all, n, a, b, kept, (struct points){hull.x + 1, hull.y + 1});
  put(hull, count++, b);
  count += side(all, n, b, a, kept, (struct points){hull.x + count, hull.y + count});
}

/* Each thread finds the hull of its share, and then one that of these. */
static void run_tuned(void) {
  enum { SHARES = 64 };
  rival();
  scratch = block_bytes(kept.x) + block_bytes(kept.y);
  int64_t sizes[SHARES];
  const int64_t share = (n + SHARES - 1) / SHARES;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t s = 0; s < SHARES; s++) {
    const int64_t begin = s * share < n ? s * share : n, size = begin + share < n ? share : n - begin;
    sizes[s] = 0;
    if (size == 0) continue;
    const struct points mine = {all.x + begin, all.y + begin};
    struct point a = at(mine, 0), b = a;
    for (int64_t i = 1; i < size; i++) {
      const struct point p = at(mine, i);
      if (before(p, a)) a = p;
      if (before(b, p)) b = p;
    }
    /* The corners are in front of what is kept for the way back. */
    struct points own_room = {kept.x + 2 * begin, kept.y + 2 * begin}, corners = {hull.x + begin, hull.y + begin};
    put(corners, 0, a);
    int64_t made = 1;
    if (before(a, b)) {
      made += side(mine, size, a, b, own_room, (struct points){corners.x + made, corners.y + made});
      put(corners, made++, b);
      made += side(mine, size, b, a, own_room, (struct points){corners.x + made, corners.y + made});
    }
    sizes[s] = made;
  }
  int64_t size = 0;
  for (int64_t s = 0; s < SHARES; s++)
    for (int64_t i = 0; i < sizes[s]; i++) put(kept, size++, at((struct points){hull.x + s * share, hull.y + s * share}, i));
  struct point a = at(kept, 0), b = a;
  for (int64_t i = 1; i < size; i++) {
    const struct point p = at(kept, i);
    if (before(p, a)) a = p;
    if (before(b, p)) b = p;
  }
  const struct points rest = {kept.x + size, kept.y + size};
  put(hull, 0, a);
  count = 1 + side(kept, size, a, b, rest, (struct points){hull.x + 1, hull.y + 1});
  put(hull, count++, b);
  count += side(kept, size, b, a, rest, (struct points){hull.x + count, hull.y + count});
}

/* Points in a disc: the hull has many corners. */
static bool setup(int64_t size) {
  n = size;
  all = points_of(n);
  kept = points_of(2 * n + 64);
  hull = points_of(n + 2);
  owns[0] = hull.x;
  owns[1] = hull.y;
  for (int64_t i = 0; i < n;) {
    const struct point p = {2 * (double)uniform() - 1, 2 * (double)uniform() - 1};
    if (p.x * p.x + p.y * p.y <= 1) put(all, i++, p);
  }
  run_plain();
  expected = count;
  for (int part = 0; part < 2; part++) {
    reference[part] = room(count, sizeof(double));
    memcpy(reference[part], owns[part], (size_t)count * sizeof(double));
  }
  return true;
}

static double error(void) {
  if (count != expected) return INFINITY;
  return fmax(difference_f64(founds[0], reference[0], count), difference_f64(founds[1], reference[1], count));
}

static double bytes(void) { return 16.0 * (double)n; }
static double flops(void) { return 14.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 0, bytes, flops, variants};
