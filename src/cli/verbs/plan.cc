#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/config_text.h"
#include "cli/earlier_runs.h"
#include "cli/study_file.h"
#include "cli/text/plan_report.h"
#include "cli/text/print.h"
#include "cli/verbs/verb.h"
#include "cli/view/simulation_progress.h"
#include "engine/read/study_keys.h"
#include "exec/carried_out.h"
#include "exec/machine/machine.h"
#include "exec/wall_clock.h"
#include "policy/policy.h"
#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {
namespace {

constexpr std::string_view kPlanHelp =
    "usage: sluice plan STUDY.yaml "
    R"([--unit-time D] [--like NAME] [--on SCENARIO.yaml] [--policy P,...]

Predicts how a study would go before it is run, under each policy that can carry it out: how long
it takes (or how good its best trial is at its deadline), how many device-hours it needs, and how
many trials end. Then advises one policy and says why. The figures come from simulated runs of the
study with several seeds. Nothing is stored, and no program is run. docs/plan.md says how far to
trust the figures.

Three things must be known: how long a unit of work takes, what a start costs, and how trials
learn. They are taken from the flags; else from the study's 'profile'; else from what a study of the
same name in the store has measured; else they are assumed. The output says where each figure comes
from. If it is not known how long a unit takes, the unit of time is the time that one trial takes
alone.

  --unit-time D     how long a unit of work takes, alone on one device: 30s, 1.5m, 200ms
  --start-up D      how long a program takes before its first step
  --workload YAML   these times and other keys of the 'workload' of a scenario (docs/simulate.md)
  --like NAME       take what is not given from this study in the store
  --trials N        plan N trials instead of the number in the file
  --on FILE         use the nodes of a scenario instead of this machine; policies that only the
                    simulator can carry out are shown too, but never advised
  --cluster NAME    one of the 'clusters' in that scenario; by default the first
  --policy P,...    compare only these policies
  --seeds N         run with the seeds 1 to N; by default 20, or fewer (at least 3) if that takes
                    more than a few seconds
  --store FILE      where to look for an earlier study
  --json            as a JSON object, with the values of every seed
  -h, --help        print this

examples:
  sluice plan study.yaml --unit-time 30s --start-up 9s
  sluice plan study.yaml --like fashion --policy fifo,lpt
  sluice plan study.yaml --unit-time 30s --on scenarios/one-box.yaml
  sluice plan study.yaml --json | jq .advised.policy
)";

struct PlanOptions {
  std::string file;  // a study file
  std::optional<int> trials;
  std::optional<std::string> on;      // a scenario, for its nodes; this machine, if not given
  std::string cluster;                // one of the scenario's; empty: the first
  std::vector<std::string> policies;  // empty: all that can run the study
  std::optional<int> seeds;
  std::optional<std::string> like;  // an earlier study to take times and curves from
  std::optional<Duration> unit_time;
  std::optional<Duration> start_up;
  std::string workload;  // YAML: keys of a scenario's workload; may be empty
};

void PlanFlags(Flags& flags, PlanOptions& options) {
  flags.Required("STUDY", options.file, "a study file, as in 'sluice plan study.yaml'");
  flags.Count("--trials", options.trials);
  flags.NotEmpty("--on", options.on, "a scenario");
  flags.Text("--cluster", options.cluster);
  flags.Check([&options]() -> Status {
    if (options.cluster.empty() || options.on) return {};
    return InvalidArgument(
        "plan: expected --on SCENARIO.yaml beside --cluster, which is one of its clusters");
  });
  flags.CommaList("--policy", options.policies);
  flags.Count("--seeds", options.seeds, kMaxSeeds);
  flags.Text("--like", options.like);
  flags.TimeSpan("--unit-time", options.unit_time);
  flags.Check([&options]() -> Status {
    if (options.unit_time == Duration(0))
      return InvalidArgument("--unit-time: expected a time above 0, found 0s");
    return {};
  });
  flags.TimeSpan("--start-up", options.start_up);
  flags.Text("--workload", options.workload);
}

