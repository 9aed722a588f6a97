#include "policy/confluence/width_planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "cluster/width.h"

// The plan is found by bisection on the makespan L of all work left. A trial that is to end within
// L needs at least some width w(L). At width w it takes the area w * seconds(w). The n devices have
// n * L device-seconds for all areas. Of the widths that are wide enough, the trial gets the one
// with the least area. That is mostly the narrowest, since a trial makes less of each device the
// wider it runs. It can be a wider one on shares of a device: on half the share a trial may have
// less than half the speed. The smallest L at which all areas fit is the length of the plan.
//
// Trials that are yet to be proposed count too, so that no trial is widened while others would fill
// the devices. If most trials are stopped early, each trial yet to be proposed counts with the area
// of an average trial. But L must be long enough for one of them to run to its full budget.
//
// Then trials are admitted: those that have begun first, then those with the most time left. Free
// devices that are not kept for trials still to run are spent on the trials with the most time
// left. If a study limits how many trials run at once, trials are made at least so wide that the
// allowed number of them fills the devices, as far as whole steps of width do. A trial that keeps
// its present width may be narrower, and so may all trials if they begin at once (see below). With
// such a limit, places are kept for no more trials than it allows.
//
// Areas do not say when each trial begins. A trial that finds no room beside the others waits until
// one of them ends. If all trials can run simultaneously, but narrower, and still end no later,
// they all begin now. Then they need not start up one after another.
//
// The cost of a change (work since the last report, leaving, start-up) is part of a trial's seconds
// at every width except its present one. So a trial is moved only if it ends sooner in spite of
// that cost. At its present width, a trial goes on at the speed of its present devices. At another
// width it is assumed to be as fast as on the cluster's first kind of device, where it is placed if
// there is room. If other studies run too, devices of that kind are mostly taken, and a trial that
// left slow devices would find slow devices again. So with several studies all devices count as the
// first kind.
//
// Cost: widths x trials for each of 30 halvings. Alternatives: Fluid's formula does not consider
// speed curves. It is worse than fifo if all trials are alike and there are as many trials as
// devices. Strip packing by shelves has a proven bound, but its schedules are longer.

