#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/engine.h"
#include "policy/policy.h"
#include "sim/read/scenario.h"
#include "sim/watched_policy.h"
#include "sim/world/device_usage.h"

namespace sluice {

struct SimulationProgress {
  std::int64_t events = 0;
  Time now{};
  std::int64_t trials_ended = 0;
};

struct SimulationOptions {
  std::string policy{kDefaultPolicy};
  std::uint64_t seed = 1;
  bool record_intervals = false;
  // Returns the nanoseconds of any clock, to measure how long the policy's decisions take. Without
  // it the decisions are only counted. The simulation itself reads no clock, and its results do not
  // depend on the stopwatch.
  std::function<std::int64_t()> stopwatch_ns = {};
  // If set, returns what a trial reports after this work, in place of its study's curve.
  std::function<double(TrialKey trial, const Point& point, Work work)> value = {};
  // Called every 65,536 events, and once at the end.
  std::function<void(const SimulationProgress&)> progress = {};
};

// How much work a trial reported, and how fast it is relative to the others of its study.
struct TrialResult {
  Work work = 0;
  double pace = 1;
};

// The results of one study.
struct StudyResult {
  std::string name;
  Time arrived{};
  Time finished{};
  Finish finish = Finish::kNot;
  std::array<int, kTrialStates> counts{};
  std::vector<TrialResult> trials = {};  // by number, from 1 on
  // The best result so far, each time it changed. Each entry is better than the one before, unless
  // the result of a trial is its last report (`of: last`).
  std::vector<std::pair<Time, double>> incumbents = {};
};

struct SimulationResult {
  std::vector<std::string> rows;  // names of devices, then of nodes
  std::size_t devices = 0;        // how many of the rows are devices
  Milli cpus = 0;
  std::vector<StudyResult> studies;  // as in the scenario
  Time end{};
  Usage usage;               // of devices and cores
  std::int64_t events = 0;   // Engine::Apply calls
  DecisionTimes decisions;   // of the policy
  std::uint64_t trace = 0;   // a hash of every event: what, which trial, when, which value
  std::uint64_t digest = 0;  // a hash of the trace and of the engine's last state
};

// Runs a scenario to its end in virtual time. The engine, the policy, the samplers and the stoppers
// are those of production; a simulated world takes the place of the executor. There is no ledger
// and no protocol. The only faults are nodes that go down where the scenario says so; the other
// faults are simulated by tests/rig. The same scenario, policy and seed give the same digest.
//
// Proposals and messages take no time. A launch starts up (and restores its checkpoint), works at
// its true speed, reports, and waits for a verdict at its target. The launch saves a checkpoint
// when it is paused, yields or completes; work since its last report is not in the checkpoint. A
// launch that finds less free memory on its devices than it needs fails, as programs do.
//
// Fails if the policy is unknown. Fails with failed_precondition if the policy needs more than a
// study says. Also fails with failed_precondition if nothing happens any more although a study has
// not finished: the policy then left trials of the study waiting.
Result<SimulationResult> Simulate(const Scenario& scenario, const SimulationOptions& options);

// The same with this policy. The policy's name in the options is for messages only.
Result<SimulationResult> Simulate(const Scenario& scenario, const SimulationOptions& options,
                                  std::unique_ptr<Policy> policy);

}  // namespace sluice
