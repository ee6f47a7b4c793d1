// Stencils on a cube of cells; its border stays.
#pragma once

#include "rival.hpp"

#include <algorithm>

struct Grid {
  std::size_t n;
  const float *cells;

  // A line of cells along the last dimension.
  const float *line(std::size_t x, std::size_t y) const { return cells + (x * n + y) * n; }
};

// `inner(x, y, to)` writes the inner cells of a line.
template <typename Inner>
void keep_border(const Grid &grid, float *result, const Inner &inner) {
  const std::size_t n = grid.n;
  for (std::size_t x = 0; x < n; x++)
    for (std::size_t y = 0; y < n; y++) {
      const float *const from = grid.line(x, y);
      float *const to = result + (x * n + y) * n;
      if (x == 0 || x + 1 == n || y == 0 || y + 1 == n || n < 3) {
        std::copy_n(from, n, to);
        continue;
      }
      to[0] = from[0];
      inner(x, y, to);
      to[n - 1] = from[n - 1];
    }
}