namespace sluice {
namespace {

// The bisection ends once its interval is this part of the length. A millionth is far below the
// error of any speed. From an interval as long as the length, 20 halvings reach it.
constexpr double kNearEnough = 1e-6;
constexpr int kHalvings = 30;
// More trials than any cluster runs, and far below what an int can hold.
constexpr Milli kMostTrials = 1'000'000;
// Widths of up to 16 devices are tried one by one, larger widths in steps of a sixteenth to an
// eighth of the width. Finer steps of a large width make no difference, and each width costs time
// in every halving.
constexpr Milli kFineSteps = 16;
// Speeds and lengths that differ by no more than this part count as equal. That is more than
// rounding errors, and less than any measured difference.
constexpr double kEqual = 1e-9;
// Speeds are estimates, so a change must pay clearly. A trial that is changed counts as slower by
// the factor kWideningMargin. The time with the change, plus kStartUpsOfChange start-ups, must be
// at most kChangePays times the time without it. The start-ups are added because one change often
// causes another. With stricter values, widths stay as they are although other widths would be
// better. With less strict values, trials are moved back and forth. These values were tuned on the
// scenarios of docs/evidence.md, so the results there are not independent of them. The margin 1.05
// is a guess that was never varied on its own.
constexpr double kWideningMargin = 1.05;
constexpr double kChangePays = 0.9;
constexpr double kStartUpsOfChange = 2;
// A move loses the work since the last report. Right after the next report it would lose nothing.
// So the time since the last report counts this many times, and a move waits for a report. The
// scenario elastic ends 3 % sooner than if that time counts once (docs/evidence.md has the results
// before and after this factor was introduced). Any number has the same effect if it makes one
// second since the last report cost more than a move saves.
constexpr double kLostCounts = 100;

Milli Next(Milli width, Milli least) {
  if (width < kWhole) return std::min(std::max(2 * width, least), kWhole);
  Milli step = kWhole;
  while (step * kFineSteps <= width) step *= 2;
  return width + step;
}

// The least length that fits, by bisection between a length that does not fit and one that does.
double Halve(double too_short_s, double length_s, const std::function<bool(double)>& fits) {
  for (int i = 0; i < kHalvings && length_s - too_short_s > kNearEnough * length_s; ++i) {
    const double middle_s = (too_short_s + length_s) / 2;
    (fits(middle_s) ? length_s : too_short_s) = middle_s;
  }
  return length_s;
}

bool HasBegun(const WorkItem& item) { return item.running || item.admitted; }

}  // namespace

WidthPlanner::WidthPlanner(const Cluster& cluster, const WorkView& work, const StudyView& study,
                           Milli devices, Time now)
    : cluster_(cluster),
      work_(work),
      study_(study),
      devices_(std::max(devices, LeastWidth(study.demand))),
      now_(now) {
  ListWidths(cluster);
  const SpeedSituation any{.shape = std::string(study.shape), .kind = kind_};
  may_change_ = study.start_up_known && work.speeds->Ask(any).measured > 0;
  for (const WorkItem& item : work.items)
    if (item.trial.study == study.study) trials_.push_back(TimesOf(item));
  if (study.open) coming_ = study.left + study.coming;
  WorkItem fresh;
  fresh.target = study.max_budget;
  to_come_s_ = TimesOf(fresh).seconds;
  if (!std::isfinite(to_come_s_[best_])) to_come_s_.assign(widths_.size(), 0);
  typical_s_ = to_come_s_;
  if (study.typical_work > 0 && study.typical_work < static_cast<double>(study.max_budget)) {
    const double start_s = Seconds(study.start_up);
    const double part = study.typical_work / static_cast<double>(study.max_budget);
    for (double& seconds : typical_s_) seconds = start_s + (seconds - start_s) * part;
  }
  // Of the trials that pause at their target, one in eta goes on, or all go on. Each of them is
  // assumed to have as much work left as the trial with the most work left. Which trials go on is
  // decided as trials reach the rung: about one in eta of those that still arrive lets a trial go
  // on, either itself or one that paused before. So for `away_`, for which devices are kept, at
  // most as many paused trials count as trials can still arrive.
  const auto of = study.all_go_on ? 1 : static_cast<int>(std::max<std::int64_t>(study.eta, 1));
  const auto pausing = static_cast<int>(std::ranges::count_if(
      trials_, [&](const Trial& trial) { return trial.item->target < study.max_budget; }));
  const int settled = study.all_go_on ? study.paused : std::min(study.paused, pausing);
  away_ = (settled + study.ending) / of + study.not_ready;
  returning_ = (study.paused + study.ending + pausing) / of;
  const auto longest = std::ranges::max_element(
      trials_, {}, [](const Trial& t) { return t.item->target - t.item->done; });
  fresh.target = longest == trials_.end() ? 0 : longest->item->target - longest->item->done;
  to_return_s_ = TimesOf(fresh).seconds;
  Settle();
}

void WidthPlanner::ListWidths(const Cluster& cluster) {
  if (study_.demand.gpus > 0) kind_ = FirstKind(cluster);
  const Milli least = LeastWidth(study_.demand);
  const Milli most = std::max(least, std::min(WidestFit(cluster, study_.demand), devices_));
  for (Milli width = least; width <= most; width = Next(width, least)) {
    widths_.push_back(width);
    speeds_.push_back(SpeedAt(kind_, width));
  }
  if (study_.parallelism > 0) {
    while (least_ + 1 < widths_.size() && study_.parallelism * widths_[least_ + 1] <= devices_)
      ++least_;
  }
  best_ = least_;
  for (std::size_t i = best_ + 1; i < widths_.size(); ++i) {
    const double now = speeds_[best_] / static_cast<double>(widths_[best_]);
    if (speeds_[i] / static_cast<double>(widths_[i]) > now * (1 + kEqual)) best_ = i;
  }
}

// The speed at a width. A trial that takes only a share of a device is assumed to have neighbours
// on the rest.
double WidthPlanner::SpeedAt(const std::string& kind, Milli width) const {
  SpeedSituation at{.shape = std::string(study_.shape), .kind = kind, .width = width};
  if (study_.demand.gpus > 0 && width < kWhole) at.neighbours = kWhole - width;
  return work_.speeds->Ask(at).work_per_second;
}

// The speed on the devices a trial has: as slow as the slowest of them.
double WidthPlanner::SpeedOn(const Grant& grant, std::size_t width) {
  if (grant.devices.empty() || work_.studies.size() > 1) return speeds_[width];
  double slowest = std::numeric_limits<double>::infinity();
  const std::vector<Device>& devices = cluster_.node(grant.node).devices;
  for (const DeviceId id : grant.devices) {
    if (Number(id) >= devices.size() || devices[Number(id)].kind == kind_) {
      slowest = std::min(slowest, speeds_[width]);
      continue;
    }
    std::vector<double>& speeds = other_speeds_[devices[Number(id)].kind];
    for (std::size_t i = speeds.size(); i < widths_.size(); ++i)
      speeds.push_back(SpeedAt(devices[Number(id)].kind, widths_[i]));
    slowest = std::min(slowest, speeds[width]);
  }
  return slowest;
}

WidthPlanner::Trial WidthPlanner::TimesOf(const WorkItem& item) {
  Trial trial{.item = &item, .seconds = {}, .width = 0, .held = widths_.size()};
  const bool stays = item.running && !item.leaving;
  const double since_s = stays ? Seconds(now_ - item.heard) : 0;
  const double start_s = Seconds(study_.start_up);
  const double leaving_s = Seconds(study_.leaving);
  // If its width is not among those listed, the next narrower one stands for it.
  if (stays && WidthOf(*item.grant) <= devices_) {
    const auto wider = std::ranges::upper_bound(widths_, WidthOf(*item.grant));
    if (wider != widths_.begin())
      trial.held = static_cast<std::size_t>(wider - widths_.begin()) - 1;
  }
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    if (item.target == kNoLimit) {
      trial.seconds.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    const double speed = i == trial.held ? SpeedOn(*item.grant, i) : speeds_[i];
    const double left_s =
        static_cast<double>(std::max<Work>(item.target - item.done, 0)) / speed / item.pace;
    if (i == trial.held) {
      trial.seconds.push_back(std::max(left_s - since_s, 0.0));
    } else {
      const double change_s = stays ? leaving_s + start_s + kLostCounts * since_s : start_s;
      trial.seconds.push_back((left_s + change_s) * (stays ? kWideningMargin : 1));
    }
  }
  return trial;
}

double WidthPlanner::Area(const std::vector<double>& seconds, std::size_t width) const {
  return seconds[width] * static_cast<double>(widths_[width]);
}

std::size_t WidthPlanner::Narrowest(const std::vector<double>& seconds, double length_s) const {
  std::size_t best = widths_.size();
  for (std::size_t i = least_; i < widths_.size(); ++i) {
    if (seconds[i] > length_s) continue;
    if (best == widths_.size() || Area(seconds, i) < Area(seconds, best)) best = i;
  }
  return best;
}

std::size_t WidthPlanner::WidthFor(const Trial& trial, double length_s, Change change) const {
  const bool held = trial.held < widths_.size();
  if (held && change == Change::kNone) return trial.held;
  if (held && change == Change::kLate && trial.seconds[trial.held] <= length_s) return trial.held;
  return Narrowest(trial.seconds, length_s);
}

bool WidthPlanner::Fits(double length_s, Change change) const {
  const double room = length_s * static_cast<double>(devices_);
  double area = 0;
  if (coming_ > 0) {
    const std::size_t width = Narrowest(to_come_s_, length_s);
    if (width == widths_.size()) return false;
    area += coming_ * Area(typical_s_, Narrowest(typical_s_, length_s));
  }
  if (returning_ > 0) {
    const std::size_t width = Narrowest(to_return_s_, length_s);
    if (width == widths_.size()) return false;
    area += returning_ * Area(to_return_s_, width);
  }
  for (const Trial& trial : trials_) {
    if (area > room) return false;
    const std::size_t width = WidthFor(trial, length_s, change);
    if (width == widths_.size() || trial.seconds[width] > length_s) return false;
    area += Area(trial.seconds, width);
  }
  return area <= room;
}

double WidthPlanner::Bisect(Change change) const {
  double short_length_s = 0;  // does not fit
  double length_s = 1;
  for (const Trial& trial : trials_) {
    const auto [least_s, most_s] = std::ranges::minmax(trial.seconds);
    short_length_s = std::max(short_length_s, least_s);
    length_s = std::max(length_s, most_s);
  }
  if (!std::isfinite(length_s)) return length_s;
  while (!Fits(length_s, change)) length_s *= 2;
  return Halve(short_length_s, length_s, [&](double middle_s) { return Fits(middle_s, change); });
}

// Whether a change is worth its cost.
bool WidthPlanner::IsWorth(double length_s, double instead_of_s) const {
  return length_s + kStartUpsOfChange * Seconds(study_.start_up) <= kChangePays * instead_of_s;
}

// Running trials are changed only if all work then ends clearly sooner. Changing only the trials
// that would end too late is preferred to changing any trial.
void WidthPlanner::Settle() {
  Change change = Change::kNone;
  length_s_ = Bisect(change);
  if (!std::isfinite(length_s_)) {
    for (Trial& trial : trials_) trial.width = std::min(trial.held, best_);
    return;
  }
  for (const Change next : {Change::kLate, Change::kAny}) {
    if (!may_change_) break;
    const double length_s = Bisect(next);
    if (!IsWorth(length_s, length_s_)) continue;
    change = next;
    length_s_ = length_s;
  }
  for (Trial& trial : trials_) trial.width = WidthFor(trial, length_s_, change);
  if (coming_ == 0) BeginAtOnce(change);
}

// Running trials keep their width if they end in time, or if no change is allowed. The other trials
// are as narrow as they can be, even if a wider width has less area.
std::optional<std::vector<std::size_t>> WidthPlanner::AllAtOnce(double length_s,
                                                                Change change) const {
  std::vector<std::size_t> widths;
  Milli taken = 0;
  for (const Trial& trial : trials_) {
    const bool held = trial.held < widths_.size();
    std::size_t width = 0;
    if (held && (change == Change::kNone || trial.seconds[trial.held] <= length_s)) {
      width = trial.held;
    } else {
      while (width < widths_.size() && trial.seconds[width] > length_s) ++width;
    }
    if (width == widths_.size() || trial.seconds[width] > length_s) return std::nullopt;
    taken += widths_[width];
    if (taken > devices_) return std::nullopt;
    widths.push_back(width);
  }
  return widths;
}

// Lets all trials begin now, but narrower, if they then end no later than if some wait. If some
// wait, the trials that find no room are assumed to begin once the first of the others has ended,
// and to have all devices to themselves from then on.
void WidthPlanner::BeginAtOnce(Change change) {
  const auto [in, out, spare] = LetIn(trials_);
  if (out.empty() || in.size() + out.size() < trials_.size()) return;
  double first_s = std::numeric_limits<double>::infinity();
  for (const Trial* trial : in) first_s = std::min(first_s, trial->seconds[trial->width]);
  double last_s = 0;
  for (const Trial* trial : out) {
    double seconds = trial->seconds[trial->width];
    for (std::size_t i = 0; i < widths_.size() && std::ssize(out) * widths_[i] <= devices_; ++i)
      seconds = std::min(seconds, trial->seconds[i]);
    last_s = std::max(last_s, seconds);
  }
  const double in_turn_s = std::max(length_s_, first_s + last_s) * (1 + kEqual);
  if (!AllAtOnce(in_turn_s, change)) return;
  length_s_ =
      Halve(0, in_turn_s, [&](double length_s) { return AllAtOnce(length_s, change).has_value(); });
  const std::vector<std::size_t> widths = *AllAtOnce(length_s_, change);
  for (std::size_t i = 0; i < widths.size(); ++i) trials_[i].width = widths[i];
}

int WidthPlanner::MostAlive() const {
  const Milli width = widths_[best_];
  // A share does not span two devices.
  const Milli most = study_.demand.gpus > 0 && width < kWhole ? devices_ / kWhole * (kWhole / width)
                                                              : devices_ / width;
  const auto alive = static_cast<int>(std::clamp<Milli>(most, 1, kMostTrials));
  return study_.parallelism > 0 ? std::min(alive, study_.parallelism) : alive;
}

// Spends spare width on the group that ends last, then on the next. In a group, the trial with the
// most time left is widened, one step at a time. If that changes a running trial, the group must
// end clearly sooner, or its widths stay as they were.
void WidthPlanner::Spend(std::vector<Trial*>& in, Milli spare) const {
  std::map<GroupId, std::vector<Trial*>> groups;
  for (Trial* trial : in) groups[trial->item->group].push_back(trial);
  std::vector<std::vector<Trial*>*> order;
  for (auto& [id, members] : groups) order.push_back(&members);
  const auto ends = [](const std::vector<Trial*>* group) {
    double end = 0;
    for (const Trial* trial : *group) end = std::max(end, trial->seconds[trial->width]);
    return end;
  };
  std::ranges::stable_sort(order, std::greater(), ends);
  for (std::vector<Trial*>* group : order) {
    const double before_s = ends(group);
    const Milli had = spare;
    std::vector<std::size_t> widths;
    for (const Trial* trial : *group) widths.push_back(trial->width);
    while (Widen(*group, spare)) {
    }
    bool moves = false;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const Trial& trial = *(*group)[i];
      moves = moves || (trial.held == widths[i] && trial.width != widths[i]);
    }
    if (!moves || IsWorth(ends(group), before_s)) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) (*group)[i]->width = widths[i];
    spare = had;
  }
}

