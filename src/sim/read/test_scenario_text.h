#pragma once

// For tests of readers: texts of scenarios, good and bad.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/read/scenario.h"

namespace sluice {

inline constexpr std::string_view kStudy = R"(
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: {cpus: 1, gpus: 1}
    workload: {unit_time: 10s}
)";

// A scenario with these nodes, further keys, and studies.
inline std::string Text(std::string_view nodes = "[{devices: {kind: A100, count: 4}}]",
                        std::string_view more = "", std::string_view study = kStudy) {
  return std::string("nodes: ") + std::string(nodes) + "\n" + std::string(more) +
         "studies:" + std::string(study);
}

// Reads a text that must be good.
inline Scenario Good(const std::string& text) {
  auto scenario = ReadScenario(text, "s.yaml", "s");
  EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.error().message);
  return scenario ? *std::move(scenario) : Scenario{};
}

// Reads a text that must not be good, and returns the message.
inline std::string Bad(const std::string& text) {
  const auto scenario = ReadScenario(text, "s.yaml", "s");
  EXPECT_FALSE(scenario.has_value());
  return scenario ? "" : scenario.error().message;
}

inline std::vector<std::string> Lines(const std::string& message) {
  std::istringstream stream(message);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A scenario with one study. `workload` has the keys of its workload besides unit_time.
inline std::string Working(std::string_view workload, std::string_view resources = "{gpus: 1}",
                           std::string_view more = "") {
  return Text("[{devices: {kind: A100, count: 4}}]", more,
              R"(
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: )" +
                  std::string(resources) + "\n    workload: {unit_time: 10s, " +
                  std::string(workload) + "}\n");
}

// Values for keys that a study does not have.
inline constexpr std::string_view kDefaults = R"(
defaults:
  space: {lr: {float: [1e-4, 1], log: true}}
  objective: {maximize: accuracy}
  stopper: asha
  budget: {min: 1, max: 27}
  trials: 8
  resources: {cpus: 2, gpus: 0.5}
  workload: {unit_time: 10s, start_up: 5s, save: 1s}
)";

inline constexpr std::string_view kTwo = R"(
  - {study: plain}
  - {study: other, workload: {unit_time: 3s}, resources: {gpus: 0.25}}
)";

// A scenario with two studies, defaults for them, and these policies.
inline std::string Compared(std::string_view policies) {
  return Text("[{devices: {kind: A100, count: 2}}]",
              std::string(kDefaults.substr(1)) + std::string(policies), kTwo);
}

// A job of two stages that lends three devices.
inline constexpr std::string_view kLending =
    "pipeline_jobs: [{name: gpt, stages: 2, replicas: 3, micro_batches: 3, forward: 1ms, backward: "
    "1ms, free_memory: [10GB, 20GB], lends: 3, cpus: 2, gate: 0.5ms}]\n";

}  // namespace sluice
