#include "engine/parts/memory_meter.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sluice {
namespace {

std::int64_t RoundedUp(double bytes) { return static_cast<std::int64_t>(std::ceil(bytes)); }

// A measurement at more trials than the study fuses says nothing about the study's bundles.
bool TellsMemory(const Study& study, const Measurement& measured) {
  return measured.bytes > 0 &&
         measured.situation.fused <= std::max(1, study.spec.demand.fused_most);
}

}  // namespace

Demand CorrectedByMemory(const Demand& stated, const std::map<int, std::int64_t>& bytes) {
  if (bytes.empty()) return stated;
  const auto [fewest, least] = *bytes.begin();
  const auto [most, largest] = *bytes.rbegin();
  double alone = 1;
  double each = 1;
  if (fewest < most) {
    each = std::max(0.0, static_cast<double>(largest - least) / (most - fewest));
    alone = 0;
    for (const auto& [trials, taken] : bytes)
      alone = std::max(alone, static_cast<double>(taken) - (trials - 1) * each);
  } else {
    if (stated.memory_bytes > 0) {
      alone = static_cast<double>(stated.memory_bytes);
      each = static_cast<double>(stated.fused_most > 1 ? stated.fused_bytes : stated.memory_bytes);
    }
    const double factor = static_cast<double>(least) / (alone + (fewest - 1) * each);
    alone *= factor;
    each *= factor;
  }
  Demand corrected = stated;
  corrected.memory_bytes = std::max<std::int64_t>(1, RoundedUp(alone));
  if (stated.fused_most > 1)
    corrected.fused_bytes = std::min(RoundedUp(each), corrected.memory_bytes);
  return corrected;
}

void MemoryMeter::Learn(Study& study, const Measurement& measured) {
  if (!TellsMemory(study, measured)) return;
  if (std::exchange(study.memory_is_inherited, false)) study.measured_bytes.clear();
  Add(study, measured);
}

void MemoryMeter::Inherit(Study& study, const Measurement& measured) {
  if (!TellsMemory(study, measured)) return;
  study.memory_is_inherited = true;
  Add(study, measured);
}

void MemoryMeter::MeasureAnew(Study& study) {
  study.memory_is_inherited = !study.measured_bytes.empty() && !study.running.empty();
  if (!study.memory_is_inherited) study.measured_bytes.clear();
  Correct(study);
}

// Only the largest measurement is kept, whatever the shape of its trials, because bundles of all
// shapes are planned alike.
void MemoryMeter::Add(Study& study, const Measurement& measured) {
  std::int64_t& largest = study.measured_bytes[measured.situation.fused];
  largest = std::max(largest, measured.bytes);
  Correct(study);
}

// Corrects the demand, and also the grants of running launches, so that a plan does not move them
// only because a number has changed.
void MemoryMeter::Correct(Study& study) {
  Demand corrected = CorrectedByMemory(study.spec.demand, study.measured_bytes);
  if (corrected == study.demand) return;
  study.demand = std::move(corrected);
  std::vector<Grant*> held;
  for (const TrialId id : study.running) {
    Grant& grant = study.trial(id).launch.grant;
    if (!grant.devices.empty()) held.push_back(&grant);
  }
  for (const Grant* grant : held) state_.cluster.Release(*grant);
  for (Grant* grant : held) {
    const bool fused = IsSet(grant->bundle);
    grant->memory_bytes = fused ? study.demand.fused_bytes : study.demand.memory_bytes;
    grant->program_bytes = study.demand.memory_bytes - grant->memory_bytes;
    state_.cluster.TakeAsMeasured(*grant);
  }
  study.replan = true;
}

}  // namespace sluice
