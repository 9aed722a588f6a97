#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace sluice {

// Suggests our spelling of a parameter that is described as in other tuners, or as a bare value:
// "; write 'lr: {float: [0.1, 1]}'". Nothing if that cannot be told.
std::string SuggestParameter(const ConfigNode& node, const std::string& name);

// Keys that other tuners have beside a kind, each with what to write here instead.
const std::vector<std::pair<std::string, std::string>>& ForeignOptions();

// A list that was written without brackets, as in `{choice: a, b}` or `choice: a, b`: "[a, b]".
// YAML reads some of its values as keys: these are `swallowed`. Nothing if there is no such list.
struct BareList {
  std::string text;
  std::vector<std::string> swallowed;
};
std::optional<BareList> FindBareList(const ConfigMap& map, const ConfigNode& first);

// Suggests how to write a range that was not written as [low, high]: "write 'float: [0, 1]'".
// Nothing if that cannot be told.
std::string SuggestRange(const ConfigNode& node, std::string_view kind);

}  // namespace sluice
