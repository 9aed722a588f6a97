#include "policy/confluence/deadline_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <string>

#include "cluster/width.h"

// The time until the deadline has two stages. In the first stage some trials run side by side, as
// wide as the devices allow, and their curves tell more about them. In the second stage the trial
// that then looks best has all the devices that it can use. A plan says which trials run in the
// first stage, how wide they are, and how long that stage is. The value of a plan is the best loss
// expected at the deadline.
//
// A plan with few trials and a short first stage trains one trial far, but perhaps the wrong trial.
// A plan with many trials and a long first stage finds the right trial, but leaves no time to train
// it.
//
// Candidates are trials that run, trials that wait, and trials that are not proposed yet. A trial
// that is not proposed yet has the study's forecast of a new trial. Every plan chooses among all
// candidates again. Only giving up a trial is final.
//
// What is expected: each trial's loss at the deadline is a normal variable. Its mean is the trial's
// forecast at the work it would have done by then. Its standard deviation covers only what the
// first stage will reveal about the trial. What stays unknown until the deadline cannot be acted
// upon, and does not count. The value of a plan is the expected minimum of these variables, taken
// as independent, and of a constant. The constant is the best loss so far, or the loss that the
// best other trial would reach if it ran only in the second stage, whichever is lower.
//
// What a change costs: a trial that runs on as it is costs nothing. A trial that starts, or changes
// its width, spends a start-up, and loses its work since the last report. A change is made only if
// the value of the plan improves in spite of these costs.
//
// Giving up: a trial that leaves may come back, so it is saved if it is worth the time that saving
// takes. Whether it is depends on the loss expected of the trial if it had all devices from now on.
// In a study without a stopper, a trial that is not worth saving is given up.
//
// Cost: a few hundred plans, each an integral over its trials. Alternatives: HyperSched's rules
// consider neither how curves will continue nor what could still be learned. The exact problem is a
// restless bandit with switching costs. Its state would be all curves.

namespace sluice {
namespace {

// The numbers below were chosen on the scenarios hypersched-900, -1800 and -3600 and on variants of
// them, with results in sight, unless another reason is given (docs/evidence.md).

// A plan that differs from what runs must be better by this part of the standard deviation of a new
// trial's limit. With a smaller value, trials are changed for differences that are only noise. With
// an earlier version of the code and 300 seeds, a smaller value made hypersched-900 9.1 % better
// than under hypersched, instead of 10.2 %.
constexpr double kLeastImprovement = 0.01;

// The least fraction of a start-up that a plan is charged. A plan is rarely carried out to its end:
// the next report may bring a better plan, which continues from the present state. When start-ups
// were charged in full, changes were so expensive that no trial was given up in time. Then
// hypersched-900 was 11 % worse than under hypersched, and generated scenarios were the same or a
// little better. If there is hardly time for one start, there is no time for a better plan either,
// so more of the start-up is charged (StartCounts).
constexpr double kStartCounts = 0.5;
// Curves deviate from their forecasts more often than forecasts say. Standard deviations are
// multiplied by this before a choice that cannot be taken back. With a larger value, fewer trials
// are given up, and more time goes into saving trials.
constexpr double kDoubt = 2;
// kPoints: points of the integral (ExpectedLeast). kFar: a variable is cut off this many standard
// deviations from its mean. What is cut off has a probability of 0.0002 on each side. kImpossible:
// a product of probabilities below this counts as 0. More points cost time in proportion. What they
// would change was not measured.
constexpr int kPoints = 24;
constexpr double kFar = 3.5;
constexpr double kImpossible = 1e-6;
// The most trials of a plan's first stage, as a multiple of the trials that can run simultaneously:
// there is no time to try more. A guess: not measured.
constexpr std::size_t kTriedInASlot = 4;
// Not every number of trials is considered, since that would take too long where there are many
// slots. After a number, the next one considered is larger by 1 / kPartOfCount of it. A guess: not
// measured.
constexpr std::size_t kPartOfCount = 4;
// Where something is divided by the seconds left, fewer seconds count as this. In so short a time
// no trial could start and report, so no plan changes anything.
constexpr double kLeastLeftSeconds = 1e-3;
constexpr double kLeastPricedSeconds = 1;

// The probability that a standard normal variable is below z.
double Below(double z) { return 0.5 * std::erfc(-z * M_SQRT1_2); }

// A trial's loss at the deadline as a normal variable ("What is expected", above). It stands for
// `count` trials that are alike.
struct Outlook {
  double mean = 0;
  double spread = 0;
  int count = 1;
};

// The expected minimum of independent normal variables and a constant: the integral of the
// probability that all of them are above x.
double ExpectedLeast(std::span<const Outlook> outlooks, double constant) {
  double low = constant;
  double high = constant;
  for (const Outlook& each : outlooks) {
    low = std::min(low, each.mean - kFar * each.spread);
    high = std::min(high, each.mean + kFar * each.spread);
  }
  if (!(high > low)) return high;
  const double step = (high - low) / kPoints;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = low + (i + 0.5) * step;
    double all_above = 1;
    for (const Outlook& each : outlooks) {
      const double off = each.mean - x;
      if (off >= kFar * each.spread) continue;
      const double above = off <= -kFar * each.spread ? 0 : Below(off / each.spread);
      all_above *= each.count == 1 ? above : std::pow(above, each.count);
      if (all_above < kImpossible) break;
    }
    sum += all_above;
  }
  return low + sum * step;
}

// The expected amount by which a normal variable is below `than`, counted as 0 where it is above.
double ExpectedGain(double mean, double spread, double than) {
  if (!(spread > 0)) return std::max(than - mean, 0.0);
  const double z = (than - mean) / spread;
  return (than - mean) * Below(z) +
         spread * std::exp(-0.5 * z * z) * M_SQRT1_2 * std::numbers::inv_sqrtpi;
}

// The part of a curve's whole drop that is still to come after this work.
double WayLeft(const Forecast& forecast, double work) {
  return std::pow(1 + work / forecast.scale, -forecast.exponent);
}

}  // namespace

