#include "config/line_cures.h"

#include <gtest/gtest.h>

#include "config/test_fault.h"

namespace sluice {
namespace {

TEST(LineCuresTest, AColonWithoutABlank) {
  EXPECT_EQ(FaultOf("a: 1\ntrials:40\nb: 2\n"),
            "f:2: expected a blank behind the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("trials:40\nb: 2\n"),
            "f:1: expected a blank behind the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("a: http://x\n"), "");
  EXPECT_EQ(FaultOf("a: {float:[0, 1]}\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; put a blank "
            "behind the colon, ': ['");
}

TEST(LineCuresTest, AMissingColon) {
  EXPECT_EQ(FaultOf("a: 1\nspace\n  lr: 1\n"),
            "f:2: expected a colon behind 'space', found none; write 'space:'");
}

TEST(LineCuresTest, LinesThatBeginElsewhere) {
  EXPECT_EQ(FaultOf("s:\n  a: 1\n   b: 2\n"),
            "f:3: expected 2 spaces before 'b', as before the key on line 2, found 3; indent both "
            "alike, since nothing stands below a key that has a value on its line");
  EXPECT_EQ(FaultOf("s:\n  t:\n     a: 1\n   b: 2\n"),
            "f:4: expected a line to begin where one before it does, after 0 or 2 or 5 spaces, "
            "found 3; indent it like the keys beside it");
  EXPECT_EQ(FaultOf("a: 1\n- b: 2\n"),
            "f:2: expected another key, found '- b: 2', an item of a list; remove the '- '");
}

TEST(LineCuresTest, KeysWithAValueHaveNothingBelow) {
  EXPECT_EQ(
      FaultOf("stopper: median\n  startup: 8\n"),
      "f:2: expected nothing below 'stopper', which has the value 'median' on its line, found "
      "'startup'; write 'stopper: {name: median, startup: 8}' if it is an option of that, or "
      "begin both lines alike");
}

TEST(LineCuresTest, Dashes) {
  EXPECT_EQ(FaultOf("e:\n  -{a: 1, b: 2}\n"),
            "f:2: expected a blank behind the '-' of an item, found '-{a: 1, b: 2}'; write '- {a: "
            "1, b: 2}'");
  EXPECT_EQ(FaultOf("s:\n  - a: 1\n  b: 2\n"),
            "f:2: expected keys alike, found '- ' before this one and none before 'b'; remove the "
            "'- '");
}

TEST(LineCuresTest, CommentsOfOtherLanguages) {
  EXPECT_EQ(FaultOf("a: 1\n// why\nb: 2\n"),
            "f:2: expected a key, found '// why'; a comment begins with '#'");
}

}  // namespace
}  // namespace sluice
