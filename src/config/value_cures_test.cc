#include "config/value_cures.h"

#include <gtest/gtest.h>

#include "config/test_fault.h"

namespace sluice {
namespace {

TEST(ValueCuresTest, TextsThatNeedQuotes) {
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

TEST(ValueCuresTest, WhatStandsBehind) {
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
}

TEST(ValueCuresTest, QuotesInExpressions) {
  EXPECT_EQ(
      FaultOf("opt: 1\nwhen: 'opt' == 'sgd'\n"),
      "f:2: expected a name without quotes before '== 'sgd'', found 'opt'; write when: opt == "
      "'sgd'");
  EXPECT_EQ(FaultOf("opt: 1\nwhen: 'sgd' == opt\n"),
            "f:2: expected the whole of a text that begins with a quote in quotes, found '== opt' "
            "behind them; write when: \"'sgd' == opt\"");
}

TEST(ValueCuresTest, ComparisonsThatBeginAText) {
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

TEST(ValueCuresTest, AnItemBehindItsKey) {
  EXPECT_EQ(FaultOf("a: - x\n"),
            "f:1: expected the first item of a list on a line of its own, found it behind 'a:'; "
            "write it below, or 'a: [x]'");
}

}  // namespace
}  // namespace sluice
