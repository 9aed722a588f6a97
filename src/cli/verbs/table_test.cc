#include "cli/verbs/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(HelpTest, EveryVerbTeachesByExample) {
  for (const std::string& verb : VerbNames()) {
    const std::string help = HelpFor(verb);
    EXPECT_TRUE(help.starts_with("usage: sluice " + verb)) << verb;
    const std::size_t examples = help.find("\nexamples:\n");
    ASSERT_NE(examples, std::string::npos) << verb;
    std::size_t lines = 0;
    for (std::size_t at = help.find("\n  sluice ", examples); at != std::string::npos;
         at = help.find("\n  sluice ", at + 1))
      ++lines;
    EXPECT_GE(lines, 2u) << verb;
    EXPECT_LE(lines, 4u) << verb;
    EXPECT_THAT(HelpFor(""), HasSubstr("\n  " + verb + " "));
  }
}

TEST(HelpTest, EveryFlagIsExplained) {
  for (const std::string& verb : VerbNames()) {
    for (const std::string& flag : FlagsOf(verb)) {
      EXPECT_THAT(HelpFor(verb), HasSubstr(flag + " ")) << verb;
    }
  }
}

TEST(HelpTest, NoLineIsWide) {
  for (const std::string& verb : VerbNames()) {
    const std::string help = HelpFor(verb);
    std::string_view rest = help;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      EXPECT_LE(end, 100u) << rest.substr(0, end);
      rest.remove_prefix(end + 1);
    }
  }
}

}  // namespace
}  // namespace sluice
