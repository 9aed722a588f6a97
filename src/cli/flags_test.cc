#include "cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

enum class Colour { kRed, kBlue };

// The flags of a made-up verb "paint". Each of the `words` that are typed is a pair: the name of a
// flag or an argument, and its value.
class FlagsTest : public ::testing::Test {
 protected:
  FlagsTest() {
    flags_.Required("WALL", wall_, "a wall, as in 'sluice paint north'");
    flags_.Switch("-q,--quiet", quiet_);
    flags_.Count("--coats", coats_, 9);
    flags_.Choice("--colour", {"red", "blue"}, colour_);
    flags_.NotEmpty("-o,--output", output_, "a file");
    flags_.CommaList("--tools", tools_);
    flags_.OnlyIf([this] { return !quiet_; });
    flags_.TimeSpan("--dry", dry_);
    flags_.TrialNumber("--trial", trial_);
  }

  Status Read(const std::vector<std::pair<std::string, std::string>>& words) {
    for (const auto& [name, word] : words) {
      for (Flags::Flag& flag : flags_.declared()) {
        if (flag.long_name() == name && flag.on != nullptr) *flag.on = true;
        if (flag.long_name() == name && flag.on == nullptr) flag.word = word;
      }
    }
    return flags_.Read();
  }
  std::string ErrorOf(const std::vector<std::pair<std::string, std::string>>& words) {
    const Status status = Read(words);
    return status ? "" : status.error().message;
  }

  Flags flags_{"paint"};
  std::string wall_;
  bool quiet_ = false;
  std::optional<int> coats_;
  Colour colour_ = Colour::kRed;
  std::optional<std::string> output_;
  std::vector<std::string> tools_;
  std::optional<Duration> dry_;
  TrialId trial_{};
};

TEST_F(FlagsTest, EachFillsItsVariable) {
  ASSERT_TRUE(Read({{"WALL", "north"},
                    {"--coats", "3"},
                    {"--colour", "blue"},
                    {"--output", "a"},
                    {"--tools", "brush,roll,brush"},
                    {"--dry", "1.5s"},
                    {"--trial", "7"}}));
  EXPECT_EQ(wall_, "north");
  EXPECT_EQ(coats_, 3);
  EXPECT_EQ(colour_, Colour::kBlue);
  EXPECT_EQ(output_, "a");
  EXPECT_THAT(tools_, ::testing::ElementsAre("brush", "roll"));
  EXPECT_EQ(dry_, std::chrono::milliseconds(1500));
  EXPECT_EQ(trial_, TrialId(7));
  EXPECT_EQ(flags_.Filled(),
            "WALL=north --coats=3 --colour=blue --output=a --tools=brush,roll --dry=1.5s "
            "--trial=7");
  EXPECT_TRUE(flags_.Given("--coats"));
  EXPECT_FALSE(flags_.Given("--quiet"));
  EXPECT_FALSE(flags_.Given("--no-such-flag"));
}

TEST_F(FlagsTest, WhatIsNotTypedStaysAsItIs) {
  colour_ = Colour::kBlue;
  ASSERT_TRUE(Read({{"WALL", "north"}}));
  EXPECT_EQ(flags_.Filled(), "WALL=north");
  EXPECT_EQ(colour_, Colour::kBlue);
}

TEST_F(FlagsTest, TheFirstThingThatIsWrongIsSaid) {
  EXPECT_EQ(ErrorOf({{"--coats", "10"}}),
            "paint: expected a wall, as in 'sluice paint north': 'sluice paint --help' shows "
            "examples");
  EXPECT_EQ(ErrorOf({{"WALL", "north"}, {"--coats", "10"}, {"--colour", "bleu"}}),
            "--coats: expected a whole number from 1 to 9, found '10'");
  EXPECT_EQ(ErrorOf({{"--coats", "9"}}),
            "--colour: expected one of red, blue, found 'bleu' (did you mean 'blue'?)");
  EXPECT_EQ(ErrorOf({{"--colour", "red"}, {"--output", ""}}),
            "--output: expected a file, found ''");
  EXPECT_EQ(ErrorOf({{"--output", "a"}, {"--trial", "0"}}),
            "paint --trial TRIAL: expected a whole number from 1 to 10000000, found '0'");
}

TEST_F(FlagsTest, WhatIsNotWantedIsNotRead) {
  EXPECT_EQ(ErrorOf({{"WALL", "north"}, {"--quiet", ""}, {"--dry", "soon"}}), "");
  EXPECT_FALSE(dry_);
}

}  // namespace
}  // namespace sluice
