// Measures how many events a second the fast simulation handles (calls of Engine::Apply): 100,000
// trials on 64 devices, on one core, without a ledger.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "sim/simulation.h"

namespace {

sluice::Scenario Cluster(int trials, const std::string& search, const std::string& workload) {
  const std::string text = fmt::format(
      "nodes: [{{count: 8, cpus: 64, devices: {{kind: A100, count: 8}}}}]\n"
      "studies:\n"
      "  - study: bench\n"
      "    space: {{lr: {{float: [1e-4, 1], log: true}}, width: {{int: [1, 64]}}}}\n"
      "    objective: {{maximize: accuracy}}\n"
      "    sampler: random\n"
      "    trials: {}\n"
      "    resources: {{gpus: 1}}\n"
      "    {}\n"
      "    workload: {{unit_time: 10s, spread: 0.3{}}}\n",
      trials, search, workload);
  auto scenario = sluice::ReadScenario(text, "bench", "bench");
  if (!scenario) throw std::runtime_error(scenario.error().message);
  return *std::move(scenario);
}

void Simulate(benchmark::State& state, const std::string& search, const std::string& workload) {
  const sluice::Scenario scenario = Cluster(static_cast<int>(state.range(0)), search, workload);
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  for (auto _ : state) {
    const auto result = sluice::Simulate(scenario, {.seed = 1});
    if (!result) {
      state.SkipWithError(result.error().message.c_str());
      return;
    }
    events += result->events;
    decisions += result->decisions.plans;
  }
  state.SetItemsProcessed(events);
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(state.iterations());
  state.counters["plans"] =
      static_cast<double>(decisions) / static_cast<double>(state.iterations());
}

void Fifo(benchmark::State& state) { Simulate(state, "budget: {max: 27}", ""); }
void FifoAsha(benchmark::State& state) {
  Simulate(state, "stopper: asha\n    budget: {min: 1, max: 27}", "");
}
void FifoPausing(benchmark::State& state) {
  Simulate(state, "stopper: asha-promotion\n    budget: {min: 1, max: 27}",
           ", start_up: 9s, save: 2s, restore: 2s, checkpoint: 10kB");
}

BENCHMARK(Fifo)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(FifoAsha)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(FifoPausing)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
