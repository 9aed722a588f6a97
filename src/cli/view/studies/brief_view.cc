#include "cli/view/studies/brief_view.h"

#include <fmt/format.h>

#include "cli/view/terminal.h"

namespace sluice {

BriefView::BriefView(std::shared_ptr<Outlet> outlet)
    : utf8_(LocaleIsUtf8()), outlet_(std::move(outlet)) {}

BriefView::~BriefView() { BriefView::Finish(); }

void BriefView::Say(std::string_view line) { outlet_->Write(Harmless(line, utf8_) + "\n"); }

void BriefView::Finish() {
  if (std::exchange(finished_, true) || !latest_) return;
  const StudyState state = latest_->state();
  if (state == StudyState::kFinished || state == StudyState::kPaused)
    Print(fmt::format(" {}: {}", Name(state), ProgressLine(*latest_, utf8_)));
}

void BriefView::Take(Progress progress, std::vector<TrialSummary>) {
  const bool is_first = !latest_;
  latest_ = std::move(progress);
  const StudyState state = latest_->state();
  const bool runs = state == StudyState::kRunning || state == StudyState::kEnding;
  if (is_first && runs) Print(" runs: " + ProgressLine(*latest_, utf8_));
  if (best_.Take(*latest_) && !is_first) Print(": new best: " + BestLine(*latest_, utf8_));
}

void BriefView::Print(std::string_view what) {
  Say(fmt::format("[{}] {}{}", FormatDuration(latest_->elapsed), latest_->study, what));
}

}  // namespace sluice
