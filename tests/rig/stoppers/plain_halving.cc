#include "rig/stoppers/plain_halving.h"

#include <algorithm>
#include <cmath>

namespace sluice {

PlainHalving::PlainHalving(const StopperSpec& spec) : spec_(spec) {
  const auto eta = static_cast<std::size_t>(spec.eta);
  if (spec.name == "sha") {
    Plan plan = {.levels = HalvingLevels(spec), .trials = 1};
    for (std::size_t k = 0; k < plan.levels.size(); ++k) plan.trials *= eta;
    if (spec.bracket > 0) plan.trials = static_cast<std::size_t>(spec.bracket);
    plans_.push_back(std::move(plan));
    return;
  }
  std::vector<Work> parts = {1};  // eta^s, while min_budget * eta^s is within max_budget
  while (spec.min_budget * parts.back() <= spec.max_budget / spec.eta)
    parts.push_back(parts.back() * spec.eta);
  for (std::size_t s = parts.size(); s-- > 0;) {
    Plan plan;
    plan.trials = (parts.size() * static_cast<std::size_t>(parts[s]) + s) / (s + 1);
    for (std::size_t k = s; k > 0; --k) plan.levels.push_back(spec.max_budget / parts[k]);
    plans_.push_back(std::move(plan));
  }
}

Work PlainHalving::TargetOf(const Bracket& bracket, const Member& member) const {
  const auto& levels = bracket.plan.levels;
  return member.level < levels.size() ? levels[member.level] : spec_.max_budget;
}

Work PlainHalving::Admit(TrialId trial) {
  if (brackets_.empty() || brackets_.back().members.size() == brackets_.back().plan.trials)
    brackets_.push_back({.plan = plans_[brackets_.size() % plans_.size()], .members = {}});
  home_[trial] = brackets_.size() - 1;
  Bracket& bracket = brackets_.back();
  bracket.members.push_back({.trial = trial, .values = {}});
  return TargetOf(bracket, bracket.members.back());
}

std::vector<Ruling> PlainHalving::Report(TrialId trial, Work work, double value) {
  Bracket& bracket = brackets_[home_.at(trial)];
  Member& member = *std::ranges::find(bracket.members, trial, &Member::trial);
  if (member.phase == Phase::kOver) return {};
  const Member before = member;
  const std::vector<Work>& levels = bracket.plan.levels;
  while (member.values.size() < levels.size() && levels[member.values.size()] <= work)
    member.values.push_back(value);
  const bool complete = work >= spec_.max_budget;
  if (complete) member.phase = Phase::kOver;
  const bool nothing_new = member.values.size() == before.values.size() && !complete;
  const std::vector<Ruling> others = nothing_new ? std::vector<Ruling>{} : Judge(bracket, trial);
  std::vector<Ruling> rulings;
  if (!complete && member.phase == Phase::kOver) {
    rulings.push_back({trial, Verdict::kStop});
  } else if (member.phase == Phase::kPaused) {
    rulings.push_back({trial, Verdict::kPause});
  } else if (!complete) {
    member.phase = Phase::kGoing;
    if (before.phase != Phase::kGoing || before.level != member.level)
      rulings.push_back({trial, Verdict::kGoOn, TargetOf(bracket, member)});
  }
  rulings.insert(rulings.end(), others.begin(), others.end());
  return rulings;
}

std::vector<Ruling> PlainHalving::End(TrialId trial, bool) {
  Bracket& bracket = brackets_[home_.at(trial)];
  Member& member = *std::ranges::find(bracket.members, trial, &Member::trial);
  if (member.phase == Phase::kOver) return {};
  member.phase = Phase::kOver;
  return Judge(bracket, trial);
}

std::vector<Ruling> PlainHalving::Closed() {
  if (brackets_.empty() || brackets_.back().members.size() == brackets_.back().plan.trials)
    return {};
  brackets_.back().plan.trials = brackets_.back().members.size();
  return Judge(brackets_.back(), {});
}

PlainHalving::Entrants PlainHalving::Pass(const Bracket& bracket, std::size_t level,
                                          const Entrants& entrants) {
  std::size_t places = bracket.plan.trials;
  for (std::size_t k = 0; k <= level; ++k) places /= static_cast<std::size_t>(spec_.eta);
  places = std::max<std::size_t>(1, places);

  std::vector<PlainMark> marks;
  std::size_t without = entrants.unknown;
  for (const Member* member : entrants.known) {
    if (member->values.size() <= level) {
      without += member->phase == Phase::kOver ? 0 : 1;
    } else if (!std::isnan(member->values[level])) {
      marks.push_back({member->values[level], member->trial});
    }
  }
  Entrants next;
  for (Member* member : entrants.known) {
    const bool lives = member->phase != Phase::kOver;
    if (lives) member->level = level;
    if (member->values.size() <= level) continue;
    const double value = member->values[level];
    const std::size_t rank = RankOf(marks, {value, member->trial});
    if (!std::isnan(value) && rank + 1 + without <= places) {
      next.known.push_back(member);
      if (lives) member->level = level + 1;
    } else if (lives) {
      member->phase = std::isnan(value) || rank >= places ? Phase::kOver : Phase::kPaused;
    }
  }
  next.unknown = std::min(places, marks.size() + without) - next.known.size();
  return next;
}

std::vector<Ruling> PlainHalving::Judge(Bracket& bracket, TrialId except) {
  const std::vector<Member> before = bracket.members;
  Entrants entrants;
  for (Member& member : bracket.members) entrants.known.push_back(&member);
  entrants.unknown = bracket.plan.trials - bracket.members.size();
  for (std::size_t level = 0; level < bracket.plan.levels.size(); ++level)
    entrants = Pass(bracket, level, entrants);
  std::vector<Ruling> rulings;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Member& member = bracket.members[i];
    const bool arrived =
        member.level < bracket.plan.levels.size() && member.values.size() > member.level;
    if (member.phase == Phase::kPaused && !arrived) member.phase = Phase::kReady;
    if (member.phase == Phase::kOver && before[i].phase != Phase::kOver && member.trial != except)
      rulings.push_back({member.trial, Verdict::kStop});
  }
  return rulings;
}

std::optional<TrialGroup> PlainHalving::Next() {
  TrialGroup group;
  Work furthest = 0;
  for (const bool looking : {true, false}) {
    for (Bracket& bracket : brackets_) {
      for (Member& member : bracket.members) {
        if (member.phase != Phase::kReady) continue;
        const Work target = TargetOf(bracket, member);
        if (looking) {
          furthest = std::max(furthest, target);
        } else if (target == furthest) {
          member.phase = Phase::kGoing;
          group.members.push_back({member.trial, target});
        }
      }
      if (!group.members.empty()) return group;
    }
  }
  return std::nullopt;
}

}  // namespace sluice
