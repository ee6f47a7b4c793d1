/* cuBLAS is looked for when the program runs: where it is not, its lines are left out. */
#include "libraries.h"

#include <cstdio>
#include <cstdlib>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <dlfcn.h>

namespace {

struct Blas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = nullptr;
  decltype(&cublasSscal_v2) scal = nullptr;
  decltype(&cublasSasum_v2) asum = nullptr;
  decltype(&cublasSnrm2_v2) norm = nullptr;
  decltype(&cublasSdot_v2) dot = nullptr;
  decltype(&cublasSgemv_v2) gemv = nullptr;
  decltype(&cublasSgemm_v2) gemm = nullptr;
  cublasHandle_t handle = nullptr;

  Blas() {
    void *library = nullptr;
    for (const char *name : {"libcublas.so", "libcublas.so.13", "libcublas.so.12"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return;
    find(library, "cublasCreate_v2", create);
    find(library, "cublasSetPointerMode_v2", set_pointer_mode);
    find(library, "cublasSscal_v2", scal);
    find(library, "cublasSasum_v2", asum);
    find(library, "cublasSnrm2_v2", norm);
    find(library, "cublasSdot_v2", dot);
    find(library, "cublasSgemv_v2", gemv);
    find(library, "cublasSgemm_v2", gemm);
    const bool has_all = create && set_pointer_mode && scal && asum && norm && dot && gemv && gemm;
    if (!has_all || create(&handle) != CUBLAS_STATUS_SUCCESS) handle = nullptr;
  }

  template <class F> static void find(void *library, const char *name, F &function) { function = (F)dlsym(library, name); }
};

const Blas &blas() {
  static const Blas found;
  return found;
}

void require(cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "cuBLAS, %s: status %d\n", what, (int)status);
  exit(1);
}

/* Scalars are on the device for sums, on the host for factors. */
cublasHandle_t with_results() {
  require(blas().set_pointer_mode(blas().handle, CUBLAS_POINTER_MODE_DEVICE), "pointer mode");
  return blas().handle;
}

cublasHandle_t with_factors() {
  require(blas().set_pointer_mode(blas().handle, CUBLAS_POINTER_MODE_HOST), "pointer mode");
  return blas().handle;
}

const float ONE = 1, NOTHING = 0;

} // namespace

bool blas_is_there() {
  static bool said = false;
  if (blas().handle != nullptr) return true;
  if (!said) fprintf(stderr, "cuBLAS is not there: its lines are left out\n");
  said = true;
  return false;
}

void blas_scal(float *xs, float factor, int64_t count) {
  require(blas().scal(with_factors(), (int)count, &factor, xs, 1), "scal");
}

void blas_asum(const float *xs, float *sum, int64_t count) { require(blas().asum(with_results(), (int)count, xs, 1, sum), "asum"); }

void blas_norm(const float *xs, float *norm, int64_t count) { require(blas().norm(with_results(), (int)count, xs, 1, norm), "nrm2"); }

void blas_dot(const float *xs, const float *ys, float *sum, int64_t count) {
  require(blas().dot(with_results(), (int)count, xs, 1, ys, 1, sum), "dot");
}

/* For cuBLAS matrices are stored by columns: one that is stored by rows is a transposed one. */
void blas_gemv_rows(const float *a, const float *x, float *y, int64_t n, int64_t m) {
  require(blas().gemv(with_factors(), CUBLAS_OP_T, (int)m, (int)n, &ONE, a, (int)m, x, 1, &NOTHING, y, 1), "gemv");
}

void blas_gemv_columns(const float *a, const float *x, float *y, int64_t n, int64_t m) {
  require(blas().gemv(with_factors(), CUBLAS_OP_N, (int)n, (int)m, &ONE, a, (int)n, x, 1, &NOTHING, y, 1), "gemv");
}

void blas_gemm(const float *a, const float *b, float *c, int64_t n) {
  const int side = (int)n;
  require(
      blas().gemm(with_factors(), CUBLAS_OP_N, CUBLAS_OP_N, side, side, side, &ONE, b, side, a, side, &NOTHING, c, side), "gemm");
}

#else

bool blas_is_there() {
  static bool said = false;
  if (!said) fprintf(stderr, "cuBLAS is not there: its lines are left out\n");
  said = true;
  return false;
}

/* Nobody calls these. */
void blas_scal(float *, float, int64_t) { abort(); }
void blas_asum(const float *, float *, int64_t) { abort(); }
void blas_norm(const float *, float *, int64_t) { abort(); }
void blas_dot(const float *, const float *, float *, int64_t) { abort(); }
void blas_gemv_rows(const float *, const float *, float *, int64_t, int64_t) { abort(); }
void blas_gemv_columns(const float *, const float *, float *, int64_t, int64_t) { abort(); }
void blas_gemm(const float *, const float *, float *, int64_t) { abort(); }

#endif
