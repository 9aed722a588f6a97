#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/verb.h"

namespace sluice {

// A verb, and what the general help says about it.
struct VerbRow {
  std::string_view group;
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;  // may have a line break, which begins a second line of the help
  Verb (*make)();
};

// All verbs, in the order of the general help.
std::span<const VerbRow> VerbTable();
const std::vector<std::string>& VerbNames();

// The help of a verb. For "": the general help. For an unknown verb: "".
std::string HelpFor(std::string_view verb);

}  // namespace sluice
