#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// What may be wrong with a line on which a bracket or brace is not closed.
struct FlowCure {
  std::string advice;
  std::string instead;  // the mended line, to be tried; empty: the advice proposes no line
};

// For mistakes such as "{float:[0, 1]}", "{a: 1; b: 2}", "{a: [1] b: 2}", the likely ones first.
std::vector<FlowCure> CuresOfFlow(std::string_view line);

// The condition behind 'when: ', up to the last closing brace, if it has no quotes around it and
// holds a '[' or a comma; else empty.
std::string ConditionOn(std::string_view line);

}  // namespace sluice
