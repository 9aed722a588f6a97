#pragma once

// For tests: scenarios from their text.

#include <string>
#include <utility>

#include "base/check.h"
#include "sim/read/scenario.h"

namespace sluice {

// Reads a scenario that must be valid.
inline Scenario Read(const std::string& text) {
  auto scenario = ReadScenario(text, "s.yaml", "s");
  SLUICE_CHECK(scenario.has_value(), scenario ? "" : scenario.error().message.c_str());
  return *std::move(scenario);
}

// The text of a scenario: one node with these devices, and these studies.
inline std::string World(const std::string& studies,
                         const std::string& devices = "{kind: A100, count: 2}") {
  return "nodes: [{cpus: 64, devices: " + devices + "}]\nstudies:\n" + studies;
}

}  // namespace sluice
