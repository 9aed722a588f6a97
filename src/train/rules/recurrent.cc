#include <algorithm>
#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

enum class Cell : std::uint8_t { kLstm, kGru, kTanh, kRelu };

Cell CellOf(const std::string& name) {
  if (name.starts_with("aten::lstm")) return Cell::kLstm;
  if (name.starts_with("aten::gru")) return Cell::kGru;
  return name.starts_with("aten::rnn_tanh") ? Cell::kTanh : Cell::kRelu;
}

// What a cell carries from one time to the next: [F, B, H] each.
struct Carried {
  at::Tensor hidden;
  at::Tensor memory;  // of an LSTM
};

// The weights of one layer and direction.
struct CellWeights {
  Value input;
  Value hidden;
  Value input_bias;
  Value hidden_bias;
};

at::Tensor InFrontOf(const Value& value, std::int64_t trials) {
  return value.tensor.defined() ? At(value, 0, trials) : at::Tensor();
}

// PyTorch's LSTM adds up its gates in float32.
at::Tensor Wide(const at::Tensor& x) { return IsLower(x.scalar_type()) ? x.to(at::kFloat) : x; }

// One time: `in` is the product of the input and its weights, [F, B, gates * H].
Carried Next(Cell cell, const at::Tensor& in, const Carried& before, const at::Tensor& columns,
             const at::Tensor& bias) {
  const at::Tensor own =
      bias.defined() ? at::baddbmm(bias, before.hidden, columns) : at::bmm(before.hidden, columns);
  switch (cell) {
    case Cell::kLstm: {
      const auto gates = (Wide(in) + Wide(own)).chunk(4, -1);
      const at::Tensor memory =
          gates[1].sigmoid() * before.memory + gates[0].sigmoid() * gates[2].tanh();
      return {gates[3].sigmoid() * memory.tanh(), memory};
    }
    case Cell::kGru: {
      const auto from_input = in.chunk(3, -1);
      const auto from_hidden = own.chunk(3, -1);
      const at::Tensor reset = (from_input[0] + from_hidden[0]).sigmoid();
      const at::Tensor update = (from_input[1] + from_hidden[1]).sigmoid();
      const at::Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
      return {fresh + update * (before.hidden - fresh), {}};
    }
    case Cell::kTanh: return {(in + own).tanh(), {}};
    case Cell::kRelu: return {(in + own).relu(), {}};
  }
  return before;
}

// One layer in one direction over [F, T, B, I]: its outputs [F, T, B, H], and what it ends with.
struct Passed {
  at::Tensor outputs;
  Carried last;
};
Passed Pass(Cell cell, const Value& x, const CellWeights& weights, Carried carried, bool backwards,
            std::int64_t trials) {
  const at::Tensor in = At(LinearOf(x, weights.input, weights.input_bias, trials), 0, trials);
  const at::Tensor columns = InFrontOf(weights.hidden, trials).transpose(1, 2);
  at::Tensor bias = InFrontOf(weights.hidden_bias, trials);
  if (bias.defined()) bias = bias.unsqueeze(1);
  const auto times = in.unbind(1);
  std::vector<at::Tensor> outputs(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t at = backwards ? times.size() - 1 - i : i;
    carried = Next(cell, times[at], carried, columns, bias);
    outputs[at] = carried.hidden;
  }
  return {at::stack(outputs, 1), std::move(carried)};
}

// The places of the arguments, which the operators have in common.
constexpr int kInput = 0;
constexpr int kStates = 1;
constexpr int kWeights = 2;
constexpr int kHasBiases = 3;
constexpr int kLayers = 4;
constexpr int kDropout = 5;
constexpr int kTrain = 6;
constexpr int kBidirectional = 7;
constexpr int kBatchFirst = 8;

std::vector<CellWeights> WeightsOf(const Call& call, bool biases, std::size_t count) {
  const std::vector<const Value*> all = call.Tensors(kWeights);
  const std::size_t each = biases ? 4 : 2;
  TORCH_CHECK(all.size() == each * count, "expected ", each * count, " weights, found ",
              all.size());
  std::vector<CellWeights> weights;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t place) { return *all[each * i + place]; };
    weights.push_back({at(0), at(1), biases ? at(2) : Value{}, biases ? at(3) : Value{}});
  }
  return weights;
}

