#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

enum class Trend { kNone, kHigherIsBetter, kLowerIsBetter };

// What the trials of a study tell about one parameter.
struct ParameterImportance {
  // The parameter's main effect, as a part of the sum of all parameters' main effects.
  double share = 0;
  // Whether the loss (nearly) only falls or only rises with the parameter. kNone for a categorical
  // parameter of fewer than 16 choices. A categorical parameter with 16 or more choices is treated
  // as ordered.
  Trend trend = Trend::kNone;
  // The middle half of the parameter's values in the best tenth of the trials (at least 5 trials).
  // For a categorical parameter both are the most frequent choice in these trials. Values are as in
  // a Point; NaN if the parameter is inactive in all of these trials.
  double best_low = std::numeric_limits<double>::quiet_NaN();
  double best_high = std::numeric_limits<double>::quiet_NaN();
};

struct Importance {
  std::vector<ParameterImportance> parameters;  // in the order of the space
  // Why no importance could be computed; all shares are 0 then. Empty otherwise, and the shares add
  // up to 1.
  std::string reason;
};

inline constexpr std::size_t kLeastTrialsForImportance = 10;

// The importance of each parameter in finished trials: points of the space (NaN where a parameter
// is inactive) and losses (smaller is better). A NaN counts as a loss worse than all others. A few
// losses that are far off, even infinite, do not outweigh the rest. The same trials in the same
// order give the same answer.
Importance ComputeImportance(const Space& space, const std::vector<Point>& points,
                             const std::vector<double>& losses);

}  // namespace sluice
