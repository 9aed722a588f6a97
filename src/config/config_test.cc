#include "config/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ConfigFile Parse(std::string_view text) {
  auto file = ConfigFile::Parse(text, "f.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return std::move(*file);
}

// Why a text cannot be read at all. Empty if it can be read.
std::string Refusal(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "f.yaml");
  return file ? "" : file.error().message;
}

// The problems that are reported when `read` reads the value of `a`.
template <typename Read>
std::string Problem(std::string_view text, Read read) {
  const ConfigFile file = Parse(text);
  const ConfigMap map = *file.root().Map();
  read(*map.Find("a"));
  const Status status = file.Check();
  return status ? "" : status.error().message;
}

template <typename Read>
auto Value(std::string_view text, Read read) {
  const ConfigFile file = Parse(text);
  const ConfigMap map = *file.root().Map();
  const auto value = read(*map.Find("a"));
  const Status status = file.Check();
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_TRUE(value.has_value());
  return *value;
}

const auto kText = [](const ConfigNode& node) { return node.Text(); };
const auto kInteger = [](const ConfigNode& node) { return node.Integer(); };
const auto kNumber = [](const ConfigNode& node) { return node.Number(); };
const auto kBoolean = [](const ConfigNode& node) { return node.Boolean(); };
const auto kDuration = [](const ConfigNode& node) { return node.Duration(); };
const auto kSize = [](const ConfigNode& node) { return node.SizeBytes(); };
const auto kValue = [](const ConfigNode& node) { return node.Value(); };

TEST(ConfigTest, ReadsTexts) {
  EXPECT_EQ(Value("a: two words", kText), "two words");
  EXPECT_EQ(Value("a: 1.50", kText), "1.50");
  EXPECT_EQ(Value("a: ''", kText), "");
  EXPECT_EQ(Value("a: >\n  folded\n  text\n", kText), "folded text\n");
  EXPECT_EQ(Value("\xEF\xBB\xBF"
                  "a: b",
                  kText),
            "b");
  EXPECT_EQ(Value("a: \xC3\xA9", kText), "\xC3\xA9");
}

TEST(ConfigTest, RefusesWhatIsNoText) {
  EXPECT_EQ(Problem("a:\n", kText), "f.yaml:1: a: expected a text, found nothing");
  EXPECT_EQ(
      Problem("a: {lr}\n", kText),
      "f.yaml:1: a: expected a text, found {lr}; quote a text that begins with a brace or bracket");
  EXPECT_EQ(Problem("a: \"x\\0y\"\n", kText),
            "f.yaml:1: a: expected a text without NUL characters, found 'x\\x00y'");
}

TEST(ConfigTest, ReadsIntegers) {
  EXPECT_EQ(Value("a: -12", kInteger), -12);
  EXPECT_EQ(Value("a: +7", kInteger), 7);
  EXPECT_EQ(Value("a: 0x1F", kInteger), 31);
  EXPECT_EQ(Value("a: 0o17", kInteger), 15);
  EXPECT_EQ(Value("a: 1e3", kInteger), 1000);
  EXPECT_EQ(Value("a: 9223372036854775807", kInteger), std::numeric_limits<std::int64_t>::max());
}

TEST(ConfigTest, RefusesWhatIsNoInteger) {
  EXPECT_EQ(Problem("a: 1.5", kInteger), "f.yaml:1: a: expected a whole number, found 1.5");
  EXPECT_EQ(Problem("a: many", kInteger), "f.yaml:1: a: expected a whole number, found many");
  EXPECT_EQ(Problem("a: '5'", kInteger),
            "f.yaml:1: a: expected a whole number, found '5'; remove the quotes");
  EXPECT_EQ(Problem("a: 9223372036854775808", kInteger),
            "f.yaml:1: a: expected a whole number, found 9223372036854775808");
  EXPECT_EQ(Problem("a: [1]", kInteger),
            "f.yaml:1: a: expected a whole number, found [1]; write '1'");
  EXPECT_EQ(Problem("a: 101",
                    [](const ConfigNode& node) { return node.Integer({.min = 1, .max = 100}); }),
            "f.yaml:1: a: expected a whole number from 1 to 100, found 101");
  EXPECT_EQ(Problem("a: -1", [](const ConfigNode& node) { return node.Integer({.min = 0}); }),
            "f.yaml:1: a: expected a whole number of at least 0, found -1");
}

