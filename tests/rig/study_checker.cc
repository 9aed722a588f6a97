#include "rig/study_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/legal_change.h"
#include "engine/parts/shape.h"

namespace sluice {
namespace {

bool IsOver(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kStopped ||
         state == TrialState::kFailed;
}

// Calls visit(trial, launch, number) if a numbered message of a worker caused the event.
template <typename Visit>
void VisitMessage(const Event& event, Visit visit) {
  std::visit(
      [&](const auto& body) {
        if constexpr (requires {
                        body.position;
                        body.launch;
                        body.trial;
                      }) {
          if (body.position.seq != 0) visit(body.trial.trial, body.launch, body.position.seq);
        }
      },
      event.body);
}

// An event as a study sees it: an event of another study only tells the time.
Event SeenBy(StudyId study, const Event& event) {
  const StudyId whose = StudyOf(event.body);
  if (IsSet(whose) && whose != study) return {event.time, Woken{}};
  return event;
}

}  // namespace

void StudyChecker::Applied(const Engine& engine, const Event& any) {
  const Event event = SeenBy(study_, any);
  const Study& study = *engine.study(study_);
  CheckHold(study, event);
  most_retries_ = std::max(most_retries_, study.spec.retries);
  for (std::size_t i = seen_.size(); i < study.trials.size(); ++i) open_.push_back(TrialId(i + 1));
  seen_.resize(study.trials.size());
  if (const auto* retry = std::get_if<RetryAsked>(&event.body); retry != nullptr) {
    if (std::ranges::find(open_, retry->trial.trial) == open_.end())
      open_.push_back(retry->trial.trial);
  }
  for (const TrialId id : open_) CheckTrial(study, study.trial(id), event);
  for (const TrialId id : open_) {
    const Trial& trial = study.trial(id);
    if (trial.launch.id != seen_[Number(id) - 1].launch) CheckStart(engine, study, trial, event);
  }
  for (const TrialId id : open_) {
    const Trial& trial = study.trial(id);
    Seen& seen = seen_[Number(id) - 1];
    const bool yields = trial.leaving && trial.leave_reason == StopReason::kYield;
    moves_ += yields && !seen.leaving && !engine.IsHeld(study) ? 1 : 0;
    seen = {.state = trial.state,
            .work = trial.work,
            .launch = trial.launch.id,
            .launch_work = trial.launch.work,
            .launch_target = trial.launch.target,
            .leaving = trial.leaving,
            .failures = seen.failures,
            .charged = trial.failures,
            .lost_bundles = seen.lost_bundles};
  }
  std::erase_if(open_, [&](TrialId id) { return IsOver(study.trial(id).state); });
  CheckStudy(study);
}

// Checks that a study is not paused by what happens to another.
void StudyChecker::CheckHold(const Study& study, const Event& event) {
  if (const auto* opened = std::get_if<StudyOpened>(&event.body)) hidden_ = opened->hidden;
  const bool paused = std::exchange(paused_, study.paused);
  if (!paused && study.paused && std::holds_alternative<Woken>(event.body))
    Say("paused, although nothing happened to it");
}

void StudyChecker::CheckTrial(const Study& study, const Trial& trial, const Event& event) {
  const Seen& before = seen_[Number(trial.id) - 1];
  if (!IsLegalChange(before.state, trial.state, std::holds_alternative<RetryAsked>(event.body))) {
    Say(fmt::format("trial {} went from {} to {}", Number(trial.id), Name(before.state),
                    Name(trial.state)));
  }
  const bool nodes = std::holds_alternative<NodesChanged>(event.body) ||
                     std::holds_alternative<ControllerStarted>(event.body);
  if (nodes && before.state == TrialState::kRunning &&
      (trial.state != TrialState::kRunning || trial.launch.id != before.launch)) {
    lost_.emplace(trial.id, before.launch);
    astray_.insert(trial.id);
  }
  // A fork trains from the beginning if its parent's checkpoint could not be copied.
  const bool anew = trial.IsFork() && trial.reports == 0;
  if (trial.work < before.work && !anew)
    Say(fmt::format("work of trial {} fell", Number(trial.id)));
  if (trial.target > study.spec.stopper.max_budget)
    Say(fmt::format("trial {} may go beyond the full budget", Number(trial.id)));
  CountFailure(trial, event);
  CheckOwnEnd(study, trial, event);
  if (before.failures > static_cast<std::uint32_t>(most_retries_) + 1)
    Say(fmt::format("trial {} failed more often than retries allow", Number(trial.id)));
  const auto* report = std::get_if<Reported>(&event.body);
  if (report != nullptr && report->trial.trial == trial.id) {
    const auto is_strangers = [](const auto& each) { return each.second == kStrangersValue; };
    if (std::ranges::any_of(report->metrics, is_strangers))
      Say(fmt::format("a stranger's report counts for trial {}", Number(trial.id)));
  }
  if (report != nullptr && report->trial.trial == trial.id && report->launch != trial.launch.id)
    Say(fmt::format("a report of launch {} of trial {} was taken, which has launch {}",
                    Number(report->launch), Number(trial.id), Number(trial.launch.id)));
}

void StudyChecker::CountFailure(const Trial& trial, const Event& event) {
  Seen& seen = seen_[Number(trial.id) - 1];
  const auto* retry = std::get_if<RetryAsked>(&event.body);
  if (retry != nullptr && retry->trial.trial == trial.id && IsOver(seen.state)) seen.failures = 0;
  const auto* ended = std::get_if<LaunchEnded>(&event.body);
  if (ended == nullptr || ended->trial.trial != trial.id || ended->launch != seen.launch) return;
  if (ended->ending == Ending::kLost) lost_.emplace(trial.id, ended->launch);
  if (ended->ending == Ending::kBundleLost && !seen.leaving) ++seen.lost_bundles;
  if (ended->ending == Ending::kPaused || ended->ending == Ending::kDone) seen.lost_bundles = 0;
  if (ended->ending == Ending::kNotStarted && trial.failures > seen.charged)
    Say(fmt::format("trial {} was charged for what the machine failed to start", Number(trial.id)));
  if (ended->ending == Ending::kFailed && seen.state == TrialState::kRunning && !seen.leaving)
    ++seen.failures;
}

// A launch whose program was asked to end, and then ended well, is not done. If a program ended by
// itself at its own end, its trial is over. The exception is a launch whose target was exactly that
// work, or at most that work if the program was told its budget.
void StudyChecker::CheckOwnEnd(const Study& study, const Trial& trial, const Event& event) {
  const Seen& before = seen_[Number(trial.id) - 1];
  const auto* ended = std::get_if<LaunchEnded>(&event.body);
  if (ended == nullptr || ended->trial.trial != trial.id) return;
  const bool as_program = ended->ending == Ending::kDone && ended->position.seq == 0;
  if (as_program && cut_short_.contains({trial.id, ended->launch}))
    Say(fmt::format("trial {} was cut short, and counts as done", Number(trial.id)));
  const bool idle = ended->ending == Ending::kDone && trial.launch.reports == 0;
  const bool is_ahead = ended->checkpoint_bytes > 0 && ended->checkpoint_work > before.work;
  if (idle && is_ahead && Number(ended->launch) > 1 && !before.leaving && !trial.restarted &&
      before.state == TrialState::kRunning && trial.state == TrialState::kComplete)
    Say(fmt::format("trial {} is complete at {}, and its checkpoint is ahead at {}",
                    Number(trial.id), trial.work, ended->checkpoint_work));
  if (own_end_ == 0) return;
  const bool by_itself = ended->ending == Ending::kDone && ended->launch == before.launch &&
                         before.state == TrialState::kRunning && !before.leaving;
  const bool did_as_told = study.tells_budget ? before.launch_work >= before.launch_target
                                              : before.launch_work == before.launch_target;
  if (by_itself && before.launch_work >= own_end_ && !did_as_told && !IsOver(trial.state))
    Say(fmt::format("trial {} came to its own end at {}, and is {}", Number(trial.id),
                    before.launch_work, Name(trial.state)));
}

// Checks a launch that has just begun.
void StudyChecker::CheckStart(const Engine& engine, const Study& study, const Trial& trial,
                              const Event& event) {
  for (const DeviceId device : trial.launch.grant.devices) {
    const Node& node = engine.cluster().nodes()[Number(trial.launch.grant.node) - 1];
    if (std::ranges::count(hidden_, node.devices[Number(device)].uuid) > 0)
      Say(fmt::format("trial {} is given a device that is hidden from it", Number(trial.id)));
  }
  if (event.time >= study.deadline) Say("a trial was started after the deadline");
  if (study.ending != Finish::kNot) Say("a trial of a study that ends was started");
  const Seen& seen = seen_[Number(trial.id) - 1];
  const auto is_member = [&](TrialId id) {
    const Grant& grant = study.trial(id).launch.grant;
    return id != trial.id && IsSet(grant.bundle) && grant.bundle == trial.launch.grant.bundle;
  };
  const bool joins = std::ranges::any_of(study.running, is_member);
  const auto before =
      std::ranges::subrange(study.running.begin(), std::ranges::find(study.running, trial.id));
  // A bundle that was mixed while all processes took several shapes still takes in trials of the
  // shapes that it has.
  const bool alike =
      std::ranges::none_of(before, is_member) || std::ranges::any_of(before, [&](TrialId id) {
        return is_member(id) && HaveOneShape(study.spec, study.trial(id).point, trial.point);
      });
  if (!alike && !study.several_shapes && !allows_mixed_)
    Say(fmt::format("trial {} joins a bundle of another shape", Number(trial.id)));
  if (joins && seen.lost_bundles >= 2)
    Say(fmt::format("trial {} was in two bundles that died, and joins another", Number(trial.id)));
  if (Number(trial.launch.id) > 1 || trial.IsFork() || study.spec.policy != "fifo") return;
  for (const TrialId id : study.waiting) {
    const Trial& waiting = study.trial(id);
    const Seen& before = seen_[Number(id) - 1];
    const bool waited = before.state == TrialState::kWaiting && IsSet(before.launch);
    if (waited && waiting.not_before <= event.time)
      Say(fmt::format("trial {}, which has run before, waits behind a new one", Number(id)));
  }
}

void StudyChecker::CheckStudy(const Study& study) {
  if (study.proposed() > study.trials_wanted) Say("more trials than wanted");
  if (static_cast<int>(study.running.size()) != study.count(TrialState::kRunning))
    Say("the list of running trials is wrong");
  if (static_cast<int>(study.waiting.size()) != study.count(TrialState::kWaiting))
    Say("the list of waiting trials is wrong");
  // An edited file may allow fewer than run already.
  const std::size_t ran = std::exchange(running_, study.running.size());
  if (study.spec.parallelism > 0 && running_ > ran &&
      running_ > static_cast<std::size_t>(study.spec.parallelism))
    Say("too many trials at once");
  if (study.finished && !study.running.empty()) Say("finished while a trial runs");
  const bool through = study.ending == Finish::kTrials || study.ending == Finish::kExhausted;
  if (!study.finished || !through) return;
  if (!study.waiting.empty()) Say("finished while a trial waits");
  const bool synchronous =
      study.spec.stopper.name == "sha" || study.spec.stopper.name == "hyperband";
  if (synchronous && study.count(TrialState::kPaused) > 0)
    Say("finished while a paused trial has no verdict yet");
}

void StudyChecker::BeforeWritten(const Engine& shadow, const Event& event) {
  rungs_.Before(shadow, SeenBy(study_, event));
}

void StudyChecker::Written(const Engine& shadow, const Event& any) {
  const Event event = SeenBy(study_, any);
  if (std::string wrong = rungs_.After(shadow, event); !wrong.empty()) Say(std::move(wrong));
  if (const auto* report = std::get_if<Reported>(&event.body)) {
    ++reports_;
    reported_.emplace(report->trial.trial, report->work);
  }
  VisitMessage(event, [&](TrialId trial, LaunchId launch, std::uint64_t message) {
    if (!durable_.emplace(trial, launch, message).second)
      Say(fmt::format("message {} of launch {} of trial {} was written twice", message,
                      Number(launch), Number(trial)));
    std::uint64_t& highest = highest_[{trial, launch}];
    highest = std::max(highest, message);
  });
}

void StudyChecker::Acknowledged(wire::LaunchRef at, std::uint64_t seq) {
  const auto found = highest_.find({at.trial, at.launch});
  if (found == highest_.end() || found->second < seq)
    Say(fmt::format("message {} of launch {} of trial {} was acknowledged before it was on disk",
                    seq, Number(at.launch), Number(at.trial)));
}

void StudyChecker::ToldToLeave(wire::LaunchRef at) {
  const Trial* known = shadow().trial({study_, at.trial});
  if (known == nullptr || known->launch.id < at.launch ||
      (known->launch.id == at.launch && known->state == TrialState::kRunning && !known->leaving))
    Say(fmt::format("launch {} of trial {} was told to leave before that was on disk",
                    Number(at.launch), Number(at.trial)));
}

void StudyChecker::Told(TrialId trial, Work work) {
  // Work up to forked_at was reported by the fork's parent.
  const Trial& its = shadow().study(study_)->trial(trial);
  const bool parents = its.IsFork() && work <= its.forked_at;
  if (!reported_.contains({trial, work}) && !parents && !astray_.contains(trial))
    Say(fmt::format("a report of trial {} at {} was acknowledged, and does not count",
                    Number(trial), work));
}

void StudyChecker::Begins(const Trial& trial, Work checkpoint) {
  if (checkpoint > trial.work && !astray_.contains(trial.id))
    Say(fmt::format("trial {} begins from a checkpoint at {}, and only {} is known of it",
                    Number(trial.id), checkpoint, trial.work));
}

void StudyChecker::Recovered(const Study& study) {
  // Events that had not reached the disk have not happened.
  seen_.clear();
  open_.clear();
  for (const Trial& trial : study.trials) {
    seen_.push_back({.state = trial.state,
                     .work = trial.work,
                     .launch = trial.launch.id,
                     .launch_work = trial.launch.work,
                     .launch_target = trial.launch.target,
                     .leaving = trial.leaving,
                     .failures = trial.failures,
                     .charged = trial.failures,
                     .lost_bundles = static_cast<int>(trial.lost_bundles)});
    if (!IsOver(trial.state)) open_.push_back(trial.id);
  }
  most_retries_ = std::max(most_retries_, study.spec.retries);
  running_ = study.running.size();
  paused_ = study.paused;
  hidden_ = study.hidden;
}

void StudyChecker::Finished(const Study& study) {
  for (const Trial& trial : study.trials) {
    if (trial.state != seen_[Number(trial.id) - 1].state)
      Say(fmt::format("trial {} changed after its end", Number(trial.id)));
  }
  if (!study.finished) Say("the study is not finished");
}

void StudyChecker::Spooled(const std::string& line) {
  const auto message = wire::DecodeFromWorker(line);
  SLUICE_CHECK(message.has_value(), "a worker spools what it would have sent");
  const wire::Numbered numbered = wire::NumberOf(*message);
  // The messages of a launch that was lost, alone or with its node, no longer count.
  const bool refused = lost_.contains({numbered.at.trial, numbered.at.launch});
  if (!refused && !durable_.contains({numbered.at.trial, numbered.at.launch, numbered.seq})) {
    Say(fmt::format("message {} of launch {} of trial {} was left behind and never read",
                    numbered.seq, Number(numbered.at.launch), Number(numbered.at.trial)));
  }
}

void StudyChecker::CheckReports(Database& database) {
  // Duplicates are found here, because SQLite would be slower at it.
  std::vector<std::pair<std::int64_t, Work>> reports;
  auto query = database.Prepare("SELECT trial, work FROM reports WHERE study = ?");
  if (query) query->Bind(1, std::int64_t{Number(study_)});
  while (query) {
    const auto row = query->Step();
    if (!row) return Say(row.error().message);
    if (!*row) break;
    reports.emplace_back(query->Integer(0), query->Integer(1));
  }
  if (reports.size() != reports_)
    Say(fmt::format("{} reports were written and {} are there", reports_, reports.size()));
  std::ranges::sort(reports);
  if (std::ranges::adjacent_find(reports) != reports.end())
    Say("a trial reported the same work twice");
}

// Checks that readers see what the engine knows.
void StudyChecker::CheckRows(Database& database) {
  const Study& study = *shadow().study(study_);
  auto query = database.Prepare(
      "SELECT trial, state, work, reports, best_value FROM trials WHERE study = ? ORDER BY trial");
  if (query) query->Bind(1, std::int64_t{Number(study_)});
  std::size_t rows = 0;
  while (query) {
    const auto row = query->Step();
    if (!row) return Say(row.error().message);
    if (!*row) break;
    const auto id = static_cast<std::size_t>(query->Integer(0));
    if (id == 0 || id > study.trials.size()) return Say("a row of a trial that there is not");
    const Trial& trial = study.trials[id - 1];
    const double best = query->Number(4);
    const bool same_best = best == trial.result || (std::isnan(best) && !trial.HasResult());
    if (query->Text(1) != Name(trial.state) || query->Integer(2) != trial.work ||
        query->Integer(3) != trial.reports || !same_best)
      Say(fmt::format("readers see another trial {} than there is", id));
    ++rows;
  }
  // A fork has a row only once it has its parameters.
  const auto born = std::ranges::count(study.trials, false, &Trial::awaits_parameters);
  if (static_cast<std::ptrdiff_t>(rows) != born)
    Say("readers see more or fewer trials than there are");
}

}  // namespace sluice
