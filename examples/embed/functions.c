/* The foreign functions of blend.nova. Their prototypes are in the header that `almach build` writes; `almach run` and
 * `almach test` include the one they make themselves. */
#if __has_include("blend.h")
#include "blend.h"
#endif

#include <stdlib.h>

/* The elements that are not below a limit. Arrays that are results are allocated with malloc. */
void ff(int64_t *result_size, float **result_data, int64_t x0_size, const float *x0_data, float x1) {
  float *kept = malloc(sizeof(float) * (size_t)(x0_size > 0 ? x0_size : 1));
  int64_t count = 0;
  for (int64_t i = 0; kept != NULL && i < x0_size; i++) {
    if (x0_data[i] >= x1) {
      kept[count] = x0_data[i];
      count++;
    }
  }
  *result_size = count;
  *result_data = kept;
}

/* May be called from several threads at once. */
void weigh(float *result, struct almach_tuple_f32_i32 x0) {
  *result = x0.v0 * (float)(x0.v1 + 1);
}
