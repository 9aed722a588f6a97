#include "search/stoppers/patience.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/state.h"

namespace sluice {

Work Patience::Admit(TrialId trial) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  running_.emplace(trial, Best{.value = std::numeric_limits<double>::quiet_NaN()});
  return spec_.max_budget;
}

std::vector<Ruling> Patience::Report(TrialId trial, Work work, double value) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it reports");
  const auto found = running_.find(trial);
  if (found == running_.end()) return {};
  if (work >= spec_.max_budget) {
    running_.erase(found);
    return {};
  }
  Best& best = found->second;
  const bool improves =
      std::isnan(best.value) ? !std::isnan(value) : value < best.value - spec_.min_delta;
  if (improves) {
    best = {value, work};
    return {};
  }
  if (work < spec_.min_budget || work - best.work < spec_.patience) return {};
  running_.erase(found);
  return {{.trial = trial, .verdict = Verdict::kStop}};
}

std::vector<Ruling> Patience::End(TrialId trial, bool) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it ends");
  running_.erase(trial);
  return {};
}

void Patience::Save(StateWriter& writer) const {
  writer.Put(spec_.min_budget);
  writer.Put(spec_.max_budget);
  writer.Put(spec_.patience);
  writer.Put(spec_.min_delta);
  writer.Put(last_);
  writer.Put(running_.size());
  for (const auto& [trial, best] : running_) {
    writer.Put(trial);
    writer.Put(best.value);
    writer.Put(best.work);
  }
}

Status Patience::Load(StateReader& reader) {
  Patience loaded(spec_);
  StopperSpec spec = spec_;
  reader.Get(spec.min_budget);
  reader.Get(spec.max_budget);
  reader.Get(spec.patience);
  reader.Get(spec.min_delta);
  reader.Get(loaded.last_);
  bool good = spec.min_budget == spec_.min_budget && spec.max_budget == spec_.max_budget &&
              spec.patience == spec_.patience && spec.min_delta == spec_.min_delta;
  TrialId before{};
  for (std::size_t left = reader.Count(); left > 0 && good && reader.ok(); --left) {
    TrialId trial{};
    Best best{};
    reader.Get(trial);
    reader.Get(best.value);
    reader.Get(best.work);
    good = trial > before && trial <= loaded.last_ && best.work >= 0;
    before = trial;
    loaded.running_.emplace(trial, best);
  }
  if (!good || !reader.ok()) return UnreadableState("a stopper");
  *this = std::move(loaded);
  return {};
}

void Patience::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add("patience").Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
