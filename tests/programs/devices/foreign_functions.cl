#include "foreign_functions.h"

void looked_up(float *result, int64_t n, GLOBAL const float *table, int64_t m, GLOBAL const uint8_t *known, int64_t i) {
  *result = i >= 0 && i < n && i < m && known[i] ? table[i] : -1;
}

void weighted(int64_t *result, int64_t n, int64_t m, GLOBAL const int32_t *xs, GLOBAL const int64_t *ys) {
  *result = 0;
  for (int64_t i = 0; i < n * m; i++) *result += xs[i] * ys[i];
}
