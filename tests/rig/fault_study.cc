#include "rig/fault_study.h"

#include <fmt/format.h>

#include <cstdint>

#include "policy/policy_table.h"
#include "search/sampler.h"
#include "search/stopper.h"

namespace sluice {

// The arguments of a call contain at most one draw, because compilers evaluate arguments in
// different orders.
std::string DrawStudy(Random drawn, bool bundles, Theme theme) {
  const bool crowds = theme == Theme::kCrowds;
  const auto& samplers = SamplerNames();
  const auto& stoppers = StopperNames();
  // Any sampler. Random search is frequent, because it takes almost no time.
  const std::string sampler = drawn.Chance(0.5) ? "random" : samplers[drawn.Below(samplers.size())];
  const std::string& drawn_stopper = stoppers[drawn.Below(stoppers.size())];
  // Before a deadline, confluence gives up trials that no stopper judges.
  const bool races = !bundles && theme == Theme::kNone && drawn.Fork("race").Chance(0.04);
  const std::string stopper = races                     ? "none"
                              : theme == Theme::kCopies ? "pbt-async"
                                                        : drawn_stopper;
  const bool maximizes = drawn.Chance(0.3);
  const bool last = drawn.Fork("of").Chance(0.25);  // a fork leaves the other draws as they were
  Random more = drawn.Fork("more");
  const std::uint64_t tells_budget = more.Below(12);
  std::string text = fmt::format("program: train {{args}}{}\nobjective: {{{}: loss{}}}\n",
                                 tells_budget == 0 ? " --epochs {budget}" : "",
                                 maximizes ? "maximize" : "minimize", last ? ", of: last" : "");
  if (tells_budget == 1) text += "environment: {EPOCHS: '{budget}'}\n";
  if (more.Chance(0.1) && !crowds) text += fmt::format("max_failures: {}\n", 1 + more.Below(6));
  text += fmt::format("trials: {}\nsampler: {}\n",
                      bundles && !crowds ? 6 + drawn.Below(20) : 30 + drawn.Below(100), sampler);
  // Some spaces have a parameter that is not always active, and texts that need quotes.
  const bool wordy = sampler != "grid" && more.Chance(0.15) && !crowds;
  std::string options;
  for (const std::string& option : StopperOptions(stopper)) {
    if (option == "min_delta" || drawn.Chance(0.5)) continue;
    if (option == "mutate") {
      if (!wordy) options += ", mutate: [n]";  // with n, k would change too
      continue;
    }
    const std::uint64_t number = 1 + drawn.Below(option == "percentile" ? 60 : 4);
    options += fmt::format(", {}: {}{}", option, option == "quantile" ? "0." : "", number);
  }
  text += fmt::format("stopper: {{name: {}{}}}\n", stopper, options);
  if (sampler == "grid") {
    text += fmt::format("space: {{n: {{int: [1, {}]}}, c: {{choice: [a, b, c]}}}}\n",
                        drawn.Chance(0.5) ? 20 : 400);
  } else {
    text +=
        fmt::format("space: {{lr: {{float: [0.001, 1], log: true}}, n: {{int: [1, 9]}}{}}}\n",
                    wordy ? ", m: {choice: [a, 'a b', '']}, k: {int: [1, 2], when: n > 4}" : "");
  }
  if (drawn.Chance(0.2)) text += "constraints: [n != 2]\n";
  const bool bounded =
      NeedsMaxBudget(stopper) || races || drawn.Chance(stopper == "none" ? 0.5 : 0.9);
  if (bounded) {
    const std::uint64_t least = 1 + drawn.Below(3);
    const std::uint64_t eta = 2 + drawn.Below(3);
    std::uint64_t most = 9 + drawn.Below(20);
    // Often the budget is the least times a power of eta: users like such budgets, and logarithms
    // are inexact there. These budgets are long, so only stoppers that halve get them.
    const bool halves = stopper.starts_with("asha") || stopper == "sha" || stopper == "hyperband";
    if (drawn.Chance(0.4) && halves) {
      most = least * eta * eta * eta;
      while (most < 250 && drawn.Chance(0.8)) most *= eta;
    }
    text += fmt::format("budget: {{min: {}, max: {}, eta: {}}}\n", least, most, eta);
  }
  if (drawn.Chance(0.3) && !crowds) text += fmt::format("parallelism: {}\n", 1 + drawn.Below(8));
  // Two of the larger trials do not fit on one device.
  const int gigabytes = drawn.Chance(0.2) ? 25 : 3;
  Random fusing = drawn.Fork("bundles");
  const bool fuses = (fusing.Chance(0.4) || bundles) && !races;
  if (fuses) {
    const std::string gpus = crowds               ? ", gpus: 1, memory: 3GiB"
                             : fusing.Chance(0.5) ? ", gpus: 0.5, memory: 3GiB"
                             : fusing.Chance(0.5) ? ", gpus: 1, memory: 3GiB"
                                                  : "";
    text += fmt::format("resources: {{cpus: 0.5{}}}\n", gpus);
    const std::uint64_t most = 2 + fusing.Below(6);
    text += fmt::format("fuse: {{most: {}{}}}\n", crowds || more.Chance(0.1) ? 12 : most,
                        gpus.empty() ? "" : ", memory: 1GiB");
    if ((fusing.Chance(0.3) && !crowds) || wordy)
      text += wordy ? "shape: [m, k]\n" : "shape: [n]\n";
  } else if (races) {
    text += "resources: {cpus: 0.5, gpus: [0.5, 2], memory: 3GiB}\n";
  } else if (drawn.Chance(0.3)) {
    text +=
        drawn.Chance(0.5)
            ? fmt::format("resources: {{cpus: 0.5, gpus: [0.5, 2], memory: {}GiB}}\n", gigabytes)
            : "resources: {cpus: [0.5, 2]}\n";
  } else if (drawn.Chance(0.5)) {
    text += fmt::format("resources: {{cpus: 0.5, gpus: 0.5, memory: {}GiB}}\n", gigabytes);
    if (drawn.Chance(0.5)) text += "fuse: {most: 4, memory: 1GiB}\n";
  }
  text += fmt::format("timeouts: {{lease: {}s", 2 + drawn.Below(10));
  text += fmt::format(", grace: {}s", 1 + drawn.Below(5));
  if (drawn.Chance(0.3) || crowds) text += fmt::format(", trial: {}s", crowds ? 20 : 90);
  if (drawn.Chance(0.3)) text += ", report: 20s";
  text += "}\n";
  if (theme == Theme::kCopies) {
    text += "checkpoint_cap: 200\n";
  } else if (drawn.Chance(0.3)) {
    text += fmt::format("checkpoint_cap: {}\n", 100 + drawn.Below(1000));
  }
  if (drawn.Chance(0.1)) text += fmt::format("stop_at: {{loss: {}}}\n", maximizes ? 2.0 : 0.01);
  // confluence is frequent, because it moves trials in more ways than other policies do.
  // hypersack-mip is too slow.
  const auto& policies = PolicyNames();
  std::string policy = "fifo";
  if (drawn.Chance(0.15)) {
    policy = "confluence";
  } else if (drawn.Chance(0.3)) {
    policy = policies[drawn.Below(policies.size())];
  }
  if (fuses) policy = fusing.Chance(0.6) || crowds ? "hydro" : "confluence";
  if (races) policy = "confluence";
  if (policy == "hypersack-mip" || (TraitsOf(policy).needs.max_budget && !bounded)) policy = "fifo";
  text += fmt::format("policy: {}\n", policy);
  if (theme == Theme::kDeadlines) {
    text += fmt::format("deadline: {}s\n", 5 + drawn.Below(20));
  } else if (TraitsOf(policy).needs.deadline || races || drawn.Chance(0.2)) {
    text += drawn.Chance(0.2) ? "deadline: 1970-01-01T00:05:00Z\n"
                              : fmt::format("deadline: {}s\n", 60 + drawn.Below(600));
  }
  text += fmt::format("retries: {}\n", drawn.Below(3));
  text += fmt::format("backoff: {}s\n", 1 + drawn.Below(5));
  return text;
}

}  // namespace sluice
