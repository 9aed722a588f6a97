#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_lines.h"

namespace sluice {

// A fault and how to mend it.
struct Cure {
  int line;
  std::string message;
  // The mended line. The explainer parses the text with it, to see whether the cure works. Empty:
  // the cure cannot be tried.
  std::string instead;
};

// A text that the parser could not read, line by line. Lines are counted from 1 on.
class FaultyText {
 public:
  // The text must outlive the FaultyText.
  FaultyText(std::string_view text, int line) : lines_(LinesOf(text)), line_(line) {}

  // The line on which the parser stopped.
  int line() const { return line_; }
  const std::vector<std::string_view>& lines() const { return lines_; }
  // The line with this number. Empty if there is no such line.
  std::string_view At(int line) const;
  // The nearest line before this one that is not blank or a comment; 0 if there is none.
  int Before(int line) const;

  // The text with the indentation of this line in front.
  std::string Indented(int line, std::string_view text) const;
  // The faulty line, with another value after the key of `pair`. The pair is on this line.
  std::string WithValue(const YamlPair& pair, std::string_view value) const;
  // The whole text, with `cure.instead` in place of line `cure.line`.
  std::string With(const Cure& cure) const;

 private:
  std::vector<std::string_view> lines_;
  int line_;
};

}  // namespace sluice
