#include "engine/new_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/config.h"
#include "search/explore.h"
#include "space/feasibility.h"

namespace sluice {
namespace {

// Quotes as a word processor makes them are letters of a text here, and hardly ever meant.
Status CheckQuotes(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 4> kCurly = {"\u201c", "\u201d", "\u2018", "\u2019"};
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view at = FirstLine(rest);
    rest.remove_prefix(std::min(at.size() + 1, rest.size()));
    ++line;
    at = at.substr(0, at.starts_with('#') ? 0 : at.find(" #"));
    for (const std::string_view quote : kCurly) {
      const std::size_t found = at.find(quote);
      if (found == std::string_view::npos) continue;
      const std::size_t before = at.substr(0, found).find_last_not_of(' ');
      const bool begins =
          before == std::string_view::npos || std::string_view(":[{,-").contains(at[before]);
      if (!begins) continue;
      return InvalidArgument(
          fmt::format("{}:{}: expected straight quotes, found {}, which is part of the text here; "
                      "write \" or '",
                      file, line, quote));
    }
  }
  return {};
}

// What forks of a population keep.
std::vector<std::string> Fixed(const StudySpec& spec) {
  const std::vector<bool> may_change = MayChange(spec.space, spec.stopper.mutate);
  std::vector<std::string> fixed;
  for (std::size_t i = 0; i < spec.space.size(); ++i) {
    if (!may_change[i]) fixed.push_back(spec.space.parameters()[i].name);
  }
  return fixed;
}

// A population whose forks are all like their parents learns nothing.
Status CheckForks(const StudySpec& spec, std::string_view text, std::string_view file) {
  if (Fixed(spec).size() < spec.space.size()) return {};
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const auto map = config.root().Map();
  const ConfigNode* stopper = map ? map->Find("stopper") : nullptr;
  (stopper != nullptr ? *stopper : config.root().Named("stopper"))
      .Report(
          fmt::format("expected a parameter that forks may change: a float, or one that is named, "
                      "as in 'stopper: {{name: {}, mutate: [{}]}}', found none",
                      spec.stopper.name, spec.space.parameters().front().name));
  return config.Check();
}

}  // namespace

Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file) {
  SLUICE_TRY(CheckQuotes(text, file));
  const Feasibility found = Examine(spec.space);
  if (const Status status = CheckFeasible(spec.space, found); !status) {
    // For the line where they stand.
    SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
    const auto map = config.root().Map();
    const ConfigNode* constraints = map ? map->Find("constraints") : nullptr;
    (constraints != nullptr ? *constraints : config.root().Named("constraints"))
        .Report(status.error().message);
    SLUICE_TRY(config.Check());
  }
  std::vector<std::string> remarks = Remarks(spec.space, found);
  if (spec.stopper.name == "pbt" || spec.stopper.name == "pbt-async") {
    SLUICE_TRY(CheckForks(spec, text, file));
    if (spec.stopper.mutate.empty() && !Fixed(spec).empty()) {
      remarks.push_back(fmt::format(
          "stopper: forks change floats alone, and keep {}, since what is saved may not "
          "fit another: name what may change, as in 'mutate: [{}]'",
          Join(Fixed(spec)), spec.space.parameters().front().name));
    }
  }
  return remarks;
}

}  // namespace sluice
