// A weighted mean of a cell, its faces and its corners; the border stays.
#include "grid.hpp"

static void jacobi(const Grid &grid, float *result) {
  keep_border(grid, result, [&grid](std::size_t x, std::size_t y, float *to) {
    const float *const here = grid.line(x, y);
    const float *const front = grid.line(x - 1, y), *const back = grid.line(x + 1, y);
    const float *const above = grid.line(x, y - 1), *const below = grid.line(x, y + 1);
    const float *const a = grid.line(x - 1, y - 1), *const b = grid.line(x - 1, y + 1);
    const float *const c = grid.line(x + 1, y - 1), *const d = grid.line(x + 1, y + 1);
    for (std::size_t z = 1; z + 1 < grid.n; z++) {
      const float faces = front[z] + back[z] + above[z] + below[z] + here[z - 1] + here[z + 1];
      const float corners =
          a[z - 1] + a[z + 1] + b[z - 1] + b[z + 1] + c[z - 1] + c[z + 1] + d[z - 1] + d[z + 1];
      to[z] = here[z] * 0.25f + faces * 0.0625f + corners * 0.046875f;
    }
  });
}

extern "C" void EXPORT(jacobi3d15)(std::int64_t n, const float *t, float *result) {
  jacobi({static_cast<std::size_t>(n), t}, result);
}
