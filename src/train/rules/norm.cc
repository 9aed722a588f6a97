#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// [B, F, C, ...] as [B, F * C, ...], so that channels of all trials lie side by side.
at::Tensor SideBySide(const Value& x, std::int64_t trials) {
  return At(x, 1, trials).flatten(1, 2);
}

at::Tensor OfChannels(const Value& value, std::int64_t trials) {
  if (!value.tensor.defined()) return {};
  return At(value, 0, trials).reshape({-1});
}

Value Apart(const at::Tensor& y, std::int64_t trials) {
  return Stacked(y.unflatten(1, {trials, y.size(1) / trials}), 1);
}

// gain * x + bias, in the layout of x. Either may be missing.
Value Affine(const Value& x, const Value& gain, const Value& bias) {
  if (!gain.tensor.defined() && !bias.tensor.defined()) return x;
  const Aligned all = Align({&x, &gain, &bias});
  at::Tensor y;
  if (!bias.tensor.defined()) {
    y = all.tensors[0] * all.tensors[1];
  } else if (!gain.tensor.defined()) {
    y = all.tensors[0] + all.tensors[2];
  } else {
    y = at::addcmul(all.tensors[2], all.tensors[0], all.tensors[1]);
  }
  const std::int64_t axis = y.dim() - all.trailing - 1;
  return Stacked(std::move(y), axis);
}

// Normalises over the last dimensions. `normalise` gets the gain and the bias if they are shared.
template <typename Normalise>
Value OverLastDims(const Value& x, const Value& gain, const Value& bias, std::int64_t dims,
                   Normalise normalise) {
  const Value in = !x.stacked() || x.trailing() >= dims ? x : Stacked(InFront(x));
  const auto as_in = [&](at::Tensor y) {
    return in.stacked() ? Stacked(std::move(y), in.axis) : Shared(std::move(y));
  };
  if (!gain.stacked() && !bias.stacked())
    return as_in(normalise(in.tensor, gain.tensor, bias.tensor));
  const at::ScalarType type = in.tensor.scalar_type();
  if (!IsLower(type)) return Affine(as_in(normalise(in.tensor, {}, {})), gain, bias);
  // The operator itself rounds once, at the end.
  Value y = Affine(as_in(normalise(in.tensor.to(at::kFloat), {}, {})), gain, bias);
  y.tensor = y.tensor.to(type);
  return y;
}

}  // namespace

// Running statistics are written, although the schema does not say so: here they are new tensors,
// which take the places of the old.
Action BatchNorm(const Signature& signature) {
  const bool instance = signature.Place("use_input_stats") >= 0;
  if (!instance && signature.Place("training") < 0) return {};
  return [instance](Call& call) {
    const bool own_statistics = call.Flag(5);
    const bool stacked = call.AnyStacked();
    const std::int64_t trials = stacked ? call.trials() : 1;
    const at::Tensor x = stacked ? SideBySide(call.Tensor(0), trials) : call.Tensor(0).tensor;
    const auto statistics = [&](int place) {
      const at::Tensor held = OfChannels(call.Tensor(place), trials);
      return held.defined() && own_statistics ? held.detach().clone() : held;
    };
    const at::Tensor mean = statistics(3);
    const at::Tensor variance = statistics(4);
    const at::Tensor gain = OfChannels(call.Tensor(1), trials);
    const at::Tensor bias = OfChannels(call.Tensor(2), trials);
    const auto run = instance ? at::instance_norm : at::batch_norm;
    const at::Tensor y = run(x, gain, bias, mean, variance, own_statistics, call.Real(6),
                             call.Real(7), call.Flag(8));
    for (const int place : {3, 4}) {
      const at::Tensor& written = place == 3 ? mean : variance;
      if (!own_statistics || !written.defined()) continue;
      call.Rebind(place, stacked ? Stacked(written.reshape({trials, -1})) : Shared(written));
    }
    call.Return(stacked ? Apart(y, trials) : Shared(y));
  };
}

Action GroupNorm(const Signature&) {
  return [](Call& call) {
    const std::int64_t trials = call.trials();
    const at::Tensor y =
        at::group_norm(SideBySide(call.Tensor(0), trials), call.Integer(1) * trials,
                       OfChannels(call.Tensor(2), trials), OfChannels(call.Tensor(3), trials),
                       call.Real(4), call.Flag(5));
    call.Return(Apart(y, trials));
  };
}

Action LayerNorm(const Signature&) {
  return [](Call& call) {
    const Sizes over = call.Integers(1);
    call.Return(OverLastDims(
        call.Tensor(0), call.Tensor(2), call.Tensor(3), static_cast<std::int64_t>(over.size()),
        [&](const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias) {
          return at::layer_norm(x, over, gain, bias, call.Real(4), false);
        }));
  };
}

// v * g / ||v||, with a norm for each place along `dim`, or one of all elements.
Action WeightNorm(const Signature&) {
  return [](Call& call) {
    const Value& v = call.Tensor(0);
    const std::int64_t kept = call.Integer(2) == -1 ? -1 : v.Physical(call.Integer(2));
    Sizes over;
    for (std::int64_t dim = 0; dim < v.tensor.dim(); ++dim)
      if (dim != v.axis && dim != kept) over.push_back(dim);
    at::Tensor norm = at::linalg_vector_norm(v.tensor, 2, at::IntArrayRef(over), true);
    Value ratio;
    {
      const Value norms = v.stacked() ? Stacked(std::move(norm), v.axis) : Shared(std::move(norm));
      const Aligned both = Align({&norms, &call.Tensor(1)});
      at::Tensor quotient = both.tensors[1] / both.tensors[0];
      const std::int64_t axis = quotient.dim() - both.trailing - 1;
      ratio = Stacked(std::move(quotient), axis);
    }
    const Aligned both = Align({&v, &ratio});
    at::Tensor w = both.tensors[0] * both.tensors[1];
    const std::int64_t axis = w.dim() - both.trailing - 1;
    call.Return(Stacked(std::move(w), axis));
  };
}

Action RmsNorm(const Signature&) {
  return [](Call& call) {
    const Sizes over = call.Integers(1);
    const std::optional<double> eps = call.Has(3) ? std::optional(call.Real(3)) : std::nullopt;
    call.Return(OverLastDims(
        call.Tensor(0), call.Tensor(2), Value{}, static_cast<std::int64_t>(over.size()),
        [&](const at::Tensor& x, const at::Tensor& gain, const at::Tensor&) {
          return at::rms_norm(x, over, gain.defined() ? std::optional(gain) : std::nullopt, eps);
        }));
  };
}

}  // namespace sluice::train
