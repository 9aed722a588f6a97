#include "rig/fault_tenant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "engine/read/study_reader.h"
#include "rig/fault_study.h"

namespace sluice {
namespace {

std::vector<Node> DrawNodes(Random& drawn, bool is_small) {
  std::vector<Node> nodes;
  for (std::uint64_t left = is_small ? 1 : 1 + drawn.Below(3); left > 0; --left) {
    Node node{.name = fmt::format("node{}", left),
              .cpus = static_cast<Milli>(2 + drawn.Below(6)) * kWhole,
              .devices = {}};
    for (std::uint64_t gpu = 0; gpu < (is_small ? 1 : 1 + drawn.Below(4)); ++gpu) {
      node.devices.push_back({.uuid = fmt::format("{}-{}", node.name, gpu),
                              .kind = "A100",
                              .memory_bytes = std::int64_t{40} << 30});
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// What does not depend on the nodes.
ProgramTraits DrawProgram(Random& drawn, const StudySpec& spec, bool bundles, Theme theme) {
  ProgramTraits program;
  program.study = spec.name;
  program.speaks = drawn.Chance(0.8) || bundles || theme == Theme::kDeadlines;
  program.reuse = program.speaks && drawn.Chance(0.5);
  program.hasty = program.reuse && drawn.Chance(0.2);
  program.stubborn = drawn.Chance(0.1);
  program.endless = !program.speaks && drawn.Chance(0.3);
  program.save = drawn.Uniform();
  program.own_end =
      static_cast<Work>(theme == Theme::kDeadlines ? 3 + drawn.Below(5) : 10 + drawn.Below(40));
  program.step = Duration(static_cast<std::int64_t>(50'000 * std::pow(8.0, drawn.Uniform())));
  program.grace = spec.timeouts.grace;
  program.has_timeout = spec.timeouts.report.count() > 0 || spec.timeouts.trial.count() > 0;
  return program;
}

}  // namespace

std::unique_ptr<FaultTenant> DrawTenant(const TenantDraws& draws, Timeline& timeline,
                                        std::vector<Node>& nodes, Duration& sync) {
  auto tenant = std::make_unique<FaultTenant>();
  const Theme theme = draws.theme;
  const bool bundles = draws.bundles || theme == Theme::kCrowds;
  StudyCreated& created = tenant->created;
  created = {.study = draws.id, .source = "", .folder = "/", .seed = draws.seed, .spec = {}};
  created.source = DrawStudy(draws.random.Fork("study"), bundles, theme) + draws.more;
  auto spec = ReadStudy(created.source, draws.name, draws.name);
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  created.spec = *std::move(spec);
  Random drawn = draws.random.Fork("machines");
  FaultPlan faults = DrawFaults(draws.random.Fork("faults"), theme);
  const bool coarse = drawn.Chance(0.3);
  ProgramTraits program = DrawProgram(drawn, created.spec, bundles, theme);
  // One small machine, for which all trials of a crowd wait.
  std::vector<Node> own_nodes = DrawNodes(drawn, theme == Theme::kCrowds);
  if (nodes.empty()) nodes = std::move(own_nodes);
  // A separate stream, so that the other draws stay as they were.
  Random programs = draws.random.Fork("programs");
  program.polite = draws.random.Fork("polite").Chance(theme == Theme::kCrowds ? 0.8 : 0.3);
  program.counts = programs.Chance(0.8) || bundles;
  program.careless = programs.Chance(0.2);
  // Otherwise a process would rarely count from 1 after another process of its launch.
  if (program.speaks && !program.counts) faults.exec = std::max(faults.exec, 0.01);
  if (programs.Chance(0.1)) program.every = static_cast<Work>(2 + programs.Below(4));
  const int most = created.spec.demand.fused_most;
  if (program.speaks && program.counts && most > 1 && (programs.Chance(0.8) || bundles)) {
    program.reuse = true;
    program.capacity = static_cast<int>(2 + programs.Below(4));
    program.several_shapes = programs.Chance(0.5);
    if (most > 7) program.capacity = most;
  }
  program.misnames = faults.misnames > 0;
  tenant->truthful = faults.lie == 0 && !program.misnames;
  tenant->ground = std::make_unique<FaultGround>(FaultGround::Options{.timeline = timeline,
                                                                      .random = draws.ground,
                                                                      .faults = faults,
                                                                      .program = program,
                                                                      .nodes = nodes,
                                                                      .coarse = coarse});
  sync = Duration(static_cast<std::int64_t>(20'000 * std::pow(100.0, drawn.Uniform())));
  if (theme == Theme::kDeadlines) sync = std::chrono::seconds(2);
  return tenant;
}

}  // namespace sluice
