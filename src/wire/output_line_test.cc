// Results on standard output, among everything else that programs print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "wire/message.h"

namespace sluice::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The report on a line. A test that expects no report uses IsReport instead.
OutputReport ReportOn(std::string_view line, std::string_view unit = "epoch") {
  const auto report = DecodeOutputLine(line, "loss", unit);
  EXPECT_TRUE(report && *report) << line;
  return report && *report ? **report : OutputReport{};
}
bool IsReport(std::string_view line) {
  const auto report = DecodeOutputLine(line, "loss", "epoch");
  return !report || report->has_value();
}
std::string OutputProblem(std::string_view line) {
  const auto report = DecodeOutputLine(line, "loss", "epoch");
  return report ? "" : report.error().message;
}

TEST(OutputLineTest, OtherOutputIsNoReport) {
  for (const char* line :
       {"", "hello", "loss: 0.3", "{", "{}", "[1]", "{\"accuracy\":1}", "{\"loss\":0.3",
        "{\"loss\":0.3} done", "{'loss': 0.3}", "x {\"loss\":1}", "{\"a\":{\"loss\":1}}",
        "{\"loss\":NaNs}", "{\"loss\":\"a\\\"NaN}", "{\"loss\":1e999}"}) {
    EXPECT_FALSE(IsReport(line)) << line;
  }
  EXPECT_FALSE(IsReport("{\"loss\":1,\"pad\":\"" + std::string(kLongestLine, 'x') + "\"}"));
  EXPECT_FALSE(IsReport("{\"loss\":" + std::string(100'000, '[')));
  EXPECT_FALSE(IsReport("{\"loss\":\xff}"));
}

TEST(OutputLineTest, TheUnitIsTheWorkOrElseStep) {
  const OutputReport report = ReportOn(R"({"epoch": 3, "accuracy": 0.91, "loss": 0.3})");
  EXPECT_EQ(report.work, 3);
  EXPECT_THAT(report.values, ElementsAre(Pair("accuracy", 0.91), Pair("loss", 0.3)));
  EXPECT_FALSE(ReportOn(R"({"loss": 0.3})").work);
  EXPECT_EQ(ReportOn(R"({"loss": 0.3, "step": 7})").work, 7);
  EXPECT_EQ(ReportOn(R"({"loss": 0.3, "step": 7, "epoch": 2})").work, 2);
  EXPECT_THAT(ReportOn(R"({"loss": 0.3, "step": 7, "epoch": 2})").values,
              ElementsAre(Pair("loss", 0.3), Pair("step", 7)));
  EXPECT_EQ(ReportOn(R"({"loss": 0.3, "epoch": 2, "batch": 40})", "batch").work, 40);
  EXPECT_EQ(ReportOn(R"({"loss": 0.3, "epoch": 2.0})").work, 2);
  EXPECT_EQ(ReportOn(R"({"loss": 0.3, "epoch": 0})").work, 0);
  EXPECT_EQ(ReportOn("\t {\"loss\": 1}\r").values.size(), 1U);
}

TEST(OutputLineTest, AnythingMarkedAsOursIsAReport) {
  EXPECT_THAT(ReportOn(R"({"sluice": true, "epoch": 1})").values, IsEmpty());
  EXPECT_THAT(ReportOn(R"({"sluice": 1, "speed": 3})").values, ElementsAre(Pair("speed", 3)));
}

TEST(OutputLineTest, OnlyNumbersAreMetrics) {
  EXPECT_THAT(
      ReportOn(R"({"loss": 1, "name": "x", "ok": true, "list": [1], "none": null, "n": 2})").values,
      ElementsAre(Pair("loss", 1), Pair("n", 2)));
  EXPECT_TRUE(std::isnan(ReportOn(R"({"loss": "NaN"})").values[0].second));
  EXPECT_EQ(ReportOn(R"({"loss": "-Infinity"})").values[0].second, -INFINITY);
  EXPECT_EQ(ReportOn(R"({"loss": 123456789012345678901234567890})").values[0].second,
            123456789012345678901234567890.0);
}

// Python's json.dumps prints such numbers in this way.
TEST(OutputLineTest, BareNumbersThatJsonLacksAreNumbers) {
  const OutputReport report =
      ReportOn(R"({"a": "NaN \"", "loss": NaN, "high": Infinity, "low": -Infinity, "epoch": 2})");
  EXPECT_EQ(report.work, 2);
  ASSERT_EQ(report.values.size(), 3U);
  EXPECT_TRUE(std::isnan(report.values[0].second));
  EXPECT_EQ(report.values[1].second, INFINITY);
  EXPECT_EQ(report.values[2].second, -INFINITY);
  EXPECT_EQ(OutputProblem(R"({"loss": 1, "epoch": NaN})"),
            "'epoch': expected a whole number of at least 0, found \"NaN\"");
}

TEST(OutputLineTest, AReportThatIsNotValidIsRefused) {
  EXPECT_EQ(OutputProblem(R"({"loss": "low"})"), "'loss': expected a number, found \"low\"");
  EXPECT_EQ(OutputProblem(R"({"loss": null})"), "'loss': expected a number, found null");
  EXPECT_EQ(OutputProblem(R"({"loss": true})"), "'loss': expected a number, found true");
  EXPECT_EQ(OutputProblem(R"({"loss": 1, "epoch": 1.5})"),
            "'epoch': expected a whole number of at least 0, found 1.5");
  EXPECT_EQ(OutputProblem(R"({"loss": 1, "epoch": -1})"),
            "'epoch': expected a whole number of at least 0, found -1");
  EXPECT_EQ(OutputProblem(R"({"loss": 1, "epoch": "3"})"),
            "'epoch': expected a whole number of at least 0, found \"3\"");
  EXPECT_EQ(OutputProblem(R"({"loss": 1, "epoch": 1e300})"),
            "'epoch': expected a whole number of at least 0, found 1e+300");
  EXPECT_LT(OutputProblem("{\"loss\": 1, \"epoch\": \"" + std::string(10'000, 'x') + "\"}").size(),
            200U);
  EXPECT_LT(OutputProblem("{\"loss\": \"" + std::string(10'000, 'x') + "\"}").size(), 200U);
}

}  // namespace
}  // namespace sluice::wire
