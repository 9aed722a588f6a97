#include "policy/filling.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cluster/width.h"
#include "policy/set_search.h"

// The idea: a device is filled with the set of trials that is worth most, and a trial's worth is what it takes of the
// device (the largest part of any resource), times one plus what is left of it beside the longest. So devices are
// full first, and of sets that fill them equally well the one with the longest trials runs: those that would
// be left over at the end. Trials that go unheard because they take much memory and little else count by their
// memory, so they are not passed over for ever.
//
// Of several kinds of devices each is for those it suits: a trial that takes half as much of one kind as of another,
// where most take a third, is better left to the other. So its worth is cut by how far it is from the kind that
// suits it best, squared: a device of the wrong kind wastes on it, and keeps it from those that it would not waste. It is
// cut likewise where the trial is so slow that all else would have ended before it. What the linear program of the
// lower bound would say is much the same; this takes no program.
//
// Only where there is not room for all: neighbours slow each other down, so that those that all find room go where they
// are quickest, each to the device with most left.
//
// A trial that is judged on its way counts with all that it could still do, in a population with every change on the
// way too: most are stopped, but such chains are what is left over at the end. Within its study it counts to where it
// is judged next. The first trial of a study comes first: until it has run, nobody knows how long the others are.
//
// Where nothing is judged early, work is fixed, and what matters is that everything ends together: whoever has
// just reported makes room for one that has clearly more left, if that is worth saving it and starting it again. All
// such turns together save no more than the longest trial, which would else run alone at the end: the further off
// the end is, the fewer of them are worth their price. Where they cost nothing, HyperSack's spaces end 5 % after
// the lower bound on average and 15 % at most; where they are dear, they are left for the end. One that takes much of a
// device rarely finds a turn, since those beside it report at other times. A study that is over once a trial is good
// enough takes no turns: many that are half way are no use to it.
//
// Cost: for each device with room, or with a trial that has just reported, a search among sets, cut off by what the
// free share could be worth at most. Alternatives: HyperSack's heuristics, which place trial after trial and
// leave gaps that no order avoids; its integer program, which fills better and does not look ahead; play-outs of
// many orders, which take as many times as long. FindBestPattern answers the same question for trials that are worth the
// same each; it begins with a linear program, which is too slow for every report.

namespace sluice {
namespace {

enum Resource : std::uint8_t { kShare, kBandwidth, kMemory, kCpus, kClients };
constexpr double kTurns = 20;    // how often trials may take turns while all is worked off
constexpr double kOneTurn = 2;   // must bring that many times what it costs
constexpr double kAllTurns = 5;  // must bring that many times what they cost together
constexpr double kEndless = std::numeric_limits<double>::max();
constexpr double kLongestCounts = 4;  // of one without an end
constexpr std::int64_t kMany = 1 << 20;

double PriceOf(const StudyView& study) { return Seconds(study.start_up + study.leaving); }

bool IsWide(const Demand& demand) { return demand.gpus > kWhole && demand.kinds == nullptr; }

}  // namespace

Filling::Filling(Cluster& free, const WorkView& work, std::vector<const StudyView*> studies,
                 Time now)
    : free_(free), work_(work), now_(now) {
  ListSpots();
  Classify(std::move(studies));
}

void Filling::ListSpots() {
  kinds_.emplace_back();
  const std::vector<Node>& nodes = free_.nodes();
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].up) continue;
    spots_.push_back({.node = NodeId(n + 1), .device = -1, .kind = 0, .running = {}});
    for (std::uint32_t d = 0; d < nodes[n].devices.size(); ++d) {
      if (nodes[n].devices[d].IsLent()) continue;
      const std::string_view name = nodes[n].devices[d].kind;
      const auto known = std::ranges::find(kinds_.begin() + 1, kinds_.end(), name);
      const auto kind = static_cast<std::size_t>(known - kinds_.begin());
      if (known == kinds_.end()) kinds_.push_back(name);
      spots_.push_back(
          {.node = NodeId(n + 1), .device = static_cast<int>(d), .kind = kind, .running = {}});
    }
  }
}

