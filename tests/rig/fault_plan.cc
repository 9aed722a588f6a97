#include "rig/fault_plan.h"

#include <array>
#include <cmath>

namespace sluice {
namespace {

// A fault exists in half of the worlds. In these its rate is drawn from two orders of magnitude.
double DrawChance(Random& random, double most) {
  if (random.Chance(0.5)) return 0;
  return most * std::pow(0.01, random.Uniform());
}

Duration DrawMean(Random& random, double least_seconds) {
  if (random.Chance(0.5)) return Duration(0);
  return Duration(
      static_cast<std::int64_t>(least_seconds * std::pow(20.0, random.Uniform()) * 1e6));
}

}  // namespace

Theme DrawTheme(Random random) {
  if (!random.Chance(0.25)) return Theme::kNone;
  constexpr std::array kThemes = {Theme::kCrowds, Theme::kCopies, Theme::kDeadlines, Theme::kDisks};
  return kThemes[random.Below(kThemes.size())];
}

FaultPlan DrawFaults(Random random, Theme theme) {
  FaultPlan plan;
  plan.crash = DrawChance(random, 0.02);
  plan.hang = DrawChance(random, 0.01);
  plan.slow = DrawChance(random, 0.01);
  plan.lie = DrawChance(random, 0.05);
  plan.spawn_fails = DrawChance(random, 0.05);
  plan.stillborn = DrawChance(random, 0.05);
  plan.cut = DrawChance(random, 0.05);
  plan.latency = Duration(static_cast<std::int64_t>(1000 * std::pow(1000.0, random.Uniform())));
  plan.node_loss = DrawMean(random, 20);
  plan.controller_crash = DrawMean(random, 10);
  plan.power_cut = DrawMean(random, 20);
  plan.disk_full = DrawMean(random, 20);
  plan.disk_error = DrawMean(random, 20);
  plan.clock_jump = DrawMean(random, 10);
  plan.user = DrawMean(random, 5);
  plan.stranger = DrawMean(random, 5);
  plan.suspend = DrawMean(random, 30);
  plan.exec = DrawChance(random, 0.02);
  plan.copy = Duration(static_cast<std::int64_t>(1000 * std::pow(10'000.0, random.Uniform())));
  plan.deaf = DrawChance(random, 0.05);
  plan.shrink = DrawChance(random, 0.05);
  // These change a world a lot, so they exist in fewer worlds.
  Random rare = random.Fork("rare");
  if (rare.Chance(0.2)) plan.misnames = 0.05;
  if (rare.Chance(0.2)) plan.unlike = 0.3;
  if (rare.Chance(0.2)) plan.breakage = std::chrono::seconds(60);
  if (rare.Chance(0.3)) plan.edit = 0.3;
  if (rare.Chance(0.3)) plan.offline = 0.3;
  if (plan.shrink > 0) plan.refuse = 0.3;
  if (theme == Theme::kCrowds) {
    plan.lie = 0.02;
    plan.deaf = 0.02;
    plan.shrink = 0.02;
  }
  if (theme == Theme::kCopies) {
    plan.user = std::chrono::seconds(10);
    plan.copy = std::chrono::seconds(10);
  }
  if (theme == Theme::kDisks) plan.disk_error = std::chrono::seconds(5);
  if (theme == Theme::kDeadlines) plan.latency = std::chrono::milliseconds(500);
  return plan;
}

}  // namespace sluice
