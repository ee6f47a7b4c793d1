// The mean of a cell and its six neighbours; the border stays.
#include "grid.hpp"

static void jacobi(const Grid &grid, float *result) {
  keep_border(grid, result, [&grid](std::size_t x, std::size_t y, float *to) {
    const float *const here = grid.line(x, y);
    const float *const front = grid.line(x - 1, y), *const back = grid.line(x + 1, y);
    const float *const above = grid.line(x, y - 1), *const below = grid.line(x, y + 1);
    for (std::size_t z = 1; z + 1 < grid.n; z++)
      to[z] = (here[z] + front[z] + back[z] + above[z] + below[z] + here[z - 1] + here[z + 1]) / 7;
  });
}

extern "C" void EXPORT(jacobi3d7)(std::int64_t n, const float *t, float *result) {
  jacobi({static_cast<std::size_t>(n), t}, result);
}
