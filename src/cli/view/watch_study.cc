#include "cli/view/watch_study.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/view/newly_ended.h"
#include "cli/view/signals_blocked.h"
#include "exec/session.h"
#include "ledger/lock.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Reads the study from the store and shows its present state.
Result<StudyInfo> ShowStored(Reader& reader, const std::string& name, View& view) {
  SLUICE_ASSIGN(StudyInfo study, reader.FindStudy(name));
  SLUICE_ASSIGN(Progress progress, MakeProgress(reader, study, WallNow()));
  std::vector<TrialSummary> latest;
  if (view.WantsTrials(progress)) {
    SLUICE_ASSIGN(latest, LatestTrials(reader, study.id));
  }
  view.Show(std::move(progress), std::move(latest));
  return study;
}

// Waits for one of the signals, which are blocked. Returns false if none arrives in time.
bool SignalWithin(const sigset_t& signals, milliseconds time) {
  const struct timespec limit{.tv_sec = 0, .tv_nsec = time.count() * 1'000'000};
  return sigtimedwait(&signals, nullptr, &limit) > 0;
}

Status WatchUntilOver(Reader& reader, const StorePaths& paths, const std::string& name, View& view,
                      const sigset_t& interrupts) {
  constexpr milliseconds kPoll{200};
  std::optional<std::int64_t> seen;
  Time shown{};
  while (true) {
    // The lock is looked at before the store is read. If the lock is free, the controller has ended
    // and has already recorded how.
    const bool alive = FindLockHolder(paths).pid != 0;
    SLUICE_ASSIGN(const std::int64_t version, reader.Version());
    if (seen != version || !alive || WallNow() - shown >= seconds(1)) {
      SLUICE_ASSIGN(const StudyInfo study, ShowStored(reader, name, view));
      seen = version;
      shown = WallNow();
      if (study.finished || !alive) {
        view.Finish();
        if (!study.finished) view.Say(fmt::format("not running: sluice resume {}", name));
        return {};
      }
    }
    if (SignalWithin(interrupts, kPoll)) return {};
  }
}

}  // namespace

Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo found,
                study.empty() ? reader->LatestStudy() : reader->FindStudy(study));
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  const SignalsBlocked blocked(interrupts);
  const std::unique_ptr<View> view = MakeView(mode, STDOUT_FILENO);
  return WatchUntilOver(*reader, paths, found.name, *view, interrupts);
}

}  // namespace sluice
