#include "engine/read/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TemplateProblem(const Status& status) { return status ? "" : status.error().message; }

TEST(TemplatesTest, ExpandsWordsAndBraces) {
  const TemplateValues values = {{"lr", "0.1"}, {"trial", "7"}, {"x", "{lr}"}};
  EXPECT_EQ(Expand("--lr={lr}/{trial}", values), "--lr=0.1/7");
  EXPECT_EQ(Expand("{{lr}}", values), "{lr}");
  EXPECT_EQ(Expand("{{{lr}}}", values), "{0.1}");
  EXPECT_EQ(Expand("{x}", values), "{lr}");  // not expanded again
  EXPECT_EQ(Expand("a{budget}b", values), "ab");
}

TEST(TemplatesTest, ArgsBecomeManyItems) {
  const TemplateLists lists = {{"args", {"--lr=1 2", "--n=3"}}, {"args_no_hyphens", {"lr=1 2"}}};
  EXPECT_THAT(ExpandProgram({"p", "{args}", "{lr}"}, {{"lr", "1 2"}}, lists),
              ElementsAre("p", "--lr=1 2", "--n=3", "1 2"));
  EXPECT_THAT(ExpandProgram({"p", "{args_no_hyphens}"}, {}, lists), ElementsAre("p", "lr=1 2"));
  EXPECT_THAT(ExpandProgram({"{args}"}, {}, {}), IsEmpty());
}

TEST(TemplatesTest, WhatHasNoValueIsLeftOutWithItsOption) {
  const TemplateValues values = {{"lr", "0.1"}, {"budget", ""}};
  const auto expanded = [&](const std::vector<std::string>& program) {
    return ExpandProgram(program, values, {{"args", {"--lr=0.1"}}});
  };
  EXPECT_THAT(expanded({"p", "--momentum", "{momentum}", "--lr", "{lr}"}),
              ElementsAre("p", "--lr", "0.1"));
  EXPECT_THAT(expanded({"p", "-m", "{momentum}"}), ElementsAre("p"));
  EXPECT_THAT(expanded({"p", "--momentum={momentum}", "x"}), ElementsAre("p", "x"));
  EXPECT_THAT(expanded({"p", "--opt", "sgd:{momentum}:{lr}"}), ElementsAre("p"));
  EXPECT_THAT(expanded({"p", "{momentum}", "{momentum}"}), ElementsAre("p"));
  EXPECT_THAT(expanded({"p", "--a=1", "{momentum}", "-1", "{momentum}", "-", "{momentum}"}),
              ElementsAre("p", "--a=1", "-1", "-"));
  EXPECT_THAT(expanded({"p", "{args}", "{momentum}", "--budget", "{budget}"}),
              ElementsAre("p", "--lr=0.1", "--budget", ""));
  EXPECT_THAT(expanded({"p", "--a", "--m", "{m}", "{n}"}), ElementsAre("p", "--a"));
}

TEST(TemplatesTest, RefusesWhatCannotBeFilledIn) {
  EXPECT_EQ(TemplateProblem(CheckTemplate("{lr} {budget} {{x}}", {"lr"})), "");
  EXPECT_EQ(
      TemplateProblem(CheckTemplate("{lrr}", {"lr"})),
      "expected a parameter (lr) or one of trial, launch, budget, params, checkpoint, seed, study, "
      "args, args_no_hyphens, args_no_equals, args_no_boolean_flags, args_json in braces, found "
      "{lrr} (did you mean 'lr'?); name a parameter, or write {{ and }} for braces themselves");
  EXPECT_EQ(TemplateProblem(CheckTemplate("a {lr", {"lr"})),
            "expected braces in pairs, as in {lr}, found a lone '{' in 'a {lr'; write {{ for a "
            "brace itself");
  EXPECT_EQ(TemplateProblem(CheckTemplate("a}", {"lr"})),
            "expected braces in pairs, as in {lr}, found a lone '}' in 'a}'; write }} for a brace "
            "itself");
  EXPECT_EQ(TemplateProblem(CheckProgramItem("{args}", {})), "");
  EXPECT_EQ(
      TemplateProblem(CheckProgramItem("x{args}", {})),
      "expected {args} as an item of the program on its own, found 'x{args}'; make it an item of "
      "its own, name parameters as in {lr}, or write {params}, the path of a file that has them");
}

TEST(TemplatesTest, EnvironmentVariables) {
  EXPECT_EQ(TemplateProblem(CheckTemplate("{envvar:HOME}/x", {})), "");
  EXPECT_NE(TemplateProblem(CheckTemplate("{envvar:}", {})), "");
  EXPECT_NE(TemplateProblem(CheckTemplate("{envvar:A B}", {})), "");
  EXPECT_THAT(EnvironmentWords("{envvar:HOME}/{lr}{{envvar:X}}{envvar:Y}"),
              ElementsAre("HOME", "Y"));
  EXPECT_EQ(Expand("{envvar:HOME}/x", {{"envvar:HOME", "home"}}), "home/x");
}

TEST(TemplatesTest, EscapedTextMeansItself) {
  EXPECT_EQ(Expand(EscapeTemplate("{lr} }{"), {{"lr", "1"}}), "{lr} }{");
}

TEST(TemplatesTest, SplitsLikeAShell) {
  EXPECT_THAT(*SplitCommandLine("  python  'a b' \"c \\\"d\\\" \\x\" e\\ f g'h'\"i\" ''\n"),
              ElementsAre("python", "a b", "c \"d\" \\x", "e f", "ghi", ""));
  EXPECT_THAT(*SplitCommandLine("a \\\n  b"), ElementsAre("a", "b"));
  EXPECT_THAT(*SplitCommandLine("echo $HOME * '|' \\;"),
              ElementsAre("echo", "$HOME", "*", "|", ";"));
  EXPECT_THAT(*SplitCommandLine(" "), IsEmpty());
}

TEST(TemplatesTest, RefusesWhatNeedsAShell) {
  EXPECT_EQ(SplitCommandLine("cd x && y").error().message,
            "expected a program without '&&', since no shell runs it; write sh -c 'cd x && y', or "
            "quote it to mean the text");
  EXPECT_THAT(SplitCommandLine("python t.py {args} --seed {seed} 2>&1 | tee t.log").error().message,
              HasSubstr("write sh -c 'python t.py \"$@\" --seed {seed} 2>&1 | tee t.log' sh "
                        "{args}, or"));
  EXPECT_THAT(SplitCommandLine("a 'b' | c").error().message, HasSubstr("write \"sh -c '...'\""));
  EXPECT_EQ(SplitCommandLine("say 'hi").error().message,
            "expected quotes in pairs, found a lone ' in 'say 'hi'; close it, or write \\' for the "
            "character itself");
}

TEST(TemplatesTest, HasWord) {
  EXPECT_TRUE(HasWord("--epochs={budget}", "budget"));
  EXPECT_FALSE(HasWord("--epochs={{budget}}", "budget"));
  EXPECT_FALSE(HasWord("budget {budgets}", "budget"));
}

}  // namespace
}  // namespace sluice
