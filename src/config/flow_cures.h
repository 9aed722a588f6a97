#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Advice for a line on which a bracket or brace is not closed.
struct FlowCure {
  std::string advice;
  std::string instead;  // the mended line, to be tried; empty: the advice proposes no line
};

// Finds mistakes such as "{float:[0, 1]}", "{a: 1; b: 2}" and "{a: [1] b: 2}", and returns the
// cures, the likely cures first.
std::vector<FlowCure> CuresOfFlow(std::string_view line);

// The condition behind 'when: ', up to the last closing brace, if the condition is not in quotes
// and has a '[' or a comma. Otherwise empty.
std::string ConditionOn(std::string_view line);

}  // namespace sluice
