#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/help.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

Result<Options> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "sluice");
  return ParseOptions(static_cast<int>(words.size()), words.data());
}

template <typename Verb>
Verb ParseAs(const std::vector<const char*>& words) {
  const auto options = Parse(words);
  EXPECT_TRUE(options) << options.error().message;
  const Verb* verb = options ? std::get_if<Verb>(&options->verb) : nullptr;
  EXPECT_NE(verb, nullptr);
  return verb != nullptr ? *verb : Verb{};
}

std::string ErrorOf(const std::vector<const char*>& words) {
  const auto options = Parse(words);
  EXPECT_FALSE(options);
  if (options) return "";
  EXPECT_EQ(options.error().code, ErrorCode::kInvalidArgument);
  return options.error().message;
}

TEST(OptionsTest, TuneTakesItsOverrides) {
  const auto tune =
      ParseAs<TuneOptions>({"tune", "s.yaml", "--name", "n", "--trials=5", "--seed", "9", "-q"});
  EXPECT_EQ(tune.file, "s.yaml");
  EXPECT_EQ(tune.name, "n");
  EXPECT_EQ(tune.trials, 5);
  EXPECT_EQ(tune.seed, 9u);
  EXPECT_TRUE(tune.quiet);
  EXPECT_FALSE(tune.plain);
}

TEST(OptionsTest, SimulateTakesPoliciesSeedsAndAChart) {
  const auto plain = ParseAs<SimulateOptions>({"simulate", "s.yaml"});
  EXPECT_EQ(plain.file, "s.yaml");
  EXPECT_THAT(plain.policies, ::testing::IsEmpty());
  EXPECT_FALSE(plain.seeds);
  const auto full = ParseAs<SimulateOptions>(
      {"simulate", "s.yaml", "--policy", "fifo,own,fifo", "--seeds", "3", "--gantt", "a.svg"});
  EXPECT_EQ(full.policies, (std::vector<std::string>{"fifo", "own"}));
  EXPECT_EQ(full.seeds, 3);
  EXPECT_EQ(full.gantt, "a.svg");
  EXPECT_THAT(ErrorOf({"simulate", "s.yaml", "--seeds", "0"}), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(ErrorOf({"simulate"}), HasSubstr("simulate: expected a scenario"));
}

TEST(OptionsTest, PlanTakesTimesPlacesAndSources) {
  const auto plain = ParseAs<PlanOptions>({"plan", "s.yaml"});
  EXPECT_EQ(plain.file, "s.yaml");
  EXPECT_FALSE(plain.on || plain.like || plain.unit_time || plain.seeds);
  const auto full = ParseAs<PlanOptions>(
      {"plan",    "s.yaml", "--unit-time", "1.5s",      "--start-up", "9s",         "--like",
       "old",     "--on",   "c.yaml",      "--cluster", "big",        "--policy",   "fifo,lpt",
       "--seeds", "3",      "--trials",    "7",         "--workload", "{spread: 1}"});
  EXPECT_EQ(full.unit_time, std::chrono::milliseconds(1500));
  EXPECT_EQ(full.start_up, std::chrono::seconds(9));
  EXPECT_EQ(full.like, "old");
  EXPECT_EQ(full.on, "c.yaml");
  EXPECT_EQ(full.cluster, "big");
  EXPECT_EQ(full.policies, (std::vector<std::string>{"fifo", "lpt"}));
  EXPECT_EQ(full.seeds, 3);
  EXPECT_EQ(full.trials, 7);
  EXPECT_EQ(full.workload, "{spread: 1}");
  EXPECT_THAT(ErrorOf({"plan"}), HasSubstr("plan: expected a study file"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--unit-time", "soon"}),
              HasSubstr("--unit-time: expected a duration"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--unit-time", "0s"}), HasSubstr("above 0"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--seeds", "0"}), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(ErrorOf({"plan", "s.yaml", "--cluster", "big"}), HasSubstr("--on"));
}

TEST(OptionsTest, ImportTakesBothNames) {
  const auto import = ParseAs<ImportOptions>({"import", "a.db", "--study", "s", "--name", "n"});
  EXPECT_EQ(import.file, "a.db");
  EXPECT_EQ(import.study, "s");
  EXPECT_EQ(import.name, "n");
}

TEST(OptionsTest, GlobalFlagsStandBeforeOrAfterTheVerb) {
  for (const auto& words : {std::vector<const char*>{"--store", "x.db", "--json", "status"},
                            std::vector<const char*>{"status", "--store", "x.db", "--json"}}) {
    const auto options = Parse(words);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->store, "x.db");
    EXPECT_TRUE(options->json);
  }
}

TEST(OptionsTest, EnqueueTakesAStudyAndItsValues) {
  const auto point = ParseAs<EnqueueOptions>({"enqueue", "s", "lr=0.1", "x=-3", "--json"});
  EXPECT_EQ(point.study, "s");
  EXPECT_THAT(point.values, ::testing::ElementsAre("lr=0.1", "x=-3"));
  EXPECT_EQ(ParseAs<EnqueueOptions>({"enqueue", "s", "--file", "p.csv"}).file, "p.csv");
  EXPECT_THAT(ErrorOf({"enqueue", "s"}), HasSubstr("found neither"));
  EXPECT_THAT(ErrorOf({"enqueue", "s", "a=1", "--file", "f"}), HasSubstr("found both"));
  EXPECT_THAT(ErrorOf({"enqueue", "s", "--file", ""}), HasSubstr("--file: expected a file"));
  EXPECT_THAT(ErrorOf({"enqueue", "a=1"}), HasSubstr("expected the name of a study before"));
  EXPECT_THAT(ErrorOf({"enqueue"}), HasSubstr("expected the name of a study"));
}

TEST(OptionsTest, AStudyMayBeCalledLikeAVerb) {
  EXPECT_EQ(ParseAs<StatusOptions>({"status", "trials"}).study, "trials");
  EXPECT_EQ(ParseAs<ResumeOptions>({"resume", "best"}).study, "best");
}

TEST(OptionsTest, AStudyNeedNotBeNamed) {
  EXPECT_EQ(ParseAs<StatusOptions>({"status"}).study, std::nullopt);
  EXPECT_EQ(ParseAs<BestOptions>({"best"}).top, 1);
}

TEST(OptionsTest, TrialsFiltersAndSorts) {
  const auto trials =
      ParseAs<TrialsOptions>({"trials", "--state", "failed", "--sort", "value", "--limit", "3"});
  EXPECT_EQ(trials.state, TrialState::kFailed);
  EXPECT_EQ(trials.order, TrialOrder::kValue);
  EXPECT_EQ(trials.limit, 3);
}

TEST(OptionsTest, LogsNamesTrialAndLaunch) {
  const auto logs =
      ParseAs<LogsOptions>({"logs", "7", "--study", "s", "--launch", "2", "-f", "--stderr"});
  EXPECT_EQ(logs.trial, TrialId(7));
  EXPECT_EQ(logs.launch, LaunchId(2));
  EXPECT_TRUE(logs.follow);
  EXPECT_TRUE(logs.standard_error);
}

TEST(OptionsTest, AnUnknownVerbSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"tuen", "study.yaml"}), HasSubstr("no verb 'tuen' (did you mean 'tune'?)"));
  EXPECT_THAT(ErrorOf({"help", "expotr"}), HasSubstr("did you mean 'export'?"));
}

