#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/event.h"
#include "engine/study.h"
#include "space/point_part.h"

namespace sluice {

// The most trials of earlier studies that a sampler is told of.
constexpr std::size_t kMostKnown = 100'000;

struct EarlierTrial {
  NamedValues params;
  Outcome outcome = Outcome::kComplete;
  Work work = 0;
  double value = 0;  // of the study's objective; not finite: the trial has no result
};

// A study that ran before, read from a store or from an Optuna file.
struct EarlierStudy {
  std::string source;  // what messages call it: "study 'a'"
  std::string metric;  // empty: not known
  std::string unit;    // empty: not known
  Direction direction = Direction::kMinimize;
  std::vector<EarlierTrial> trials;
};

// What a study can use of an earlier one.
struct Knowledge {
  std::vector<KnownTrial> trials;
  std::string summary;             // "180 of 200 trials of study 'a'; 20 have lr outside [0, 1]"
  std::vector<std::string> notes;  // what else a user should know
};

// Makes points of this study's space out of the earlier trials, as `wish` (the study's warm_start)
// says. Parameters are matched by name, or as `map` says. A trial with a value outside of this
// study's range is left out. A trial without a value of an active parameter is left out too, unless
// `missing` says to fill it in: the value is then drawn from the seed. Fails if the directions
// differ, if no parameter is common, if no trial is left, or if a parameter is missing and
// `missing` says to refuse that.
Result<Knowledge> Learn(const StudySpec& spec, const WarmStart& wish, const EarlierStudy& earlier,
                        std::uint64_t seed);

}  // namespace sluice
