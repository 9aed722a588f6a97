#include "config/yaml_fault.h"

#include <gtest/gtest.h>

#include "config/test_fault.h"

namespace sluice {
namespace {

TEST(YamlFaultTest, ProposesOnlyWhatReads) {
  EXPECT_EQ(FaultOf("a: 1\ntrials 80\nb: 2\n"),
            "f:2: expected a colon after 'trials', found none; write 'trials: 80'");
  EXPECT_EQ(FaultOf("a: 1\ntrials = 80\nb: 2\n"),
            "f:2: expected a colon after 'trials', found none; write 'trials: 80'");
  EXPECT_EQ(FaultOf("a: 1\ntrials\uff1a80\nb: 2\n"),
            "f:2: '\uff1a' (U+FF1A) is not ':', although it looks like it; write 'trials: 80'");
  // A text in brackets ends at the comma or at the closing bracket.
  EXPECT_EQ(FaultOf("a: {choice: [@b, c]}\n"),
            "f:1: expected a value, found '@', which cannot begin one; quote the text, as in '@b'");
  // One closing brace would not be enough.
  EXPECT_EQ(FaultOf("a: {b: {c: 1\nd: 2\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; close it, "
            "and put commas between what it holds");
}

TEST(YamlFaultTest, TriesNothingOnALongText) {
  const std::string filler(std::size_t{1} << 16, '#');
  EXPECT_EQ(FaultOf("a: 1\ntrials:40\nb: 2\n" + filler + "\n"),
            "f:2: expected a space after the colon, found 'trials:40'; write 'trials: 40'");
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
