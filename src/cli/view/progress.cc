#include "cli/view/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Measures how many trials end per minute, and how long trials take. The caller adds the latest
// trials, newest first.
class Pace {
 public:
  static constexpr std::size_t kLookBack = 20'000;

  explicit Pace(Time now) : now_(now) {}

  void Add(TrialState state, Time ended, Duration busy) {
    const bool over = state == TrialState::kComplete || state == TrialState::kStopped ||
                      state == TrialState::kFailed;
    if (over) {
      for (std::size_t i = 0; i < kWindows.size(); ++i) {
        if (ended > now_ - kWindows[i]) ++in_window_[i];
      }
      ++over_;
    }
    const bool typical = (over && state != TrialState::kFailed) || state == TrialState::kPaused;
    if (typical && timed_ < kTimed) {
      busy_ += busy;
      ++timed_;
    }
  }

  // The mean over the shortest window in which enough trials have ended.
  std::optional<double> TrialsPerMinute(Duration elapsed) const {
    constexpr int kEnough = 5;
    if (over_ == 0 || elapsed <= Duration(0)) return std::nullopt;
    for (std::size_t i = 0; i < kWindows.size(); ++i) {
      if (in_window_[i] >= kEnough)
        return in_window_[i] * 60 / Seconds(std::min(kWindows[i], elapsed));
    }
    return over_ * 60 / Seconds(elapsed);
  }

  std::optional<Duration> TypicalBusy() const {
    if (timed_ == 0) return std::nullopt;
    return busy_ / timed_;
  }

 private:
  static constexpr int kTimed = 64;
  static constexpr std::array<Duration, 4> kWindows = {minutes(1), minutes(5), minutes(30),
                                                       hours(4)};
  Time now_;
  std::array<int, 4> in_window_{};
  int over_ = 0;
  Duration busy_{0};
  int timed_ = 0;
};

struct RunningTime {
  Duration busy{0};
  Work work = 0;
  std::optional<Work> target;
};

// Work and time of the trials of a population, which all train to the full budget, as in PBT.
struct Population {
  Work full = 0;  // the budget; 0: there is no population
  // Work of the trials that were not stopped and did not fail, including work inherited by forks.
  double done = 0;
  double left = 0;   // work that these trials still have to do
  Duration busy{0};  // of all trials, including those that forks have replaced

  void Add(TrialState state, Work work, Duration its_busy) {
    busy += its_busy;
    if (state == TrialState::kStopped || state == TrialState::kFailed) return;
    done += static_cast<double>(std::min(work, full));
    left += static_cast<double>(std::max<Work>(full - work, 0));
  }

  // Assumes that a unit of work takes as long as it did so far, and that the work left is divided
  // evenly among the running trials.
  std::optional<Duration> TimeLeft(int running, int to_make) const {
    if (done <= 0) return std::nullopt;
    const double total = left + static_cast<double>(full) * to_make;
    const double seconds = total * Seconds(busy) / done / running;
    return Duration(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e6));
  }
};

// The full budget if the trials are a population; else 0.
Work PopulationBudget(const StopperSpec& stopper) {
  return IsPopulation(stopper.name) ? stopper.max_budget : 0;
}

// How long a trial takes, estimated from running trials that have reported some of their work.
std::optional<Duration> ExpectedBusy(const std::vector<RunningTime>& running) {
  double seconds = 0;
  int seen = 0;
  for (const RunningTime& trial : running) {
    if (trial.work <= 0 || !trial.target) continue;
    const double fraction =
        static_cast<double>(trial.work) / static_cast<double>(std::max(*trial.target, trial.work));
    seconds += Seconds(trial.busy) / fraction;
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  return Duration(static_cast<std::int64_t>(std::min(seconds / seen, 1e9) * 1e6));
}

// The time until the last trial ends, if the time that all trials still need is divided evenly
// among the running trials.
std::optional<Duration> TimeLeft(const Pace& pace, const std::vector<RunningTime>& running,
                                 int running_count, int to_start) {
  if (running.empty()) return std::nullopt;
  auto typical = pace.TypicalBusy();
  if (!typical) typical = ExpectedBusy(running);
  if (!typical) return std::nullopt;
  const double typical_s = Seconds(*typical);
  double total_s = 0;
  double longest_s = 0;
  for (const RunningTime& trial : running) {
    // A trial that has run longer than usual may end at any time. A tenth of the usual time is a
    // guess.
    const double left_s = std::max(typical_s - Seconds(trial.busy), typical_s / 10);
    total_s += left_s;
    longest_s = std::max(longest_s, left_s);
  }
  const double mean_s = total_s / static_cast<double>(running.size());
  const double all_s = std::max(mean_s + typical_s * to_start / running_count, longest_s);
  return Duration(static_cast<std::int64_t>(std::min(all_s, 1e9) * 1e6));
}

void SetTimeLeft(Progress& progress, const Pace& pace, const Population& population,
                 const std::vector<RunningTime>& running, int to_start) {
  progress.trials_per_minute = pace.TrialsPerMinute(progress.elapsed);
  if (progress.finished || progress.ending || progress.paused) return;
  const int at_once = std::max(1, progress.count(TrialState::kRunning));
  if (population.full > 0) {
    const int to_make = std::max(0, to_start - progress.count(TrialState::kWaiting));
    progress.left = population.TimeLeft(at_once, to_make);
  } else {
    progress.left = TimeLeft(pace, running, at_once, to_start);
  }
  if (progress.deadline == kNever) return;
  const Duration until = std::max(progress.deadline - progress.now, Duration(0));
  progress.left_is_deadline = !progress.left || *progress.left > until;
  if (progress.left_is_deadline) progress.left = until;
}

Params ParamsAt(const Space& space, const Point& point) {
  Params params;
  for (std::size_t i = 0; i < space.size() && i < point.size(); ++i) {
    if (std::isnan(point[i])) continue;
    params.emplace_back(space.parameters()[i].name, space.ValueAt(point, i));
  }
  return params;
}

}  // namespace

