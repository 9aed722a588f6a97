#include <cmath>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// Bits of one trial, which are made into numbers in the order of the logical elements.
std::vector<std::uint32_t> Bits(const Call& call, std::int64_t trial, std::int64_t count) {
  std::vector<std::uint32_t> bits(count);
  call.draws().Fill(trial, static_cast<std::uint32_t>(call.step().nodes.front()), bits);
  return bits;
}

template <typename Number, typename Make>
void FillTrials(const Call& call, at::Tensor& tensor, Make make) {
  const std::int64_t count = tensor.numel() / std::max<std::int64_t>(call.trials(), 1);
  auto* out = tensor.data_ptr<Number>();
  for (std::int64_t trial = 0; trial < call.trials(); ++trial)
    for (const std::uint32_t bits : Bits(call, trial, count))
      *out++ = static_cast<Number>(make(bits));
}

// A tensor [F, sizes...] whose elements `make` makes of 32 random bits each.
template <typename Make>
at::Tensor Drawn(const Call& call, at::IntArrayRef sizes, const at::TensorOptions& options,
                 Make make) {
  Sizes all(sizes.begin(), sizes.end());
  all.insert(all.begin(), call.trials());
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  const bool wide = type == at::kDouble;
  at::Tensor tensor = at::empty(all, wide ? at::kDouble : at::kFloat);
  if (wide) {
    FillTrials<double>(call, tensor, make);
  } else {
    FillTrials<float>(call, tensor, make);
  }
  return tensor.to(options.device(), type);
}

// Layouts follow the value, so that a mask costs no copy of it.
Value Masked(const Value& x, const at::Tensor& mask, const Call& call) {
  if (!x.stacked()) return Stacked(x.tensor * mask);
  return Stacked(x.tensor * At(Stacked(mask), x.axis, call.trials()), x.axis);
}

}  // namespace

at::Tensor DrawnMask(const Call& call, at::IntArrayRef sizes, double probability, double kept,
                     const at::TensorOptions& options) {
  const double bound = probability * 0x1p32;
  return Drawn(call, sizes, options,
               [=](std::uint32_t bits) { return static_cast<double>(bits) < bound ? kept : 0.0; });
}

Action Dropout(const Signature&) {
  return [](Call& call) {
    const Value x = call.Tensor(0);
    const double p = call.Real(1);
    if (p == 0 || !call.Flag(2)) return call.Return(x);
    TORCH_CHECK(p > 0 && p <= 1, "expected a probability of dropout from 0 to 1, found ", p);
    const double kept = p == 1 ? 0 : 1 / (1 - p);
    call.Return(Masked(x, DrawnMask(call, x.sizes(), 1 - p, kept, x.tensor.options()), call));
  };
}

// Whole channels: the draws are of the first two dimensions.
Action FeatureDropout(const Signature&) {
  return [](Call& call) {
    const Value x = call.Tensor(0);
    const double p = call.Real(1);
    if (p == 0 || !call.Flag(2)) return call.Return(x);
    TORCH_CHECK(p > 0 && p <= 1, "expected a probability of dropout from 0 to 1, found ", p);
    Sizes sizes = x.sizes();
    for (std::size_t dim = 2; dim < sizes.size(); ++dim) sizes[dim] = 1;
    const double kept = p == 1 ? 0 : 1 / (1 - p);
    call.Return(Masked(x, DrawnMask(call, sizes, 1 - p, kept, x.tensor.options()), call));
  };
}

// Dropped elements get the value that a SELU saturates at; mean and variance are kept.
Action AlphaDropout(const Signature&) {
  return [](Call& call) {
    const Value x = call.Tensor(0);
    const double p = call.Real(1);
    if (p == 0 || !call.Flag(2)) return call.Return(x);
    TORCH_CHECK(p > 0 && p < 1, "expected a probability of dropout from 0 to 1, found ", p);
    constexpr double kAlpha = 1.7580993408473766;
    const double scale = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
    const at::Tensor kept = DrawnMask(call, x.sizes(), 1 - p, 1, x.tensor.options());
    const Value scaled = Masked(x, kept * scale, call);
    const Value shift = Stacked((kept - 1 + p) * (kAlpha * scale));
    const Aligned both = Align({&scaled, &shift});
    at::Tensor y = both.tensors[0] + both.tensors[1];
    const std::int64_t axis = y.dim() - both.trailing - 1;
    call.Return(Stacked(std::move(y), axis));
  };
}

// Numbers of a normal law, each of two draws (Box and Muller).
Action RandNormal(const Signature& signature) {
  const int sizes = signature.Place("size");
  const int self = signature.Place("self");
  const int type = signature.Place("dtype");
  if ((sizes < 0) == (self < 0)) return {};
  return [=](Call& call) {
    at::TensorOptions options = at::TensorOptions(at::kCPU).dtype(at::get_default_dtype());
    if (self >= 0) options = call.Tensor(self).tensor.options();
    if (type >= 0 && call.Has(type)) options = options.dtype(*call.Type(type));
    Sizes wanted = sizes >= 0 ? call.Integers(sizes) : call.Tensor(self).sizes();
    wanted.push_back(2);
    const at::Tensor uniform = Drawn(call, wanted, at::dtype(at::kDouble), [](std::uint32_t bits) {
      return (static_cast<double>(bits) + 0.5) * 0x1p-32;
    });
    const at::Tensor radius = (uniform.select(-1, 0).log() * -2).sqrt();
    call.Return(Stacked((radius * (uniform.select(-1, 1) * (2 * M_PI)).cos()).to(options)));
  };
}

// Uniform numbers from 0 to 1, as fine as float32 tells them apart.
Action Rand(const Signature& signature) {
  const int sizes = signature.Place("size");
  const int self = signature.Place("self");
  const int type = signature.Place("dtype");
  if ((sizes < 0) == (self < 0)) return {};
  return [=](Call& call) {
    at::TensorOptions options = at::TensorOptions(at::kCPU).dtype(at::get_default_dtype());
    if (self >= 0) options = call.Tensor(self).tensor.options();
    if (type >= 0 && call.Has(type)) options = options.dtype(*call.Type(type));
    const Sizes wanted = sizes >= 0 ? call.Integers(sizes) : call.Tensor(self).sizes();
    call.Return(Stacked(Drawn(call, wanted, options, [](std::uint32_t bits) {
      return static_cast<double>(bits >> 8) * 0x1p-24;
    })));
  };
}

// Ones with a probability that is a number, in the sizes of the operand.
Action Bernoulli(const Signature& signature) {
  const int p = signature.Place("p");
  if (p < 0 || signature.schema.arguments()[p].type()->kind() != c10::TypeKind::FloatType)
    return {};
  return [p](Call& call) {
    const Value& x = call.Tensor(0);
    call.Return(Stacked(DrawnMask(call, x.sizes(), call.Real(p), 1, x.tensor.options())));
  };
}

}  // namespace sluice::train
