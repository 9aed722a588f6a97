#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "space/space.h"

namespace sluice {

// [A-Za-z_][A-Za-z0-9_.-]*, at most kLongestName long.
constexpr std::size_t kLongestName = 100;
bool IsParameterName(std::string_view text);

// Whether a node is a map that names a kind, as the value of every parameter does.
bool IsParameter(const ConfigNode& node);

// What surrounds a space in its file.
struct SpaceSurroundings {
  std::vector<std::string> reserved = {};   // names that no parameter may have
  std::vector<std::string> beside = {};     // keys that belong beside the space, not in it
  const ConfigNode* constraints = nullptr;  // the section of constraints, if any
};

// Reads the section of a file that says what can be tuned:
//
//   lr: {float: [1e-4, 1e-1], log: true}
//   width: {int: [16, 256], step: 16}
//   activation: {choice: [relu, tanh]}
//   size: {ordinal: [small, medium, large], weights: [2, 1, 1]}
//   noise: {float: [0, 1], law: normal, mean: 0.5, sigma: 0.1}
//   momentum: {float: [0, 1], when: optimizer == 'sgd'}
//
// Names are [A-Za-z_][A-Za-z0-9_.-]*, at most 100 long and not reserved. Every problem is reported
// to the node's file under the parameter's name. Returns nothing if a parameter cannot be used.
// Unknown or repeated keys are reported, but a space is returned, so that what depends on the space
// is checked too. Whether any point satisfies the constraints is not checked here (feasibility.h).
std::optional<Space> ReadSpace(const ConfigNode& node, const SpaceSurroundings& around);

}  // namespace sluice
