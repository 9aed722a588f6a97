#pragma once

namespace sluice {

// What is expected of a trial's loss (smaller is better) as it trains on: a power law towards a
// limit.
struct Forecast {
  bool known = false;  // whether there is any data to forecast from
  double limit = 0;    // the loss it is expected to tend to
  // Loss before any work, less the limit. Zero or negative for a trial that gets worse: the
  // forecast is flat then.
  double drop = 0;
  double scale = 1;  // work
  double exponent = 1;
  double done = 0;    // work already seen
  double spread = 0;  // standard deviation of the limit

  // limit + drop * (1 + work/scale)^-exponent
  double At(double work) const;
  // Standard deviation of At(work), without the noise of reports: 0 up to `done`, `spread` far
  // ahead.
  double SpreadAt(double work) const;
};

}  // namespace sluice
