#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "train/rules/drawn.h"
#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// Above 0 and below 1.
double InsideUnit(std::uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }
// From 0 to below 1, as fine as float32 tells numbers apart.
double OfUnit(std::uint32_t bits) { return static_cast<double>(bits >> 8) * 0x1p-24; }

// Numbers of a normal law, each of two draws (Box and Muller): [F, sizes...] in double precision.
at::Tensor StandardNormal(const Call& call, Sizes sizes) {
  sizes.push_back(2);
  const at::Tensor uniform = Drawn(call, sizes, at::dtype(at::kDouble), InsideUnit);
  const at::Tensor radius = (uniform.select(-1, 0).log() * -2).sqrt();
  return radius * (uniform.select(-1, 1) * (2 * M_PI)).cos();
}

// The largest number up to which a type has all whole numbers.
std::int64_t LargestWhole(at::ScalarType type) {
  switch (type) {
    case at::kBool: return 1;
    case at::kByte: return UINT8_MAX;
    case at::kChar: return INT8_MAX;
    case at::kShort: return INT16_MAX;
    case at::kInt: return INT32_MAX;
    case at::kBFloat16: return std::int64_t{1} << 8;
    case at::kHalf: return std::int64_t{1} << 11;
    case at::kFloat: return std::int64_t{1} << 24;
    case at::kDouble: return std::int64_t{1} << 53;
    default: return INT64_MAX;
  }
}

// `count` numbers from `least` on, each of two draws: [F, sizes...]. They wrap around 2^64, which
// `count` 0 stands for.
at::Tensor WholeNumbers(const Call& call, at::IntArrayRef sizes, std::uint64_t least,
                        std::uint64_t count) {
  std::vector<std::int64_t> all = {call.trials()};
  all.insert(all.end(), sizes.begin(), sizes.end());
  at::Tensor tensor = at::empty(all, at::kLong);
  const std::int64_t of_trial = tensor.numel() / call.trials();
  auto* out = tensor.data_ptr<std::int64_t>();
  for (std::int64_t trial = 0; trial < call.trials(); ++trial) {
    const std::vector<std::uint32_t> bits = Bits(call, trial, 2 * of_trial);
    for (std::int64_t i = 0; i < of_trial; ++i) {
      const std::uint64_t drawn = std::uint64_t{bits[2 * i]} << 32 | bits[2 * i + 1];
      *out++ = static_cast<std::int64_t>(least + (count == 0 ? drawn : drawn % count));
    }
  }
  return tensor;
}

}  // namespace

Action RandNormal(const Signature& signature) {
  const int sizes = signature.Place("size");
  const int self = signature.Place("self");
  const int type = signature.Place("dtype");
  if ((sizes < 0) == (self < 0)) return {};
  return [=](Call& call) {
    at::TensorOptions options = at::TensorOptions(at::kCPU).dtype(at::get_default_dtype());
    if (self >= 0) options = call.Tensor(self).tensor.options();
    if (type >= 0 && call.Has(type)) options = options.dtype(*call.Type(type));
    const Sizes wanted = sizes >= 0 ? call.Integers(sizes) : call.Tensor(self).sizes();
    call.Return(Stacked(StandardNormal(call, wanted).to(options)));
  };
}

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
    call.Return(Stacked(Drawn(call, wanted, options, OfUnit)));
  };
}

// Ones with a probability that is a number, in the sizes of the operand.
Action Bernoulli(const Signature& signature) {
  const int p = signature.Place("p");
  if (p < 0 || signature.schema.arguments()[p].type()->kind() != c10::TypeKind::FloatType)
    return {};
  return [p](Call& call) {
    const Value& x = call.Tensor(0);
    TORCH_CHECK(call.Real(p) >= 0 && call.Real(p) <= 1,
                "expected a probability from 0 to 1, found ", call.Real(p));
    const double bound = call.Real(p) * 0x1p32;
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(), [bound](std::uint32_t bits) {
      return static_cast<double>(bits) < bound ? 1.0 : 0.0;
    })));
  };
}

// Numbers in the sizes and the type of an operand, which is written in place.
Action Uniform(const Signature& signature) {
  if (signature.Place("from") != 1 || signature.Place("to") != 2) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const double from = call.Real(1);
    const double width = call.Real(2) - from;
    TORCH_CHECK(width >= 0, "expected uniform numbers from ", from, " to more, found ",
                call.Real(2));
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(),
                              [=](std::uint32_t bits) { return from + width * OfUnit(bits); })));
  };
}

