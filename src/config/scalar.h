#pragma once

#include <cstdint>
#include <optional>
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

}  // namespace sluice
