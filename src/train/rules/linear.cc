#include <ATen/autocast_mode.h>

#include <cctype>
#include <string>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// The trials of a bias [out], beside those of rows: [F, 1, out] or [out].
at::Tensor RowBias(const Value& bias) {
  return bias.stacked() ? InFront(bias).unsqueeze(1) : bias.tensor;
}

// One product with F * out outputs: the operand is read once for all trials.
Value WideLinear(const Value& x, const Value& weight, const Value& bias, std::int64_t trials) {
  const at::Tensor w = InFront(weight);
  at::Tensor b;
  if (bias.tensor.defined()) b = At(bias, 0, trials).reshape({-1});
  const at::Tensor y = at::linear(x.tensor, w.flatten(0, 1), b);
  return Stacked(y.unflatten(-1, {trials, w.size(1)}), y.dim() - 1);
}

Value StackedLinear(const Value& x, const Value& weight, const Value& bias) {
  const at::Tensor in = InFront(x);
  const at::Tensor rows = in.dim() == 3 ? in : in.reshape({in.size(0), -1, in.size(-1)});
  const at::Tensor columns = InFront(weight).transpose(1, 2);
  const at::Tensor y =
      bias.tensor.defined() ? at::baddbmm(RowBias(bias), rows, columns) : at::bmm(rows, columns);
  if (in.dim() == 3) return Stacked(y);
  Sizes sizes(in.sizes().begin(), in.sizes().end());
  sizes.back() = y.size(2);
  return Stacked(y.reshape(sizes));
}

// Both with as many dimensions, at least two, so that those before the last two broadcast with the
// trials in front of them.
Value Product(const Value& left, const Value& right, std::int64_t trials) {
  const auto as_matrix = [](const Value& x, bool column) {
    if (x.rank() != 1) return x;
    const std::int64_t at = column ? -1 : -2;
    return x.stacked() ? Stacked(InFront(x).unsqueeze(at)) : Shared(x.tensor.unsqueeze(at));
  };
  const Value a = as_matrix(left, false);
  const Value b = as_matrix(right, true);
  const std::int64_t rank = std::max(a.rank(), b.rank());
  at::Tensor y;
  if (rank == 2 && a.stacked() && b.stacked()) {
    y = at::bmm(InFront(a), InFront(b));
  } else if (rank == 2) {
    y = at::bmm(At(a, 0, trials), At(b, 0, trials));
  } else {
    y = at::matmul(InFront(a, rank), InFront(b, rank));
  }
  if (right.rank() == 1) y = y.squeeze(-1);
  if (left.rank() == 1) y = y.squeeze(right.rank() == 1 ? -1 : -2);
  return Stacked(std::move(y));
}

}  // namespace

Value LinearOf(const Value& x, const Value& weight, const Value& bias, std::int64_t trials) {
  if (weight.stacked())
    return x.stacked() ? StackedLinear(x, weight, bias) : WideLinear(x, weight, bias, trials);
  const std::int64_t axis = !x.stacked() || x.trailing() >= 1 ? x.axis : 0;
  const at::Tensor in = axis == x.axis ? x.tensor : InFront(x);
  if (!bias.stacked()) return Stacked(at::linear(in, weight.tensor, bias.tensor), axis);
  const Value y = Stacked(at::linear(in, weight.tensor), axis);
  const Aligned both = Align({&y, &bias});
  at::Tensor sum = both.tensors[0] + both.tensors[1].to(both.tensors[0].scalar_type());
  const std::int64_t place = sum.dim() - both.trailing - 1;
  return Stacked(std::move(sum), place);
}

Action Linear(const Signature&) {
  return [](Call& call) {
    const Value& x = call.Tensor(0);
    const Value& weight = call.Tensor(1);
    const Value& bias = call.Tensor(2);
    if (weight.rank() != 2 || (bias.tensor.defined() && bias.rank() != 1)) return call.Loop();
    call.Return(LinearOf(x, weight, bias, call.trials()));
  };
}

Action Matmul(const Signature& signature) {
  if (signature.Tensors().size() != 2) return {};
  const std::string& name = signature.schema.name();
  if (name == "aten::dot" || name == "aten::mv") {
    // Not all devices have them among the operators of lower precision.
    return [](Call& call) {
      const at::Tensor& like = call.Tensor(0).tensor;
      const auto key =
          at::autocast::get_autocast_dispatch_key_from_device_type(like.device().type());
      std::optional<WithoutAutocast> guard;
      if (AutocastType(like) && !call.step().op->hasKernelForDispatchKey(key)) guard.emplace(like);
      call.Return(Product(call.Tensor(0), call.Tensor(1), call.trials()));
    };
  }
  return [](Call& call) { call.Return(Product(call.Tensor(0), call.Tensor(1), call.trials())); };
}

Action AddMatmul(const Signature& signature) {
  const int beta = signature.Place("beta");
  const int alpha = signature.Place("alpha");
  if (signature.Tensors().size() != 3 || beta < 0 || alpha < 0) return {};
  return [beta, alpha](Call& call) {
    const Value& bias = call.Tensor(0);
    const Value& left = call.Tensor(1);
    const Value& right = call.Tensor(2);
    if (left.rank() != 2 || right.rank() != 2) return call.Loop();
    call.Return(
        Stacked(at::baddbmm(InFront(bias, 2), At(left, 0, call.trials()),
                            At(right, 0, call.trials()), call.Number(beta), call.Number(alpha))));
  };
}

// The batch carries the trials.
Action AddBatchedMatmul(const Signature& signature) {
  const int beta = signature.Place("beta");
  const int alpha = signature.Place("alpha");
  if (signature.Tensors().size() != 3 || beta < 0 || alpha < 0) return {};
  return [beta, alpha](Call& call) {
    const Value& bias = call.Tensor(0);
    if (bias.rank() > 3 || call.Tensor(1).rank() != 3 || call.Tensor(2).rank() != 3)
      return call.Loop();
    const at::Tensor left = At(call.Tensor(1), 0, call.trials());
    const at::Tensor right = At(call.Tensor(2), 0, call.trials());
    const at::Tensor own =
        InFront(bias, 3).expand({left.size(0), left.size(1), left.size(2), right.size(3)});
    const at::Tensor y = at::baddbmm(own.flatten(0, 1), left.flatten(0, 1), right.flatten(0, 1),
                                     call.Number(beta), call.Number(alpha));
    call.Return(Stacked(y.unflatten(0, {left.size(0), left.size(1)})));
  };
}

Action Einsum(const Signature& signature) {
  if (signature.Place("equation") != 0) return {};
  return [](Call& call) {
    std::string equation;
    for (const char letter : call.Text(0))
      if (letter != ' ') equation.push_back(letter);
    char fresh = 'A';
    while (equation.find(fresh) != std::string::npos && fresh < 'Z') ++fresh;
    const std::size_t arrow = equation.find("->");
    // Without an arrow the result has the letters that occur once, in their order.
    if (arrow == std::string::npos || equation.find(fresh) != std::string::npos) return call.Loop();
    std::vector<at::Tensor> tensors;
    std::string fused;
    std::size_t at = 0;
    for (const Value* value : call.Tensors(1)) {
      const std::size_t end = std::min(equation.find(',', at), arrow);
      if (value->stacked()) fused.push_back(fresh);
      fused += equation.substr(at, end - at);
      fused += end == arrow ? "->" : ",";
      at = end + 1;
      tensors.push_back(InFront(*value));
    }
    fused.push_back(fresh);
    fused += equation.substr(arrow + 2);
    call.Return(Stacked(at::einsum(fused, tensors)));
  };
}

}  // namespace sluice::train
