#include <stdint.h>

void twice(int32_t *result, int32_t x) { *result = 2 * x; }

void is_odd(int *result, int64_t x) { *result = x % 2 != 0 ? 7 : 0; }

void choose(double *result, int first, double a, double b) { *result = first ? a : b; }

void answer(int64_t *result) { *result = 42; }

void nothing_much(int8_t *result) { *result = -1; }