// Widens the trial of the group with the most time left by one step. False if it cannot be widened.
bool WidthPlanner::Widen(std::vector<Trial*>& group, Milli& spare) const {
  Trial& longest = **std::ranges::max_element(
      group, {}, [](const Trial* trial) { return trial->seconds[trial->width]; });
  if (IsFixed(*longest.item) || (longest.held < widths_.size() && !may_change_)) return false;
  for (std::size_t i = longest.width + 1; i < widths_.size(); ++i) {
    if (widths_[i] - widths_[longest.width] > spare) return false;
    if (longest.seconds[i] >= longest.seconds[longest.width]) continue;
    spare -= widths_[i] - widths_[longest.width];
    longest.width = i;
    return true;
  }
  return false;
}

Milli WidthPlanner::Chosen(const Trial& trial) const {
  const bool stays = IsFixed(*trial.item) || trial.width == trial.held;
  return stays ? WidthOf(*trial.item->grant) : widths_[trial.width];
}

// Trials that have begun come first, then those with the most time left. Trials beyond the study's
// parallelism are neither in nor out.
WidthPlanner::Admission WidthPlanner::LetIn(std::vector<Trial>& trials) const {
  std::vector<Trial*> order;
  for (Trial& trial : trials) order.push_back(&trial);
  std::ranges::stable_sort(order, [](const Trial* a, const Trial* b) {
    if (HasBegun(*a->item) != HasBegun(*b->item)) return HasBegun(*a->item);
    return a->seconds[a->width] > b->seconds[b->width];
  });
  Admission admission{.in = {}, .out = {}, .spare = devices_};
  int running = study_.running;
  for (Trial* trial : order) {
    const WorkItem& item = *trial->item;
    const Milli width = Chosen(*trial);
    const bool slot = item.running || study_.parallelism == 0 || running < study_.parallelism;
    if (!slot) continue;
    if (!item.running) ++running;
    if (width > admission.spare && !IsFixed(item)) {
      admission.out.push_back(trial);
      continue;
    }
    admission.spare -= width;
    admission.in.push_back(trial);
  }
  return admission;
}

std::vector<Wanted> WidthPlanner::Choose() const {
  std::vector<Trial> trials = trials_;
  auto [in, out, spare] = LetIn(trials);
  // Paused trials that will go on keep their part of the devices.
  if (away_ > 0) spare -= away_ * (devices_ / (away_ + std::ssize(in)));
  // Trials that are still to run beside the admitted trials keep their part too.
  std::ptrdiff_t alive = std::ssize(trials) + coming_;
  if (study_.parallelism > 0) alive = std::min<std::ptrdiff_t>(alive, study_.parallelism);
  spare -= std::max<std::ptrdiff_t>(alive - std::ssize(in), 0) * widths_[best_];
  if (out.empty()) Spend(in, spare);
  in.insert(in.end(), out.begin(), out.end());
  std::vector<Wanted> wanted;
  for (const Trial* trial : in) wanted.push_back({trial->item, Chosen(*trial)});
  return wanted;
}

}  // namespace sluice
