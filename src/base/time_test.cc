#include "base/time.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(TimeTest, DurationsReadWell) {
  EXPECT_EQ(FormatDuration(Duration(0)), "0ms");
  EXPECT_EQ(FormatDuration(milliseconds(850)), "850ms");
  EXPECT_EQ(FormatDuration(seconds(12)), "12s");
  EXPECT_EQ(FormatDuration(seconds(200)), "3m 20s");
  EXPECT_EQ(FormatDuration(minutes(125)), "2h 05m");
  EXPECT_EQ(FormatDuration(hours(76)), "3d 4h");
  EXPECT_EQ(FormatDuration(-seconds(12)), "-12s");
}

TEST(TimeTest, DurationsAreRead) {
  EXPECT_EQ(ParseDuration("90").value(), seconds(90));
  EXPECT_EQ(ParseDuration("0").value(), seconds(0));
  EXPECT_EQ(ParseDuration("1.5s").value(), milliseconds(1500));
  EXPECT_EQ(ParseDuration("500ms").value(), milliseconds(500));
  EXPECT_EQ(ParseDuration("20m").value(), minutes(20));
  EXPECT_EQ(ParseDuration("20min").value(), minutes(20));
  EXPECT_EQ(ParseDuration("1h30m").value(), minutes(90));
  EXPECT_EQ(ParseDuration("1h 30m").value(), minutes(90));
  EXPECT_EQ(ParseDuration("2d").value(), hours(48));
}

TEST(TimeTest, BadDurationsAreRefused) {
  for (const char* text : {"", " ", "s", "5x", "1h30", "-5s", "5s-", "inf", "nan", "1e30s", "1..5s",
                           "5 5s", "h1", "1hm", "9999999999d"}) {
    const Result<Duration> result = ParseDuration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(text), std::string::npos);
  }
}

TEST(TimeTest, TimesReadWellAndBack) {
  EXPECT_EQ(FormatTime(FromMicros(0)), "1970-01-01T00:00:00Z");
  const Time time = ParseTime("2026-01-31T12:00:00Z").value();
  EXPECT_EQ(Micros(time), 1769860800LL * 1'000'000);
  EXPECT_EQ(FormatTime(time), "2026-01-31T12:00:00Z");
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    const Time any = FromMicros(static_cast<std::int64_t>(random.Below(4'000'000'000)) * 1'000'000);
    ASSERT_EQ(ParseTime(FormatTime(any)).value(), any);
  }
}

TEST(TimeTest, ZonesAndSpacesAreRead) {
  const Time noon = ParseTime("2026-01-31T12:00:00Z").value();
  for (const char* text : {"2026-01-31 12:00:00Z", "2026-01-31T12:00Z", "2026-01-31T14:00:00+02:00",
                           "2026-01-31T14:00:00+0200", "2026-01-31T14:00:00+02",
                           "2026-01-31T06:30:00-05:30", "2026-01-31T12:00:00z"}) {
    const Result<Time> result = ParseTime(text);
    ASSERT_TRUE(result) << text;
    EXPECT_EQ(*result, noon) << text;
  }
}

TEST(TimeTest, BadTimesAreRefused) {
  for (const char* text : {"", "now", "2026-01-31", "2026-01-31T12:00:00", "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z",
                           "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00:00Zx",
                           "2026-01-31T12:00:00+", "2026-01-31T12:00:00+2", "26-01-31T12:00:00Z",
                           "2026-01-31T12:00:Z", "2026/01/31T12:00:00Z", "-026-01-31T12:00:00Z"}) {
    const Result<Time> result = ParseTime(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
TEST(FormatTimeTest, KnowsMicrosecondsAndTimesBefore1970) {
  EXPECT_EQ(FormatPreciseTime(FromMicros(1'769'860'800'250'000)), "2026-01-31T12:00:00.250000Z");
  EXPECT_EQ(FormatTime(FromMicros(1'769'860'800'250'000)), "2026-01-31T12:00:00Z");
  EXPECT_EQ(FormatPreciseTime(FromMicros(-1)), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTime(FromMicros(951'782'400'000'000)), "2000-02-29T00:00:00Z");
}

}  // namespace sluice
