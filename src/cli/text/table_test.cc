#include "cli/text/table.h"

#include <gtest/gtest.h>

#include "cli/view/progress.h"

namespace sluice {
namespace {

Table Sample() {
  Table table({{"trial", Align::kRight}, {"state"}, {"lr", Align::kRight}, {"note"}});
  table.Add({{"1"}, {"complete", Ink::kGreen}, {"0.01"}, {""}});
  table.Add({{"12"}, {"failed"}, {"0.0025"}, {"exit code 1: out of memory"}});
  return table;
}

TEST(TableTest, ColumnsAreAligned) {
  EXPECT_EQ(Sample().Render({}),
            "trial  state         lr  note\n"
            "    1  complete    0.01\n"
            "   12  failed    0.0025  exit code 1: out of memory\n");
}

TEST(TableTest, TextsGiveWayOnANarrowTerminal) {
  EXPECT_EQ(Sample().Render({.columns = 40, .colour = false}),
            "trial  state         lr  note\n"
            "    1  complete    0.01\n"
            "   12  failed    0.0025  exit code 1: o…\n");
}

TEST(TableTest, NoLineIsWiderThanTheTerminal) {
  const Table table = Sample();
  for (int columns = 9; columns < 60; ++columns) {
    std::string text = table.Render({.columns = columns, .colour = false});
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;
         text.erase(0, end + 1)) {
      EXPECT_LE(DisplayWidth(text.substr(0, end)), columns) << text;
    }
  }
}

TEST(TableTest, ColumnsThatDoNotFitAreMarked) {
  EXPECT_EQ(Sample().Render({.columns = 20, .colour = false}),
            "trial  state     …\n"
            "    1  complete  …\n"
            "   12  failed    …\n");
}

TEST(TableTest, ColoursTakeNoRoom) {
  Table table({{"a"}, {"b"}});
  table.Add({{"x", Ink::kRed}, {"y"}});
  EXPECT_EQ(table.Render({.columns = 80, .colour = true}),
            "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m\n\x1b[31mx\x1b[0m  y\n");
}

TEST(TableTest, WideAndHarmfulCharactersKeepTheColumns) {
  Table table({{"note"}, {"n"}});
  table.Add({{"\x1b[31mred\nline"}, {"1"}});
  table.Add({{"学习率"}, {"2"}});
  const std::string text = table.Render({});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace sluice
