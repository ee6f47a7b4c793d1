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

/* The five variants of a workload: ours, ours on one thread, plain C, tuned C, and tuned C once more, which tells how far
 * apart two measurements of the same thing are. */
#define VARIANTS                                                                \
  static const struct variant variants[] = {                                    \
    {"almach", run_almach}, {"almach-seq", run_almach_seq}, {"plain", run_plain}, \
    {"tuned", run_tuned},   {"tuned-again", run_tuned},     {NULL, NULL}};

#endif
