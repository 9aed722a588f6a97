#include "config/line_cures.h"

#include <gtest/gtest.h>

#include "config/test_fault.h"

namespace sluice {
namespace {

TEST(LineCuresTest, AColonWithoutABlank) {
  EXPECT_EQ(FaultOf("a: 1\ntrials:40\nb: 2\n"),
            "f:2: expected a space after the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("trials:40\nb: 2\n"),
            "f:1: expected a space after the colon, found 'trials:40'; write 'trials: 40'");
  EXPECT_EQ(FaultOf("a: http://x\n"), "");
  EXPECT_EQ(FaultOf("a: {float:[0, 1]}\n"),
            "f:1: expected '}' to close the '{' that begins on this line, found none; put a space "
            "after the colon: write ': ['");
}

TEST(LineCuresTest, AMissingColon) {
  EXPECT_EQ(FaultOf("a: 1\nspace\n  lr: 1\n"),
            "f:2: expected a colon after 'space', found none; write 'space:'");
}

TEST(LineCuresTest, LinesThatBeginElsewhere) {
  EXPECT_EQ(FaultOf("s:\n  a: 1\n   b: 2\n"),
            "f:3: expected 2 spaces before 'b', as before the key on line 2, found 3; indent both "
            "keys equally: a key with a value on its own line cannot have other keys below it");
  EXPECT_EQ(FaultOf("s:\n  t:\n     a: 1\n   b: 2\n"),
            "f:4: expected this line to be indented by 0, 2 or 5 spaces, like a line above it, "
            "found 3; indent it like the keys of the same section");
  EXPECT_EQ(FaultOf("a: 1\n- b: 2\n"),
            "f:2: expected another key, found '- b: 2', an item of a list; remove the '- '");
}

TEST(LineCuresTest, KeysWithAValueHaveNothingBelow) {
  EXPECT_EQ(
      FaultOf("stopper: median\n  startup: 8\n"),
      "f:2: expected nothing below 'stopper', which has the value 'median' on its line, found "
      "'startup'; write 'stopper: {name: median, startup: 8}' if 'startup' is an option of "
      "'median'; otherwise indent both lines equally");
}

TEST(LineCuresTest, Dashes) {
  EXPECT_EQ(FaultOf("e:\n  -{a: 1, b: 2}\n"),
            "f:2: expected a space after the '-' of an item, found '-{a: 1, b: 2}'; write '- {a: "
            "1, b: 2}'");
  EXPECT_EQ(FaultOf("s:\n  - a: 1\n  b: 2\n"),
            "f:2: expected '- ' before all of these keys or before none, found it before this key "
            "but not before 'b'; remove the '- '");
}

TEST(LineCuresTest, CommentsOfOtherLanguages) {
  EXPECT_EQ(FaultOf("a: 1\n// why\nb: 2\n"),
            "f:2: expected a key, found '// why'; a comment begins with '#'");
}

}  // namespace
}  // namespace sluice
