#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// All verbs, in the order users meet them.
const std::vector<std::string>& Verbs();

// The help of a verb, ending with examples, or of the whole command for ""; nothing for an unknown
// verb.
std::string_view HelpFor(std::string_view verb);

}  // namespace sluice