Filling::Left Filling::LeftOf(const Class& trials, const WorkItem& item) const {
  if (item.target == kNoLimit) return {.next = kEndless, .all = kEndless};
  const StudyView& study = *trials.study;
  const auto seconds = [&](Work work) {
    return static_cast<double>(std::max<Work>(work, 0)) * trials.seconds_per_unit / item.pace;
  };
  const double next = seconds(item.target - item.done);
  if (!study.judged || study.max_budget <= item.target) return {.next = next, .all = next};
  const double all = seconds(study.max_budget - item.done);
  if (!study.all_go_on) return {.next = next, .all = all};
  const Work leg = std::max<Work>(item.target - item.done, 1);
  const auto changes = static_cast<double>((study.max_budget - item.target) / leg);
  return {.next = all + changes * PriceOf(study), .all = all + changes * PriceOf(study)};
}

void Filling::Classify(std::vector<const StudyView*> studies) {
  std::vector<double> quickness(kinds_.size(), 0);
  for (const StudyView* study : studies) {
    Class made;
    made.study = study;
    const bool on_cores = study->demand.gpus == 0;
    made.speeds.assign(kinds_.size(), 0);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      made.needs.push_back(NeedOn(study->demand, kinds_[k]));
      if (on_cores != (k == 0)) continue;
      SpeedSituation alone{.shape = std::string(study->shape),
                           .kind = std::string(kinds_[k]),
                           .width = on_cores ? UsualWidth(study->demand) : made.needs[k].gpus};
      SpeedEstimate known = work_.speeds->Ask(alone);
      // What a trial takes is what it can use: an unmeasured share does not slow it down.
      if (known.measured == 0 && !on_cores) {
        alone.width = std::max(kWhole, alone.width);
        known.work_per_second = work_.speeds->Prior(alone);
      }
      made.speeds[k] = known.work_per_second;
      made.unknown = made.unknown && known.measured == 0 && study->running == 0;
    }
    const double quickest = std::ranges::max(made.speeds);
    if (quickest > 0) {
      made.seconds_per_unit = 1 / quickest;
      for (std::size_t k = 0; k < kinds_.size(); ++k) quickness[k] += made.speeds[k] / quickest;
    }
    made.slots = study->parallelism == 0 ? static_cast<int>(kMany)
                                         : std::max(0, study->parallelism - study->running);
    classes_.push_back(std::move(made));
  }
  double area = 0;
  const auto owner = [&](const WorkItem& item) {
    return std::ranges::find_if(
        classes_, [&](const Class& trials) { return trials.study->study == item.trial.study; });
  };
  const auto count = [&](const Class& trials, const Left& left, double number) {
    if (left.all == kEndless) return;
    longest_ = std::max(longest_, left.all);
    const Demand& demand = trials.study->demand;
    Milli width = UsualWidth(demand);
    for (std::size_t k = 1; k < kinds_.size() && demand.kinds != nullptr; ++k)
      width = std::min(width, trials.needs[k].gpus);
    area += left.next * number * static_cast<double>(width);
  };
  for (const WorkItem& item : work_.items) {
    const auto trials = owner(item);
    if (trials == classes_.end()) continue;
    const Left left = LeftOf(*trials, item);
    count(*trials, left, 1);
    if (!item.running) {
      trials->waiting.push_back({left, &item});
      continue;
    }
    // Not where a node has shrunk under it.
    if (!free_.Fits(*item.grant)) continue;
    free_.Take(*item.grant);
    if (item.grant->devices.size() != 1 && trials->study->demand.gpus > 0) continue;
    for (Spot& spot : spots_) {
      const int device =
          item.grant->devices.empty() ? -1 : static_cast<int>(Number(item.grant->devices[0]));
      if (spot.node == item.grant->node && spot.device == device) spot.running.push_back(&item);
    }
  }
  for (Class& trials : classes_) {
    std::ranges::stable_sort(trials.waiting, std::greater(),
                             [](const Waiting& each) { return each.left.next; });
    const StudyView& study = *trials.study;
    if (!study.open) continue;
    trials.to_come = study.left > 0 ? study.left + study.coming : kMany;
    WorkItem fresh;
    fresh.target = study.max_budget;
    trials.of_coming = LeftOf(trials, fresh);
    if (study.left > 0) count(trials, trials.of_coming, study.left);
    // Nobody of its own study is kept waiting by a trial that is not there yet, unless all of them will be done.
    if (!trials.waiting.empty() && study.judged)
      trials.of_coming.next = std::min(trials.of_coming.next, trials.waiting.back().left.next);
    if (study.left == 0) trials.of_coming = {};
  }
  const Milli all = TotalWidth(free_, classes_.empty() ? Demand{} : classes_.front().study->demand);
  horizon_ = area / static_cast<double>(std::max<Milli>(all, 1));
  CompareKinds();
  // The quickest devices choose first.
  std::ranges::stable_sort(spots_, std::greater(),
                           [&](const Spot& spot) { return quickness[spot.kind]; });
}

