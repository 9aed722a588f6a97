#include "space/expression/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Parameter>& Parameters() {
  static const auto& parameters = *new std::vector<Parameter>{
      {.name = "lr", .low = 0, .high = 1},
      {.name = "momentum", .low = 0, .high = 1},
      {.name = "layers", .kind = ParameterKind::kInt, .low = 1, .high = 9},
      {.name = "optimizer",
       .kind = ParameterKind::kCategorical,
       .choices = {std::string("sgd"), std::string("adam"), std::string("it's")}},
      {.name = "size",
       .kind = ParameterKind::kOrdinal,
       .choices = {std::string("small"), std::string("medium"), std::string("large")}},
      {.name = "batch",
       .kind = ParameterKind::kCategorical,
       .choices = {std::int64_t{64}, std::int64_t{16}, 32.5}},
      {.name = "bias", .kind = ParameterKind::kCategorical, .choices = {true, false}},
      {.name = "norm",
       .kind = ParameterKind::kCategorical,
       .choices = {std::string("none"), std::int64_t{2}, false, std::string("adam")}},
      {.name = "weight-decay", .low = 0, .high = 1},
      {.name = "log", .low = 0, .high = 1},
  };
  return parameters;
}

// lr 0.5, momentum 0.9, layers 3, optimizer adam, size medium, batch 64, bias true, norm 2,
// weight-decay 0.25, log 0.125
const std::vector<double> kPoint = {0.5, 0.9, 3, 1, 1, 0, 0, 1, 0.25, 0.125};

std::string Evaluated(std::string_view text, std::vector<double> point = kPoint) {
  const auto expression = Expression::Parse(text, Symbols(Parameters()));
  if (!expression) return expression.error().message;
  const Truth truth = expression->Evaluate(point);
  return truth == Truth::kTrue ? "true" : truth == Truth::kFalse ? "false" : "undefined";
}

std::string ExpressionProblem(std::string_view text) {
  const auto expression = Expression::Parse(text, Symbols(Parameters()));
  if (expression) return "none";
  EXPECT_EQ(expression.error().code, ErrorCode::kInvalidArgument);
  return expression.error().message;
}

TEST(ExpressionTest, ComputesAsPythonDoes) {
  for (const char* text : {"lr == 0.5",
                           "lr * momentum < 0.5",
                           "lr + layers * 2 == 6.5",
                           "-lr ** 2 == -0.25",
                           "2 ** -1 == lr",
                           "2 ** 3 ** 2 == 512",
                           "layers // 2 == 1",
                           "-layers // 2 == -2",
                           "layers % 2 == 1",
                           "-layers % 2 == 1",
                           "layers % -2 == -1",
                           "1 // 0.1 == 9",
                           "7 - 2 - 1 == 4",
                           "8 / 4 / 2 == 1",
                           "min(lr, momentum, 3) == lr",
                           "max(1, layers) == 3",
                           "abs(-layers) == 3",
                           "log(1) == 0",
                           "log2(8) == layers",
                           "log10(1000) == layers",
                           "exp(0) == 1",
                           "sqrt(layers * 3) == 3",
                           "floor(lr) == 0",
                           "ceil(lr) == 1",
                           "round(2.5) == 2 and round(3.5) == 4",
                           "log(log) < 0",
                           "log == 0.125",
                           "`weight-decay` == .25",
                           "+layers == 3.",
                           "1e-1 < lr < 1E0",
                           "(lr) == ((0.5))"}) {
    EXPECT_EQ(Evaluated(text), "true") << text;
  }
}

TEST(ExpressionTest, LogicAndChains) {
  for (const char* text : {"true",
                           "not false",
                           "not lr == 1",
                           "lr == 1 or lr == 0.5",
                           "true or false and false",
                           "0 < lr < momentum",
                           "0 < lr < momentum < 1 < layers",
                           "not (0 < lr < 0.4 < 1)",
                           "lr < momentum > 0.3",
                           "lr == 0.5 == lr",
                           "bias",
                           "not not bias",
                           "bias == true",
                           "bias and layers > 2",
                           "(lr < 1) == bias",
                           "layers in [1, 2, 1 + 2]",
                           "layers not in [1, 2]",
                           "not layers in [4]",
                           "1 < 2",
                           "3 in [3]",
                           "'a' == 'a'",
                           "'a' in [\"a\"]"}) {
    EXPECT_EQ(Evaluated(text), "true") << text;
  }
  EXPECT_EQ(Evaluated("0 < lr < momentum < 1 < layers < 2"), "false");
  EXPECT_EQ(Evaluated("0 < lr > momentum < 1"), "false");
}

