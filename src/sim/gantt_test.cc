#include "sim/gantt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sim/test_scenario.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Scenario PictureScenario(int devices, int trials, const std::string& more = "") {
  const std::string text = fmt::format(R"(
scenario: picture
nodes: [{{name: box, cpus: 4000, devices: {{kind: A100, count: {}}}}}]
studies:
  - study: first
    space: {{x: {{float: [0, 1]}}}}
    objective: {{maximize: accuracy}}
    sampler: random
    trials: {}
    budget: {{max: 3}}
    resources: {{gpus: 1}}
    workload: {{unit_time: 10s, spread: 0.5, start_up: 3s, save: 2s}}
{})",
                                       devices, trials, more);
  return Read(text);
}

std::string Draw(const Scenario& scenario, const GanttOptions& options = {}) {
  const auto result = Simulate(scenario, {.record_intervals = true});
  SLUICE_CHECK(result.has_value(), "it runs");
  const std::vector<GanttPanel> panels = {{"fifo", &*result}};
  return DrawGantt(scenario, panels, options);
}

std::size_t Occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(GanttTest, ShowsEveryTrialOnItsDevice) {
  const std::string svg = Draw(PictureScenario(2, 6));
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("box-gpu0 A100"));
  EXPECT_THAT(svg, HasSubstr("box-gpu1 A100"));
  for (int trial = 1; trial <= 6; ++trial)
    EXPECT_THAT(svg, HasSubstr(fmt::format("first, trial {}: runs ", trial)));
  EXPECT_THAT(svg, HasSubstr("starts up 0 to 3s"));
  EXPECT_THAT(svg, HasSubstr(">30s</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("cores")));
  EXPECT_EQ(Occurrences(svg, "<svg"), Occurrences(svg, "</svg>"));
  EXPECT_EQ(svg, Draw(PictureScenario(2, 6)));
}

TEST(GanttTest, MarksArrivalsAndDeadlinesAndCores) {
  const std::string svg = Draw(PictureScenario(1, 2, R"(
  - study: second
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    trials: 3
    budget: {max: 9}
    deadline: 20s
    arrives: 10s
    workload: {unit_time: 5s}
)"));
  EXPECT_THAT(svg, HasSubstr("second arrives"));
  EXPECT_THAT(svg, HasSubstr("second deadline"));
  EXPECT_THAT(svg, HasSubstr("box cores"));
}

TEST(GanttTest, StudiesKeepTheirNamesWhereOthersAreLeftOut) {
  const Scenario scenario = PictureScenario(1, 2, R"(
  - study: second
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    trials: 3
    budget: {max: 9}
    arrives: 10s
    workload: {unit_time: 5s}
policies: {alone: {policy: fifo, studies: {first: none}}}
)");
  const auto result =
      Simulate(ScenarioUnder(scenario, "alone")->scenario, {.record_intervals = true});
  const std::vector<GanttPanel> panels = {{"alone", &*result}};
  const std::string svg = DrawGantt(scenario, panels);
  EXPECT_THAT(svg, HasSubstr("second, trial 1: runs "));
  EXPECT_THAT(svg, HasSubstr("second arrives"));
  EXPECT_THAT(svg, Not(HasSubstr("first, trial")));
}

TEST(GanttTest, StaysSmallHoweverMuchHappens) {
  const std::string svg = Draw(PictureScenario(64, 5000));
  EXPECT_LT(svg.size(), std::size_t{4} << 20);
  EXPECT_LT(Occurrences(svg, "<rect"), 25'000U);
  const std::string smaller = Draw(PictureScenario(64, 5000), {.most_bars = 2000});
  EXPECT_LT(Occurrences(smaller, "<rect"), 3000U);
  EXPECT_LT(Draw(PictureScenario(400, 800)).size(), std::size_t{4} << 20);
}

TEST(GanttTest, SaysWhatItLeavesOut) {
  EXPECT_THAT(Draw(PictureScenario(300, 300)), HasSubstr("44 more rows are not shown"));
}

TEST(GanttTest, SeveralRunsShareOneAxis) {
  const Scenario scenario = PictureScenario(2, 6);
  const auto one = Simulate(scenario, {.seed = 1, .record_intervals = true});
  const auto two = Simulate(scenario, {.seed = 2, .record_intervals = true});
  const std::vector<GanttPanel> panels = {{"fifo", &*one}, {"later & <better>", &*two}};
  const std::string svg = DrawGantt(scenario, panels);
  EXPECT_THAT(svg, HasSubstr(">fifo</text>"));
  EXPECT_THAT(svg, HasSubstr("later &amp; &lt;better&gt;"));
}

}  // namespace
}  // namespace sluice
