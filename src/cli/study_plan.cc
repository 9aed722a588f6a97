#include "cli/study_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "cli/text/estimate_text.h"

namespace sluice {
namespace {

// A policy whose makespan is shorter by at most this fraction counts as no better. So the simpler
// policy is advised.
constexpr double kLeastGain = 0.01;

// Says how much sooner or better the policy `one` is than the policy `other`. Both are indices of
// contenders.
std::string Ahead(const StudyPlan& plan, std::size_t one, std::size_t other) {
  const auto mean = [&](std::size_t contender, const OfRun& value) {
    return EstimateOf(ValuesOf(plan.contender(contender), value)).mean;
  };
  if (plan.by_value) {
    return fmt::format("has {} {} for {} at the deadline", plan.spec().objective.metric,
                       InNumber(mean(one, BestAtDeadline)), InNumber(mean(other, BestAtDeadline)));
  }
  return fmt::format("ends {:.2g}x sooner",
                     mean(other, Makespan(plan)) / mean(one, Makespan(plan)));
}

// Whether two runs have the same figures, of those that 'sluice plan' prints.
bool SameFigures(const RunMetrics& one, const RunMetrics& other) {
  const StudyMetrics& a = one.studies.front();
  const StudyMetrics& b = other.studies.front();
  const bool same_best = a.best_at_deadline == b.best_at_deadline ||
                         (std::isnan(a.best_at_deadline) && std::isnan(b.best_at_deadline));
  return one.makespan_seconds == other.makespan_seconds &&
         one.device_seconds == other.device_seconds && one.core_seconds == other.core_seconds &&
         a.complete == b.complete && a.stopped == b.stopped && a.failed == b.failed && same_best;
}

std::string DifferenceText(const StudyPlan& plan, double difference) {
  return plan.by_value ? InNumber(difference) : TimeText(plan, difference);
}

std::string Chosen(const StudyPlan& plan) {
  const Advice& advice = plan.advice;
  const std::string& advised = plan.contender(advice.advised).policy;
  const std::string& baseline = plan.contender(advice.baseline).policy;
  if (advice.advised != advice.baseline) {
    const Estimate& gain = advice.beside[advice.advised].gain;
    return fmt::format(
        "{} {} than {}: over pairs of runs with the same seed the difference is {} (95 % interval "
        "{} to {}), which excludes zero.",
        advised, Ahead(plan, advice.advised, advice.baseline), baseline,
        DifferenceText(plan, gain.mean), DifferenceText(plan, gain.mean - gain.half_width),
        DifferenceText(plan, gain.mean + gain.half_width));
  }
  if (plan.contenders.size() == 1) {
    return plan.forecasts.size() == 1
               ? fmt::format("{} is the only policy that was compared.", advised)
               : fmt::format("{} is the simplest, and all others give the same result.", advised);
  }
  if (plan.seeds == 1)
    return fmt::format("{} is the simplest, and one seed does not show the noise.", advised);
  const bool some_cannot = std::ranges::any_of(
      plan.forecasts, [](const PolicyForecast& forecast) { return !forecast.refused.empty(); });
  return fmt::format("{} is the simplest, and no policy{} {} by more than the noise of {} seeds{}.",
                     advised, some_cannot ? " that can run" : "",
                     plan.by_value ? "gets further by the deadline" : "ends sooner", plan.seeds,
                     plan.by_value ? "" : " and 1 %");
}

}  // namespace

double BestAtDeadline(const RunMetrics& run) { return run.studies.front().best_at_deadline; }
OfRun OfTrials(int StudyMetrics::* member) {
  return [=](const RunMetrics& run) { return static_cast<double>(run.studies.front().*member); };
}
OfRun Makespan(const StudyPlan& plan) {
  const double unit = plan.assumed.in_trials ? Seconds(kOneTrial) : 1;
  return [=](const RunMetrics& run) { return run.makespan_seconds / unit; };
}
OfRun DeviceTime(const StudyPlan& plan) {
  const double unit = plan.assumed.in_trials ? Seconds(kOneTrial) : 3600.0;
  const bool devices = plan.on_devices();
  return [=](const RunMetrics& run) {
    return (devices ? run.device_seconds : run.core_seconds) / unit;
  };
}

std::vector<double> ValuesOf(const PolicyForecast& forecast, const OfRun& value) {
  std::vector<double> values;
  for (const RunMetrics& run : forecast.runs) values.push_back(value(run));
  return values;
}

std::string TimeText(const StudyPlan& plan, double time) {
  return plan.assumed.in_trials ? fmt::format("{:.3g}", time) : InTime(time);
}

std::string OriginText(const StudyPlan& plan, Origin origin) {
  switch (origin) {
    case Origin::kAssumed: return "assumed";
    case Origin::kMeasured: return fmt::format("measured in study {}", plan.measured_in);
    case Origin::kStudyFile: return "study file";
    case Origin::kGiven: return "given";
  }
  return "";
}

void Conclude(StudyPlan& plan) {
  const StudySpec& spec = plan.spec();
  for (std::size_t i = 0; i < plan.forecasts.size(); ++i) {
    PolicyForecast& forecast = plan.forecasts[i];
    const auto same = std::ranges::find_if(plan.contenders, [&](std::size_t other) {
      const PolicyForecast& before = plan.forecasts[other];
      const bool stands_for = before.refused.empty() || !forecast.refused.empty();
      return stands_for && std::ranges::equal(before.runs, forecast.runs, SameFigures);
    });
    if (same != plan.contenders.end()) {
      forecast.same_as = *same;
    } else {
      plan.contenders.push_back(i);
    }
  }
  // If all runs end before the deadline, policies are compared by makespan.
  const auto cut_off = [](const RunMetrics& run) { return run.studies.front().cut_off; };
  plan.by_value = std::ranges::any_of(plan.forecasts, [&](const PolicyForecast& forecast) {
    return std::ranges::any_of(forecast.runs, cut_off);
  });
  std::vector<Contender> contenders;
  for (const std::size_t i : plan.contenders) {
    const PolicyForecast& forecast = plan.forecasts[i];
    std::vector<double> losses =
        ValuesOf(forecast, plan.by_value ? OfRun(BestAtDeadline) : Makespan(plan));
    if (plan.by_value) {
      for (double& loss : losses) loss = spec.objective.Loss(loss);
    }
    contenders.push_back({.policy = forecast.policy,
                          .losses = std::move(losses),
                          .can_run = forecast.refused.empty()});
  }
  plan.advice = Advise(contenders, {.least_gain = plan.by_value ? 0 : kLeastGain});
}

std::vector<std::string> Reasons(const StudyPlan& plan) {
  const Advice& advice = plan.advice;
  std::vector<std::string> reasons = {Chosen(plan)};
  std::vector<std::string> as_good;
  for (const std::size_t i : advice.as_good) as_good.push_back(plan.contender(i).policy);
  if (!as_good.empty() && plan.seeds > 1) {
    reasons.push_back(fmt::format("{} {} as well, as far as {} seeds can tell.", Join(as_good),
                                  as_good.size() == 1 ? "does" : "do", plan.seeds));
  }
  if (advice.only_in_sim) {
    reasons.push_back(fmt::format("{} {}, but it is only simulated yet: 'sluice tune' refuses it.",
                                  plan.contender(*advice.only_in_sim).policy,
                                  Ahead(plan, *advice.only_in_sim, advice.advised)));
  }
  if (plan.spec().deadline_after && !plan.by_value)
    reasons.emplace_back("All end before the deadline, so policies are compared by makespan.");
  return reasons;
}

}  // namespace sluice
