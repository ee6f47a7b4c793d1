/* A list in an order of its own: nodes 0 .. n - 1, of which the last is its end and has the value 0. */
#ifndef LISTS_H
#define LISTS_H

#include "harness.h"

struct list {
  int64_t n;
  /* The position of the first node, and of all in their order. */
  int32_t first;
  int32_t *order;
  /* What each is in front of; the end is in front of itself. */
  int32_t *next;
  int32_t *values;
  /* The sum from each node to the end. */
  int32_t *sums;
};

static bool make_list(struct list *list, int64_t n) {
  list->n = n;
  list->order = room(n, sizeof *list->order);
  list->next = room(n, sizeof *list->next);
  list->values = room(n, sizeof *list->values);
  list->sums = room(n, sizeof *list->sums);
  for (int64_t i = 0; i < n; i++) list->order[i] = (int32_t)i;
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t j = (int64_t)(((uint64_t)random_bits() << 32 | random_bits()) % (uint64_t)(i + 1));
    const int32_t at = list->order[i];
    list->order[i] = list->order[j];
    list->order[j] = at;
  }
  list->first = list->order[0];
  int32_t sum = 0;
  for (int64_t i = n - 1; i >= 0; i--) {
    const int32_t at = list->order[i];
    list->next[at] = i + 1 < n ? list->order[i + 1] : at;
    list->values[at] = i + 1 < n ? (int32_t)(random_bits() % 100) : 0;
    sum += list->values[at];
    list->sums[at] = sum;
  }
  return true;
}

/* A walk that records the order, then sums from the end. */
static inline void walk_list(const struct list *list, int32_t *scratch, int32_t *sums) {
  int64_t length = 0;
  int32_t at = list->first;
  for (;;) {
    scratch[length++] = at;
    if (list->next[at] == at) break;
    at = list->next[at];
  }
  int32_t sum = 0;
  while (length > 0) {
    at = scratch[--length];
    sum += list->values[at];
    sums[at] = sum;
  }
}

#endif
