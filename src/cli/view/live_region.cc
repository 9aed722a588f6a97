#include "cli/view/live_region.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/places.h"
#include "cli/text/display_text.h"
#include "cli/view/terminal.h"

namespace sluice {

LiveRegion::LiveRegion(int output, Render render)
    : output_(output),
      render_(std::move(render)),
      size_({.colour = EnvironmentVariable("NO_COLOR").empty(), .utf8 = LocaleIsUtf8()}),
      outlet_(output) {}

void LiveRegion::Say(std::string_view line) {
  constexpr std::size_t kMostKept = 100;
  said_.push_back(Harmless(line, size_.utf8));
  if (said_.size() > kMostKept) said_.pop_front();
  const bool resized = Measure();
  std::string frame = resized ? Afresh() : ToTop() + "\x1b[J" + said_.back() + "\r\n";
  Draw("\x1b[?25l" + std::move(frame));
}

void LiveRegion::Show(Time now) {
  // A little less than a tenth of a second, because ticks come ten times a second but not at exact
  // intervals.
  constexpr Duration kShortest = std::chrono::milliseconds(95);
  const Duration since = now - drawn_at_;
  if (since >= Duration(0) && since < kShortest) return;
  if (!outlet_.idle()) return;  // a slow terminal gets fewer frames, not late frames
  DrawAgain();
  drawn_at_ = now;
}

void LiveRegion::Finish() {
  if (finished_) return;
  DrawAgain();
  outlet_.Flush();
  finished_ = true;
  drawn_ = 0;
}

bool LiveRegion::Measure() {
  struct winsize size{};
  const bool known = ioctl(output_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  const int columns = known ? size.ws_col : 80;
  const int rows = known ? size.ws_row : 24;
  const bool resized = drawn_ > 0 && (columns != size_.columns || rows != size_.rows);
  size_.columns = columns;
  size_.rows = rows;
  return resized;
}

void LiveRegion::DrawAgain() {
  const bool resized = Measure();
  Draw("\x1b[?25l" + (resized ? Afresh() : ToTop()));
}

std::string LiveRegion::ToTop() const {
  return drawn_ > 0 ? fmt::format("\r\x1b[{}A", drawn_) : "\r";
}

// When a terminal is resized, it wraps, cuts or moves what was drawn, depending on the terminal. So
// the place of the region is no longer known. The screen is cleared, and the latest messages are
// printed again.
std::string LiveRegion::Afresh() const {
  std::string frame = "\x1b[2J\x1b[H";
  const auto most = static_cast<std::size_t>(std::max(size_.rows - drawn_ - 2, 0));
  for (std::size_t i = said_.size() - std::min(said_.size(), most); i < said_.size(); ++i)
    frame += said_[i] + "\r\n";
  return frame;
}

void LiveRegion::Draw(std::string frame) {
  int drawn = 0;
  if (!finished_) {
    // The last column stays empty. After a character in that column, the cursor stays on the
    // character, and "erase to the end of the line" would erase it.
    Size size = size_;
    size.columns = std::max(size_.columns - 1, 1);
    for (const std::string& line : render_(size)) {
      frame += line + "\x1b[K\r\n";
      ++drawn;
    }
  }
  frame += "\x1b[J\x1b[?25h";
  if (outlet_.Write(std::move(frame))) drawn_ = drawn;
}

}  // namespace sluice
