#include <stdint.h>
#include <stdlib.h>

void negative(int64_t *size, int32_t **data) {
  *size = -3;
  *data = malloc(4);
}

void no_data(int64_t *size, int32_t **data) {
  *size = 5;
  *data = NULL;
}

void absurd(int64_t *size, int32_t **data) {
  *size = INT64_MAX;
  *data = malloc(4);
}

void shorter(int64_t *size, int32_t **data, int64_t n, const int32_t *xs) {
  (void)xs;
  *size = n - 1;
  *data = calloc((size_t)n + 1, 4);
}
