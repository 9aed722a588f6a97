#include "config/yaml_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace sluice {
namespace {

std::string FaultOf(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "f");
  return file ? "" : file.error().message;
}

TEST(YamlFaultTest, AColonWithoutABlank) {
  EXPECT_EQ(FaultOf("a: 1\ntrials:40\nb: 2\n"),
            "f:2: expected a blank behind the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("trials:40\nb: 2\n"),
            "f:1: expected a blank behind the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("a: http://x\n"), "");
  EXPECT_EQ(FaultOf("a: {float:[0, 1]}\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; put a blank "
            "behind the colon, ': ['");
}

TEST(YamlFaultTest, AMissingColon) {
  EXPECT_EQ(FaultOf("a: 1\nspace\n  lr: 1\n"),
            "f:2: expected a colon behind 'space', found none; write 'space:'");
}

TEST(YamlFaultTest, ProposesOnlyWhatReads) {
  EXPECT_EQ(FaultOf("a: 1\ntrials 80\nb: 2\n"),
            "f:2: expected a colon behind 'trials', found none; write 'trials: 80'");
  EXPECT_EQ(FaultOf("a: 1\ntrials = 80\nb: 2\n"),
            "f:2: expected a colon behind 'trials', found none; write 'trials: 80'");
  EXPECT_EQ(FaultOf("a: 1\ntrials\uff1a80\nb: 2\n"),
            "f:2: expected YAML, and '\uff1a' (U+FF1A) is not ':'; write 'trials: 80'");
  // A text in brackets ends where they do.
  EXPECT_EQ(FaultOf("a: {choice: [@b, c]}\n"),
            "f:1: expected a value, found '@', which cannot begin one; quote the text, as in '@b'");
  // A closing brace alone would not be enough.
  EXPECT_EQ(FaultOf("a: {b: {c: 1\nd: 2\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; close it, "
            "and put commas between what it holds");
}

TEST(YamlFaultTest, TriesNothingOnALongText) {
  const std::string filler(std::size_t{1} << 16, '#');
  EXPECT_EQ(FaultOf("a: 1\ntrials:40\nb: 2\n" + filler + "\n"),
            "f:2: expected a blank behind the colon, found 'trials:40'; write 'trials: 40'");
}

TEST(YamlFaultTest, LinesThatBeginElsewhere) {
  EXPECT_EQ(FaultOf("s:\n  a: 1\n   b: 2\n"),
            "f:3: expected 2 spaces before 'b', as before the key on line 2, found 3; indent both "
            "alike, since nothing stands below a key that has a value on its line");
  EXPECT_EQ(FaultOf("s:\n  t:\n     a: 1\n   b: 2\n"),
            "f:4: expected a line to begin where one before it does, after 0 or 2 or 5 spaces, "
            "found 3; indent it like the keys beside it");
  EXPECT_EQ(FaultOf("a: 1\n- b: 2\n"),
            "f:2: expected another key, found '- b: 2', an item of a list; remove the '- '");
}

TEST(YamlFaultTest, TextsThatNeedQuotes) {
  EXPECT_EQ(FaultOf("p: x --tag 'a: b' c\n"),
            "f:1: expected one ': ' on the line, found another in the text of 'p'; put quotes "
            "around all of the text: p: 'x --tag ''a: b'' c'");
  EXPECT_EQ(FaultOf("p: \"a\" b\n"),
            "f:1: expected nothing behind the closing \", found 'b'; put quotes around all of the "
            "text: p: '\"a\" b'");
  EXPECT_EQ(FaultOf("e: {COLOR: #ff8800, N: 2}\nb: 1\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found '#', which begins "
            "a comment up to the end of the line; quote the text, as in \"#ff8800\"");
  EXPECT_EQ(FaultOf("p: [python x.py {a}]\n"),
            "f:1: expected ']' to close the '[' that begins on this line, found none; quote texts "
            "that hold braces, as in [\"{lr}\"]");
}

TEST(YamlFaultTest, BracketsAndCommas) {
  EXPECT_EQ(FaultOf("a: {b: [1, 4}\n"),
            "f:1: expected ']' to close the '[' on line 1, found '}'; close what was opened last "
            "first");
  EXPECT_EQ(FaultOf("a: {b: [1]; c: 2}\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; write ',' in "
            "place of ';'");
  EXPECT_EQ(FaultOf("a: {b: [1] c: 2}\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; put a comma "
            "before 'c'");
}

TEST(YamlFaultTest, WhatStandsBehind) {
  EXPECT_EQ(FaultOf("n: {int: [1, 4]} log: true\n"),
            "f:1: expected nothing behind the closing }, found 'log: true'; put it inside the "
            "braces: n: {int: [1, 4], log: true}");
  EXPECT_EQ(FaultOf("n: {int: [1, 4]},\nm: 1\n"),
            "f:1: expected nothing behind the closing }, found ','; remove it");
  EXPECT_EQ(FaultOf("n: int: [1, 4]\n"),
            "f:1: expected one ': ' on the line, found two; put braces around what belongs to 'n': "
            "n: {int: [1, 4]}");
  EXPECT_EQ(FaultOf("trials: 24 seed: 3\n"),
            "f:1: expected one key on the line, found a second; put 'seed: 3' on a line of its "
            "own");
  EXPECT_EQ(FaultOf("a: 1\n// why\nb: 2\n"),
            "f:2: expected a key, found '// why'; a comment begins with '#'");
}

TEST(YamlFaultTest, QuotesInExpressions) {
  EXPECT_EQ(
      FaultOf("opt: 1\nwhen: 'opt' == 'sgd'\n"),
      "f:2: expected a name without quotes before '== 'sgd'', found 'opt'; write when: opt == "
      "'sgd'");
  EXPECT_EQ(FaultOf("opt: 1\nwhen: 'sgd' == opt\n"),
            "f:2: expected the whole of a text that begins with a quote in quotes, found '== opt' "
            "behind them; write when: \"'sgd' == opt\"");
}

TEST(YamlFaultTest, KeysWithAValueHaveNothingBelow) {
  EXPECT_EQ(
      FaultOf("stopper: median\n  startup: 8\n"),
      "f:2: expected nothing below 'stopper', which has the value 'median' on its line, found "
      "'startup'; write 'stopper: {name: median, startup: 8}' if it is an option of that, or "
      "begin both lines alike");
}

TEST(YamlFaultTest, Dashes) {
  EXPECT_EQ(FaultOf("a: - x\n"),
            "f:1: expected the first item of a list on a line of its own, found it behind 'a:'; "
            "write it below, or 'a: [x]'");
  EXPECT_EQ(FaultOf("e:\n  -{a: 1, b: 2}\n"),
            "f:2: expected a blank behind the '-' of an item, found '-{a: 1, b: 2}'; write '- {a: "
            "1, b: 2}'");
  EXPECT_EQ(FaultOf("s:\n  - a: 1\n  b: 2\n"),
            "f:2: expected keys alike, found '- ' before this one and none before 'b'; remove the "
            "'- '");
}

TEST(YamlFaultTest, ComparisonsThatBeginAText) {
  EXPECT_EQ(FaultOf("a: 1\nb: > 0.95\n"),
            "f:2: expected a value, found '>' first, which begins a text of several lines in YAML; "
            "write 'b: 0.95'");
  EXPECT_EQ(FaultOf("b: >= 3\n"),
            "f:1: expected a value, found '>' first, which begins a text of several lines in YAML; "
            "write 'b: 3'");
  EXPECT_EQ(FaultOf("b: | it's\n"),
            "f:1: expected a value, found '|' first, which begins a text of several lines in YAML; "
            "write 'b: '| it''s''");
}

TEST(YamlFaultTest, WhatWasCopiedWithIt) {
  EXPECT_EQ(FaultOf("```yaml\na: 1\n```\n"),
            "f:1: expected YAML, found ```, which marks a listing in Markdown; remove the lines "
            "that begin with it");
}

TEST(YamlFaultTest, NamesOfAnchors) {
  EXPECT_EQ(FaultOf("a: &lr_range 1\nb: *lr-range\n"),
            "f:2: expected a name given before (lr_range), found *lr-range (did you mean "
            "'lr_range'?)");
}

}  // namespace
}  // namespace sluice
