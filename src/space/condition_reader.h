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

// Reads the condition under which a parameter is active, as an expression. The file has either an
// expression or a map of the values that other parameters must have, such as
// {optimizer: sgd, layers: [3, 4]}. The names in the condition are checked later, when all
// parameters are known (AssembleSpace). If the node is neither, reports this and returns nothing.
std::optional<std::string> ReadCondition(const ConfigNode& node);

// Makes a space from parameters, each valid by itself, and the section `constraints` (one
// expression or a list of expressions) if there is one. Problems with an expression are reported at
// its line. Problems with a condition have the path "NAME.when". Empty if there was a problem.
std::optional<Space> AssembleSpace(const std::vector<DescribedParameter>& parameters,
                                   const ConfigNode* constraints);

}  // namespace sluice
