// Turns Progress into text: the live region, and single lines for logs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/text/styled_line.h"
#include "cli/view/progress.h"

namespace sluice {
namespace {

int Percent(const Progress& progress) {
  if (progress.trials_wanted <= 0) return progress.finished ? 100 : 0;
  return static_cast<int>(
      std::min<std::int64_t>(100, std::int64_t{100} * progress.done() / progress.trials_wanted));
}

std::string RateText(double trials_per_minute) {
  if (trials_per_minute < 1) return fmt::format("{:.1f} trials/h", trials_per_minute * 60);
  if (trials_per_minute >= 100) return fmt::format("{:.0f} trials/min", trials_per_minute);
  return fmt::format("{:.1f} trials/min", trials_per_minute);
}

std::vector<std::string> CountTexts(const Progress& progress) {
  std::vector<std::string> texts;
  const auto add = [&](TrialState state, bool always) {
    const int count = progress.count(state);
    if (count > 0 || always) texts.push_back(fmt::format("{} {}", count, Name(state)));
  };
  add(TrialState::kRunning, !progress.finished);
  add(TrialState::kComplete, true);
  add(TrialState::kStopped, true);
  add(TrialState::kPaused, false);
  add(TrialState::kFailed, true);
  if (!progress.finished) texts.push_back(fmt::format("{} to go", progress.to_start()));
  return texts;
}

constexpr int kNarrow = 50;  // below this many columns, labels have no column of their own

// Draws the lines of the region. Each kind of line has its own function.
class Region {
 public:
  Region(const Progress& progress, Medium medium) : progress_(progress), medium_(medium) {
    const int name = DisplayWidth(Harmless(progress.study, medium.utf8));
    label_ = medium.columns < kNarrow ? 0 : std::clamp(name, 8, 20);
  }

  std::string Bar() const {
    const bool roomy = medium_.columns >= 70;
    const std::string counts =
        fmt::format("{}/{}{}", progress_.done(), progress_.trials_wanted, roomy ? " trials" : "");
    const std::string percent = fmt::format("{:3}%", Percent(progress_));
    const std::string outlook = OutlookText(progress_, medium_.utf8);
    const std::string time =
        roomy ? fmt::format("{}, {}", FormatDuration(progress_.elapsed), outlook) : outlook;
    StyledLine line = Labelled(progress_.study, Style::kBold);
    const int others =
        line.width() + DisplayWidth(counts) + DisplayWidth(percent) + DisplayWidth(time) + 3 * 3;
    const int cells = std::min(medium_.columns - others, 30);
    if (label_ > 0 && cells >= 5) {
      const int full = cells * Percent(progress_) / 100;
      line.Add(Repeat(medium_.utf8 ? "█" : "#", full), Style::kAccent);
      line.Add(Repeat(medium_.utf8 ? "░" : "-", cells - full), Style::kDim).Add("   ");
    }
    const std::string_view gap = label_ > 0 ? "   " : " ";
    return line.Add(counts).Add(gap).Add(percent).Add(gap).Add(time, Style::kDim).Render();
  }

  std::string Best() const {
    StyledLine line = Labelled("best", Style::kDim);
    if (!progress_.best) return line.Add("no result yet", Style::kDim).Render();
    line.Add(BestText(progress_), Style::kGood);
    return line.Add("   ").Add(FormatParams(progress_.best->params)).Render();
  }

  std::string Trials() const {
    StyledLine line = Labelled("trials", Style::kDim);
    const bool failed = progress_.count(TrialState::kFailed) > 0;
    bool first = true;
    for (const std::string& text : CountTexts(progress_)) {
      line.Add(first ? "" : "  ")
          .Add(text, failed && text.ends_with("failed") ? Style::kBad : Style::kPlain);
      first = false;
    }
    if (progress_.trials_per_minute)
      line.Add("     ").Add(RateText(*progress_.trials_per_minute), Style::kDim);
    if (progress_.reports_per_second && !progress_.finished) {
      line.Add("  ").Add(fmt::format("{:.1f} reports/s", *progress_.reports_per_second),
                         Style::kDim);
    }
    return line.Render();
  }