TEST(ExpressionTest, ChoicesAreComparedAsTheUserWroteThem) {
  for (const char* text :
       {"optimizer == 'adam'", "'adam' == optimizer", "optimizer != \"sgd\"",
        "optimizer in ['sgd', 'adam']", "optimizer not in ['it\\'s']", "optimizer != \"it's\"",
        "batch == 64", "batch * 2 == 128", "batch > 16", "batch in [64, 32.5]", "norm == 2",
        "norm != 'none'", "norm != false", "norm in [2, 'adam']", "size == 'medium'",
        "size >= 'medium'", "'small' < size <= 'large'", "size < 'large'", "optimizer != norm"}) {
    EXPECT_EQ(Evaluated(text), "true") << text;
  }
  std::vector<double> point = kPoint;
  point[7] = 3;  // norm is adam: its fourth choice, and the second choice of optimizer
  EXPECT_EQ(Evaluated("optimizer == norm", point), "true");
  EXPECT_EQ(Evaluated("norm == optimizer", point), "true");
  point[7] = 0;
  EXPECT_EQ(Evaluated("optimizer == norm", point), "false");
}

TEST(ExpressionTest, WhatCannotBeComputedIsUndefined) {
  std::vector<double> point = kPoint;
  point[1] = 0;
  for (const char* text :
       {"lr / momentum > 1", "lr // momentum > 1", "lr % momentum > 1", "not lr / momentum > 1",
        "log(momentum) < 1", "sqrt(-lr) < 1", "(-lr) ** 0.5 < 1", "exp(layers * 1000) > 1",
        "lr / momentum > 1 or true", "max(1 / momentum, 1) > 0", "1 / momentum in [1]",
        "0 < 1 / momentum < 2", "bias and 1 / momentum > 1"}) {
    EXPECT_EQ(Evaluated(text, point), "undefined") << text;
  }
  EXPECT_EQ(Evaluated("momentum != 0 and lr / momentum > 1", point), "false");
  EXPECT_EQ(Evaluated("momentum == 0 or lr / momentum > 1", point), "true");
}

TEST(ExpressionTest, SaysWhatItMentions) {
  const Symbols symbols(Parameters());
  EXPECT_THAT(Expression::Parse("layers > 2 and lr + lr < layers", symbols)->mentions(),
              ElementsAre(0, 2));
  EXPECT_TRUE(Expression::Parse("1 < 2", symbols)->is_constant());
}

TEST(ExpressionTest, TheSameInOtherWordsIsEqual) {
  const Symbols symbols(Parameters());
  const auto parse = [&](const char* text) { return *Expression::Parse(text, symbols); };
  EXPECT_EQ(parse("optimizer=='sgd'"), parse("( optimizer == \"sgd\" )"));
  EXPECT_EQ(parse("lr < 2 * 3"), parse("lr<6"));
  EXPECT_FALSE(parse("optimizer == 'sgd'") == parse("optimizer == 'adam'"));
  EXPECT_FALSE(parse("layers in [1]") == parse("layers in [2]"));
}