void RunLayers(Call& call, Cell cell) {
  const std::int64_t trials = call.trials();
  const Value& given = call.Tensor(kInput);
  const bool batch_first = call.Flag(kBatchFirst);
  const std::int64_t layers = call.Integer(kLayers);
  const std::int64_t directions = call.Flag(kBidirectional) ? 2 : 1;
  const Rates rates = RatesOf(call, call.Flag(kTrain) ? call.Real(kDropout) : 0);
  const auto weights = WeightsOf(call, call.Flag(kHasBiases), layers * directions);
  std::vector<at::Tensor> states;
  if (cell == Cell::kLstm) {
    for (const Value* each : call.Tensors(kStates)) states.push_back(At(*each, 0, trials));
  } else {
    states.push_back(At(call.Tensor(kStates), 0, trials));
  }
  Value x = given;
  if (batch_first)
    x = given.stacked() ? Stacked(InFront(given).transpose(1, 2))
                        : Shared(given.tensor.transpose(0, 1));
  at::Tensor masks;
  if (!AllZero(rates) && layers > 1)
    masks = DropoutMask(call, {layers - 1, x.size(0), x.size(1), directions * states[0].size(-1)},
                        rates, x.tensor.options());
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> memory;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<at::Tensor> outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t at = layer * directions + direction;
      const Carried first = {states[0].select(1, at),
                             cell == Cell::kLstm ? states[1].select(1, at) : at::Tensor()};
      Passed passed = Pass(cell, x, weights[at], first, direction == 1, trials);
      outputs.push_back(std::move(passed.outputs));
      hidden.push_back(std::move(passed.last.hidden));
      memory.push_back(std::move(passed.last.memory));
    }
    at::Tensor together = directions == 1 ? outputs[0] : at::cat(outputs, -1);
    if (masks.defined() && layer + 1 < layers) together = together * masks.select(1, layer);
    x = Stacked(std::move(together));
  }
  // An LSTM is among the operators of lower precision, the others only call some.
  const auto lower = cell == Cell::kLstm ? AutocastType(x.tensor) : std::nullopt;
  const auto give = [&](const at::Tensor& y) { call.Return(Stacked(lower ? y.to(*lower) : y)); };
  give(batch_first ? x.tensor.transpose(1, 2) : x.tensor);
  give(at::stack(hidden, 1));
  if (cell == Cell::kLstm) give(at::stack(memory, 1));
}

}  // namespace

// Unrolled over time: each time is one product for all trials.
Action Recurrent(const Signature& signature) {
  if (signature.operands.size() != 9 || signature.Place("batch_first") != kBatchFirst) return {};
  const Cell cell = CellOf(signature.schema.name());
  // An LSTM whose outputs are projected has more weights.
  const c10::IValue& biases = signature.operands[kHasBiases].constant;
  const c10::IValue& layers = signature.operands[kLayers].constant;
  const c10::IValue& both = signature.operands[kBidirectional].constant;
  if (!biases.isBool() || !layers.isInt() || !both.isBool()) return {};
  const auto count = static_cast<std::int64_t>(signature.operands[kWeights].values.size());
  if (layers.toInt() < 1 || layers.toInt() > count ||
      count != layers.toInt() * (both.toBool() ? 2 : 1) * (biases.toBool() ? 4 : 2))
    return {};
  return [cell](Call& call) {
    if (call.Tensor(kInput).rank() != 3) {
      // Without a batch.
      TORCH_CHECK(!(call.Flag(kTrain) && call.Real(kDropout) > 0),
                  "expected a batch of sequences, where there is dropout between layers");
      return call.Loop();
    }
    RunLayers(call, cell);
  };
}

Action RecurrentCell(const Signature& signature) {
  const Cell cell = CellOf(signature.schema.name());
  if (signature.operands.size() != 6) return {};
  return [cell](Call& call) {
    const std::int64_t trials = call.trials();
    const Value& x = call.Tensor(0);
    if (x.rank() != 2) return call.Loop();
    Carried before;
    if (cell == Cell::kLstm) {
      const auto states = call.Tensors(1);
      before = {At(*states[0], 0, trials), At(*states[1], 0, trials)};
    } else {
      before = {At(call.Tensor(1), 0, trials), {}};
    }
    at::Tensor bias = InFrontOf(call.Tensor(5), trials);
    if (bias.defined()) bias = bias.unsqueeze(1);
    const at::Tensor in = At(LinearOf(x, call.Tensor(2), call.Tensor(4), trials), 0, trials);
    const Carried next =
        Next(cell, in, before, InFrontOf(call.Tensor(3), trials).transpose(1, 2), bias);
    call.Return(Stacked(next.hidden));
    if (cell == Cell::kLstm) call.Return(Stacked(next.memory));
  };
}

}  // namespace sluice::train
