#pragma once

namespace sluice {

// How a trial's loss (smaller is better) is expected to develop as the trial does more work: by a
// power law towards a limit.
struct Forecast {
  bool known = false;  // whether there is any data to forecast from
  double limit = 0;    // the loss that the trial is expected to approach
  // The loss before any work, minus the limit. Zero or negative for a trial that gets worse; the
  // forecast is then `limit` at any work.
  double drop = 0;
  double scale = 1;  // in units of work
  double exponent = 1;
  double done = 0;    // the work up to which losses were reported
  double spread = 0;  // standard deviation of the limit

  // limit + drop * (1 + work/scale)^-exponent
  double At(double work) const;
  // Standard deviation of At(work), without the noise of reports. It is 0 up to `done`, and
  // approaches `spread` as work grows.
  double SpreadAt(double work) const;
};

}  // namespace sluice
