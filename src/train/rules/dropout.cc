#include <algorithm>
#include <cmath>
#include <utility>

#include "train/rules/drawn.h"
#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// Layouts follow the value, so that a mask costs no copy of it.
Value Masked(const Value& x, const at::Tensor& mask, const Call& call) {
  if (!x.stacked()) return Stacked(x.tensor * mask);
  return Stacked(x.tensor * At(Stacked(mask), x.axis, call.trials()), x.axis);
}

// Whole channels are dropped: the draws are of the first two dimensions.
Sizes WholeChannels(Sizes sizes) {
  for (std::size_t dim = 2; dim < sizes.size(); ++dim) sizes[dim] = 1;
  return sizes;
}

Action DropoutOf(Sizes (*drawn)(Sizes)) {
  return [drawn](Call& call) {
    const Value x = call.Tensor(0);
    if (!call.Flag(2)) return call.Return(x);
    const Rates rates = RatesOf(call, call.Real(1));
    if (AllZero(rates)) return call.Return(x);
    call.Return(Masked(x, DropoutMask(call, drawn(x.sizes()), rates, x.tensor.options()), call));
  };
}

// A number for each trial, beside elements with so many dimensions.
at::Tensor OfTrials(const Rates& numbers, std::int64_t rank, const at::TensorOptions& options) {
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(numbers.size())};
  sizes.resize(rank + 1, 1);
  return at::tensor(at::ArrayRef<double>(numbers), at::kDouble).to(options).view(sizes);
}

// Dropped elements get the value that a SELU saturates at; mean and variance are kept.
Action AlphaDropoutOf(Sizes (*drawn)(Sizes)) {
  return [drawn](Call& call) {
    const Value x = call.Tensor(0);
    if (!call.Flag(2)) return call.Return(x);
    const Rates rates = RatesOf(call, call.Real(1));
    if (AllZero(rates)) return call.Return(x);
    constexpr double kAlpha = 1.7580993408473766;
    Rates scales;
    Rates shifts;
    for (const double p : rates) {
      TORCH_CHECK(p < 1, "expected a rate of dropout below 1, found ", p);
      scales.push_back(1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p)));
      shifts.push_back(kAlpha * scales.back());
    }
    const auto options = x.tensor.options();
    const std::int64_t rank = x.rank();
    const at::Tensor kept = DrawnByTrial(call, drawn(x.sizes()), options, [&](std::int64_t trial) {
      return [bound = (1 - rates[trial]) * 0x1p32](std::uint32_t bits) {
        return static_cast<double>(bits) < bound ? 1.0 : 0.0;
      };
    });
    const Value scaled = Masked(x, kept * OfTrials(scales, rank, options), call);
    const Value shift =
        Stacked((kept - 1 + OfTrials(rates, rank, options)) * OfTrials(shifts, rank, options));
    const Aligned both = Align({&scaled, &shift});
    at::Tensor y = both.tensors[0] + both.tensors[1];
    const std::int64_t axis = y.dim() - both.trailing - 1;
    call.Return(Stacked(std::move(y), axis));
  };
}

}  // namespace

Rates RatesOf(const Call& call, double in_graph) {
  const std::vector<double>* given = call.rates();
  Rates rates = given ? Rates(given->begin(), given->end()) : Rates(call.trials(), in_graph);
  for (const double p : rates)
    TORCH_CHECK(p >= 0 && p <= 1, "expected a rate of dropout from 0 to 1, found ", p);
  return rates;
}

bool AllZero(const Rates& rates) {
  return std::ranges::all_of(rates, [](double p) { return p == 0; });
}

at::Tensor DropoutMask(const Call& call, at::IntArrayRef sizes, const Rates& rates,
                       const at::TensorOptions& options) {
  return DrawnByTrial(call, sizes, options, [&](std::int64_t trial) {
    const double p = rates[trial];
    return [bound = (1 - p) * 0x1p32, kept = p == 1 ? 0 : 1 / (1 - p)](std::uint32_t bits) {
      return static_cast<double>(bits) < bound ? kept : 0.0;
    };
  });
}

Action Dropout(const Signature&) {
  return DropoutOf([](Sizes sizes) { return sizes; });
}
Action FeatureDropout(const Signature&) { return DropoutOf(WholeChannels); }
Action AlphaDropout(const Signature&) {
  return AlphaDropoutOf([](Sizes sizes) { return sizes; });
}
Action FeatureAlphaDropout(const Signature&) { return AlphaDropoutOf(WholeChannels); }

}  // namespace sluice::train