TEST(ExpressionTest, TypesThatDoNotGoTogether) {
  EXPECT_EQ(ExpressionProblem("optimizer + 1"),
            "column 1: expected a number before '+', found optimizer, one of 'sgd', 'adam', "
            "'it\\'s'");
  EXPECT_EQ(ExpressionProblem("lr * 2"),
            "column 1: expected something true or false, found the number lr * 2; compare it, as "
            "in x < 1 or x == 'a'");
  EXPECT_EQ(ExpressionProblem("optimizer == 'sgd' or 'adam'"),
            "column 23: expected something true or false, found the text 'adam'; compare it, as in "
            "x in ['a', 'b']");
  EXPECT_EQ(ExpressionProblem("not lr"),
            "column 5: expected something true or false, found the number lr; compare it, as in x "
            "< 1 or x == 'a'");
  EXPECT_EQ(ExpressionProblem("lr < 'a'"),
            "column 1: expected numbers, or an ordinal and one of its choices, around '<', found "
            "the number lr; remove quotes around a number");
  EXPECT_THAT(ExpressionProblem("optimizer < 'sgd'"),
              HasSubstr("column 1: expected numbers, or an ordinal"));
  EXPECT_THAT(ExpressionProblem("size < optimizer"),
              HasSubstr("column 8: expected numbers, or an ordinal"));
  EXPECT_EQ(ExpressionProblem("lr == 'a'"),
            "column 7: expected a number to compare with lr, found the text 'a'");
  EXPECT_EQ(ExpressionProblem("bias == 1"),
            "column 9: expected true or false after '==', found the number 1");
  EXPECT_EQ(ExpressionProblem("lr == true"),
            "column 7: expected a number after '==', found the truth value true");
  EXPECT_THAT(ExpressionProblem("optimizer == lr"),
              HasSubstr("column 14: expected one of 'sgd', 'adam'"));
  EXPECT_THAT(ExpressionProblem("min(optimizer, 1) < 2"), HasSubstr("expected a number in min()"));
  EXPECT_THAT(ExpressionProblem("optimizer == 'sgd' == norm"), HasSubstr("join them with and"));
  EXPECT_THAT(ExpressionProblem("optimizer == norm == optimizer"), HasSubstr("join them with and"));
  EXPECT_THAT(ExpressionProblem("layers in [lr]"),
              HasSubstr("column 12: expected constants in a list"));
  EXPECT_THAT(ExpressionProblem("(lr < 1) < 2"), HasSubstr("expected true or false after '<'"));
  EXPECT_THAT(ExpressionProblem("(lr < 1) < (lr < 2)"), HasSubstr("expected a number before '<'"));
  EXPECT_THAT(ExpressionProblem("'a' == 3"), HasSubstr("expected a text after '=='"));
}

TEST(ExpressionTest, NamesAndChoicesThatDoNotExist) {
  EXPECT_EQ(ExpressionProblem("momentun < 1"),
            "column 1: expected a parameter, found momentun (did you mean 'momentum'?)");
  EXPECT_EQ(ExpressionProblem("optimizer == sgd"),
            "column 14: expected a parameter, found sgd; write 'sgd' for the choice of optimizer");
  EXPECT_EQ(ExpressionProblem("weight-decay < 1"),
            "column 1: expected a parameter, found weight; write \"`weight-decay` < 1\", with the "
            "quotes");
  EXPECT_EQ(ExpressionProblem("bias == True"),
            "column 9: expected a parameter, found True (did you mean 'true'?)");
  EXPECT_EQ(ExpressionProblem("optimizer == 'adm'"),
            "column 14: expected one of 'sgd', 'adam', 'it\\'s', the choices of optimizer, found "
            "'adm' (did you mean 'adam'?)");
  EXPECT_EQ(
      ExpressionProblem("batch == 65"),
      "column 10: expected one of 64, 16, 32.5, the choices of batch, found 65 (did you mean 64?)");
  EXPECT_EQ(ExpressionProblem("batch in [16, 46]"),
            "column 15: expected one of 64, 16, 32.5, the choices of batch, found 46 (did you mean "
            "64?)");
  EXPECT_THAT(ExpressionProblem("size > 'huge'"), HasSubstr("the choices of size, found 'huge'"));
  EXPECT_THAT(ExpressionProblem("bias == 'yes'"), HasSubstr("expected one of true, false"));
  EXPECT_THAT(ExpressionProblem("sqr(lr) < 1"),
              HasSubstr("expected one of the functions min, max"));
  EXPECT_THAT(ExpressionProblem("sqr(lr) < 1"), HasSubstr("did you mean 'sqrt'?"));
}

TEST(ExpressionTest, WhatIsKnownToFailIsRefused) {
  EXPECT_EQ(ExpressionProblem("lr / 0 < 1"),
            "column 6: expected a divisor other than 0 after '/', found 0");
  EXPECT_EQ(ExpressionProblem("lr / (2 - 2) < 1"),
            "column 6: expected a divisor other than 0 after '/', found (2 - 2)");
  EXPECT_THAT(ExpressionProblem("lr % 0.0 < 1"), HasSubstr("expected a divisor other than 0"));
  EXPECT_THAT(ExpressionProblem("lr // -0 < 1"), HasSubstr("expected a divisor other than 0"));
  EXPECT_EQ(ExpressionProblem("lr < log(-1)"),
            "column 10: expected a number that this function takes, found -1");
  EXPECT_THAT(ExpressionProblem("lr < 10 ** 400"),
              HasSubstr("expected a finite number, found 10 ** 400"));
}