int Progress::to_start() const {
  int made = 0;
  for (const int count : counts) made += count;
  return std::max(0, trials_wanted - made) + count(TrialState::kWaiting);
}

StudyState Progress::state() const {
  if (finished) return StudyState::kFinished;
  if (paused) return StudyState::kPaused;
  return ending ? StudyState::kEnding : StudyState::kRunning;
}

int Progress::done() const { return TrialsDone(counts); }

Progress MakeProgress(const Study& study, Time now) {
  Progress progress;
  progress.study = study.spec.name;
  progress.unit = study.spec.unit;
  progress.metric = study.spec.objective.metric;
  progress.maximize = study.spec.objective.direction == Direction::kMaximize;
  progress.trials_wanted = study.trials_wanted + study.forks;
  progress.counts = study.counts;
  progress.now = now;
  progress.created = study.created;
  progress.deadline = study.deadline;
  progress.ending = study.ending != Finish::kNot;
  progress.finished = study.finished;
  if (progress.ending) progress.reason = Name(study.ending);
  progress.elapsed = std::max(now - study.created, Duration(0));
  if (IsSet(study.best)) {
    const Trial& best = study.trial(study.best);
    progress.best = {best.id, best.result, best.result_work,
                     ParamsAt(study.spec.space, best.point)};
  }

  std::vector<RunningTime> running;
  for (const TrialId id : study.running) {
    if (running.size() == kMaxRunningKept) break;
    const Trial& trial = study.trial(id);
    const auto target = trial.target == kNoLimit ? std::nullopt : std::optional(trial.target);
    progress.running.push_back({trial.id, trial.work, target, trial.value, trial.reports > 0,
                                trial.launch.started, ParamsAt(study.spec.space, trial.point)});
    running.push_back(
        {trial.busy + std::max(now - trial.launch.started, Duration(0)), trial.work, target});
  }

  Pace pace(now);
  Population population{.full = PopulationBudget(study.spec.stopper)};
  const std::size_t first = study.trials.size() - std::min(study.trials.size(), Pace::kLookBack);
  std::int64_t reports = 0;
  for (std::size_t i = study.trials.size(); i-- > first;) {
    const Trial& trial = study.trials[i];
    const bool runs = trial.state == TrialState::kRunning;
    const Duration under_way =
        runs ? std::max(now - trial.launch.started, Duration(0)) : Duration(0);
    pace.Add(trial.state, trial.ended, trial.busy);
    population.Add(trial.state, trial.work, trial.busy + under_way);
    reports += trial.reports;
  }
  if (first == 0) progress.reports = reports;
  SetTimeLeft(progress, pace, population, running,
              study.exhausted ? study.count(TrialState::kWaiting) : progress.to_start());
  return progress;
}

Result<Progress> MakeProgress(Reader& reader, const StudyInfo& study, Time now) {
  Progress progress;
  progress.study = study.name;
  progress.unit = study.unit;
  progress.metric = study.metric;
  progress.maximize = study.maximize;
  progress.trials_wanted = study.trials;
  progress.counts = study.counts;
  progress.now = now;
  progress.created = study.created;
  progress.deadline = study.deadline;
  progress.finished = study.finished;
  progress.ending = study.ending != Name(Finish::kNot);
  progress.paused = !study.finished && !study.open && study.count(TrialState::kRunning) == 0;
  progress.reason = progress.ending ? study.ending : study.pause;
  progress.elapsed = std::max((study.finished ? study.updated : now) - study.created, Duration(0));
  if (IsSet(study.best)) {
    SLUICE_ASSIGN(const TrialInfo best, reader.FindTrial(study, study.best));
    progress.best = {best.id, best.result, best.result_work, ParamsFromJson(best.params)};
  }

  SLUICE_ASSIGN(std::vector<TrialInfo> trials, reader.Trials(study.id, TrialState::kRunning));
  std::ranges::stable_sort(trials, {}, &TrialInfo::started);
  std::vector<RunningTime> running;
  for (const TrialInfo& trial : trials) {
    if (running.size() == kMaxRunningKept) break;
    progress.running.push_back({trial.id, trial.work, trial.target, trial.value, trial.reports > 0,
                                trial.started, ParamsFromJson(trial.params)});
    running.push_back(
        {trial.busy + std::max(now - trial.started, Duration(0)), trial.work, trial.target});
  }

  Pace pace(now);
  Population population;
  if (const auto source = reader.Source(study.id)) {
    if (const auto spec = ReadStudy(*source, study.name, study.name)) {
      population.full = PopulationBudget(spec->stopper);
      progress.waits_for = WaitsFor(reader, study, spec->transfer);
    }
  }
  SLUICE_ASSIGN(const std::vector<TrialSummary> latest,
                reader.LatestTrials(study.id, Pace::kLookBack));
  std::int64_t reports = 0;
  for (const TrialSummary& trial : latest) {
    const bool runs = trial.state == TrialState::kRunning;
    const Duration under_way = runs ? std::max(now - trial.started, Duration(0)) : Duration(0);
    pace.Add(trial.state, trial.ended, trial.busy);
    population.Add(trial.state, trial.work, trial.busy + under_way);
    reports += trial.reports;
  }
  if (latest.size() < Pace::kLookBack) progress.reports = reports;
  SetTimeLeft(progress, pace, population, running, progress.to_start());
  return progress;
}

}  // namespace sluice
