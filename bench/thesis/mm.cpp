// The product of two matrices.
#include "matrix.hpp"

extern "C" void EXPORT(mm)(std::int64_t n, const double *a, const double *b, double *result) {
  multiply(static_cast<std::size_t>(n), a, b, result);
}