TEST(ExpressionTest, WhatIsNoExpression) {
  EXPECT_EQ(ExpressionProblem(""), "column 1: expected a parameter or a value, found the end");
  EXPECT_EQ(ExpressionProblem("lr <"), "column 5: expected a parameter or a value, found the end");
  EXPECT_EQ(ExpressionProblem("lr < 1 momentum"),
            "column 8: expected an operator or the end, found momentum");
  EXPECT_EQ(ExpressionProblem("(lr < 1"), "column 8: expected ')', found the end");
  EXPECT_EQ(ExpressionProblem("lr = 1"),
            "column 4: expected a name, a value or an operator, found '='; write == to compare");
  EXPECT_THAT(ExpressionProblem("lr < 1 && bias"), HasSubstr("column 8"));
  EXPECT_THAT(ExpressionProblem("lr < 1 && bias"), HasSubstr("write and"));
  EXPECT_THAT(ExpressionProblem("lr < 1 || bias"), HasSubstr("write or"));
  EXPECT_THAT(ExpressionProblem("!bias"), HasSubstr("write not"));
  EXPECT_THAT(ExpressionProblem("lr ^ 2 < 1"), HasSubstr("write ** for a power"));
  EXPECT_EQ(ExpressionProblem("optimizer == 'sgd"),
            "column 14: expected another ' that closes this one, found none");
  EXPECT_EQ(ExpressionProblem("lr < 2lr"), "column 6: expected a number, found 2lr");
  EXPECT_EQ(ExpressionProblem("lr < 1.2.3"), "column 6: expected a number, found 1.2.3");
  EXPECT_EQ(ExpressionProblem("lr < 1e999"), "column 6: expected a number, found 1e999");
  EXPECT_EQ(ExpressionProblem("layers in 3"),
            "column 11: expected '[', found 3; write a list, as in x in ['a', 'b']");
  EXPECT_EQ(ExpressionProblem("layers in []"),
            "column 12: expected a parameter or a value, found ]");
  EXPECT_THAT(ExpressionProblem("layers in [1] in [2]"),
              HasSubstr("expected an operator or the end"));
  EXPECT_THAT(ExpressionProblem("min(lr) < 1"), HasSubstr("expected two arguments or more of min"));
  EXPECT_THAT(ExpressionProblem("log(lr, 2) < 1"), HasSubstr("expected one argument of log"));
  EXPECT_THAT(ExpressionProblem("lr < and"),
              HasSubstr("expected a parameter or a value, found and"));
  EXPECT_THAT(ExpressionProblem("'\xc3\xa4\xc3\xb6' == lr $"), HasSubstr("column 12"));
}

TEST(ExpressionTest, SizeAndDepthAreBounded) {
  EXPECT_THAT(ExpressionProblem(std::string(5000, ' ')),
              HasSubstr("at most 4096 bytes, found 5000"));
  const std::string open(60, '(');
  const std::string close(60, ')');
  EXPECT_EQ(ExpressionProblem(open + "lr < 1" + close), "none");
  for (const std::string_view bit :
       {"(", "-", "not ", "2 ** ", "min(", "1 + (", "1 < 2 * 3 ** ("}) {
    std::string text;
    while (text.size() + bit.size() < 4000) text += bit;
    EXPECT_THAT(ExpressionProblem(text), HasSubstr("levels of parentheses")) << bit;
  }
  std::string deep;
  for (int i = 0; i < 60; ++i) deep += "1 + 2 * max(3, ";
  deep += "lr" + close;
  EXPECT_THAT(ExpressionProblem(deep + " < 1"), HasSubstr("less nested"));
  std::string wide = "lr < 1";
  while (wide.size() < 4000) wide += " and lr < 1";
  EXPECT_EQ(Evaluated(wide), "true");
  std::string chain = "0";
  while (chain.size() < 4000) chain += " <= lr";
  EXPECT_EQ(Evaluated(chain), "true");
}

TEST(ExpressionTest, QuotingReadsBack) {
  EXPECT_EQ(QuotedName("lr"), "lr");
  EXPECT_EQ(QuotedName("weight-decay"), "`weight-decay`");
  EXPECT_EQ(QuotedName("not"), "`not`");
  EXPECT_EQ(QuotedValue(std::string("it's \\ \"x\"")), "'it\\'s \\\\ \"x\"'");
  EXPECT_EQ(QuotedValue(std::int64_t{3}), "3");
  EXPECT_EQ(QuotedValue(true), "true");
  EXPECT_EQ(Evaluated("optimizer == " + QuotedValue(std::string("it's"))), "false");
}

}  // namespace
}  // namespace sluice
