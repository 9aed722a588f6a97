#pragma once

#include <string_view>

namespace sluice::client {

// Writes a line to standard error, for the user.
void Tell(std::string_view text);

}  // namespace sluice::client
