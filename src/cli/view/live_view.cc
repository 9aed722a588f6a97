#include "cli/view/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/places.h"
#include "cli/text/display_text.h"
#include "cli/view/terminal.h"

namespace sluice {

LiveView::LiveView(int output)
    : output_(output),
      utf8_(LocaleIsUtf8()),
      colour_(EnvironmentVariable("NO_COLOR").empty()),
      outlet_(output) {}

LiveView::~LiveView() { LiveView::Finish(); }

void LiveView::Say(std::string_view line) {
  constexpr std::size_t kMostKept = 100;
  said_.push_back(Harmless(line, utf8_));
  if (said_.size() > kMostKept) said_.pop_front();
  const bool resized = Measure();
  std::string frame = resized ? Afresh() : ToTop() + "\x1b[J" + said_.back() + "\r\n";
  Draw("\x1b[?25l" + std::move(frame));
}

void LiveView::Finish() {
  if (finished_) return;
  DrawAgain();
  outlet_.Flush();
  finished_ = true;
  drawn_ = 0;
  latest_.reset();
}

bool LiveView::WantsTrials(const Progress& progress) const {
  return progress.count(TrialState::kFailed) > failed_;
}

void LiveView::Take(Progress progress, std::vector<TrialSummary> latest) {
  failed_ = progress.count(TrialState::kFailed);
  TellFailed(std::move(latest));
  // A little less than a tenth of a second, because ticks come ten times a second but not at exact
  // intervals.
  constexpr Duration kShortest = std::chrono::milliseconds(95);
  const Duration since = progress.now - drawn_at_;
  const Time now = progress.now;
  latest_ = std::move(progress);
  if (since >= Duration(0) && since < kShortest) return;
  if (!outlet_.idle()) return;  // a slow terminal gets fewer frames, not late frames
  DrawAgain();
  drawn_at_ = now;
}

void LiveView::TellFailed(std::vector<TrialSummary> latest) {
  int told = 0;
  for (const TrialSummary& trial : ended_.Take(std::move(latest))) {
    if (trial.state == TrialState::kFailed && ++told <= kMostLines) Say(FailedText(trial));
  }
  if (told > kMostLines) Say(fmt::format("and {} more trials failed", told - kMostLines));
}

bool LiveView::Measure() {
  struct winsize size{};
  const bool known = ioctl(output_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  const int columns = known ? size.ws_col : 80;
  const int rows = known ? size.ws_row : 24;
  const bool resized = drawn_ > 0 && (columns != columns_ || rows != rows_);
  columns_ = columns;
  rows_ = rows;
  return resized;
}

void LiveView::DrawAgain() {
  const bool resized = Measure();
  Draw("\x1b[?25l" + (resized ? Afresh() : ToTop()));
}

std::string LiveView::ToTop() const {
  return drawn_ > 0 ? fmt::format("\r\x1b[{}A", drawn_) : "\r";
}

// When a terminal is resized, it wraps, cuts or moves what was drawn, depending on the terminal. So
// the place of the region is no longer known. The screen is cleared, and the latest messages are
// printed again.
std::string LiveView::Afresh() const {
  std::string frame = "\x1b[2J\x1b[H";
  const auto most = static_cast<std::size_t>(std::max(rows_ - drawn_ - 2, 0));
  for (std::size_t i = said_.size() - std::min(said_.size(), most); i < said_.size(); ++i)
    frame += said_[i] + "\r\n";
  return frame;
}

void LiveView::Draw(std::string frame) {
  int drawn = 0;
  if (latest_) {
    // The last column stays empty. After a character in that column, the cursor stays on the
    // character, and "erase to the end of the line" would erase it.
    const int columns = std::max(columns_ - 1, 1);
    for (const std::string& line : RenderProgress(*latest_, columns, rows_, colour_, utf8_)) {
      frame += line + "\x1b[K\r\n";
      ++drawn;
    }
  }
  frame += "\x1b[J\x1b[?25h";
  if (outlet_.Write(std::move(frame))) drawn_ = drawn;
}

}  // namespace sluice
