#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kAccent };

// What the terminal can show.
struct Medium {
  int columns;
  bool colour;
  bool utf8;
};

// A line of texts of different colours. It is cut if it is too wide for the terminal.
class StyledLine {
 public:
  explicit StyledLine(Medium medium) : medium_(medium) {}

  // Adds a text, made harmless for the terminal.
  StyledLine& Add(std::string_view text, Style style = Style::kPlain);
  int width() const;
  std::string Render() const;

 private:
  struct Span {
    std::string text;
    Style style;
  };
  Medium medium_;
  std::vector<Span> spans_;
};

}  // namespace sluice
