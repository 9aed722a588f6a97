#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/view/terminal.h"
#include "ledger/lock.h"
#include "ledger/reader.h"

namespace sluice {

// How a study stands, which takes the store and the live process together to say.
enum class StudyState {
  kRunning,      // a controller lives
  kEnding,       // a controller lives and makes no new trials
  kInterrupted,  // not finished, and no controller lives
  kFinished,
};

struct StudyStanding {
  StudyState state{};
  int pid = 0;      // of the controller
  std::string why;  // it ends or ended
};

// A controller says with the lock which study it runs; who stops or deletes one holds the lock for
// a moment, too.
StudyStanding StandingOf(const StudyInfo& study, const LockHolder& holder);

std::string_view Name(StudyState state);
Ink InkOf(StudyState state);

// "running (pid 4711)", "interrupted", "finished: all trials done"
std::string Describe(const StudyStanding& standing);

// Trials that ran as far as anybody wants for now: complete, stopped, failed or paused.
int TrialsDone(const std::array<int, kTrialStates>& counts);

// Since it was made: until now if it runs, else until the last change.
Duration ElapsedOf(const StudyInfo& study, const StudyStanding& standing, Time now);

// In launches that ended and the one under way.
Duration BusyOf(const TrialInfo& trial, Time now);

// The study named, or the one changed last.
Result<StudyInfo> ChooseStudy(Reader& reader, const std::optional<std::string>& name);

}  // namespace sluice
