#include "cli/view/view.h"

#include <utility>

#include "cli/view/newly_ended.h"

namespace sluice {

void View::Tick(const Study& study, Time now) {
  Progress progress = MakeProgress(study, now);
  auto latest = WantsTrials(progress) ? LatestTrials(study) : std::vector<TrialSummary>{};
  Show(std::move(progress), std::move(latest));
}

void View::Show(Progress progress, std::vector<TrialSummary> latest) {
  progress.reports_per_second = rate_.Add(progress.now, progress.reports);
  Take(std::move(progress), std::move(latest));
}

}  // namespace sluice
