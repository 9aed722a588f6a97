#include "search/stoppers/pbt_async.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"
#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"

namespace sluice {
Work PbtAsync::Admit(TrialId trial) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  members_[trial] = {};
  return rule_.At(0);
}

void PbtAsync::AdmitFork(TrialId trial, TrialId replaced) {
  SLUICE_CHECK(last_ < trial, "trials are admitted once, in order of ids");
  last_ = trial;
  const auto lost = forking_.extract(replaced);
  SLUICE_CHECK(!lost.empty(), "a fork takes the place of a trial that lost");
  const double value = lost.mapped().value;
  Member& fork = members_[trial] = lost.mapped();
  SetValue(trial, fork, value);
  fork.inherited = true;
}

std::vector<Ruling> PbtAsync::Report(TrialId trial, Work work, double value) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it reports");
  const auto found = members_.find(trial);
  if (found == members_.end()) return {};
  if (work >= rule_.max_budget()) {
    Forget(trial);
    return {};
  }
  Member& member = found->second;
  member.work = work;
  if (rule_.Passed(work) <= member.stage && !Planted("early-judgement")) return {};
  member.stage = rule_.Passed(work);
  SetValue(trial, member, value);
  const TrialId donor = DonorFor(trial, value, work);
  if (!IsSet(donor)) {
    return {{.trial = trial, .verdict = Verdict::kGoOn, .target = rule_.At(member.stage)}};
  }
  const std::uint32_t stage = members_.at(donor).stage;
  forking_[trial] = {.stage = stage, .value = value};
  Forget(trial);
  return {{.trial = trial, .verdict = Verdict::kFork, .target = rule_.At(stage), .from = donor}};
}

// The trial to fork from; none for a trial that goes on.
TrialId PbtAsync::DonorFor(TrialId trial, double value, Work work) const {
  const std::size_t quantile = rule_.Quantile(marks_.size());
  const auto rank = static_cast<std::size_t>(
      std::ranges::lower_bound(marks_, Mark{value, trial}, Better) - marks_.begin());
  if (rank < marks_.size() - quantile) return {};
  std::vector<TrialId> donors;
  for (const Mark& mark : std::span(marks_).first(Planted("any-donor") ? rank : quantile)) {
    const bool own = !members_.at(mark.trial).inherited;
    if (own && !std::isnan(mark.value)) donors.push_back(mark.trial);
  }
  return donors.empty() ? TrialId{} : donors[rule_.Draw(donors.size(), trial, work)];
}

void PbtAsync::SetValue(TrialId trial, Member& member, double value) {
  DropValue(trial, member);
  const Mark mark = {value, trial};
  marks_.insert(std::ranges::lower_bound(marks_, mark, Better), mark);
  member.has_value = true;
  member.inherited = false;
  member.value = value;
}

void PbtAsync::DropValue(TrialId trial, Member& member) {
  if (!member.has_value) return;
  marks_.erase(std::ranges::lower_bound(marks_, Mark{member.value, trial}, Better));
  member.has_value = false;
}

void PbtAsync::Forget(TrialId trial) {
  const auto member = members_.find(trial);
  if (member == members_.end()) return;
  DropValue(trial, member->second);
  members_.erase(member);
}

std::vector<Ruling> PbtAsync::End(TrialId trial, bool) {
  SLUICE_CHECK(IsSet(trial) && trial <= last_, "a trial is admitted before it ends");
  if (!Planted("dead-donor")) Forget(trial);
  return {};
}

void PbtAsync::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Member> == 5, "Save and Load list each field");
  rule_.Save(writer);
  writer.Put(last_);
  writer.Put(members_.size());
  for (const auto& [trial, member] : members_) {
    writer.Put(trial);
    writer.Put(member.work);
    writer.Put(member.stage);
    writer.Put(member.has_value);
    writer.Put(member.inherited);
    writer.Put(member.value);
  }
}

Status PbtAsync::Load(StateReader& reader) {
  if (!rule_.Matches(reader)) return UnreadableState("a stopper");
  TrialId last{};
  std::map<TrialId, Member> members;
  std::vector<Mark> marks;
  reader.Get(last);
  TrialId before{};
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    TrialId trial{};
    Member member;
    reader.Get(trial);
    reader.Get(member.work);
    reader.Get(member.stage);
    reader.Get(member.has_value);
    reader.Get(member.inherited);
    reader.Get(member.value);
    const bool known = trial > before && trial <= last;
    if (!known || member.work < 0 || member.work >= rule_.max_budget())
      return UnreadableState("a stopper");
    if (member.stage < rule_.Passed(member.work) || member.stage > rule_.stages())
      return UnreadableState("a stopper");
    before = trial;
    members.emplace(trial, member);
    if (member.has_value) marks.push_back({member.value, trial});
  }
  if (!reader.ok()) return UnreadableState("a stopper");
  std::ranges::sort(marks, Better);
  last_ = last;
  members_ = std::move(members);
  marks_ = std::move(marks);
  return {};
}

void PbtAsync::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add("pbt-async").Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
