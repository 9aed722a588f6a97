#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/read/archive.h"

namespace sluice::model {

// How a tensor was drawn, as far as its elements tell.
struct Law {
  enum class Kind : std::uint8_t {
    kUnknown,
    kConstant,
    kNormal,
    kUniform,
    kSinesInTurns,  // tables of positions (sines.h)
    kSinesFirst,
  };
  Kind kind = Kind::kUnknown;
  double mean = 0;  // of a constant, its value
  double deviation = 0;
};

std::string_view Name(Law::Kind kind);

// Of the elements of a type, as bytes. Numbers that are not finite make it unknown.
Law MeasureLaw(std::string_view bytes, DType dtype);

// Of all parameters, by their order; of each at most so many bytes are read, and at most 4 GiB of all. Unknown for those
// without values.
Result<std::vector<Law>> MeasureLaws(const Archive& archive, std::size_t most_bytes = 1 << 20);

}  // namespace sluice::model
