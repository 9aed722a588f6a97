#include "rig/stoppers/plain_pbt.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace sluice {

PlainPbtRule::PlainPbtRule(const StopperSpec& of) : spec(of) {
  const Work tenth = of.max_budget / 10 + (of.max_budget % 10 != 0 ? 1 : 0);
  const Work interval = of.interval > 0 ? of.interval : std::max(of.min_budget, tenth);
  for (Work at = interval; at < of.max_budget; at += interval) {
    if (at >= of.min_budget) stages.push_back(at);
  }
}

Work PlainPbtRule::TargetAfter(Work work) const {
  const auto next = std::ranges::find_if(stages, [&](Work stage) { return stage > work; });
  return next == stages.end() ? spec.max_budget : *next;
}

std::size_t PlainPbtRule::Quantile(std::size_t n) const {
  const auto thousandths = static_cast<std::size_t>(std::llround(spec.quantile * 1000));
  return std::min((n * thousandths + 999) / 1000, n / 2);
}

TrialId PlainPbtRule::Draw(const std::vector<TrialId>& donors, TrialId loser, Work work) const {
  Random random =
      Random(spec.seed).Fork("pbt").Fork(Number(loser)).Fork(static_cast<std::uint64_t>(work));
  return donors[random.Below(donors.size())];
}

Work PlainPbt::TargetOf(const Place& place) const {
  return place.stage < rule_.stages.size() ? rule_.stages[place.stage] : rule_.spec.max_budget;
}

PlainPbt::Place* PlainPbt::Find(TrialId trial) {
  const auto home = home_.find(trial);
  if (home == home_.end()) return nullptr;
  Place& place = populations_[home->second.first].places[home->second.second];
  return place.phase == Phase::kOver ? nullptr : &place;
}

Work PlainPbt::Admit(TrialId trial) {
  if (populations_.empty() || populations_.back().closed) populations_.emplace_back();
  auto& places = populations_.back().places;
  home_[trial] = {populations_.size() - 1, places.size()};
  places.push_back({.trial = trial});
  return TargetOf(places.back());
}

void PlainPbt::AdmitFork(TrialId trial, TrialId replaced) {
  const auto home = home_.extract(replaced).mapped();
  home_[trial] = home;
  populations_[home.first].places[home.second].trial = trial;
}

std::vector<Ruling> PlainPbt::Report(TrialId trial, Work work, double value) {
  Place* const found = Find(trial);
  if (found == nullptr) return {};
  Place& place = *found;
  const Place before = place;
  place.work = work;
  for (std::size_t s = place.stage; s < rule_.stages.size() && rule_.stages[s] <= work; ++s)
    place.values.emplace(s, value);
  const bool complete = work >= rule_.spec.max_budget;
  if (complete) place.phase = Phase::kOver;
  std::vector<Ruling> forks;
  if (complete || place.values.size() != before.values.size())
    forks = Settle(populations_[home_.at(trial).first], trial);
  const bool lost = std::ranges::find(forks, trial, &Ruling::trial) != forks.end();
  if (complete || lost) return forks;
  const bool donates = std::ranges::find(forks, trial, &Ruling::from) != forks.end();
  place.phase = place.waits() ? Phase::kPaused : Phase::kGoing;
  if (place.phase == Phase::kPaused) {
    forks.insert(forks.begin(), {trial, Verdict::kPause});
  } else if (donates) {
    place.phase = Phase::kReady;
    forks.insert(forks.begin(), {trial, Verdict::kPause});
  } else if (before.phase != Phase::kGoing || before.stage != place.stage) {
    forks.insert(forks.begin(), {trial, Verdict::kGoOn, TargetOf(place)});
  }
  return forks;
}

std::vector<Ruling> PlainPbt::End(TrialId trial, bool) {
  Place* const place = Find(trial);
  if (place == nullptr) return {};
  place->phase = Phase::kOver;
  return Settle(populations_[home_.at(trial).first], trial);
}

std::vector<Ruling> PlainPbt::Closed() {
  if (populations_.empty() || populations_.back().closed) return {};
  populations_.back().closed = true;
  return Settle(populations_.back(), {});
}

