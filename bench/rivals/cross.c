#include "cross.h"
#include "cross_seq.h"
#include "almach.h"

ALMACH(cross)
ARRAY(cross, double)

static int64_t n;
static double *us, *vs, *reference;

static void cross_products(double *to) {
  for (int64_t i = 0; i < n; i++) {
    const double *u = us + 3 * i, *v = vs + 3 * i;
    double *o = to + 3 * i;
    o[0] = u[1] * v[2] - u[2] * v[1];
    o[1] = u[2] * v[0] - u[0] * v[2];
    o[2] = u[0] * v[1] - u[1] * v[0];
  }
}

static bool setup(int64_t size) {
  n = size;
  us = room(3 * n, sizeof *us);
  vs = room(3 * n, sizeof *vs);
  own = room(3 * n, sizeof *own);
  reference = room(3 * n, sizeof *reference);
  for (int64_t i = 0; i < 3 * n; i++) {
    us[i] = uniform();
    vs[i] = uniform();
  }
  cross_products(reference);
  return true;
}

static void run_almach(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(cross, n, 3, us, n, 3, vs, &rows, &columns, &found);
  GIVEN;
}

static void run_almach_seq(void) {
  forget();
  int64_t rows;
  int64_t columns;
  CALL(cross_seq, n, 3, us, n, 3, vs, &rows, &columns, &found);
  GIVEN_SEQ;
}

static void run_plain(void) {
  rival();
  cross_products(own);
}

static void run_tuned(void) {
  rival();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const double *u = us + 3 * i, *v = vs + 3 * i;
    double *o = own + 3 * i;
    o[0] = u[1] * v[2] - u[2] * v[1];
    o[1] = u[2] * v[0] - u[0] * v[2];
    o[2] = u[0] * v[1] - u[1] * v[0];
  }
}

static double error(void) { return difference_f64(found, reference, 3 * n); }
static double bytes(void) { return 72.0 * (double)n; }
static double flops(void) { return 9.0 * (double)n; }

VARIANTS
const struct workload workload = {setup, error, 1e-12, bytes, flops, variants};