DeadlinePlanner::DeadlinePlanner(const Cluster& cluster, const WorkView& work,
                                 const StudyView& study, Milli devices, Time now)
    : work_(work),
      study_(study),
      devices_(std::max(devices, OneDevice(study.demand))),
      narrow_(OneDevice(study.demand)),
      wide_(std::clamp(std::min(MostWidth(study.demand), WidestFit(cluster, study.demand)), narrow_,
                       std::max(devices_, narrow_))),
      now_(now),
      left_s_(Seconds(study.deadline - now)),
      start_up_s_(Seconds(study.start_up)),
      leaving_s_(Seconds(study.leaving)),
      expected_(std::numeric_limits<double>::quiet_NaN()) {
  SpeedSituation at{.shape = std::string(study.shape), .kind = {}, .width = narrow_};
  if (study.demand.gpus > 0) at.kind = FirstKind(cluster);
  const bool measured = work.speeds->Ask(at).measured > 0;
  for (; at.width <= wide_; at.width += narrow_)
    speeds_.push_back(work.speeds->Ask(at).work_per_second);
  ListArms();
  if (measured && study.start_up_known && study.fresh != nullptr && study.fresh->known) {
    Decide();
  } else {
    RunAll();
  }
}

double DeadlinePlanner::Speed(Milli width) const {
  const auto steps = static_cast<std::size_t>(std::clamp(width, narrow_, wide_) / narrow_);
  return speeds_[steps - 1];
}

void DeadlinePlanner::ListArms() {
  for (const WorkItem& item : work_.items) {
    if (item.trial.study != study_.study) continue;
    const bool stays = item.running && !item.leaving;
    arms_.push_back({.item = &item,
                     .forecast = item.forecast,
                     .done = static_cast<double>(item.done),
                     .credit_s = stays ? Seconds(now_ - item.heard) : 0,
                     .held = stays ? WidthOf(*item.grant) : 0,
                     .pace = item.pace});
  }
  if (!study_.open) return;
  const auto most = kTriedInASlot * slots();
  const auto fresh = std::min(most, static_cast<std::size_t>(study_.left + study_.coming));
  for (std::size_t i = 0; i < fresh; ++i) arms_.push_back({.forecast = study_.fresh});
}

