// Measures how long a policy takes to make a plan, on one core. The view that the policy gets is
// made before the measurement.
//
//   build/bench/bin/policy_bench --benchmark_repetitions=5
//
// Plan/POLICY/JOBS/DEVICES: JOBS small trials of 24 shapes wait, and DEVICES A100s are empty, four
// in each node. HyperSack's authors measured decision times in this way (384 jobs on 16 GPUs). The
// counter `placed` is the number of trials in the plan.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "policy/policy.h"

namespace sluice {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::uint32_t kShapes = 24;

struct Waiting {
  Cluster cluster;
  SpeedModel speeds;
  std::vector<std::string> names;
  WorkView view;

  Waiting(std::int64_t jobs, std::int64_t devices) {
    std::vector<Node> nodes;
    for (std::int64_t d = 0; d < devices; ++d) {
      if (d % 4 == 0)
        nodes.push_back({.name = fmt::format("n{}", d / 4), .cpus = 64 * kWhole, .devices = {}});
      nodes.back().devices.push_back(
          {.uuid = fmt::format("g{}", d), .kind = "A100", .memory_bytes = 40 * kGiB});
    }
    cluster.SetNodes(nodes);
    for (std::uint32_t s = 0; s < kShapes; ++s) names.push_back(fmt::format("shape{}", s));
    for (std::uint32_t s = 0; s < kShapes; ++s) {
      const Demand demand{.cpus = 4 * kWhole,
                          .gpus = 220 + 13 * static_cast<Milli>(s),
                          .memory_bytes = (2 + s % 7) * kGiB};
      speeds.Learn({.shape = names[s], .kind = "A100", .width = demand.gpus}, 10, 50 + s * 7 % 60);
      view.studies.push_back(
          {.study = StudyId(s + 1), .demand = demand, .shape = names[s], .max_budget = 10});
    }
    for (std::int64_t j = 0; j < jobs; ++j) {
      const auto shape = static_cast<std::uint32_t>(j * kShapes / jobs);
      StudyView& study = view.studies[shape];
      view.items.push_back({.trial = {study.study, TrialId(++study.waiting)},
                            .demand = study.demand,
                            .target = 10,
                            .shape = study.shape});
    }
    view.speeds = &speeds;
  }
};

void BenchPlan(benchmark::State& state, const std::string& name) {
  const Waiting waiting(state.range(0), state.range(1));
  auto policy = MakePolicy(name);
  SLUICE_CHECK(policy.has_value(), "the name is one of ours");
  std::size_t placed = 0;
  for (auto _ : state) {
    const Plan plan = (*policy)->Propose(waiting.cluster, waiting.view, Time{});
    placed = plan.placements.size();
    benchmark::DoNotOptimize(placed);
  }
  state.counters["placed"] = static_cast<double>(placed);
}

bool Register() {
  for (const char* name :
       {"fifo", "hypersack-ff", "hypersack-ffd", "hypersack-wf", "hypersack-wfd", "confluence"}) {
    auto* bench = benchmark::RegisterBenchmark(
        fmt::format("Plan/{}", name).c_str(),
        [policy = std::string(name)](benchmark::State& state) { BenchPlan(state, policy); });
    bench->Args({384, 16})->Args({1'000, 40})->Args({10'000, 400})->Args({100'000, 4'000});
    bench->Unit(benchmark::kMicrosecond);
  }
  return true;
}

[[maybe_unused]] const bool kRegistered = Register();

}  // namespace
}  // namespace sluice
