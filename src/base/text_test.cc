#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

const std::vector<std::string> kNames = {"random", "grid", "asha", "asha-promotion"};

TEST(TextTest, NearNamesAreSuggested) {
  EXPECT_EQ(Nearest("radnom", kNames), "random");  // neighbours swapped count once
  EXPECT_EQ(Nearest("gird", kNames), "grid");
  EXPECT_EQ(Nearest("ahsa", kNames), "asha");
  EXPECT_EQ(Nearest("asha_promotion", kNames), "asha-promotion");
  EXPECT_EQ(Nearest("grid", kNames), "grid");
}

TEST(TextTest, FarNamesAreNot) {
  EXPECT_EQ(Nearest("bayes", kNames), "");
  EXPECT_EQ(Nearest("", kNames), "");
  EXPECT_EQ(Nearest(std::string(1'000'000, 'a'), kNames), "");
  EXPECT_EQ(Nearest("grid", {}), "");
}

TEST(TextTest, TheFirstOfEquallyNearNamesWins) {
  const std::vector<std::string> names = {"aaab", "aaac"};
  EXPECT_EQ(Nearest("aaaa", names), "aaab");
}

TEST(TextTest, SuggestionsReadAsPartOfAMessage) {
  EXPECT_EQ(DidYouMean("gird", kNames), " (did you mean 'grid'?)");
  EXPECT_EQ(DidYouMean("bayes", kNames), "");
}

TEST(TextTest, PartsAreJoined) {
  EXPECT_EQ(Join(kNames), "random, grid, asha, asha-promotion");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "b"}, "|"), "a|b");
  EXPECT_EQ(Join({}), "");
}

TEST(TextTest, NestingIsCountedOutsideOfTexts) {
  EXPECT_FALSE(NestsDeeperThan(R"({"a": [1, {"b": "[[[["}]})", 3));
  EXPECT_TRUE(NestsDeeperThan(R"({"a": [1, {"b": "[[[["}]})", 2));
  EXPECT_FALSE(NestsDeeperThan(R"(["\"[[[", [], [], []])", 2));
  EXPECT_TRUE(NestsDeeperThan(std::string(100'000, '['), 32));
}

TEST(TextTest, NamesAreFoundInWhateverCaseAndWithin) {
  const std::vector<std::string> names = {"asha", "tpe", "asha-promotion"};
  EXPECT_EQ(Nearest("ASHA", names), "asha");
  EXPECT_EQ(Nearest("TPESampler", names), "tpe");
  EXPECT_EQ(Nearest("asha(eta=3)", names), "asha");
  EXPECT_EQ(Nearest("bayes", names), "");
}

TEST(TextTest, CharactersThatLookLikeOthers) {
  EXPECT_EQ(Lookalike("1e\u22125"), "'\u2212' (U+2212) is not '-'");
  EXPECT_EQ(Lookalike("\u2018a\u2019"), "'\u2018' (U+2018) is not '''");
  EXPECT_EQ(Lookalike("-'\u00e4"), "");
}

TEST(TextTest, TrimmedHasNoBlanksAroundIt) {
  EXPECT_EQ(Trimmed("  a b "), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed("  "), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(TextTest, XmlIsEscaped) {
  EXPECT_EQ(EscapedXml("a < \"b\" & c > d"), "a &lt; &quot;b&quot; &amp; c &gt; d");
}

TEST(TextTest, LookalikesAreReplaced) {
  EXPECT_EQ(WithoutLookalikes("trials\uff1a \u221280"), "trials: -80");
  EXPECT_EQ(WithoutLookalikes("plain"), "plain");
}

}  // namespace
}  // namespace sluice