// The plan while speeds, start-ups or curves are unknown: running trials go on, and other trials
// take what is free.
void DeadlinePlanner::RunAll() {
  std::vector<std::size_t> order(arms_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Adopt(Stay(order));
}

// Trials that cannot be moved come first. The others are in the order of the loss they would reach
// by the deadline at full width. `optimism` takes that many standard deviations off the loss.
std::vector<std::size_t> DeadlinePlanner::InOrder(double optimism) const {
  std::vector<double> keys;
  for (const Arm& arm : arms_) {
    const double start_s = arm.held > 0 ? 0 : start_up_s_;
    const double work = arm.done + std::max(left_s_ - start_s, 0.0) * Speed(wide_) * arm.pace;
    keys.push_back(arm.forecast->At(work) - optimism * arm.forecast->SpreadAt(work));
  }
  std::vector<std::size_t> order(arms_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_fixed = [&](std::size_t i) {
    return arms_[i].item != nullptr && IsFixed(*arms_[i].item);
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (is_fixed(a) != is_fixed(b)) return is_fixed(a);
    return keys[a] < keys[b];
  });
  return order;
}

// Deals out the spare width in rounds. In each round, every arm that may have more gets one step
// (narrow_).
template <typename MayHave>
void DeadlinePlanner::Deal(Stage& stage, Milli spare, MayHave may_have) const {
  for (bool dealt = true; dealt && spare >= narrow_;) {
    dealt = false;
    for (std::size_t i = 0; i < stage.widths.size() && spare >= narrow_; ++i) {
      if (!may_have(arms_[stage.arms[i]]) || stage.widths[i] + narrow_ > wide_) continue;
      stage.widths[i] += narrow_;
      spare -= narrow_;
      dealt = true;
    }
  }
}

// Running trials go on as they are, and others take what is free.
DeadlinePlanner::Stage DeadlinePlanner::Stay(const std::vector<std::size_t>& order) const {
  Stage stage;
  Milli spare = devices_;
  int slots = study_.parallelism > 0 ? study_.parallelism : std::numeric_limits<int>::max();
  slots -= study_.ending;
  for (const bool runs : {true, false}) {
    for (const std::size_t i : order) {
      const Milli width = runs ? arms_[i].held : narrow_;
      if ((arms_[i].held > 0) != runs || (!runs && (width > spare || slots <= 0))) continue;
      stage.arms.push_back(i);
      stage.widths.push_back(width);
      spare -= width;
      --slots;
    }
  }
  // If too few trials start to use all devices, they start wider.
  Deal(stage, spare, [](const Arm& arm) { return arm.held == 0; });
  return stage;
}

// A stage of the first `count` arms in this order. All devices are dealt out among the arms that
// run now.
DeadlinePlanner::Stage DeadlinePlanner::Widened(const std::vector<std::size_t>& order,
                                                std::size_t count) const {
  Stage stage;
  Milli spare = devices_;
  std::size_t slots = count;
  if (study_.parallelism > 0)
    slots =
        std::min(slots, static_cast<std::size_t>(std::max(study_.parallelism - study_.ending, 0)));
  for (const std::size_t i : order) {
    if (stage.arms.size() >= count) break;
    const bool fixed = arms_[i].item != nullptr && IsFixed(*arms_[i].item);
    const Milli width = fixed ? arms_[i].held : narrow_;
    stage.arms.push_back(i);
    if (!fixed && (width > spare || stage.widths.size() >= slots)) continue;
    if (stage.widths.size() + 1 < stage.arms.size()) continue;
    stage.widths.push_back(width);
    spare -= width;
  }
  Deal(stage, spare, [](const Arm& arm) { return arm.item == nullptr || !IsFixed(*arm.item); });
  // Swaps widths so that trials keep the width they have where possible.
  for (std::size_t i = 0; i < stage.widths.size(); ++i) {
    const Milli held = arms_[stage.arms[i]].held;
    if (held == 0 || held == stage.widths[i]) continue;
    for (std::size_t j = 0; j < stage.widths.size(); ++j) {
      if (stage.widths[j] != held || arms_[stage.arms[j]].held == held) continue;
      std::swap(stage.widths[i], stage.widths[j]);
      break;
    }
  }
  return stage;
}

// The work of a trial at the deadline if it is chosen for the second stage, which has `rest_s`
// seconds. `seen` is its work before that stage. `as_it_is` is the work that it adds in that stage
// at its present width. The trial stays at that width or starts again at full width, whichever gets
// further.
double DeadlinePlanner::WorkAtEnd(const Arm& arm, double seen, double as_it_is,
                                  double rest_s) const {
  const double wider = std::max(rest_s - leaving_s_ - start_up_s_, 0.0) * Speed(wide_) * arm.pace;
  double end = seen + std::max(as_it_is, wider);
  if (study_.max_budget > 0) end = std::min(end, static_cast<double>(study_.max_budget));
  return std::max(arm.done, std::floor(end));
}

double DeadlinePlanner::StartCounts() const {
  return std::clamp(start_up_s_ / std::max(left_s_, kLeastLeftSeconds), kStartCounts, 1.0);
}

double DeadlinePlanner::ValueWith(const Stage& stage, std::size_t length) const {
  const double seconds = kStages[length] * left_s_;
  const double rest_s = left_s_ - seconds;
  const double each_s =
      seconds * static_cast<double>(stage.widths.size()) / static_cast<double>(stage.arms.size());
  // If running trials have to leave, the trials that start wait until these have left.
  const double start_s = StartCounts() * start_up_s_ + (Leavers(stage) > 0 ? leaving_s_ : 0);
  std::vector<Outlook> outlooks;
  const Arm* last_arm = nullptr;
  Milli last_width = 0;
  for (std::size_t i = 0; i < stage.arms.size(); ++i) {
    const Arm& arm = arms_[stage.arms[i]];
    const Milli width = i < stage.widths.size() ? stage.widths[i] : narrow_;
    const auto is_alike = [&](const Arm& other) {
      return arm.forecast == other.forecast && arm.held == 0 && other.held == 0 &&
             arm.done == other.done && arm.pace == other.pace;
    };
    if (last_arm != nullptr && width == last_width && is_alike(*last_arm)) {
      ++outlooks.back().count;
      continue;
    }
    last_arm = &arm;
    last_width = width;
    const double lost_s = arm.held == width ? -arm.credit_s : start_s;
    const double speed = Speed(width) * arm.pace;
    const double seen = arm.done + std::max(each_s - lost_s, 0.0) * speed;
    // The seconds of its start-up that are still to come when the first stage is over.
    const double to_come_s = std::max(lost_s - each_s, 0.0);
    const double end = WorkAtEnd(arm, seen, std::max(rest_s - to_come_s, 0.0) * speed, rest_s);
    const double then = WayLeft(*arm.forecast, std::min(seen, end));
    const double last = WayLeft(*arm.forecast, end);
    const double unknown = arm.spread * (arm.way - last);
    const double still = arm.spread * (then - last);
    outlooks.push_back({.mean = arm.forecast->limit + std::max(arm.forecast->drop, 0.0) * last,
                        .spread = std::sqrt(std::max(unknown * unknown - still * still, 0.0))});
  }
  double constant = std::isnan(study_.best) ? std::numeric_limits<double>::infinity() : study_.best;
  for (const auto& [mean, arm] : idle_[length]) {
    if (arms_[arm].hopeless || std::ranges::find(stage.arms, arm) != stage.arms.end()) continue;
    constant = std::min(constant, mean);
    break;
  }
  if (std::isinf(constant)) {
    constant = outlooks.front().mean;
    for (const Outlook& outlook : outlooks)
      constant = std::max(constant, outlook.mean + kFar * outlook.spread);
  }
  return ExpectedLeast(outlooks, constant);
}

// Lists the losses expected of existing trials that run only after the first stage, the lowest
// first.
void DeadlinePlanner::ListIdle() {
  for (std::size_t length = 0; length < kStages.size(); ++length) {
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      if (arms_[i].item == nullptr) continue;
      const double rest_s = (1 - kStages[length]) * left_s_;
      const double end = WorkAtEnd(arms_[i], arms_[i].done, 0, rest_s);
      idle_[length].emplace_back(arms_[i].forecast->At(end), i);
    }
    std::ranges::sort(idle_[length]);
  }
}

