// Products of square matrices, row by row.
#pragma once

#include "rival.hpp"

#include <algorithm>

// Rows of b are walked in the order of memory, and added to a row of the product.
inline void multiply(std::size_t n, const double *a, const double *b, double *product) {
  std::fill_n(product, n * n, 0.0);
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t k = 0; k < n; k++) {
      const double factor = a[i * n + k];
      for (std::size_t j = 0; j < n; j++) product[i * n + j] += factor * b[k * n + j];
    }
}
