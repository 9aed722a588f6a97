#include "base/json_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/random.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
std::optional<T> If(bool is_one, const Json& json) {
  return is_one ? std::optional<T>(json.get<T>()) : std::nullopt;
}

// Expects the same as from the library: whether the text is an object, and its members.
void ExpectSameAsTheLibrary(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto document = JsonDocument::Read(text);
  ASSERT_EQ(document.has_value(), json.is_object()) << text;
  if (!document) return;
  const auto members = *document->object().Members();
  ASSERT_EQ(members.size(), json.size()) << text;
  auto other = json.items().begin();
  for (const auto& [name, value] : members) {
    const Json& expected = other.value();
    EXPECT_EQ(name, other.key()) << text;
    EXPECT_EQ(value.Written(), expected.dump()) << text;
    const bool fits = !expected.is_number_unsigned() || expected.get<std::uint64_t>() <= INT64_MAX;
    EXPECT_EQ(value.Integer(), If<std::int64_t>(expected.is_number_integer() && fits, expected));
    EXPECT_EQ(value.Unsigned(), If<std::uint64_t>(expected.is_number_unsigned(), expected)) << text;
    EXPECT_EQ(value.Text(), If<std::string>(expected.is_string(), expected)) << text;
    EXPECT_EQ(value.Boolean(), If<bool>(expected.is_boolean(), expected)) << text;
    if (expected.is_number()) {
      EXPECT_EQ(value.Number(), expected.get<double>()) << text;
    }
    EXPECT_EQ(value.List() ? value.List()->size() : 0, expected.is_array() ? expected.size() : 0);
    ++other;
  }
}

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {
      R"({"type":"report","trial":7,"launch":2,"seq":9,"work":3,"values":{"loss":0.25,"x":"NaN"}})",
      R"( { "a" : [ 1 , -2 , 3.5e-7 ] , "b" : { "c" : [ [ ] , { } ] } , "d" : null } )",
      R"({"escapes":"\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00","na\u006de":true,"name":false})",
      "{\"utf\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"}",
      R"({"big":18446744073709551615,"low":-9223372036854775808,"more":18446744073709551616})",
      R"({"tiny":5e-324,"none":1e-999,"most":1.7976931348623157e308,"zero":-0,"minus":-0.0})",
      R"({"same":1,"other":2,"same":"last"})"};
  return texts;
}

TEST(JsonDocumentTest, ReadsWhatTheLibraryReads) {
  for (const std::string& text : Texts()) {
    EXPECT_TRUE(JsonDocument::Read(text)) << text;
    ExpectSameAsTheLibrary(text);
  }
}

TEST(JsonDocumentTest, RefusesWhatIsNoObject) {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "}",
                                 "[1]",
                                 "1",
                                 "\"a\"",
                                 "{} {}",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{a:1}",
                                 "{\"a\":1,}",
                                 "{,}",
                                 "{\"a\":01}",
                                 "{\"a\":1.}",
                                 "{\"a\":.5}",
                                 "{\"a\":+1}",
                                 "{\"a\":1e}",
                                 "{\"a\":-}",
                                 "{\"a\":1e999}",
                                 "{\"a\":nul}",
                                 "{\"a\":truer}",
                                 "{\"a\":[1,]}",
                                 "{\"a\":[1",
                                 "{\"a\":\"\\x\"}",
                                 "{\"a\":\"\\u12g4\"}",
                                 "{\"a\":\"\\ud800\"}",
                                 "{\"a\":\"\\udc00\"}",
                                 "{\"a\":\"\\ud800\\u0041\"}",
                                 "{\"a\":\"\n\"}",
                                 "{\"a\":\"\xff\"}",
                                 "{\"a\":\"\xc0\x80\"}",
                                 "{\"a\":\"\xed\xa0\x80\"}",
                                 "{\"a\":\"\xf4\x90\x80\x80\"}",
                                 "{\"a\":\"\xe2\x82\"}"}) {
    EXPECT_FALSE(JsonDocument::Read(text)) << text;
    ExpectSameAsTheLibrary(text);
  }
  EXPECT_FALSE(JsonDocument::Read("{\"a\":" + std::string(400, '9') + "}"));
}

TEST(JsonDocumentTest, AgreesWithTheLibraryOnTextsThatWereDamaged) {
  constexpr std::string_view kPieces = "{}[]\":,\\u0019.eE+-dD8tfn \x7f\x80\xbf\xc3\xe2\xf0";
  Random random(5);
  for (int i = 0; i < 5'000; ++i) {
    std::string text = Texts()[random.Below(Texts().size())];
    for (std::uint64_t left = 1 + random.Below(3); left > 0; --left) {
      const std::size_t at = random.Below(text.size());
      const char piece = kPieces[random.Below(kPieces.size())];
      switch (random.Below(3)) {
        case 0: text[at] = piece; break;
        case 1: text.insert(at, 1, piece); break;
        default: text.erase(at, 1 + random.Below(3));
      }
      if (text.empty()) text = "{";
    }
    ExpectSameAsTheLibrary(text);
    if (HasFailure()) return;
  }
}

