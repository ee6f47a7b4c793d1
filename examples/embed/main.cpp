// A C++ program that calls the library, and that defines what the library calls back.
#include "blend.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

extern "C" void ff(int64_t *result_size, float **result_data, int64_t x0_size, const float *x0_data, float x1) {
  std::vector<float> kept;
  for (int64_t i = 0; i < x0_size; i++) {
    if (x0_data[i] >= x1) {
      kept.push_back(x0_data[i]);
    }
  }
  *result_size = static_cast<int64_t>(kept.size());
  *result_data = static_cast<float *>(std::malloc(sizeof(float) * (kept.size() + 1)));
  std::copy(kept.begin(), kept.end(), *result_data);
}

extern "C" void weigh(float *result, almach_tuple_f32_i32 x0) {
  *result = x0.v0 * static_cast<float>(x0.v1 + 1);
}

int main() {
  const std::vector<float> xs = {4.0f, -1.0f, 2.5f, 7.0f};
  const std::unique_ptr<blend_ctx, void (*)(blend_ctx *)> ctx(blend_new(), blend_free);
  int64_t size = 0;
  float *block = nullptr;
  float sum = 0.0f;
  if (!ctx || blend_main(ctx.get(), static_cast<int64_t>(xs.size()), xs.data(), 2.0f, &size, &block, &sum) != 0) {
    std::cerr << (ctx ? blend_error(ctx.get()) : "no memory") << "\n";
    return 1;
  }
  const auto give_back = [&ctx](float *block) { blend_release(ctx.get(), block); };
  const std::unique_ptr<float, decltype(give_back)> weighed(block, give_back);
  for (int64_t i = 0; i < size; i++) {
    std::cout << weighed.get()[i] << " ";
  }
  std::cout << "sum " << sum << "\n";
}
