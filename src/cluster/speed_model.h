#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"
#include "base/state.h"
#include "cluster/cluster.h"
#include "cluster/speed_table.h"

namespace sluice {

// The circumstances under which a trial runs. Every measurement of speed is tagged with them.
struct SpeedSituation {
  // Trials of one shape do the same work in one unit. A shape is the name of the trials' study. If
  // the study has several shapes, a blank and what sets the shape apart follow
  // (engine/parts/shape.h).
  std::string shape;
  std::string kind;      // of its devices
  bool lent = false;     // whether they are lent; lent devices count as kinds of their own
  Milli width = kWhole;  // devices, or a share of one
  int fused = 1;         // trials in its program, including itself
  Milli neighbours = 0;  // the largest share that other trials hold of any of its devices
  friend bool operator==(const SpeedSituation&, const SpeedSituation&) = default;
  // In the order of the fields, except `kind` and `lent` (CompareKinds in speed_model.cc).
  friend std::strong_ordering operator<=>(const SpeedSituation& a, const SpeedSituation& b);

  // Says that the trial runs on this device.
  void SetDevice(const Device& device);
};

// An estimate of a trial's speed.
struct SpeedEstimate {
  // Of one trial. If no trial of this shape was measured (`measured` is 0), relative to the speed
  // of the trial alone on one A100.
  double work_per_second = 0;
  // One standard deviation, as a factor: the true speed is likely between work_per_second / spread
  // and work_per_second * spread. A spread of 1 is certainty.
  double spread = 1;
  std::int64_t count = 0;    // measurements under exactly these circumstances
  std::int64_t of_kind = 0;  // measurements of this shape on this kind
  // Measurements of this shape under any circumstances; if there are none, those of its study.
  // Measurements on lent devices count only for lent devices, all others only for devices that are
  // not lent.
  std::int64_t measured = 0;
};

// What is assumed of a shape until it is measured.
struct SpeedPriors {
  SpeedTable widths;                  // speed-up by width
  SpeedTable fusion = HydroFusion();  // throughput by the number of fused trials
  double busy = 1;                    // the part of an A100 that one trial alone keeps busy
  // How much longer work takes beside neighbours that hold a whole device, as a fraction.
  double interference = 0;
};

// Estimates "work per second of this shape, on this device kind, at this width, fused F-fold,
// beside these neighbours". Each measurement is learned with its circumstances, so that a widened
// trial is never mistaken for a fast one.
//
// The logarithm of a speed is modelled as a normal variable. Its mean in one situation is learned
// directly. Measurements in other situations of the shape count too: they are scaled by the ratio
// of the priors, and weigh less the more the situations differ. Everything known is weighted by its
// precision. The model follows a change of speed (such as a device that is throttled): the mean of
// a situation is over roughly its last 64 measurements. Deterministic; not thread-safe.
class SpeedModel {
 public:
  explicit SpeedModel(SpeedPriors priors = {}) : priors_(std::move(priors)) {}

  // `work` units were done in this many seconds. A measurement that says nothing (no work, no time)
  // is ignored.
  void Learn(const SpeedSituation& situation, double work, double seconds);
  SpeedEstimate Ask(const SpeedSituation& situation) const;

  // The kind of device, not lent, on which this shape was measured most often; empty: on none.
  std::string_view MostMeasuredKind(std::string_view shape) const;

  // The speed of a trial in this situation by the tables, relative to the speed of the trial alone
  // on one A100.
  double Prior(const SpeedSituation& situation) const;

  // Moves all that is known of this study's shapes to another model.
  void MoveStudy(std::string_view study, SpeedModel& to);

  // The priors are not saved: they are given to the constructor.
  void Save(StateWriter& writer) const;
  // Returns Corruption if Save could not have written this. The model is then unusable.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  // What is known of the logarithm of the speed in a situation.
  struct Belief {
    std::int64_t count = 0;
    double mean = 0;
    double variance = 0;   // of single measurements
    double log_prior = 0;  // of its situation; kept because it is needed often
  };
  SpeedPriors priors_;
  using Beliefs = std::map<SpeedSituation, Belief>;
  // Where the beliefs of this shape begin, or would begin if there were any.
  Beliefs::const_iterator FirstOf(std::string_view shape) const;

  Beliefs beliefs_;
};

}  // namespace sluice
