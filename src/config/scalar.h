#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// What a plain scalar says by the types of YAML 1.2; nothing if it is none of that type.

// A whole number: 12, -3, 0x1f, 0o17. `whole` says that it looks like one, however large.
std::optional<std::int64_t> ParseWhole(std::string_view text, bool& whole);
// Digits with a point or an exponent, .inf, .nan.
std::optional<double> ParseNumber(std::string_view text);
std::optional<bool> ParseBoolean(std::string_view text);
// 500kB, 16MiB, 2GB, or bytes.
std::optional<std::int64_t> ParseSize(std::string_view text);

// What people write for a number that YAML does not take for one, as it would: 10^-3, 1/8, 50%, 10k, 27
// epochs, 3,5. Nothing if that cannot be told.
std::string SuggestNumber(std::string_view text);

// "write '2h'" for 2 hours, "write '90s'" for 90, and so on; the same for sizes. Nothing if that cannot be
// told.
std::string SuggestDuration(std::string_view text);
std::string SuggestSize(std::string_view text);

}  // namespace sluice
