#include "search/rungs/bracket.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"

namespace sluice {
Bracket::Bracket(const BracketPlan& plan, const StopperSpec& spec)
    : levels_(plan.levels),
      max_budget_(spec.max_budget),
      eta_(spec.eta),
      capacity_(plan.trials),
      places_(PlacesOf(capacity_, eta_, levels_.size())),
      rungs_(levels_.size()) {}

Work Bracket::target(const Member& member) const {
  return member.level < levels_.size() ? levels_[member.level] : max_budget_;
}

const Bracket::Member* Bracket::Find(TrialId trial) const {
  const auto found = std::ranges::lower_bound(members_, trial, {}, &Member::trial);
  return found != members_.end() && found->trial == trial ? &*found : nullptr;
}

std::size_t Bracket::IndexOf(TrialId trial) const {
  const Member* member = Find(trial);
  SLUICE_CHECK(member != nullptr, "a bracket judges its own trials");
  return static_cast<std::size_t>(member - members_.data());
}

bool Bracket::HasArrived(const Member& member) const {
  return member.level < levels_.size() && member.values.size() > member.level;
}

void Bracket::Admit(TrialId trial) {
  SLUICE_CHECK(!full(), "a full bracket takes no trial");
  SLUICE_CHECK(members_.empty() || members_.back().trial < trial, "trials come in order of ids");
  members_.push_back({.trial = trial, .values = {}});
  Enter(members_.size() - 1);
}

std::vector<Bracket::Member> Bracket::Report(TrialId trial, Work work, double value) {
  const std::size_t index = IndexOf(trial);
  Member& member = members_[index];
  SLUICE_CHECK(member.phase != Phase::kOver, "no trial is judged after its end");
  const bool expected = !HasArrived(member);
  while (member.values.size() < levels_.size() && levels_[member.values.size()] <= work) {
    member.values.push_back(value);
  }
  if (work >= max_budget_) SetOver(member);
  if (expected && HasArrived(member)) Arrive(index);
  Settle();
  if (member.phase != Phase::kOver) {
    member.phase = HasArrived(member) ? Phase::kPaused : Phase::kRunning;
  }
  return Concerned(index);
}

std::vector<Bracket::Member> Bracket::End(TrialId trial) {
  const std::size_t index = IndexOf(trial);
  Member& member = members_[index];
  SLUICE_CHECK(member.phase != Phase::kOver, "a trial ends once");
  SetOver(member);
  if (member.level < levels_.size() && !HasArrived(member)) Arrive(index);
  Settle();
  return Concerned(index);
}

std::vector<Bracket::Member> Bracket::Close() {
  capacity_ = static_cast<std::int64_t>(members_.size());
  places_ = PlacesOf(capacity_, eta_, levels_.size());
  Settle();
  return Concerned(members_.size());
}

void Bracket::Release(TrialId trial) {
  Member& member = members_[IndexOf(trial)];
  SLUICE_CHECK(member.phase == Phase::kReady, "only a ready trial is released");
  member.phase = Phase::kRunning;
}

void Bracket::SetOver(Member& member) {
  if (member.phase == Phase::kOver) return;
  member.phase = Phase::kOver;
  ++over_;
}

// A member comes to its level, whether it has a value there already or not.
void Bracket::Enter(std::size_t index) {
  const Member& member = members_[index];
  if (member.level == levels_.size()) return;
  ++rungs_[member.level].coming;
  if (member.phase == Phase::kOver || HasArrived(member)) Arrive(index);
}

// A member has its value at its level, or has ended without one.
void Bracket::Arrive(std::size_t index) {
  Member& member = members_[index];
  Rung& rung = rungs_[member.level];
  --rung.coming;
  const double value =
      HasArrived(member) ? member.values[member.level] : std::numeric_limits<double>::quiet_NaN();
  if (!std::isnan(value)) {
    rung.waiting.insert({value, member.trial});
    return;
  }
  if (member.phase != Phase::kOver) touched_.push_back(index);
  SetOver(member);
}

// One pass upwards is enough: what is settled at a level affects only the levels above.
void Bracket::Settle() {
  std::int64_t may_come = capacity_ - static_cast<std::int64_t>(members_.size());
  for (std::size_t level = 0; level < rungs_.size(); ++level) {
    Rung& rung = rungs_[level];
    const std::int64_t places = places_[level] + (Planted("extra-place") ? 1 : 0);
    const std::int64_t without_value = rung.coming + may_come;
    while (!rung.waiting.empty() && rung.promoted + without_value < places) {
      const std::size_t index = IndexOf(rung.waiting.begin()->trial);
      rung.waiting.erase(rung.waiting.begin());
      ++rung.promoted;
      ++members_[index].level;
      if (members_[index].phase != Phase::kOver) touched_.push_back(index);
      Enter(index);
    }
    while (rung.promoted + static_cast<std::int64_t>(rung.waiting.size()) > places) {
      const auto worst = std::prev(rung.waiting.end());
      const std::size_t index = IndexOf(worst->trial);
      rung.waiting.erase(worst);
      if (members_[index].phase != Phase::kOver) touched_.push_back(index);
      SetOver(members_[index]);
    }
    const std::int64_t most =
        rung.promoted + static_cast<std::int64_t>(rung.waiting.size()) + without_value;
    may_come = std::min(places, most) - rung.promoted;
  }
}

std::vector<Bracket::Member> Bracket::Concerned(std::size_t except) {
  std::ranges::sort(touched_);
  const auto twice = std::ranges::unique(touched_);
  touched_.erase(twice.begin(), twice.end());
  std::vector<Member> concerned;
  for (const std::size_t index : touched_) {
    Member& member = members_[index];
    if (index == except || (member.phase != Phase::kOver && HasArrived(member))) continue;
    if (member.phase != Phase::kOver) member.phase = Phase::kReady;
    concerned.push_back(member);
  }
  touched_.clear();
  return concerned;
}

void Bracket::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Member> == 4, "Save and Load list each field; Rebuild finds `level`");
  writer.Put(capacity_);
  writer.Put(members_.size());
  for (const Member& member : members_) {
    writer.Put(member.trial);
    writer.Put(member.phase);
    writer.Put(member.values.size());
    for (const double value : member.values) writer.Put(value);
  }
}