double DeadlinePlanner::ValueOf(const Stage& stage, std::size_t at_least) const {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t length = at_least; length < kStages.size(); ++length)
    best = std::min(best, ValueWith(stage, length));
  return best;
}

void DeadlinePlanner::Decide() {
  for (Arm& arm : arms_) {
    arm.way = WayLeft(*arm.forecast, arm.done);
    arm.spread = arm.forecast->spread / arm.way;
  }
  ListIdle();
  const std::vector<std::size_t> by_mean = InOrder(0);
  const std::vector<std::size_t> by_hope = InOrder(1);
  Stage best = Stay(by_hope);
  if (best.arms.empty()) return;
  // The shortest first stage is not considered here. With it, a change that should be made now
  // would be put off again and again.
  expected_ = ValueOf(best, /*at_least=*/1);
  // What a second of a device is worth: the improvement still expected, divided by all device time
  // left.
  const double price =
      std::isnan(study_.best)
          ? 0
          : std::max(study_.best - expected_, 0.0) /
                (std::max(left_s_, kLeastPricedSeconds) * static_cast<double>(devices_));
  FindHopeless(price);
  // It is too late if a trial that is changed now would not report again before the deadline.
  const bool too_late = left_s_ < leaving_s_ + start_up_s_ + 1 / Speed(wide_);
  double to_beat = expected_ - kLeastImprovement * study_.fresh->spread;
  for (std::size_t count = 1; count <= std::min(arms_.size(), kTriedInASlot * slots());) {
    for (const auto* order : {&by_mean, &by_hope}) {
      Stage stage = Widened(*order, count);
      if (stage.widths.empty() || (too_late && Leavers(stage) > 0)) continue;
      const double value = ValueOf(stage, 0) + Lost(stage) * price;
      if (value >= to_beat) continue;
      to_beat = expected_ = value;
      best = std::move(stage);
    }
    count += std::max<std::size_t>(count / kPartOfCount, 1);
  }
  if (!study_.leaving_known && Leavers(best) > 0) best = Try(best, by_hope, by_mean);
  Adopt(best);
}

