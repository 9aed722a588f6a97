#pragma once

namespace sluice {

// What is expected of a trial's loss (smaller is better) as it goes on: a power law towards a limit.
struct Forecast {
  bool known = false;  // there is anything to go by
  double limit = 0;    // where it ends, expected
  // Loss before any work, less the limit. None, or less than none, for one that gets worse: then
  // the forecast is flat.
  double drop = 0;
  double scale = 1;  // work
  double exponent = 1;
  double done = 0;    // work already seen
  double spread = 0;  // standard deviation of the limit: how unsure we are

  // limit + drop * (1 + work/scale)^-exponent
  double At(double work) const;
  // How unsure we are of At(work), reports' noise apart: nothing up to `done`, `spread` far ahead.
  double SpreadAt(double work) const;
};

}  // namespace sluice
