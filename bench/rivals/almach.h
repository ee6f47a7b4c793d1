/* Calling a workload's two libraries: threads and one thread. */
#ifndef ALMACH_H
#define ALMACH_H

#include "harness.h"

/* ALMACH(dot) declares contexts of dot and dot_seq, made when first used. */
#define ALMACH(name)                                                            \
  static struct name##_ctx *name##_context(void) {                              \
    static struct name##_ctx *ctx;                                              \
    if (ctx == NULL) ctx = name##_new();                                        \
    return ctx;                                                                 \
  }                                                                             \
  static struct name##_seq_ctx *name##_seq_context(void) {                      \
    static struct name##_seq_ctx *ctx;                                          \
    if (ctx == NULL) ctx = name##_seq_new();                                    \
    return ctx;                                                                 \
  }

/* CALL(dot, n, xs, &out) calls the entry point main of the library dot. */
#define CALL(name, ...)                                                         \
  do {                                                                          \
    if (name##_main(name##_context(), __VA_ARGS__) != 0) failed(name##_error(name##_context())); \
  } while (0)

/* ARRAYS(nbody, float, 3): where results of the last run are, for workloads whose results are arrays. Ours are blocks that go
 * back to their context before the next run (GIVEN, GIVEN_SEQ: the run's results are such), a rival's are `owns`. Of a single one,
 * ARRAY(scal, float), the names are `found` and `own`. `scratch` is what rivals have beside, from setup on: bytes. */
#define ARRAYS(name, type, count)                                               \
  static type *owns[count], *founds[count];                                     \
  static size_t scratch;                                                        \
  static void (*give_back)(void);                                               \
  static void give_back_threads(void) {                                         \
    for (int i = 0; i < (count); i++) name##_release(name##_context(), founds[i]); \
  }                                                                             \
  static void give_back_seq(void) {                                             \
    for (int i = 0; i < (count); i++) name##_seq_release(name##_seq_context(), founds[i]); \
  }                                                                             \
  void forget(void) {                                                           \
    if (give_back != NULL) give_back();                                         \
    give_back = NULL;                                                           \
  }                                                                             \
  size_t result_bytes(void) {                                                   \
    size_t bytes = scratch;                                                     \
    for (int i = 0; i < (count); i++) bytes += block_bytes(owns[i]);            \
    return bytes;                                                               \
  }                                                                             \
  static void rival(void) {                                                     \
    forget();                                                                   \
    for (int i = 0; i < (count); i++) founds[i] = owns[i];                      \
  }

#define ARRAY(name, type) ARRAYS(name, type, 1)
#define own owns[0]
#define found founds[0]

#define GIVEN (give_back = give_back_threads)
#define GIVEN_SEQ (give_back = give_back_seq)

/* The five variants of a workload: ours, ours on one thread, plain C, tuned C, and tuned C once more, which tells how far
 * apart two measurements of the same thing are. */
#define VARIANTS                                                                \
  static const struct variant variants[] = {                                    \
    {"almach", run_almach}, {"almach-seq", run_almach_seq}, {"plain", run_plain}, \
    {"tuned", run_tuned},   {"tuned-again", run_tuned},     {NULL, NULL}};

#endif
