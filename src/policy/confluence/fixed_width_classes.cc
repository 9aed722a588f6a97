#include <algorithm>
#include <string>
#include <utility>

#include "cluster/width.h"
#include "policy/confluence/fixed_width_packer.h"

// What devices are filled with: trials by study, the time each has left, and how well each kind of
// device suits them.

namespace sluice {

FixedWidthPacker::FixedWidthPacker(Cluster& free, const WorkView& work,
                                   const std::vector<const StudyView*>& studies, Time now)
    : free_(free), work_(work), now_(now) {
  ListSpots();
  Classify(studies);
}

void FixedWidthPacker::ListSpots() {
  kinds_.emplace_back();
  const std::vector<Node>& nodes = free_.nodes();
  kept_cpus_.assign(nodes.size(), 0);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].up) continue;
    spots_.push_back({.node = NodeId(n + 1), .device = -1, .kind = 0, .running = {}});
    for (std::uint32_t d = 0; d < nodes[n].devices.size(); ++d) {
      if (!nodes[n].devices[d].IsOwn()) continue;
      const std::string_view name = nodes[n].devices[d].kind;
      const auto known = std::ranges::find(kinds_.begin() + 1, kinds_.end(), name);
      const auto kind = static_cast<std::size_t>(known - kinds_.begin());
      if (known == kinds_.end()) kinds_.push_back(name);
      spots_.push_back(
          {.node = NodeId(n + 1), .device = static_cast<int>(d), .kind = kind, .running = {}});
    }
  }
}

FixedWidthPacker::Left FixedWidthPacker::LeftOf(const Class& trials, const WorkItem& item) const {
  if (item.target == kNoLimit) return {.next_s = kEndless, .all_s = kEndless};
  const StudyView& study = *trials.study;
  const auto seconds = [&](Work work) {
    return static_cast<double>(std::max<Work>(work, 0)) * trials.seconds_per_unit / item.pace;
  };
  const double next_s = seconds(item.target - item.done);
  if (!study.judged || study.max_budget <= item.target) return {.next_s = next_s, .all_s = next_s};
  const double all_s = seconds(study.max_budget - item.done);
  if (!study.all_go_on) return {.next_s = next_s, .all_s = all_s};
  // In a population, each further stretch of work (leg) ends with a stop and a start.
  const Work leg = std::max<Work>(item.target - item.done, 1);
  const Work legs = (study.max_budget - item.target) / leg;
  const auto changes = static_cast<double>(legs);
  return {.next_s = all_s + changes * PriceOf(study), .all_s = all_s + changes * PriceOf(study)};
}

void FixedWidthPacker::Classify(const std::vector<const StudyView*>& studies) {
  std::vector<double> quickness(kinds_.size(), 0);
  for (const StudyView* study : studies) {
    Class made;
    made.study = study;
    all_fixed_ = all_fixed_ && !study->judged;
    const bool on_cores = study->demand.gpus == 0;
    made.speeds.assign(kinds_.size(), 0);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      made.needs.push_back(NeedOn(study->demand, kinds_[k]));
      if (on_cores != (k == 0)) continue;
      SpeedSituation alone{.shape = std::string(study->shape),
                           .kind = std::string(kinds_[k]),
                           .width = on_cores ? UsualWidth(study->demand) : made.needs[k].gpus};
      SpeedEstimate known = work_.speeds->Ask(alone);
      // A trial's share is all that it can use of a device. So if its speed on the share was not
      // measured, it is taken to be as fast there as on a whole device.
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
    made.at_once = AtOnce(made, /*alike=*/false);
    made.alike_at_once = AtOnce(made, /*alike=*/true);
    made.slots = study->parallelism == 0 ? static_cast<int>(kMany)
                                         : std::max(0, study->parallelism - study->running);
    classes_.push_back(std::move(made));
  }
  const auto owner = [&](const WorkItem& item) {
    return std::ranges::find_if(
        classes_, [&](const Class& trials) { return trials.study->study == item.trial.study; });
  };
  const auto count = [&](Class& trials, const Left& left, double number) {
    if (left.all_s == kEndless) return;
    longest_s_ = std::max(longest_s_, left.all_s);
    const double seconds = left.next_s * number;
    horizon_s_ += seconds / trials.at_once;
    const double lost_s = seconds / trials.alike_at_once - seconds / trials.at_once;
    trials.lost_alike_s += lost_s;
    lost_alike_s_ += lost_s;
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
    // A grant does not fit if its node has shrunk.
    if (!free_.Fits(*item.grant)) continue;
    free_.Take(*item.grant);
    if (item.grant->devices.size() != 1 && trials->study->demand.gpus > 0) continue;
    for (Spot& spot : spots_) {
      const int device =
          item.grant->devices.empty() ? -1 : static_cast<int>(Number(item.grant->devices[0]));
      if (spot.node == item.grant->node && spot.device == device)
        spot.running.push_back({&item, static_cast<std::size_t>(trials - classes_.begin())});
    }
  }
  for (Class& trials : classes_) {
    std::ranges::stable_sort(trials.waiting, std::greater(),
                             [](const Waiting& each) { return each.left.next_s; });
    const StudyView& study = *trials.study;
    const int expected = (study.open ? study.left : 0) + study.coming;
    if (!study.open && study.coming == 0) continue;
    trials.to_come = expected > 0 ? expected : kMany;
    WorkItem fresh;
    fresh.target = study.max_budget;
    trials.of_coming = LeftOf(trials, fresh);
    if (expected > 0) count(trials, trials.of_coming, expected);
    // In a judged study, a trial that is not proposed yet does not come before a waiting trial.
    if (!trials.waiting.empty() && study.judged)
      trials.of_coming.next_s =
          std::min(trials.of_coming.next_s, trials.waiting.back().left.next_s);
    if (expected == 0) trials.of_coming = {};
  }
  CompareKinds();
  // The fastest devices are filled first.
  std::ranges::stable_sort(spots_, std::greater(),
                           [&](const Spot& spot) { return quickness[spot.kind]; });
}

