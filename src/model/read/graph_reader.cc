#include "model/read/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/read/argument_reader.h"
#include "model/read/program_limits.h"
#include "model/read/region_reader.h"
#include "model/read/tensor_meta.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kKeyword = 2;  // the kind of keyword arguments

std::string_view Without(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

// The path of the innermost module of a stack "KEY,PATH,TYPE;KEY,PATH,TYPE".
std::string ModulePath(std::string_view stack) {
  const std::size_t last = stack.rfind(';');
  if (last != std::string_view::npos) stack.remove_prefix(last + 1);
  const std::size_t begin = stack.find(',');
  if (begin == std::string_view::npos) return "";
  stack.remove_prefix(begin + 1);
  return std::string(stack.substr(0, stack.find(',')));
}

Value::Kind KindOfNumber(std::string_view kind) {
  if (kind == "as_sym_int") return Value::Kind::kInteger;
  return kind == "as_sym_bool" ? Value::Kind::kBoolean : Value::Kind::kReal;
}

}  // namespace

TensorMetas ReadTensorMetas(CheckedJson& checked, const JsonValue& graph) {
  TensorMetas metas;
  for (const auto& [name, value] : checked.MembersOf(graph, "tensor_values"))
    metas.emplace(name, value);
  return metas;
}

ValueId GraphReader::Add(Value value) {
  if (graph_.values.size() >= kMaxValues)
    checked_.Unsupported(fmt::format("expected at most {} values", kMaxValues));
  const auto [known, is_new] = taken_.try_emplace(value.name, 0);
  for (bool is_taken = !is_new; is_taken;) {
    value.name = fmt::format("{}_{}", known->first, ++known->second);
    is_taken = !taken_.try_emplace(value.name, 0).second;
  }
  graph_.values.push_back(std::move(value));
  return ValueId(static_cast<std::uint32_t>(graph_.values.size() - 1));
}

ValueId GraphReader::AddTensor(const std::string& name, const TensorMetas& metas,
                               ValueNames& names) {
  const auto found = metas.find(name);
  if (found == metas.end()) {
    checked_.Fail(fmt::format("'{}' has no entry in tensor_values", Shown(name)));
    return {};
  }
  const std::string where = checked_.where();
  checked_.Look(fmt::format("{}: '{}'", where, Shown(name)));
  TensorMeta meta = ReadTensorMeta(checked_, found->second);
  checked_.Look(where);
  const ValueId id = Add({.name = name, .dtype = meta.dtype, .sizes = std::move(meta.sizes)});
  names.Define(checked_, name, id);
  return id;
}

void GraphReader::ReadNodes(const JsonValue& graph, const TensorMetas& metas, ValueNames& names) {
  const std::string outer = depth_ == 0 ? "" : fmt::format("{}: ", checked_.where());
  const std::vector<JsonValue> nodes = checked_.ListOf(graph, "nodes");
  for (std::size_t i = 0; i < nodes.size() && checked_.ok(); ++i) {
    checked_.Look(fmt::format("{}node {}", outer, i));
    ReadNode(nodes[i], metas, names);
  }
}

void GraphReader::ReadNode(const JsonValue& json, const TensorMetas& metas, ValueNames& names) {
  constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
  if (graph_.nodes.size() >= kMaxNodes)
    checked_.Unsupported(fmt::format("expected at most {} nodes", kMaxNodes));
  const std::string target = checked_.TextOf(json, "target");
  checked_.Look(fmt::format("{} ({})", checked_.where(), Shown(target)));
  if (!checked_.ok()) return;
  if (target.starts_with(kHigherOrder)) {
    Unfold(json, Without(target, kHigherOrder), names);
    return;
  }
  Node node;
  node.op = Without(Without(target, "torch.ops."), "_");
  node.region = region_;
  if (const auto metadata = json.Find("metadata")) {
    if (const auto stack = metadata->Find("nn_module_stack").and_then(&JsonValue::Text))
      node.label = ModulePath(*stack);
  }
  ReadArguments(json, names, node);
  for (const JsonValue& output : checked_.ListOf(json, "outputs")) {
    if (!checked_.ok()) return;
    for (const std::optional<ValueId> made : ReadMade(output, metas, names, node.returns_list))
      node.outputs.push_back(made);
  }
  if (!checked_.ok()) return;
  const auto first =
      std::ranges::find_if(node.outputs, [](const auto& out) { return out.has_value(); });
  if (const auto named = json.Find("name").and_then(&JsonValue::Text)) {
    node.name = *named;
  } else if (first != node.outputs.end()) {
    node.name = graph_.value(**first).name;
  }
  graph_.nodes.push_back(std::move(node));
}

void GraphReader::ReadArguments(const JsonValue& json, const ValueNames& names, Node& node) {
  for (const JsonValue& input : checked_.ListOf(json, "inputs")) {
    const auto argument = checked_.Member(input, "arg");
    if (!checked_.ok()) return;
    node.arguments.push_back(
        {.name = checked_.TextOf(input, "name"),
         .value = ReadArgument(checked_, *argument, names),
         .keyword = input.Find("kind").and_then(&JsonValue::Integer) == kKeyword});
  }
}

