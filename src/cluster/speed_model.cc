#include "cluster/speed_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/fields.h"
#include "cluster/device_kind.h"

namespace sluice {
namespace {

constexpr Milli kMostNeighbours = 1000 * kWhole;
constexpr double kMemory = 64;        // a situation's mean is over about this many measurements
constexpr double kLargestMean = 100;  // of the logarithm of a speed: no speed is near e^100
// Variances of the logarithm of a speed.
constexpr double kOwnVariance = 0.01;        // of a single measurement, before there are several
constexpr double kKindVariance = 0.04;       // error of the tables for another kind of device
constexpr double kDoublingVariance = 0.01;   // error for twice the width or twice the fused trials
constexpr double kNeighbourVariance = 0.04;  // error for neighbours that hold a whole device
constexpr double kUnknownVariance = 4;       // of a shape without measurements

// Rounds neighbours to quarters of a device: finer differences cannot be measured.
SpeedSituation Rounded(SpeedSituation situation) {
  constexpr Milli kQuarter = kWhole / 4;
  situation.neighbours = (situation.neighbours + kQuarter / 2) / kQuarter * kQuarter;
  return situation;
}

double Doublings(double a, double b) { return std::abs(std::log2(a / b)); }

// The variance to add when what was learned in one situation is used in the other.
double Distance(const SpeedSituation& a, const SpeedSituation& b) {
  double variance = a.kind == b.kind && a.lent == b.lent ? 0 : kKindVariance;
  variance +=
      kDoublingVariance * Doublings(static_cast<double>(a.width), static_cast<double>(b.width));
  variance += kDoublingVariance * Doublings(a.fused, b.fused);
  variance +=
      kNeighbourVariance * std::abs(static_cast<double>(a.neighbours - b.neighbours)) / kWhole;
  return variance;
}

// In a saved model, and so in a digest, the kind of a lent device has this suffix. Snapshots were
// written that way before `lent` was a field, and their bytes must not change.
constexpr std::string_view kLentSuffix = ", lent";

std::string SavedKind(const SpeedSituation& situation) {
  return situation.lent ? situation.kind + std::string(kLentSuffix) : situation.kind;
}

// Takes the suffix off a kind that was saved.
void TakeOffSuffix(SpeedSituation& situation) {
  if (situation.lent || !situation.kind.ends_with(kLentSuffix)) return;
  situation.kind.erase(situation.kind.size() - kLentSuffix.size());
  situation.lent = true;
}

// The order of SavedKind. Situations are saved and summed up in this order. It differs from the
// order by kind and then `lent` if the name of one kind begins with the name of the other.
std::strong_ordering CompareKinds(const SpeedSituation& a, const SpeedSituation& b) {
  if (a.kind == b.kind) return a.lent <=> b.lent;
  if (!a.lent && !b.lent) return a.kind <=> b.kind;
  return SavedKind(a) <=> SavedKind(b);
}

// The name of the study that a shape belongs to: names of studies have no blank.
std::string_view StudyOfShape(std::string_view shape) { return shape.substr(0, shape.find(' ')); }

SpeedSituation Sane(SpeedSituation situation) {
  TakeOffSuffix(situation);  // so that no two situations are saved under one name
  situation.width = std::max<Milli>(situation.width, 1);
  situation.fused = std::max(situation.fused, 1);
  situation.neighbours = std::clamp<Milli>(situation.neighbours, 0, kMostNeighbours);
  return Rounded(std::move(situation));
}

}  // namespace

std::strong_ordering operator<=>(const SpeedSituation& a, const SpeedSituation& b) {
  if (const auto order = a.shape <=> b.shape; order != 0) return order;
  if (const auto order = CompareKinds(a, b); order != 0) return order;
  return std::tie(a.width, a.fused, a.neighbours) <=> std::tie(b.width, b.fused, b.neighbours);
}

void SpeedSituation::SetDevice(const Device& device) {
  kind = device.kind;
  lent = device.IsLent();
}

double SpeedModel::Prior(const SpeedSituation& situation) const {
  const double width = static_cast<double>(situation.width) / kWhole;
  const double beside = static_cast<double>(situation.neighbours) / kWhole;
  // A share below what the trial alone keeps busy caps its speed. A larger share changes nothing.
  const double wide =
      width < 1 ? std::min(1.0, width / std::max(priors_.busy, 1e-3)) : priors_.widths.At(width);
  // The table of fusion was measured on GPUs. On cores nothing is known, so a fused trial counts as
  // fast as a trial alone.
  const double together =
      situation.kind.empty() ? situation.fused : priors_.fusion.At(situation.fused);
  return RelativeSpeed(situation.kind, "A100", priors_.busy) * wide * together / situation.fused /
         (1 + priors_.interference * beside);
}

void SpeedModel::Learn(const SpeedSituation& situation, double work, double seconds) {
  if (!(work > 0) || !(seconds > 0) || !std::isfinite(work) || !std::isfinite(seconds)) return;
  const double speed = std::log(work / seconds);
  if (!(std::abs(speed) < kLargestMean)) return;
  const auto [at, is_new] = beliefs_.try_emplace(Sane(situation));
  Belief& belief = at->second;
  if (is_new) belief.log_prior = std::log(Prior(at->first));
  ++belief.count;
  const double weight = 1 / std::min(static_cast<double>(belief.count), kMemory);
  const double off = speed - belief.mean;
  belief.mean += weight * off;
  belief.variance = (1 - weight) * (belief.variance + weight * off * off);
}

SpeedModel::Beliefs::const_iterator SpeedModel::FirstOf(std::string_view shape) const {
  SpeedSituation first;
  first.shape = shape;
  first.width = 0;
  return beliefs_.lower_bound(first);
}

// The shapes of a study are its name, and texts that begin with its name and a blank. Names of
// other studies may lie between the two: "net", "net-2", "net lr=1" is an order of shapes.
void SpeedModel::MoveStudy(std::string_view study, SpeedModel& to) {
  for (auto at = FirstOf(study); at != beliefs_.end() && at->first.shape.starts_with(study);) {
    const auto here = at++;
    if (StudyOfShape(here->first.shape) == study) to.beliefs_.insert(beliefs_.extract(here));
  }
}

std::string_view SpeedModel::MostMeasuredKind(std::string_view shape) const {
  std::map<std::string_view, std::int64_t> counts;
  std::string_view most;
  for (auto at = FirstOf(shape); at != beliefs_.end() && at->first.shape == shape; ++at) {
    const std::string& kind = at->first.kind;
    if (at->first.lent || kind.empty()) continue;
    if ((counts[kind] += at->second.count) > counts[most] || most.empty()) most = kind;
  }
  return most;
}

SpeedEstimate SpeedModel::Ask(const SpeedSituation& asked) const {
  const SpeedSituation situation = Sane(asked);
  const double prior = std::log(Prior(situation));
  SpeedEstimate estimate;
  double precision = 0;
  double sum = 0;
  for (auto at = FirstOf(situation.shape);
       at != beliefs_.end() && at->first.shape == situation.shape; ++at) {
    const auto& [known, belief] = *at;
    // Measurements on lent devices say nothing about devices that are not lent, and vice versa.
    if (known.lent != situation.lent) continue;
    estimate.measured += belief.count;
    if (known.kind == situation.kind) estimate.of_kind += belief.count;
    if (known == situation) estimate.count = belief.count;
    const double seen = std::min(static_cast<double>(belief.count), kMemory);
    // Noise cannot be estimated from one measurement, and hardly from two. So kOwnVariance counts
    // as one more measurement.
    const double noise = (belief.variance * seen + kOwnVariance) / (seen + 1);
    const double certainty = 1 / (noise / seen + Distance(known, situation));
    precision += certainty;
    sum += certainty * (belief.mean + prior - belief.log_prior);
  }
  if (estimate.measured == 0) {
    // What was measured of the whole study is the best guess for one of its shapes.
    if (const auto study = StudyOfShape(situation.shape); study != situation.shape) {
      SpeedSituation of_study = situation;
      of_study.shape = study;
      return Ask(of_study);
    }
    estimate.work_per_second = std::exp(prior);
    estimate.spread = std::exp(std::sqrt(kUnknownVariance));
    return estimate;
  }
  estimate.work_per_second = std::exp(sum / precision);
  estimate.spread = std::exp(std::sqrt(1 / precision));
  return estimate;
}

// The kind of a lent device is saved as a kind of its own (SavedKind). The prior of a belief is not
// saved, because it follows from the situation.
static_assert(kFieldsOf<SpeedSituation> == 6, "Save and Load list the fields of a situation");

void SpeedModel::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Belief> == 4, "Save and Load list the fields of a belief");
  writer.Put(beliefs_.size());
  for (const auto& [situation, belief] : beliefs_) {
    writer.Put(std::string_view(situation.shape));
    writer.Put(std::string_view(SavedKind(situation)));
    writer.Put(situation.width);
    writer.Put(situation.fused);
    writer.Put(situation.neighbours);
    writer.Put(belief.count);
    writer.Put(belief.mean);
    writer.Put(belief.variance);
  }
}

Status SpeedModel::Load(StateReader& reader) {
  beliefs_.clear();
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    SpeedSituation situation;
    Belief belief;
    reader.Get(situation.shape);
    reader.Get(situation.kind);
    TakeOffSuffix(situation);
    reader.Get(situation.width);
    reader.Get(situation.fused);
    reader.Get(situation.neighbours);
    reader.Get(belief.count);
    reader.Get(belief.mean);
    reader.Get(belief.variance);
    const bool good = belief.count > 0 && std::abs(belief.mean) < kLargestMean &&
                      std::isfinite(belief.variance) && belief.variance >= 0 &&
                      Sane(situation) == situation;
    belief.log_prior = good ? std::log(Prior(situation)) : 0;
    if (!reader.ok() || !good || !beliefs_.emplace(std::move(situation), belief).second)
      return Corruption("a snapshot's speeds do not read back");
  }
  if (!reader.ok()) return Corruption("a snapshot's speeds do not read back");
  return {};
}

void SpeedModel::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
