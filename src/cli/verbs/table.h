#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/verb.h"

namespace sluice {

// A verb, and how the general help tells of it.
struct VerbRow {
  std::string_view group;
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;  // after a line break: a further line of the help
  Verb (*make)();
};

// All verbs, in the order users meet them.
std::span<const VerbRow> VerbTable();
const std::vector<std::string>& VerbNames();

// The help of a verb, or of the whole command for ""; nothing for an unknown verb.
std::string HelpFor(std::string_view verb);

}  // namespace sluice
