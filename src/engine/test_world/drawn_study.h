#pragma once

// For tests: studies with randomly drawn options, for the world around an engine (test_world.h).
// Each call has at most one draw in its arguments, since compilers evaluate arguments in different
// orders.

#include <fmt/format.h>

#include <string>

#include "base/random.h"
#include "search/stopper.h"

namespace sluice {

// A stopper with randomly drawn options.
inline std::string DrawnStopper(Random& random, const std::string& name) {
  std::string text = "{name: " + name;
  for (const std::string& option : StopperOptions(name)) {
    if (option == "mutate") continue;
    if (option == "min_delta") continue;
    if (option == "interval") {  // must be less than the full budget, which is not known here
      if (random.Chance(0.5)) text += ", interval: 1";
      continue;
    }
    if (option == "quantile") {
      text += fmt::format(", quantile: 0.{}", 1 + random.Below(5));
      continue;
    }
    text += fmt::format(", {}: {}", option, 1 + random.Below(option == "percentile" ? 60 : 4));
  }
  return text + "}";
}

// The text of a study file without the keys that every study needs (SourceOf adds them).
inline std::string DrawnStudy(Random& random, const std::string& sampler,
                              const std::string& stopper) {
  std::string text = fmt::format("trials: {}\n", 1 + random.Below(12));
  text += fmt::format("sampler: {}\nstopper: {}\n", sampler, DrawnStopper(random, stopper));
  text += sampler == "grid" ? "space: {n: {int: [1, 5]}, c: {choice: [a, b]}}\n"
                            : "space: {lr: {float: [0, 1]}}\n";
  if (stopper != "none" || random.Chance(0.5)) {
    text += fmt::format("budget: {{min: {}", 1 + random.Below(2));
    text += fmt::format(", max: {}", 2 + random.Below(25));
    text += fmt::format(", eta: {}}}\n", 2 + random.Below(3));
  }
  if (random.Chance(0.5)) text += fmt::format("parallelism: {}\n", 1 + random.Below(3));
  if (random.Chance(0.3)) text += "resources: {cpus: 0.5, gpus: 0.5}\n";
  if (random.Chance(0.3)) text += "timeouts: {trial: 40s, report: 9s}\n";
  if (random.Chance(0.2)) text += fmt::format("deadline: {}s\n", 20 + random.Below(200));
  if (random.Chance(0.15)) text += "stop_at: {loss: -1.5}\n";
  if (random.Chance(0.4)) text += "checkpoint_cap: 100\n";
  return text + fmt::format("retries: {}\nbackoff: 2s\n", random.Below(3));
}

}  // namespace sluice
