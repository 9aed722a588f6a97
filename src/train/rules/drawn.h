#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "train/step.h"

namespace sluice::train {

// Bits of one trial, which are made into numbers in the order of the logical elements.
inline std::vector<std::uint32_t> Bits(const Call& call, std::int64_t trial, std::int64_t count) {
  std::vector<std::uint32_t> bits(count);
  call.draws().Fill(trial, static_cast<std::uint32_t>(call.step().nodes.front()), bits);
  return bits;
}

template <typename Number, typename Make>
void FillTrials(const Call& call, at::Tensor& tensor, Make make) {
  const std::int64_t count = tensor.numel() / std::max<std::int64_t>(call.trials(), 1);
  auto* out = tensor.data_ptr<Number>();
  for (std::int64_t trial = 0; trial < call.trials(); ++trial) {
    auto make_one = make(trial);
    for (const std::uint32_t bits : Bits(call, trial, count))
      *out++ = static_cast<Number>(make_one(bits));
  }
}

// A tensor [F, sizes...]. `make(trial)` gives what makes an element of 32 random bits.
template <typename Make>
at::Tensor DrawnByTrial(const Call& call, at::IntArrayRef sizes, const at::TensorOptions& options,
                        Make make) {
  std::vector<std::int64_t> all = {call.trials()};
  all.insert(all.end(), sizes.begin(), sizes.end());
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  const bool wide = type == at::kDouble || at::isIntegralType(type, false);
  at::Tensor tensor = at::empty(all, wide ? at::kDouble : at::kFloat);
  if (wide) {
    FillTrials<double>(call, tensor, make);
  } else {
    FillTrials<float>(call, tensor, make);
  }
  return tensor.to(options.device(), type);
}

// The same, where elements of all trials are made in one way.
template <typename Make>
at::Tensor Drawn(const Call& call, at::IntArrayRef sizes, const at::TensorOptions& options,
                 Make make) {
  return DrawnByTrial(call, sizes, options, [&](std::int64_t) { return make; });
}

}  // namespace sluice::train
