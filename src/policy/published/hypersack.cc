#include "policy/published/hypersack.h"

#include <algorithm>
#include <limits>

#include "cluster/width.h"
#include "policy/solve/assignment_problem.h"

namespace sluice {
namespace {

// A trial starves once it has waited this many times as long as the longest queued trial takes, and
// for this many seconds at least. While it starves, a device may be kept free for it. With less
// patience more of the devices stay idle. With more patience big trials end later. Guesses: not
// measured.
constexpr double kPatience = 2;
constexpr double kLeastPatienceSeconds = 60;
// `optimal`: how much more the longest trial is worth than a short one of the same share. It must
// not outweigh a difference in the compute in use. A guess: not measured.
constexpr double kLongerIsBetter = 0.01;
// `optimal`: the most that counts where there is no other limit, so that numbers stay finite. No
// node has so many devices, and no budget so many units.
constexpr std::size_t kMostDevicesOfNode = 64;
constexpr Work kMostUnits = 1'000'000'000;

// Whether a trial runs on a share of one device, or on one whole device.
bool IsLight(const Demand& demand) {
  return demand.gpus > 0 && (demand.gpus <= kWhole || demand.kinds != nullptr);
}

}  // namespace

Amounts HyperSack::RoomOn(NodeId node, DeviceId device) const {
  const DeviceUse& used = free_.Used(node)[Number(device)];
  return {.share = kWhole - used.share,
          .bandwidth = kWhole - used.bandwidth,
          .memory_bytes = free_.node(node).devices[Number(device)].memory_bytes - used.memory_bytes,
          .clients = kMostClients - used.clients,
          .cpus = free_.FreeCpus(node)};
}

void HyperSack::TakeStock(const Cluster& cluster) {
  free_ = cluster;
  const std::vector<Node>& nodes = cluster.nodes();
  for (Kind& kind : kinds_) kind.name = {}, kind.devices.clear();
  spots_.resize(nodes.size());
  std::size_t known = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    spots_[n].clear();
    if (!nodes[n].up) continue;
    for (std::uint32_t d = 0; d < nodes[n].devices.size(); ++d) {
      const std::string& name = nodes[n].devices[d].kind;
      if (!nodes[n].devices[d].IsOwn()) {
        spots_[n].push_back({});
        continue;
      }
      std::size_t kind = 0;
      while (kind < known && kinds_[kind].name != name) ++kind;
      if (kind == known) {
        if (++known > kinds_.size()) kinds_.emplace_back();
        kinds_[kind].name = name;
      }
      spots_[n].push_back({kind, kinds_[kind].devices.size()});
      kinds_[kind].devices.emplace_back(NodeId(n + 1), DeviceId(d));
    }
  }
  kinds_.resize(known);
  for (Kind& kind : kinds_) {
    rooms_.clear();
    for (const auto& [node, device] : kind.devices) rooms_.push_back(RoomOn(node, device));
    kind.tree.Assign(rooms_);
  }
}

// Units of work per second. Without measurements of the shape, only ratios between kinds mean
// something. The speed on a whole device is then taken, because a share is assumed to be all that
// the trial can use of a device.
double HyperSack::SpeedOn(const WorkView& work, const StudyView& study, std::string_view kind,
                          Milli share) const {
  // With one kind and in queue order, only the patience of HelpStarving depends on speeds. It then
  // counts a unit of work as a second.
  if (kinds_.size() == 1 && !options_.longest_first) return 1;
  if (study.demand.gpus == 0) share = UsualWidth(study.demand), kind = {};
  SpeedSituation alone{
      .shape = std::string(study.shape), .kind = std::string(kind), .width = share};
  const SpeedEstimate known = work.speeds->Ask(alone);
  if (known.measured > 0) return known.work_per_second;
  alone.width = kWhole;
  return work.speeds->Prior(alone);
}

