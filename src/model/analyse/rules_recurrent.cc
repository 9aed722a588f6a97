#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

std::int64_t GatesOf(std::string_view op) {
  if (op.starts_with("lstm")) return 4;
  return op.starts_with("gru") ? 3 : 1;
}

// [gates * hidden, in]
void GateWeight(Inference& inference, const Shape& weight, std::int64_t gates, Dim hidden, Dim in) {
  if (weight.size() != 2) inference.Fail("expected a matrix as weight");
  if (!inference.ok()) return;
  inference.Unify(weight[0], inference.Product({inference.Fixed(gates), hidden}));
  inference.Unify(weight[1], in);
}

void GateBias(Inference& inference, const Shape& bias, std::int64_t gates, Dim hidden) {
  if (bias.size() != 1) inference.Fail("expected a vector as bias");
  if (!inference.ok()) return;
  inference.Unify(bias[0], inference.Product({inference.Fixed(gates), hidden}));
}

}  // namespace

void Recurrent(const Step& step, Inference& inference) {
  const std::int64_t gates = GatesOf(step.op());
  const bool is_lstm = gates == 4;
  const Shape input = step.First();
  const std::vector<Shape> states =
      is_lstm ? step.Tensors("hx") : std::vector<Shape>{step.Tensor("hx")};
  const std::vector<Shape> weights = step.Tensors("params");
  const bool has_biases = step.Boolean("has_biases", true);
  const std::int64_t layers = step.Integer("num_layers", 1);
  const std::size_t directions = step.Boolean("bidirectional", false) ? 2 : 1;
  const bool batch_first = step.Boolean("batch_first", false);
  if (input.size() != 3 && input.size() != 2) inference.Fail("expected sequences of vectors");
  const bool fit =
      std::ranges::all_of(states, [&](const Shape& state) { return state.size() == input.size(); });
  if (states.size() != (is_lstm ? 2 : 1) || !fit)
    inference.Fail("expected a state for each sequence");
  if (layers < 1 || layers > 10'000) inference.Fail("expected at least one layer");
  if (!inference.ok()) return;

  // With a projection the output has another size than the cell.
  const Dim output = states[0].back();
  const Dim cell = states.back().back();
  const std::size_t cells = static_cast<std::size_t>(layers) * directions;
  const std::size_t plain = has_biases ? 4 : 2;
  const bool projects = is_lstm && weights.size() == (plain + 1) * cells;
  const std::size_t each = plain + (projects ? 1 : 0);
  if (weights.size() != each * cells) {
    inference.Fail("the number of weights does not match the layers");
    return;
  }
  if (!projects) inference.Unify(output, cell);
  const Dim wide = directions == 2 ? inference.Sum({output, output}) : output;
  const std::vector<std::optional<ValueId>> values = step.ValuesOf("params");
  for (std::size_t c = 0; c < cells && inference.ok(); ++c) {
    const Shape* const own = &weights[c * each];
    inference.AddUse(*values[c * each], {1});
    inference.AddUse(*values[c * each + 1], {1});
    if (projects) inference.AddUse(*values[c * each + each - 1], {1});
    GateWeight(inference, own[0], gates, cell, c < directions ? input.back() : wide);
    GateWeight(inference, own[1], gates, cell, output);
    if (has_biases) {
      GateBias(inference, own[2], gates, cell);
      GateBias(inference, own[3], gates, cell);
    }
    if (projects && inference.ok()) {
      const Shape& projection = own[each - 1];
      if (projection.size() != 2) inference.Fail("expected a matrix as projection");
      if (!inference.ok()) return;
      inference.Unify(projection[0], output);
      inference.Unify(projection[1], cell);
    }
  }
  if (!inference.ok()) return;
  for (const Shape& state : states) {
    if (input.size() == 3) inference.Unify(state[1], input[batch_first ? 0 : 1]);
    inference.Fix(state[0], "layers");
  }
  Shape out = input;
  out.back() = wide;
  std::vector<Shape> outs = {out};
  outs.insert(outs.end(), states.begin(), states.end());
  inference.SetOutputs(std::move(outs));
}

void RecurrentCell(const Step& step, Inference& inference) {
  const std::int64_t gates = GatesOf(step.op());
  const bool is_lstm = gates == 4;
  const Shape input = step.First();
  const std::vector<Shape> states =
      is_lstm ? step.Tensors("hx") : std::vector<Shape>{step.Tensor("hx")};
  if (input.empty() || states.empty() || states[0].empty()) inference.Fail("expected vectors");
  if (!inference.ok()) return;
  const Dim hidden = states[0].back();
  for (const Shape& state : states) {
    if (state.empty()) inference.Fail("expected vectors");
    if (!inference.ok()) return;
    inference.Unify(state.back(), hidden);
  }
  GateWeight(inference, step.Tensor("w_ih"), gates, hidden, input.back());
  GateWeight(inference, step.Tensor("w_hh"), gates, hidden, hidden);
  inference.AddUse(step.ValueOf("w_ih"), {1});
  inference.AddUse(step.ValueOf("w_hh"), {1});
  for (const char* name : {"b_ih", "b_hh"})
    if (step.Has(name) && inference.ok()) GateBias(inference, step.Tensor(name), gates, hidden);
  inference.SetOutputs(std::vector<Shape>(step.outputs(), states[0]));
}

}  // namespace sluice::model
