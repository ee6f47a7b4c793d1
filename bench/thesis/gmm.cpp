// The objective of a Gaussian mixture model (Lin, appendix A.2; ADBench), without its constant and its prior's.
#include "rival.hpp"

#include <algorithm>

static double log_sum_exp(std::span<const double> xs) {
  const double most = *std::max_element(xs.begin(), xs.end());
  double sum = 0;
  for (const double x : xs) sum += std::exp(x - most);
  return std::log(sum) + most;
}

struct Mixture {
  std::size_t components, dimensions;
  const double *weights, *means, *diagonals, *triangles;

  std::size_t triangle() const { return dimensions * (dimensions - 1) / 2; }
};

static double gmm(std::size_t count, const double *points, const Mixture &mixture) {
  const std::size_t k = mixture.components, d = mixture.dimensions;
  // What does not depend on a point is computed once.
  std::vector<double> exponentials(k * d), sums(k);
  double prior = 0;
  for (std::size_t c = 0; c < k; c++) {
    for (std::size_t i = 0; i < d; i++) {
      const double q = mixture.diagonals[c * d + i];
      exponentials[c * d + i] = std::exp(q);
      sums[c] += q;
      prior += exponentials[c * d + i] * exponentials[c * d + i];
    }
    for (std::size_t i = 0; i < mixture.triangle(); i++) {
      const double l = mixture.triangles[c * mixture.triangle() + i];
      prior += l * l;
    }
  }
  std::vector<double> centred(d), terms(k);
  double total = 0;
  for (std::size_t p = 0; p < count; p++) {
    const double *const x = points + p * d;
    for (std::size_t c = 0; c < k; c++) {
      const double *const mean = mixture.means + c * d, *row = mixture.triangles + c * mixture.triangle();
      for (std::size_t i = 0; i < d; i++) centred[i] = x[i] - mean[i];
      double square = 0;
      for (std::size_t i = 0; i < d; i++) {
        double product = exponentials[c * d + i] * centred[i];
        for (std::size_t j = 0; j < i; j++) product += row[j] * centred[j];
        row += i;
        square += product * product;
      }
      terms[c] = mixture.weights[c] + sums[c] - square / 2;
    }
    total += log_sum_exp(terms);
  }
  const auto weights = std::span{mixture.weights, k};
  return total - static_cast<double>(count) * log_sum_exp(weights) + prior / 2;
}

extern "C" void EXPORT(gmm)(std::int64_t n, std::int64_t k, std::int64_t d, const double *points,
                            const double *weights, const double *means, const double *diagonals,
                            const double *triangles, double *result) {
  const Mixture mixture = {static_cast<std::size_t>(k), static_cast<std::size_t>(d), weights, means, diagonals,
                           triangles};
  *result = gmm(static_cast<std::size_t>(n), points, mixture);
}
