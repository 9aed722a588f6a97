#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/view/terminal.h"
#include "ledger/lock.h"
#include "ledger/reader.h"
#include "ledger/store.h"

namespace sluice {

// The state of a study. It follows from the store and from whether a controller lives.
enum class StudyState {
  kRunning,      // a controller runs it
  kEnding,       // a controller runs it and makes no new trials
  kPaused,       // not finished, and no controller is to run it
  kInterrupted,  // its controller has died
  kFinished,
};

struct StudyStanding {
  StudyState state{};
  int pid = 0;      // of the controller
  std::string why;  // the reason why it ends or ended
};

// `holder` is the process that holds the store's lock. Its purpose says whether it is a controller:
// a process that changes or deletes a study holds the lock for a moment too.
StudyStanding StandingOf(const StudyInfo& study, const LockHolder& holder);

std::string_view Name(StudyState state);
Ink InkOf(StudyState state);

// "running (pid 4711)", "interrupted", "finished: all trials done"
std::string Describe(const StudyStanding& standing);

// The number of trials that are complete, stopped, failed or paused.
int TrialsDone(const std::array<int, kTrialStates>& counts);

// The time from the making of the study until now if it runs, and until its last change otherwise.
Duration ElapsedOf(const StudyInfo& study, const StudyStanding& standing, Time now);

// The time that a trial has spent in its launches, including a launch that is running.
Duration BusyOf(const TrialInfo& trial, Time now);

// The leader that a study with `transfer` waits for, and how it stands, as in "small, which is
// paused". Empty if the study has no leader, has finished, or trains a trial, and once the leader
// has finished.
std::string WaitsFor(Reader& reader, const StudyInfo& study, const std::string& leader);

// The study of this name. Without a name: the study that was changed last.
Result<StudyInfo> ChooseStudy(Reader& reader, const std::optional<std::string>& name);
// The same, from the store at `paths`.
Result<StudyInfo> ChooseStudy(const StorePaths& paths, const std::optional<std::string>& name);

}  // namespace sluice
