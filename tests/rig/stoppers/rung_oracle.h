#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "rig/stoppers/plain_stopper.h"

namespace sluice {

// Checks that an engine treats its trials as the definition of the study's stopper says
// (rig/stoppers/plain_stopper.h). The plain stopper is driven by the events. From the engine it
// gets only which trials there are and which have ended. After every event, each trial's target,
// whether it pauses or is stopped, and which trial is forked in its place must be as the plain
// stopper says.
// The engine may choose when paused trials are resumed, but not which of them.
//
// The engine applies exactly the events that are passed to Before and After, apart from those that
// are about other studies.
class RungOracle {
 public:
  explicit RungOracle(StudyId study) : study_(study) {}

  // To be called before the engine applies the event.
  void Before(const Engine& engine, const Event& event);
  // To be called after that. Returns what is wrong; empty: nothing.
  std::string After(const Engine& engine, const Event& event);

 private:
  enum class Fate {
    kGoing,
    kPaused,
    kStopped,
    kOver,  // ended, or retried by hand: the stopper no longer decides about it
  };
  struct Known {
    Fate fate = Fate::kGoing;
    Work target = 0;
    Work work = 0;                                             // last reported
    double loss = 0;                                           // last reported
    double result = std::numeric_limits<double>::quiet_NaN();  // from all its reports
    bool sent = false;     // told to leave because the study ends
    bool by_hand = false;  // stopped by its user
  };

  void Hear(const Study& study, const Reported& report);
  void CheckResult(const Study& study, TrialId id);
  void TakeEnds(const Study& study);
  void TakeNewTrials(const Study& study);
  bool ResumeNext(const Study& study);
  void Follow(const Study& study, const std::vector<Ruling>& rulings);
  void TakeFork(const Study& study, const Ruling& ruling);
  bool Agrees(const Study& study, const Trial& trial);
  TrialId FirstWrong(const Study& study);
  std::string Describe(const Trial& trial) const;
  void CheckPoint(const Study& study, const Proposed& event);
  Known& At(TrialId trial) { return known_[Number(trial) - 1]; }

  StudyId study_;
  std::unique_ptr<PlainStopper> plain_;
  std::vector<Known> known_;   // by trial
  std::vector<TrialId> open_;  // trials with a fate that may change, or is not carried out yet
  // About the event that is being applied.
  bool taken_ = false;   // it is a report that counts
  bool judged_ = false;  // it is a report that the stopper judges
  bool born_ = false;    // it gives a fork its parameters
  std::string problem_;
};

}  // namespace sluice