// What a trial takes of a kind is its part of a device, for as long as its work takes there.
void Filling::CompareKinds() {
  const auto takes = [&](const Class& trials, std::size_t kind) {
    const double speed = trials.speeds[kind];
    return speed > 0 ? static_cast<double>(trials.needs[kind].gpus) / speed : 0;
  };
  std::vector<double> usual(kinds_.size(), 0);
  for (const Class& trials : classes_) {
    double all = 0;
    for (std::size_t k = 1; k < kinds_.size(); ++k) all += takes(trials, k);
    for (std::size_t k = 1; k < kinds_.size() && all > 0; ++k) usual[k] += takes(trials, k) / all;
  }
  for (Class& trials : classes_) {
    trials.thrift.assign(kinds_.size(), 1);
    double least = kEndless;
    for (std::size_t k = 1; k < kinds_.size(); ++k)
      if (takes(trials, k) > 0) least = std::min(least, takes(trials, k) / usual[k]);
    for (std::size_t k = 1; k < kinds_.size(); ++k)
      if (takes(trials, k) > 0) trials.thrift[k] = least / (takes(trials, k) / usual[k]);
  }
}

// 1: as well as any.
double Filling::Suits(const Class& trials, std::size_t kind, double left) const {
  double suits = trials.thrift[kind];
  if (left < kEndless && trials.speeds[kind] > 0) {
    const double here = left * std::ranges::max(trials.speeds) / trials.speeds[kind];
    suits *= std::min(1.0, std::max(horizon_, longest_) / here);
  }
  return suits * suits;
}

bool Filling::Class::WaitingComesNext(const Taken& taken) const {
  const std::size_t at = next + static_cast<std::size_t>(taken.waiting);
  if (at >= waiting.size()) return false;
  return taken.to_come >= to_come || waiting[at].left.next >= of_coming.next;
}

const Filling::Left& Filling::Class::After(const Taken& taken) const {
  if (!WaitingComesNext(taken)) return of_coming;
  return waiting[next + static_cast<std::size_t>(taken.waiting)].left;
}

void Filling::Class::Take(Taken& taken) const {
  ++(WaitingComesNext(taken) ? taken.waiting : taken.to_come);
}

Amounts Filling::Takes(const Class& trials, std::size_t kind) const {
  const Demand& demand = trials.study->demand;
  return {kind == 0 ? 0 : trials.needs[kind].gpus, kind == 0 ? 0 : trials.needs[kind].bandwidth,
          kind == 0 ? 0 : demand.memory_bytes, demand.cpus, kind == 0 ? 0 : 1};
}

Amounts Filling::RoomOn(const Spot& spot) const {
  const Milli cpus = free_.FreeCpus(spot.node);
  if (spot.device < 0) return {0, 0, 0, cpus, 0};
  const auto d = static_cast<std::size_t>(spot.device);
  const DeviceUse& used = free_.Used(spot.node)[d];
  return {kWhole - used.share, kWhole - used.bandwidth,
          free_.node(spot.node).devices[d].memory_bytes - used.memory_bytes, cpus,
          kMostClients - used.clients};
}

double Filling::Worth(const Amounts& takes, const Amounts& all, double seconds) const {
  double part = 0;
  for (std::size_t r = 0; r < takes.size(); ++r)
    if (takes[r] > 0)
      part = std::max(part, static_cast<double>(takes[r]) /
                                static_cast<double>(std::max<std::int64_t>(all[r], 1)));
  return part * (1 + std::min(seconds / longest_, kLongestCounts));
}

