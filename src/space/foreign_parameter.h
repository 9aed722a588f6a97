#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace sluice {

// How a parameter that is described as other tuners do it, or as a bare value, is written here:
// "; write 'lr: {float: [0.1, 1]}'". Nothing if that cannot be told.
std::string SuggestParameter(const ConfigNode& node, const std::string& name);

// Keys that stand beside a kind in other tuners, each with what to write here instead.
const std::vector<std::pair<std::string, std::string>>& ForeignOptions();

// The list that was meant by values without brackets, in `{choice: a, b}` or `choice: a, b`: "[a, b]".
// `swallowed` are the keys that some of them have become. Nothing if it is none such.
struct BareList {
  std::string text;
  std::vector<std::string> swallowed;
};
std::optional<BareList> FindBareList(const ConfigMap& map, const ConfigNode& first);

// How a range [low, high] is written that was written otherwise: "write 'float: [0, 1]'". Nothing if that
// cannot be told.
std::string SuggestRange(const ConfigNode& node, std::string_view kind);

}  // namespace sluice
