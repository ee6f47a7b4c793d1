/* Calling a workload's two libraries: threads and one thread. */
#ifndef ALMACH_H
#define ALMACH_H

#include "harness.h"

/* How the library with threads runs: as it is, on one thread, or as it is without checks. */
enum ours { AS_BUILT, ONE_THREAD, UNCHECKED, WAYS };
static enum ours ours;

/* ALMACH(dot) declares contexts of dot, dot_seq and dot_unchecked (the same as dot, built with --unchecked), made when first used. */
#define ALMACH(name)                                                            \
  struct name##_unchecked_ctx;                                                  \
  struct name##_unchecked_ctx *name##_unchecked_new(void);                      \
  void name##_unchecked_main(void);                                             \
  void name##_unchecked_release(struct name##_unchecked_ctx *ctx, void *block); \
  const char *name##_unchecked_error(struct name##_unchecked_ctx *ctx);         \
  static struct name##_ctx *name##_context(void) {                              \
    static struct name##_ctx *contexts[WAYS];                                   \
    if (contexts[ours] == NULL) {                                               \
      contexts[ours] = ours == UNCHECKED ? (struct name##_ctx *)name##_unchecked_new() : name##_new(); \
      if (ours == ONE_THREAD) name##_set_threads(contexts[ours], 1);            \
    }                                                                           \
    return contexts[ours];                                                      \
  }                                                                             \
  static __typeof__(&name##_main) name##_entry(void) {                          \
    return ours == UNCHECKED ? (__typeof__(&name##_main))name##_unchecked_main : name##_main; \
  }                                                                             \
  /* Contexts are laid out differently: what one library made goes back through its own functions. */ \
  __attribute__((unused)) static void name##_give_back(enum ours by, void *block) { \
    const enum ours now = ours;                                                 \
    ours = by;                                                                  \
    if (by == UNCHECKED) {                                                      \
      name##_unchecked_release((struct name##_unchecked_ctx *)name##_context(), block); \
    } else {                                                                    \
      name##_release(name##_context(), block);                                  \
    }                                                                           \
    ours = now;                                                                 \
  }                                                                             \
  static const char *name##_message(void) {                                     \
    return ours == UNCHECKED ? name##_unchecked_error((struct name##_unchecked_ctx *)name##_context()) \
                             : name##_error(name##_context());                  \
  }                                                                             \
  static struct name##_seq_ctx *name##_seq_context(void) {                      \
    static struct name##_seq_ctx *ctx;                                          \
    if (ctx == NULL) ctx = name##_seq_new();                                    \
    return ctx;                                                                 \
  }                                                                             \
  static const char *name##_seq_message(void) {                                 \
    return name##_seq_error(name##_seq_context());                              \
  }                                                                             \
  static __typeof__(&name##_seq_main) name##_seq_entry(void) {                  \
    return name##_seq_main;                                                     \
  }

/* CALL(dot, n, xs, &out) calls the entry point main of the library dot. */
#define CALL(name, ...)                                                         \
  do {                                                                          \
    if (name##_entry()(name##_context(), __VA_ARGS__) != 0) failed(name##_message()); \
  } while (0)

/* ARRAYS(nbody, float, 3): where results of the last run are, for workloads whose results are arrays. Ours are blocks that go
 * back to their context before the next run (GIVEN, GIVEN_SEQ: the run's results are such), a rival's are `owns`. Of a single one,
 * ARRAY(scal, float), the names are `found` and `own`. `scratch` is what rivals have beside, from setup on: bytes. */
#define ARRAYS(name, type, count)                                               \
  static type *owns[count], *founds[count];                                     \
  static size_t scratch;                                                        \
  static void (*give_back)(void);                                               \
  static enum ours given_by;                                                    \
  static void give_back_threads(void) {                                         \
    for (int i = 0; i < (count); i++) name##_give_back(given_by, founds[i]);    \
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

#define GIVEN (given_by = ours, give_back = give_back_threads)
#define GIVEN_SEQ (give_back = give_back_seq)

/* The variants of a workload: ours, ours on one thread and without checks, ours as C without threads, plain C, tuned C, and tuned C
 * once more, which tells how far apart two measurements of the same thing are; and others, where they are given. */
#define VARIANTS VARIANTS_AND({NULL, NULL, NULL})
#define VARIANTS_AND(...)                                                       \
  static void run_almach_one(void) {                                            \
    ours = ONE_THREAD;                                                          \
    run_almach();                                                               \
    ours = AS_BUILT;                                                            \
  }                                                                             \
  static void run_almach_unchecked(void) {                                      \
    ours = UNCHECKED;                                                           \
    run_almach();                                                               \
    ours = AS_BUILT;                                                            \
  }                                                                             \
  static const struct variant variants[] = {                                    \
    {"almach", run_almach, NULL},         {"almach-one", run_almach_one, NULL}, \
    {"almach-unchecked", run_almach_unchecked, NULL}, {"almach-seq", run_almach_seq, NULL}, \
    {"plain", run_plain, NULL},           {"tuned", run_tuned, NULL},           \
    {"tuned-again", run_tuned, NULL},     __VA_ARGS__,                          \
    {NULL, NULL, NULL}};

#endif
