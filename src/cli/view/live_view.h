#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/view/newly_ended.h"
#include "cli/view/outlet.h"
#include "cli/view/view.h"

namespace sluice {

// A region that is redrawn in place on a terminal. Messages, and the trials that failed, scroll
// above it. The region lies above the cursor, which rests at the beginning of the line below it and
// is hidden only within a frame: each frame is one write and leaves the terminal in a usable state.
class LiveView : public View {
 public:
  explicit LiveView(int output);
  ~LiveView() override;

  void Say(std::string_view line) override;
  void Finish() override;
  bool WantsTrials(const Progress& progress) const override;

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;
  void TellFailed(std::vector<TrialSummary> latest);
  // Whether the terminal's size is another than it was.
  bool Measure();
  void DrawAgain();
  // To the region's first line.
  std::string ToTop() const;
  std::string Afresh() const;
  // Appends the region to what brings the cursor to its first line.
  void Draw(std::string frame);

  const int output_;
  const bool utf8_;
  const bool colour_;
  int columns_ = 80;
  int rows_ = 24;
  std::optional<Progress> latest_;
  NewlyEnded ended_;
  int failed_ = 0;
  int drawn_ = 0;                 // lines of the region
  std::deque<std::string> said_;  // the latest messages
  Time drawn_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

}  // namespace sluice
