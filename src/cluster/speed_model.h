#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/digest.h"
#include "base/result.h"
#include "base/state.h"
#include "cluster/cluster.h"
#include "cluster/speed_table.h"

namespace sluice {

// Under which circumstances a trial runs: what every measurement of speed is tagged with.
struct SpeedSituation {
  std::string shape;     // trials of one shape do the same work in one unit
  std::string kind;      // of its devices
  Milli width = kWhole;  // devices, or a share of one
  int fused = 1;         // trials in its program, itself among them
  Milli neighbours = 0;  // what others hold of its devices: the most of any of them
  friend auto operator<=>(const SpeedSituation&, const SpeedSituation&) = default;
};

// What a device is called in a situation: one that is lent is another kind of thing.
std::string SpeedKind(const Device& device);

// What is believed of a trial's speed.
struct SpeedEstimate {
  // Of one trial. With no measurement of this shape at all (`measured` is 0) only as a multiple of
  // its unknown speed alone on one A100.
  double work_per_second = 0;
  // One standard deviation, as a factor: the truth is likely between work_per_second / spread and
  // work_per_second * spread. 1 is certainty.
  double spread = 1;
  std::int64_t count = 0;     // measurements under just these circumstances
  std::int64_t of_kind = 0;   // of this shape, on this kind
  std::int64_t measured = 0;  // of this shape, under any
};

// What shapes can use width, and how far fusing them pays, before it has been measured.
struct SpeedPriors {
  SpeedTable widths;
  SpeedTable fusion = HydroFusion();
  double busy = 1;          // the part of an A100 that one trial alone keeps busy
  double interference = 0;  // how much slower beside neighbours that hold a whole device
};

// "Work per second of this shape, on this device kind, at this width, fused F-fold, beside these
// neighbours": learned from measurements, each with its circumstances, so that a widened trial never
// passes for a quick one.
//
// The logarithm of a speed is a normal quantity: in one situation its mean is learned directly; what
// was learned in other situations of the shape speaks too, carried over by the tables' ratio, and
// the less loudly the more they differ. All that is known is weighed by its certainty. A change of
// speed (a device that is throttled) is followed: a situation remembers its last 64 measurements or
// so. Deterministic; one thread at a time.
class SpeedModel {
 public:
  explicit SpeedModel(SpeedPriors priors = {}) : priors_(std::move(priors)) {}

  // `work` units were done in this many seconds. Measurements that say nothing (no work, no time)
  // are passed over.
  void Learn(const SpeedSituation& situation, double work, double seconds);
  SpeedEstimate Ask(const SpeedSituation& situation) const;

  // How quick the tables say one trial is in this situation, beside alone on one A100.
  double Prior(const SpeedSituation& situation) const;

  // The priors are not part of it: they come with whoever makes the model.
  void Save(StateWriter& writer) const;
  // Corruption, with the model of no use any more, on what Save does not write.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  // Of the logarithm of the speed.
  struct Belief {
    std::int64_t count = 0;
    double mean = 0;
    double variance = 0;   // of single measurements
    double log_prior = 0;  // of its situation, since it is asked for again and again
  };
  SpeedPriors priors_;
  std::map<SpeedSituation, Belief> beliefs_;
};

}  // namespace sluice
