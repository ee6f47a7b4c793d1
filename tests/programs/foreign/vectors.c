#include <stdint.h>
#include <stdlib.h>

void turned(float *result, const float *x) {
  for (int i = 0; i < 4; i++) result[i] = x[3 - i];
}

void lane_sums(int64_t *size, int64_t **sums, int64_t n, const int32_t *xs) {
  *size = n;
  *sums = malloc((size_t)n * sizeof **sums + 1);
  for (int64_t i = 0; i < n; i++) (*sums)[i] = (int64_t)xs[2 * i] + xs[2 * i + 1];
}

void spread(int64_t *size, float **data, int64_t n, const float *xs) {
  *size = n;
  *data = malloc((size_t)n * 4 * sizeof **data + 1);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < 4; j++) (*data)[4 * i + j] = xs[i] + (float)j;
}

void both(struct almach_tuple_vec2_bool_i32 *result, struct almach_tuple_vec2_bool_i32 x) {
  result->v0[0] = x.v0[1];
  result->v0[1] = x.v0[0];
  result->v1 = x.v1 + 1;
}
