#include "sim/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace sluice {
namespace {

// Ten colours that people with colour blindness can tell apart as well as possible.
constexpr std::array<std::string_view, 10> kColours = {"#4477aa", "#ee7733", "#228833", "#aa3377",
                                                       "#ccbb44", "#66ccee", "#cc3311", "#009988",
                                                       "#997700", "#777777"};
constexpr std::size_t kMostInLegend = 12;

constexpr double kTitleHeight = 30;
constexpr double kLegendHeight = 22;
constexpr double kPanelTitleHeight = 24;
constexpr double kAxisHeight = 30;
constexpr double kPanelGap = 14;
constexpr double kRightMargin = 24;
constexpr double kLetter = 6.7;  // the width of a letter at font size 12, in pixels

std::size_t ColourOf(std::size_t study) { return study % kColours.size(); }

// A length of time as it is written on an axis: 10m, 1h 30m.
std::string TickLabel(std::int64_t micros) {
  if (micros == 0) return "0";
  std::string text = FormatDuration(Duration(micros));
  for (const std::string_view zero : {" 00s", " 00m", " 0h"}) {
    if (text.ends_with(zero)) text.resize(text.size() - zero.size());
  }
  return text;
}

// The distance between ticks: a round time that gives at most `most` ticks.
std::int64_t TickStep(std::int64_t span_us, int most) {
  std::vector<std::int64_t> steps;
  for (std::int64_t decade = 1; decade < 1'000'000; decade *= 10)
    for (const int times : {1, 2, 5}) steps.push_back(decade * times);
  constexpr std::int64_t kSecond = 1'000'000;
  for (const int seconds :
       {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10'800, 21'600, 43'200})
    steps.push_back(seconds * kSecond);
  constexpr std::int64_t kDay = 86'400 * kSecond;
  for (std::int64_t decade = 1; decade <= 1'000'000; decade *= 10)
    for (const int times : {1, 2, 5}) steps.push_back(kDay * decade * times);
  for (const std::int64_t step : steps) {
    if (span_us / step <= most) return step;
  }
  return steps.back();
}

// An interval, to be drawn in a lane of its row.
struct Bar {
  const Interval* interval = nullptr;
  std::size_t study = 0;  // of the scenario
  std::size_t lane = 0;
};

// One row of a panel: a device, or a node's cores.
struct Row {
  std::string label;
  std::vector<Bar> bars;  // in order of their begin times
  std::size_t lanes = 1;
  double top = 0;
  double height = 0;
};

// Trials that overlap in time get lanes of their own. Each takes the topmost free lane.
void FindLanes(Row& row) {
  std::ranges::stable_sort(row.bars, {}, [](const Bar& bar) { return bar.interval->begin; });
  struct Held {
    Time until{};
    StudyId study{};
    TrialId trial{};
  };
  std::vector<Held> lanes;
  for (Bar& bar : row.bars) {
    const Interval& interval = *bar.interval;
    // A launch stays in the lane where it began.
    auto lane = std::ranges::find_if(lanes, [&](const Held& held) {
      return held.until == interval.begin && held.study == interval.study &&
             held.trial == interval.trial;
    });
    if (lane == lanes.end())
      lane = std::ranges::find_if(lanes,
                                  [&](const Held& held) { return held.until <= interval.begin; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), Held{});
    *lane = {interval.end, interval.study, interval.trial};
    bar.lane = static_cast<std::size_t>(lane - lanes.begin());
  }
  row.lanes = std::max<std::size_t>(lanes.size(), 1);
}

class Drawing {
 public:
  Drawing(const Scenario& scenario, std::span<const GanttPanel> panels, const GanttOptions& options)
      : scenario_(scenario), panels_(panels), options_(options) {
    for (const GanttPanel& panel : panels) {
      SLUICE_CHECK(panel.result != nullptr, "a panel has a run to show");
      end_us_ = std::max(end_us_, Micros(panel.result->end));
    }
    for (const Node& node : scenario.nodes) {
      for (const Device& device : node.devices) labels_[device.uuid] = device.kind;
    }
    for (const GanttPanel& panel : panels) rows_.push_back(RowsOf(*panel.result));
    std::size_t longest = 4;
    for (const auto& rows : rows_) {
      for (const Row& row : rows) longest = std::max(longest, row.label.size());
    }
    left_ = std::min(300.0, kLetter * static_cast<double>(longest) + 18);
    right_ = options.width - kRightMargin;
  }

  std::string Draw() {
    double y = kTitleHeight + kLegendHeight * LegendLines() + 8;
    std::string body;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      y = DrawPanel(i, y, body);
      y += kPanelGap;
    }
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0} "
        "{1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n",
        options_.width, y);
    svg += Definitions();
    svg +=
        fmt::format("<rect width=\"{}\" height=\"{:.0f}\" fill=\"#ffffff\"/>\n", options_.width, y);
    svg += fmt::format("<text x=\"12\" y=\"21\" font-size=\"16\" font-weight=\"bold\">{}</text>\n",
                       EscapedXml(scenario_.name));
    svg += Legend();
    return svg + body + "</svg>\n";
  }