constexpr int kUsualSeeds = 20;
constexpr int kLeastSeeds = 3;
// Without --seeds, no further seed is begun after this time.
constexpr std::int64_t kPatienceNs = 4'000'000'000;

// The study as 'sluice tune' would make it, with its deadline counted from now.
Result<StudySpec> ReadPlanned(const PlanOptions& options) {
  SLUICE_ASSIGN(StudyFile file, ReadStudyFile(options.file));
  StudySpec spec = std::move(file.spec);
  const auto fail = [&](ErrorCode code, const std::string& message) {
    return Fail(code, fmt::format("{}: {}", options.file, message));
  };
  if (const Status good = CheckHasEnd(spec, options.trials.has_value()); !good)
    return fail(ErrorCode::kInvalidArgument, good.error().message);
  if (options.trials) spec.trials = *options.trials;
  // A study with `transfer` needs the results of another study, and a plan has none.
  if (!spec.transfer.empty())
    return fail(ErrorCode::kFailedPrecondition, CheckCarriedOut(spec).error().message);
  if (spec.deadline_at) {
    spec.deadline_after = *spec.deadline_at - WallNow();
    if (*spec.deadline_after <= Duration(0)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("deadline: {} has passed", FormatTime(*spec.deadline_at)));
    }
    spec.deadline_at.reset();
  }
  return spec;
}

Status FindNodes(const PlanOptions& options, StudyPlan& plan) {
  if (!options.on) {
    plan.cluster = "this machine";
    plan.nodes = {InspectMachine().node};
    return {};
  }
  SLUICE_ASSIGN(const std::string text, ReadConfigText(*options.on, "a scenario file"));
  SLUICE_ASSIGN(Scenario scenario, ReadScenarioNodes(text, *options.on, options.cluster));
  plan.cluster =
      scenario.cluster.empty() ? *options.on : fmt::format("{}, {}", *options.on, scenario.cluster);
  plan.nodes = std::move(scenario.nodes);
  return {};
}

Result<GivenWorkload> ReadGiven(const PlanOptions& options, const StudySpec& spec,
                                const MeasuredWorkload& measured) {
  Workload base = DefaultWorkload(spec);
  if (measured.curve) base.curve = *measured.curve;
  GivenWorkload given{.workload = base, .keys = {}};
  if (!options.workload.empty()) {
    SLUICE_ASSIGN(given, ReadGivenWorkload(options.workload, "--workload", spec, base));
  }
  if (options.unit_time) {
    given.workload.work.seconds_per_unit = Seconds(*options.unit_time);
    given.keys.insert("unit_time");
  }
  if (options.start_up) {
    given.workload.work.start_up = *options.start_up;
    given.keys.insert("start_up");
  }
  return given;
}

// Adds a forecast to the plan for each policy that is to be simulated. A policy that cannot be goes
// to `left_out`, with the reason.
Status ChoosePolicies(const PlanOptions& options, StudyPlan& plan) {
  for (const std::string& policy : options.policies) {
    if (std::ranges::find(PolicyNames(), policy) != PolicyNames().end()) continue;
    return InvalidArgument(fmt::format("--policy: expected one of {}, found '{}'{}",
                                       Join(PolicyNames()), Shown(policy),
                                       DidYouMean(policy, PolicyNames())));
  }
  for (const std::string& policy : options.policies.empty() ? PolicyNames() : options.policies) {
    StudySpec spec = plan.assumed.study.spec;
    spec.policy = policy;
    if (const Status able = CheckPolicy(policy, spec); !able) {
      plan.left_out.push_back({policy, able.error().message});
      continue;
    }
    const Status carried_out = CheckCarriedOut(spec);
    // With --on the user wants only a forecast, so policies that only the simulator can carry out
    // are simulated too.
    if (!carried_out && !options.on) {
      plan.left_out.push_back({policy, carried_out.error().message});
      continue;
    }
    PolicyForecast& forecast = plan.forecasts.emplace_back();
    forecast.policy = policy;
    if (!carried_out) forecast.refused = carried_out.error().message;
  }
  return {};
}

