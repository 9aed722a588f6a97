#pragma once

namespace sluice {

// The share of the standard normal law below z, and the z at a share in [0, 1]. The relative error
// of the share is about 1e-15, in the lower tail too.
double NormalCdf(double z);
double NormalQuantile(double share);

// The share of the beta law of `a` and `b`, both positive, below x in [0, 1] (the regularised
// incomplete beta function), and the x at a share.
double BetaCdf(double x, double a, double b);
double BetaQuantile(double share, double a, double b);

}  // namespace sluice
