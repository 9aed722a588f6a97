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
// expression or a map of the values that other parameters must have:
// {optimizer: sgd, layers: [3, 4]}. Whether the condition makes sense can be told only with all
// parameters (AssembleSpace).
std::optional<std::string> ReadCondition(const ConfigNode& node);

// Makes a space from parameters, each good by itself, and the section `constraints` (one expression
// or a list of them) if there is one. Problems with an expression are reported at its line, those
// of a condition under "NAME.when".
std::optional<Space> AssembleSpace(const std::vector<DescribedParameter>& parameters,
                                   const ConfigNode* constraints);

}  // namespace sluice
