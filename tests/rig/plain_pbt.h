#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "rig/plain_stopper.h"

namespace sluice {

// When PBT judges, how many lose, and whom they are replaced by a fork of.
struct PlainPbtRule {
  explicit PlainPbtRule(const StopperSpec& spec);
  Work TargetAfter(Work work) const;
  std::size_t Quantile(std::size_t n) const;
  TrialId Draw(const std::vector<TrialId>& donors, TrialId loser, Work work) const;

  StopperSpec spec;
  std::vector<Work> stages;  // below max_budget
};

// Synchronous PBT by its definition: a stage is decided when everybody who lives has a value there,
// and until then those go on who will be in the middle whatever comes.
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
    bool out = false;       // ended, and lost since
    std::size_t stage = 0;  // it goes to, or waits at
    Work work = 0;
    std::map<std::size_t, double> values = {};  // by stage
    bool waits() const { return values.contains(stage); }
  };
  struct Population {
    bool closed = false;
    std::size_t next = 0;  // stage to decide
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
  std::map<TrialId, std::pair<std::size_t, std::size_t>> home_;  // population and place
};

// Asynchronous PBT by its definition: whoever reaches a stage is ranked among the last values of all
// that live.
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
    bool own = true;  // the value, not that of the one it replaced
  };
  const PlainPbtRule rule_;
  std::map<TrialId, Member> living_;
  std::map<TrialId, Member> forking_;  // what the fork in the place of a loser begins with
};

}  // namespace sluice
