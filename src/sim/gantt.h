#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {

// One run of a scenario, with its intervals recorded.
struct GanttPanel {
  std::string title;
  const SimulationResult* result = nullptr;
};

struct GanttOptions {
  int width = 1280;                // pixels
  std::size_t most_rows = 256;     // of a panel, which says how many more there are
  std::size_t most_bars = 20'000;  // roughly; where there are more, the shortest are merged
};

// An SVG of which trial ran where. Each run is a panel; the panels lie one below the other on one
// time axis. A panel has a row for each device, and for each node where trials use cores alone.
// Each bar is a trial in its study's colour. Trials that share a device lie one below the other in
// its row. Start-up is hatched, saving is light; arrivals and deadlines are lines. Bars too short
// to be seen are merged with their neighbours: a merged bar has the colour of the study that held
// the device longest there. The same runs give the same bytes.
std::string DrawGantt(const Scenario& scenario, std::span<const GanttPanel> panels,
                      const GanttOptions& options = {});

}  // namespace sluice
