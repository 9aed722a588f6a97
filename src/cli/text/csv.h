#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// One line of CSV by RFC 4180, but ended by a bare newline: fields with a comma, a quote or a line
// break are quoted, quotes inside doubled.
class CsvLine {
 public:
  CsvLine& Add(std::string_view field);
  // The line with its end; the next one begins.
  const std::string& Finish();

 private:
  std::string line_;
  bool first_ = true;  // no field yet
  bool finished_ = false;
};

// Reads such lines, ended by a newline with or without a carriage return before it. A quote that is
// not closed takes the rest of the text.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}
  // The fields of the next line; nothing at the end.
  std::optional<std::vector<std::string>> Next();
  // The number of the line at which the last one began, from 1.
  int line() const { return line_; }

 private:
  std::string_view rest_;
  int line_ = 0;
  int next_line_ = 1;
};

}  // namespace sluice