Action Normal(const Signature& signature) {
  if (signature.Place("mean") != 1 || signature.Place("std") != 2) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    TORCH_CHECK(call.Real(2) >= 0, "expected a deviation of at least 0, found ", call.Real(2));
    const at::Tensor numbers = StandardNormal(call, x.sizes()) * call.Real(2) + call.Real(1);
    call.Return(Stacked(numbers.to(x.tensor.options())));
  };
}

Action Exponential(const Signature& signature) {
  if (signature.Place("lambd") != 1) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const double rate = call.Real(1);
    TORCH_CHECK(rate > 0, "expected a rate above 0, found ", rate);
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(), [=](std::uint32_t bits) {
      return -std::log(InsideUnit(bits)) / rate;
    })));
  };
}

Action LogNormal(const Signature& signature) {
  if (signature.Place("mean") != 1 || signature.Place("std") != 2) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    TORCH_CHECK(call.Real(2) > 0, "expected a deviation above 0, found ", call.Real(2));
    const at::Tensor normal = StandardNormal(call, x.sizes()) * call.Real(2) + call.Real(1);
    call.Return(Stacked(normal.exp().to(x.tensor.options())));
  };
}

Action Cauchy(const Signature& signature) {
  if (signature.Place("median") != 1 || signature.Place("sigma") != 2) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const double median = call.Real(1);
    const double sigma = call.Real(2);
    TORCH_CHECK(sigma > 0, "expected a sigma above 0, found ", sigma);
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(), [=](std::uint32_t bits) {
      return median + sigma * std::tan(M_PI * (InsideUnit(bits) - 0.5));
    })));
  };
}

// How often is tried what succeeds with a probability, up to the first success.
Action Geometric(const Signature& signature) {
  if (signature.Place("p") != 1) return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const double p = call.Real(1);
    TORCH_CHECK(p > 0 && p < 1, "expected a probability between 0 and 1, found ", p);
    call.Return(Stacked(Drawn(call, x.sizes(), x.tensor.options(), [=](std::uint32_t bits) {
      return std::max(1.0, std::ceil(std::log(InsideUnit(bits)) / std::log1p(-p)));
    })));
  };
}

// Whole numbers from the first operand to below the second, each as likely as any other. Without
// bounds they are from 0 to the largest up to which the type has all whole numbers.
Action RandomWhole(const Signature& signature) {
  const int from = signature.Place("from");
  const int to = signature.Place("to");
  return [=](Call& call) {
    const Value& x = call.Tensor(0);
    const at::ScalarType type = x.tensor.scalar_type();
    const std::int64_t least = call.Has(from) ? call.Integer(from) : 0;
    const std::int64_t last = call.Has(to)                            ? call.Integer(to) - 1
                              : from >= 0 && at::isFloatingType(type) ? INT64_MAX
                                                                      : LargestWhole(type);
    TORCH_CHECK(least <= last && (!call.Has(to) || call.Integer(to) > INT64_MIN),
                "expected whole numbers from ", least, " to more, found ", last);
    // 0 stands for 2^64.
    const std::uint64_t count =
        static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(least) + 1;
    call.Return(Stacked(WholeNumbers(call, x.sizes(), static_cast<std::uint64_t>(least), count)
                            .to(x.tensor.options())));
  };
}

// Elements that are not positive are scaled by slopes between two bounds, drawn in training.
Action RandomRelu(const Signature& signature) {
  if (signature.Place("lower") != 1 || signature.Place("upper") != 2 ||
      signature.Place("training") != 3)
    return {};
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const double lower = call.Real(1);
    const double upper = call.Real(2);
    if (!call.Flag(3))
      return call.Return(Stacked(at::leaky_relu(x.tensor, (lower + upper) / 2), x.axis));
    const Value slopes =
        Stacked(Drawn(call, x.sizes(), x.tensor.options(),
                      [=](std::uint32_t bits) { return lower + (upper - lower) * OfUnit(bits); }));
    const Aligned both = Align({&x, &slopes});
    at::Tensor y =
        at::where(both.tensors[0] > 0, both.tensors[0], both.tensors[0] * both.tensors[1]);
    const std::int64_t axis = y.dim() - both.trailing - 1;
    call.Return(Stacked(std::move(y), axis));
  };
}

}  // namespace sluice::train
