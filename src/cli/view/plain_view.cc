#include "cli/view/plain_view.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "cli/text/display_text.h"
#include "cli/view/terminal.h"

namespace sluice {

PlainView::PlainView(int output) : utf8_(LocaleIsUtf8()), outlet_(output) {}

PlainView::~PlainView() { PlainView::Finish(); }

void PlainView::Say(std::string_view line) { outlet_.Write(Harmless(line, utf8_) + "\n"); }

void PlainView::Finish() {
  if (finished_) return;
  finished_ = true;
  if (latest_) Print(ProgressLine(*latest_, utf8_));
  outlet_.Flush();
}

void PlainView::Take(Progress progress, std::vector<TrialSummary> latest) {
  using std::chrono::seconds;
  latest_ = std::move(progress);
  const Time now = latest_->now;
  TellEnded(std::move(latest));
  if (best_.Take(*latest_)) Print("new best: " + BestLine(*latest_, utf8_));
  if (line_at_ == Time{}) line_at_ = now;
  if (now - line_at_ < seconds(30)) return;
  Print(ProgressLine(*latest_, utf8_));
  line_at_ = now;
}

void PlainView::TellEnded(std::vector<TrialSummary> latest) {
  int told = 0;
  for (const TrialSummary& trial : ended_.Take(std::move(latest))) {
    if (++told <= kMostLines) Print(EndedText(trial));
  }
  if (told > kMostLines) Print(fmt::format("and {} more trials ended", told - kMostLines));
}

std::string PlainView::EndedText(const TrialSummary& trial) const {
  if (trial.state == TrialState::kFailed) return FailedText(trial);
  const std::string head = fmt::format("trial {} {}", Number(trial.id), Name(trial.state));
  const std::string at = fmt::format("{} at {} {}", head, latest_->unit, trial.work);
  if (std::isnan(trial.result)) return at + ": no result";
  return fmt::format("{}: {} {} ({} {})", at, latest_->metric, FormatMetric(trial.result),
                     latest_->unit, trial.result_work);
}

void PlainView::Print(const std::string& line) {
  outlet_.Write(fmt::format("[{}] {}\n", FormatDuration(latest_->elapsed), Harmless(line, utf8_)));
}

}  // namespace sluice
