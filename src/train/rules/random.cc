#include <cmath>
#include <utility>

#include "train/rules/drawn.h"
#include "train/rules/rules.h"

namespace sluice::train {

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
    const double bound = call.Real(p) * 0x1p32;
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(), [bound](std::uint32_t bits) {
      return static_cast<double>(bits) < bound ? 1.0 : 0.0;
    })));
  };
}

}  // namespace sluice::train
