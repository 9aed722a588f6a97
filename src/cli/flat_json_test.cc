#include "cli/flat_json.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Flat(std::string_view json) {
  std::string text;
  EachMember(json, [&](const std::string& name, const std::string& value) {
    text += name + "=" + value + ";";
  });
  return text;
}

TEST(FlatJsonTest, ScalarsAreAsWritten) {
  EXPECT_EQ(
      Flat(
          R"({"lr":1e-3,"n":3,"big":18446744073709551615,"s":"a \"b\"","t":true,"x":null,"v":"NaN"})"),
      "lr=1e-3;n=3;big=18446744073709551615;s=a \"b\";t=true;x=;v=NaN;");
}

TEST(FlatJsonTest, InnerObjectsAreJoinedByDots) {
  EXPECT_EQ(Flat(R"({"a":{"b":1,"c":{"d":2},"e":3},"f":4})"), "a.b=1;a.c.d=2;a.e=3;f=4;");
}

TEST(FlatJsonTest, ListsStayJson) {
  EXPECT_EQ(Flat(R"({"l":[1,"x",{"k":[true,null]}],"m":[],"n":2})"),
            R"(l=[1,"x",{"k":[true,null]}];m=[];n=2;)");
}

TEST(FlatJsonTest, WhatIsNoObjectGivesNothing) {
  for (const char* text : {"", "3", "[1,2]", "nonsense", "{"}) EXPECT_EQ(Flat(text), "") << text;
}

TEST(ShapeOfTest, SameNamesAreOneShape) {
  std::string one, two;
  EXPECT_EQ(ShapeOf(R"({"a":1,"b":"x"})", one), ShapeOf(R"({"a":2.5,"b":"y:"})", two));
  EXPECT_NE(ShapeOf(R"({"a":1,"b":2})", one), ShapeOf(R"({"a":1,"c":2})", two));
  EXPECT_NE(ShapeOf(R"({"a":1})", one), ShapeOf(R"({"a":1,"b":2})", two));
  EXPECT_EQ(ShapeOf(R"({"a\":":1})", one), R"("a\":")");
  EXPECT_EQ(ShapeOf(R"({"a":{"b":1}})", one), R"({"a":{"b":1}})");
}

}  // namespace
}  // namespace sluice