// The time that leaving takes is learned from the first trial that leaves. Of the trials that are
// to leave, the one with the worst forecast leaves first. Until it has left, no other trial leaves,
// except trials that are given up.
DeadlinePlanner::Stage DeadlinePlanner::Try(const Stage& stage,
                                            const std::vector<std::size_t>& by_hope,
                                            const std::vector<std::size_t>& by_mean) const {
  const auto leaves = [](const Arm& arm) { return arm.item != nullptr && arm.item->leaving; };
  const bool tried = study_.ending > 0 || std::ranges::any_of(arms_, leaves);
  std::vector<std::size_t> others = by_hope;
  std::erase_if(others,
                [&](std::size_t arm) { return arms_[arm].held > 0 && GivesUp(stage, arm); });
  for (auto worst = by_mean.rbegin(); !tried && worst != by_mean.rend(); ++worst) {
    if (arms_[*worst].held == 0 || Keeps(stage, *worst) || GivesUp(stage, *worst)) continue;
    std::erase(others, *worst);
    break;
  }
  return Stay(others);
}

bool DeadlinePlanner::Keeps(const Stage& stage, std::size_t arm) const {
  const auto place =
      static_cast<std::size_t>(std::ranges::find(stage.arms, arm) - stage.arms.begin());
  return place < stage.widths.size() && stage.widths[place] == arms_[arm].held;
}

bool DeadlinePlanner::GivesUp(const Stage& stage, std::size_t arm) const {
  return arms_[arm].hopeless && std::ranges::find(stage.arms, arm) == stage.arms.end();
}

// How many running trials would save and leave, even if only to come back at another width.
int DeadlinePlanner::Leavers(const Stage& stage) const {
  int leavers = 0;
  for (std::size_t i = 0; i < arms_.size(); ++i)
    if (arms_[i].held > 0 && !Keeps(stage, i) && !GivesUp(stage, i)) ++leavers;
  return leavers;
}

// Marks the running trials that are not worth saving. `price` is what a second of a device is
// worth.
void DeadlinePlanner::FindHopeless(double price) {
  if (study_.judged) return;
  // Until a first trial has left, leaving is assumed to take as long as a start-up.
  const double leaving_s = study_.leaving_known ? leaving_s_ : start_up_s_;
  for (Arm& arm : arms_) {
    if (arm.held == 0 || IsFixed(*arm.item)) continue;
    const double end = WorkAtEnd(arm, arm.done, 0, left_s_);
    const double gain =
        ExpectedGain(arm.forecast->At(end), kDoubt * arm.forecast->SpreadAt(end), expected_);
    arm.hopeless = gain < price * leaving_s * static_cast<double>(arm.held);
  }
}

// Device time lost by running trials that would leave: since their last reports, and while they
// save.
double DeadlinePlanner::Lost(const Stage& stage) const {
  double lost = 0;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (arms_[i].held == 0 || Keeps(stage, i)) continue;
    const double seconds = arms_[i].credit_s + (GivesUp(stage, i) ? 0 : leaving_s_);
    lost += seconds * static_cast<double>(arms_[i].held);
  }
  return lost;
}

// Makes this stage the plan. If parallelism is limited, a waiting trial that takes the place of
// another is chosen only once the other has left.
void DeadlinePlanner::Adopt(const Stage& stage) {
  int free = study_.parallelism > 0 ? study_.parallelism - study_.running
                                    : std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < stage.widths.size(); ++i) {
    const Arm& arm = arms_[stage.arms[i]];
    if (arm.item == nullptr) {
      ++fresh_;
    } else if (arm.item->running || free-- > 0) {
      chosen_.push_back({arm.item, stage.widths[i]});
    }
  }
  for (std::size_t i = 0; i < arms_.size(); ++i)
    if (GivesUp(stage, i)) given_up_.push_back(arms_[i].item->trial);
}

}  // namespace sluice
