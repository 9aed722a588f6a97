#include "cli/view/studies/running_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/view/look_on.h"

namespace sluice {

Status RunningStudies::Refresh() {
  SLUICE_ASSIGN(const bool is_due, pace_.IsDue(reader_));
  return is_due ? Show() : Status{};
}

Status RunningStudies::Show() {
  SLUICE_ASSIGN(const Time now, pace_.Begin(reader_));
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, reader_.Studies());
  ForgetDeleted(studies);
  for (const StudyInfo& study : studies) SLUICE_TRY(Take(study, now));
  // Those that are over stay in the order in which they ended.
  std::ranges::stable_partition(seen_, [](const SeenStudy& study) { return !study.is_over; });
  view_.Show(seen_, now);
  pace_.End();
  return {};
}

Status RunningStudies::Take(const StudyInfo& study, Time now) {
  const auto known = std::ranges::find(seen_, study.id, &SeenStudy::id);
  // The controller keeps a study that has finished while another trains its best trial.
  const bool runs = study.open && !study.finished;
  const bool ran = known != seen_.end() && !known->is_over;
  // One that is over may finish without having been seen to run again.
  const bool news = known != seen_.end() && known->progress.finished != study.finished;
  if (!runs && !ran && !news) return {};
  auto progress = MakeProgress(reader_, study, now);
  // It was deleted after the studies were read. The next time it is not among them.
  if (!progress && progress.error().code == ErrorCode::kNotFound) return {};
  if (!progress) return std::unexpected(progress.error());
  SayPause(study);
  // A study that has come, ended or been resumed is now the last of its kind.
  if (known != seen_.end() && ran == runs) {
    known->progress = std::move(*progress);
    return {};
  }
  if (known != seen_.end()) seen_.erase(known);
  seen_.push_back({.id = study.id, .progress = std::move(*progress), .is_over = !runs});
  return {};
}

// An id may be given again to a study that is made after the one that had it was deleted.
void RunningStudies::ForgetDeleted(const std::vector<StudyInfo>& studies) {
  std::erase_if(seen_, [&](const SeenStudy& seen) {
    const auto study = std::ranges::find(studies, seen.id, &StudyInfo::id);
    const bool is_there = study != studies.end() && study->name == seen.progress.study &&
                          study->created == seen.progress.created;
    if (!is_there && !seen.is_over) view_.Say(fmt::format("{}: deleted", seen.progress.study));
    return !is_there;
  });
}

void RunningStudies::SayPause(const StudyInfo& study) {
  if (study.pause.empty()) {
    said_pause_.erase(study.id);
  } else if (said_pause_.insert(study.id).second) {
    view_.Say(fmt::format("{}: {}", study.name, PauseText(study)));
  }
}

std::string RunningStudies::AnyRunning() const {
  const bool any = !seen_.empty() && !seen_.front().is_over;
  return any ? seen_.front().progress.study : "";
}

}  // namespace sluice
