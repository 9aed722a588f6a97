#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Writes a line of CSV as RFC 4180 defines it, but ends it with a bare newline. A field with a
// comma, a quote or a line break is put in quotes, and quotes inside it are doubled.
class CsvLine {
 public:
  CsvLine& Add(std::string_view field);
  // Ends the line and returns it. The next Add begins a new line.
  const std::string& Finish();

 private:
  std::string line_;
  bool first_ = true;  // the line has no field yet
  bool finished_ = false;
};

// Reads such lines. A line ends with a newline, with or without a carriage return before it. If a
// quote is not closed, the rest of the text belongs to its field.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}
  // The fields of the next line; nothing at the end of the text.
  std::optional<std::vector<std::string>> Next();
  // What Next returned last may span several lines of the text, because quoted fields may contain
  // line breaks. This is the number of the first of these lines, counted from 1.
  int line() const { return line_; }

 private:
  std::string_view rest_;
  int line_ = 0;
  int next_line_ = 1;
};

}  // namespace sluice
