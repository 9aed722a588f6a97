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

// Shows progress in a region of the terminal that is redrawn in place. Messages, also those about
// failed trials, scroll above the region. The cursor stands at the beginning of the line below the
// region. A frame is one write: it hides the cursor, draws the region and shows the cursor again.
// So the terminal is in a usable state after each frame.
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
  // Reads the terminal's size. Returns whether it has changed since the region was drawn.
  bool Measure();
  void DrawAgain();
  // The text that moves the cursor to the region's first line.
  std::string ToTop() const;
  // The text that clears the screen and prints the latest messages again.
  std::string Afresh() const;
  // Writes `frame`, which leaves the cursor where the region's first line is to be, and the region.
  void Draw(std::string frame);

  const int output_;
  const bool utf8_;
  const bool colour_;
  int columns_ = 80;
  int rows_ = 24;
  std::optional<Progress> latest_;
  NewlyEnded ended_;
  int failed_ = 0;
  int drawn_ = 0;                 // number of lines of the region
  std::deque<std::string> said_;  // the latest messages
  Time drawn_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

}  // namespace sluice
