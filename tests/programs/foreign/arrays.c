#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void total(double *result, int64_t n, const double *xs) {
  *result = 0;
  for (int64_t i = 0; i < n; i++) *result += xs[i];
}

void smooth(int64_t *size, double **data, double by, int64_t n, const double *xs) {
  *size = n;
  *data = malloc((size_t)(n > 0 ? n : 1) * sizeof **data);
  for (int64_t i = 0; i < n; i++) (*data)[i] = i == 0 ? xs[i] : by * xs[i - 1] + (1 - by) * xs[i];
}

void count_up(int64_t *size, int32_t **data, int32_t to) {
  *size = to > 0 ? to : 0;
  *data = *size == 0 ? NULL : malloc((size_t)*size * sizeof **data);
  for (int32_t i = 0; i < to; i++) (*data)[i] = i;
}

void row_sums(int64_t *size, int64_t **data, int64_t n, int64_t m, const int64_t *xs) {
  *size = n;
  *data = calloc((size_t)n + 1, sizeof **data);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) (*data)[i] += xs[i * m + j];
  }
}

void negate_all(int64_t *size, bool **data, int64_t n, const bool *xs) {
  *size = n;
  *data = malloc((size_t)n + 1);
  for (int64_t i = 0; i < n; i++) (*data)[i] = !xs[i];
}

void pairs(int64_t *size, int32_t **a, double **b, int64_t n, const int32_t *xs, const double *ys) {
  *size = n;
  *a = malloc((size_t)(n + 1) * sizeof **a);
  *b = malloc((size_t)(n + 1) * sizeof **b);
  for (int64_t i = 0; i < n; i++) {
    (*a)[i] = xs[n - 1 - i];
    (*b)[i] = ys[n - 1 - i];
  }
}

void doubled(int64_t *rows, int64_t *columns, int32_t **data, int64_t n, int64_t m, const int32_t *xs) {
  *rows = n;
  *columns = m;
  *data = malloc((size_t)(n * m + 1) * sizeof **data);
  for (int64_t i = 0; i < n * m; i++) (*data)[i] = 2 * xs[i];
}
