#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "space/space.h"

namespace sluice {

enum class Trend { kNone, kHigherIsBetter, kLowerIsBetter };

// What the trials of a study say of one parameter.
struct ParameterImportance {
  // Of the differences between trials that parameters make one by one, the part this one makes.
  double share = 0;
  // Whether the loss only falls or only rises with it; not for categorical ones.
  Trend trend = Trend::kNone;
  // Where the best tenth of the trials lies (at least 5 of them): the middle half of their values;
  // for a categorical parameter their most frequent choice. Values as in a Point; NaN if it is
  // inactive in all of them.
  double best_low = std::numeric_limits<double>::quiet_NaN();
  double best_high = std::numeric_limits<double>::quiet_NaN();
};

struct Importance {
  std::vector<ParameterImportance> parameters;  // in the order of the space
  // Why nothing can be said: shares are all 0 then. Empty otherwise, and the shares add up to 1.
  std::string reason;
};

inline constexpr std::size_t kLeastTrialsForImportance = 10;

// The importance of each parameter in finished trials: points of the space (NaN where a parameter is
// inactive) and losses, smaller being better. NaN is a loss worse than all others; a few that are far
// off, even infinite, do not drown the rest. The same trials in the same order give the same answer.
Importance ComputeImportance(const Space& space, const std::vector<Point>& points,
                             const std::vector<double>& losses);

}  // namespace sluice
