#include "cli/view/look_on.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/view/stored_view.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

class Onlooker {
 public:
  // `may_pause`: Ctrl-C pauses the study. Otherwise it ends the view.
  Onlooker(const StorePaths& paths, std::string study, Link link, Reader& reader, View& view,
           bool may_pause)
      : paths_(paths),
        study_(std::move(study)),
        link_(paths, std::move(link)),
        stored_(reader, study_, view),
        view_(view),
        may_pause_(may_pause) {}

  // How the run ended; nothing if the user has ended the view.
  Result<std::optional<RunEnd>> Run() {
    link_.Await(study_);
    while (true) {
      SLUICE_ASSIGN(const StudyInfo seen, stored_.Refresh());
      SayPause(seen);
      const Arrived arrived = AwaitNews(link_, interrupts_);
      if (arrived.interrupt && !may_pause_) return std::nullopt;
      if (arrived.interrupt) Interrupted(seen);
      PassOn();
      if (!arrived.answer) continue;
      SLUICE_ASSIGN(const bool has_let_go,
                    link_.TakeAnswer([this](std::string_view line) { view_.Say(line); }));
      if (has_let_go) {
        SLUICE_ASSIGN(const RunEnd end, End());
        return end;
      }
      heard_ = 0;  // another controller runs the study
    }
  }

 private:
  Result<RunEnd> End() {
    SLUICE_ASSIGN(const StudyInfo study, stored_.Show());
    SayPause(study);
    if (study.finished) return RunEnd::kFinished;
    if (!study.pause.empty()) return RunEnd::kPaused;
    return interrupted_ > 1 ? RunEnd::kInterrupted : RunEnd::kDrained;
  }

  void SayPause(const StudyInfo& study) {
    if (study.pause.empty() || std::exchange(said_pause_, true)) return;
    view_.Say(PauseText(study));
  }

  void Interrupted(const StudyInfo& study) {
    for (int count = interrupts_.Take(); count > 0; --count) {
      if (++interrupted_ == 1) {
        const int running = study.count(TrialState::kRunning);
        view_.Say(running == 0
                      ? std::string("stopping")
                      : fmt::format("stopping: waiting for {} running trial{} to save or finish; "
                                    "Ctrl-C again kills {}",
                                    running, running == 1 ? "" : "s",
                                    running == 1 ? "it" : "them"));
      } else if (interrupted_ == 2) {
        view_.Say("killing running trials; 'sluice resume' continues from the checkpoints");
      }
    }
  }

  // Passes on what the user wants, again until it was heard. A refusal says that the study has
  // ended since.
  void PassOn() {
    const int wanted = std::min(interrupted_, 2);
    if (heard_ >= wanted) return;
    const Status paused = PauseStudy(paths_, study_, /*kill=*/wanted == 2);
    if (paused || paused.error().code == ErrorCode::kFailedPrecondition) heard_ = wanted;
  }

  const StorePaths& paths_;
  const std::string study_;
  KeptLink link_;
  StoredView stored_;
  View& view_;
  const bool may_pause_;
  Interrupts interrupts_;
  int interrupted_ = 0;
  int heard_ = 0;  // how many of these the controller has heard of
  bool said_pause_ = false;
};

}  // namespace

Arrived AwaitNews(const KeptLink& link, const Interrupts& interrupts) {
  constexpr int kPollMs = 100;
  pollfd ready[] = {{.fd = link.descriptor(), .events = POLLIN, .revents = 0},
                    {.fd = interrupts.descriptor(), .events = POLLIN, .revents = 0}};
  poll(ready, 2, kPollMs);
  return {.answer = ready[0].revents != 0, .interrupt = ready[1].revents != 0};
}

std::string PauseText(const StudyInfo& study) {
  return fmt::format("trials cannot be started, and the study pauses: {}", study.pause);
}

Result<RunEnd> LookOn(const StorePaths& paths, const std::string& study, Link link, View& view) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const std::optional<RunEnd> end,
                Onlooker(paths, study, std::move(link), *reader, view, /*may_pause=*/true).Run());
  return end.value_or(RunEnd::kDrained);
}

Status Watch(const StorePaths& paths, const std::string& study, Link link, View& view) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_TRY(Onlooker(paths, study, std::move(link), *reader, view, /*may_pause=*/false).Run());
  return {};
}

}  // namespace sluice
