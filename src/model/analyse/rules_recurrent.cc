#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

std::int64_t GatesOf(std::string_view op) {
  if (op.starts_with("lstm")) return 4;
  return op.starts_with("gru") ? 3 : 1;
}

// [gates * hidden, in]
void GateWeight(Step& step, const Shape& weight, std::int64_t gates, Dim hidden, Dim in) {
  if (weight.size() != 2) step.Fail("expected a matrix as weight");
  if (!step.ok()) return;
  const Dim rows[] = {step.Fixed(gates), hidden};
  step.Same(weight[0], step.dims().Product(rows));
  step.Same(weight[1], in);
}

void GateBias(Step& step, const Shape& bias, std::int64_t gates, Dim hidden) {
  if (bias.size() != 1) step.Fail("expected a vector as bias");
  if (!step.ok()) return;
  const Dim rows[] = {step.Fixed(gates), hidden};
  step.Same(bias[0], step.dims().Product(rows));
}

}  // namespace

void Recurrent(Step& step) {
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
  if (input.size() != 3 && input.size() != 2) step.Fail("expected sequences of vectors");
  const bool fit =
      std::ranges::all_of(states, [&](const Shape& state) { return state.size() == input.size(); });
  if (states.size() != (is_lstm ? 2 : 1) || !fit) step.Fail("expected a state for each sequence");
  if (layers < 1 || layers > 10'000) step.Fail("expected at least one layer");
  if (!step.ok()) return;

  // With a projection the output has another size than the cell.
  const Dim output = states[0].back();
  const Dim cell = states.back().back();
  const std::size_t cells = static_cast<std::size_t>(layers) * directions;
  const std::size_t plain = has_biases ? 4 : 2;
  const bool projects = is_lstm && weights.size() == (plain + 1) * cells;
  const std::size_t each = plain + (projects ? 1 : 0);
  if (weights.size() != each * cells) {
    step.Fail("the number of weights does not go with the layers");
    return;
  }
  if (!projects) step.Same(output, cell);
  const Dim both[] = {output, output};
  const Dim wide = directions == 2 ? step.dims().Sum(both) : output;
  const std::vector<std::optional<ValueId>> values = step.Values("params");
  for (std::size_t c = 0; c < cells && step.ok(); ++c) {
    const Shape* const own = &weights[c * each];
    step.Contracts(*values[c * each], {1});
    step.Contracts(*values[c * each + 1], {1});
    if (projects) step.Contracts(*values[c * each + each - 1], {1});
    GateWeight(step, own[0], gates, cell, c < directions ? input.back() : wide);
    GateWeight(step, own[1], gates, cell, output);
    if (has_biases) {
      GateBias(step, own[2], gates, cell);
      GateBias(step, own[3], gates, cell);
    }
    if (projects && step.ok()) {
      const Shape& projection = own[each - 1];
      if (projection.size() != 2) step.Fail("expected a matrix as projection");
      if (!step.ok()) return;
      step.Same(projection[0], output);
      step.Same(projection[1], cell);
    }
  }
  if (!step.ok()) return;
  for (const Shape& state : states) {
    if (input.size() == 3) step.Same(state[1], input[batch_first ? 0 : 1]);
    step.Fix(state[0], "layers");
  }
  Shape out = input;
  out.back() = wide;
  std::vector<Shape> outs = {out};
  outs.insert(outs.end(), states.begin(), states.end());
  step.SetOutputs(std::move(outs));
}

void RecurrentCell(Step& step) {
  const std::int64_t gates = GatesOf(step.op());
  const bool is_lstm = gates == 4;
  const Shape input = step.First();
  const std::vector<Shape> states =
      is_lstm ? step.Tensors("hx") : std::vector<Shape>{step.Tensor("hx")};
  if (input.empty() || states.empty() || states[0].empty()) step.Fail("expected vectors");
  if (!step.ok()) return;
  const Dim hidden = states[0].back();
  for (const Shape& state : states) {
    if (state.empty()) step.Fail("expected vectors");
    if (!step.ok()) return;
    step.Same(state.back(), hidden);
  }
  GateWeight(step, step.Tensor("w_ih"), gates, hidden, input.back());
  GateWeight(step, step.Tensor("w_hh"), gates, hidden, hidden);
  step.Contracts("w_ih", {1});
  step.Contracts("w_hh", {1});
  for (const char* name : {"b_ih", "b_hh"})
    if (step.Has(name) && step.ok()) GateBias(step, step.Tensor(name), gates, hidden);
  step.SetOutputs(std::vector<Shape>(step.outputs(), states[0]));
}

}  // namespace sluice::model
