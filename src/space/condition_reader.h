#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "space/space.h"

namespace sluice {

// A parameter as a file describes it.
struct DescribedParameter {
  Parameter parameter;
  std::optional<ConfigNode> when = {};
};

// Reads when a parameter is active, as an expression: either one, or a map of what others must be,
// {optimizer: sgd, layers: [3, 4]}. Whether it makes sense, only all parameters can tell.
std::optional<std::string> ReadCondition(const ConfigNode& node);

// Puts a space together from parameters, each good by itself, and the section `constraints` (one
// expression or a list of them) if there is one. What is wrong with an expression is reported where
// it stands, a condition's under "NAME.when".
std::optional<Space> AssembleSpace(const std::vector<DescribedParameter>& parameters,
                                   const ConfigNode* constraints);

}  // namespace sluice