TEST(JsonDocumentTest, BoundsDepth) {
  EXPECT_TRUE(JsonDocument::Read(R"({"a":[[1]]})", {.depth = 3}));
  EXPECT_FALSE(JsonDocument::Read(R"({"a":[[1]]})", {.depth = 2}));
  EXPECT_TRUE(JsonDocument::Read(R"({"a":[[1]],"b":[[2],[3]]})", {.depth = 3}));
  EXPECT_FALSE(JsonDocument::Read("{\"a\":" + std::string(1'000'000, '[')));
}

TEST(JsonDocumentTest, BoundsMembers) {
  std::string text = "{\"a\":0";
  for (int i = 1; i < 10'000; ++i) text += ",\"a\":1";
  const JsonDocument::Limits limits{.members = 10'000};
  EXPECT_TRUE(JsonDocument::Read(text + "}", limits));
  EXPECT_FALSE(JsonDocument::Read(text + ",\"b\":2}", limits));
  EXPECT_TRUE(JsonDocument::Read(text + ",\"b\":2}")) << "what was written down once is read";
}

TEST(JsonDocumentTest, OfManyMembersWithOneNameTheLastIsInTheFirstsPlace) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    std::string text = "{\"first\":0";
    for (std::uint64_t left = random.Below(60); left > 0; --left)
      text += fmt::format(",\"{}\":{}", random.Below(30), left);
    ExpectSameAsTheLibrary(text + ",\"first\":[1]}");
  }
}

// If each name were compared with every other, this would take hours.
TEST(JsonDocumentTest, ReadsAnObjectOfAMillionMembers) {
  constexpr int kMembers = 1'000'000;
  std::string text = "{";
  for (int i = 0; i < kMembers; ++i) text += fmt::format("\"member {}\":{},", i, i);
  const auto document = JsonDocument::Read(text + "\"member 1\":-1}");
  ASSERT_TRUE(document);
  const auto members = *document->object().Members();
  ASSERT_EQ(members.size(), static_cast<std::size_t>(kMembers));
  EXPECT_EQ(members[1].second.Integer(), -1);
  EXPECT_EQ(members.back().first, "member 999999");
}

TEST(JsonDocumentTest, NumbersThatJsonLacksAreTexts) {
  const auto document =
      JsonDocument::Read(R"({"a":"NaN","b":"Infinity","c":"-Infinity","d":"nan"})");
  ASSERT_TRUE(document);
  EXPECT_TRUE(std::isnan(*document->object().Find("a")->Number()));
  EXPECT_EQ(document->object().Find("b")->Number(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(document->object().Find("c")->Number(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(document->object().Find("d")->Number(), std::nullopt);
  EXPECT_FALSE(document->object().Find("e"));
}

TEST(JsonMembersTest, RemembersTheFirstFault) {
  const auto document = JsonDocument::Read(R"({"n":5,"t":"x","l":[1],"o":{"a":1,"b":true}})");
  ASSERT_TRUE(document);
  JsonMembers in(document->object());
  EXPECT_EQ(in.Integer("n", 0, 5), 5);
  EXPECT_EQ(in.Text("t"), "x");
  EXPECT_EQ(in.List("l").size(), 1U);
  EXPECT_EQ(in.Object("o"), R"({"a":1,"b":true})");
  EXPECT_EQ(in.error(), "");
  EXPECT_EQ(in.Integer("n", 6, 9), 6);
  EXPECT_EQ(in.error(), "'n': expected an integer from 6 to 9");
  (void)in.Boolean("t");
  EXPECT_EQ(in.error(), "'n': expected an integer from 6 to 9");
  JsonMembers numbers(document->object());
  (void)numbers.Numbers("o");
  EXPECT_EQ(numbers.error(), "'b': expected a number");
}

TEST(JsonWriterTest, WritesWhatTheLibraryWrites) {
  const std::string text = "plain, \"quoted\" \\ \n \x01 \x7f \xc3\xa9 \xff";
  JsonWriter out;
  out.Add("text", text).Add("", "plain");
  out.Add("low", std::numeric_limits<std::int64_t>::min());
  out.Add("high", std::numeric_limits<std::uint64_t>::max());
  out.Add("yes", true).Add("a\"b", 0.1).Add("whole", 3.0).Add("minus", -0.0);
  out.Add("nan", std::nan("")).AddJson("list", "[1]");
  const Json library = {{"text", text},
                        {"", "plain"},
                        {"low", std::numeric_limits<std::int64_t>::min()},
                        {"high", std::numeric_limits<std::uint64_t>::max()},
                        {"yes", true},
                        {"a\"b", 0.1},
                        {"whole", 3.0},
                        {"minus", -0.0},
                        {"nan", "NaN"},
                        {"list", Json::array({1})}};
  EXPECT_EQ(out.Take(), library.dump(-1, ' ', false, Json::error_handler_t::replace));
  EXPECT_EQ(JsonWriter().Take(), "{}");
}

}  // namespace
}  // namespace sluice
