#include "cli/text/csv.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(CsvTest, PlainFieldsStayPlain) {
  EXPECT_EQ(CsvLine().Add("1").Add("").Add("relu x").Finish(), "1,,relu x\n");
}

TEST(CsvTest, WhatWouldEndAFieldIsQuoted) {
  EXPECT_EQ(CsvLine().Add("a,b").Add("say \"hi\"").Add("two\nlines").Add("cr\r").Finish(),
            "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"cr\r\"\n");
}

TEST(CsvTest, ALineIsUsedAgain) {
  CsvLine line;
  line.Add("a").Finish();
  EXPECT_EQ(line.Add("b").Add("c").Finish(), "b,c\n");
}

}  // namespace
}  // namespace sluice
