// Runs worlds with faults (rig/fault_world.h). Prints the first seed that finds a problem.
//
//   sluice-faults [--seed FIRST] [--seeds N] [--events N] [--bundles | --several] [--digests]
//                 [--sights] [--no-unwinding]
//   sluice-faults --plant NAME ... | --plants      (in a build with planted bugs)
//
// --plants lists the bugs, each with the option that a hunt for it needs.

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/planted.h"
#include "rig/fault_world.h"

namespace {

struct Arguments {
  std::uint64_t seed = 0;
  std::uint64_t seeds = 100;
  std::uint64_t events = 5000;
  bool bundles = false;
  bool several = false;
  bool digests = false;
  bool unwinds = true;
  bool sights = false;
  bool list_plants = false;
  std::string plant;
};

int Usage() {
  fmt::print(stderr,
             "usage: sluice-faults [--seed FIRST] [--seeds N] [--events N] [--bundles | --several] "
             "[--digests] "
             "[--sights] [--no-unwinding] [--plant NAME | --plants]\n");
  return 2;
}

bool ReadArguments(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--bundles") {
      arguments.bundles = true;
    } else if (word == "--several") {
      arguments.several = true;
    } else if (word == "--digests") {
      arguments.digests = true;
    } else if (word == "--no-unwinding") {
      arguments.unwinds = false;
    } else if (word == "--sights") {
      arguments.sights = true;
    } else if (word == "--plants") {
      arguments.list_plants = true;
    } else if (i + 1 == argc) {
      return false;
    } else if (word == "--plant") {
      arguments.plant = argv[++i];
    } else {
      std::uint64_t* const number = word == "--seed"     ? &arguments.seed
                                    : word == "--seeds"  ? &arguments.seeds
                                    : word == "--events" ? &arguments.events
                                                         : nullptr;
      if (number == nullptr) return false;
      const std::string_view value = argv[++i];
      const char* const end = value.data() + value.size();
      if (std::from_chars(value.data(), end, *number).ptr != end) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!ReadArguments(argc, argv, arguments)) return Usage();
#ifdef SLUICE_PLANTED_BUGS
  if (arguments.list_plants) {
    for (const sluice::PlantedBug& bug : sluice::PlantedBugs())
      fmt::print("{}{}\n", bug.name, bug.several ? " --several" : "");
    return 0;
  }
  sluice::PlantBug(arguments.plant);
#else
  if (arguments.list_plants || !arguments.plant.empty()) {
    fmt::print(stderr, "this build has no planted bugs: configure with SLUICE_PLANTED_BUGS=ON\n");
    return 2;
  }
#endif
  std::map<std::string, int> sights;
  std::uint64_t events = 0;
  for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    const auto outcome = sluice::FaultWorld({.seed = seed,
                                             .events = arguments.events,
                                             .bundles = arguments.bundles,
                                             .several = arguments.several,
                                             .unwinds = arguments.unwinds})
                             .Run();
    events += outcome.events;
    if (arguments.digests) fmt::print("{} {:016x}\n", seed, outcome.digest);
    for (const auto& [sight, times] : outcome.sights) sights[sight] += times;
    if (outcome.problem.empty()) continue;
    fmt::print("seed {}: {} (after {} events)\n{}again: sluice-faults --seed {} --seeds 1{}{}\n",
               seed, outcome.problem, outcome.events, outcome.state, seed,
               arguments.events == 5000 ? "" : fmt::format(" --events {}", arguments.events),
               std::string(arguments.bundles ? " --bundles" : "") +
                   (arguments.several ? " --several" : "") +
                   (arguments.unwinds ? "" : " --no-unwinding") +
                   (arguments.plant.empty() ? "" : " --plant " + arguments.plant));
    return 1;
  }
  if (arguments.sights) {
    for (const auto& [sight, times] : sights) fmt::print("{:>9} {}\n", times, sight);
  }
  if (!arguments.digests)
    fmt::print("{} seeds, {} events: nothing found\n", arguments.seeds, events);
  return 0;
}
