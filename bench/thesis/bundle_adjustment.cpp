// Where cameras see points (Lin, appendix A.1).
#include "rival.hpp"

template <std::size_t N>
using Vector = std::array<double, N>;

template <std::size_t N>
static Vector<N> operator+(const Vector<N> &u, const Vector<N> &v) {
  Vector<N> sum;
  for (std::size_t i = 0; i < N; i++) sum[i] = u[i] + v[i];
  return sum;
}

template <std::size_t N>
static Vector<N> operator*(const Vector<N> &u, double factor) {
  Vector<N> scaled;
  for (std::size_t i = 0; i < N; i++) scaled[i] = u[i] * factor;
  return scaled;
}

template <std::size_t N>
static double dot(const Vector<N> &u, const Vector<N> &v) {
  double sum = 0;
  for (std::size_t i = 0; i < N; i++) sum += u[i] * v[i];
  return sum;
}

static Vector<3> cross(const Vector<3> &u, const Vector<3> &v) {
  return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
}

struct Camera {
  Vector<3> axis, centre;
  double focal_length;
  Vector<2> picture, lens;
};

static_assert(sizeof(Camera) == 11 * sizeof(double));

// Rodrigues' formula; for no rotation its limit.
static Vector<3> rotated(const Vector<3> &axis, const Vector<3> &x) {
  const double square = dot(axis, axis);
  if (square == 0) return x + cross(axis, x);
  const double theta = std::sqrt(square), cosine = std::cos(theta), sine = std::sin(theta);
  const Vector<3> w = axis * (1 / theta);
  return x * cosine + cross(w, x) * sine + w * (dot(w, x) * (1 - cosine));
}

static Vector<2> distorted(const Vector<2> &lens, const Vector<2> &p) {
  const double r = dot(p, p);
  return p * (1 + lens[0] * r + lens[1] * r * r);
}

static Vector<2> project(const Camera &camera, const Vector<3> &x) {
  const Vector<3> seen = rotated(camera.axis, x + camera.centre * -1.0);
  const Vector<2> flat = distorted(camera.lens, Vector<2>{seen[0], seen[1]} * (1 / seen[2]));
  return camera.picture + flat * camera.focal_length;
}

extern "C" void EXPORT(bundle_adjustment)(std::int64_t n, const double *cameras, const double *points, double *result) {
  const auto count = static_cast<std::size_t>(n);
  const auto *const camera = reinterpret_cast<const Camera *>(cameras);
  const auto *const point = reinterpret_cast<const Vector<3> *>(points);
  auto *const to = reinterpret_cast<Vector<2> *>(result);
  for (std::size_t i = 0; i < count; i++) to[i] = project(camera[i], point[i]);
}