TEST(OptionsTest, AnUnknownFlagSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"tune", "--trails", "5", "s.yaml"}),
              HasSubstr("tune: no flag '--trails' (did you mean '--trials'?)"));
  EXPECT_THAT(ErrorOf({"tune", "--trails"}), HasSubstr("did you mean '--trials'?"));
  EXPECT_THAT(ErrorOf({"best", "--tops=3"}), HasSubstr("did you mean '--top'?"));
  EXPECT_THAT(ErrorOf({"--stoer", "x", "status"}), HasSubstr("did you mean '--store'?"));
}

TEST(OptionsTest, AMistypedWordSuggestsTheNearest) {
  EXPECT_THAT(ErrorOf({"trials", "--state", "faild"}), HasSubstr("did you mean 'failed'?"));
  EXPECT_THAT(ErrorOf({"trials", "--sort", "values"}), HasSubstr("did you mean 'value'?"));
  EXPECT_THAT(ErrorOf({"export", "--format", "cvs"}), HasSubstr("did you mean 'csv'?"));
}

TEST(OptionsTest, WhatIsMissingIsSaid) {
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

TEST(OptionsTest, WhatIsTooMuchIsSaid) {
  EXPECT_THAT(ErrorOf({"status", "a", "b"}), HasSubstr("found 'b'"));
  EXPECT_THAT(ErrorOf({"export", "--json", "--format", "csv"}), HasSubstr("either"));
}

TEST(OptionsTest, NumbersAreChecked) {
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "many"}),
              HasSubstr("--trials: expected a whole number"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "0"}), HasSubstr("from 1"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--trials", "5x"}), HasSubstr("found '5x'"));
  EXPECT_THAT(ErrorOf({"tune", "s.yaml", "--seed", "-1"}), HasSubstr("--seed"));
  EXPECT_THAT(ErrorOf({"logs", "0"}), HasSubstr("from 1"));
  EXPECT_THAT(ErrorOf({"logs", "99999999999"}), HasSubstr("found '99999999999'"));
}

TEST(OptionsTest, HelpIsForTheVerbItStandsWith) {
  EXPECT_EQ(ParseAs<HelpOptions>({"--help"}).verb, "");
  EXPECT_EQ(ParseAs<HelpOptions>({"tune", "--help"}).verb, "tune");
  EXPECT_EQ(ParseAs<HelpOptions>({"logs", "-h"}).verb, "logs");
  EXPECT_EQ(ParseAs<HelpOptions>({"help", "best"}).verb, "best");
  ParseAs<VersionOptions>({"--version"});
}

TEST(HelpTest, EveryVerbTeachesByExample) {
  for (const std::string& verb : Verbs()) {
    const std::string help(HelpFor(verb));
    EXPECT_TRUE(help.starts_with("usage: sluice " + verb)) << verb;
    const std::size_t examples = help.find("\nexamples:\n");
    ASSERT_NE(examples, std::string::npos) << verb;
    std::size_t lines = 0;
    for (std::size_t at = help.find("\n  sluice ", examples); at != std::string::npos;
         at = help.find("\n  sluice ", at + 1))
      ++lines;
    EXPECT_GE(lines, 2u) << verb;
    EXPECT_LE(lines, 4u) << verb;
    EXPECT_THAT(std::string(HelpFor("")), HasSubstr("\n  " + verb + " "));
  }
}

TEST(HelpTest, EveryFlagIsExplained) {
  for (const std::string& verb : Verbs()) {
    for (const std::string& flag : FlagsOf(verb)) {
      EXPECT_THAT(std::string(HelpFor(verb)), HasSubstr(flag + " ")) << verb;
    }
  }
}

TEST(HelpTest, NoLineIsWide) {
  for (const std::string& verb : Verbs()) {
    std::string_view rest = HelpFor(verb);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      EXPECT_LE(end, 100u) << rest.substr(0, end);
      rest.remove_prefix(end + 1);
    }
  }
}

}  // namespace
}  // namespace sluice
