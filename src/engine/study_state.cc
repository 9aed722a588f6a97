#include "engine/study_state.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"

namespace sluice {

std::string_view Name(Finish finish) {
  switch (finish) {
    case Finish::kNot: return "running";
    case Finish::kTrials: return "all trials done";
    case Finish::kExhausted: return "space exhausted";
    case Finish::kTarget: return "target reached";
    case Finish::kDeadline: return "deadline passed";
    case Finish::kAsked: return "stopped";
    case Finish::kFailures: return "too many trials failed";
    case Finish::kNoLeader: return "the study that it transfers from has no result";
  }
  SLUICE_CHECK(false, "a finish has a name");
}

int Study::room() const {
  const auto made = static_cast<std::uint64_t>(proposed()) + (asked - answered);
  const auto wanted = static_cast<std::uint64_t>(trials_wanted);
  return made < wanted ? static_cast<int>(wanted - made) : 0;
}

Time Study::stops_at() const { return deadline == kNever ? kNever : deadline - leave; }

// A trial that has run before is queued ahead of new trials, so that it never starves behind them.
// A fork is queued ahead of them too, since it goes on from a trial that has run.
void Study::Enqueue(const Trial& trial) {
  const auto is_new = [](const Trial& some) { return !IsSet(some.launch.id) && !some.IsFork(); };
  if (is_new(trial) || Planted("starved")) {
    waiting.push_back(trial.id);
    return;
  }
  const auto first_new =
      std::ranges::find_if(waiting, [&](TrialId id) { return is_new(this->trial(id)); });
  waiting.insert(first_new, trial.id);
}

// Trials whose target is the full budget from the beginning (grid, random) are one group. Trials
// that a stopper gathers for one target are also one group. Every other trial is a group of its
// own.
void Study::JoinGroup(Trial& trial) {
  const bool same =
      stopper->Gathers() ? trial.target == group_target : trial.target == spec.stopper.max_budget;
  if (!same || groups == 0) ++groups;
  group_target = trial.target;
  trial.group = GroupId(groups);
}

}  // namespace sluice
