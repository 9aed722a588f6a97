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

// The state of a study, told from the store and the live process together.
enum class StudyState {
  kRunning,      // a controller lives
  kEnding,       // a controller lives and makes no new trials
  kInterrupted,  // not finished, and no controller lives
  kFinished,
};

struct StudyStanding {
  StudyState state{};
  int pid = 0;      // of the controller
  std::string why;  // the reason why it ends or ended
};

// The lock names the study that a controller runs. A process that stops or deletes a study holds
// the lock for a moment, too.
StudyStanding StandingOf(const StudyInfo& study, const LockHolder& holder);

std::string_view Name(StudyState state);
Ink InkOf(StudyState state);

// "running (pid 4711)", "interrupted", "finished: all trials done"
std::string Describe(const StudyStanding& standing);

// The number of trials without work for now: complete, stopped, failed or paused.
int TrialsDone(const std::array<int, kTrialStates>& counts);

// The time since the study was made: until now if it runs, else until its last change.
Duration ElapsedOf(const StudyInfo& study, const StudyStanding& standing, Time now);

// The time that a trial has spent in its launches, the one under way included.
Duration BusyOf(const TrialInfo& trial, Time now);

// The study named, or the one changed last.
Result<StudyInfo> ChooseStudy(Reader& reader, const std::optional<std::string>& name);
// The same. Opens the store, and closes it again.
Result<StudyInfo> ChooseStudy(const StorePaths& paths, const std::optional<std::string>& name);

}  // namespace sluice
