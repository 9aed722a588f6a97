#include "search/stoppers/halving.h"

#include <iterator>

#include "base/check.h"
#include "base/state.h"
#include "search/rungs/rungs.h"

namespace sluice {
namespace {

using BracketPhase = Bracket::Phase;

}  // namespace

Halving::Brackets::iterator Halving::Find(TrialId trial) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before anything else");
  auto after = brackets_.upper_bound(trial);
  if (after == brackets_.begin()) return brackets_.end();
  const auto bracket = std::prev(after);
  const Bracket::Member* member = bracket->second.bracket.Find(trial);
  return member != nullptr && member->phase != BracketPhase::kOver ? bracket : brackets_.end();
}

Work Halving::Admit(TrialId trial) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  if (brackets_.empty() || brackets_.rbegin()->second.bracket.full()) {
    brackets_.try_emplace(trial, Opened{opened_, Bracket(PlanOf(opened_), spec_)});
    ++opened_;
  }
  Bracket& bracket = brackets_.rbegin()->second.bracket;
  bracket.Admit(trial);
  return bracket.target(*bracket.Find(trial));
}

std::vector<Ruling> Halving::Report(TrialId trial, Work work, double value) {
  const auto found = Find(trial);
  if (found == brackets_.end()) return {};
  Bracket& bracket = found->second.bracket;
  const Bracket::Member before = *bracket.Find(trial);
  if (before.phase == BracketPhase::kReady) SetReady(found, before, false);
  const std::vector<Bracket::Member> concerned = bracket.Report(trial, work, value);
  const Bracket::Member& after = *bracket.Find(trial);
  std::vector<Ruling> rulings;
  if (work < spec_.max_budget) {
    const bool same = before.phase == BracketPhase::kRunning && before.level == after.level;
    if (after.phase == BracketPhase::kOver) {
      rulings.push_back({.trial = trial, .verdict = Verdict::kStop});
    } else if (after.phase == BracketPhase::kPaused) {
      rulings.push_back({.trial = trial, .verdict = Verdict::kPause});
    } else if (!same) {
      rulings.push_back(
          {.trial = trial, .verdict = Verdict::kGoOn, .target = bracket.target(after)});
    }
  }
  for (const Ruling& ruling : Rule(found, concerned)) rulings.push_back(ruling);
  return rulings;
}

std::vector<Ruling> Halving::End(TrialId trial, bool) {
  const auto found = Find(trial);
  if (found == brackets_.end()) return {};
  const Bracket::Member before = *found->second.bracket.Find(trial);
  if (before.phase == BracketPhase::kReady) SetReady(found, before, false);
  return Rule(found, found->second.bracket.End(trial));
}

std::vector<Ruling> Halving::Closed() {
  if (brackets_.empty() || brackets_.rbegin()->second.bracket.full()) return {};
  const auto open = std::prev(brackets_.end());
  return Rule(open, open->second.bracket.Close());
}

std::vector<Ruling> Halving::Rule(Brackets::iterator bracket,
                                  const std::vector<Bracket::Member>& concerned) {
  std::vector<Ruling> rulings;
  for (const Bracket::Member& member : concerned) {
    if (member.phase == BracketPhase::kReady) {
      SetReady(bracket, member, true);
    } else {
      rulings.push_back({.trial = member.trial, .verdict = Verdict::kStop});
    }
  }
  if (bracket->second.bracket.done()) brackets_.erase(bracket);
  return rulings;
}

void Halving::SetReady(Brackets::const_iterator bracket, const Bracket::Member& member,
                       bool ready) {
  const ReadyKey key = {-bracket->second.bracket.target(member), bracket->first};
  if (ready) {
    ready_[key].insert(member.trial);
    return;
  }
  const auto found = ready_.find(key);
  found->second.erase(member.trial);
  if (found->second.empty()) ready_.erase(found);
}

std::optional<TrialGroup> Halving::Next() {
  if (ready_.empty()) return std::nullopt;
  const auto first = ready_.extract(ready_.begin());
  const auto& [target, bracket] = first.key();
  TrialGroup group;
  for (const TrialId trial : first.mapped()) {
    brackets_.at(bracket).bracket.Release(trial);
    group.members.push_back({.trial = trial, .target = -target});
  }
  return group;
}

void Halving::Save(StateWriter& writer) const {
  SaveRungs(writer, spec_);
  writer.Put(spec_.bracket);
  writer.Put(last_);
  writer.Put(opened_);
  writer.Put(brackets_.size());
  for (const auto& [first, opened] : brackets_) {
    writer.Put(opened.number);
    opened.bracket.Save(writer);
  }
}

Status Halving::Load(StateReader& reader) {
  Halving loaded(spec_);
  if (!AreRungsOf(spec_, reader)) return UnreadableState("a stopper");
  std::int64_t bracket_size = 0;
  reader.Get(bracket_size);
  reader.Get(loaded.last_);
  reader.Get(loaded.opened_);
  if (!reader.ok() || bracket_size != spec_.bracket) return UnreadableState("a stopper");
  std::uint64_t next_number = 0;
  TrialId before{};
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    std::uint64_t number = 0;
    reader.Get(number);
    if (number < next_number || number >= loaded.opened_) return UnreadableState("a stopper");
    next_number = number + 1;
    Bracket bracket(PlanOf(number), spec_);
    SLUICE_TRY(bracket.Load(reader));
    const auto& members = bracket.members();
    if (members.empty() || members.front().trial <= before || bracket.done())
      return UnreadableState("a stopper");
    if (!bracket.full() && left > 1)
      return UnreadableState("a stopper");  // only the last bracket may be open
    before = members.back().trial;
    const auto added =
        loaded.brackets_.try_emplace(members.front().trial, Opened{number, bracket}).first;
    for (const Bracket::Member& member : members) {
      if (member.phase == BracketPhase::kReady) loaded.SetReady(added, member, true);
    }
  }
  if (!reader.ok() || before > loaded.last_) return UnreadableState("a stopper");
  *this = std::move(loaded);
  return {};
}

void Halving::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add(spec_.name).Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
