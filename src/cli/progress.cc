#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kZeroWidth = {
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},   Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x06d6, 0x06dc}, Range{0x0900, 0x0902},   Range{0x093c, 0x093c},
    Range{0x0941, 0x0948}, Range{0x094d, 0x094d}, Range{0x0e31, 0x0e31},   Range{0x0e34, 0x0e3a},
    Range{0x0e47, 0x0e4e}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},   Range{0x200b, 0x200d},
    Range{0x20d0, 0x20f0}, Range{0x302a, 0x302d}, Range{0x3099, 0x309a},   Range{0xfe00, 0xfe0f},
    Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}, Range{0xe0100, 0xe01ef},
};

constexpr std::array kDoubleWidth = {
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x23e9, 0x23ec},
    Range{0x25fd, 0x25fe},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26a1, 0x26a1},   Range{0x26bd, 0x26be},   Range{0x26c4, 0x26c5},
    Range{0x26d4, 0x26d4},   Range{0x26ea, 0x26ea},   Range{0x26fa, 0x26fd},
    Range{0x2705, 0x2705},   Range{0x270a, 0x270b},   Range{0x2728, 0x2728},
    Range{0x274c, 0x274e},   Range{0x2753, 0x2757},   Range{0x2795, 0x2797},
    Range{0x2b1b, 0x2b1c},   Range{0x2b50, 0x2b55},   Range{0x2e80, 0x3029},
    Range{0x302e, 0x303e},   Range{0x3041, 0x3247},   Range{0x3250, 0x4dbf},
    Range{0x4e00, 0xa4c6},   Range{0xa960, 0xa97c},   Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6b},   Range{0xff01, 0xff60},
    Range{0xffe0, 0xffe6},   Range{0x16fe0, 0x18cff}, Range{0x1b000, 0x1b2ff},
    Range{0x1f004, 0x1f004}, Range{0x1f0cf, 0x1f0cf}, Range{0x1f18e, 0x1f19a},
    Range{0x1f200, 0x1f320}, Range{0x1f32d, 0x1f64f}, Range{0x1f680, 0x1f6ff},
    Range{0x1f7e0, 0x1f7eb}, Range{0x1f90c, 0x1faff}, Range{0x20000, 0x3fffd},
};

// Controls, line and paragraph separators, and marks that turn the direction of what follows.
constexpr std::array kHarmful = {
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0x061c, 0x061c}, Range{0x200e, 0x200f},
    Range{0x2028, 0x202e}, Range{0x2060, 0x206f}, Range{0xfff0, 0xfffb}, Range{0xe0000, 0xe007f},
};

bool In(std::span<const Range> ranges, char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &Range::first);
  return after != ranges.begin() && c <= std::prev(after)->last;
}

constexpr char32_t kBroken = 0xffffffff;

// Takes the first character off the text; kBroken and one byte where it is not UTF-8.
char32_t TakeCharacter(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  char32_t c = length <= 1 ? lead : lead & (0x7f >> length);
  bool good = length > 0 && length <= text.size();
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xc0) == 0x80;
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  good = good && c >= kSmallest[length] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
  text.remove_prefix(good ? length : 1);
  return good ? c : kBroken;
}

int Columns(char32_t c) {
  if (c == kBroken) return 1;
  return In(kZeroWidth, c) ? 0 : In(kDoubleWidth, c) ? 2 : 1;
}

// As much of the text as takes at most `columns`.
std::string_view WidePrefix(std::string_view text, int columns) {
  std::string_view rest = text;
  std::string_view before = text;
  int width = 0;
  while (!rest.empty()) {
    before = rest;
    width += Columns(TakeCharacter(rest));
    if (width > columns) return text.substr(0, text.size() - before.size());
  }
  return text;
}

std::string_view Ellipsis(bool utf8) { return utf8 ? "…" : "..."; }

