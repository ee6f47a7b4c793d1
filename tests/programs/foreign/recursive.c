#include <stdint.h>
#include <stdlib.h>

/* A list: its root, and its nodes as tags, heads and tails. Nil is 0, Cons 1. */
void list_sum(int64_t *result, struct almach_tuple_i64_array_tuple_u32_i64_i64_end list) {
  *result = 0;
  int64_t at = list.v0;
  while (list.v1_data[at] == 1) {
    *result += list.v1_data_1[at];
    at = list.v1_data_2[at];
  }
}

void count_down(struct almach_tuple_i64_array_tuple_u32_i64_i64_end *result, int64_t n) {
  result->v0 = n;
  result->v1_size = n + 1;
  result->v1_data = calloc((size_t)n + 1, sizeof(uint32_t));
  result->v1_data_1 = calloc((size_t)n + 1, sizeof(int64_t));
  result->v1_data_2 = calloc((size_t)n + 1, sizeof(int64_t));
  for (int64_t i = 1; i <= n; i++) {
    result->v1_data[i] = 1;
    result->v1_data_1[i] = i;
    result->v1_data_2[i] = i - 1;
  }
}

/* Every list has a table of its own: roots, offsets of the tables, and the nodes of all tables. */
void list_sums(int64_t *size, int64_t **sums, int64_t n, const int64_t *roots, const int64_t *offsets, const uint32_t *tags,
               const int64_t *heads, const int64_t *tails) {
  *size = n;
  *sums = calloc((size_t)n + 1, sizeof **sums);
  for (int64_t i = 0; i < n; i++)
    for (int64_t at = roots[i]; tags[offsets[i] + at] == 1; at = tails[offsets[i] + at]) (*sums)[i] += heads[offsets[i] + at];
}

void mirror(struct almach_tuple_i64_array_tuple_u32_i64_i64_i64_end *result,
            struct almach_tuple_i64_array_tuple_u32_i64_i64_i64_end tree) {
  const int64_t n = tree.v1_size;
  result->v0 = tree.v0;
  result->v1_size = n;
  result->v1_data = calloc((size_t)n + 1, sizeof(uint32_t));
  result->v1_data_1 = calloc((size_t)n + 1, sizeof(int64_t));
  result->v1_data_2 = calloc((size_t)n + 1, sizeof(int64_t));
  result->v1_data_3 = calloc((size_t)n + 1, sizeof(int64_t));
  for (int64_t i = 0; i < n; i++) {
    result->v1_data[i] = tree.v1_data[i];
    result->v1_data_1[i] = tree.v1_data_1[i];
    result->v1_data_2[i] = tree.v1_data_3[i];
    result->v1_data_3[i] = tree.v1_data_2[i];
  }
}

void astray(struct almach_tuple_i64_array_tuple_u32_i64_i64_end *result, int which) {
  result->v0 = which ? 0 : 5;
  result->v1_size = 1;
  result->v1_data = calloc(1, sizeof(uint32_t));
  result->v1_data[0] = which ? 9 : 0;
  result->v1_data_1 = calloc(1, sizeof(int64_t));
  result->v1_data_2 = calloc(1, sizeof(int64_t));
}
