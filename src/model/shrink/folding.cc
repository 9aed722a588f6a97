#include "model/shrink/folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace sluice::model {
namespace {

// How far before a multiplier parameters are looked for. Between a projection and the product of an
// attention lie fewer than 20 nodes.
constexpr int kFarthest = 64;

// Operators whose output is as many times larger as their first operand.
constexpr std::array<std::string_view, 34> kPassFirst = {
    "view",     "_unsafe_view", "reshape", "t",       "transpose",  "permute",        "unsqueeze",
    "squeeze",  "expand",       "flatten", "clone",   "contiguous", "unflatten",      "movedim",
    "swapaxes", "alias",        "neg",     "slice",   "select",     "narrow",         "chunk",
    "split",    "unbind",       "repeat",  "dropout", "relu",       "leaky_relu",     "expand_as",
    "to",       "_to_copy",     "div",     "sum",     "mean",       "feature_dropout"};
// Operators whose output is as many times larger as one of two operands.
constexpr std::array<std::string_view, 5> kProducts = {"mul", "mm", "bmm", "matmul", "mv"};
// Operators that multiply by `weight` and then add `bias`, if there is one.
constexpr std::array<std::string_view, 12> kAffine = {
    "linear",           "conv1d",           "conv2d",           "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "layer_norm",
    "group_norm",       "batch_norm",       "instance_norm",    "rms_norm"};

template <std::size_t N>
bool IsAmong(std::string_view op, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, op) != names.end();
}

