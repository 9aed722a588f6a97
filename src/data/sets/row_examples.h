#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "data/formats/rows.h"
#include "data/sets/examples.h"

namespace sluice::data {

struct RowPair {
  Rows inputs;
  Rows targets;
};

// Labels are below this, whatever a file says.
constexpr std::int64_t kMostClasses = 10'000'000;

// The examples of several files, one after the other: row i of the inputs with row i of the
// targets. Targets that are whole numbers are labels and are all checked: they are from 0 on and
// below `classes`, or, without it, below kMostClasses; then there are as many classes as the
// largest label needs. Fails with invalid_argument if files do not fit together or labels are out
// of range.
Result<std::shared_ptr<const Examples>> MakeRowExamples(std::vector<RowPair> pairs,
                                                        std::optional<std::int64_t> classes);

}  // namespace sluice::data
