#include "engine/read/sweep/sweep_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/read/arguments_codec.h"
#include "engine/read/sweep/test_sweep.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SweepCommandTest, ArgumentsAreWrittenAsPythonDoes) {
  const StudySpec study = Good(
      "parameters: {on: {value: true}, off: {value: false}, lr: {value: 1.0}, n: {value: 3}, s: "
      "{value: a b}}");
  const Arguments arguments = ArgumentsOf(study, {0, 0, 0, 0, 0});
  EXPECT_THAT(arguments.lists.at("args"),
              ElementsAre("--on=True", "--off=False", "--lr=1.0", "--n=3", "--s=a b"));
  EXPECT_THAT(arguments.lists.at("args_no_hyphens"),
              ElementsAre("on=True", "off=False", "lr=1.0", "n=3", "s=a b"));
  EXPECT_THAT(arguments.lists.at("args_no_boolean_flags"),
              ElementsAre("--on", "--lr=1.0", "--n=3", "--s=a b"));
  EXPECT_THAT(
      arguments.lists.at("args_no_equals"),
      ElementsAre("--on", "True", "--off", "False", "--lr", "1.0", "--n", "3", "--s", "a b"));
  EXPECT_EQ(arguments.values.at("args_json"),
            R"({"on":true,"off":false,"lr":1.0,"n":3,"s":"a b"})");
}

TEST(SweepCommandTest, CommandsBecomePrograms) {
  const auto program = [](std::string_view command) {
    return Good("command: " + std::string(command)).program;
  };
  EXPECT_THAT(program(R"(["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"])"),
              ElementsAre("/usr/bin/env", "python", "train.py", "{args_no_hyphens}"));
  EXPECT_THAT(program(R"([python3, -u, "${program}", --config, "${args_json_file}", 3])"),
              ElementsAre("python3", "-u", "train.py", "--config", "{params}", "3"));
  EXPECT_THAT(program(R"([run, "${args_json}", "${args_no_boolean_flags}"])"),
              ElementsAre("run", "{args_json}", "{args_no_boolean_flags}"));
  EXPECT_THAT(
      program(R"([run, "{a}", "--data=${envvar:DATA}/x", "${envvar:HOME}", "${oc.x}/y"])"),
      ElementsAre("run", "{{a}}", "--data={envvar:DATA}/x", "{envvar:HOME}", "${{oc.x}}/y"));
  EXPECT_EQ(SweepProblems(R"(command: [python, "${progam}"])"),
            "sweep.yaml:1: command[1]: expected one of the macros env, interpreter, program, args, "
            "args_no_hyphens, args_no_equals, args_no_boolean_flags, args_json, args_json_file, "
            "envvar:NAME, found ${progam} (did you mean 'program'?)");
  EXPECT_THAT(SweepProblems(R"(command: [python, "x=${args}"])"),
              HasSubstr("command[1]: expected ${args} as an item of the list on its own"));
  EXPECT_THAT(SweepProblems(R"(command: [python, "${envvar:}"])"),
              HasSubstr("command[1]: expected a variable's name"));
  EXPECT_THAT(SweepProblems("command: python train.py"),
              HasSubstr("command: expected a list of texts"));
  EXPECT_THAT(SweepProblems("command: []"), HasSubstr("command: expected a list of texts"));
}

TEST(SweepCommandTest, AProgramIsWantedWhereTheCommandUsesIt) {
  const std::string rest = "method: random\nmetric: {name: l}\nparameters: {a: {value: 1}}\n";
  EXPECT_EQ(ReadStudy(rest, "sweep.yaml", "sweep").error().message,
            "sweep.yaml:1: program: expected the script to run, found nothing; add 'program: "
            "train.py'");
  EXPECT_TRUE(ReadStudy(rest + "command: [./train, \"${args}\"]\n", "sweep.yaml", "sweep"));
}

}  // namespace
}  // namespace sluice
