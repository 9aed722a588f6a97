// Lets another program use the simulator with learning curves of its own. It reads JSON lines (<)
// and answers with JSON lines (>), one study after another until the input ends.
//
//   < {"scenario": "nodes: ...", "seed": 1, "epochs": 1040}  a scenario of one study, as in a file
//   > {"trial": 1, "params": {...}}                          for each trial, at its first report
//   < [0.9, 0.7, ...]                                        its reports after 1, 2, ... epochs
//   > {"bests": [[1, 1, 1], [2, 1, 2], ...], "trials": 40}   at the end
//
// The objective is to be minimized. Each entry of "bests" stands for a report that was better than
// all earlier ones: [epochs of all trials so far, trial, epochs of that trial]. A study ends when
// its trials have done "epochs" epochs together.

#include <fmt/format.h>

#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

using namespace sluice;
using Json = nlohmann::ordered_json;

namespace {

// The value that is reported once the epochs are spent. The study's `stop_at` is this value too, so
// the study ends.
constexpr double kEnough = -1e300;

class Player {
 public:
  Player(const Space& space, std::int64_t epochs) : space_(space), epochs_(epochs) {}

  double Report(TrialId trial, const Point& point, Work work) {
    if (++spent_ > epochs_) return kEnough;
    const auto [curve, fresh] = curves_.try_emplace(trial);
    if (fresh) curve->second = Ask(trial, point);
    const double value = curve->second.at(static_cast<std::size_t>(work - 1));
    if (value < best_) {
      best_ = value;
      bests_.push_back({spent_, Number(trial), work});
    }
    return value;
  }

  Json Answer() const { return {{"bests", bests_}, {"trials", curves_.size()}}; }

 private:
  std::vector<double> Ask(TrialId trial, const Point& point) const {
    const Json asked = {{"trial", Number(trial)}, {"params", Json::parse(space_.Encode(point))}};
    std::cout << asked.dump() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    return Json::parse(line).get<std::vector<double>>();
  }

  const Space& space_;
  std::int64_t epochs_;
  std::int64_t spent_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  std::map<TrialId, std::vector<double>> curves_;
  Json bests_ = Json::array();
};

Result<Json> Play(const Json& asked) {
  SLUICE_ASSIGN(Scenario scenario,
                ReadScenario(asked["scenario"].get<std::string>(), "scenario", "search"));
  StudySpec& spec = scenario.studies.front().spec;
  spec.stop_at = {{.metric = spec.objective.metric, .threshold = kEnough}};
  Player player(spec.space, asked["epochs"].get<std::int64_t>());
  SimulationOptions options;
  options.seed = asked["seed"].get<std::uint64_t>();
  options.value = [&](TrialKey key, const Point& point, Work work) {
    return player.Report(key.trial, point, work);
  };
  SLUICE_TRY(Simulate(scenario, options));
  return player.Answer();
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const Result<Json> answer = Play(Json::parse(line));
    if (!answer) {
      fmt::print(stderr, "play_search: {}\n", answer.error().message);
      return 1;
    }
    std::cout << answer->dump() << std::endl;
  }
  return 0;
}