Grant Filling::GrantOn(const Spot& spot, const Class& trials) const {
  Grant grant;
  grant.node = spot.node;
  grant.cpus = trials.study->demand.cpus;
  if (spot.device < 0) return grant;
  grant.gpu_share = trials.needs[spot.kind].gpus;
  grant.bandwidth = trials.needs[spot.kind].bandwidth;
  grant.memory_bytes = trials.study->demand.memory_bytes;
  grant.devices = {DeviceId(static_cast<std::uint32_t>(spot.device))};
  return grant;
}

void Filling::Start(Class& trials, Grant grant, Plan& plan) {
  free_.Take(grant);
  --trials.slots;
  trials.unknown = false;
  if (trials.WaitingComesNext({})) {
    plan.placements.push_back({trials.waiting[trials.next++].item->trial, std::move(grant)});
  } else {
    ++trials.asked;
    --trials.to_come;
  }
}

double Filling::Class::LongestNext() const {
  if (slots == 0) return 0;
  double longest = to_come > 0 ? of_coming.all : 0;
  for (std::size_t i = next; i < waiting.size(); ++i)
    longest = std::max(longest, waiting[i].left.all);
  return longest;
}

// Whoever needs several devices takes them before others fill them one by one, unless those have more left to do.
void Filling::StartWide(Plan& plan, bool first) {
  double longest = 0;
  for (const Class& trials : classes_)
    if (first && !IsWide(trials.study->demand)) longest = std::max(longest, trials.LongestNext());
  for (Class& trials : classes_) {
    if (!IsWide(trials.study->demand)) continue;
    while (trials.slots > 0 && (trials.next < trials.waiting.size() || trials.to_come > 0)) {
      if (!trials.unknown && trials.LongestNext() < longest) break;
      Grant grant = FirstFit(free_, trials.study->demand);
      if (!IsSet(grant.node)) break;
      Start(trials, std::move(grant), plan);
    }
  }
}

// Nothing is lost of one that has just reported.
bool Filling::MayLeave(const Class& trials, const WorkItem& item) const {
  return item.movable && !item.leaving && !trials.study->judged && !trials.study->seeks &&
         trials.study->priced && item.heard == now_;
}

// How much more another must have left to take a trial's place.
double Filling::TurnOf(const StudyView& study) const {
  return std::max(horizon_ / kTurns,
                  PriceOf(study) * std::max(kOneTurn, kAllTurns * horizon_ / longest_));
}

// Trials that could start, of those whose number is known.
std::int64_t Filling::Class::Known() const {
  const auto waits = static_cast<std::int64_t>(waiting.size() - next);
  return std::min<std::int64_t>(slots, waits + (to_come < kMany ? to_come : 0));
}

// On the quickest devices that have room; none: null.
const Filling::Spot* Filling::RoomiestFor(const Class& trials) const {
  const Spot* best = nullptr;
  const auto merit = [&](const Spot& spot) {
    return std::pair(trials.speeds[spot.kind], RoomOn(spot)[kShare]);
  };
  for (const Spot& spot : spots_) {
    if (spot.device < 0 || !Fits(Takes(trials, spot.kind), RoomOn(spot))) continue;
    if (best == nullptr || merit(spot) > merit(*best)) best = &spot;
  }
  return best;
}

// Those of devices, if all of them find room.
void Filling::SpreadAll(Plan& plan) {
  std::vector<std::size_t> order;
  Milli takes = 0;
  Milli room = 0;
  for (const Spot& spot : spots_) room += RoomOn(spot)[kShare];
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Class& trials = classes_[c];
    const Demand& demand = trials.study->demand;
    if (demand.gpus == 0 || IsWide(demand)) continue;
    Milli least = kWhole;
    for (std::size_t k = 1; k < kinds_.size(); ++k) least = std::min(least, trials.needs[k].gpus);
    takes += trials.Known() * least;
    if (takes > room) return;
    order.push_back(c);
  }
  // Whoever has most left chooses first.
  std::vector<std::pair<std::size_t, Grant>> starts;
  std::vector<Class::Taken> taken(classes_.size());
  bool all = true;
  while (all) {
    const Class* longest = nullptr;
    double most = -1;
    for (const std::size_t c : order) {
      if (taken[c].waiting + taken[c].to_come >= classes_[c].Known()) continue;
      const double left = classes_[c].After(taken[c]).all;
      if (left <= most) continue;
      most = left;
      longest = &classes_[c];
    }
    if (longest == nullptr) break;
    const auto c = static_cast<std::size_t>(longest - classes_.data());
    const Spot* spot = RoomiestFor(*longest);
    all = spot != nullptr;
    if (!all) break;
    longest->Take(taken[c]);
    starts.emplace_back(c, GrantOn(*spot, *longest));
    free_.Take(starts.back().second);
  }
  for (const auto& [c, grant] : starts) free_.Release(grant);
  if (!all) return;
  for (auto& [c, grant] : starts) Start(classes_[c], std::move(grant), plan);
}