void HyperSack::Classify(const WorkView& work) {
  classes_.resize(work.studies.size());
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    Class& made = classes_[i];
    const StudyView& study = work.studies[i];
    made.study = &study;
    made.started = made.asked = 0;
    made.shortest_s = std::numeric_limits<double>::infinity();
    made.full = made.lacks_memory = false;
    made.size = 0;
    made.needs.clear();
    made.speeds.clear();
    double quickest = 0;
    for (const Kind& kind : kinds_) {
      const DeviceNeed need = NeedOn(study.demand, kind.name);
      made.needs.push_back({.share = need.gpus,
                            .bandwidth = need.bandwidth,
                            .memory_bytes = study.demand.memory_bytes,
                            .clients = 1,
                            .cpus = study.demand.cpus});
      made.size = std::max(made.size, need.gpus);
      const double speed = SpeedOn(work, study, kind.name, need.gpus);
      made.speeds.push_back(speed);
      quickest = std::max(quickest, speed);
    }
    made.seconds_per_unit = quickest > 0 ? 1 / quickest : 1;
  }
}

void HyperSack::Queue(const WorkView& work) {
  queue_.clear();
  const auto seconds = [&](std::size_t of, Work left) {
    if (left >= kNoLimit) return std::numeric_limits<double>::infinity();
    return static_cast<double>(left) * classes_[of].seconds_per_unit;
  };
  std::size_t of = 0;
  for (const WorkItem& item : work.items) {
    if (item.running) continue;
    // The class is usually that of the item before, or the next class.
    while (classes_[of].study->study != item.trial.study) of = (of + 1) % classes_.size();
    const Work left =
        item.target == kNoLimit ? kNoLimit : std::max<Work>(item.target - item.done, 0);
    const double takes_s = seconds(of, left);
    classes_[of].shortest_s = std::min(classes_[of].shortest_s, takes_s);
    if (!queue_.empty() && queue_.back().of == of && queue_.back().seconds == takes_s) {
      ++queue_.back().count;
      continue;
    }
    queue_.push_back({.seconds = takes_s,
                      .size = classes_[of].size,
                      .of = static_cast<std::uint32_t>(of),
                      .item = &item});
  }
  for (std::size_t i = 0; i < work.studies.size(); ++i) {
    const StudyView& study = work.studies[i];
    if (!study.open) continue;
    Entry entry{.size = classes_[i].size, .of = static_cast<std::uint32_t>(i), .item = nullptr};
    // A trial still to be proposed never delays a waiting trial of its own study.
    entry.seconds = std::min(seconds(i, study.max_budget), classes_[i].shortest_s);
    entry.count = study.left + study.coming;
    if (entry.count > 0) queue_.push_back(entry);
    if (study.left > 0) continue;
    // The study may still resume trials. Whether it does is known only once it has room. With
    // longest_first these trials come last.
    entry.seconds = -1;
    entry.count = std::numeric_limits<int>::max();
    queue_.push_back(entry);
  }
  if (!options_.longest_first) return;
  std::ranges::stable_sort(queue_, [](const Entry& a, const Entry& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.size > b.size;
  });
}

HyperSack::Spot HyperSack::FindSpot(const Class& trials) const {
  Spot best;
  double most = -1;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    const Amounts& need = trials.needs[k];
    const std::size_t device =
        options_.worst_fit ? kind.tree.Roomiest(need) : kind.tree.First(need);
    if (device == DeviceTree::kNone) continue;
    if (options_.worst_fit) {
      const double free = static_cast<double>(kind.tree.at(device).share) * trials.speeds[k];
      if (free <= most) continue;
      most = free;
    } else if (best.device != DeviceTree::kNone &&
               kinds_[best.kind].devices[best.device] < kind.devices[device]) {
      continue;
    }
    best = {k, device};
  }
  return best;
}

Grant HyperSack::Find(const Class& trials) const {
  const Demand& demand = trials.study->demand;
  if (!IsLight(demand)) return FirstFit(free_, demand);
  const Spot spot = FindSpot(trials);
  return spot.device == DeviceTree::kNone ? Grant{} : GrantAt(trials, spot);
}

Grant HyperSack::GrantAt(const Class& trials, const Spot& spot) const {
  const auto& [node, device] = kinds_[spot.kind].devices[spot.device];
  const Amounts& need = trials.needs[spot.kind];
  return {.node = node,
          .cpus = need.cpus,
          .gpu_share = need.share,
          .bandwidth = need.bandwidth,
          .memory_bytes = need.memory_bytes,
          .devices = {device}};
}

