#include "sim/work_bound.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "cluster/width.h"
#include "policy/confluence/elastic_bound.h"
#include "policy/solve/packing_bound.h"
#include "search/sampler.h"

// The bounds of policy/solve/packing_bound.h and policy/confluence/elastic_bound.h are for jobs
// that are all there from the beginning. They are bounds of a run for these reasons:
//
// - A trial with a given share or width is fastest when it is alone on its devices. Neighbours only
//   slow it down. Neighbours that want more bandwidth than there is get no more than there is.
// - The trials of a study differ by a factor, their pace, which is the same on all devices. So a
//   study counts as a number of jobs, all as long as its longest trial, with the same total work.
//   The number need not be whole.
// - Studies that arrive at a time T or later do not begin before T. So T plus the bound of these
//   studies alone is a bound of the run.

namespace sluice {
namespace {

struct Played {
  const ScenarioStudy* study = nullptr;
  const StudyResult* fared = nullptr;

  const Demand& demand() const { return study->spec.demand; }
};

// Whether each trial ends the same way, in whatever order the trials run.
bool IsSettled(const StudySpec& spec) {
  if (spec.stopper.name == "none") return true;
  const bool synchronous = spec.stopper.name == "sha" || spec.stopper.name == "hyperband";
  return synchronous && !Learns(spec.sampler.name);
}

bool HasFixedWork(const Played& played) {
  const StudySpec& spec = played.study->spec;
  const int failed = played.fared->counts[static_cast<std::size_t>(TrialState::kFailed)];
  return spec.stop_at.empty() && !spec.deadline_after && spec.transfer.empty() && IsSettled(spec) &&
         failed == 0 && std::ssize(played.fared->trials) == spec.trials;
}

// Units of work, converted to those of a trial with a pace of 1.
double UnitsOf(const TrialResult& trial) { return static_cast<double>(trial.work) / trial.pace; }

BoundProblem RoomOf(const std::vector<Node>& nodes, std::vector<std::string>& kinds) {
  BoundProblem room;
  for (const Node& node : nodes) {
    room.cpus += node.cpus;
    for (const Device& device : node.devices) {
      std::size_t k = 0;
      while (k < kinds.size() &&
             (kinds[k] != device.kind || room.kinds[k].memory_bytes != device.memory_bytes))
        ++k;
      if (k == kinds.size()) {
        kinds.push_back(device.kind);
        room.kinds.push_back({.memory_bytes = device.memory_bytes, .clients = kMostClients});
      }
      ++room.kinds[k].devices;
    }
  }
  return room;
}

// The bound of trials that run on one device or a share of it.
double PackedSeconds(const std::vector<Node>& nodes, const std::vector<Played>& all) {
  std::vector<std::string> kinds;
  BoundProblem problem = RoomOf(nodes, kinds);
  for (const Played& played : all) {
    double units = 0;
    double longest = 0;
    for (const TrialResult& trial : played.fared->trials) {
      units += UnitsOf(trial);
      longest = std::max(longest, UnitsOf(trial));
    }
    if (longest == 0) continue;
    const WorkloadSpec& work = played.study->workload;
    const TrueSpeed speed(work);
    BoundClass& made = problem.classes.emplace_back(BoundClass{.jobs = units / longest,
                                                               .memory_bytes = work.memory_bytes,
                                                               .cpus = played.demand().cpus,
                                                               .on_kinds = {}});
    for (const std::string& kind : kinds) {
      const Milli share = NeedOn(played.demand(), kind).gpus;
      const double width = static_cast<double>(share) / kWhole;
      made.on_kinds.push_back({.seconds = longest / speed.Of({.kind = kind, .width = width}),
                               .share = share,
                               .bandwidth = static_cast<Milli>(work.bandwidth * kWhole)});
    }
  }
  return PackingBound(problem);
}

// What elastic trials must have in common to have a bound.
struct ElasticKind {
  std::string device;  // empty: cores
  Milli least = 0;
  Milli most = 0;
  std::vector<SpeedTable::Knot> speeds = {};  // relative to one device
  friend bool operator==(const ElasticKind&, const ElasticKind&) = default;
};

// The corners of the curve of speeds over widths. A share of a device is as good as the whole
// device if it is at least the part that the trial keeps busy.
std::vector<SpeedTable::Knot> SpeedsOf(const TrueSpeed& speed, const std::string& device,
                                       double least) {
  const double first = device.empty() ? 0 : 1;
  std::set<double> widths{std::max(least, first)};
  if (!device.empty()) widths.insert(std::max(least, speed.Busy(device, 1)));
  for (const SpeedTable::Knot& knot : speed.workload().widths.knots())
    if (knot.x > std::max(least, first)) widths.insert(knot.x);
  std::vector<SpeedTable::Knot> knots;
  double quickest = 0;
  for (const double width : widths) {
    quickest =
        std::max(quickest, speed.Of({.kind = device, .width = width}) / speed.Of({.kind = device}));
    knots.push_back({.x = width, .speed_up = quickest});
  }
  return knots;
}

std::optional<double> ElasticSeconds(const std::vector<Node>& nodes,
                                     const std::vector<Played>& all) {
  Cluster cluster;
  cluster.SetNodes(nodes);
  std::set<std::string> devices;
  for (const Node& node : nodes)
    for (const Device& device : node.devices) devices.insert(device.kind);
  std::optional<ElasticKind> kind;
  std::vector<double> alone_s;  // how long each trial takes on one device
  for (const Played& played : all) {
    const Demand& demand = played.demand();
    if (demand.gpus > 0 && devices.size() != 1) return std::nullopt;
    const TrueSpeed speed(played.study->workload);
    ElasticKind own{.device = demand.gpus > 0 ? *devices.begin() : "",
                    .least = demand.least,
                    .most = demand.most};
    own.speeds = SpeedsOf(speed, own.device, static_cast<double>(demand.least) / kWhole);
    if (kind && *kind != own) return std::nullopt;
    kind = std::move(own);
    for (const TrialResult& trial : played.fared->trials)
      alone_s.push_back(UnitsOf(trial) / speed.Of({.kind = kind->device}));
  }
  const auto speeds = SpeedTable::Make(kind->speeds);
  if (!speeds) return std::nullopt;
  const Demand& demand = all.front().demand();
  return ElasticBound(alone_s, *speeds,
                      {.devices = static_cast<double>(TotalWidth(cluster, demand)) / kWhole,
                       .most_width = static_cast<double>(WidestFit(cluster, demand)) / kWhole});
}

// The bound if all studies arrived at the beginning.
std::optional<double> SecondsOf(const std::vector<Node>& nodes, const std::vector<Played>& all) {
  const auto is_elastic = [](const Played& played) { return played.demand().most > 0; };
  const auto is_packed = [&](const Played& played) {
    const Milli gpus = played.demand().gpus;
    return !is_elastic(played) && gpus > 0 && gpus <= kWhole;
  };
  if (std::ranges::all_of(all, is_packed)) return PackedSeconds(nodes, all);
  if (std::ranges::all_of(all, is_elastic)) return ElasticSeconds(nodes, all);
  return std::nullopt;
}

}  // namespace

std::optional<Bound> WorkBound(const Scenario& scenario, const SimulationResult& result) {
  if (!scenario.failures.empty() || !scenario.lenders.empty()) return std::nullopt;
  std::vector<Played> all;
  std::set<Time> arrivals;
  for (std::size_t i = 0; i < scenario.studies.size(); ++i) {
    const Played& played =
        all.emplace_back(Played{.study = &scenario.studies[i], .fared = &result.studies[i]});
    if (!HasFixedWork(played) || played.demand().fused_most > 1) return std::nullopt;
    arrivals.insert(played.fared->arrived);
  }
  Bound bound;
  for (const Time arrival : arrivals) {
    std::vector<Played> later;
    for (const Played& played : all)
      if (played.fared->arrived >= arrival) later.push_back(played);
    const auto seconds = SecondsOf(scenario.nodes, later);
    if (!seconds || !std::isfinite(*seconds)) return std::nullopt;
    bound.seconds = std::max(bound.seconds, Seconds(arrival - *arrivals.begin()) + *seconds);
  }
  Digest work;
  for (const Played& played : all) {
    work.Add(played.fared->name);
    for (const TrialResult& trial : played.fared->trials) work.Add(trial.work);
  }
  bound.work = work.Value();
  return bound;
}

}  // namespace sluice
