#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <utility>

#include "train/bundle/trainer.h"

// What a trainer reports of its trials, and what it hands back.
namespace sluice::train {

using client::Client;
using client::LaunchRef;

namespace {

constexpr const char* kTrainLoss = "train_loss";

double ValueOf(const wire::Values& values, const std::string& name) {
  for (const auto& [each, value] : values)
    if (each == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void Trainer::ReportDue(Group& group, const std::vector<LaunchRef>& due) {
  std::vector<LaunchRef> whole;
  std::vector<LaunchRef> diverged;
  for (const LaunchRef at : due)
    (std::isfinite(running_.at(at).loss_sum) ? whole : diverged).push_back(at);
  if (!whole.empty()) ReportWhole(group, whole);
  // Last: trials that leave take the stacks apart in which others are evaluated together.
  for (const LaunchRef at : diverged) ReportDiverged(at);
}

void Trainer::ReportWhole(Group& group, const std::vector<LaunchRef>& whole) {
  std::vector<MemberId> members;
  for (const LaunchRef at : whole) members.push_back(running_.at(at).member);
  std::vector<Measured> measures(whole.size());
  if (group.has_evaluation()) {
    auto evaluated = group.Evaluate(members);
    if (!evaluated) {
      // One trial may be the reason, such as one that diverges: some operators refuse NaN.
      for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole.size() > 1) evaluated = group.Evaluate({members[i]});
        if (!evaluated) {
          Refused(whole[i], evaluated.error());
        } else {
          ReportOne(whole[i], evaluated->front());
        }
      }
      return;
    }
    measures = std::move(*evaluated);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) ReportOne(whole[i], measures[i]);
}

void Trainer::ReportDiverged(LaunchRef at) {
  Running& running = running_.at(at);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Work work = std::max(running.reported + 1, GroupOf(running).StepOf(running.member) /
                                                       GroupOf(running).steps_per_unit());
  wire::Values values{{running.assign.objective, none}};
  if (running.assign.objective != kTrainLoss) values.emplace_back(kTrainLoss, none);
  if (const Status told = client_.Report({at, work, std::move(values)}); !told)
    options_.say(told.error().message);
  options_.say(fmt::format("trial {}: the loss is no finite number any more after step {}",
                           Number(at.trial), GroupOf(running).StepOf(running.member)));
  End(at, Client::As::kDone);
}

void Trainer::ReportOne(LaunchRef at, const Measured& measured) {
  Running& running = running_.at(at);
  Group& group = GroupOf(running);
  const Work work = group.StepOf(running.member) / group.steps_per_unit();
  const double train_loss = running.loss_sum / static_cast<double>(running.losses);
  wire::Values values(measured.values.begin(), measured.values.end());
  // Without other examples, the examples that were trained on are all there is to tell.
  if (!group.has_evaluation()) values.emplace_back("loss", train_loss);
  values.emplace_back(kTrainLoss, train_loss);
  if (!measured.notes.empty() && !std::exchange(running.noted, true))
    options_.say(fmt::format("trial {}: {}", Number(at.trial), fmt::join(measured.notes, "; ")));
  const bool is_best = NoteBest(running, values);
  running.reported = work;
  EndWindow(running, group.StepOf(running.member));
  if (const Status told = client_.Report({at, work, std::move(values)}); !told)
    options_.say(told.error().message);
  const bool at_target = running.target && work >= *running.target;
  if (save_budget_.IsDue(Now() - running.saved_s) || (is_best && save_budget_.MaySave()))
    Save(running);
  running.waits_for_verdict = at_target && client_.AwaitsVerdict(at);
  group.SetWaiting(running.member, running.waits_for_verdict);
}

void Trainer::EndWindow(Running& running, std::int64_t steps) const {
  const std::int64_t unit = groups_.at(running.shape)->steps_per_unit();
  if (steps % (unit * reports_every_) != 0) return;
  running.loss_sum = 0;
  running.losses = 0;
}

void Trainer::TellSpeed(Group& group, LaunchRef at) {
  Speed& speed = speeds_[running_.at(at).shape];
  const std::size_t trials = speed.trials();
  const auto steps_per_second = speed.Due();
  if (!steps_per_second) return;
  const Status told = client_.Profile(
      at, {.trials = static_cast<int>(trials),
           .work_per_second = *steps_per_second / static_cast<double>(group.steps_per_unit())});
  if (!told) options_.say(told.error().message);
}

bool Trainer::NoteBest(Running& running, const wire::Values& values) {
  if (running.assign.last_counts) return false;
  const double value = ValueOf(values, running.assign.objective);
  if (std::isnan(value)) return false;
  const bool better =
      !running.best || (running.assign.maximize ? value > *running.best : value < *running.best);
  if (better) running.best = value;
  return better;
}

void Trainer::HandBack(LaunchRef at, const std::string& why) {
  options_.say(fmt::format("trial {} is handed back: {}", Number(at.trial), why));
  End(at, Client::As::kReleased);
}

void Trainer::TakeNoMore() {
  if (const Status told = client_.SetCapacity(static_cast<int>(running_.size())); !told)
    options_.say(told.error().message);
}

}  // namespace sluice::train
