#include "base/forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice {

double Forecast::At(double work) const {
  if (drop <= 0) return limit;
  return limit + drop * std::pow(1 + work / scale, -exponent);
}

// The loss at `done` has been seen. What is uncertain is the size of the remaining drop. So the
// uncertainty grows with the part of that drop expected by `work`: (x(done) - x(work)) / x(done)
// for x(w) = (1 + w/scale)^-exponent.
double Forecast::SpreadAt(double work) const {
  return spread * (1 - std::pow((scale + std::max(work, done)) / (scale + done), -exponent));
}

}  // namespace sluice
