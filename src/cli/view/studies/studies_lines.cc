#include "cli/view/studies/studies_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice {
namespace {

struct StudyCell {
  std::string text;
  Style style = Style::kPlain;
};
using StudyCells = std::array<StudyCell, 6>;

constexpr int kWidestName = 20;
constexpr std::string_view kBetween = "  ";

Style StyleOf(StudyState state) {
  switch (state) {
    case StudyState::kRunning:
    case StudyState::kEnding: return Style::kAccent;
    case StudyState::kFinished: return Style::kGood;
    case StudyState::kPaused:
    case StudyState::kInterrupted: break;
  }
  return Style::kPlain;
}

StudyCells CellsOf(const SeenStudy& study, const Medium& medium) {
  const Progress& at = study.progress;
  const StudyState state = at.state();
  const int running = at.count(TrialState::kRunning);
  return {{
      {Fit(Harmless(at.study, medium.utf8), kWidestName, medium.utf8), Style::kBold},
      {std::string(Name(state)), StyleOf(state)},
      {fmt::format("{}/{} trials", at.done(), at.trials_wanted)},
      {study.is_over ? "" : fmt::format("{} running", running)},
      {at.best ? Harmless(BestText(at), medium.utf8) : "no result yet",
       at.best ? Style::kGood : Style::kDim},
      {OutlookText(at, medium.utf8), Style::kDim},
  }};
}

}  // namespace

std::vector<std::string> RenderStudies(std::span<const SeenStudy> studies, const Medium& medium,
                                       int rows) {
  const auto most = static_cast<std::size_t>(std::max(rows - 2, 1));
  const std::size_t shown = studies.size() > most ? most - 1 : studies.size();
  std::vector<StudyCells> table;
  std::array<int, std::tuple_size_v<StudyCells>> widths{};
  for (const SeenStudy& study : studies.first(shown)) {
    table.push_back(CellsOf(study, medium));
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(table.back()[i].text));
  }
  std::vector<std::string> lines;
  for (const StudyCells& cells : table) {
    StyledLine line(medium);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_last = i + 1 == cells.size();
      line.Add(is_last ? cells[i].text : Padded(cells[i].text, widths[i]), cells[i].style);
      if (!is_last && widths[i] > 0) line.Add(kBetween);
    }
    lines.push_back(line.Render());
  }
  if (shown < studies.size()) {
    const std::string more =
        fmt::format("{} and {} more", Ellipsis(medium.utf8), studies.size() - shown);
    lines.push_back(StyledLine(medium).Add(more, Style::kDim).Render());
  }
  return lines;
}

}  // namespace sluice