TEST(ConfigTest, ReadsNumbers) {
  EXPECT_EQ(Value("a: 1e-3", kNumber), 1e-3);
  EXPECT_EQ(Value("a: 1e3", kNumber), 1e3);
  EXPECT_EQ(Value("a: +.5", kNumber), 0.5);
  EXPECT_EQ(Value("a: 5.", kNumber), 5.0);
  EXPECT_EQ(Value("a: -2", kNumber), -2.0);
  EXPECT_EQ(Value("a: 0x10", kNumber), 16.0);
  EXPECT_EQ(Value("a: 1e-999", kNumber), 0.0);
  const auto any = [](const ConfigNode& node) { return node.Number({.finite = false}); };
  EXPECT_EQ(Value("a: -.inf", any), -std::numeric_limits<double>::infinity());
  const std::string zeros(400, '0');
  EXPECT_EQ(Value("a: 0." + zeros + "1", kNumber), 0.0);
  EXPECT_EQ(Value("a: -1" + zeros + "e-5", any), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Value("a: .nan", any)));
}

TEST(ConfigTest, RefusesWhatIsNoNumber) {
  EXPECT_EQ(Problem("a: .nan", kNumber), "f.yaml:1: a: expected a finite number, found .nan");
  EXPECT_EQ(Problem("a: 1e999", kNumber), "f.yaml:1: a: expected a finite number, found 1e999");
  for (const char* bad : {"inf", "nan", "1e", "--1", "1.2.3", "0x", ".", "e5", "+-1"}) {
    EXPECT_EQ(Problem(std::string("a: ") + bad, kNumber),
              std::string("f.yaml:1: a: expected a number, found ") + bad);
  }
  EXPECT_EQ(
      Problem("a: 2", [](const ConfigNode& node) { return node.Number({.min = 0, .max = 1}); }),
      "f.yaml:1: a: expected a number from 0 to 1, found 2");
}

TEST(ConfigTest, ShowsTheNumberThatIsMeant) {
  for (const auto& [typed, meant] :
       {std::pair("1_000", "1000"), std::pair("1,000", "1000"), std::pair("24,", "24"),
        std::pair("~100", "100"), std::pair("10^-3", "1e-3"), std::pair("10**4", "1e4"),
        std::pair("1/8", "0.125"), std::pair("50%", "0.5"), std::pair("3,5", "3.5"),
        std::pair("10k", "10000"), std::pair("27 epochs", "27")}) {
    EXPECT_EQ(Problem(std::string("a: ") + typed, kNumber),
              fmt::format("f.yaml:1: a: expected a number, found {}; write '{}'", typed, meant));
  }
  EXPECT_EQ(Problem("a: 10%", kInteger), "f.yaml:1: a: expected a whole number, found 10%");
  EXPECT_EQ(
      Problem("a: 1e\u22125", kNumber),
      "f.yaml:1: a: expected a number, found 1e\u22125; '\u2212' (U+2212) is not '-': type it "
      "again");
  EXPECT_EQ(Problem("a: 4 // four", kNumber),
            "f.yaml:1: a: expected a number, found 4 // four; write '#' before a comment, not "
            "'//'");
}

