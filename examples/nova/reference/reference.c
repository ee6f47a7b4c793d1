/* The benchmarks of the NOVA paper's Table 2, and box3x3, in plain C: the definition that other versions are compared with.
 * Sums of floats are taken in double precision, from first to last. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void *block(int64_t count, size_t bytes) {
  return malloc((size_t)(count > 0 ? count : 1) * bytes);
}

void ref_bbox(struct almach_tuple_tuple_f32_f32_end_tuple_f32_f32_end *result, int64_t n, const float *x, const float *y) {
  float left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    left = x[i] < left ? x[i] : left;
    right = x[i] > right ? x[i] : right;
    low = y[i] < low ? y[i] : low;
    high = y[i] > high ? y[i] : high;
  }
  result->v0.v0 = left;
  result->v0.v1 = low;
  result->v1.v0 = right;
  result->v1.v1 = high;
}

void ref_dot(int64_t *size, float **data, int64_t n, const float *x, const float *y, const float *z, int64_t m, const float *u, const float *v, const float *w) {
  *size = n < m ? n : m;
  *data = block(*size, sizeof(float));
  for (int64_t i = 0; i < *size; i++) {
    (*data)[i] = x[i] * u[i] + y[i] * v[i] + z[i] * w[i];
  }
}

void ref_norm(float *result, int64_t n, const float *xs) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += (double)xs[i] * xs[i];
  }
  *result = (float)sqrt(sum);
}

void ref_gridred(struct almach_tuple_array_i32_array_i32_i32 *result, int64_t h, int64_t w, const int32_t *a) {
  result->v0_size = h;
  result->v0_data = block(h, sizeof(int32_t));
  result->v1_size = w;
  result->v1_data = block(w, sizeof(int32_t));
  result->v2 = 0;
  for (int64_t j = 0; j < w; j++) {
    result->v1_data[j] = 0;
  }
  for (int64_t i = 0; i < h; i++) {
    int32_t row = 0;
    for (int64_t j = 0; j < w; j++) {
      row += a[i * w + j];
      result->v1_data[j] += a[i * w + j];
    }
    result->v0_data[i] = row;
    result->v2 += row;
  }
}

void ref_sumstats(struct almach_tuple_i32_f64_f64_f64_f64 *result, int64_t n, const double *xs) {
  double least = xs[0], greatest = xs[0], sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    least = xs[i] < least ? xs[i] : least;
    greatest = xs[i] > greatest ? xs[i] : greatest;
    sum += xs[i];
  }
  const double mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) {
    squares += (xs[i] - mean) * (xs[i] - mean);
  }
  result->v0 = (int32_t)n;
  result->v1 = least;
  result->v2 = greatest;
  result->v3 = mean;
  result->v4 = squares / (double)n;
}

void ref_sumrows(int64_t *size, int32_t **data, int64_t offsets_size, const int64_t *offsets, int64_t n, const int32_t *xs) {
  (void)n;
  *size = offsets_size - 1;
  *data = block(*size, sizeof(int32_t));
  for (int64_t i = 0; i < *size; i++) {
    (*data)[i] = 0;
    for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
      (*data)[i] += xs[k];
    }
  }
}

void ref_wordcount(int32_t *result, int64_t n, const uint8_t *text) {
  int32_t words = 0;
  int inside = 0;
  for (int64_t i = 0; i < n; i++) {
    const int space = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');
    words += !space && !inside;
    inside = !space;
  }
  *result = words;
}

static double cdf(double d) { return 0.5 * erfc(-d / sqrt(2)); }

void ref_blackscholes(int64_t *size, float **calls, float **puts, int64_t n, const float *spot, int64_t n1, const float *strike, int64_t n2, const float *years, float rate, float volatility) {
  (void)n1;
  (void)n2;
  *size = n;
  *calls = block(n, sizeof(float));
  *puts = block(n, sizeof(float));
  for (int64_t i = 0; i < n; i++) {
    const double s = spot[i], x = strike[i], t = years[i], spread = volatility * sqrt(t);
    const double d1 = (log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread;
    const double discounted = x * exp(-rate * t);
    (*calls)[i] = (float)(s * cdf(d1) - discounted * cdf(d1 - spread));
    (*puts)[i] = (float)(discounted * cdf(spread - d1) - s * cdf(-d1));
  }
}

void ref_nbody(int64_t *size, double **xs, double **ys, double **zs, double **ms, int64_t n, const double *x, const double *y, const double *z, const double *m, int64_t n1, const double *u, const double *v, const double *w, int32_t steps, double dt) {
  (void)n1;
  *size = n;
  double *const at[3] = {block(n, sizeof(double)), block(n, sizeof(double)), block(n, sizeof(double))};
  double *const velocity[3] = {block(n, sizeof(double)), block(n, sizeof(double)), block(n, sizeof(double))};
  *ms = block(n, sizeof(double));
  for (int64_t i = 0; i < n; i++) {
    at[0][i] = x[i], at[1][i] = y[i], at[2][i] = z[i];
    velocity[0][i] = u[i], velocity[1][i] = v[i], velocity[2][i] = w[i];
    (*ms)[i] = m[i];
  }
  for (int32_t step = 0; step < steps; step++) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        const double r[3] = {at[0][j] - at[0][i], at[1][j] - at[1][i], at[2][j] - at[2][i]};
        const double d = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + 0.01;
        for (int k = 0; k < 3; k++) {
          velocity[k][i] += dt * m[j] / (d * sqrt(d)) * r[k];
        }
      }
    }
    for (int k = 0; k < 3; k++) {
      for (int64_t i = 0; i < n; i++) {
        at[k][i] += dt * velocity[k][i];
      }
    }
  }
  for (int k = 0; k < 3; k++) {
    free(velocity[k]);
  }
  *xs = at[0], *ys = at[1], *zs = at[2];
}

void ref_spmv(int64_t *size, double **data, int64_t rows, int64_t width, const int32_t *columns, int64_t rows1, int64_t width1, const double *values, int64_t n, const double *x) {
  (void)rows1;
  (void)width1;
  (void)n;
  *size = rows;
  *data = block(rows, sizeof(double));
  for (int64_t i = 0; i < rows; i++) {
    (*data)[i] = 0;
    for (int64_t k = 0; k < width; k++) {
      (*data)[i] += values[i * width + k] * x[columns[i * width + k]];
    }
  }
}

void ref_box3x3(int64_t *rows, int64_t *columns, float **data, int64_t h, int64_t w, const float *image) {
  *rows = h;
  *columns = w;
  *data = block(h * w, sizeof(float));
  for (int64_t i = 0; i < h; i++) {
    for (int64_t j = 0; j < w; j++) {
      double sum = 0;
      for (int64_t di = -1; di <= 1; di++) {
        for (int64_t dj = -1; dj <= 1; dj++) {
          const int64_t row = i + di < 0 ? 0 : i + di >= h ? h - 1 : i + di;
          const int64_t column = j + dj < 0 ? 0 : j + dj >= w ? w - 1 : j + dj;
          sum += image[row * w + column];
        }
      }
      (*data)[i * w + j] = (float)(sum / 9);
    }
  }
}
