#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "rig/plain_stopper.h"

namespace sluice {

// Holds what becomes of an engine's trials to the definition of the study's stopper
// (search/plain_stopper.h). That hears what the events say, and of the engine only which trials there
// are and which have ended; who goes how far, pauses, is stopped, or is replaced by a fork of whom must
// be as it says after every event. When paused trials are resumed is the engine's choice, which ones
// is not.
//
// The engine has one study, and applies the events that are shown here and no others.
class RungOracle {
 public:
  void Before(const Engine& engine, const Event& event);
  // What is wrong, or nothing.
  std::string After(const Engine& engine, const Event& event);

 private:
  enum class Fate {
    kGoing,
    kPaused,
    kStopped,
    kOver,  // it has ended, or was retried by hand: the stopper has no say any more
  };
  struct Known {
    Fate fate = Fate::kGoing;
    Work target = 0;
    Work work = 0;                                             // last reported
    double loss = 0;                                           // and its value
    double result = std::numeric_limits<double>::quiet_NaN();  // of all it reported
    bool sent = false;     // told to leave because the study ends
    bool by_hand = false;  // or stopped by its user
  };

  void Hear(const Study& study, const Reported& report);
  void CheckResult(const Study& study, TrialId id);
  void TakeEnds(const Study& study);
  void TakeNewTrials(const Study& study);
  bool ResumeNext(const Study& study);
  void Follow(const Study& study, const std::vector<Ruling>& rulings);
  void TakeFork(const Study& study, const Ruling& ruling);
  bool Agrees(const Trial& trial);
  TrialId FirstWrong(const Study& study);
  std::string Describe(const Trial& trial) const;
  void CheckPoint(const Study& study, const Proposed& event);
  Known& At(TrialId trial) { return known_[Number(trial) - 1]; }

  std::unique_ptr<PlainStopper> plain_;
  std::vector<Known> known_;   // by trial
  std::vector<TrialId> open_;  // those whose fate may change, or is not carried out yet
  // Of the event that is being applied.
  bool taken_ = false;   // a report that counts
  bool judged_ = false;  // by the stopper
  bool born_ = false;    // the parameters of a fork that had none
  std::string problem_;
};

}  // namespace sluice