std::optional<ValueId> OperandNamed(const Node& node, std::string_view name) {
  const Argument* argument = Find(node, name);
  const auto* value = argument == nullptr ? nullptr : std::get_if<ValueId>(&argument->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<ValueId> FirstOperand(const Node& node) {
  if (node.arguments.empty()) return std::nullopt;
  const auto* value = std::get_if<ValueId>(&node.arguments.front().value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// Finds the parameters to multiply so that a value is multiplied.
class MultiplierFolder {
 public:
  explicit MultiplierFolder(const Graph& graph)
      : graph_(graph),
        uses_(graph.values.size()),
        made_by_(graph.values.size()),
        parameter_(graph.values.size()),
        parameter_uses_(graph.parameters.size()) {
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      ForEachOperand(graph.nodes[n], [&](ValueId value) { ++uses_[Index(value)]; });
      for (const auto& output : graph.nodes[n].outputs)
        if (output) made_by_[Index(*output)] = NodeId{n};
    }
    for (const ValueId output : graph.outputs) ++uses_[Index(output)];
    for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
      const Parameter& parameter = graph.parameters[p];
      const std::size_t root = parameter.tied_to.value_or(static_cast<std::uint32_t>(p));
      parameter_[Index(parameter.value)] = root;
      parameter_uses_[root] += uses_[Index(parameter.value)];
    }
  }

  Folding Fold(const Multiplier& multiplier) {
    const Node& node = graph_.nodes[Index(multiplier.node)];
    Folding folding{.node = multiplier.node, .why = multiplier.why, .factor = multiplier.factor};
    why_not_.clear();
    found_.clear();
    bool folds = false;
    if (multiplier.operand) {
      folds = FoldIntoOperand(node, *multiplier.operand);
    } else if (multiplier.argument.empty()) {
      folds = node.outputs.size() == 1 && node.outputs[0] && FoldIntoNode(node, 0);
    } else {
      folds = FoldIntoScale(node, multiplier, folding);
    }
    if (folds) {
      folding.parameters = std::move(found_);
    } else {
      folding.why_not = why_not_.empty() ? "its operator is not known" : std::move(why_not_);
    }
    return folding;
  }

 private:
  bool Fail(std::string why_not) {
    if (why_not_.empty()) why_not_ = std::move(why_not);
    return false;
  }

  // Only this node may use the operand.
  bool FoldIntoOperand(const Node& node, ValueId operand) {
    std::size_t here = 0;
    ForEachOperand(node, [&](ValueId value) { here += value == operand ? 1 : 0; });
    return FoldIntoValue(operand, here, 0);
  }

  // softmax(scale * q * k): the query or the key grows with the scale.
  bool FoldIntoScale(const Node& node, const Multiplier& multiplier, Folding& folding) {
    const auto query = OperandNamed(node, "query");
    const auto key = OperandNamed(node, "key");
    if (multiplier.argument != "scale" || !query || !key) return Fail("its operator is not known");
    const std::vector<Size>& sizes = graph_.value(*query).sizes;
    const Argument* given = Find(node, "scale");
    const auto* scale = given == nullptr ? nullptr : std::get_if<double>(&given->value);
    if (sizes.empty() || sizes.back().number < 1) return Fail("the size of a head is not known");
    const double before =
        scale == nullptr ? 1 / std::sqrt(static_cast<double>(sizes.back().number)) : *scale;
    if (!(before > 0)) return Fail("the scale of the attention is not above 0");
    folding.factor = multiplier.factor / before;
    return FoldIntoOneOf({*query, *key}, node, 0);
  }

  bool FoldIntoOneOf(std::array<std::optional<ValueId>, 2> operands, const Node& node, int depth) {
    for (const auto& operand : operands) {
      if (!operand) continue;
      const std::size_t found = found_.size();
      if (FoldIntoValue(*operand, 1, depth)) {
        why_not_.clear();
        return true;
      }
      found_.resize(found);
    }
    return Fail(fmt::format("neither operand of '{}' can be multiplied", Shown(node.name)));
  }

  // `expected` uses of the value are known.
  bool FoldIntoValue(ValueId value, std::size_t expected, int depth) {
    if (const auto& p = parameter_[Index(value)]) {
      const Parameter& parameter = graph_.parameters[*p];
      if (parameter_uses_[*p] != expected)
        return Fail(fmt::format("'{}' is also used elsewhere", Shown(parameter.name)));
      if (parameter.role == Parameter::Role::kConstant || !parameter.persistent)
        return Fail(fmt::format("'{}' is not part of a state dict", Shown(parameter.name)));
      found_.push_back(*p);
      return true;
    }
    const std::string& name = graph_.value(value).name;
    if (uses_[Index(value)] != expected)
      return Fail(fmt::format("'{}' is also used elsewhere", Shown(name)));
    if (!made_by_[Index(value)]) return Fail(fmt::format("'{}' is an input", Shown(name)));
    if (depth >= kFarthest) return Fail("its parameters are too far away");
    return FoldIntoNode(graph_.nodes[Index(*made_by_[Index(value)])], depth + 1);
  }

  bool FoldIntoAll(std::span<const std::optional<ValueId>> values, const Node& node, int depth) {
    for (const auto& value : values)
      if (!value || !FoldIntoValue(*value, 1, depth)) return FailAt(node);
    return !values.empty() || FailAt(node);
  }
  bool FailAt(const Node& node) {
    return Fail(fmt::format("'{}' ({}) does not pass a factor on to parameters", Shown(node.name),
                            Shown(node.op)));
  }

  // All outputs of the node are to be multiplied; one is used at most.
  bool FoldIntoNode(const Node& node, int depth) {
    const auto is_used = [&](const auto& output) { return output && uses_[Index(*output)] > 0; };
    if (std::ranges::count_if(node.outputs, is_used) > 1)
      return Fail(fmt::format("other outputs of '{}' are used too", Shown(node.name)));
    if (!node.op.starts_with("aten.")) return FailAt(node);
    const std::string_view op = OperatorOf(node);
    const std::optional<ValueId> first = FirstOperand(node);
    if (IsAmong(op, kPassFirst)) return FoldIntoAll(std::array{first}, node, depth);
    if (IsAmong(op, kProducts))
      return FoldIntoOneOf({first, OperandNamed(node, op == "mul" ? "other" : SecondOf(op))}, node,
                           depth);
    if (IsAmong(op, kAffine)) {
      std::vector<std::optional<ValueId>> values = {OperandNamed(node, "weight")};
      if (const auto bias = OperandNamed(node, "bias")) values.emplace_back(bias);
      return FoldIntoAll(values, node, depth);
    }
    if (op == "embedding")
      return FoldIntoAll(std::array{OperandNamed(node, "weight")}, node, depth);
    if (op == "add" || op == "sub")
      return FoldIntoAll(std::array{first, OperandNamed(node, "other")}, node, depth);
    if (op == "addmm") {
      return FoldIntoAll(std::array{OperandNamed(node, "self")}, node, depth) &&
             FoldIntoOneOf({OperandNamed(node, "mat2"), OperandNamed(node, "mat1")}, node, depth);
    }
    if (op == "cat" || op == "stack") {
      const Argument* tensors = Find(node, "tensors");
      const auto* list = tensors == nullptr
                             ? nullptr
                             : std::get_if<std::vector<std::optional<ValueId>>>(&tensors->value);
      return list == nullptr ? FailAt(node) : FoldIntoAll(*list, node, depth);
    }
    return FailAt(node);
  }

  static std::string_view SecondOf(std::string_view op) {
    if (op == "matmul") return "other";
    return op == "mv" ? "vec" : "mat2";
  }

  const Graph& graph_;
  std::vector<std::size_t> uses_;                      // of each value, by nodes and as outputs
  std::vector<std::optional<NodeId>> made_by_;         // of each value
  std::vector<std::optional<std::size_t>> parameter_;  // of each value; of tied ones, the first
  std::vector<std::size_t> parameter_uses_;            // under all of its names
  std::vector<std::size_t> found_;
  std::string why_not_;
};

}  // namespace

std::vector<Folding> FoldMultipliers(const Graph& narrow, std::span<const Multiplier> multipliers) {
  MultiplierFolder folder(narrow);
  std::vector<Folding> foldings;
  for (const Multiplier& multiplier : multipliers) foldings.push_back(folder.Fold(multiplier));
  return foldings;
}

}  // namespace sluice::model
