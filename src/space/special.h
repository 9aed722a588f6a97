#pragma once

namespace sluice {

// NormalCdf is the share of the standard normal law below z. NormalQuantile is the inverse: the z
// for which NormalCdf(z) is `share`. The relative error of NormalCdf is about 1e-15, in the lower
// tail too.
double NormalCdf(double z);
double NormalQuantile(double share);

// BetaCdf is the share of the beta law of `a` and `b`, both positive, below x in [0, 1] (the
// regularised incomplete beta function). BetaQuantile is the inverse: the x for which
// BetaCdf(x, a, b) is `share`.
double BetaCdf(double x, double a, double b);
double BetaQuantile(double share, double a, double b);

}  // namespace sluice
