#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sluice {

// Calls `visit` for each scalar of a JSON object, in the order of the text. The name of a scalar in
// an inner object is the names of the objects and its own name, joined by '.'. As a value, a number
// is as it was written, a text has no quotes, true and false are words, and null is "". A list is
// one value: its JSON. If the text is not JSON, only members before the mistake are visited; if it
// is JSON but not an object, none is.
void EachMember(
    std::string_view json,
    const std::function<void(const std::string& name, const std::string& value)>& visit);

}  // namespace sluice