TEST(ConfigTest, ReadsBooleans) {
  EXPECT_TRUE(Value("a: true", kBoolean));
  EXPECT_FALSE(Value("a: False", kBoolean));
  EXPECT_EQ(Problem("a: yes", kBoolean),
            "f.yaml:1: a: expected true or false, found yes; write 'true'");
  EXPECT_EQ(Problem("a: 'true'", kBoolean),
            "f.yaml:1: a: expected true or false, found 'true'; remove the quotes");
}

TEST(ConfigTest, ReadsDurationsAndSizes) {
  EXPECT_EQ(Value("a: 1h30m", kDuration), std::chrono::minutes(90));
  EXPECT_EQ(Value("a: 90", kDuration), std::chrono::seconds(90));
  EXPECT_EQ(Problem("a: soon", kDuration),
            "f.yaml:1: a: expected a duration such as 90s, 20m, 1h30m or 2d, found soon");
  EXPECT_EQ(Value("a: 500kB", kSize), 500'000);
  EXPECT_EQ(Value("a: 16MiB", kSize), 16 << 20);
  EXPECT_EQ(Value("a: 1.5 GB", kSize), 1'500'000'000);
  EXPECT_EQ(Value("a: 12", kSize), 12);
  EXPECT_EQ(Problem("a: 2 hours", kDuration),
            "f.yaml:1: a: expected a duration such as 90s, 20m, 1h30m or 2d, found 2 hours; write "
            "'2h'");
  EXPECT_EQ(Problem("a: 16 megs", kSize),
            "f.yaml:1: a: expected a size such as 500kB, 16MiB or 2GB, found 16 megs; write "
            "'16MB'");
  for (const char* bad : {"-1MB", "MB", "99999999TiB"}) {
    EXPECT_EQ(
        Problem(std::string("a: ") + bad, kSize),
        std::string("f.yaml:1: a: expected a size such as 500kB, 16MiB or 2GB, found ") + bad);
  }
}

TEST(ConfigTest, ValuesKeepTheirType) {
  EXPECT_EQ(Value("a: true", kValue), ConfigValue(true));
  EXPECT_EQ(Value("a: 3", kValue), ConfigValue(std::int64_t{3}));
  EXPECT_EQ(Value("a: 3.0", kValue), ConfigValue(3.0));
  EXPECT_EQ(Value("a: 1e3", kValue), ConfigValue(1000.0));
  EXPECT_EQ(Value("a: relu", kValue), ConfigValue(std::string("relu")));
  EXPECT_EQ(Value("a: '3'", kValue), ConfigValue(std::string("3")));
  EXPECT_EQ(Value("a: \"true\"", kValue), ConfigValue(std::string("true")));
  EXPECT_EQ(Value("a: !!str 3", kValue), ConfigValue(std::string("3")));
  EXPECT_EQ(Value("a: yes", kValue), ConfigValue(std::string("yes")));
  EXPECT_EQ(Problem("a: ~", kValue),
            "f.yaml:1: a: expected a text, a number, true or false, found nothing; quote it if a "
            "text is meant");
  EXPECT_EQ(Problem("a: 99999999999999999999", kValue),
            "f.yaml:1: a: expected a whole number of at most 64 bits, found 99999999999999999999; "
            "quote it if a text is "
            "meant");
}

TEST(ConfigTest, NamesTheNearestOfSeveralWords) {
  const std::vector<std::string> names = {"random", "grid"};
  const auto read = [&](const ConfigNode& node) { return node.OneOf(names); };
  EXPECT_EQ(Value("a: grid", read), "grid");
  EXPECT_EQ(Problem("a: radnom", read),
            "f.yaml:1: a: expected one of random, grid, found radnom (did you mean 'random'?)");
  EXPECT_EQ(Problem("a: [grid]", read),
            "f.yaml:1: a: expected one of random, grid, found [grid]; write 'grid' alone");
}

TEST(ConfigTest, ListsAndMapsKeepTheFilesOrder) {
  const ConfigFile file = Parse("z: [1, x, {k: v}]\nb: 2\na: 3\n");
  const ConfigMap map = *file.root().Map();
  std::vector<std::string> keys;
  for (const auto& entry : map.entries()) keys.push_back(entry.key);
  EXPECT_THAT(keys, ElementsAre("z", "b", "a"));
  const auto items = *map.Find("z")->List();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[2].path(), "z[2]");
  EXPECT_EQ(items[2].Map()->Find("k")->path(), "z[2].k");
  EXPECT_EQ(map.Find("a")->line(), 3);
}

TEST(ConfigTest, MissingUnknownAndRepeatedKeys) {
  const ConfigFile file = Parse("trails: 3\nprogram: x\nprogram: y\nzzzzzz: 1\n? [a]\n: 1\n");
  const ConfigMap map = *file.root().Map();
  const std::vector<std::string> known = {"program", "trials", "space"};
  map.AllowOnly(known);
  EXPECT_EQ(map.Require("space", "what to tune", "add it"), nullptr);
  EXPECT_EQ(map.Find("program")->Text(), "x");
  EXPECT_EQ(
      file.Check().error().message,
      "f.yaml:1: trails: unknown key (did you mean 'trials'?)\n"
      "f.yaml:1: space: expected what to tune, found nothing; add it\n"
      "f.yaml:3: program: expected each key once, found it again (first on line 2); remove one\n"
      "f.yaml:4: zzzzzz: unknown key; expected one of program, trials, space\n"
      "f.yaml:5: expected a word as key, found [a]; quote a key that begins with a brace or "
      "bracket");
}

TEST(ConfigTest, AliasesStandForWhatTheyName) {
  const ConfigFile file = Parse("a: &r [1, 2]\nb: *r\n");
  const auto items = *file.root().Map()->Find("b")->List();
  EXPECT_EQ(items[1].Integer(), 2);
}

TEST(ConfigTest, RefusesAliasesThatGrowWithoutBound) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      laughs += std::string(j > 0 ? ", " : "") + "*a" + std::to_string(i - 1);
    laughs += "]\n";
  }
  EXPECT_EQ(Refusal(laughs),
            "f.yaml:5: expected at most 100000 values, found more (aliases count as often as they "
            "are used); make the "
            "file smaller");
  EXPECT_EQ(Refusal("a: &a [*a]\n"),
            "f.yaml:1: expected an alias of something before it, found one that holds itself");
}

