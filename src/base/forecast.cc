#include "base/forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice {

double Forecast::At(double work) const {
  if (drop <= 0) return limit;
  return limit + drop * std::pow(1 + work / scale, -exponent);
}

// Where the curve stands at `done` is seen; what is unsure is how much of the way that is left will
// be gone, so doubt grows as that way is gone: with (x(done) - x(work)) / x(done) for
// x(w) = (1 + w/scale)^-exponent.
double Forecast::SpreadAt(double work) const {
  return spread * (1 - std::pow((scale + std::max(work, done)) / (scale + done), -exponent));
}

}  // namespace sluice
