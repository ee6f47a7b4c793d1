#include <stdint.h>
#include <stdlib.h>

/* Maybe f64 = None | Some f64 (in the order of the declaration) is a constructor's number and all fields. */
void halved(struct almach_tuple_u32_f64 *result, struct almach_tuple_u32_f64 x) {
  result->v0 = x.v0;
  result->v1 = x.v0 == 1 ? x.v1 / 2 : 0;
}

void halved_all(int64_t *size, uint32_t **tags, double **values, int64_t n, const uint32_t *xs, const double *ys) {
  *size = n;
  *tags = malloc((size_t)n * sizeof **tags + 1);
  *values = malloc((size_t)n * sizeof **values + 1);
  for (int64_t i = 0; i < n; i++) {
    (*tags)[i] = xs[i];
    (*values)[i] = xs[i] == 1 ? ys[i] / 2 : 0;
  }
}

void area(double *result, struct almach_tuple_u32_f64_f64_f64 shape) {
  switch (shape.v0) {
    case 0: *result = 3 * shape.v1 * shape.v1; break;
    case 1: *result = shape.v2 * shape.v3; break;
    default: *result = 0;
  }
}

void pick(struct almach_tuple_u32_i32 *result, int which) {
  result->v0 = which ? 1 : 7;
  result->v1 = 5;
}

void path(struct almach_tuple_u32_rows_i32_i32 *result, struct almach_tuple_u32_rows_i32_i32 x) {
  if (x.v0 == 0) {
    int64_t sum = 0;
    for (int64_t i = 0; i < x.v1_size; i++) sum += x.v1_data[i];
    result->v0 = 1;
    result->v2 = (int32_t)sum;
  } else {
    result->v0 = 0;
    result->v1_size = x.v2;
    result->v1_data = malloc((size_t)x.v2 * sizeof(int32_t) + 1);
    for (int64_t i = 0; i < x.v2; i++) result->v1_data[i] = (int32_t)i;
  }
}

void paths(int64_t *size, uint32_t **tags, int64_t **offsets, int32_t **cells, int32_t **ends, int64_t n, const uint32_t *x_tags,
           const int64_t *x_offsets, const int32_t *x_cells, const int32_t *x_ends) {
  *size = n;
  *tags = malloc((size_t)n * sizeof **tags + 1);
  *offsets = malloc((size_t)(n + 1) * sizeof **offsets);
  *ends = malloc((size_t)n * sizeof **ends + 1);
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++) total += x_tags[i] == 1 ? x_ends[i] : 0;
  *cells = malloc((size_t)total * sizeof **cells + 1);
  total = 0;
  for (int64_t i = 0; i < n; i++) {
    (*offsets)[i] = total;
    (*tags)[i] = 1 - x_tags[i];
    (*ends)[i] = 0;
    if (x_tags[i] == 1) {
      for (int32_t j = 0; j < x_ends[i]; j++) (*cells)[total++] = j;
    } else {
      for (int64_t j = x_offsets[i]; j < x_offsets[i + 1]; j++) (*ends)[i] += x_cells[j];
    }
  }
  (*offsets)[n] = total;
}
