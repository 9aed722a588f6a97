#include "cli/csv.h"

#include <algorithm>

namespace sluice {

CsvLine& CsvLine::Add(std::string_view field) {
  if (finished_) {
    line_.clear();
    first_ = true;
    finished_ = false;
  }
  if (!first_) line_ += ',';
  first_ = false;
  const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  if (std::ranges::none_of(field, is_special)) {
    line_ += field;
    return *this;
  }
  line_ += '"';
  for (const char c : field) {
    if (c == '"') line_ += '"';
    line_ += c;
  }
  line_ += '"';
  return *this;
}

const std::string& CsvLine::Finish() {
  line_ += '\n';
  finished_ = true;
  return line_;
}

}  // namespace sluice
