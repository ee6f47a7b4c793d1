/* OpenBLAS as a rival, where this machine has it: the library is looked for when the program runs. */
#ifndef BLAS_H
#define BLAS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

enum { ROW_MAJOR = 101, AS_IT_IS = 111 };

static inline void *blas_library(void) {
  static void *library;
  static bool asked;
  const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
  for (size_t i = 0; !asked && library == NULL && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW);
  asked = true;
  return library;
}

static inline bool has_blas(void) { return blas_library() != NULL; }

/* BLAS(float, sdot, int, const float *, ...) declares `sdot` as a pointer to cblas_sdot, looked up when first asked for. */
#define BLAS(result, name, ...)                                                 \
  static inline result (*name(void))(__VA_ARGS__) {                             \
    static result (*function)(__VA_ARGS__);                                     \
    if (function == NULL) *(void **)&function = dlsym(blas_library(), "cblas_" #name); \
    return function;                                                            \
  }

#endif
