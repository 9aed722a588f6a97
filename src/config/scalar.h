#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// These read a plain scalar by the types of YAML 1.2, and return nothing if it is of another type.

// A whole number: 12, -3, 0x1f, 0o17. `whole` is set to true if the text looks like a whole number,
// even if the number is too large to return.
std::optional<std::int64_t> ParseWhole(std::string_view text, bool& whole);
// A decimal number, with or without a point or an exponent; .inf, .nan.
std::optional<double> ParseNumber(std::string_view text);
std::optional<bool> ParseBoolean(std::string_view text);

// Reads a size, which YAML has no type for: 500kB, 16MiB, 2GB, or a number of bytes. Returns
// nothing if the text is not a size.
std::optional<std::int64_t> ParseSize(std::string_view text);

// Suggests how to write a number that YAML does not read as a number, such as "10^-3", "1/8",
// "50%", "10k", "27 epochs" or "3,5". Nothing if it is not clear which number is meant.
std::string SuggestNumber(std::string_view text);

// Suggests how to write a duration or a size: "write '2h'" for 2 hours, "write '2GB'" for 2 gb.
// Nothing if it is not clear what is meant.
std::string SuggestDuration(std::string_view text);
std::string SuggestSize(std::string_view text);

}  // namespace sluice
