#include <stdint.h>
#include <stdlib.h>

void row_sums(int64_t *size, double **sums, int64_t n, const int64_t *offsets, const double *data) {
  *size = n;
  *sums = malloc((size_t)n * sizeof **sums + 1);
  for (int64_t i = 0; i < n; i++) {
    (*sums)[i] = 0;
    for (int64_t j = offsets[i]; j < offsets[i + 1]; j++) (*sums)[i] += data[j];
  }
}

void triangle(int64_t *size, int64_t **offsets, int32_t **data, int32_t n) {
  *size = n;
  *offsets = malloc((size_t)(n + 1) * sizeof **offsets);
  *data = malloc((size_t)(n * (n + 1) / 2) * sizeof **data + 1);
  int64_t total = 0;
  for (int32_t i = 0; i < n; i++) {
    (*offsets)[i] = total;
    for (int32_t j = 0; j <= i; j++) (*data)[total++] = j;
  }
  (*offsets)[n] = total;
}

void deep_total(int64_t *result, int64_t n, const int64_t *outer, const int64_t *inner, const int64_t *data) {
  *result = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = outer[i]; j < outer[i + 1]; j++)
      for (int64_t k = inner[j]; k < inner[j + 1]; k++) *result += (i + 1) * data[k];
}

void named(int64_t *size, int32_t **keys, int64_t **offsets, uint8_t **text, int64_t n, const int32_t *x_keys,
           const int64_t *x_offsets, const uint8_t *x_text) {
  *size = n;
  *keys = malloc((size_t)n * sizeof **keys + 1);
  *offsets = malloc((size_t)(n + 1) * sizeof **offsets);
  *text = malloc((size_t)x_offsets[n] + 1);
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++) {
    (*keys)[i] = x_keys[n - 1 - i];
    (*offsets)[i] = total;
    for (int64_t j = x_offsets[n - 1 - i]; j < x_offsets[n - i]; j++) (*text)[total++] = x_text[j];
  }
  (*offsets)[n] = total;
}

void halves(struct almach_tuple_array_rows_i32_i32 *result, struct almach_tuple_i32_array_rows_i32 x) {
  result->v1 = x.v0;
  result->v0_size = 1;
  result->v0_offsets = malloc(2 * sizeof(int64_t));
  result->v0_data = malloc((size_t)x.v1_offsets[x.v1_size] * sizeof(int32_t) + 1);
  for (int64_t i = 0; i < x.v1_offsets[x.v1_size]; i++) result->v0_data[i] = x.v1_data[i];
  result->v0_offsets[0] = 0;
  result->v0_offsets[1] = x.v1_offsets[x.v1_size];
}

void falling(int64_t *size, int64_t **offsets, int32_t **data) {
  *size = 2;
  *offsets = malloc(3 * sizeof **offsets);
  (*offsets)[0] = 0;
  (*offsets)[1] = 3;
  (*offsets)[2] = 2;
  *data = calloc(3, sizeof **data);
}

void without_offsets(int64_t *size, int64_t **offsets, int32_t **data) {
  *size = 0;
  *offsets = NULL;
  *data = NULL;
}

void below(int64_t *size, int64_t **offsets, int32_t **data) {
  *size = 1;
  *offsets = malloc(2 * sizeof **offsets);
  (*offsets)[0] = 0;
  (*offsets)[1] = -4;
  *data = malloc(1);
}

void too_many(int64_t *size, int64_t **offsets, int32_t **data) {
  *size = INT64_MAX;
  *offsets = malloc(8);
  *data = malloc(1);
}
