// Points turned by rotations that are given as axis times angle (Lin, appendix A.3).
#include "rival.hpp"

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

static Matrix rotation(const Vector &axis) {
  const double angle = std::sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (angle < 0.0001) return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const double x = axis[0] / angle, y = axis[1] / angle, z = axis[2] / angle;
  const double s = std::sin(angle), c = std::cos(angle);
  return {{{x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s},
           {x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s},
           {x * z * (1 - c) - y * s, y * z * (1 - c) + x * s, z * z + (1 - z * z) * c}}};
}

static Vector turned(const Matrix &m, const Vector &p) {
  Vector result;
  for (std::size_t i = 0; i < 3; i++) result[i] = m[i][0] * p[0] + m[i][1] * p[1] + m[i][2] * p[2];
  return result;
}

extern "C" void EXPORT(hand_tracking)(std::int64_t n, const double *axes, const double *points, double *result) {
  const auto count = static_cast<std::size_t>(n);
  const auto *const axis = reinterpret_cast<const Vector *>(axes);
  const auto *const point = reinterpret_cast<const Vector *>(points);
  auto *const to = reinterpret_cast<Vector *>(result);
  for (std::size_t i = 0; i < count; i++) to[i] = turned(rotation(axis[i]), point[i]);
}