void HyperSack::Take(const Grant& grant) {
  free_.Take(grant);
  const auto& devices = spots_[Number(grant.node) - 1];
  for (std::uint32_t d = 0; d < devices.size(); ++d) {
    if (devices[d].device == DeviceTree::kNone) continue;  // lent
    DeviceTree& tree = kinds_[devices[d].kind].tree;
    // A reserved device stays reserved.
    if (tree.at(devices[d].device).clients >= 0)
      tree.Set(devices[d].device, RoomOn(grant.node, DeviceId(d)));
  }
}

// Starts trial `number` of the entry. If the trial is still to be proposed, only takes the room.
void HyperSack::Start(const Entry& entry, int number, Grant grant, Plan& plan) {
  Class& trials = classes_[entry.of];
  Take(grant);
  ++trials.started;
  if (entry.item == nullptr) {
    ++trials.asked;
  } else {
    plan.placements.push_back({entry.item[number].trial, std::move(grant)});
  }
}

bool HyperSack::LacksMemory(const Class& trials) const {
  if (!IsLight(trials.study->demand) || trials.study->demand.memory_bytes == 0) return false;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    Amounts need = trials.needs[k];
    need.memory_bytes = 0;
    if (kinds_[k].tree.First(need) != DeviceTree::kNone) return true;
  }
  return false;
}

void HyperSack::Reserve(const Class& trials) {
  Spot best;
  std::int64_t most = -1;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t i = 0; i < kinds_[k].devices.size(); ++i) {
      const auto& [node, device] = kinds_[k].devices[i];
      const std::int64_t has = free_.node(node).devices[Number(device)].memory_bytes;
      const std::int64_t free = kinds_[k].tree.at(i).memory_bytes;
      if (has < trials.needs[k].memory_bytes || free <= most) continue;
      most = free;
      best = {k, i};
    }
  }
  if (best.device == DeviceTree::kNone) return;
  kinds_[best.kind].tree.Set(best.device, kNoRoom);
  const auto& [node, device] = kinds_[best.kind].devices[best.device];
  const Grant rest{.node = node, .gpu_share = free_.FreeShare(node, device), .devices = {device}};
  if (free_.Fits(rest)) free_.Take(rest);
}

bool HyperSack::HasSlot(const Class& trials) const {
  const StudyView& study = *trials.study;
  return study.parallelism == 0 || study.running + trials.started < study.parallelism;
}

// Places the trials with the highest total value. The value of a trial is its share of compute,
// times a factor from 1 to 1 + kLongerIsBetter that is larger for longer trials: the longest trial
// ends last whatever else is done.
void HyperSack::PlaceOptimally(Plan& plan) {
  double longest_s = 1;
  PackingProblem problem;
  problem.classes.resize(classes_.size());
  for (const Entry& entry : queue_) {
    const Class& trials = classes_[entry.of];
    if (!IsLight(trials.study->demand)) continue;
    const int slots = trials.study->parallelism == 0
                          ? std::numeric_limits<int>::max()
                          : std::max(0, trials.study->parallelism - trials.study->running);
    int& jobs = problem.classes[entry.of].jobs;
    // Jobs beyond what all devices can hold change nothing.
    const int most = kMostClients * static_cast<int>(spots_.size() * kMostDevicesOfNode);
    jobs = std::min({static_cast<int>(std::min<std::int64_t>(
                         static_cast<std::int64_t>(jobs) + entry.count, most)),
                     slots});
    if (entry.seconds < std::numeric_limits<double>::infinity())
      longest_s = std::max(longest_s, entry.seconds);
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Demand& demand = classes_[c].study->demand;
    problem.classes[c].memory_bytes = demand.memory_bytes;
    problem.classes[c].cpus = demand.cpus;
    const double seconds =
        classes_[c].seconds_per_unit *
        static_cast<double>(std::min<Work>(classes_[c].study->max_budget, kMostUnits));
    for (const Amounts& need : classes_[c].needs) {
      const double bonus = kLongerIsBetter * std::min(1.0, seconds / longest_s);
      problem.classes[c].on_kinds.push_back(
          {.share = need.share,
           .bandwidth = need.bandwidth,
           .value = static_cast<double>(need.share) * (1 + bonus)});
    }
  }
  std::vector<Spot> where;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t i = 0; i < kinds_[k].devices.size(); ++i) {
      const Amounts& room = kinds_[k].tree.at(i);
      where.push_back({k, i});
      problem.bins.push_back({.kind = k,
                              .node = Number(kinds_[k].devices[i].first) - 1,
                              .share = room.share,
                              .bandwidth = room.bandwidth,
                              .memory_bytes = room.memory_bytes,
                              .clients = static_cast<int>(room.clients)});
    }
  }
  for (std::uint32_t n = 1; n <= spots_.size(); ++n)
    problem.node_cpus.push_back(free_.FreeCpus(NodeId(n)));
  PackingSolution best = SolvePacking(problem, {});
  plan.unproven = best.proof != Proof::kOptimal;
  for (const Entry& entry : queue_) {
    const Class& trials = classes_[entry.of];
    if (!IsLight(trials.study->demand)) continue;
    int i = 0;
    for (std::size_t b = 0; b < where.size(); ++b) {
      for (int& left = best.jobs[entry.of][b]; left > 0 && i < entry.count; --left, ++i)
        Start(entry, i, GrantAt(trials, where[b]), plan);
    }
  }
}

