/* What every workload's program shares: inputs, timing, comparison. */
#ifndef HARNESS_H
#define HARNESS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One way to compute the result. */
struct variant {
  const char *name;
  void (*run)(void);
  /* Whether it can run on this machine; NULL where it always can. */
  bool (*is_here)(void);
};

struct workload {
  /* Makes inputs and the reference result; false where there is no memory. */
  bool (*setup)(int64_t size);
  /* How far the result of the last run is from the reference, relative to its largest value. */
  double (*error)(void);
  double tolerance;
  /* The bytes that have to be moved and the floating-point operations that have to be done. */
  double (*bytes)(void);
  double (*flops)(void);
  const struct variant *variants;
};

/* Defined by each workload's program. */
extern const struct workload workload;

/* Numbers in [0, 1), the same in every run. */
float uniform(void);
uint32_t random_bits(void);

/* Room for so many elements, aligned for vectors and touched by the threads that will use it. */
void *room(int64_t count, size_t cell);

/* The largest difference over the largest reference value. */
double difference_f32(const float *found, const double *expected, int64_t count);
double difference_f64(const double *found, const double *expected, int64_t count);

/* What the results of a rival take: they are there before it runs. ARRAY defines it; without it there are none. */
size_t result_bytes(void) __attribute__((weak));

/* Gives the result of the last run back. ARRAY defines it. */
void forget(void) __attribute__((weak));

/* How many bytes a block of `room` takes; 0 for NULL. */
size_t block_bytes(void *block);

/* Ends the program with what a library says. */
void failed(const char *error);

#endif
