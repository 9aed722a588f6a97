#include "search/stoppers/pbt.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/state.h"

namespace sluice {
namespace {

using PopulationPhase = Population::Phase;

}  // namespace

Pbt::Populations::iterator Pbt::Find(TrialId trial) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before anything else");
  const auto home = home_.find(trial);
  if (home == home_.end()) return populations_.end();
  const auto at = populations_.find(home->second);
  return at->second.Find(trial)->phase == PopulationPhase::kOver ? populations_.end() : at;
}

Work Pbt::Admit(TrialId trial) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  if (populations_.empty() || populations_.rbegin()->second.closed()) {
    populations_.emplace(opened_++, Population(rule_));
  }
  Population& open = populations_.rbegin()->second;
  open.Admit(trial);
  home_[trial] = populations_.rbegin()->first;
  return open.target(*open.Find(trial));
}

void Pbt::AdmitFork(TrialId trial, TrialId replaced) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  const auto home = home_.extract(replaced);
  SLUICE_CHECK(!home.empty(), "a fork takes the place of a trial that lost");
  populations_.at(home.mapped()).Replace(replaced, trial);
  home_[trial] = home.mapped();
}

std::vector<Ruling> Pbt::Report(TrialId trial, Work work, double value) {
  const auto at = Find(trial);
  if (at == populations_.end()) return {};
  Population& population = at->second;
  const Population::Place before = *population.Find(trial);
  if (before.phase == PopulationPhase::kReady) SetReady(at, trial, false);
  const Population::Settled settled = population.Report(trial, work, value);
  const Population::Place& after = *population.Find(trial);
  const bool lost = std::ranges::binary_search(settled.forks, trial, {}, &Population::Fork::loser);
  std::vector<Ruling> rulings;
  if (work < rule_.max_budget() && !lost) {
    const bool donates =
        std::ranges::find(settled.forks, trial, &Population::Fork::donor) != settled.forks.end();
    if (donates && after.phase == PopulationPhase::kRunning) {
      population.Hold(trial);
      SetReady(at, trial, true);
      rulings.push_back({.trial = trial, .verdict = Verdict::kPause});
    } else if (after.phase == PopulationPhase::kPaused) {
      rulings.push_back({.trial = trial, .verdict = Verdict::kPause});
    } else if (before.phase != PopulationPhase::kRunning || before.stage != after.stage) {
      rulings.push_back(
          {.trial = trial, .verdict = Verdict::kGoOn, .target = population.target(after)});
    }
  }
  for (const Ruling& ruling : Rule(at, settled)) rulings.push_back(ruling);
  return rulings;
}

std::vector<Ruling> Pbt::End(TrialId trial, bool) {
  const auto at = Find(trial);
  if (at == populations_.end()) return {};
  if (at->second.Find(trial)->phase == PopulationPhase::kReady) SetReady(at, trial, false);
  return Rule(at, at->second.End(trial));
}

std::vector<Ruling> Pbt::Closed() {
  if (populations_.empty() || populations_.rbegin()->second.closed()) return {};
  const auto open = std::prev(populations_.end());
  return Rule(open, open->second.Close());
}

std::vector<Ruling> Pbt::Rule(Populations::iterator at, const Population::Settled& settled) {
  for (const TrialId trial : settled.ready) SetReady(at, trial, true);
  std::vector<Ruling> rulings;
  for (const Population::Fork& fork : settled.forks) {
    rulings.push_back({.trial = fork.loser,
                       .verdict = Verdict::kFork,
                       .target = fork.target,
                       .from = fork.donor});
  }
  if (at->second.done()) {
    for (const Population::Place& place : at->second.places()) home_.erase(place.trial);
    populations_.erase(at);
  }
  return rulings;
}

void Pbt::SetReady(Populations::const_iterator at, TrialId trial, bool ready) {
  const ReadyKey key = {-at->second.target(*at->second.Find(trial)), at->first};
  if (ready) {
    ready_[key].insert(trial);
    return;
  }
  const auto found = ready_.find(key);
  found->second.erase(trial);
  if (found->second.empty()) ready_.erase(found);
}

std::optional<TrialGroup> Pbt::Next() {
  if (ready_.empty()) return std::nullopt;
  const auto first = ready_.extract(ready_.begin());
  const auto& [target, population] = first.key();
  TrialGroup group;
  for (const TrialId trial : first.mapped()) {
    populations_.at(population).Release(trial);
    group.members.push_back({.trial = trial, .target = -target});
  }
  return group;
}

void Pbt::Save(StateWriter& writer) const {
  rule_.Save(writer);
  writer.Put(last_);
  writer.Put(opened_);
  writer.Put(populations_.size());
  for (const auto& [number, population] : populations_) {
    writer.Put(number);
    population.Save(writer);
  }
}

Status Pbt::Load(StateReader& reader) {
  Pbt loaded = *this;
  loaded.populations_.clear();
  loaded.home_.clear();
  loaded.ready_.clear();
  if (!rule_.Matches(reader)) return UnreadableState("a stopper");
  reader.Get(loaded.last_);
  std::int64_t opened = 0;
  reader.Get(opened);
  if (opened < 0 || opened > UINT32_MAX) return UnreadableState("a stopper");
  loaded.opened_ = static_cast<std::uint32_t>(opened);
  std::int64_t next_number = 0;
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    std::int64_t number = 0;
    reader.Get(number);
    if (number < next_number || number >= opened) return UnreadableState("a stopper");
    next_number = number + 1;
    Population population(rule_);
    SLUICE_TRY(population.Load(reader));
    if (population.places().empty() || population.done()) return UnreadableState("a stopper");
    if (!population.closed() && left > 1)
      return UnreadableState("a stopper");  // only the last population may be open
    const auto at =
        loaded.populations_.emplace(static_cast<std::uint32_t>(number), std::move(population))
            .first;
    for (const Population::Place& place : at->second.places()) {
      if (place.trial > loaded.last_ || !loaded.home_.emplace(place.trial, at->first).second)
        return UnreadableState("a stopper");
      if (place.phase == PopulationPhase::kReady) loaded.SetReady(at, place.trial, true);
    }
  }
  if (!reader.ok()) return UnreadableState("a stopper");
  *this = std::move(loaded);
  return {};
}

void Pbt::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add("pbt").Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
