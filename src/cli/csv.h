#pragma once

#include <string>
#include <string_view>

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

}  // namespace sluice
