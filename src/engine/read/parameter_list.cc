#include "engine/read/parameter_list.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {

std::optional<std::vector<std::string>> ReadParameterList(const ConfigNode& node,
                                                          const ParameterNames& parameters) {
  if (!node.is_list()) {
    std::vector<std::string> given;
    if (node.is_map()) {
      const ConfigMap map = *node.Map();
      for (const auto& entry : map.entries()) given.push_back(entry.key);
    }
    if (node.is_scalar()) given.push_back(node.Show());
    node.Expected("a list of parameters", given.empty() ? "write the names, as in '[lr]'"
                                                        : fmt::format("write '[{}]'", Join(given)));
    return std::nullopt;
  }
  const auto items = node.List();
  const std::vector<std::string> known(parameters.begin(), parameters.end());
  std::vector<std::string> names;
  for (const ConfigNode& item : *items) {
    const auto name = item.Text();
    if (!name) return std::nullopt;
    if (!parameters.contains(*name)) {
      item.Report(fmt::format("expected a parameter of the space ({}), found '{}'{}",
                              FirstBytes(Join(known), kLongestShown), Shown(*name),
                              DidYouMean(*name, known)));
      return std::nullopt;
    }
    names.push_back(*name);
  }
  if (names.empty()) {
    node.Expected("a parameter at least, as in [lr]");
    return std::nullopt;
  }
  return names;
}

}  // namespace sluice
