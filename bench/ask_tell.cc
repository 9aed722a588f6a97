// Lets another program use a sampler: it reads JSON lines (<) and answers with JSON lines (>).
//
//   ask_tell SAMPLER SEED
//   < {"space": {...}, "constraints": [...]}     the first line: keys as in a study file
//   < {"ask": 1}                                 > {"trial": 1, "params": {...}}
//   < {"tell": 1, "loss": 0.5}
//
// Or it measures a sampler. It prints the milliseconds of CPU time that one proposal and its result
// take after N trials with D parameters, which are floats:
//
//   ask_tell SAMPLER SEED --speed N D

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "config/config.h"
#include "search/sampler.h"
#include "space/space_reader.h"

using namespace sluice;
using Json = nlohmann::ordered_json;

namespace {

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Result<Space> SpaceOf(const Json& message) {
  const auto file = ConfigFile::Parse(message["space"].dump(), "space");
  if (!file) return std::unexpected(file.error());
  const auto space = ReadSpace(file->root(), {});
  SLUICE_TRY(file->Check());
  return Space::Make(space->parameters(), message["constraints"].get<std::vector<std::string>>());
}

int Serve(const std::string& name, std::uint64_t seed) {
  std::string line;
  std::getline(std::cin, line);
  const auto space = SpaceOf(Json::parse(line));
  if (!space) return std::cerr << space.error().message << "\n", 1;
  auto sampler = MakeSampler({.name = name}, *space, seed);
  if (!sampler) return std::cerr << sampler.error().message << "\n", 1;
  std::map<std::uint32_t, Point> points;
  std::uint32_t trial = 0;
  while (std::getline(std::cin, line)) {
    const Json message = Json::parse(line);
    if (message.contains("ask")) {
      const auto point = (*sampler)->Propose(trial);
      if (!point) return std::cerr << "exhausted\n", 1;
      points[++trial] = *point;
      (*sampler)->Observe({.trial = TrialId(trial), .point = *point, .value = NAN});
      std::cout << Json{{"trial", trial}, {"params", Json::parse(space->Encode(*point))}}.dump()
                << std::endl;
    } else {
      const auto told = message["tell"].get<std::uint32_t>();
      (*sampler)->Observe({.trial = TrialId(told),
                           .point = points.at(told),
                           .outcome = Outcome::kComplete,
                           .work = 1,
                           .value = message["loss"].get<double>()});
    }
  }
  return 0;
}

double Loss(const Point& point) {
  double sum = 0;
  for (const double x : point) sum += (x - 0.5) * (x - 0.5);
  return sum;
}

int Speed(const std::string& name, std::uint64_t seed, std::uint32_t trials, int axes) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < axes; ++i)
    parameters.push_back({.name = fmt::format("x{}", i), .low = 0, .high = 1});
  const Space space = Space::Make(parameters).value();
  const auto sampler = MakeSampler({.name = name}, space, seed).value();
  Random random(seed);
  for (std::uint32_t trial = 1; trial <= trials; ++trial) {
    std::vector<double> unit(space.size());
    for (double& coordinate : unit) coordinate = random.Uniform();
    const Point point = space.FromUnit(unit);
    sampler->Observe({.trial = TrialId(trial),
                      .point = point,
                      .outcome = Outcome::kComplete,
                      .work = 1,
                      .value = Loss(point)});
  }
  constexpr std::uint32_t kTimes = 100;
  const double start_s = CpuSeconds();
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    const Point point = sampler->Propose(trials + i).value();
    const auto trial = TrialId(trials + i + 1);
    sampler->Observe({.trial = trial, .point = point, .value = NAN});
    sampler->Observe({.trial = trial,
                      .point = point,
                      .outcome = Outcome::kComplete,
                      .work = 1,
                      .value = Loss(point)});
  }
  fmt::print("{:.6f}\n", (CpuSeconds() - start_s) / kTimes * 1e3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  SLUICE_CHECK(argc >= 3, "ask_tell SAMPLER SEED [--speed N D]");
  const std::string name = argv[1];
  const auto seed = std::stoull(argv[2]);
  if (argc == 6) {
    return Speed(name, seed, static_cast<std::uint32_t>(std::stoul(argv[4])), std::stoi(argv[5]));
  }
  return Serve(name, seed);
}
