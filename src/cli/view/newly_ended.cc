#include "cli/view/newly_ended.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

constexpr std::size_t kMostNews = 20'000;

bool IsOver(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kStopped ||
         state == TrialState::kFailed;
}

}  // namespace

std::vector<TrialSummary> LatestTrials(const Study& study) {
  std::vector<TrialSummary> latest;
  const std::size_t size = study.trials.size();
  for (std::size_t i = size - std::min(size, kMostNews); i < size; ++i) {
    const Trial& trial = study.trials[i];
    if (!IsOver(trial.state) && trial.state != TrialState::kRunning) continue;
    latest.push_back({.id = trial.id,
                      .state = trial.state,
                      .work = trial.work,
                      .result = trial.result,
                      .result_work = trial.result_work,
                      .reports = static_cast<int>(trial.reports),
                      .started = trial.launch.started,
                      .ended = trial.ended,
                      .busy = trial.busy,
                      .note = trial.note});
  }
  return latest;
}

Result<std::vector<TrialSummary>> LatestTrials(Reader& reader, StudyId study) {
  SLUICE_ASSIGN(std::vector<TrialSummary> latest, reader.LatestTrials(study, kMostNews));
  std::ranges::reverse(latest);
  return latest;
}

NewlyEnded::NewlyEnded() : begun_(WallNow()) {}

std::vector<TrialSummary> NewlyEnded::Take(std::vector<TrialSummary> latest) {
  std::erase_if(latest, [this](const TrialSummary& trial) {
    const std::size_t number = Number(trial.id);
    if (told_.size() <= number) told_.resize(std::max(number + 1, told_.size() * 2));
    const bool over = IsOver(trial.state);
    const bool news = over && !told_[number] && trial.ended >= begun_;
    told_[number] = over;
    return !news;
  });
  return latest;
}

std::string FailedText(const TrialSummary& trial) {
  const std::string text = fmt::format("trial {} failed", Number(trial.id));
  return trial.note.empty() ? text : fmt::format("{}: {}", text, FirstLine(trial.note));
}

}  // namespace sluice
