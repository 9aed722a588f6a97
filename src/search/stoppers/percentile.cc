#include "search/stoppers/percentile.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/fields.h"
#include "base/state.h"

namespace sluice {
namespace {

constexpr std::int64_t kHundred = 100'000;  // 100 %, in thousandths of a per cent

Quota QuotaOf(double percentile) {
  const auto share = static_cast<std::int64_t>(std::llround(percentile * 1000));
  return {.share = share, .whole = kHundred, .plus = kHundred - share};
}

// The percentile of a level's values by linear interpolation.
double Bar(const Ranking& level, const Quota& quota) {
  const double low = level.WorstOfTop()->value;
  const auto gaps = static_cast<std::int64_t>(level.size()) - 1;
  const double part = static_cast<double>(quota.share * gaps % kHundred) / kHundred;
  if (part == 0) return low;
  const double high = level.BestOfRest()->value;
  if (std::isinf(low) || std::isinf(high)) return high;
  // Interpolates from the nearer end, so that the result at an end is exact.
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

}  // namespace

Percentile::Percentile(const StopperSpec& spec) : spec_(spec), quota_(QuotaOf(spec.percentile)) {}

Work Percentile::Admit(TrialId trial) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  records_.emplace(trial, Record{.best = std::numeric_limits<double>::quiet_NaN(), .values = {}});
  return spec_.max_budget;
}

bool Percentile::IsWorse(double best, Work work) const {
  if (completed_ < spec_.startup || work < spec_.min_budget) return false;
  const auto level = levels_.find(work);
  if (level == levels_.end()) return false;
  if (static_cast<std::int64_t>(level->second.size()) < spec_.min_trials) return false;
  return std::isnan(best) || best > Bar(level->second, quota_);
}

std::vector<Ruling> Percentile::Report(TrialId trial, Work work, double value) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it reports");
  const auto found = records_.find(trial);
  if (found == records_.end()) return {};
  Record& record = found->second;
  if (work >= spec_.max_budget) {
    Complete(trial);
    return {};
  }
  if (spec_.last_counts || std::isnan(record.best) || value < record.best) record.best = value;
  if (IsWorse(record.best, work)) {
    records_.erase(found);
    return {{.trial = trial, .verdict = Verdict::kStop}};
  }
  if (work >= spec_.min_budget && !std::isnan(value)) record.values.emplace_back(work, value);
  return {};
}

std::vector<Ruling> Percentile::End(TrialId trial, bool failed) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it ends");
  if (!records_.contains(trial)) return {};  // it was complete at the full budget
  if (failed) {
    records_.erase(trial);
  } else {
    Complete(trial);
  }
  return {};
}

void Percentile::Complete(TrialId trial) {
  const auto record = records_.extract(trial);
  for (const auto& [work, value] : record.mapped().values) {
    levels_.try_emplace(work, quota_).first->second.Add({value, trial});
  }
  ++completed_;
}

void Percentile::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Record> == 2, "Save and Load list each field");
  writer.Put(spec_.min_budget);
  writer.Put(spec_.max_budget);
  writer.Put(quota_.share);
  writer.Put(last_);
  writer.Put(completed_);
  writer.Put(records_.size());
  for (const auto& [trial, record] : records_) {
    writer.Put(trial);
    writer.Put(record.best);
    writer.Put(record.values.size());
    for (const auto& [work, value] : record.values) {
      writer.Put(work);
      writer.Put(value);
    }
  }
  writer.Put(levels_.size());
  for (const auto& [work, ranking] : levels_) {
    writer.Put(work);
    ranking.Save(writer);
  }
}

Status Percentile::Load(StateReader& reader) {
  Percentile loaded(spec_);
  Work min_budget = 0;
  Work max_budget = 0;
  std::int64_t share = 0;
  reader.Get(min_budget);
  reader.Get(max_budget);
  reader.Get(share);
  reader.Get(loaded.last_);
  reader.Get(loaded.completed_);
  if (!reader.ok() || min_budget != spec_.min_budget || max_budget != spec_.max_budget ||
      share != quota_.share || loaded.completed_ < 0 ||
      loaded.completed_ > static_cast<std::int64_t>(Number(loaded.last_))) {
    return UnreadableState("a stopper");
  }
  SLUICE_TRY(loaded.LoadRecords(reader));
  SLUICE_TRY(loaded.LoadLevels(reader));
  *this = std::move(loaded);
  return {};
}

Status Percentile::LoadRecords(StateReader& reader) {
  TrialId before{};
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    TrialId trial{};
    Record record{};
    reader.Get(trial);
    reader.Get(record.best);
    record.values.resize(reader.Count());
    Work reached = 0;
    for (auto& [work, value] : record.values) {
      reader.Get(work);
      reader.Get(value);
      if (work <= reached || std::isnan(value)) return UnreadableState("a stopper");
      reached = work;
    }
    if (trial <= before || trial > last_) return UnreadableState("a stopper");
    before = trial;
    records_.emplace(trial, std::move(record));
  }
  return reader.ok() ? Status{} : UnreadableState("a stopper");
}

Status Percentile::LoadLevels(StateReader& reader) {
  Work before = 0;
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    Work work = 0;
    reader.Get(work);
    Ranking ranking(quota_);
    SLUICE_TRY(ranking.Load(reader));
    const auto size = static_cast<std::int64_t>(ranking.size());
    if (work <= before || size == 0 || size > completed_) return UnreadableState("a stopper");
    for (const Mark& mark : ranking.Sorted()) {
      const bool over = IsSet(mark.trial) && mark.trial <= last_ && !records_.contains(mark.trial);
      if (!over || std::isnan(mark.value)) return UnreadableState("a stopper");
    }
    before = work;
    levels_.emplace(work, std::move(ranking));
  }
  return reader.ok() ? Status{} : UnreadableState("a stopper");
}

void Percentile::AddTo(Digest& digest) const {
  digest.Add("percentile").Add(spec_.min_budget).Add(spec_.max_budget).Add(quota_.share);
  digest.Add(last_).Add(completed_).Add(records_.size()).Add(levels_.size());
  for (const auto& [trial, record] : records_) {
    digest.Add(trial).Add(record.best).Add(record.values.size());
    for (const auto& [work, value] : record.values) digest.Add(work).Add(value);
  }
  for (const auto& [work, ranking] : levels_) {
    digest.Add(work);
    ranking.AddTo(digest);
  }
}

}  // namespace sluice
