#include "cli/text/flat_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

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
  EXPECT_EQ(Flat(R"({"lr":1e-3,"n":3,"big":18446744073709551615,)"
                 R"("s":"a \"b\"","t":true,"x":null,"v":"NaN"})"),
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

TEST(FlatJsonTest, PlainObjectsReadAsTheOthers) {
  // Each object is written twice: as our writers make it, and with blanks, so that the parser reads
  // it.
  const std::pair<const char*, const char*> same[] = {
      {R"({"a":1,"b":-2.5e-7,"c":"NaN","d":true,"e":""})",
       R"({"a": 1, "b": -2.5e-7, "c": "NaN", "d": true, "e": ""})"},
      {R"({"name, with } in it":"x:y,{z"})", R"({ "name, with } in it" : "x:y,{z" })"},
      {"{}", "{ }"},
  };
  for (const auto& [plain, spaced] : same) EXPECT_EQ(Flat(plain), Flat(spaced)) << plain;
  std::string many = "{";
  for (int i = 0; i < 50; ++i) many += (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\":1";
  EXPECT_EQ(std::ranges::count(Flat(many + "}"), ';'), 50);
}

TEST(FlatJsonTest, WhatIsCutOffGivesAtMostItsBeginning) {
  const std::string whole = R"({"a":1,"b":"x","c":true})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(Flat(whole).starts_with(Flat(whole.substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace sluice
