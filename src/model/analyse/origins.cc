#include "model/analyse/origins.h"

#include <utility>

namespace sluice::model {

Origins::Origins(const Graph& graph) : origins_(graph.values.size()) {
  for (std::uint32_t p = 0; p < graph.parameters.size(); ++p) {
    const Parameter& parameter = graph.parameters[p];
    Origin origin{.parameter = parameter.tied_to.value_or(p), .axes = {}};
    for (std::size_t i = 0; i < parameter.sizes.size(); ++i) origin.axes.push_back({i});
    origins_[Index(parameter.value)] = {std::move(origin)};
    ranks_.push_back(parameter.sizes.size());
  }
}

void Origins::Follow(ValueId from, ValueId to, const Axes& axes) {
  for (const Origin& origin : origins_[Index(from)]) {
    Origin here{.parameter = origin.parameter, .axes = {}};
    for (const std::vector<std::size_t>& sources : axes) {
      std::vector<std::size_t>& all = here.axes.emplace_back();
      for (const std::size_t axis : sources)
        if (axis < origin.axes.size())
          all.insert(all.end(), origin.axes[axis].begin(), origin.axes[axis].end());
    }
    origins_[Index(to)].push_back(std::move(here));
  }
}

void Origins::AddUses(NodeId node, ValueId operand, const std::vector<std::size_t>& axes,
                      bool lookup, std::vector<Use>& uses) const {
  for (const Origin& origin : origins_[Index(operand)]) {
    Use use{.parameter = origin.parameter,
            .node = node,
            .operand = operand,
            .contracted = std::vector<bool>(ranks_[origin.parameter]),
            .lookup = lookup};
    for (const std::size_t axis : axes) {
      if (axis >= origin.axes.size()) continue;
      for (const std::size_t each : origin.axes[axis]) use.contracted[each] = true;
    }
    uses.push_back(std::move(use));
  }
}

}  // namespace sluice::model