 private:
  std::vector<Row> RowsOf(const SimulationResult& result) const {
    std::vector<Row> all(result.rows.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto kind = labels_.find(result.rows[i]);
      all[i].label = i < result.devices && kind != labels_.end()
                         ? fmt::format("{} {}", result.rows[i], kind->second)
                         : fmt::format("{} cores", result.rows[i]);
    }
    const std::vector<std::size_t> studies = StudiesOf(result);
    for (const Interval& interval : result.usage.intervals) {
      all[interval.row].bars.push_back(
          {.interval = &interval, .study = studies[Number(interval.study) - 1]});
    }
    // A node's cores are a row only where trials used cores alone.
    std::vector<Row> rows;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i >= result.devices && all[i].bars.empty()) continue;
      FindLanes(all[i]);
      rows.push_back(std::move(all[i]));
    }
    return rows;
  }

  // The scenario's index of each study that ran: a policy may leave some studies out.
  std::vector<std::size_t> StudiesOf(const SimulationResult& result) const {
    std::vector<std::size_t> studies;
    for (const StudyResult& study : result.studies) {
      const auto found = std::ranges::find_if(
          scenario_.studies,
          [&](const ScenarioStudy& of_scenario) { return of_scenario.spec.name == study.name; });
      SLUICE_CHECK(found != scenario_.studies.end(), "what ran is of the scenario");
      studies.push_back(static_cast<std::size_t>(found - scenario_.studies.begin()));
    }
    return studies;
  }

  // The height of a row, by how many rows there are.
  static double HeightOf(const Row& row, std::size_t rows) {
    const double plain = rows <= 16 ? 26 : rows <= 40 ? 18 : rows <= 96 ? 11 : 7;
    return std::min(std::max(plain, 7.0 * static_cast<double>(row.lanes)), 240.0);
  }

  double X(std::int64_t micros) const {
    const double part =
        end_us_ > 0 ? static_cast<double>(micros) / static_cast<double>(end_us_) : 0;
    return left_ + (right_ - left_) * part;
  }

  static std::string Definitions() {
    std::string text = "<defs>\n";
    for (std::size_t i = 0; i < kColours.size(); ++i) {
      text += fmt::format(
          "<pattern id=\"h{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"{}\" "
          "fill-opacity=\"0.25\"/><rect width=\"2\" height=\"5\" fill=\"{}\"/></pattern>\n",
          i, kColours[i], kColours[i]);
    }
    return text + "</defs>\n";
  }

  std::size_t LegendEntries() const { return std::min(scenario_.studies.size(), kMostInLegend); }
  double EntryWidth(std::size_t i) const {
    return 34 + kLetter * static_cast<double>(scenario_.studies[i].spec.name.size());
  }

  // Calls place(i, x, line) for each entry. Returns the number of lines.
  template <typename Place>
  int LayLegend(Place&& place) const {
    double x = 12;
    int line = 0;
    for (std::size_t i = 0; i < LegendEntries(); ++i) {
      if (x > 12 && x + EntryWidth(i) > options_.width - 12) {
        x = 12;
        ++line;
      }
      place(i, x, line);
      x += EntryWidth(i);
    }
    return line + 1;
  }
  int LegendLines() const {
    return LayLegend([](std::size_t, double, int) {}) + 1;
  }

  std::string Legend() const {
    std::string text;
    const int lines = LayLegend([&](std::size_t i, double x, int line) {
      const double y = kTitleHeight + kLegendHeight * line;
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/><text "
          "x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          x, y, kColours[i % kColours.size()], x + 19, y + 12,
          EscapedXml(scenario_.studies[i].spec.name));
    });
    const double y = kTitleHeight + kLegendHeight * lines;
    const std::size_t more = scenario_.studies.size() - LegendEntries();
    const auto entry = [&](double x, const std::string& fill, const std::string& said) {
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" {}/><text x=\"{:.1f}\" "
          "y=\"{:.1f}\" "
          "fill=\"#555555\">{}</text>\n",
          x, y, fill, x + 19, y + 12, said);
    };
    entry(12, "fill=\"#777777\"", "running");
    entry(110, "fill=\"url(#h9)\"", "start-up, restore");
    entry(250, "fill=\"#777777\" fill-opacity=\"0.35\"", "saving");
    entry(340, "fill=\"#f1f1f1\" stroke=\"#cccccc\"", "idle");
    if (more > 0) {
      text += fmt::format(
          "<text x=\"420\" y=\"{:.1f}\" fill=\"#555555\">and {} more studies, in the "
          "same colours again</text>\n",
          y + 12, more);
    }
    return text;
  }

  double DrawPanel(std::size_t index, double y, std::string& out) {
    std::vector<Row>& rows = rows_[index];
    const std::size_t shown = std::min(rows.size(), options_.most_rows);
    out += fmt::format("<text x=\"12\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", y + 15,
                       EscapedXml(panels_[index].title));
    y += kPanelTitleHeight;
    const double top = y;
    std::size_t lanes = 0;
    for (std::size_t i = 0; i < shown; ++i) {
      rows[i].top = y;
      rows[i].height = HeightOf(rows[i], shown);
      lanes += rows[i].lanes;
      y += rows[i].height + (rows[i].height > 10 ? 2 : 1);
    }
    const double bottom = y;
    // Merging all bars shorter than this keeps the number of bars within most_bars.
    shortest_ = std::max(
        1.0, (right_ - left_) * static_cast<double>(lanes) * static_cast<double>(panels_.size()) /
                 static_cast<double>(std::max<std::size_t>(options_.most_bars, 1)));
    for (std::size_t i = 0; i < shown; ++i) DrawBackground(rows[i], i, shown, out);
    DrawGrid(top, bottom, out);
    for (std::size_t i = 0; i < shown; ++i) DrawRow(rows[i], out);
    DrawMarks(*panels_[index].result, top, bottom, out);
    DrawAxis(bottom, out);
    y = bottom + kAxisHeight;
    if (shown < rows.size()) {
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#555555\">{} more rows are not "
          "shown</text>\n",
          left_, y + 4, rows.size() - shown);
      y += 16;
    }
    return y;
  }

  void DrawBackground(const Row& row, std::size_t index, std::size_t rows, std::string& out) const {
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f1f1f1\"/>\n",
        left_, row.top, right_ - left_, row.height);
    // Labels of rows less tall than a letter would overlap, so only some rows have one.
    const std::size_t every = row.height >= 11 ? 1 : rows > 96 ? 4 : 2;
    if (index % every != 0) return;
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" font-size=\"{}\">{}</text>\n",
        left_ - 6, row.top + row.height / 2 + 4, row.height >= 14 ? 12 : 10, EscapedXml(row.label));
  }

  void DrawGrid(double top, double bottom, std::string& out) const {
    const std::int64_t step = TickStep(end_us_, 10);
    for (std::int64_t at = 0; at <= end_us_; at += step) {
      out += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#ffffff\"/>\n",
          X(at), top, bottom);
    }
  }

  void DrawAxis(double y, std::string& out) const {
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#333333\"/>\n",
        left_, y, right_, y);
    const std::int64_t step = TickStep(end_us_, 10);
    for (std::int64_t at = 0; at <= end_us_; at += step) {
      out += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#333333\"/><text "
          "x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\" fill=\"#333333\">{4}</text>\n",
          X(at), y, y + 5, y + 18, TickLabel(at));
    }
  }

  // The part of a lane that is not drawn yet. First comes a stretch of one colour, made of merged
  // bars. After it come the latest bars that are too short to be seen; they are merged next.
  struct Merged {
    double from = 0;
    double to = 0;
    std::map<std::size_t, double> held;  // by study
    double stretch_from = 0;
    double stretch_to = 0;
    std::optional<std::size_t> stretch_colour;
  };

  // Merges the short bars that were held back into the stretch, or begins a new stretch with them.
  static void Settle(Merged& lane, double y, double height, std::string& out) {
    if (lane.held.empty()) return;
    const auto longest =
        std::ranges::max_element(lane.held, {}, [](const auto& held) { return held.second; });
    const std::size_t colour = ColourOf(longest->first);
    const double to = std::max(lane.to, lane.from + 0.5);
    if (lane.stretch_colour != colour || lane.from > lane.stretch_to + 0.5) {
      DrawStretch(lane, y, height, out);
      lane.stretch_colour = colour;
      lane.stretch_from = lane.from;
    }
    lane.stretch_to = to;
    lane.held.clear();
  }

  static void DrawStretch(Merged& lane, double y, double height, std::string& out) {
    if (!lane.stretch_colour) return;
    Rectangle(lane.stretch_from, lane.stretch_to, y, height,
              fmt::format("fill=\"{}\"", kColours[*lane.stretch_colour]), out);
    lane.stretch_colour.reset();
  }

  void DrawRow(const Row& row, std::string& out) const {
    const double height = row.height / static_cast<double>(row.lanes);
    const auto top_of = [&](std::size_t lane) {
      return row.top + height * static_cast<double>(lane);
    };
    std::vector<Merged> lanes(row.lanes);
    for (const Bar& bar : row.bars) {
      const double from = X(Micros(bar.interval->begin));
      const double to = X(Micros(bar.interval->end));
      const double y = top_of(bar.lane);
      Merged& lane = lanes[bar.lane];
      if (to - from >= shortest_) {
        Settle(lane, y, height, out);
        DrawStretch(lane, y, height, out);
        Show(bar, from, to, y, height, out);
        continue;
      }
      if (!lane.held.empty() && to - lane.from > shortest_) Settle(lane, y, height, out);
      if (lane.held.empty()) lane.from = from;
      lane.to = to;
      lane.held[bar.study] += to - from;
    }
    for (std::size_t lane = 0; lane < row.lanes; ++lane) {
      Settle(lanes[lane], top_of(lane), height, out);
      DrawStretch(lanes[lane], top_of(lane), height, out);
    }
  }

  static void Rectangle(double from, double to, double y, double height, const std::string& fill,
                        std::string& out) {
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" {}/>\n",
                       from, y, to - from, height, fill);
  }

  void Show(const Bar& bar, double from, double to, double y, double height,
            std::string& out) const {
    const Interval& interval = *bar.interval;
    const std::size_t colour = ColourOf(bar.study);
    std::string fill;
    switch (interval.phase) {
      case Phase::kStartUp: fill = fmt::format("fill=\"url(#h{})\"", colour); break;
      case Phase::kRun: fill = fmt::format("fill=\"{}\"", kColours[colour]); break;
      case Phase::kSave:
        fill = fmt::format("fill=\"{}\" fill-opacity=\"0.35\"", kColours[colour]);
        break;
    }
    // A thin white gap between one trial and the next.
    const double gap = to - from > 4 && interval.phase != Phase::kStartUp ? 0.6 : 0;
    if (to - from < 6) return Rectangle(from, to - gap, y, height, fill, out);
    static constexpr std::array kDoing = {"starts up", "runs", "saves"};
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" {}><title>{}, trial "
        "{}: {} {} to "
        "{}</title></rect>\n",
        from, y, to - gap - from, height - (height > 6 ? 0.6 : 0), fill,
        EscapedXml(scenario_.studies[bar.study].spec.name), Number(interval.trial),
        kDoing[static_cast<std::size_t>(interval.phase)], TickLabel(Micros(interval.begin)),
        TickLabel(Micros(interval.end)));
    const std::string number = fmt::format("{}", Number(interval.trial));
    if (interval.phase == Phase::kRun && height >= 12 &&
        to - from > kLetter * static_cast<double>(number.size()) + 4) {
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10\" "
          "fill=\"#ffffff\" "
          "pointer-events=\"none\">{}</text>\n",
          (from + to) / 2, y + height / 2 + 3.5, number);
    }
  }

  // Marks the arrivals of the legend's studies, except at time 0, and their deadlines.
  void DrawMarks(const SimulationResult& result, double top, double bottom,
                 std::string& out) const {
    const std::vector<std::size_t> studies = StudiesOf(result);
    for (std::size_t i = 0; i < studies.size() && studies[i] < LegendEntries(); ++i) {
      const StudySpec& spec = scenario_.studies[studies[i]].spec;
      const Time arrived = result.studies[i].arrived;
      if (arrived > Time{}) Mark(Micros(arrived), studies[i], "arrives", "2,3", top, bottom, out);
      if (spec.deadline_after) {
        Mark(Micros(arrived + *spec.deadline_after), studies[i], "deadline", "7,3", top, bottom,
             out);
      }
    }
  }

  void Mark(std::int64_t at, std::size_t study, std::string_view what, std::string_view dashes,
            double top, double bottom, std::string& out) const {
    if (at > end_us_) return;
    const bool left = X(at) > right_ - 90;
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#111111\" "
        "stroke-width=\"1.4\" "
        "stroke-dasharray=\"{3}\"><title>{4}: {5}</title></line><text x=\"{6:.1f}\" y=\"{7:.1f}\" "
        "font-size=\"10\" text-anchor=\"{8}\">{4} {5}</text>\n",
        X(at), top - 6, bottom, dashes, EscapedXml(scenario_.studies[study].spec.name), what,
        X(at) + (left ? -3 : 3), top - 2, left ? "end" : "start");
  }

  const Scenario& scenario_;
  const std::span<const GanttPanel> panels_;
  const GanttOptions options_;
  std::map<std::string, std::string> labels_;
  std::vector<std::vector<Row>> rows_;  // of each panel
  std::int64_t end_us_ = 1;
  double left_ = 0;
  double right_ = 0;
  double shortest_ = 1;
};

}  // namespace

std::string DrawGantt(const Scenario& scenario, std::span<const GanttPanel> panels,
                      const GanttOptions& options) {
  return Drawing(scenario, panels, options).Draw();
}

}  // namespace sluice
