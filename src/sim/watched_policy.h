#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "policy/policy.h"

namespace sluice {

struct DecisionTimes {
  std::int64_t plans = 0;
  std::int64_t unproven = 0;  // plans that may not be the best
  std::int64_t ns = 0;        // for all plans together; 0 without a stopwatch
  std::int64_t longest_ns = 0;
};

// Counts a policy's plans. If there is a stopwatch, also measures how long they take.
class WatchedPolicy final : public Policy {
 public:
  WatchedPolicy(std::unique_ptr<Policy> policy, const std::function<std::int64_t()>& stopwatch_ns,
                DecisionTimes& times)
      : policy_(std::move(policy)), stopwatch_ns_(stopwatch_ns), times_(times) {
    SetTraits(policy_->traits());
  }

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override {
    ++times_.plans;
    const std::int64_t begin = stopwatch_ns_ ? stopwatch_ns_() : 0;
    Plan plan = policy_->Propose(cluster, work, now);
    times_.unproven += plan.unproven ? 1 : 0;
    if (!stopwatch_ns_) return plan;
    const std::int64_t took = stopwatch_ns_() - begin;
    times_.ns += took;
    times_.longest_ns = std::max(times_.longest_ns, took);
    return plan;
  }

 private:
  std::unique_ptr<Policy> policy_;
  const std::function<std::int64_t()>& stopwatch_ns_;
  DecisionTimes& times_;
};

}  // namespace sluice
