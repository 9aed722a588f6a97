#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/event.h"
#include "engine/study.h"
#include "space/point_part.h"

namespace sluice {

// Trials of earlier studies that a sampler is told of at most.
constexpr std::size_t kMostKnown = 100'000;

struct EarlierTrial {
  NamedValues params;
  Outcome outcome = Outcome::kComplete;
  Work work = 0;
  double value = 0;  // of its objective; NaN and the infinities: it has no result
};

// A study that ran before, from wherever it was read.
struct EarlierStudy {
  std::string source;  // what messages call it: "study 'a'"
  std::string metric;  // empty: nobody said
  std::string unit;    // empty: nobody said
  Direction direction = Direction::kMinimize;
  std::vector<EarlierTrial> trials;
};

// What a study can use of an earlier one.
struct Knowledge {
  std::vector<KnownTrial> trials;
  std::string summary;             // "180 of 200 trials of study 'a'; 20 have lr outside [0, 1]"
  std::vector<std::string> notes;  // what else a user should know
};

// The earlier trials as points of this study's space, by what its warm_start says. Parameters are
// matched by name, or as `map` says. A trial with a value outside of our range is left out, and so
// is one without a value of an active parameter, unless it is to be filled in: drawn, from the
// seed. Fails if the directions differ, if no parameter is common, if nothing is left, and if a
// parameter is missing and that is to be refused.
Result<Knowledge> Learn(const StudySpec& spec, const WarmStart& wish, const EarlierStudy& earlier,
                        std::uint64_t seed);

}  // namespace sluice
