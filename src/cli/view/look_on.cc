#include "cli/view/look_on.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "cli/view/stored_view.h"
#include "exec/session/interrupts.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

using std::chrono::steady_clock;

constexpr int kPollMs = 100;
constexpr std::size_t kMostDeaths = 3;
constexpr auto kDeathsWithin = std::chrono::minutes(1);

off_t SizeOf(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

class Onlooker {
 public:
  // `may_pause`: Ctrl-C pauses the study. Otherwise it ends the view.
  Onlooker(const StorePaths& paths, std::string study, Link link, Reader& reader, View& view,
           bool may_pause)
      : paths_(paths),
        study_(std::move(study)),
        link_(std::move(link)),
        stored_(reader, study_, view),
        view_(view),
        may_pause_(may_pause) {}

  // How the run ended; nothing if the user has ended the view.
  Result<std::optional<RunEnd>> Run() {
    Await();
    while (true) {
      SLUICE_ASSIGN(const StudyInfo seen, stored_.Refresh());
      SayPause(seen);
      pollfd ready[] = {{.fd = link_.descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = interrupts_.descriptor(), .events = POLLIN, .revents = 0}};
      poll(ready, 2, kPollMs);
      if (ready[1].revents != 0 && !may_pause_) return std::nullopt;
      if (ready[1].revents != 0) Interrupted(seen);
      PassOn();
      if (ready[0].revents == 0) continue;
      const auto answer = link_.TakeAnswer();
      if (answer && answer->ok) {
        SLUICE_ASSIGN(const RunEnd end, End());
        return end;
      }
      SLUICE_TRY(Died(answer ? answer->message : LastWords()));
    }
  }

 private:
  // Asks to be told when the controller has let go of the study. If the controller has died, the
  // link says so.
  void Await() {
    log_size_ = SizeOf(Log());
    (void)link_.Tell({.verb = "await", .study = study_, .trial = {}});
  }

  Result<RunEnd> End() {
    SLUICE_ASSIGN(const StudyInfo study, stored_.Show());
    SayPause(study);
    if (study.finished) return RunEnd::kFinished;
    if (!study.pause.empty()) return RunEnd::kPaused;
    return interrupted_ > 1 ? RunEnd::kInterrupted : RunEnd::kDrained;
  }

  void SayPause(const StudyInfo& study) {
    if (study.pause.empty() || std::exchange(said_pause_, true)) return;
    view_.Say(fmt::format("trials cannot be started, and the study pauses: {}", study.pause));
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

  Status Died(const std::string& why) {
    const auto now = steady_clock::now();
    // A process that dies closes its connections before its socket. So a connection to it may be
    // made after its death was seen.
    const int pid = link_.pid();
    const bool is_known = pid != 0 && std::exchange(dead_, pid) == pid;
    if (!is_known) deaths_.push_back(now);
    while (!deaths_.empty() && now - deaths_.front() > kDeathsWithin) deaths_.pop_front();
    if (deaths_.size() >= kMostDeaths) {
      return Unavailable(fmt::format(
          "the controller of the studies has died {} times within a minute: {}; once that is "
          "mended, 'sluice resume {}' goes on",
          deaths_.size(), why, study_));
    }
    if (!is_known) {
      view_.Say(
          fmt::format("the controller of the studies has died ({}): another one takes over", why));
    }
    SLUICE_ASSIGN(link_, Link::ConnectOrStart(paths_));
    Await();
    heard_ = 0;
    return {};
  }

  std::string Log() const { return paths_.run + "/controller.log"; }

  // The last line that the controller wrote before it died.
  std::string LastWords() const {
    std::ifstream log(Log());
    log.seekg(log_size_ <= SizeOf(Log()) ? log_size_ : 0);
    std::string last;
    for (std::string line; std::getline(log, line);) {
      if (!line.empty()) last = std::move(line);
    }
    if (last.starts_with("sluice: ")) last.erase(0, 8);
    return last.empty() ? fmt::format("process {} was killed", link_.pid()) : last;
  }

  const StorePaths& paths_;
  const std::string study_;
  Link link_;
  StoredView stored_;
  View& view_;
  const bool may_pause_;
  Interrupts interrupts_;
  int interrupted_ = 0;
  int heard_ = 0;  // how many of these the controller has heard of
  bool said_pause_ = false;
  std::deque<steady_clock::time_point> deaths_;
  off_t log_size_ = 0;
  int dead_ = 0;  // the process whose death was seen last
};

}  // namespace

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
