#include "search/rungs/rung_book.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"

namespace sluice {
RungBook::RungBook(const StopperSpec& spec, std::size_t least_top)
    : spec_(spec),
      rungs_(spec),
      rankings_(rungs_.size(), Ranking({.whole = spec.eta, .least = least_top})) {}

RungBook::TrialState RungBook::At(TrialId trial) const {
  return Number(trial) < trials_.size() ? trials_[Number(trial)] : TrialState{};
}

Work RungBook::Admit(TrialId trial) {
  SLUICE_CHECK(phase(trial) == Phase::kAbsent, "a trial is admitted once");
  if (Number(trial) >= trials_.size()) trials_.resize(Number(trial) + std::size_t{1});
  trials_[Number(trial)].phase = Phase::kRunning;
  return Target(trial);
}

void RungBook::SetPhase(TrialId trial, Phase phase) {
  SLUICE_CHECK(At(trial).phase != Phase::kAbsent, "a trial is admitted before anything else");
  trials_[Number(trial)].phase = phase;
}

RungBook::Reached RungBook::Record(TrialId trial, Work work, double value) {
  SLUICE_CHECK(At(trial).phase != Phase::kAbsent, "a trial is admitted before it reports");
  const std::size_t first = NextRung(trial);
  const std::size_t end = std::max(first, rungs_.Passed(work));
  for (std::size_t rung = first; rung < end; ++rung) {
    if (Planted("one-rung") && rung + 1 < end) continue;
    rankings_[rung].Add({value, trial});
  }
  trials_[Number(trial)].next_rung = static_cast<std::uint8_t>(end);
  return {first, end};
}

bool RungBook::InTop(std::size_t rung, const Mark& mark) const {
  if (Planted("ties-in")) {
    const Mark* const worst = rankings_[rung].WorstOfTop();
    if (worst != nullptr && worst->value == mark.value) return true;
  }
  return !std::isnan(mark.value) && rankings_[rung].InTop(mark);
}

void RungBook::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<TrialState> == 2, "Save and Load list each field");
  SaveRungs(writer, spec_);
  writer.Put(trials_.size());
  for (const TrialState& trial : trials_) {
    writer.Put(trial.phase);
    writer.Put(trial.next_rung);
  }
  for (const Ranking& ranking : rankings_) ranking.Save(writer);
}

Status RungBook::Load(StateReader& reader) {
  if (!AreRungsOf(spec_, reader)) return UnreadableState("a stopper");
  std::vector<TrialState> trials(reader.Count());
  std::vector<std::size_t> expected(rungs_.size());  // number of marks, by rung
  for (TrialState& trial : trials) {
    std::int64_t phase = 0;
    std::int64_t next_rung = 0;
    reader.Get(phase);
    reader.Get(next_rung);
    if (phase < 0 || phase > static_cast<std::int64_t>(Phase::kEnded))
      return UnreadableState("a stopper");
    if (next_rung < 0 || static_cast<std::size_t>(next_rung) > rungs_.size())
      return UnreadableState("a stopper");
    trial = {static_cast<Phase>(phase), static_cast<std::uint8_t>(next_rung)};
    for (std::size_t rung = 0; rung < trial.next_rung; ++rung) ++expected[rung];
  }
  std::vector<Ranking> rankings = rankings_;
  for (std::size_t rung = 0; rung < rungs_.size(); ++rung) {
    SLUICE_TRY(rankings[rung].Load(reader));
    if (rankings[rung].size() != expected[rung]) return UnreadableState("a stopper");
    std::vector<bool> seen(trials.size());
    for (const Mark& mark : rankings[rung].Sorted()) {
      const std::size_t number = Number(mark.trial);
      if (number >= trials.size() || trials[number].next_rung <= rung || seen[number]) {
        return UnreadableState("a stopper");
      }
      seen[number] = true;
    }
  }
  trials_ = std::move(trials);
  rankings_ = std::move(rankings);
  return {};
}

void RungBook::AddTo(Digest& digest) const {
  digest.Add(spec_.min_budget).Add(spec_.max_budget).Add(spec_.eta).Add(trials_.size());
  for (const TrialState& trial : trials_) digest.Add(trial.phase).Add(trial.next_rung);
  for (const Ranking& ranking : rankings_) ranking.AddTo(digest);
}

}  // namespace sluice
