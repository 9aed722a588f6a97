#include "base/state.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/ids.h"
#include "base/random.h"

namespace sluice {
namespace {

TEST(StateTest, EverythingComesBack) {
  StateWriter writer;
  writer.Put(std::int64_t{0});
  writer.Put(std::numeric_limits<std::int64_t>::min());
  writer.Put(std::numeric_limits<std::int64_t>::max());
  writer.Put(std::numeric_limits<std::uint64_t>::max());
  writer.Put(TrialId(17));
  writer.Put(true);
  writer.Put(0.1);
  writer.Put(-0.0);
  writer.Put(-std::numeric_limits<double>::infinity());
  writer.Put(std::numeric_limits<double>::quiet_NaN());
  writer.Put(std::string_view("a\0b", 3));
  writer.Put(FromMicros(123456789));
  writer.Put(kNever);
  writer.Put(Duration(-5));

  StateReader reader(writer.bytes());
  std::int64_t integer = 1;
  reader.Get(integer);
  EXPECT_EQ(integer, 0);
  reader.Get(integer);
  EXPECT_EQ(integer, std::numeric_limits<std::int64_t>::min());
  reader.Get(integer);
  EXPECT_EQ(integer, std::numeric_limits<std::int64_t>::max());
  std::uint64_t natural = 0;
  reader.Get(natural);
  EXPECT_EQ(natural, std::numeric_limits<std::uint64_t>::max());
  TrialId trial{};
  reader.Get(trial);
  EXPECT_EQ(trial, TrialId(17));
  bool flag = false;
  reader.Get(flag);
  EXPECT_TRUE(flag);
  double number = 0;
  reader.Get(number);
  EXPECT_EQ(number, 0.1);
  reader.Get(number);
  EXPECT_TRUE(std::signbit(number) && number == 0);
  reader.Get(number);
  EXPECT_EQ(number, -std::numeric_limits<double>::infinity());
  reader.Get(number);
  EXPECT_TRUE(std::isnan(number));
  std::string text;
  reader.Get(text);
  EXPECT_EQ(text, std::string("a\0b", 3));
  Time time{};
  reader.Get(time);
  EXPECT_EQ(time, FromMicros(123456789));
  reader.Get(time);
  EXPECT_EQ(time, kNever);
  Duration duration{};
  reader.Get(duration);
  EXPECT_EQ(duration, Duration(-5));
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.Finish());
}

TEST(StateTest, SmallNumbersCostAByte) {
  StateWriter writer;
  for (int value = -64; value < 64; ++value) writer.Put(value);
  EXPECT_EQ(writer.bytes().size(), 128u);
}

TEST(StateTest, RandomIntegersComeBack) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<std::int64_t>(random.Next() >> random.Below(64));
    StateWriter writer;
    writer.Put(value);
    StateReader reader(writer.bytes());
    std::int64_t back = 0;
    reader.Get(back);
    ASSERT_EQ(back, value);
    ASSERT_TRUE(reader.Finish());
  }
}

TEST(StateTest, EveryTruncationTurnsBad) {
  StateWriter writer;
  writer.Put(std::int64_t{1} << 40);
  writer.Put(3.5);
  writer.Put(std::string_view("hello"));
  const std::string whole = writer.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    StateReader reader(std::string_view(whole).substr(0, size));
    std::int64_t integer = 0;
    double number = 1;
    std::string text = "before";
    reader.Get(integer);
    reader.Get(number);
    reader.Get(text);
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_EQ(text, "");
    const Status status = reader.Finish();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorruption);
  }
}

TEST(StateTest, BytesLeftOverAreCorruption) {
  StateWriter writer;
  writer.Put(1);
  writer.Put(2);
  StateReader reader(writer.bytes());
  int value = 0;
  reader.Get(value);
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.Finish());
}

TEST(StateTest, CountsAreBoundByTheBytesThereAre) {
  StateWriter writer;
  writer.Put(1'000'000'000);
  writer.Put(1);
  StateReader reader(writer.bytes());
  EXPECT_EQ(reader.Count(), 0u);
  EXPECT_FALSE(reader.ok());

  StateWriter negative;
  negative.Put(-1);
  StateReader negative_reader(negative.bytes());
  EXPECT_EQ(negative_reader.Count(), 0u);
  EXPECT_FALSE(negative_reader.ok());
}

TEST(StateTest, AnIntegerWithoutEndIsBad) {
  const std::string endless(20, '\xff');
  StateReader reader(endless);
  int value = 5;
  reader.Get(value);
  EXPECT_EQ(value, 0);
  EXPECT_FALSE(reader.ok());
}

TEST(StateTest, ABadReaderStaysBad) {
  StateReader reader("");
  int value = 5;
  reader.Get(value);
  EXPECT_FALSE(reader.ok());
  std::string text;
  reader.Get(text);
  EXPECT_EQ(reader.Count(), 0u);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace sluice
