#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace sluice::train {

// Adds operators and inputs behind those of a graph.
class Appended {
 public:
  explicit Appended(model::Graph& graph) : graph_(graph) {}

  model::ValueId Add(const std::string& op, std::vector<model::Argument> arguments) {
    const model::ValueId value = AddValue({});
    graph_.nodes.push_back({.name = graph_.value(value).name,
                            .op = op,
                            .label = "check",
                            .arguments = std::move(arguments),
                            .outputs = {value},
                            .returns_list = false,
                            .region = std::nullopt});
    return value;
  }
  model::ValueId AddInput(model::Value input) {
    graph_.inputs.push_back(AddValue(std::move(input)));
    return graph_.inputs.back();
  }
  static model::Argument Argument(std::string name, model::ValueId value) {
    return {.name = std::move(name), .value = value, .keyword = false};
  }

 private:
  model::ValueId AddValue(model::Value value) {
    value.name = fmt::format("check_{}", graph_.values.size());
    graph_.values.push_back(std::move(value));
    return model::ValueId{static_cast<std::uint32_t>(graph_.values.size() - 1)};
  }

  model::Graph& graph_;
};

}  // namespace sluice::train