std::vector<Ruling> PlainPbt::Settle(Population& population, TrialId except) {
  if (!population.closed) return {};
  Settled settled;
  std::size_t may_come = 0;  // trials at earlier stages that may still come to this one
  for (std::size_t s = population.next; s < rule_.stages.size(); ++s) {
    std::vector<PlainMark> ranked;  // includes trials that have gone on from this stage
    std::size_t coming = 0;
    for (const Place& place : population.places) {
      if (place.out || place.stage < s) continue;
      const auto value = place.values.find(s);
      if (value != place.values.end()) ranked.push_back({value->second, place.trial});
      coming += value == place.values.end() && place.phase != Phase::kOver ? 1 : 0;
    }
    if (ranked.empty() && coming == 0 && may_come > 0) break;  // no trial is here or beyond
    SortMarks(ranked);
    const std::size_t most = rule_.Quantile(ranked.size() + coming + may_come);
    std::size_t waiting = 0;
    for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
      const auto home = home_.at(ranked[rank].trial);
      Place& place = population.places[home.second];
      if (place.stage > s) continue;
      if (rank >= most && rank + most < ranked.size()) {
        ++place.stage;
        settled.passed.push_back(place.trial);
      } else {
        ++waiting;
      }
    }
    if (coming + may_come == 0) {
      population.next = s + 1;
      Decide(population, ranked, settled);
    } else {
      may_come += coming + waiting;
    }
  }
  std::ranges::sort(settled.forks, {}, &Ruling::trial);
  for (const TrialId trial : settled.passed) {
    Place& place = population.places[home_.at(trial).second];
    const bool lost =
        std::ranges::find(settled.forks, trial, &Ruling::trial) != settled.forks.end();
    if (trial != except && !lost && !place.waits() && place.phase != Phase::kOver)
      place.phase = Phase::kReady;
  }
  return settled.forks;
}

// Decides a stage at which all living trials have a value. The middle has already gone on.
void PlainPbt::Decide(Population& population, const std::vector<PlainMark>& ranked,
                      Settled& settled) {
  const std::size_t stage = population.next - 1;
  const std::size_t part = rule_.Quantile(ranked.size());
  std::vector<TrialId> donors;
  for (std::size_t rank = 0; rank < part; ++rank) {
    const Place& place = population.places[home_.at(ranked[rank].trial).second];
    if (place.phase != Phase::kOver && !std::isnan(ranked[rank].value))
      donors.push_back(place.trial);
  }
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    Place& place = population.places[home_.at(ranked[rank].trial).second];
    const bool loses = rank + part >= ranked.size();
    if (rank >= part && !loses) continue;
    if (loses && place.phase == Phase::kOver) {
      place.out = true;
    } else if (loses && !donors.empty()) {
      const TrialId donor = rule_.Draw(donors, place.trial, rule_.stages[stage]);
      const Work work = population.places[home_.at(donor).second].work;
      settled.forks.push_back({place.trial, Verdict::kFork,
                               rule_.TargetAfter(std::max(work, rule_.stages[stage])), donor});
      place = {.trial = place.trial, .stage = stage + 1};
    } else {
      ++place.stage;
      settled.passed.push_back(place.trial);
    }
  }
}

std::optional<TrialGroup> PlainPbt::Next() {
  TrialGroup group;
  Work furthest = 0;
  for (const bool looking : {true, false}) {
    for (Population& population : populations_) {
      for (Place& place : population.places) {
        if (place.phase != Phase::kReady) continue;
        if (looking) {
          furthest = std::max(furthest, TargetOf(place));
        } else if (TargetOf(place) == furthest) {
          place.phase = Phase::kGoing;
          group.members.push_back({place.trial, furthest});
        }
      }
      std::ranges::sort(group.members, {}, &Advance::trial);
      if (!group.members.empty()) return group;
    }
  }
  return std::nullopt;
}

Work PlainPbtAsync::Admit(TrialId trial) {
  living_[trial] = {.target = rule_.TargetAfter(0)};
  return living_[trial].target;
}

void PlainPbtAsync::AdmitFork(TrialId trial, TrialId replaced) {
  living_[trial] = forking_.extract(replaced).mapped();
}

std::vector<Ruling> PlainPbtAsync::Report(TrialId trial, Work work, double value) {
  const auto found = living_.find(trial);
  if (found == living_.end()) return {};
  if (work >= rule_.spec.max_budget) {
    living_.erase(found);
    return {};
  }
  Member& member = found->second;
  if (work < member.target) return {};
  member = {.target = rule_.TargetAfter(work), .value = value};
  std::vector<PlainMark> ranked;
  for (const auto& [other, its] : living_) {
    if (its.value) ranked.push_back({*its.value, other});
  }
  SortMarks(ranked);
  const std::size_t part = rule_.Quantile(ranked.size());
  std::vector<TrialId> donors;
  for (std::size_t rank = 0; rank < part; ++rank) {
    const TrialId donor = ranked[rank].trial;
    if (living_.at(donor).own && !std::isnan(ranked[rank].value)) donors.push_back(donor);
  }
  const bool loses = RankOf(ranked, {value, trial}) + part >= ranked.size();
  if (!loses || donors.empty()) return {{trial, Verdict::kGoOn, member.target}};
  const TrialId donor = rule_.Draw(donors, trial, work);
  const Work target = living_.at(donor).target;
  forking_[trial] = {.target = target, .value = value, .own = false};
  living_.erase(found);
  return {{trial, Verdict::kFork, target, donor}};
}

std::vector<Ruling> PlainPbtAsync::End(TrialId trial, bool) {
  living_.erase(trial);
  return {};
}

}  // namespace sluice
