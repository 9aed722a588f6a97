#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "space/space.h"

namespace sluice {

// The JSON in an Optuna storage. Python writes it, so NaN and the infinities have no quotes in it;
// these functions read them as texts. Deeply nested or overlong texts are refused.

// Writes a parameter as one of Optuna's distributions. The log law stays log. The log-normal law of
// a float with a range above 0 becomes log. All other laws, and every law of a parameter with a
// step, become uniform over the range. An ordinal becomes a categorical.
std::string EncodeDistribution(const Space& space, std::size_t index);

// The inverse. `low` may equal `high`: Optuna allows that, though CheckParameter refuses it. The
// message of a failure begins with the parameter's name.
Result<Parameter> DecodeDistribution(const std::string& name, std::string_view json);

// Decodes an object of parameter values. Members that are lists or objects are left out.
Result<std::map<std::string, Value>> DecodeValues(std::string_view json);

// The members of an object, each as JSON, in order.
Result<std::vector<std::pair<std::string, std::string>>> DecodeMembers(std::string_view json);
// The inverse; a member that is null is left out.
Result<std::string> EncodeMembers(const std::vector<std::pair<std::string, std::string>>& members);

// The first text of a list of texts; "" if `json` is no such list.
std::string DecodeFirstText(std::string_view json);
std::string EncodeTexts(const std::vector<std::string>& texts);

// One value as JSON, which is also how a study file writes it.
std::string EncodeValue(const Value& value);

}  // namespace sluice
