#include "model/read/region_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace sluice::model {
namespace {

// The argument at a place, if it is of this kind.
std::optional<JsonValue> ArgumentAt(const std::vector<JsonValue>& inputs, std::size_t place,
                                    std::string_view kind) {
  if (place >= inputs.size()) return std::nullopt;
  const auto argument = inputs[place].Find("arg");
  return argument ? argument->Find(kind) : std::nullopt;
}

std::optional<bool> Flag(CheckedJson& checked, const std::vector<JsonValue>& inputs,
                         std::size_t place) {
  const auto flag = ArgumentAt(inputs, place, "as_bool").and_then(&JsonValue::Boolean);
  if (!flag) checked.Fail(fmt::format("argument {}: expected true or false", place));
  return flag;
}

std::optional<std::size_t> PlaceOfGraph(const std::vector<JsonValue>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (ArgumentAt(inputs, i, "as_graph")) return i;
  return std::nullopt;
}

}  // namespace

std::optional<RegionCall> ReadRegionCall(CheckedJson& checked, const JsonValue& node,
                                         std::string_view op, const Region& outside) {
  const std::vector<JsonValue> inputs = checked.ListOf(node, "inputs");
  const std::optional<std::size_t> at = PlaceOfGraph(inputs);
  Region region = outside;
  if (op == "wrap_with_set_grad_enabled" && at == 1) {
    region.no_grad = !Flag(checked, inputs, 0).value_or(true);
  } else if (op == "wrap_with_autocast" && at == 4) {
    const auto device = ArgumentAt(inputs, 0, "as_string").and_then(&JsonValue::Text);
    if (!device || device->empty()) checked.Fail("argument 0: expected the name of a device");
    region.autocast_device = device.value_or("");
    region.autocast_enabled = Flag(checked, inputs, 2).value_or(false);
  } else {
    checked.Unsupported(
        fmt::format("'{}' is not supported: only what runs the same way each time can be read, not "
                    "branches and loops that depend on data",
                    Shown(op)));
  }
  if (!checked.ok()) return std::nullopt;
  const auto body = checked.Member(*ArgumentAt(inputs, *at, "as_graph"), "graph");
  if (!body) return std::nullopt;
  return RegionCall{
      .region = std::move(region),
      .body = *body,
      .operands = {inputs.begin() + static_cast<std::ptrdiff_t>(*at) + 1, inputs.end()}};
}

}  // namespace sluice::model