void Filling::FillSpot(const Spot& spot, Plan& plan, std::vector<TrialKey>& leaving) {
  Amounts room = RoomOn(spot);
  Amounts all = room;
  const Node& node = free_.node(spot.node);
  all[kCpus] = node.cpus;
  if (spot.device >= 0) {
    all = {kWhole, kWhole, node.devices[static_cast<std::size_t>(spot.device)].memory_bytes,
           std::max<Milli>(node.cpus / std::max<Milli>(OwnDevices(node), 1), 1), kMostClients};
  }
  std::vector<SetItem> items;
  std::vector<std::pair<std::size_t, const WorkItem*>> what;  // class, and who runs
  for (const WorkItem* item : spot.running) {
    const auto of = static_cast<std::size_t>(
        std::ranges::find_if(classes_,
                             [&](const Class& c) { return c.study->study == item->trial.study; }) -
        classes_.begin());
    if (!MayLeave(classes_[of], *item)) continue;
    const Amounts takes = Takes(classes_[of], spot.kind);
    for (std::size_t r = 0; r < room.size(); ++r) room[r] += takes[r];
    const double left = LeftOf(classes_[of], *item).all;
    const double worth = Worth(takes, all, left + TurnOf(*classes_[of].study));
    items.push_back({{Suits(classes_[of], spot.kind, left) * worth}, takes});
    what.emplace_back(of, item);
  }
  const std::size_t running = items.size();
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Class& trials = classes_[c];
    const Demand& demand = trials.study->demand;
    if ((demand.gpus == 0) != (spot.device < 0) || IsWide(demand) || trials.slots == 0) continue;
    const Amounts takes = Takes(trials, spot.kind);
    std::int64_t most = std::min<std::int64_t>(
        trials.slots,
        static_cast<std::int64_t>(trials.waiting.size() - trials.next) + trials.to_come);
    for (std::size_t r = 0; r < room.size(); ++r)
      if (takes[r] > 0) most = std::min(most, room[r] / takes[r]);
    if (most <= 0) continue;
    SetItem item{.worths = {}, .takes = takes};
    Class::Taken taken;
    for (std::int64_t i = 0; i < most; ++i) {
      const double left = i == 0 && trials.unknown ? kEndless : trials.After(taken).all;
      item.worths.push_back(Suits(trials, spot.kind, left) * Worth(takes, all, left));
      trials.Take(taken);
    }
    items.push_back(std::move(item));
    what.emplace_back(c, nullptr);
  }
  if (items.size() == running) return;
  const std::vector<int> best = FindBestSet(items, room, spot.device < 0 ? kCpus : kShare);
  for (std::size_t i = 0; i < running; ++i) {
    if (best[i] > 0) continue;
    leaving.push_back(what[i].second->trial);
    free_.Release(*what[i].second->grant);
  }
  for (std::size_t i = running; i < items.size(); ++i) {
    Class& trials = classes_[what[i].first];
    for (int j = 0; j < best[i]; ++j) Start(trials, GrantOn(spot, trials), plan);
  }
}

void Filling::Fill(Plan& plan, std::vector<TrialKey>& leaving) {
  StartWide(plan, /*first=*/true);
  SpreadAll(plan);
  for (const Spot& spot : spots_) FillSpot(spot, plan, leaving);
  StartWide(plan, /*first=*/false);
  for (const Class& trials : classes_)
    if (trials.asked > 0) plan.appetites.push_back({trials.study->study, trials.asked});
}

}  // namespace sluice
