#include "cli/view/live_view.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {

LiveView::LiveView(int output)
    : region_(output, [this](const LiveRegion::Size& size) {
        if (!latest_) return std::vector<std::string>{};
        return RenderProgress(*latest_, size.columns, size.rows, size.colour, size.utf8);
      }) {}

LiveView::~LiveView() { LiveView::Finish(); }

bool LiveView::WantsTrials(const Progress& progress) const {
  return progress.count(TrialState::kFailed) > failed_;
}

void LiveView::Take(Progress progress, std::vector<TrialSummary> latest) {
  failed_ = progress.count(TrialState::kFailed);
  TellFailed(std::move(latest));
  latest_ = std::move(progress);
  region_.Show(latest_->now);
}

void LiveView::TellFailed(std::vector<TrialSummary> latest) {
  int told = 0;
  for (const TrialSummary& trial : ended_.Take(std::move(latest))) {
    if (trial.state == TrialState::kFailed && ++told <= kMostLines) Say(FailedText(trial));
  }
  if (told > kMostLines) Say(fmt::format("and {} more trials failed", told - kMostLines));
}

}  // namespace sluice
