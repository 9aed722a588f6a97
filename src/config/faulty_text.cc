#include "config/faulty_text.h"

#include <fmt/format.h>

#include <cstddef>

namespace sluice {

std::string_view FaultyText::At(int line) const {
  const auto index = static_cast<std::size_t>(line - 1);
  return index < lines_.size() ? lines_[index] : std::string_view();
}

int FaultyText::Before(int line) const {
  for (--line; line > 0 && SaysNothing(At(line));) --line;
  return line;
}

std::string FaultyText::Indented(int line, std::string_view text) const {
  return std::string(IndentOf(At(line)), ' ') + std::string(text);
}

std::string FaultyText::WithValue(const YamlPair& pair, std::string_view value) const {
  const std::string_view line = At(line_);
  const auto before = static_cast<std::size_t>(pair.key.end() - line.begin());
  return fmt::format("{}: {}", line.substr(0, before), value);
}

std::string FaultyText::With(const Cure& cure) const {
  std::string text;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const bool changed = i + 1 == static_cast<std::size_t>(cure.line);
    text += changed ? std::string_view(cure.instead) : lines_[i];
    text += '\n';
  }
  return text;
}

}  // namespace sluice
