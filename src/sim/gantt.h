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
  std::size_t most_rows = 256;     // of a panel; the panel says how many rows are not shown
  std::size_t most_bars = 20'000;  // roughly; if there are more bars, the shortest are merged
};

// Draws an SVG that shows which trial ran where. Each run is a panel. The panels lie one below the
// other and share one time axis. A panel has a row for each device, and for each node where trials
// use cores alone.
// Each bar is a trial in its study's colour. Trials that share a device lie one below the other in
// its row. Start-up is hatched, saving is light; arrivals and deadlines are lines. Bars too short
// to be seen are merged with their neighbours: a merged bar has the colour of the study that held
// the device longest there. The same runs give the same bytes.
std::string DrawGantt(const Scenario& scenario, std::span<const GanttPanel> panels,
                      const GanttOptions& options = {});

}  // namespace sluice
