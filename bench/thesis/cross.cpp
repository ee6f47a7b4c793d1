// Cross products of vectors in space.
#include "rival.hpp"

using Vector = std::array<double, 3>;

static Vector cross(const Vector &u, const Vector &v) {
  return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
}

static void cross_products(std::span<const Vector> us, std::span<const Vector> vs, std::span<Vector> products) {
  for (std::size_t i = 0; i < products.size(); i++) products[i] = cross(us[i], vs[i]);
}

extern "C" void EXPORT(cross)(std::int64_t n, const double *us, const double *vs, double *result) {
  const auto count = static_cast<std::size_t>(n);
  const auto vectors = [count](const double *cells) {
    return std::span{reinterpret_cast<const Vector *>(cells), count};
  };
  cross_products(vectors(us), vectors(vs), {reinterpret_cast<Vector *>(result), count});
}
