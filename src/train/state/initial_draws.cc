#include "train/state/initial_draws.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/random.h"
#include "model/analyse/sines.h"
#include "train/draws.h"
#include "train/state/exact_normal.h"

namespace sluice::train {
namespace {

constexpr std::int64_t kElementsOfThread = 1 << 14;

// Uniform numbers of one parameter, by element: 52 random bits and half a step, so that 0 and 1 are
// left out.
class UniformNumbers {
 public:
  explicit UniformNumbers(std::uint64_t key) : key_(key) {}

  double At(std::uint64_t element) {
    const std::uint64_t block = element / 2;
    if (block != block_) {
      block_ = block;
      words_ = Philox(
          {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}},
          static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32));
    }
    const std::uint32_t* half = words_.word + 2 * (element % 2);
    const std::uint64_t bits = (std::uint64_t{half[1]} << 32 | half[0]) >> 12;
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }

 private:
  std::uint64_t key_;
  std::uint64_t block_ = UINT64_MAX;
  PhiloxWords words_{};
};

template <typename Number, typename Make>
void FillRandom(at::Tensor& tensor, std::uint64_t key, Make make) {
  auto* out = tensor.data_ptr<Number>();
  at::parallel_for(0, tensor.numel(), kElementsOfThread, [&](std::int64_t begin, std::int64_t end) {
    UniformNumbers numbers(key);
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = static_cast<Number>(make(numbers.At(static_cast<std::uint64_t>(i))));
  });
}

// Types other than float32 are filled in float64 first.
template <typename Make>
at::Tensor RandomTensor(at::IntArrayRef sizes, at::ScalarType type, std::uint64_t key, Make make) {
  at::Tensor tensor = at::empty(sizes, type == at::kFloat ? at::kFloat : at::kDouble);
  if (type == at::kFloat) {
    FillRandom<float>(tensor, key, make);
  } else {
    FillRandom<double>(tensor, key, make);
  }
  return tensor.to(type);
}

at::Tensor TableOfSines(model::Law::Kind kind, at::IntArrayRef sizes, at::ScalarType type) {
  at::Tensor tensor = at::empty(sizes, at::kDouble);
  const auto width = static_cast<std::size_t>(sizes.empty() ? 1 : sizes.back());
  auto* out = tensor.data_ptr<double>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.numel()); ++i)
    out[i] = model::SineAt(kind, i / width, i % width, width);
  return tensor.to(type);
}

}  // namespace

at::Tensor DrawnByLaw(const model::Law& law, at::IntArrayRef sizes, at::ScalarType type,
                      std::uint64_t trial_seed, std::string_view name) {
  const std::uint64_t key = Random(trial_seed).Fork("initial").Fork(name).Next();
  switch (law.kind) {
    case model::Law::Kind::kConstant: return at::full(sizes, law.mean, type);
    case model::Law::Kind::kNormal:
      return RandomTensor(sizes, type, key, [&](double uniform) {
        return law.mean + law.deviation * NormalAt(uniform);
      });
    case model::Law::Kind::kUniform: {
      const double reach = law.deviation * std::numbers::sqrt3;
      return RandomTensor(sizes, type, key,
                          [&](double uniform) { return law.mean + reach * (2 * uniform - 1); });
    }
    case model::Law::Kind::kSinesInTurns:
    case model::Law::Kind::kSinesFirst: return TableOfSines(law.kind, sizes, type);
    case model::Law::Kind::kUnknown: break;
  }
  SLUICE_CHECK(false, "a tensor that is drawn has a law");
  return {};
}

}  // namespace sluice::train
