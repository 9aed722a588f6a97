#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sluice {

// Calls visit with each scalar of a JSON object and its name, names of objects inside objects
// joined by '.', in the order of the text. Numbers are as written, texts without quotes, true and
// false are words, null is an empty value. A list is handed over as one text of JSON. A text that
// is no JSON object gives nothing.
void EachMember(
    std::string_view json,
    const std::function<void(const std::string& name, const std::string& value)>& visit);

}  // namespace sluice