// How many of these trials would run at once on all devices. On a slower kind of device, a trial
// counts as a fraction: its speed there, divided by its speed on the fastest kind. If only a part
// of a trial fits on a device, the part counts too, since other trials can fill that room. With
// `alike` there are no other trials, so only whole trials count on a device that has room for one.
double FixedWidthPacker::AtOnce(const Class& trials, bool alike) const {
  const double quickest = std::ranges::max(trials.speeds);
  const bool on_cores = trials.study->demand.gpus == 0;
  double sum = 0;
  for (const Spot& spot : spots_) {
    if (on_cores != (spot.device < 0)) continue;
    const Milli takes =
        std::max<Milli>(on_cores ? trials.study->demand.cpus : trials.needs[spot.kind].gpus, 1);
    const Milli has = on_cores ? free_.node(spot.node).cpus : kWhole;
    const Milli whole = has / takes;
    const double fit = alike && whole > 0 ? static_cast<double>(whole)
                                          : static_cast<double>(has) / static_cast<double>(takes);
    sum += fit * (quickest > 0 ? trials.speeds[spot.kind] / quickest : 1);
  }
  return std::max(sum, 1.0);
}

// Compares what studies cost on each kind. The cost of a trial on a kind is the share of a device
// that it takes there, times the seconds that a unit of work takes. Each cost is divided by what is
// usual on that kind, over all studies. A study's thrift is 1 on the kind where the result is
// lowest, and less on the others: the lowest result divided by the one there.
void FixedWidthPacker::CompareKinds() {
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

// The factor on the worth of a trial on this kind; 1: no kind suits it better.
double FixedWidthPacker::Suits(const Class& trials, std::size_t kind, double left_s) const {
  double suits = trials.thrift[kind];
  if (left_s < kEndless && trials.speeds[kind] > 0) {
    const double here_s = left_s * std::ranges::max(trials.speeds) / trials.speeds[kind];
    suits *= std::min(1.0, std::max(horizon_s_, longest_s_) / here_s);
  }
  return suits * suits;
}

bool FixedWidthPacker::Class::WaitingComesNext(const Taken& taken) const {
  const std::size_t at = next + static_cast<std::size_t>(taken.waiting);
  if (at >= waiting.size()) return false;
  return taken.to_come >= to_come || waiting[at].left.next_s >= of_coming.next_s;
}

const FixedWidthPacker::Left& FixedWidthPacker::Class::After(const Taken& taken) const {
  if (!WaitingComesNext(taken)) return of_coming;
  return waiting[next + static_cast<std::size_t>(taken.waiting)].left;
}

void FixedWidthPacker::Class::Take(Taken& taken) const {
  ++(WaitingComesNext(taken) ? taken.waiting : taken.to_come);
}

double FixedWidthPacker::Class::LongestNext() const {
  if (slots == 0) return 0;
  double longest_s = to_come > 0 ? of_coming.all_s : 0;
  for (std::size_t i = next; i < waiting.size(); ++i)
    longest_s = std::max(longest_s, waiting[i].left.all_s);
  return longest_s;
}

// How many trials could start, as far as their number is known.
std::int64_t FixedWidthPacker::Class::Known() const {
  const auto waits = static_cast<std::int64_t>(waiting.size() - next);
  return std::min<std::int64_t>(slots, waits + (to_come < kMany ? to_come : 0));
}

}  // namespace sluice
