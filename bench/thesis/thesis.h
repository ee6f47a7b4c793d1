/* Calling a program of the thesis: ours on one thread, and the same C++ compiled by g++ and by clang++. */
#ifndef THESIS_H
#define THESIS_H

#include "../rivals/harness.h"

/* PROGRAM(mm, double, (int64_t n, …, double *result)) declares the context of mm_seq, the rivals, and where the result of the last run is:
 * ours is a block that goes back to its context before the next run, a rival's is `own`. */
#define PROGRAM(name, type, params)                                                        \
  void name##_gcc params;                                                                  \
  void name##_clang params;                                                                \
  static type *own, *found;                                                                \
  static double *reference;                                                                \
  static bool is_ours;                                                                     \
  static struct name##_seq_ctx *context(void) {                                            \
    static struct name##_seq_ctx *ctx;                                                     \
    if (ctx == NULL) ctx = name##_seq_new();                                               \
    return ctx;                                                                            \
  }                                                                                        \
  void forget(void) {                                                                      \
    if (is_ours) name##_seq_release(context(), found);                                     \
    is_ours = false;                                                                       \
  }                                                                                        \
  size_t result_bytes(void) { return block_bytes(own); }

/* CALL(mm, arguments) calls ours; RIVALS(mm, (arguments)) defines the calls of the others. */
#define CALL(name, ...)                                                                    \
  do {                                                                                     \
    forget();                                                                              \
    if (name##_seq_main(context(), __VA_ARGS__) != 0) failed(name##_seq_error(context())); \
    is_ours = true;                                                                        \
  } while (0)

#define RIVALS(name, arguments)                                                            \
  static void run_gcc(void) {                                                              \
    forget();                                                                              \
    name##_gcc arguments;                                                                  \
    found = own;                                                                           \
  }                                                                                        \
  static void run_clang(void) {                                                            \
    forget();                                                                              \
    name##_clang arguments;                                                                \
    found = own;                                                                           \
  }                                                                                        \
  static const struct variant variants[] = {{"almach-seq", run_almach, NULL},              \
                                            {"c++-gcc", run_gcc, NULL},                    \
                                            {"c++-clang", run_clang, NULL},                \
                                            {"c++-gcc-again", run_gcc, NULL},              \
                                            {NULL, NULL, NULL}};

/* The result of the C++, which is what ours must agree with. */
#define REFERENCE(count)                                                                   \
  do {                                                                                     \
    own = room((count), sizeof *own);                                                      \
    run_gcc();                                                                             \
    reference = room((count), sizeof *reference);                                          \
    for (int64_t i = 0; i < (count); i++) reference[i] = (double)found[i];                 \
  } while (0)

static inline double *doubles(int64_t count) {
  double *const cells = room(count, sizeof *cells);
  for (int64_t i = 0; i < count; i++) cells[i] = uniform();
  return cells;
}

static inline float *floats(int64_t count) {
  float *const cells = room(count, sizeof *cells);
  for (int64_t i = 0; i < count; i++) cells[i] = uniform();
  return cells;
}

#endif
