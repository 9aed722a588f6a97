#include "cli/text/csv.h"

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

std::optional<std::vector<std::string>> CsvReader::Next() {
  if (rest_.empty()) return std::nullopt;
  line_ = next_line_++;
  std::vector<std::string> fields(1);
  bool quoted = false;
  while (!rest_.empty()) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\n' && quoted) ++next_line_;
    if (c == '"' && quoted && rest_.starts_with('"')) {
      fields.back() += c;
      rest_.remove_prefix(1);
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !quoted) {
      break;
    } else if (const bool ends = c == '\r' && rest_.starts_with('\n'); quoted || !ends) {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace sluice