std::string Padded(std::string text, int columns) {
  const int missing = columns - DisplayWidth(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

// How fast trials have been ending. Shown the latest trials, newest first.
class Pace {
 public:
  static constexpr std::size_t kLookBack = 20'000;

  explicit Pace(Time now) : now_(now) {}

  void Add(TrialState state, Time ended, Duration busy) {
    const bool over = state == TrialState::kComplete || state == TrialState::kStopped ||
                      state == TrialState::kFailed;
    if (over) {
      for (std::size_t i = 0; i < kWindows.size(); ++i) {
        if (ended > now_ - kWindows[i]) ++in_window_[i];
      }
      ++over_;
    }
    const bool typical = (over && state != TrialState::kFailed) || state == TrialState::kPaused;
    if (typical && timed_ < kTimed) {
      busy_ += busy;
      ++timed_;
    }
  }

  // Over the shortest window that has seen enough of them to tell.
  std::optional<double> TrialsPerMinute(Duration elapsed) const {
    constexpr int kEnough = 5;
    if (over_ == 0 || elapsed <= Duration(0)) return std::nullopt;
    for (std::size_t i = 0; i < kWindows.size(); ++i) {
      if (in_window_[i] >= kEnough)
        return in_window_[i] * 60 / Seconds(std::min(kWindows[i], elapsed));
    }
    return over_ * 60 / Seconds(elapsed);
  }

  std::optional<Duration> TypicalBusy() const {
    if (timed_ == 0) return std::nullopt;
    return busy_ / timed_;
  }

 private:
  static constexpr int kTimed = 64;
  static constexpr std::array<Duration, 4> kWindows = {minutes(1), minutes(5), minutes(30),
                                                       hours(4)};
  Time now_;
  std::array<int, 4> in_window_{};
  int over_ = 0;
  Duration busy_{0};
  int timed_ = 0;
};

struct RunningTime {
  Duration busy{0};
  Work work = 0;
  std::optional<Work> target;
};

// How long a trial takes, seen from those that have reported some of their work.
std::optional<Duration> ExpectedBusy(const std::vector<RunningTime>& running) {
  double seconds = 0;
  int seen = 0;
  for (const RunningTime& trial : running) {
    if (trial.work <= 0 || !trial.target) continue;
    const double fraction =
        static_cast<double>(trial.work) / static_cast<double>(std::max(*trial.target, trial.work));
    seconds += Seconds(trial.busy) / fraction;
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  return Duration(static_cast<std::int64_t>(std::min(seconds / seen, 1e9) * 1e6));
}

// The time all trials still need, shared among as many as run now.
std::optional<Duration> TimeLeft(const Pace& pace, const std::vector<RunningTime>& running,
                                 int running_count, int to_start) {
  if (running.empty()) return std::nullopt;
  auto typical = pace.TypicalBusy();
  if (!typical) typical = ExpectedBusy(running);
  if (!typical) return std::nullopt;
  const double typical_s = Seconds(*typical);
  double total_s = 0;
  double longest_s = 0;
  for (const RunningTime& trial : running) {
    // What has run longer than usual may end at any time: a tenth is as good a guess as any.
    const double left_s = std::max(typical_s - Seconds(trial.busy), typical_s / 10);
    total_s += left_s;
    longest_s = std::max(longest_s, left_s);
  }
  const double mean_s = total_s / static_cast<double>(running.size());
  const double all_s = std::max(mean_s + typical_s * to_start / running_count, longest_s);
  return Duration(static_cast<std::int64_t>(std::min(all_s, 1e9) * 1e6));
}

void SetTimeLeft(Progress& progress, const Pace& pace, const std::vector<RunningTime>& running,
                 int to_start) {
  progress.trials_per_minute = pace.TrialsPerMinute(progress.elapsed);
  if (progress.finished || progress.ending) return;
  progress.left =
      TimeLeft(pace, running, std::max(1, progress.count(TrialState::kRunning)), to_start);
  if (progress.deadline == kNever) return;
  const Duration until = std::max(progress.deadline - progress.now, Duration(0));
  progress.left_is_deadline = !progress.left || *progress.left > until;
  if (progress.left_is_deadline) progress.left = until;
}

Params ParamsAt(const Space& space, const Point& point) {
  Params params;
  for (std::size_t i = 0; i < space.size() && i < point.size(); ++i) {
    if (std::isnan(point[i])) continue;
    params.emplace_back(space.parameters()[i].name, space.ValueAt(point, i));
  }
  return params;
}

int ToStart(const Progress& progress) {
  int made = 0;
  for (const int count : progress.counts) made += count;
  return std::max(0, progress.trials_wanted - made) + progress.count(TrialState::kWaiting);
}

std::string BestText(const Progress& progress) {
  return fmt::format("{} {} (trial {}, {} {})", progress.metric, FormatMetric(progress.best->value),
                     Number(progress.best->trial), progress.unit, progress.best->work);
}

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

// What is still to come, or how it ended.
std::string OutlookText(const Progress& progress, bool utf8) {
  if (progress.finished) return progress.reason.empty() ? "done" : progress.reason;
  if (progress.ending) return fmt::format("ending: {}", progress.reason);
  if (!progress.left) return utf8 ? "— left" : "? left";
  const std::string left = FormatDuration(*progress.left);
  return progress.left_is_deadline ? fmt::format("deadline in {}", left)
                                   : fmt::format("about {} left", left);
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
  if (!progress.finished) texts.push_back(fmt::format("{} to go", ToStart(progress)));
  return texts;
}

enum class Style { kPlain, kBold, kDim, kGood, kBad, kAccent };

std::string_view Escape(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kBold: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kBad: return "\x1b[31m";
    case Style::kAccent: return "\x1b[36m";
  }
  return "";
}

// How a line is to be written.
struct Medium {
  int columns;
  bool colour;
  bool utf8;
};

// A line of differently coloured texts, cut where it is too wide.
class Line {
 public:
  explicit Line(Medium medium) : medium_(medium) {}

  Line& Add(std::string_view text, Style style = Style::kPlain) {
    spans_.push_back({Harmless(text, medium_.utf8), style});
    return *this;
  }

  int width() const {
    int width = 0;
    for (const Span& span : spans_) width += DisplayWidth(span.text);
    return width;
  }

  std::string Render() const {
    const bool fits = width() <= medium_.columns;
    const std::string_view ellipsis =
        fits ? "" : WidePrefix(Ellipsis(medium_.utf8), medium_.columns);
    int left = medium_.columns - DisplayWidth(ellipsis);
    std::string out;
    for (const Span& span : spans_) {
      const std::string_view text = WidePrefix(span.text, left);
      left -= DisplayWidth(text);
      const std::string_view escape = medium_.colour && !text.empty() ? Escape(span.style) : "";
      out += escape;
      out += text;
      if (!escape.empty()) out += "\x1b[0m";
      if (text.size() < span.text.size()) break;
    }
    out += ellipsis;
    return out;
  }

 private:
  struct Span {
    std::string text;
    Style style;
  };
  Medium medium_;
  std::vector<Span> spans_;
};

constexpr int kNarrow = 50;  // no labels in a column of their own below this

// Draws the parts of the region, one function a line.
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
    Line line = Labelled(progress_.study, Style::kBold);
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
    Line line = Labelled("best", Style::kDim);
    if (!progress_.best) return line.Add("no result yet", Style::kDim).Render();
    line.Add(BestText(progress_), Style::kGood);
    return line.Add("   ").Add(FormatParams(progress_.best->params)).Render();
  }

  std::string Trials() const {
    Line line = Labelled("trials", Style::kDim);
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

  // At most `rows` of them, the last of which may say how many more there are.
  void AddRunning(std::size_t rows, std::vector<std::string>& lines) const {
    const auto count = static_cast<std::size_t>(std::max(0, progress_.count(TrialState::kRunning)));
    std::size_t shown = std::min(progress_.running.size(), rows);
    if (shown < count && shown == rows && shown > 0) --shown;
    std::array<int, 3> widths{};
    for (std::size_t i = 0; i < shown; ++i) {
      const auto cells = Cells(progress_.running[i]);
      for (std::size_t j = 0; j < cells.size(); ++j)
        widths[j] = std::max(widths[j], DisplayWidth(cells[j]));
    }
    for (std::size_t i = 0; i < shown; ++i) {
      const auto cells = Cells(progress_.running[i]);
      Line line(medium_);
      line.Add(Padded(cells[0], widths[0]), Style::kAccent)
          .Add("  ")
          .Add(Padded(cells[1], widths[1]));
      line.Add("   ").Add(Padded(cells[2], widths[2])).Add("   ");
      lines.push_back(line.Add(FormatParams(progress_.running[i].params), Style::kDim).Render());
    }
    if (shown >= count || rows == 0) return;
    const std::string more = fmt::format("{} and {} more", Ellipsis(medium_.utf8), count - shown);
    lines.push_back(Line(medium_).Add(more, Style::kDim).Render());
  }

 private:
  Line Labelled(std::string_view label, Style style) const {
    Line line(medium_);
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

  std::array<std::string, 3> Cells(const Progress::Running& trial) const {
    std::string work = fmt::format("{} {}", progress_.unit, trial.work);
    if (trial.target) work += fmt::format("/{}", *trial.target);
    const std::string nothing = medium_.utf8 ? "—" : "-";
    std::string value = fmt::format("{} {}", progress_.metric,
                                    trial.reported ? FormatMetric(trial.value) : nothing);
    return {fmt::format("#{}", Number(trial.trial)), Harmless(work, medium_.utf8),
            Harmless(value, medium_.utf8)};
  }

  const Progress& progress_;
  Medium medium_;
  int label_;
};

}  // namespace

int Progress::done() const {
  return count(TrialState::kComplete) + count(TrialState::kStopped) + count(TrialState::kFailed) +
         count(TrialState::kPaused);
}

Progress MakeProgress(const Study& study, Time now) {
  Progress progress;
  progress.study = study.spec.name;
  progress.unit = study.spec.unit;
  progress.metric = study.spec.objective.metric;
  progress.maximize = study.spec.objective.direction == Direction::kMaximize;
  progress.trials_wanted = study.trials_wanted;
  progress.counts = study.counts;
  progress.now = now;
  progress.created = study.created;
  progress.deadline = study.deadline;
  progress.ending = study.ending != Finish::kNot;
  progress.finished = study.finished;
  if (progress.ending) progress.reason = Name(study.ending);
  progress.elapsed = std::max(now - study.created, Duration(0));
  if (IsSet(study.best)) {
    const Trial& best = study.trial(study.best);
    progress.best = {best.id, best.best_value, best.best_work,
                     ParamsAt(study.spec.space, best.point)};
  }

  std::vector<RunningTime> running;
  for (const TrialId id : study.running) {
    if (running.size() == kMaxRunningKept) break;
    const Trial& trial = study.trial(id);
    const auto target = trial.target == kNoLimit ? std::nullopt : std::optional(trial.target);
    progress.running.push_back({trial.id, trial.work, target, trial.value, trial.reports > 0,
                                trial.started, ParamsAt(study.spec.space, trial.point)});
    running.push_back(
        {trial.busy + std::max(now - trial.started, Duration(0)), trial.work, target});
  }

  Pace pace(now);
  const std::size_t first = study.trials.size() - std::min(study.trials.size(), Pace::kLookBack);
  std::int64_t reports = 0;
  for (std::size_t i = study.trials.size(); i-- > first;) {
    const Trial& trial = study.trials[i];
    pace.Add(trial.state, trial.ended, trial.busy);
    reports += trial.reports;
  }
  if (first == 0) progress.reports = reports;
  SetTimeLeft(progress, pace, running,
              study.exhausted ? study.count(TrialState::kWaiting) : ToStart(progress));
  return progress;
}

Result<Progress> MakeProgress(Reader& reader, const StudyInfo& study, Time now) {
  Progress progress;
  progress.study = study.name;
  progress.unit = study.unit;
  progress.metric = study.metric;
  progress.maximize = study.maximize;
  progress.trials_wanted = study.trials;
  progress.counts = study.counts;
  progress.now = now;
  progress.created = study.created;
  progress.deadline = study.deadline;
  progress.finished = study.finished;
  progress.ending = study.ending != Name(Finish::kNot);
  if (progress.ending) progress.reason = study.ending;
  progress.elapsed = std::max((study.finished ? study.updated : now) - study.created, Duration(0));
  if (IsSet(study.best)) {
    SLUICE_ASSIGN(const TrialInfo best, reader.FindTrial(study, study.best));
    progress.best = {best.id, best.best_value, best.best_work, ParamsFromJson(best.params)};
  }

  SLUICE_ASSIGN(std::vector<TrialInfo> trials, reader.Trials(study.id, TrialState::kRunning));
  std::ranges::stable_sort(trials, {}, &TrialInfo::started);
  std::vector<RunningTime> running;
  for (const TrialInfo& trial : trials) {
    if (running.size() == kMaxRunningKept) break;
    progress.running.push_back({trial.id, trial.work, trial.target, trial.value, trial.reports > 0,
                                trial.started, ParamsFromJson(trial.params)});
    running.push_back(
        {trial.busy + std::max(now - trial.started, Duration(0)), trial.work, trial.target});
  }

  Pace pace(now);
  SLUICE_ASSIGN(Statement query,
                reader.database().Prepare("SELECT state, ended_us, busy_us, reports FROM trials "
                                          "WHERE study = ? ORDER BY trial DESC LIMIT ?"));
  query.Bind(1, static_cast<std::int64_t>(Number(study.id)));
  query.Bind(2, static_cast<std::int64_t>(Pace::kLookBack));
  std::int64_t reports = 0;
  std::size_t seen = 0;
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) break;
    const auto state =
        std::ranges::find(kTrialStateNames, query.Text(0)) - kTrialStateNames.begin();
    pace.Add(static_cast<TrialState>(state), FromMicros(query.Integer(1)),
             Duration(query.Integer(2)));
    reports += query.Integer(3);
    ++seen;
  }
  if (seen < Pace::kLookBack) progress.reports = reports;
  SetTimeLeft(progress, pace, running, ToStart(progress));
  return progress;
}

std::vector<std::string> RenderProgress(const Progress& progress, int columns, int rows,
                                        bool colour, bool utf8) {
  constexpr std::size_t kMostRunning = 10;
  const Region region(progress, {std::max(columns, 1), colour, utf8});
  const auto most = static_cast<std::size_t>(std::max(rows - 2, 1));
  std::vector<std::string> lines = {region.Bar(), region.Best(), region.Trials()};
  if (lines.size() > most) lines.resize(most);
  // The line that counts the others is not among the ten.
  region.AddRunning(std::min(kMostRunning + 1, most - lines.size()), lines);
  return lines;
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

std::string Harmless(std::string_view text, bool utf8) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = TakeCharacter(text);
    if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else if (c == kBroken || In(kHarmful, c) || (c > 0x7f && !utf8)) {
      out += '?';
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) width += Columns(TakeCharacter(text));
  return width;
}

std::string Fit(std::string_view text, int columns, bool utf8) {
  if (columns <= 0) return "";
  if (DisplayWidth(text) <= columns) return std::string(text);
  const std::string_view ellipsis = WidePrefix(Ellipsis(utf8), columns);
  return std::string(WidePrefix(text, columns - DisplayWidth(ellipsis))) + std::string(ellipsis);
}

}  // namespace sluice
