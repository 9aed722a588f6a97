#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/view/outlet.h"

namespace sluice {

// A region of the terminal that is redrawn in place. Messages scroll above the region. The cursor
// stands at the beginning of the line below the region. A frame is one write: it hides the cursor,
// draws the region and shows the cursor again. So the terminal is in a usable state after each
// frame.
class LiveRegion {
 public:
  // What the lines of the region are made for. No line may be wider than `columns`.
  struct Size {
    int columns = 80;
    int rows = 24;
    bool colour = true;
    bool utf8 = true;
  };
  using Render = std::function<std::vector<std::string>(const Size&)>;

  LiveRegion(int output, Render render);

  // Prints a message above the region.
  void Say(std::string_view line);
  // Draws the region again, at most ten times a second. A slow terminal gets fewer frames.
  void Show(Time now);
  // Draws the region for the last time, and waits until it is drawn. Only Say may be called then.
  void Finish();

 private:
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
  const Render render_;
  Size size_;
  int drawn_ = 0;                 // number of lines of the region
  std::deque<std::string> said_;  // the latest messages
  Time drawn_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

}  // namespace sluice
