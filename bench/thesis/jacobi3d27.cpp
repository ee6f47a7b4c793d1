// A weighted mean of a cell, its faces, edges and corners; the border stays.
#include "grid.hpp"

static void jacobi(const Grid &grid, float *result) {
  keep_border(grid, result, [&grid](std::size_t x, std::size_t y, float *to) {
    // The nine lines around.
    std::array<std::array<const float *, 3>, 3> at;
    for (std::size_t i = 0; i < 3; i++)
      for (std::size_t j = 0; j < 3; j++) at[i][j] = grid.line(x + i - 1, y + j - 1);
    const auto faces = [&at](std::size_t z) { return at[0][1][z] + at[1][0][z] + at[1][2][z] + at[2][1][z]; };
    const auto corners = [&at](std::size_t z) { return at[0][0][z] + at[0][2][z] + at[2][0][z] + at[2][2][z]; };
    for (std::size_t z = 1; z + 1 < grid.n; z++) {
      const float *const here = at[1][1];
      to[z] = 0.25f * here[z] + 0.0625f * (faces(z) + here[z - 1] + here[z + 1]) +
              (1.0f / 48.0f) * (corners(z) + faces(z - 1) + faces(z + 1)) +
              (1.0f / 64.0f) * (corners(z - 1) + corners(z + 1));
    }
  });
}

extern "C" void EXPORT(jacobi3d27)(std::int64_t n, const float *t, float *result) {
  jacobi({static_cast<std::size_t>(n), t}, result);
}
