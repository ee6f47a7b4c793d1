// Three vectors into one.
#include "rival.hpp"

static void three_add(std::span<const double> xs, std::span<const double> ys, std::span<const double> zs,
                      std::span<double> sums) {
  for (std::size_t i = 0; i < sums.size(); i++) sums[i] = xs[i] + ys[i] + zs[i];
}

extern "C" void EXPORT(three_add)(std::int64_t n, const double *xs, const double *ys, const double *zs,
                                  double *result) {
  const auto count = static_cast<std::size_t>(n);
  three_add({xs, count}, {ys, count}, {zs, count}, {result, count});
}
