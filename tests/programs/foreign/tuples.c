#include <stdint.h>
#include <stdlib.h>

void swap_pair(struct almach_tuple_f64_i32 *result, struct almach_tuple_i32_f64 pair) {
  result->v0 = pair.v1;
  result->v1 = pair.v0;
}

void divide(struct almach_tuple_i64_i64_bool *result, int64_t a, int64_t b) {
  result->v2 = b != 0;
  result->v0 = b == 0 ? 0 : a / b;
  result->v1 = b == 0 ? 0 : a % b;
}

void scaled(struct almach_tuple_f32_array_f32 *result, struct almach_tuple_f32_array_f32 all) {
  result->v0 = all.v0 + 1;
  result->v1_size = all.v1_size;
  result->v1_data = malloc((size_t)(all.v1_size + 1) * sizeof(float));
  for (int64_t i = 0; i < all.v1_size; i++) result->v1_data[i] = all.v0 * all.v1_data[i];
}
