#include "cli/view/stored_view.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/view/newly_ended.h"
#include "exec/wall_clock.h"

namespace sluice {

Result<StudyInfo> StoredView::Refresh() {
  constexpr int kMostOften = 20;
  const Duration since = WallNow() - shown_;
  // The clock may have been set back.
  if (since >= Duration(0) && since < took_ * kMostOften) return seen_;
  SLUICE_ASSIGN(const std::int64_t version, reader_.Version());
  const bool is_due = since < Duration(0) || since >= std::chrono::seconds(1);
  return version == version_ && !is_due ? seen_ : Show();
}

Result<StudyInfo> StoredView::Show() {
  const auto began = std::chrono::steady_clock::now();
  SLUICE_ASSIGN(version_, reader_.Version());
  shown_ = WallNow();
  SLUICE_ASSIGN(seen_, reader_.FindStudy(study_));
  SLUICE_ASSIGN(Progress progress, MakeProgress(reader_, seen_, shown_));
  std::vector<TrialSummary> latest;
  if (view_.WantsTrials(progress)) {
    SLUICE_ASSIGN(latest, LatestTrials(reader_, seen_.id));
  }
  view_.Show(std::move(progress), std::move(latest));
  took_ = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began);
  return seen_;
}

}  // namespace sluice
