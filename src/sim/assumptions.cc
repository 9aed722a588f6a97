#include "sim/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cluster/width.h"

namespace sluice {
namespace {

// These values are chosen, not measured. A user who knows better values gives them.
constexpr double kSpread = 0.2;
constexpr Duration kMostStartUp = std::chrono::seconds(10);
constexpr double kHalfWork = 0.25;  // of a trial's length
constexpr Work kReportsOfATrial = 1000;

constexpr double kLongestTrialSeconds = 100.0 * 366 * 86400;

// Times below a minute are shown with fractions of seconds.
std::string InTime(double seconds) {
  return seconds < 60 ? fmt::format("{:.3g}s", seconds) : FormatDuration(FromSeconds(seconds));
}

class Assuming {
 public:
  Assuming(StudySpec spec, const std::vector<Node>& nodes, const KnownWorkload& known)
      : nodes_(nodes), known_(known), given_(known.given), work_(made_.study.workload) {
    made_.study.spec = std::move(spec);
    made_.study.workload = given_.workload.work;
    made_.study.curve = given_.workload.curve;
  }

  Result<AssumedStudy> Make() {
    SLUICE_TRY(TakeLength());
    TakeKind();
    TakeWidths();
    SLUICE_TRY(TakeUnitTime());
    TakeSpread();
    TakeStartUp();
    TakeReportEvery();
    TakeShare();
    TakeCurve();
    LeaveOut();
    SLUICE_TRY(CheckSize());
    return std::move(made_);
  }

 private:
  StudySpec& spec() { return made_.study.spec; }
  const MeasuredWorkload& measured() const { return known_.measured; }

  void Say(std::string key, std::string what, std::string value, Origin origin) {
    made_.assumptions.push_back({std::move(key), std::move(what), std::move(value), origin});
  }
  std::string Units(Work work) {
    return fmt::format("{} {}{}", work, spec().unit, work == 1 ? "" : "s");
  }

  // How far a trial goes.
  Status TakeLength() {
    const Work most = spec().stopper.max_budget;
    if (given_.Has("ends_after")) {
      length_ = std::min(most, work_.ends_after);
      Say("ends_after", "a trial ends after", Units(length_), Origin::kGiven);
    } else if (most != kNoLimit) {
      length_ = most;
      Say("ends_after", "a trial ends after", Units(length_), Origin::kStudyFile);
    } else if (measured().length) {
      length_ = work_.ends_after = *measured().length;
      Say("ends_after", "a trial ends after", Units(length_), Origin::kMeasured);
    } else if (spec().stopper.name != "none") {
      return InvalidArgument(fmt::format(
          "nothing says how far trials go, and the stopper {} judges them on the way: give "
          "--workload '{{ends_after: 27}}', or add 'budget: {{max: 27}}' to the study",
          spec().stopper.name));
    } else {
      length_ = work_.ends_after = 1;
      Say("ends_after", "a trial ends after", Units(1), Origin::kAssumed);
    }
    return {};
  }

  // The kind of device for which the times are stated.
  void TakeKind() {
    if (given_.Has("on") || spec().demand.gpus == 0) return;
    std::vector<std::string> kinds;
    for (const Node& node : nodes_) {
      for (const Device& device : node.devices) kinds.push_back(device.kind);
    }
    if (!kinds.empty()) work_.on = kinds.front();
    if (given_.Has("unit_time")) return;
    const auto timed = [](const KindProfile& profile) { return profile.seconds_per_unit > 0; };
    const auto here = [&](const KindProfile& profile) {
      return timed(profile) && std::ranges::find(kinds, profile.kind) != kinds.end();
    };
    const auto& profiles = spec().profile;
    auto found = std::ranges::find_if(profiles, here);
    if (found == profiles.end()) found = std::ranges::find_if(profiles, timed);
    if (found != profiles.end()) {
      work_.on = found->kind;
    } else if (measured().seconds_per_unit && !known_.measured_on.empty()) {
      work_.on = known_.measured_on;
    }
  }

  // How much faster a trial becomes with more devices, if it can use them.
  void TakeWidths() {
    const Demand& demand = spec().demand;
    if (demand.most == 0) return;
    if (!given_.Has("widths")) work_.widths = *WidthTable("resnet50");
    const double most = static_cast<double>(MostWidth(demand)) / kWhole;
    Say("widths", fmt::format("{} {} are", most, demand.gpus > 0 ? "GPUs" : "cores"),
        fmt::format("{:.3g} times as quick as one", work_.widths.At(most)),
        given_.Has("widths") ? Origin::kGiven : Origin::kAssumed);
  }

