#include "model/analyse/size_formula.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::model {
namespace {

TEST(ReadableFormulaTest, SaysWhatAnArchiveMeans) {
  EXPECT_EQ(ReadableFormula("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(ReadableFormula("Mul(Integer(4), Symbol('s77', positive=True, integer=True))"),
            "4*s77");
  EXPECT_EQ(ReadableFormula("Add(Mul(Integer(-1), Symbol('a')), Integer(2))"), "(-1*a + 2)");
  EXPECT_EQ(ReadableFormula("Mul(Add(Symbol('a'), Integer(1)), Symbol('b'))"), "(a + 1)*b");
  EXPECT_EQ(ReadableFormula("FloorDiv(Symbol('s0', integer=True), Integer(2))"), "FloorDiv(s0, 2)");
  EXPECT_EQ(ReadableFormula("s0"), "s0");
}

TEST(ReadableFormulaTest, LeavesWhatIsNotUnderstood) {
  for (const std::string text :
       {"2*s0", "Mul(", "Mul()", "Mul(a", "Mul(a,)", "Mul(,a)", "Mul(a b)", "Mul(a))", "Symbol('s",
        "Symbol('')", "a=b", "''", "f(a=b)", "a=", "Float('0.5', precision=53) ", "\xff", "", "("})
    EXPECT_EQ(ReadableFormula(text), text);
}

TEST(ReadableFormulaTest, GivesUpOnDepth) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "f(";
  EXPECT_EQ(ReadableFormula(deep), deep);
  std::string fine;
  for (int i = 0; i < 20; ++i) fine += "f(";
  fine += "Symbol('a')" + std::string(20, ')');
  EXPECT_NE(ReadableFormula(fine), fine);
}

TEST(IsSymbolNameTest, IsAWord) {
  for (const std::string text : {"s77", "batch_size", "S"}) EXPECT_TRUE(IsSymbolName(text)) << text;
  for (const std::string text : {"", "7s", "_s", "4*s77", "s 7", "s\n", "\xc3\xa9"})
    EXPECT_FALSE(IsSymbolName(text)) << text;
}

}  // namespace
}  // namespace sluice::model
