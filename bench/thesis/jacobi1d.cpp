// The mean of three; the ends stay.
#include "rival.hpp"

static void jacobi(std::span<const double> xs, std::span<double> ys) {
  const std::size_t n = xs.size();
  if (n == 0) return;
  ys[0] = xs[0];
  for (std::size_t i = 1; i + 1 < n; i++) ys[i] = (xs[i - 1] + xs[i] + xs[i + 1]) / 3;
  ys[n - 1] = xs[n - 1];
}

extern "C" void EXPORT(jacobi1d)(std::int64_t n, const double *xs, double *result) {
  const auto count = static_cast<std::size_t>(n);
  jacobi({xs, count}, {result, count});
}
