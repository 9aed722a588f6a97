#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

Result<CommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "sluice");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

// The verb, and what its options hold.
std::string Asked(const std::vector<const char*>& words) {
  const auto line = Parse(words);
  EXPECT_TRUE(line) << line.error().message;
  const auto* request = line ? std::get_if<CommandLine::Request>(&line->asks_for) : nullptr;
  EXPECT_NE(request, nullptr);
  if (request == nullptr) return "";
  return request->filled.empty() ? request->verb : request->verb + " " + request->filled;
}

// The verb whose help is asked for; "" for all, "none" if no help is asked for.
std::string HelpAsked(const std::vector<const char*>& words) {
  const auto line = Parse(words);
  const auto* help = line ? std::get_if<CommandLine::Help>(&line->asks_for) : nullptr;
  return help != nullptr ? help->verb : "none";
}

std::string ErrorOf(const std::vector<const char*>& words) {
  const auto line = Parse(words);
  EXPECT_FALSE(line);
  if (line) return "";
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  return line.error().message;
}

TEST(CommandLineTest, TuneTakesItsOverrides) {
  EXPECT_EQ(Asked({"tune", "s.yaml", "--name", "n", "--trials=5", "--seed", "9", "-q"}),
            "tune STUDY=s.yaml --name=n --trials=5 --seed=9 --quiet=yes");
}

TEST(CommandLineTest, SimulateTakesPoliciesSeedsAndAChart) {
  EXPECT_EQ(Asked({"simulate", "s.yaml"}), "simulate SCENARIO=s.yaml");
  EXPECT_EQ(Asked({"simulate", "s.yaml", "--policy", "fifo,own,fifo", "--seeds", "3", "--gantt",
                   "a.svg"}),
            "simulate SCENARIO=s.yaml --policy=fifo,own --seeds=3 --gantt=a.svg");
  EXPECT_THAT(ErrorOf({"simulate", "s.yaml", "--seeds", "0"}), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(ErrorOf({"simulate"}), HasSubstr("simulate: expected a scenario"));
}

TEST(CommandLineTest, PlanTakesTimesPlacesAndSources) {
  EXPECT_EQ(Asked({"plan", "s.yaml"}), "plan STUDY=s.yaml");
  EXPECT_EQ(Asked({"plan",      "s.yaml",   "--unit-time", "1.5s",       "--start-up",
                   "9s",        "--like",   "old",         "--on",       "c.yaml",
                   "--cluster", "big",      "--policy",    "fifo,lpt",   "--seeds",
                   "3",         "--trials", "7",           "--workload", "{spread: 1}"}),
            "plan STUDY=s.yaml --trials=7 --on=c.yaml --cluster=big --policy=fifo,lpt --seeds=3 "
            "--like=old --unit-time=1.5s --start-up=9s --workload={spread: 1}");
  EXPECT_THAT(ErrorOf({"plan"}), HasSubstr("plan: expected a study file"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--unit-time", "soon"}),
              HasSubstr("--unit-time: expected a duration"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--unit-time", "0s"}), HasSubstr("above 0"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--seeds", "0"}), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--cluster", "big"}), HasSubstr("--on"));
}

TEST(CommandLineTest, ImportTakesBothNames) {
  EXPECT_EQ(Asked({"import", "a.db", "--study", "s", "--name", "n"}),
            "import FILE=a.db --study=s --name=n");
}

TEST(CommandLineTest, GlobalFlagsStandBeforeOrAfterTheVerb) {
  for (const auto& words : {std::vector<const char*>{"--store", "x.db", "--json", "status"},
                            std::vector<const char*>{"status", "--store", "x.db", "--json"}}) {
    const auto line = Parse(words);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->store, "x.db");
    EXPECT_TRUE(line->json);
  }
}

TEST(CommandLineTest, EnqueueTakesAStudyAndItsValues) {
  EXPECT_EQ(Asked({"enqueue", "s", "lr=0.1", "x=-3", "--json"}),
            "enqueue --json=yes NAME=s VALUES=lr=0.1,x=-3");
  EXPECT_EQ(Asked({"enqueue", "s", "--file", "p.csv"}), "enqueue NAME=s --file=p.csv");
  EXPECT_THAT(ErrorOf({"enqueue", "s"}), HasSubstr("found neither"));
  EXPECT_THAT(ErrorOf({"enqueue", "s", "a=1", "--file", "f"}), HasSubstr("found both"));
  EXPECT_THAT(ErrorOf({"enqueue", "s", "--file", ""}), HasSubstr("--file: expected a file"));
  EXPECT_THAT(ErrorOf({"enqueue", "a=1"}), HasSubstr("expected the name of a study before"));
  EXPECT_THAT(ErrorOf({"enqueue"}), HasSubstr("expected the name of a study"));
}

TEST(CommandLineTest, AStudyMayBeCalledLikeAVerb) {
  EXPECT_EQ(Asked({"status", "trials"}), "status NAME=trials");
  EXPECT_EQ(Asked({"resume", "best"}), "resume NAME=best");
}

TEST(CommandLineTest, AStudyNeedNotBeNamed) {
  EXPECT_EQ(Asked({"status"}), "status");
  EXPECT_EQ(Asked({"best"}), "best --top=1");
}

TEST(CommandLineTest, TrialsFiltersAndSorts) {
  EXPECT_EQ(Asked({"trials", "--state", "failed", "--sort", "value", "--limit", "3"}),
            "trials --state=failed --sort=value --limit=3");
}

TEST(CommandLineTest, LogsNamesTrialAndLaunch) {
  EXPECT_EQ(Asked({"logs", "7", "--study", "s", "--launch", "2", "-f", "--stderr"}),
            "logs TRIAL=7 --study=s --launch=2 --follow=yes --stderr=yes");
}

TEST(CommandLineTest, AnUnknownVerbSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"tuen", "study.yaml"}), HasSubstr("no verb 'tuen' (did you mean 'tune'?)"));
  EXPECT_THAT(ErrorOf({"help", "expotr"}), HasSubstr("did you mean 'export'?"));
}

