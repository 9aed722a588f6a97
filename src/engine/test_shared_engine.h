#pragma once

// For tests: one engine with several studies on a machine of its own, in simulated time.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/test_engine.h"

namespace sluice {

// Studies whose trials each take the same time. Their launches report once, when they end.
// Proposals are answered at once.
class SharedEngine {
 public:
  explicit SharedEngine(Node node) {
    node_ = node;
    Happen(ControllerStarted{{std::move(node)}});
  }

  // Adds a study that was alone until now.
  StudyId Add(const std::string& lines, double seconds) {
    const StudyId id{static_cast<std::uint32_t>(seconds_.size() + 1)};
    const std::string name = fmt::format("study{}", Number(id));
    auto alone = NewEngine();
    (void)alone->Apply({At(now_), StudyCreated{.study = id,
                                               .source = SourceOf(lines),
                                               .folder = "/",
                                               .seed = Number(id),
                                               .spec = SpecOf(lines, name)}});
    seconds_[id] = seconds;
    Open(id, std::move(alone));
    return id;
  }
  void Open(StudyId id, std::unique_ptr<Engine> alone) {
    engine_->Open(std::move(alone));
    Happen(StudyOpened{id});
  }
  std::unique_ptr<Engine> Close(StudyId id) {
    Happen(StudyClosed{id});
    return engine_->Close(id);
  }

  // From now on wake-ups come so many seconds late.
  void DelayWakes(double seconds) { late_ = seconds; }

  std::uint64_t events() const { return events_; }

  template <typename Body>
  void Happen(Body body) {
    ++events_;
    CarryOut(engine_->Apply({At(now_), std::move(body)}));
  }

  // Lets time pass until `end`, or until nothing more happens.
  void RunUntil(double end) {
    while (!due_.empty() && due_.begin()->first.first <= end) {
      const auto [time, number] = due_.begin()->first;
      const Command what = due_.begin()->second;
      due_.erase(due_.begin());
      Pass(time);
      if (const auto* start = std::get_if<Start>(&what)) {
        EndOf(*start);
      } else {
        Happen(Woken{});
      }
    }
    if (end < 1e9) Pass(end);
  }
  void RunToEnd() { RunUntil(1e9); }

  // Cores (or devices) times seconds that the study has had so far.
  double had(StudyId id) const { return had_.contains(id) ? had_.at(id) : 0; }
  double now() const { return now_; }
  const Study& study(StudyId id) const { return *engine_->study(id); }
  int running(StudyId id) const { return study(id).count(TrialState::kRunning); }
  Engine& engine() { return *engine_; }

 private:
  // Commands are carried out in order. What they cause comes after them.
  void CarryOut(const std::vector<Command>& commands) {
    commands_.insert(commands_.end(), commands.begin(), commands.end());
    if (std::exchange(carries_out_, true)) return;
    for (; !commands_.empty(); commands_.pop_front()) {
      const Command command = commands_.front();
      if (const auto* propose = std::get_if<Propose>(&command)) {
        Happen(Proposed{propose->study, propose->counter, Point{0.5}});
      } else if (const auto* start = std::get_if<Start>(&command)) {
        due_[{now_ + seconds_.at(start->trial.study), ++number_}] = command;
      } else if (const auto* wake = std::get_if<WakeAt>(&command)) {
        due_[{static_cast<double>(Micros(wake->time)) / 1e6 + late_, ++number_}] = command;
      } else if (const auto* stop = std::get_if<StopLaunch>(&command)) {
        Leave(*stop);
      }
    }
    carries_out_ = false;
  }

  void Leave(const StopLaunch& stop) {
    if (engine_->Admit(stop.trial, stop.launch, {}) != Admission::kNew) return;
    Happen(LaunchEnded{.trial = stop.trial,
                       .launch = stop.launch,
                       .position = {},
                       .ending = Ending::kPaused,
                       .reason = ""});
  }

  void EndOf(const Start& start) {
    if (engine_->Admit(start.trial, start.launch, {}) != Admission::kNew) return;
    Happen(Reported{.trial = start.trial,
                    .launch = start.launch,
                    .position = {.seq = 1, .offset = 0},
                    .work = 1,
                    .metrics = {{"loss", 1.0 / Number(start.trial.trial)}}});
    if (engine_->Admit(start.trial, start.launch, {}) != Admission::kNew) return;
    Happen(LaunchEnded{.trial = start.trial,
                       .launch = start.launch,
                       .position = {.seq = 2, .offset = 0},
                       .ending = Ending::kDone,
                       .reason = ""});
  }

  void Pass(double time) {
    for (const auto& study : engine_->studies()) {
      for (const TrialId id : study->running) {
        const Grant& grant = study->trial(id).launch.grant;
        const double width = grant.devices.empty() ? static_cast<double>(grant.cpus)
                                                   : static_cast<double>(grant.devices.size()) *
                                                         static_cast<double>(grant.gpu_share);
        had_[study->id] += width / kWhole * (time - now_);
      }
    }
    now_ = time;
  }

  Node node_;
  std::unique_ptr<Engine> engine_ = NewEngine();
  std::map<StudyId, double> seconds_;
  std::map<StudyId, double> had_;
  std::map<std::pair<double, std::uint64_t>, Command> due_;  // by time, and then in turn
  std::deque<Command> commands_;                             // still to be carried out
  bool carries_out_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t events_ = 0;
  double now_ = 0;
  double late_ = 0;
};

}  // namespace sluice
