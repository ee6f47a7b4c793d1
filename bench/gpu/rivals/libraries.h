/* NVIDIA's libraries as plain functions: each file of theirs takes long to compile, and cuBLAS may be missing. */
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

/* CUB and Thrust. Results are on the device; memory that they work in is kept from call to call. */
void cub_sum(const float *xs, float *sum, int64_t count);
void cub_asum(const float *xs, float *sum, int64_t count);
void cub_square_sum(const float *xs, float *sum, int64_t count);
void cub_dot(const float *xs, const float *ys, float *sum, int64_t count);
void cub_scal(const float *xs, float *ys, int64_t count);
void cub_bounds(const float *xs, const float *ys, float4 *bounds, int64_t count);
void cub_count_words(const uint8_t *text, int64_t *words, int64_t count);
void cub_row_sums(const float *cells, float *sums, int64_t rows, int64_t columns);
void cub_segment_sums(const float *cells, const int64_t *offsets, float *sums, int64_t segments);
void cub_scan(const float *xs, float *sums, int64_t count);
void cub_scan(const int32_t *xs, int32_t *sums, int64_t count);
void thrust_scan(const float *xs, float *sums, int64_t count);
void thrust_scan(const int32_t *xs, int32_t *sums, int64_t count);
void cub_filter(const int32_t *xs, int32_t *kept, int64_t *how_many, int64_t count, int32_t below);
void cub_histogram(const int32_t *keys, int32_t *bins, int64_t count, int32_t how_many);
void thrust_gather(const int32_t *from, const int32_t *xs, int32_t *ys, int64_t count);
void thrust_scatter(const int32_t *to, const int32_t *xs, int32_t *ys, int64_t count);

/* cuBLAS. */
bool blas_is_there();
void blas_scal(float *xs, float factor, int64_t count);
void blas_asum(const float *xs, float *sum, int64_t count);
void blas_norm(const float *xs, float *norm, int64_t count);
void blas_dot(const float *xs, const float *ys, float *sum, int64_t count);
/* y = A x, of n rows and m columns that are stored by rows, or by columns. */
void blas_gemv_rows(const float *a, const float *x, float *y, int64_t n, int64_t m);
void blas_gemv_columns(const float *a, const float *x, float *y, int64_t n, int64_t m);
/* C = A B of n times n, stored by rows. */
void blas_gemm(const float *a, const float *b, float *c, int64_t n);
