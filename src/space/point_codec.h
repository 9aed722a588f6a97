#pragma once

#include <string_view>

namespace sluice {

// Whether a text is UTF-8, as JSON requires.
bool JsonCanHold(std::string_view text);

}  // namespace sluice