Plan HyperSack::Propose(const Cluster& cluster, const WorkView& work, Time now) {
  TakeStock(cluster);
  Classify(work);
  Queue(work);
  Plan plan;
  plan.keeps_running = true;
  if (options_.optimal) {
    PlaceOptimally(plan);
    std::erase_if(queue_,
                  [&](const Entry& entry) { return IsLight(classes_[entry.of].study->demand); });
  }
  PlaceInTurn(plan, now);
  for (const Class& trials : classes_) {
    // A study that lacks memory is asked for one trial. This trial queues, so that its waiting time
    // is known.
    const bool queues = trials.lacks_memory && trials.study->open && trials.study->waiting == 0;
    const int asked = std::max(trials.asked, queues ? 1 : 0);
    if (asked > 0) plan.wanted_room.push_back({trials.study->study, asked});
  }
  return plan;
}

bool HyperSack::IsBig(const Class& trials) const {
  for (const Kind& kind : kinds_) {
    const auto& [node, device] = kind.devices.front();
    const auto has = static_cast<double>(free_.node(node).devices[Number(device)].memory_bytes);
    const double share = static_cast<double>(NeedOn(trials.study->demand, kind.name).gpus) / kWhole;
    if (static_cast<double>(trials.study->demand.memory_bytes) > share * has) return true;
  }
  return false;
}

// Considers trials that need a larger part of a device's memory than of its compute. Of these, the
// trial that has waited longest comes before all others, if it has waited longer than `patience_s`.
// If it lacks memory, a device is kept free for it.
void HyperSack::HelpStarving(Plan& plan, Time now, double patience_s) {
  Entry* starving = nullptr;
  for (Entry& entry : queue_) {
    const Class& trials = classes_[entry.of];
    if (entry.item == nullptr || !HasSlot(trials) ||
        Seconds(now - entry.item->since) <= patience_s || !IsLight(trials.study->demand) ||
        !IsBig(trials))
      continue;
    if (starving == nullptr || entry.item->since < starving->item->since) starving = &entry;
  }
  if (starving == nullptr) return;
  const Class& trials = classes_[starving->of];
  Grant grant = Find(trials);
  if (!IsSet(grant.node)) {
    if (LacksMemory(trials)) Reserve(trials);
    return;
  }
  Start(*starving, 0, std::move(grant), plan);
  ++starving->item;
  --starving->count;
}

void HyperSack::PlaceInTurn(Plan& plan, Time now) {
  double longest_s = 0;
  for (const Entry& entry : queue_) {
    if (entry.seconds < std::numeric_limits<double>::infinity())
      longest_s = std::max(longest_s, entry.seconds);
  }
  const double patience_s = std::max(kPatience * longest_s, kLeastPatienceSeconds);
  HelpStarving(plan, now, patience_s);
  for (const Entry& entry : queue_) {
    Class& trials = classes_[entry.of];
    for (int i = 0; i < entry.count && HasSlot(trials); ++i) {
      Grant grant = trials.full ? Grant{} : Find(trials);
      if (!IsSet(grant.node)) {
        if (!trials.full) trials.lacks_memory = LacksMemory(trials);
        trials.full = true;
        break;
      }
      Start(entry, i, std::move(grant), plan);
    }
  }
}

}  // namespace sluice
