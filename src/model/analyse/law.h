#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/read/archive.h"

namespace sluice::model {

// How a tensor was drawn, as far as its elements show.
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

// The law of the elements that these bytes hold. The law is unknown if there is no element, or if
// an element is not finite.
Law MeasureLaw(std::string_view bytes, DType dtype);

// The laws of all parameters, in their order. At most `most_bytes` of each parameter are read, and
// at most 4 GiB in all. Up to 2^20 elements of a table that may be of sines are read once more. The
// law of a parameter without values is unknown.
Result<std::vector<Law>> MeasureLaws(const Archive& archive, std::size_t most_bytes = 1 << 20);

}  // namespace sluice::model