GraphReader::Values GraphReader::ReadMade(const JsonValue& output, const TensorMetas& metas,
                                          ValueNames& names, bool& is_list) {
  Values made;
  const auto part = checked_.Union(output, "outputs");
  if (!part) return made;
  const auto& [kind, about] = *part;
  const auto tensor = [&](const JsonValue& named) {
    const std::string name = checked_.TextOf(named, "name");
    if (checked_.ok()) made.emplace_back(AddTensor(name, metas, names));
  };
  if (kind == "as_tensor") {
    tensor(about);
  } else if (kind == "as_tensors") {
    is_list = true;
    for (const JsonValue& each : checked_.List(about, kind)) tensor(each);
  } else if (kind == "as_optional_tensors") {
    is_list = true;
    for (const JsonValue& each : checked_.List(about, kind)) {
      const auto inner = checked_.Union(each, kind);
      if (!inner) return made;
      if (inner->first == "as_tensor") {
        tensor(inner->second);
      } else {
        made.emplace_back();
      }
    }
  } else if (kind == "as_none") {
    made.emplace_back();
  } else if (IsSymbolic(kind)) {
    const std::string name = checked_.TextOf(about, "as_name");
    if (!checked_.ok()) return made;
    made.emplace_back(
        Add({.name = name, .kind = KindOfNumber(kind), .dtype = DType::kInt64, .sizes = {}}));
    names.Define(checked_, name, *made.back());
  } else {
    checked_.Unsupported(
        fmt::format("expected tensors or numbers as outputs, found '{}'", Shown(kind)));
  }
  return made;
}

void GraphReader::Unfold(const JsonValue& json, std::string_view op, ValueNames& names) {
  if (depth_ >= kMaxRegionDepth)
    checked_.Unsupported(fmt::format("expected regions at most {} deep", kMaxRegionDepth));
  if (!checked_.ok()) return;
  const std::string where = checked_.where();
  const std::optional<std::uint32_t> outside = region_;
  const auto call =
      ReadRegionCall(checked_, json, op, outside ? graph_.regions[*outside] : Region());
  if (!call) return;
  ValueNames inner(graph_);
  BindOperands(call->body, call->operands, names, inner);
  if (!checked_.ok()) return;
  graph_.regions.push_back(call->region);
  region_ = static_cast<std::uint32_t>(graph_.regions.size() - 1);
  ++depth_;
  ReadNodes(call->body, ReadTensorMetas(checked_, call->body), inner);
  --depth_;
  region_ = outside;
  checked_.Look(where);
  NameResults(json, call->body, inner, names);
}

void GraphReader::BindOperands(const JsonValue& body, std::span<const JsonValue> operands,
                               const ValueNames& outer, ValueNames& inner) {
  const std::vector<JsonValue> inputs = checked_.ListOf(body, "inputs");
  if (inputs.size() != operands.size())
    checked_.Fail(fmt::format("expected {} operands, found {}", inputs.size(), operands.size()));
  for (std::size_t i = 0; i < inputs.size() && checked_.ok(); ++i) {
    const auto part = checked_.Union(inputs[i], "inputs");
    const auto argument = checked_.Member(operands[i], "arg");
    if (!part || !argument) return;
    const bool is_tensor = part->first == "as_tensor";
    if (!is_tensor && !IsSymbolic(part->first)) continue;
    const std::string name = checked_.TextOf(part->second, is_tensor ? "name" : "as_name");
    const ArgumentValue value = ReadArgument(checked_, *argument, outer);
    if (const auto* id = std::get_if<ValueId>(&value)) {
      inner.Define(checked_, name, *id);
    } else {
      checked_.Fail(fmt::format("operand {}: expected a value", i));
    }
  }
}

void GraphReader::NameResults(const JsonValue& json, const JsonValue& body, const ValueNames& inner,
                              ValueNames& names) {
  Values made;
  for (const JsonValue& output : checked_.ListOf(body, "outputs"))
    for (const auto value : ReadResult(checked_, output, inner)) made.push_back(value);
  std::vector<std::string> called;
  for (const JsonValue& output : checked_.ListOf(json, "outputs")) CollectNames(output, called);
  if (checked_.ok() && made.size() != called.size())
    checked_.Fail(fmt::format("expected {} outputs, found {}", made.size(), called.size()));
  for (std::size_t i = 0; i < made.size() && checked_.ok(); ++i)
    if (made[i] && !called[i].empty()) names.Define(checked_, called[i], *made[i]);
}

void GraphReader::CollectNames(const JsonValue& output, std::vector<std::string>& called) {
  const auto part = checked_.Union(output, "outputs");
  if (!part) return;
  const auto& [kind, about] = *part;
  if (kind == "as_tensors") {
    for (const JsonValue& each : checked_.List(about, kind))
      called.push_back(checked_.TextOf(each, "name"));
  } else if (kind == "as_tensor") {
    called.push_back(checked_.TextOf(about, "name"));
  } else if (IsSymbolic(kind)) {
    called.emplace_back(about.Find("as_name").and_then(&JsonValue::Text).value_or(""));
  } else {
    called.emplace_back();
  }
}

}  // namespace sluice::model
