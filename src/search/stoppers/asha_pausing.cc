#include "search/stoppers/asha_pausing.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/fields.h"
#include "base/state.h"

namespace sluice {
// Of n sorted values, counted from 0, the quantile lies at (n - 1) / eta. The top of a rung ends
// with the last value at or before that place.
AshaPausing::AshaPausing(const StopperSpec& spec)
    : spec_(spec),
      rungs_(spec),
      rankings_(rungs_.size(), Ranking({.whole = spec.eta, .plus = spec.eta - 1})),
      paused_(rungs_.size()) {}

AshaPausing::Member& AshaPausing::At(TrialId trial) {
  SLUICE_CHECK(IsSet(trial) && Number(trial) <= members_.size(),
               "a trial is admitted before anything else");
  return members_[Number(trial) - 1];
}

Work AshaPausing::Admit(TrialId trial) {
  SLUICE_CHECK(Number(trial) > members_.size(), "trials are admitted once, in order of ids");
  // Ids that were skipped count as ended.
  members_.resize(Number(trial) - 1, {.phase = Phase::kEnded, .values = {}});
  members_.emplace_back();
  return spec_.max_budget;
}

bool AshaPausing::IsWorse(std::size_t rung, double value) const {
  const Ranking& ranking = rankings_[rung];
  if (std::isnan(value)) return true;
  if (ranking.size() < 2) return false;
  const double low = ranking.WorstOfTop()->value;
  const auto part =
      static_cast<double>((static_cast<std::int64_t>(ranking.size()) - 1) % spec_.eta);
  if (part == 0) return value > low;
  const double high = ranking.BestOfRest()->value;
  // Between a number and NaN or an infinity there is nothing to interpolate. Then a value is worse
  // only if it is above `high`, and no value is above NaN.
  if (!std::isfinite(low) || !std::isfinite(high)) return value > high;
  return value > low + (high - low) * (part / static_cast<double>(spec_.eta));
}

bool AshaPausing::IsWorseSomewhere(const Member& member) const {
  for (std::size_t rung = 0; rung < member.values.size(); ++rung) {
    if (IsWorse(rung, member.values[rung])) return true;
  }
  return false;
}

void AshaPausing::SetPhase(TrialId trial, Phase phase) {
  Member& member = At(trial);
  const auto waits = [&] { return member.phase == Phase::kPaused && !member.values.empty(); };
  const auto place = [&]() -> auto& { return paused_[member.values.size() - 1]; };
  if (waits()) place().erase({member.values.back(), trial});
  member.phase = phase;
  if (waits()) place().insert({member.values.back(), trial});
}

std::vector<Ruling> AshaPausing::Report(TrialId trial, Work work, double value) {
  Member& member = At(trial);
  if (member.phase == Phase::kEnded) return {};
  const bool was_paused = member.phase == Phase::kPaused;
  SetPhase(trial, Phase::kRunning);
  bool worse = IsWorseSomewhere(member);
  const std::size_t passed = rungs_.Passed(work);
  const bool arrives = member.values.size() < passed;
  while (member.values.size() < passed) {
    const std::size_t rung = member.values.size();
    worse = worse || IsWorse(rung, value);
    rankings_[rung].Add({value, trial});
    member.values.push_back(value);
  }
  if (work >= spec_.max_budget) return {};  // complete
  if (arrives && std::isnan(value)) {
    SetPhase(trial, Phase::kEnded);
    return {{.trial = trial, .verdict = Verdict::kStop}};
  }
  if (worse) {
    SetPhase(trial, Phase::kPaused);
    return {{.trial = trial, .verdict = Verdict::kPause}};
  }
  if (!was_paused) return {};
  return {{.trial = trial, .verdict = Verdict::kGoOn, .target = spec_.max_budget}};
}

std::vector<Ruling> AshaPausing::End(TrialId trial, bool) {
  SetPhase(trial, Phase::kEnded);
  return {};
}

TrialId AshaPausing::FirstReady() const {
  for (std::size_t rung = paused_.size(); rung-- > 0;) {
    for (const Mark& mark : paused_[rung]) {
      if (IsWorse(rung, mark.value)) break;  // and so is every trial behind it
      if (!IsWorseSomewhere(members_[Number(mark.trial) - 1])) return mark.trial;
    }
  }
  return {};
}

std::optional<TrialGroup> AshaPausing::Next() {
  const TrialId trial = FirstReady();
  if (!IsSet(trial)) return std::nullopt;
  SetPhase(trial, Phase::kRunning);
  return TrialGroup{{{.trial = trial, .target = spec_.max_budget}}};
}

void AshaPausing::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Member> == 2, "Save and Load list each field");
  SaveRungs(writer, spec_);
  writer.Put(members_.size());
  for (const Member& member : members_) {
    writer.Put(member.phase);
    writer.Put(member.values.size());
    for (const double value : member.values) writer.Put(value);
  }
}

Status AshaPausing::Load(StateReader& reader) {
  AshaPausing loaded(spec_);
  if (!AreRungsOf(spec_, reader)) return UnreadableState("a stopper");
  const std::size_t count = reader.Count();
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    std::int64_t phase = 0;
    reader.Get(phase);
    const std::size_t values = reader.Count();
    const bool waits = phase == static_cast<std::int64_t>(Phase::kPaused);
    if (phase < 0 || phase > static_cast<std::int64_t>(Phase::kEnded) || values > rungs_.size() ||
        (waits && values == 0))
      return UnreadableState("a stopper");
    const auto trial = static_cast<TrialId>(i + 1);
    Member& member = loaded.members_.emplace_back();
    for (std::size_t rung = 0; rung < values; ++rung) {
      double value = 0;
      reader.Get(value);
      member.values.push_back(value);
      loaded.rankings_[rung].Add({value, trial});
    }
    if (waits && std::isnan(member.values.back())) return UnreadableState("a stopper");
    loaded.SetPhase(trial, static_cast<Phase>(phase));
  }
  if (!reader.ok()) return UnreadableState("a stopper");
  *this = std::move(loaded);
  return {};
}

void AshaPausing::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add("asha-pausing").Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
