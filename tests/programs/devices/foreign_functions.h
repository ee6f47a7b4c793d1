/* For the host and for kernels. */
#include <stdint.h>

static double times(double x, double y) { return x * y; }

void halve(double *result, double x) { *result = times(x, 0.5); }

void clipped(int8_t *result, int8_t x, int both) {
  *result = x > 9 ? 9 : both && x < -9 ? -9 : x;
}

void turned(float *result, const float *x) {
  for (int i = 0; i < 4; i++) result[i] = x[3 - i];
}

void exchanged(struct almach_tuple_f64_tuple_bool_i32_end *result, struct almach_tuple_tuple_i32_bool_end_f64 x) {
  result->v0 = x.v1;
  result->v1.v0 = x.v0.v1;
  result->v1.v1 = x.v0.v0;
}
