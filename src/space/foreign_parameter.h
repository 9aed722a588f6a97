#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace sluice {

// Suggests how to write a parameter that is described as in another tuner, or as a bare value:
// "; write 'lr: {float: [0.1, 1]}'". Empty if there is no suggestion.
std::string SuggestParameter(const ConfigNode& node, const std::string& name);

// Keys that other tuners allow beside the kind of a parameter. Each comes with what to write in
// Sluice instead.
const std::vector<std::pair<std::string, std::string>>& ForeignOptions();

// A list that was written without brackets, as in `{choice: a, b}` or `choice: a, b`: "[a, b]".
// YAML reads some values of such a list as keys: these are in `swallowed`. FindBareList() returns
// nothing if there is no such list.
struct BareList {
  std::string text;
  std::vector<std::string> swallowed;
};
std::optional<BareList> FindBareList(const ConfigMap& map, const ConfigNode& first);

// Suggests how to write a range that was not written as [low, high]: "write 'float: [0, 1]'".
// Empty if there is no suggestion.
std::string SuggestRange(const ConfigNode& node, std::string_view kind);

}  // namespace sluice
