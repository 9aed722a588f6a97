#include "cli/view/stored_view.h"

#include <utility>
#include <vector>

#include "cli/view/newly_ended.h"
#include "exec/wall_clock.h"

namespace sluice {

Result<bool> RefreshPace::IsDue(Reader& reader) {
  constexpr int kMostOften = 20;
  const Duration since = WallNow() - shown_;
  // The clock may have been set back.
  if (since >= Duration(0) && since < took_ * kMostOften) return false;
  SLUICE_ASSIGN(const std::int64_t version, reader.Version());
  return version != version_ || since < Duration(0) || since >= std::chrono::seconds(1);
}

Result<Time> RefreshPace::Begin(Reader& reader) {
  began_ = std::chrono::steady_clock::now();
  SLUICE_ASSIGN(version_, reader.Version());
  shown_ = WallNow();
  return shown_;
}

void RefreshPace::End() {
  took_ = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began_);
}

Result<StudyInfo> StoredView::Refresh() {
  SLUICE_ASSIGN(const bool is_due, pace_.IsDue(reader_));
  return is_due ? Show() : seen_;
}

Result<StudyInfo> StoredView::Show() {
  SLUICE_ASSIGN(const Time now, pace_.Begin(reader_));
  SLUICE_ASSIGN(seen_, reader_.FindStudy(study_));
  SLUICE_ASSIGN(Progress progress, MakeProgress(reader_, seen_, now));
  std::vector<TrialSummary> latest;
  if (view_.WantsTrials(progress)) {
    SLUICE_ASSIGN(latest, LatestTrials(reader_, seen_.id));
  }
  view_.Show(std::move(progress), std::move(latest));
  pace_.End();
  return seen_;
}

}  // namespace sluice