TEST(ConfigTest, RefusesDeepNesting) {
  const std::string expected =
      "f.yaml:1: expected at most 64 lists and maps inside each other, found more";
  EXPECT_EQ(Refusal(std::string(100, '[') + std::string(100, ']')), expected);
  EXPECT_EQ(Refusal(std::string(500'000, '[')), expected);
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_EQ(Refusal(dashes), expected);
  // An alias puts sixty levels inside ten other levels.
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  EXPECT_EQ(Refusal("a: &a " + deep + "\nb: [[[[[[[[[[*a]]]]]]]]]]\n"),
            "f.yaml:2: expected at most 64 lists and maps inside each other, found more");
}

TEST(ConfigTest, RefusesWhatIsNoYaml) {
  EXPECT_EQ(Refusal("a: 1\nb: [1, 2\nc: 3\n"),
            "f.yaml:2: expected ']' to close the '[' that begins on this line, found none; write "
            "'b: [1, 2]'");
  EXPECT_EQ(Refusal("a: {x: 1\n"),
            "f.yaml:1: expected '}' to close the '{' that begins on this line, found none; write "
            "'a: {x: 1}'");
  EXPECT_EQ(Refusal("a: 1\nb: c: d\n"),
            "f.yaml:2: expected one ': ' on the line, found two; put braces around what belongs to "
            "'b': b: {c: d}");
  EXPECT_EQ(Refusal("a: 'x\nb: 1\n"),
            "f.yaml:1: expected a closing quote, found the end of the file; close the quote that "
            "begins on this line");
  EXPECT_EQ(
      Refusal("a: @x\n"),
      "f.yaml:1: expected a value, found '@', which cannot begin one; quote the text, as in '@x'");
  EXPECT_EQ(Refusal("a: *x\n"),
            "f.yaml:1: expected a value, found '*x', which means something named &x before, and "
            "there is none; quote texts that begin with '*'");
  EXPECT_EQ(Refusal("a: {lr}/x\n"),
            "f.yaml:1: expected nothing behind the closing }, found '/x'; put quotes around all of "
            "the text: a: '{lr}/x'");
  EXPECT_EQ(Refusal("a: 1\n]\n"),
            "f.yaml:2: expected an opening bracket or brace before, found only the closing one; "
            "remove it");
  EXPECT_EQ(Refusal("a: \"\\q\"\n"),
            "f.yaml:1: expected a known escape after '\\' in double quotes, found another; write "
            "\\\\ for a backslash, or "
            "use single quotes");
  EXPECT_EQ(Refusal("a: !python/object x\n"),
            "f.yaml:1: expected a value, found !python/object, which YAML takes for a tag; write "
            "'not python/object' in a condition, quote a text that begins with '!', or remove it");
}

TEST(ConfigTest, RefusesTabsInIndentation) {
  EXPECT_EQ(
      Refusal("space:\n\tlr: 1\n"),
      "f.yaml:2: expected spaces before the first word of a line, found a tab; indent with spaces");
  EXPECT_EQ(Refusal("a: 1\t# a comment\n\t\n"), "");
}

TEST(ConfigTest, RefusesOtherBytesThanText) {
  EXPECT_EQ(Refusal("a: 1\nb: \xFF\n"),
            "f.yaml:2: expected UTF-8, found a byte that is not; save the file as UTF-8");
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
    EXPECT_THAT(Refusal(std::string("a: ") + bad), HasSubstr("f.yaml:1: expected UTF-8"));
  }
  EXPECT_EQ(Refusal(std::string_view("a\0: 1\n", 6)),
            "f.yaml:1: expected text, found the control character 0x00; remove it");
}

TEST(ConfigTest, RefusesEmptySeveralAndLargeDocuments) {
  EXPECT_EQ(Refusal(""), "f.yaml:1: expected keys and values, found an empty file");
  EXPECT_EQ(Refusal("# nothing\n"), "f.yaml:1: expected keys and values, found an empty file");
  EXPECT_EQ(Refusal("---\n"), "f.yaml:1: expected keys and values, found an empty file");
  EXPECT_EQ(Refusal("a: 1\n---\nb: 2\n"),
            "f.yaml:2: expected one document, found the beginning of a second; remove the line "
            "'---' to make one of them");
  EXPECT_EQ(Refusal(std::string((1 << 20) + 1, ' ')),
            "f.yaml:1: expected at most 1048576 bytes, found 1048577");
  EXPECT_EQ(Refusal("[" + std::string(200'000, ',')), Refusal("[" + std::string(300'000, ',')));
}

TEST(ConfigTest, SaysAHundredProblemsAndThatThereAreMore) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const ConfigFile file = Parse(text);
  file.root().Map()->AllowOnly({});
  const std::string message = file.Check().error().message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  EXPECT_THAT(message, ::testing::EndsWith("\nf.yaml: and more problems; mend these first"));
}

constexpr std::string_view kLayers = R"(
top:
  work: {speed: fast}
  only: 1
middle:
  work: {speed: slow, length: short}
  plain: {x: 1}
bottom:
  work: {length: long, colour: red}
  plain: {y: 2}
  last: 3
)";

const std::vector<std::string> kSections = {"work"};

ConfigMap Layered(const ConfigFile& file) {
  const ConfigMap root = *file.root().Map();
  std::vector<ConfigMap> layers;
  for (const auto& [key, layer] : root.entries()) layers.push_back(*layer.Map());
  return ConfigMap::Layered(*root.Find("middle"), layers, kSections);
}

TEST(ConfigTest, OfLayersTheTopmostCounts) {
  const ConfigFile file = Parse(kLayers);
  const ConfigMap map = Layered(file);
  EXPECT_EQ(map.entries().size(), 4U);
  EXPECT_EQ(map.Find("only")->Integer(), 1);
  EXPECT_EQ(map.Find("last")->Integer(), 3);
  EXPECT_EQ(map.Find("plain")->Map()->entries().size(), 1U) << "not a section: only the upper map";
  const ConfigMap work = *map.Find("work")->Map();
  EXPECT_EQ(work.entries().size(), 3U);
  EXPECT_EQ(work.Find("speed")->Text(), "fast");
  EXPECT_EQ(work.Find("length")->Text(), "short");
  EXPECT_EQ(work.Find("colour")->Text(), "red");
  EXPECT_EQ(map.Find("work")->Show(), "{speed: fast, length: short, colour: red}");
  EXPECT_TRUE(file.Check());
}

TEST(ConfigTest, WhatIsWrongInLayersIsSaidOnceWhereItIsWritten) {
  const ConfigFile file = Parse(kLayers);
  for (int again = 0; again < 3; ++again) {
    const ConfigMap map = Layered(file);
    map.Require("missing", "a key");
    const ConfigMap work = *map.Find("work")->Map();
    for (const char* key : {"speed", "length", "colour"}) work.Find(key)->Integer();
    work.Require("weight", "a number");
  }
  EXPECT_EQ(file.Check().error().message,
            "f.yaml:3: top.work.speed: expected a whole number, found fast\n"
            "f.yaml:3: top.work.weight: expected a number, found nothing\n"
            "f.yaml:5: middle.missing: expected a key, found nothing\n"
            "f.yaml:6: middle.work.length: expected a whole number, found short\n"
            "f.yaml:9: bottom.work.colour: expected a whole number, found red");
}

TEST(ConfigTest, ASectionThatIsNoMapIsSaidWhereverItLies) {
  const ConfigFile below = Parse("top: {work: {a: 1}}\nmiddle: {}\nbottom:\n  work: 3\n");
  EXPECT_EQ(Layered(below).Find("work")->Map()->entries().size(), 1U);
  EXPECT_EQ(below.Check().error().message,
            "f.yaml:4: bottom.work: expected a map of keys and values, found 3");
  const ConfigFile above = Parse("top: {work: 3}\nmiddle: {}\nbottom:\n  work: {a: 1}\n");
  EXPECT_FALSE(Layered(above).Find("work")->Map());
  EXPECT_EQ(above.Check().error().message,
            "f.yaml:1: top.work: expected a map of keys and values, found 3");
}

TEST(ConfigTest, ShortensWhatItShows) {
  const std::string problem = Problem("a: " + std::string(1000, 'x'), kInteger);
  EXPECT_EQ(problem, "f.yaml:1: a: expected a whole number, found " + std::string(60, 'x') + "...");
  std::string list = "a: [";
  for (int i = 0; i < 1000; ++i) list += "word, ";
  EXPECT_LT(Problem(list + "x]", kInteger).size(), 130U);
}

TEST(ConfigTest, FindsWhatAPathLeadsTo) {
  const auto file = ConfigFile::Parse("a:\n  b: 1\n  c:\n    - 2\n    - 3\n", "f.yaml");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->At("a.b").line(), 2);
  EXPECT_EQ(file->At("a.c.1").line(), 5);
  EXPECT_EQ(file->At("a.c.1").path(), "a.c");
  EXPECT_EQ(file->At("a.c.2").line(), 3);  // the file has only a.c
  EXPECT_EQ(file->At("a.x.y").path(), "a");
  EXPECT_EQ(file->At("").path(), "");
}

}  // namespace
}  // namespace sluice