  // Sets the time of a unit and returns its origin; nullopt if no source has the time.
  std::optional<Origin> FindUnitTime() {
    if (given_.Has("unit_time")) return Origin::kGiven;
    const auto profile = std::ranges::find_if(spec().profile, [&](const KindProfile& each) {
      return each.kind == work_.on && each.seconds_per_unit > 0;
    });
    if (profile != spec().profile.end()) {
      work_.seconds_per_unit = profile->seconds_per_unit;
      for (const KindProfile& other : spec().profile) {
        if (other.seconds_per_unit > 0 && !given_.Has("speeds"))
          work_.speeds[other.kind] = profile->seconds_per_unit / other.seconds_per_unit;
      }
      return Origin::kStudyFile;
    }
    if (!measured().seconds_per_unit) return std::nullopt;
    // Trials that can have several widths are assumed to have run at OneDevice. Their time at that
    // width, multiplied by the speed-up there, is the time on one device.
    const double width = static_cast<double>(OneDevice(spec().demand)) / kWhole;
    const double quicker = spec().demand.most > 0 ? work_.widths.At(std::max(1.0, width)) : 1;
    work_.seconds_per_unit = *measured().seconds_per_unit * quicker;
    return Origin::kMeasured;
  }

  Status TakeUnitTime() {
    const std::optional<Origin> origin = FindUnitTime();
    if (!origin) return TakeNoTime();
    std::string value = InTime(work_.seconds_per_unit);
    if (!work_.on.empty()) value += " on " + work_.on;
    if (origin == Origin::kMeasured && measured().with_start_up) value += ", start-up included";
    Say("unit_time", "a unit of work takes", value, *origin);
    return {};
  }

  // It is not known how long a unit of work takes. So times are counted in durations of one trial
  // that runs alone.
  Status TakeNoTime() {
    constexpr std::string_view kGive =
        "give --unit-time 30s, the time of a unit of work, or --like NAME, an earlier study that "
        "measured it";
    if (spec().deadline_after) {
      return InvalidArgument(fmt::format(
          "the study has a deadline, and nothing says how much is done by then: {}", kGive));
    }
    for (const char* key : {"start_up", "save", "restore"}) {
      if (given_.Has(key)) {
        return InvalidArgument(fmt::format(
            "a time for {} has no meaning while the time of a unit of work is not known: {}", key,
            kGive));
      }
    }
    made_.in_trials = true;
    work_.seconds_per_unit = Seconds(kOneTrial) / static_cast<double>(length_);
    spec().timeouts.trial = spec().timeouts.report = Duration(0);
    Say("unit_time", "a unit of work takes",
        "an unknown time: all times are in durations of one trial", Origin::kAssumed);
    return {};
  }

  void TakeSpread() {
    Origin origin = Origin::kGiven;
    if (!given_.Has("spread")) {
      origin = measured().spread ? Origin::kMeasured : Origin::kAssumed;
      work_.spread = std::min(measured().spread.value_or(kSpread), 3.0);
    }
    Say("spread", "the time of a unit differs between trials by",
        fmt::format("{:.2g} % (standard deviation of its logarithm)", work_.spread * 100), origin);
  }

  void TakeStartUp() {
    if (made_.in_trials) {
      made_.notes.emplace_back(
          "starting up, saving and restoring take no time here: policies that move trials look "
          "better than they are");
      return;
    }
    Origin origin = Origin::kGiven;
    if (!given_.Has("start_up")) {
      origin = measured().start_up ? Origin::kMeasured : Origin::kAssumed;
      // A program that works in milliseconds does not take seconds to start.
      const Duration assumed = std::min(kMostStartUp, FromSeconds(work_.seconds_per_unit));
      work_.start_up = measured().start_up.value_or(assumed);
    }
    Say("start_up", "a start takes", InTime(Seconds(work_.start_up)), origin);
    const bool saves = given_.Has("save") || given_.Has("restore");
    Say("save", "saving and restoring take",
        fmt::format("{} and {}", InTime(Seconds(work_.save)), InTime(Seconds(work_.restore))),
        saves ? Origin::kGiven : Origin::kAssumed);
  }

