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

/* ARRAY(scal, float): where results of the last run are, for workloads whose result is an array. Ours is a block that goes
 * back to its context before the next run (GIVEN, GIVEN_SEQ: the run's result is one), a rival's is `own`. */
#define ARRAY(name, type)                                                       \
  static type *own, *found;                                                     \
  static void (*give_back)(void);                                               \
  static void give_back_threads(void) { name##_release(name##_context(), found); } \
  static void give_back_seq(void) { name##_seq_release(name##_seq_context(), found); } \
  void forget(void) {                                                           \
    if (give_back != NULL) give_back();                                         \
    give_back = NULL;                                                           \
  }                                                                             \
  size_t result_bytes(void) { return block_bytes(own); }                        \
  static void rival(void) {                                                     \
    forget();                                                                   \
    found = own;                                                                \
  }

#define GIVEN (give_back = give_back_threads)
#define GIVEN_SEQ (give_back = give_back_seq)

/* The five variants of a workload: ours, ours on one thread, plain C, tuned C, and tuned C once more, which tells how far
 * apart two measurements of the same thing are. */
#define VARIANTS                                                                \
  static const struct variant variants[] = {                                    \
    {"almach", run_almach}, {"almach-seq", run_almach_seq}, {"plain", run_plain}, \
    {"tuned", run_tuned},   {"tuned-again", run_tuned},     {NULL, NULL}};

#endif
