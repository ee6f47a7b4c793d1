// The mean of five points; the border stays.
#include "rival.hpp"

#include <algorithm>

static void jacobi(std::size_t n, const double *xs, double *ys) {
  std::copy_n(xs, n, ys);
  for (std::size_t i = 1; i + 1 < n; i++) {
    const double *const above = xs + (i - 1) * n, *const here = xs + i * n, *const below = xs + (i + 1) * n;
    double *const row = ys + i * n;
    row[0] = here[0];
    for (std::size_t j = 1; j + 1 < n; j++)
      row[j] = (above[j] + here[j - 1] + here[j] + here[j + 1] + below[j]) / 5;
    row[n - 1] = here[n - 1];
  }
  if (n > 1) std::copy_n(xs + (n - 1) * n, n, ys + (n - 1) * n);
}

extern "C" void EXPORT(jacobi2d)(std::int64_t n, const double *xs, double *result) {
  jacobi(static_cast<std::size_t>(n), xs, result);
}
