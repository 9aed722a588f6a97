#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "rig/stoppers/plain_stopper.h"

namespace sluice {

// When PBT judges, how many trials lose, and which trial is forked in place of a loser.
struct PlainPbtRule {
  explicit PlainPbtRule(const StopperSpec& spec);
  Work TargetAfter(Work work) const;
  std::size_t Quantile(std::size_t n) const;
  TrialId Draw(const std::vector<TrialId>& donors, TrialId loser, Work work) const;

  StopperSpec spec;
  std::vector<Work> stages;  // below max_budget
};

// Synchronous PBT, written as it is defined: a stage is decided when every living trial has a value
// there. A trial goes on earlier if it is certain to be in the middle, neither among the best nor
// among the losers, whatever values still come.
class PlainPbt final : public PlainStopper {
 public:
  explicit PlainPbt(const StopperSpec& spec) : rule_(spec) {}

  Work Admit(TrialId trial) override;
  void AdmitFork(TrialId trial, TrialId replaced) override;
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::vector<Ruling> Closed() override;
  std::optional<TrialGroup> Next() override;

 private:
  enum class Phase { kGoing, kPaused, kReady, kOver };
  struct Place {
    TrialId trial{};
    Phase phase = Phase::kGoing;
    bool out = false;       // its trial ended, and was then among the losers of a stage
    std::size_t stage = 0;  // the stage it goes to, or waits at
    Work work = 0;
    std::map<std::size_t, double> values = {};  // by stage
    bool waits() const { return values.contains(stage); }
  };
  struct Population {
    bool closed = false;
    std::size_t next = 0;  // the stage to decide next
    std::vector<Place> places = {};
  };
  struct Settled {
    std::vector<Ruling> forks = {};
    std::vector<TrialId> passed = {};
  };

  Work TargetOf(const Place& place) const;
  Place* Find(TrialId trial);
  std::vector<Ruling> Settle(Population& population, TrialId except);
  void Decide(Population& population, const std::vector<PlainMark>& ranked, Settled& settled);

  const PlainPbtRule rule_;
  std::deque<Population> populations_;
  std::map<TrialId, std::pair<std::size_t, std::size_t>> home_;  // indices of population and place
};

// Asynchronous PBT, written as it is defined: a trial that reaches a stage is ranked among the last
// values of all living trials.
class PlainPbtAsync final : public PlainStopper {
 public:
  explicit PlainPbtAsync(const StopperSpec& spec) : rule_(spec) {}

  Work Admit(TrialId trial) override;
  void AdmitFork(TrialId trial, TrialId replaced) override;
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;

 private:
  struct Member {
    Work target = 0;
    std::optional<double> value = {};
    bool own = true;  // false: the value is that of the trial it replaced
  };
  const PlainPbtRule rule_;
  std::map<TrialId, Member> living_;
  std::map<TrialId, Member> forking_;  // by loser: what the fork in its place begins with
};

}  // namespace sluice