  // Adds at most `rows` lines of running trials. The last line may say how many more trials run.
  void AddRunning(std::size_t rows, std::vector<std::string>& lines) const {
    const auto count = static_cast<std::size_t>(std::max(0, progress_.count(TrialState::kRunning)));
    std::size_t shown = std::min(progress_.running.size(), rows);
    if (shown < count && shown == rows && shown > 0) --shown;
    std::array<int, 4> widths{};
    for (std::size_t i = 0; i < shown; ++i) {
      const auto cells = Cells(progress_.running[i]);
      for (std::size_t j = 0; j < cells.size(); ++j)
        widths[j] = std::max(widths[j], DisplayWidth(cells[j]));
    }
    for (std::size_t i = 0; i < shown; ++i) {
      const auto cells = Cells(progress_.running[i]);
      StyledLine line(medium_);
      line.Add(Padded(cells[0], widths[0]), Style::kAccent)
          .Add("  ")
          .Add(Padded(cells[1], widths[1]));
      line.Add("   ").Add(Padded(cells[2], widths[2])).Add("   ");
      line.Add(Padded(cells[3], widths[3])).Add("   ");
      lines.push_back(line.Add(FormatParams(progress_.running[i].params), Style::kDim).Render());
    }
    if (shown >= count || rows == 0) return;
    const std::string more = fmt::format("{} and {} more", Ellipsis(medium_.utf8), count - shown);
    lines.push_back(StyledLine(medium_).Add(more, Style::kDim).Render());
  }

 private:
  StyledLine Labelled(std::string_view label, Style style) const {
    StyledLine line(medium_);
    const std::string safe = Harmless(label, medium_.utf8);
    if (label_ == 0) {
      const int most = std::max(1, medium_.columns - 12);
      return line.Add(Fit(safe, most, medium_.utf8), style).Add(" "), line;
    }
    return line.Add(Padded(Fit(safe, label_, medium_.utf8), label_), style).Add("  "), line;
  }

  static std::string Repeat(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  }

  std::array<std::string, 4> Cells(const Progress::Running& trial) const {
    std::string work = fmt::format("{} {}", progress_.unit, trial.work);
    if (trial.target) work += fmt::format("/{}", *trial.target);
    const std::string nothing = medium_.utf8 ? "—" : "-";
    std::string value = fmt::format("{} {}", progress_.metric,
                                    trial.reported ? FormatMetric(trial.value) : nothing);
    return {fmt::format("#{}", Number(trial.trial)), Harmless(work, medium_.utf8),
            Harmless(value, medium_.utf8),
            FormatDuration(std::max(progress_.now - trial.since, Duration(0)))};
  }

  const Progress& progress_;
  Medium medium_;
  int label_;
};

}  // namespace

std::vector<std::string> RenderProgress(const Progress& progress, int columns, int rows,
                                        bool colour, bool utf8) {
  constexpr std::size_t kMostRunning = 10;
  const Region region(progress, {std::max(columns, 1), colour, utf8});
  const auto most = static_cast<std::size_t>(std::max(rows - 2, 1));
  std::vector<std::string> lines = {region.Bar(), region.Best(), region.Trials()};
  if (lines.size() > most) lines.resize(most);
  // One more than kMostRunning, for the line that says how many more trials run.
  region.AddRunning(std::min(kMostRunning + 1, most - lines.size()), lines);
  return lines;
}

std::string BestText(const Progress& progress) {
  return fmt::format("{} {} (trial {}, {} {})", progress.metric, FormatMetric(progress.best->value),
                     Number(progress.best->trial), progress.unit, progress.best->work);
}

std::string OutlookText(const Progress& progress, bool utf8) {
  if (progress.finished) return progress.reason.empty() ? "done" : progress.reason;
  if (progress.paused)
    return progress.reason.empty() ? "paused" : fmt::format("paused: {}", progress.reason);
  if (progress.ending) return fmt::format("ending: {}", progress.reason);
  if (!progress.waits_for.empty()) return "waits for " + progress.waits_for;
  if (!progress.left) return utf8 ? "— left" : "? left";
  const std::string left = FormatDuration(*progress.left);
  return progress.left_is_deadline ? fmt::format("deadline in {}", left)
                                   : fmt::format("about {} left", left);
}

std::string ProgressLine(const Progress& progress, bool utf8) {
  std::string line =
      fmt::format("{}/{} trials ({}%)", progress.done(), progress.trials_wanted, Percent(progress));
  for (const std::string& text : CountTexts(progress)) line += ", " + text;
  if (progress.best) line += ", best " + BestText(progress);
  if (progress.trials_per_minute) line += ", " + RateText(*progress.trials_per_minute);
  line += ", " + OutlookText(progress, utf8);
  return Harmless(line, utf8);
}

std::string BestLine(const Progress& progress, bool utf8) {
  if (!progress.best) return "";
  const std::string params = FormatParams(progress.best->params);
  return Harmless(BestText(progress) + (params.empty() ? "" : "  " + params), utf8);
}

std::string FormatMetric(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  return fmt::format("{:.5g}", value);
}

std::string FormatParams(const Params& params) {
  std::string out;
  for (const auto& [name, value] : params) {
    const auto* number = std::get_if<double>(&value);
    if (!out.empty()) out += ' ';
    out += fmt::format("{}={}", name,
                       number != nullptr ? fmt::format("{:.4g}", *number) : FormatValue(value));
  }
  return out;
}

}  // namespace sluice
