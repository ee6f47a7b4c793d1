// (AB)(CD).
#include "matrix.hpp"

extern "C" void EXPORT(mm3)(std::int64_t n, const double *a, const double *b, const double *c, const double *d,
                            double *result) {
  const auto size = static_cast<std::size_t>(n);
  const auto ab = room<double>(size * size), cd = room<double>(size * size);
  multiply(size, a, b, ab.get());
  multiply(size, c, d, cd.get());
  multiply(size, ab.get(), cd.get(), result);
}