  void TakeReportEvery() {
    Origin origin = Origin::kGiven;
    if (!given_.Has("report_every")) {
      origin = measured().report_every ? Origin::kMeasured : Origin::kAssumed;
      work_.report_every =
          measured().report_every.value_or(std::max<Work>(1, length_ / kReportsOfATrial));
    }
    Say("report_every", "trials report every", Units(work_.report_every), origin);
  }

  // How much of a GPU a trial uses.
  void TakeShare() {
    const Demand& demand = spec().demand;
    if (!given_.Has("memory")) work_.memory_bytes = demand.memory_bytes;
    work_.fused_bytes = demand.fused_bytes > 0 ? std::min(demand.fused_bytes, work_.memory_bytes)
                                               : work_.memory_bytes;
    if (demand.gpus == 0) return;
    Origin origin = given_.Has("busy") ? Origin::kGiven : Origin::kAssumed;
    if (origin == Origin::kAssumed && demand.kinds != nullptr) {
      origin = Origin::kStudyFile;
      for (const KindNeed& need : *demand.kinds)
        work_.busy_on[need.kind] = static_cast<double>(need.need.gpus) / kWhole;
    }
    // A trial is assumed to use what it asks for.
    if (origin != Origin::kGiven) {
      const double asked = static_cast<double>(NeedOn(demand, work_.on).gpus) / kWhole;
      work_.busy = std::min(1.0, asked);
    }
    if (!given_.Has("bandwidth"))
      work_.bandwidth = static_cast<double>(NeedOn(demand, work_.on).bandwidth) / kWhole;
    Say("busy", "a trial keeps busy", fmt::format("{:.3g} % of a GPU", work_.busy * 100), origin);
  }

  void TakeCurve() {
    CurveSpec& curve = made_.study.curve;
    Origin origin = Origin::kGiven;
    if (!given_.Has("curve")) {
      origin = measured().curve ? Origin::kMeasured : Origin::kAssumed;
      if (measured().curve) curve = *measured().curve;
    }
    if (!measured().curve && !given_.Has("curve.half_work"))
      curve.half_work = std::max(1e-3, kHalfWork * static_cast<double>(length_));
    made_.knows_curve = origin != Origin::kAssumed;
    Say("curve", fmt::format("{} goes", spec().objective.metric),
        curve.family == "power"
            ? fmt::format("from {:.4g} to {:.4g}, half way at {:.3g} {}s, noise {:.2g} %",
                          curve.start, curve.best, curve.half_work, spec().unit, curve.noise * 100)
            : "as in HyperSched's evaluation",
        origin);
  }

  void LeaveOut() {
    const auto foreign = [&](const StopAt& goal) {
      return !made_.knows_curve || goal.metric != spec().objective.metric;
    };
    if (std::erase_if(spec().stop_at, foreign) > 0) {
      made_.notes.emplace_back(
          made_.knows_curve ? "stop_at of another metric than the objective does not count"
                            : "stop_at does not count: nothing is known of how trials learn");
    }
    if (spec().warm_start)
      made_.notes.emplace_back("warm_start does not count: the sampler begins knowing nothing");
    if (spec().deadline_after && !made_.knows_curve) {
      made_.notes.push_back(
          fmt::format("how trials learn is assumed: compare values of {} between policies, and do "
                      "not expect them in your study",
                      spec().objective.metric));
    }
  }

  Status CheckSize() const {
    if (length_ / work_.report_every > kMostReportsOfATrial) {
      return InvalidArgument(fmt::format(
          "expected at most {} reports of a trial, found {}: give --workload "
          "'{{report_every: {}}}'",
          kMostReportsOfATrial, length_ / work_.report_every, length_ / kMostReportsOfATrial + 1));
    }
    if (static_cast<double>(length_) * work_.seconds_per_unit > kLongestTrialSeconds) {
      return InvalidArgument(
          fmt::format("a trial would take longer than 100 years: {} units of {} each", length_,
                      InTime(work_.seconds_per_unit)));
    }
    return {};
  }

  const std::vector<Node>& nodes_;
  const KnownWorkload& known_;
  const GivenWorkload& given_;
  AssumedStudy made_;
  WorkloadSpec& work_;
  Work length_ = 0;
};

}  // namespace

Result<AssumedStudy> Assume(StudySpec study, const std::vector<Node>& nodes,
                            const KnownWorkload& known) {
  return Assuming(std::move(study), nodes, known).Make();
}

}  // namespace sluice