Status Bracket::Load(StateReader& reader) {
  const std::int64_t most = capacity_;
  reader.Get(capacity_);
  const std::size_t count = reader.Count();
  if (capacity_ < 1 || capacity_ > most || static_cast<std::int64_t>(count) > capacity_) {
    return UnreadableState("a bracket");
  }
  places_ = PlacesOf(capacity_, eta_, levels_.size());
  for (std::size_t index = 0; index < count; ++index) {
    Member member;
    std::int64_t phase = 0;
    reader.Get(member.trial);
    reader.Get(phase);
    member.values.resize(reader.Count());
    for (double& value : member.values) reader.Get(value);
    const TrialId before = members_.empty() ? TrialId{} : members_.back().trial;
    if (!reader.ok() || member.trial <= before || member.values.size() > levels_.size() ||
        phase < 0 || phase > static_cast<std::int64_t>(Phase::kOver)) {
      return UnreadableState("a bracket");
    }
    member.phase = static_cast<Phase>(phase);
    over_ += member.phase == Phase::kOver ? 1 : 0;
    members_.push_back(std::move(member));
  }
  if (!reader.ok()) return UnreadableState("a bracket");
  return Rebuild();
}

// Levels and places follow from the values.
Status Bracket::Rebuild() {
  const std::size_t over = over_;
  for (std::size_t index = 0; index < members_.size(); ++index) Enter(index);
  Settle();
  touched_.clear();
  for (const Member& member : members_) {
    const bool waits = member.phase != Phase::kOver && HasArrived(member);
    if (waits != (member.phase == Phase::kPaused)) return UnreadableState("a bracket");
    if (member.phase == Phase::kReady && member.level == 0) return UnreadableState("a bracket");
  }
  // In the saved state, a trial that has lost was still going on.
  if (over_ != over) return UnreadableState("a bracket");
  return {};
}

}  // namespace sluice