TEST(CommandLineTest, AnUnknownFlagSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"tune", "--trails", "5", "s.yaml"}),
              HasSubstr("tune: no flag '--trails' (did you mean '--trials'?)"));
  EXPECT_THAT(ErrorOf({"tune", "--trails"}), HasSubstr("did you mean '--trials'?"));
  EXPECT_THAT(ErrorOf({"best", "--tops=3"}), HasSubstr("did you mean '--top'?"));
  EXPECT_THAT(ErrorOf({"--stoer", "x", "status"}), HasSubstr("did you mean '--store'?"));
}

TEST(CommandLineTest, AMistypedWordSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"trials", "--state", "faild"}), HasSubstr("did you mean 'failed'?"));
  EXPECT_THAT(ErrorOf({"trials", "--sort", "values"}), HasSubstr("did you mean 'value'?"));
  EXPECT_THAT(ErrorOf({"export", "--format", "cvs"}), HasSubstr("did you mean 'csv'?"));
}

TEST(CommandLineTest, WhatIsMissingIsSaid) {
  EXPECT_THAT(ErrorOf({"tune"}), HasSubstr("expected a study file"));
  EXPECT_THAT(ErrorOf({"check"}), HasSubstr("expected a study file"));
  EXPECT_THAT(ErrorOf({"import"}), HasSubstr("import: expected an Optuna storage"));
  EXPECT_THAT(ErrorOf({"export", "--format", "optuna"}), HasSubstr("expected a file"));
  EXPECT_THAT(ErrorOf({"resume"}), HasSubstr("the name of a study"));
  EXPECT_THAT(ErrorOf({"delete"}), HasSubstr("the name of a study"));
  EXPECT_THAT(ErrorOf({"logs"}), HasSubstr("the number of a trial"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--name"}), HasSubstr("--name"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("expected a verb"));
}

TEST(CommandLineTest, WhatIsTooMuchIsSaid) {
  EXPECT_THAT(ErrorOf({"status", "a", "b"}), HasSubstr("found 'b'"));
  EXPECT_THAT(ErrorOf({"export", "--json", "--format", "csv"}), HasSubstr("either"));
}

TEST(CommandLineTest, NumbersAreChecked) {
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "many"}),
              HasSubstr("--trials: expected a whole number"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "0"}), HasSubstr("from 1"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "5x"}), HasSubstr("found '5x'"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--seed", "-1"}), HasSubstr("--seed"));
  EXPECT_THAT(ErrorOf({"logs", "0"}), HasSubstr("from 1"));
  EXPECT_THAT(ErrorOf({"logs", "99999999999"}), HasSubstr("found '99999999999'"));
}

TEST(CommandLineTest, HelpIsForTheVerbItStandsWith) {
  EXPECT_EQ(HelpAsked({"--help"}), "");
  EXPECT_EQ(HelpAsked({"tune", "--help"}), "tune");
  EXPECT_EQ(HelpAsked({"logs", "-h"}), "logs");
  EXPECT_EQ(HelpAsked({"help", "best"}), "best");
  EXPECT_TRUE(std::holds_alternative<CommandLine::Version>(Parse({"--version"})->asks_for));
}

}  // namespace
}  // namespace sluice
