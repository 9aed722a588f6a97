// Names of studies: CheckStudyName and StudyNameOf of engine/study.h.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "engine/read/study_keys.h"
#include "engine/study.h"

namespace sluice {
namespace {

bool FitsInName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string StudyNameOf(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongestStudyName)) {
    const bool fits = FitsInName(c);
    if (fits ? !name.empty() || (c != '.' && c != '-') : !name.empty() && name.back() != '-')
      name += fits ? c : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

Status CheckStudyName(std::string_view name) {
  if (!name.empty() && name.size() <= kLongestStudyName && std::ranges::all_of(name, FitsInName) &&
      name.front() != '.' && name.front() != '-') {
    return {};
  }
  const std::string ours = StudyNameOf(name);
  return InvalidArgument(fmt::format(
      "expected a name of at most {} letters, digits, '.', '_' and '-' that does not begin "
      "with '.' or '-', found '{}'{}",
      kLongestStudyName, Shown(name), ours.empty() ? "" : fmt::format(" (such as {})", ours)));
}

}  // namespace sluice