// Simulates the study once, under the policy of `forecast`. If the policy cannot run the study,
// adds the policy to `left_out` with the reason, and returns false.
bool RunOnce(const Scenario& scenario, int seed, PolicyForecast& forecast, StudyPlan& plan,
             SimulationProgressLine& line) {
  const std::string doing = fmt::format("{}, seed {}", forecast.policy, seed);
  const auto result =
      Simulate(scenario, {.policy = forecast.policy,
                          .seed = static_cast<std::uint64_t>(seed),
                          .progress = [&](const SimulationProgress& at) { line.Say(doing, at); }});
  if (!result) {
    plan.left_out.push_back({forecast.policy, result.error().message});
    return false;
  }
  forecast.runs.push_back(MetricsOf(scenario, *result, /*measured=*/false));
  return true;
}

void RunSeeds(const PlanOptions& options, StudyPlan& plan) {
  Scenario scenario;
  scenario.name = plan.assumed.study.spec.name;
  scenario.nodes = plan.nodes;
  scenario.studies = {plan.assumed.study};
  SimulationProgressLine line;
  const std::int64_t began = StopwatchNs();
  // Each seed is run under all policies before the next seed begins. So all policies have the same
  // seeds when time is up.
  while (plan.seeds < options.seeds.value_or(kUsualSeeds)) {
    const bool late = StopwatchNs() - began > kPatienceNs;
    if (!options.seeds && plan.seeds >= kLeastSeeds && late) break;
    ++plan.seeds;
    std::erase_if(plan.forecasts, [&](PolicyForecast& forecast) {
      return !RunOnce(scenario, plan.seeds, forecast, plan, line);
    });
  }
}

Status CheckSomeCan(const StudyPlan& plan) {
  const auto can_run = [](const PolicyForecast& forecast) { return forecast.refused.empty(); };
  if (std::ranges::any_of(plan.forecasts, can_run)) return {};
  std::string message = "no policy that was to be compared can carry this study out:";
  for (const LeftOut& each : plan.left_out)
    message += fmt::format("\n{}: {}", each.policy, each.reason);
  for (const PolicyForecast& forecast : plan.forecasts)
    message += fmt::format("\n{}: {}", forecast.policy, forecast.refused);
  return FailedPrecondition(message);
}

Result<int> PlanAction(const Context& context, const PlanOptions& options) {
  SLUICE_ASSIGN(StudySpec spec, ReadPlanned(options));
  StudyPlan plan;
  SLUICE_TRY(FindNodes(options, plan));
  SLUICE_ASSIGN(EarlierRuns earlier, FindEarlierRuns(context.paths.database, spec, options.like));
  plan.measured_in = earlier.study;
  KnownWorkload known{.given = {}, .measured = earlier.measured, .measured_on = earlier.kind};
  SLUICE_ASSIGN(known.given, ReadGiven(options, spec, earlier.measured));
  auto assumed = Assume(std::move(spec), plan.nodes, known);
  if (!assumed)
    return Fail(assumed.error().code, fmt::format("{}: {}", options.file, assumed.error().message));
  plan.assumed = *std::move(assumed);
  plan.assumed.notes.insert(plan.assumed.notes.end(), earlier.notes.begin(), earlier.notes.end());
  if (const std::string why = WhyNowhere(plan.nodes, plan.assumed.study); !why.empty())
    return FailedPrecondition(fmt::format("{}: on {} {}", options.file, plan.cluster, why));
  SLUICE_TRY(ChoosePolicies(options, plan));
  SLUICE_TRY(CheckSomeCan(plan));
  RunSeeds(options, plan);
  SLUICE_TRY(CheckSomeCan(plan));
  Conclude(plan);
  if (context.json) {
    PrintLine(PlanJson(plan));
  } else {
    Print(PlanText(plan, context.terminal));
  }
  return kExitOk;
}

}  // namespace

Verb PlanVerb() { return MakeVerb(kPlanHelp, PlanFlags, PlanAction); }

}  // namespace sluice
