#include <string>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// What the convolutions have in common: [B, F, C, ...] is handed over as [B, F * C, ...].
struct Joint {
  at::Tensor input;
  at::Tensor weight;
  at::Tensor bias;
  std::int64_t groups = 1;
  bool fold = false;  // the weights are shared: the batch carries the trials
  std::int64_t batch = 0;
};

at::Tensor Channels(const Value& x, std::int64_t trials) { return At(x, 1, trials).flatten(1, 2); }

at::Tensor PerChannel(const Value& bias, std::int64_t trials) {
  if (!bias.tensor.defined()) return {};
  return At(bias, 0, trials).reshape({-1});
}

// `out_dim`: the dimension of a weight that counts outputs, in one trial.
Joint Join(const Value& x, const Value& weight, const Value& bias, std::int64_t groups,
           std::int64_t trials, std::int64_t out_dim) {
  Joint joint{.input = {}, .weight = weight.tensor, .bias = bias.tensor, .groups = groups};
  if (!weight.stacked() && !bias.stacked()) {
    joint.fold = true;
    const at::Tensor input = At(x, 0, trials);
    joint.batch = input.size(1);
    joint.input = input.flatten(0, 1);
    return joint;
  }
  joint.bias = PerChannel(bias, trials);
  if (!x.stacked() && groups == 1) {
    // The batch is read once: one convolution with F * out outputs.
    joint.input = x.tensor;
    joint.weight = At(weight, out_dim, trials).flatten(out_dim, out_dim + 1);
    return joint;
  }
  joint.input = Channels(x, trials);
  joint.weight = At(weight, 0, trials).flatten(0, 1);
  joint.groups = groups * trials;
  return joint;
}

// Runs `convolve(joint)` on batches, also where the operand is one image without a batch.
template <typename Convolve>
void ConvolveJoint(Call& call, int groups, std::int64_t out_dim, Convolve convolve) {
  Value x = call.Tensor(0);
  const Value& weight = call.Tensor(1);
  const bool one = x.rank() == weight.rank() - 1;
  if (one) {
    x = x.stacked() ? Stacked(InFront(x).unsqueeze(1)) : Shared(x.tensor.unsqueeze(0));
  }
  const std::int64_t trials = call.trials();
  const Joint joint = Join(x, weight, call.Tensor(2), call.Integer(groups), trials, out_dim);
  at::Tensor y = convolve(joint);
  if (joint.fold) {
    y = y.unflatten(0, {trials, joint.batch});
    return call.Return(Stacked(one ? y.squeeze(1) : y));
  }
  y = y.unflatten(1, {trials, y.size(1) / trials});
  call.Return(one ? Stacked(y.squeeze(0)) : Stacked(std::move(y), 1));
}

// 2 of "aten::conv2d"; 0 for a name that does not say it.
int DimsOf(const Signature& signature) {
  const std::string& name = signature.schema.name();
  const int dims = name.ends_with('d') ? name[name.size() - 2] - '0' : 0;
  return dims >= 1 && dims <= 3 ? dims : 0;
}

}  // namespace

Action Convolution(const Signature& signature) {
  const int groups = signature.Place("groups");
  const int dims = DimsOf(signature);
  if (groups < 0 || dims == 0 || signature.Place("transposed") >= 0) return {};
  const bool text = signature.schema.arguments()[signature.Place("padding")].type()->kind() ==
                    c10::TypeKind::StringType;
  return [=](Call& call) {
    ConvolveJoint(call, groups, 0, [&](const Joint& joint) {
      const auto run = [&](auto padding) {
        const Sizes stride = call.Integers(3);
        const Sizes dilation = call.Integers(5);
        const auto by = [&](auto convolve) {
          return convolve(joint.input, joint.weight, joint.bias, stride, padding, dilation,
                          joint.groups);
        };
        if (dims == 1) return by([](auto... all) { return at::conv1d(all...); });
        if (dims == 2) return by([](auto... all) { return at::conv2d(all...); });
        return by([](auto... all) { return at::conv3d(all...); });
      };
      return text ? run(call.Text(4)) : run(call.Integers(4));
    });
  };
}

Action TransposedConvolution(const Signature& signature) {
  const int groups = signature.Place("groups");
  const int dims = DimsOf(signature);
  if (groups < 0 || dims == 0) return {};
  return [=](Call& call) {
    ConvolveJoint(call, groups, 1, [&](const Joint& joint) {
      const auto by = [&](auto convolve) {
        return convolve(joint.input, joint.weight, joint.bias, call.Integers(3), call.Integers(4),
                        call.Integers(5), joint.groups, call.Integers(7));
      };
      if (dims == 1) return by([](auto... all) { return at::conv_transpose1d(all...); });
      if (dims == 2) return by([](auto... all) { return at::conv_transpose2d(all...); });
      return by([](auto... all) { return at::conv_transpose3d(all...); });
    });
  };
}

}  // namespace sluice::train
