#include "base/forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice {

double Forecast::At(double work) const {
  if (drop <= 0) return limit;
  return limit + drop * std::pow(1 + work / scale, -exponent);
}

// The loss at `done` is known. The size of the remaining drop is not. So the uncertainty grows with
// the part of the remaining drop that is expected between `done` and `work`. That part is
// (x(done) - x(work)) / x(done), where x(w) = (1 + w/scale)^-exponent.
double Forecast::SpreadAt(double work) const {
  return spread * (1 - std::pow((scale + std::max(work, done)) / (scale + done), -exponent));
}

}  // namespace sluice
