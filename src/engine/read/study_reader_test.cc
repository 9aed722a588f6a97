#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/study.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr std::string_view kSpace = "space: {lr: {float: [1e-4, 1e-1], log: true}}\n";

std::string StudyProblems(std::string_view text) {
  const auto study = ReadStudy(text, "study.yaml", "study");
  return study ? "" : study.error().message;
}

// What is wrong with a good study that has these lines before it, without a key that they set.
std::string With(std::string_view lines) {
  std::string text(lines);
  const auto add = [&](std::string_view key, std::string_view line) {
    if (lines.find(std::string(key) + ":") == std::string_view::npos) text += line;
  };
  text += '\n';
  add("program", "program: python train.py {args}\n");
  add("space", kSpace);
  add("objective", "objective: {maximize: accuracy}\n");
  add("trials", "trials: 24\n");
  return StudyProblems(text);
}

TEST(StudyReaderTest, ReadsAMinimalFile) {
  const auto study = ReadStudy(
      "program: python train.py {args}\n"
      "space:\n"
      "  lr: {float: [1e-4, 1e-1], log: true}\n"
      "objective: {maximize: accuracy}\n"
      "trials: 24\n",
      "fashion.yaml", "fashion");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->name, "fashion");
  EXPECT_THAT(study->program, ElementsAre("python", "train.py", "{args}"));
  EXPECT_EQ(study->space.size(), 1U);
  EXPECT_EQ(study->objective.metric, "accuracy");
  EXPECT_EQ(study->objective.direction, Direction::kMaximize);
  EXPECT_EQ(study->sampler.name, "tpe");
  EXPECT_EQ(study->stopper.name, "none");
  EXPECT_EQ(study->stopper.max_budget, kNoLimit);
  EXPECT_EQ(study->trials, 24);
  EXPECT_EQ(study->parallelism, 0);
  EXPECT_EQ(study->retries, 1);
  EXPECT_EQ(study->weight, 1);
  EXPECT_FALSE(study->seed);
  EXPECT_FALSE(study->deadline_after);
}

TEST(StudyReaderTest, ReadsAFullFile) {
  const auto study = ReadStudy(R"(
study: fashion
program: python train.py --lr {lr} 'two words'
space:
  lr: {float: [1e-4, 1e-1], log: true}
  width: {int: [16, 256], step: 16}
  activation: {choice: [relu, tanh]}
  size: {ordinal: [small, medium, large]}
objective: {maximize: accuracy}
sampler: random
stopper: asha
budget: {min: 1, max: 27, eta: 3, unit: step}
trials: 24
stop_at: {accuracy: 0.9, loss: {below: 0.1}, f1: {above: 0.8}}
deadline: 20m
parallelism: 2
resources: {cpus: 1.5, gpus: 0.5}
timeouts: {trial: 1h, report: 10m, grace: 5s, lease: 30s}
retries: 2
backoff: 3s
seed: 7
environment: {KEY: 1, LR: "{lr}"}
policy: fifo
output_cap: 500kB
checkpoint_cap: 2GB
)",
                               "study.yaml", "other");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->name, "fashion");
  EXPECT_THAT(study->program, ElementsAre("python", "train.py", "--lr", "{lr}", "two words"));
  EXPECT_EQ(study->space.size(), 4U);
  EXPECT_EQ(study->stopper.name, "asha");
  EXPECT_EQ(study->stopper.min_budget, 1);
  EXPECT_EQ(study->stopper.max_budget, 27);
  EXPECT_EQ(study->stopper.eta, 3);
  EXPECT_EQ(study->unit, "step");
  ASSERT_EQ(study->stop_at.size(), 3U);
  EXPECT_EQ(study->stop_at[0].direction, Direction::kMaximize);
  EXPECT_EQ(study->stop_at[1].metric, "loss");
  EXPECT_EQ(study->stop_at[1].direction, Direction::kMinimize);
  EXPECT_EQ(study->stop_at[1].threshold, 0.1);
  EXPECT_EQ(study->stop_at[2].direction, Direction::kMaximize);
  EXPECT_EQ(study->deadline_after, std::chrono::minutes(20));
  EXPECT_EQ(study->parallelism, 2);
  EXPECT_EQ(study->demand, (Demand{1500, 500}));
  EXPECT_EQ(study->timeouts.trial, std::chrono::hours(1));
  EXPECT_EQ(study->timeouts.report, std::chrono::minutes(10));
  EXPECT_EQ(study->timeouts.grace, std::chrono::seconds(5));
  EXPECT_EQ(study->timeouts.lease, std::chrono::seconds(30));
  EXPECT_EQ(study->retries, 2);
  EXPECT_EQ(study->backoff, std::chrono::seconds(3));
  EXPECT_EQ(study->seed, 7U);
  EXPECT_THAT(study->environment, ElementsAre(Pair("KEY", "1"), Pair("LR", "{lr}")));
  EXPECT_EQ(study->output_cap_bytes, 500'000);
  EXPECT_EQ(study->checkpoint_cap_bytes, 2'000'000'000);
}

TEST(StudyReaderTest, AGridNeedsNoTrials) {
  const auto study = ReadStudy(
      "program: x\nspace: {a: {int: [1, 4]}, b: {choice: [x, y]}}\nobjective: {minimize: loss}\n"
      "sampler: grid\ndeadline: 2026-01-31T18:00:00+02:00\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->trials, 8);
  ASSERT_TRUE(study->deadline_at);
  EXPECT_EQ(FormatTime(*study->deadline_at), "2026-01-31T16:00:00Z");
  EXPECT_EQ(StudyProblems("program: x\nspace: {a: {int: [1, 100000000]}}\n"
                          "objective: {minimize: loss}\nsampler: grid\n"),
            "study.yaml:1: trials: expected how many trials, 1 to 10000000, since the grid has "
            "100000000 points, found nothing; add 'trials: 24', or make the grid smaller");
}

TEST(StudyReaderTest, SaysEverythingAtOnceInOrderOfLines) {
  EXPECT_EQ(
      StudyProblems("trails: 3\n"
                    "program: python train.py --lr {l}\n"
                    "space:\n"
                    "  lr: {float: [1.0, 0.1]}\n"
                    "stopper: ahsa\n"
                    "retries: -1\n"),
      "study.yaml:1: trails: unknown key (did you mean 'trials'?)\nstudy.yaml:1: objective: "
      "expected {maximize: METRIC} or {minimize: METRIC}, found nothing; add 'objective: "
      "{minimize: loss}'\nstudy.yaml:2: program: expected a parameter (lr) or one of trial, "
      "launch, budget, params, checkpoint, seed, study, args, args_no_hyphens, args_no_equals, "
      "args_no_boolean_flags, args_json in braces, found {l} (did you mean 'lr'?); name a "
      "parameter, or write {{ and }} for braces themselves\nstudy.yaml:4: lr: expected low < high, "
      "found [1.0, 0.1]; write [0.1, 1.0]\nstudy.yaml:5: stopper: expected one of none, asha, "
      "asha-promotion, asha-pausing, median, percentile, patience, sha, hyperband, pbt, pbt-async, "
      "found ahsa (did you mean 'asha'?)\nstudy.yaml:6: retries: expected a whole number from 0 to "
      "100, found -1; write 0 for none");
}

TEST(StudyReaderTest, RefusesWhatIsNoStudy) {
  EXPECT_EQ(StudyProblems("hello"),
            "study.yaml:1: expected a study, keys such as program, space and objective, found "
            "hello");
  EXPECT_EQ(StudyProblems(""), "study.yaml:1: expected keys and values, found an empty file");
  EXPECT_EQ(StudyProblems("{}"),
            "study.yaml:1: space: expected what to tune, found nothing; add 'space: {lr: {float: "
            "[0.1, 1]}}'\n"
            "study.yaml:1: program: expected the program of a trial, found nothing; add 'program: "
            "python train.py {args}'\n"
            "study.yaml:1: objective: expected {maximize: METRIC} or {minimize: METRIC}, found "
            "nothing; add 'objective: {minimize: loss}'\n"
            "study.yaml:1: trials: expected how many trials, 1 to 10000000, found nothing; add "
            "'trials: 24'");
}

TEST(StudyReaderTest, ChecksNames) {
  EXPECT_TRUE(CheckStudyName("Fashion-2.1_b"));
  for (const char* bad : {"", ".hidden", "-x", "a b", "a/b", "\xC3\xA9"})
    EXPECT_FALSE(CheckStudyName(bad)) << bad;
  EXPECT_TRUE(CheckStudyName(std::string(100, 'a')));
  EXPECT_FALSE(CheckStudyName(std::string(101, 'a')));
  EXPECT_EQ(With("study: a/b"),
            "study.yaml:1: study: expected a name of at most 100 letters, digits, '.', '_' and '-' "
            "that does not begin with '.' or '-', found 'a/b' (such as a-b)");
  EXPECT_EQ(
      ReadStudy("program: x\nspace: {a: {int: [1, 2]}}\nobjective: {minimize: loss}\ntrials: 1\n",
                "my study.yaml", "my study")
          .error()
          .message,
      "my study.yaml:1: study: expected a name of at most 100 letters, digits, '.', '_' and '-' "
      "that does not begin with '.' or '-', found 'my study' (such as my-study), the file's own "
      "name; add 'study: NAME'");
}

TEST(StudyReaderTest, ChecksPrograms) {
  EXPECT_EQ(With("program: []"),
            "study.yaml:1: program: expected a program with at least one item, found []");
  EXPECT_EQ(With("program: ''"),
            "study.yaml:1: program: expected a program with at least one item, found ''");
  EXPECT_EQ(With("program: ['', x]"),
            "study.yaml:1: program: expected a program that is not '', found ['', x]");
  EXPECT_EQ(
      With("program: {lr}"),
      "study.yaml:1: program: expected a command line or a list of texts, found {lr}; quote a "
      "text that begins with a brace");
  EXPECT_EQ(
      With("program: [x, {lr}]"),
      "study.yaml:1: program[1]: expected a text, found {lr}; quote a text that begins with a "
      "brace or bracket");
  EXPECT_EQ(With("program: a | b"),
            "study.yaml:1: program: expected a program without '|', since no shell runs it; write "
            "sh -c 'a | b', or quote it to mean the text");
  EXPECT_EQ(With("program: x --lr={args}"),
            "study.yaml:1: program: expected {args} as an item of the program on its own, found "
            "'--lr={args}'; make it an item of its own, name parameters as in {lr}, or write "
            "{params}, the path of a file that has them");
}

TEST(StudyReaderTest, ChecksEnvironments) {
  EXPECT_EQ(With("environment: {9A: x}"),
            "study.yaml:1: environment.9A: expected a variable's name of letters, digits and '_', "
            "found '9A'");
  EXPECT_EQ(With("environment: {SLUICE_TRIAL: x}"),
            "study.yaml:1: environment.SLUICE_TRIAL: expected a name that does not begin with "
            "SLUICE_, since Sluice sets those; choose another, or say --store on the command line "
            "for another store");
  EXPECT_EQ(
      With("environment: {A: '{lr'}"),
      "study.yaml:1: environment.A: expected braces in pairs, as in {lr}, found a lone '{' in "
      "'{lr'; write {{ for a brace itself");
  EXPECT_EQ(With("environment: [A]"),
            "study.yaml:1: environment: expected a map of keys and values, found [A]; write "
            "'environment: {NAME: value}'");
}

TEST(StudyReaderTest, KeysThatSlippedIntoTheSpace) {
  EXPECT_EQ(With("space:\n  lr: {float: [0.1, 1]}\n  objective: {maximize: accuracy}"),
            "study.yaml:3: objective: expected a parameter, found a key of the study; 'objective' "
            "belongs beside 'space' and not below it: begin both lines alike");
}

TEST(StudyReaderTest, KeysOfOtherToolsKeepTheirValues) {
  EXPECT_THAT(With("num_samples: 80"), HasSubstr("write 'trials: 80'"));
  EXPECT_THAT(With("num_samples: many"), HasSubstr("write 'trials: 24'"));
  EXPECT_THAT(With("pruner: {name: percentile, percentile: 25}"),
              HasSubstr("write 'stopper: {name: percentile, percentile: 25}'"));
  EXPECT_THAT(With("pruner: {type: x}"), HasSubstr("write 'stopper: asha'"));
  EXPECT_THAT(With("stopper: {name: asha, grace_period: 2}"),
              HasSubstr("write 'min: 2' in 'budget', beside the stopper"));
}

TEST(StudyReaderTest, SaysWhatWasMeant) {
  EXPECT_THAT(With("budget: {max: 2h}"), HasSubstr("for a time write 'deadline: 2h'"));
  EXPECT_THAT(With("budget: {max: 9, eta: 0.25}"), HasSubstr("write 4 for a quarter"));
  EXPECT_THAT(With("seed: [1, 2]"), HasSubstr("a study has one seed: write 'seed: 1'"));
  EXPECT_THAT(With("environment:\n  - {name: THREADS, value: 2}"),
              HasSubstr("write 'environment: {THREADS: 2}'"));
  EXPECT_THAT(With("resources: {gpus: [0, 1]}"), HasSubstr("write how many, as in 1"));
  EXPECT_THAT(With("resources: {gpus: 1}\nprofile: {unit_time: 20s}"),
              HasSubstr("write '{A100: {unit_time: 20s}}', if it was an A100"));
  EXPECT_THAT(With("stopper: {name: pbt, mutate: {lr: [0, 1]}}\nbudget: {max: 9}"),
              HasSubstr("expected a list of parameters, found {lr: [0, 1]}; write '[lr]'"));
  EXPECT_THAT(With("space: {h: {choice: [[64, 64], [32, 32]]}}"),
              HasSubstr("quote each choice that is more, as in \"64,64\""));
  EXPECT_THAT(With("space: {lr: 'tag(log, interval(1e-5, 1))'}"),
              HasSubstr("write 'lr: {float: [1e-5, 1], log: true}'"));
  EXPECT_THAT(With("program: sh -c 'cd x; train {args}'"),
              HasSubstr("write \"$@\" for it, and 'sh {args}' behind that text"));
  EXPECT_THAT(With("gpus: 2"), HasSubstr("write 'gpus: 2' in 'resources'"));
}

TEST(StudyReaderTest, ChecksObjectives) {
  EXPECT_EQ(With("objective: accuracy"),
            "study.yaml:1: objective: expected {maximize: METRIC} or {minimize: METRIC}, found "
            "accuracy; write '{maximize: accuracy}' or '{minimize: accuracy}'");
  EXPECT_EQ(With("objective: {maximise: accuracy}"),
            "study.yaml:1: objective.maximise: unknown key; write 'maximize: accuracy'");
  EXPECT_EQ(With("objective: {maximize: a, minimize: b}"),
            "study.yaml:1: objective: expected either maximize or minimize, found {maximize: a, "
            "minimize: b}; a study has one objective: report a number that weighs what counts, and "
            "name that");
  EXPECT_EQ(
      With("objective: {maximize: epoch}"),
      "study.yaml:1: objective.maximize: expected a metric, found epoch, which is the unit of "
      "the budget; name what the program reports");
  EXPECT_EQ(With("objective: {maximize: ''}"),
            "study.yaml:1: objective.maximize: expected a metric's name of at most 100 characters, "
            "found ''");
}

TEST(StudyReaderTest, ChecksSearches) {
  EXPECT_EQ(
      With("sampler: gird"),
      "study.yaml:1: sampler: expected one of random, grid, sobol, tpe, bohb, found gird (did you "
      "mean 'grid'?)");
  EXPECT_THAT(With("sampler: grid"),
              HasSubstr("study.yaml:1: sampler: lr: the grid sampler needs"));
  EXPECT_THAT(With("policy: fluid"),
              AllOf(StartsWith("study.yaml:1: policy: expected one of fifo, lpt, fluid-static, "),
                    HasSubstr(", found fluid")));
  EXPECT_EQ(With("stopper: asha"),
            "study.yaml:1: budget.max: expected the full budget of a trial, since the stopper asha "
            "needs it, found nothing; add 'budget: {max: 27}'");
  EXPECT_EQ(With("budget: {min: 9, max: 3}"),
            "study.yaml:1: budget: expected min <= max, found {min: 9, max: 3}");
  EXPECT_EQ(With("budget: {min: 0}"),
            "study.yaml:1: budget.min: expected a whole number from 1 to 1000000000000, found 0");
  EXPECT_EQ(With("budget: {eta: 1}"),
            "study.yaml:1: budget.eta: expected a whole number from 2 to 1000, found 1");
  EXPECT_EQ(With("budget: {unit: my epoch}"),
            "study.yaml:1: budget.unit: expected a unit of letters, digits, '_' and '-', such as "
            "epoch or step, found my epoch");
}

TEST(StudyReaderTest, ReadsStoppersWithTheirOptions) {
  const auto stopper = [](const std::string& text) {
    const auto study =
        ReadStudy(text +
                      "\nbudget: {max: 9}\nprogram: train\nobjective: {minimize: loss}\ntrials: "
                      "9\n" +
                      std::string(kSpace),
                  "study.yaml", "study");
    EXPECT_TRUE(study) << study.error().message;
    return study ? study->stopper : StopperSpec{};
  };
  EXPECT_EQ(stopper("stopper: median").startup, 5);
  const StopperSpec percentile =
      stopper("stopper: {name: percentile, percentile: 12.5, startup: 0, min_trials: 3}");
  EXPECT_EQ(percentile.name, "percentile");
  EXPECT_EQ(percentile.percentile, 12.5);
  EXPECT_EQ(percentile.startup, 0);
  EXPECT_EQ(percentile.min_trials, 3);
  const StopperSpec patience = stopper("stopper: {name: patience, patience: 4, min_delta: 1e-3}");
  EXPECT_EQ(patience.patience, 4);
  EXPECT_EQ(patience.min_delta, 1e-3);
  EXPECT_EQ(stopper("stopper: {name: sha, bracket: 12}").bracket, 12);
  EXPECT_EQ(With("stopper: {name: patience}"), "");  // needs no budget
}

TEST(StudyReaderTest, ChecksStoppersAndTheirOptions) {
  EXPECT_EQ(With("stopper: {percentile: 25}"),
            "study.yaml:1: stopper.name: expected a stopper, found nothing; add 'name: median'");
  EXPECT_EQ(With("stopper: {name: meidan}"),
            "study.yaml:1: stopper.name: expected one of none, asha, asha-promotion, "
            "asha-pausing, median, percentile, patience, sha, hyperband, pbt, pbt-async, found "
            "meidan (did you mean "
            "'median'?)");
  EXPECT_EQ(With("stopper: {name: percentile, precentile: 25}"),
            "study.yaml:1: stopper.precentile: unknown key (did you mean 'percentile'?)");
  EXPECT_EQ(With("stopper: {name: median, percentile: 25}"),
            "study.yaml:1: stopper.percentile: the stopper median does not take it; its options "
            "are startup, min_trials");
  EXPECT_EQ(With("stopper: {name: pbt, intervall: 2}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.intervall: unknown key (did you mean 'interval'?)");
  EXPECT_EQ(With("stopper: {name: pbt, interval: 9}\nbudget: {max: 9}"),
            "study.yaml:1: stopper: interval: expected less than 9, the full budget, so that "
            "trials are judged before their end (leave it out for a tenth of that), found 9");
  EXPECT_EQ(With("stopper: {name: pbt-async, quantile: 0.6}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.quantile: expected a number from 0 to 0.5, found 0.6");
  EXPECT_EQ(With("stopper: {name: asha, quantile: 0.2}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.quantile: the stopper asha does not take it; it has no options");
  EXPECT_EQ(With("stopper: {name: hyperband, bracket: 25}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.bracket: the stopper hyperband does not take it; it has no "
            "options");
  EXPECT_EQ(With("stopper: {name: percentile, percentile: 101}"),
            "study.yaml:1: stopper.percentile: expected a number from 0 to 100, found 101");
  EXPECT_EQ(With("stopper: {name: percentile, percentile: 0.0001}"),
            "study.yaml:1: stopper: percentile: expected 0 to 100 with at most three decimals, "
            "found 0.0001");
  EXPECT_EQ(With("stopper: {name: patience, patience: 0}"),
            "study.yaml:1: stopper.patience: expected a whole number from 1 to 1000000000000, "
            "found 0");
  EXPECT_EQ(With("stopper: {name: patience, min_delta: -1}"),
            "study.yaml:1: stopper.min_delta: expected a number of at least 0, found -1");
  EXPECT_EQ(With("stopper: {name: sha}"),
            "study.yaml:1: budget.max: expected the full budget of a trial, since the stopper sha "
            "needs it, found nothing; add 'budget: {max: 27}'");
  EXPECT_EQ(
      With("stopper: [median]"),
      "study.yaml:1: stopper: expected one of none, asha, asha-promotion, asha-pausing, median, "
      "percentile, patience, sha, hyperband, pbt, pbt-async, found [median]; write 'median' alone");
}

TEST(StudyReaderTest, ChecksStopAt) {
  EXPECT_EQ(With("stop_at: {loss: 0.1}"),
            "study.yaml:1: stop_at.loss: expected {below: 0.1} or {above: 0.1}, since loss is not "
            "the objective, found 0.1");
  EXPECT_EQ(With("stop_at: {loss: {blow: 0.1}}"),
            "study.yaml:1: stop_at.loss.blow: unknown key (did you mean 'below'?)");
  EXPECT_EQ(With("stop_at: {loss: {below: 1, above: 2}}"),
            "study.yaml:1: stop_at.loss: expected either {below: NUMBER} or {above: NUMBER}, found "
            "{below: 1, above: 2}");
  EXPECT_EQ(With("stop_at: {accuracy: .nan}"),
            "study.yaml:1: stop_at.accuracy: expected a finite number, found .nan");
  EXPECT_EQ(
      With("stop_at: {}"),
      "study.yaml:1: stop_at: expected a metric and its value, as in {accuracy: 0.9}, found {}");
}

TEST(StudyReaderTest, AWeightIsForPoliciesThatDealOutShares) {
  const auto read = [](const std::string& more) {
    return ReadStudy(
        "program: x\nspace: {a: {int: [1, 4]}}\nobjective: {minimize: loss}\ntrials: 3\n" + more,
        "study.yaml", "study");
  };
  const auto heeded = read("policy: confluence\nweight: 2.5\n");
  ASSERT_TRUE(heeded) << heeded.error().message;
  EXPECT_EQ(heeded->weight, 2.5);
  EXPECT_THAT(heeded->notes, ElementsAre());
  const auto ignored = read("weight: 2\npolicy: lpt\n");
  ASSERT_TRUE(ignored) << ignored.error().message;
  EXPECT_EQ(ignored->weight, 2);
  EXPECT_THAT(ignored->notes,
              ElementsAre("weight: has no effect under the policy lpt, only under confluence"));
}

TEST(StudyReaderTest, ChecksNumbersTimesAndSizes) {
  EXPECT_EQ(With("trials: 0"),
            "study.yaml:1: trials: expected a whole number from 1 to 10000000, found 0");
  EXPECT_EQ(With("parallelism: 0"),
            "study.yaml:1: parallelism: expected a whole number from 1 to 100000, found 0; leave "
            "it out for as many as fit");
  EXPECT_EQ(With("retries: 101"),
            "study.yaml:1: retries: expected a whole number from 0 to 100, found 101");
  EXPECT_EQ(With("weight: 0"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found 0");
  EXPECT_EQ(With("weight: 1001"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found 1001");
  EXPECT_EQ(With("weight: .nan"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found .nan");
  EXPECT_EQ(With("weight: heavy"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found heavy");
  EXPECT_EQ(With("seed: -1"),
            "study.yaml:1: seed: expected a whole number of at least 0, found -1; leave it out to "
            "have one drawn");
  EXPECT_EQ(With("deadline: 2026-01-31T18:00:00"),
            "study.yaml:1: deadline: expected a duration such as 20m, or a time with its zone such "
            "as 2026-01-31T18:00:00Z, found 2026-01-31T18:00:00; write '2026-01-31T18:00:00Z' if "
            "UTC is meant");
  EXPECT_EQ(
      With("backoff: later"),
      "study.yaml:1: backoff: expected a duration such as 90s, 20m, 1h30m or 2d, found later");
  EXPECT_EQ(With("timeouts: {tiral: 1h}"),
            "study.yaml:1: timeouts.tiral: unknown key (did you mean 'trial'?)");
  EXPECT_EQ(With("timeouts: {lease: 0}"),
            "study.yaml:1: timeouts.lease: expected a lease of at least 100ms, found 0");
  EXPECT_EQ(With("output_cap: big"),
            "study.yaml:1: output_cap: expected a size such as 500kB, 16MiB or 2GB, found big");
  EXPECT_EQ(With("checkpoint_cap: 0"),
            "study.yaml:1: checkpoint_cap: expected a size above 0, found 0");
}

TEST(StudyReaderTest, ChecksResources) {
  EXPECT_EQ(With("resources: {gpus: 1.5}"),
            "study.yaml:1: resources.gpus: expected a share of one GPU, from 0 to 1, or a whole "
            "number of them, found 1.5");
  EXPECT_EQ(With("resources: {cpus: -1}"),
            "study.yaml:1: resources.cpus: expected a number from 0 to 100000, found -1");
  EXPECT_EQ(With("resources: {cpus: 0.0001}"),
            "study.yaml:1: resources.cpus: expected at most three decimals, found 0.0001");
  EXPECT_EQ(With("resources: {cpus: 0}"),
            "study.yaml:1: resources: expected some of cpus or gpus, found {cpus: 0}; give a small "
            "share such as {cpus: 0.1}");
  EXPECT_EQ(With("resources: {gpus: 4}"), "");
  EXPECT_EQ(With("resources: {gpus: [0.5, 4]}"), "");
  EXPECT_EQ(With("resources: {gpus: [4, 1]}"),
            "study.yaml:1: resources.gpus: expected two amounts above 0, the smaller one first, "
            "found [4, 1]");
  EXPECT_EQ(With("resources: {gpus: [0.5, 1.5]}"),
            "study.yaml:1: resources.gpus: expected a share of one GPU, from 0 to 1, or a whole "
            "number of them, found [0.5, 1.5]");
  EXPECT_EQ(With("resources: {gpus: [1, 2, 3]}"),
            "study.yaml:1: resources.gpus: expected an amount, or the least and the most of an "
            "elastic trial, as in [1, 4], found [1, 2, 3]");
  EXPECT_EQ(With("resources: {cpus: [1, 2], gpus: 1}"),
            "study.yaml:1: resources.cpus: expected one amount beside 'gpus', found [1, 2]; cores "
            "go along with GPUs in proportion");
  EXPECT_EQ(With("policy: fluid-static"),
            "study.yaml:1: policy: the policy fluid-static plans by what is left of each trial, "
            "and nothing says how far trials go: add 'budget: {max: 27}', or take another policy");
}

TEST(StudyReaderTest, ReadsWhatATrialTakesOfADevice) {
  const auto study = ReadStudy(
      "program: python train.py {args}\n"
      "space: {lr: {float: [1e-4, 1e-1], log: true}}\n"
      "objective: {maximize: accuracy}\n"
      "trials: 24\n"
      "resources: {cpus: 2, gpus: 0.5, memory: 4GiB, bandwidth: 0.3, lent: false}\n"
      "profile:\n"
      "  A100: {unit_time: 20s, gpus: 0.37, bandwidth: 0.2}\n"
      "  H100: {unit_time: 12500ms}\n"
      "fuse: {most: 64, memory: 300MB}\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  const Demand& demand = study->demand;
  EXPECT_EQ(demand.memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(demand.bandwidth, 300);
  EXPECT_FALSE(demand.lent);
  ASSERT_EQ(study->profile.size(), 2U);
  EXPECT_EQ(study->profile[0].kind, "A100");
  EXPECT_DOUBLE_EQ(study->profile[0].seconds_per_unit, 20);
  EXPECT_DOUBLE_EQ(study->profile[1].seconds_per_unit, 12.5);
  EXPECT_EQ(NeedOn(demand, "A100"), (DeviceNeed{.gpus = 370, .bandwidth = 200}));
  EXPECT_EQ(NeedOn(demand, "H100"), (DeviceNeed{.gpus = 500, .bandwidth = 300}))
      << "what was not measured is as 'resources' says";
  EXPECT_EQ(NeedOn(demand, "V100"), (DeviceNeed{.gpus = 500, .bandwidth = 300}));
  EXPECT_EQ(demand.fused_most, 64);
  EXPECT_EQ(demand.fused_bytes, 300'000'000);
}

TEST(StudyReaderTest, FusedTrialsTakeAsMuchMemoryAsAloneUnlessTheFileKnowsBetter) {
  const auto study = ReadStudy(
      "program: python train.py {args}\n"
      "space: {lr: {float: [1e-4, 1e-1], log: true}}\n"
      "objective: {maximize: accuracy}\n"
      "trials: 24\n"
      "resources: {gpus: 1, memory: 2GB}\n"
      "fuse: 8\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->demand.fused_most, 8);
  EXPECT_EQ(study->demand.fused_bytes, 2'000'000'000);
  EXPECT_TRUE(study->demand.lent);
}

TEST(StudyReaderTest, ChecksWhatATrialTakesOfADevice) {
  EXPECT_EQ(With("resources: {memory: 4GiB}"),
            "study.yaml:1: resources.memory: expected it only beside 'gpus', since it is of each "
            "GPU, found 4GiB; remove the key");
  EXPECT_EQ(With("resources: {cpus: 1, bandwidth: 0.5}"),
            "study.yaml:1: resources.bandwidth: expected it only beside 'gpus', since it is of "
            "each GPU, found 0.5; remove the key");
  EXPECT_EQ(With("resources: {lent: false, gpus: 0}"),
            "study.yaml:1: resources.lent: expected it only beside 'gpus', since it is of each "
            "GPU, found false; remove the key");
  EXPECT_EQ(With("resources: {gpus: 1, memory: much}"),
            "study.yaml:1: resources.memory: expected a size such as 500kB, 16MiB or 2GB, found "
            "much");
  EXPECT_EQ(With("resources: {gpus: 1, bandwidth: 1.5}"),
            "study.yaml:1: resources.bandwidth: expected a number from 0 to 1, found 1.5");
  EXPECT_EQ(With("resources: {gpus: 1, bandwidth: 0.1234}"),
            "study.yaml:1: resources.bandwidth: expected at most three decimals, found 0.1234");
  EXPECT_EQ(With("resources: {gpus: 1, lent: sometimes}"),
            "study.yaml:1: resources.lent: expected true or false, found sometimes");
  EXPECT_EQ(With("resources: {gpus: 1, memroy: 4GiB}"),
            "study.yaml:1: resources.memroy: unknown key (did you mean 'memory'?)");
}

TEST(StudyReaderTest, ChecksProfiles) {
  const auto with = [](std::string_view profile) {
    return With("resources: {gpus: 1}\nprofile: " + std::string(profile));
  };
  EXPECT_EQ(with("{A100: {unit_time: 20s}}"), "");
  EXPECT_EQ(with("{A100: {unit_tiem: 20s}}"),
            "study.yaml:2: profile.A100.unit_tiem: unknown key (did you mean 'unit_time'?)");
  EXPECT_EQ(with("{A100: {unit_time: 0s}}"),
            "study.yaml:2: profile.A100.unit_time: expected a time above 0, found 0s");
  EXPECT_EQ(with("{A100: {unit_time: soon}}"),
            "study.yaml:2: profile.A100.unit_time: expected a duration such as 90s, 20m, 1h30m or "
            "2d, found soon");
  EXPECT_EQ(with("{A100: {gpus: 0}}"),
            "study.yaml:2: profile.A100.gpus: expected a share of one GPU, above 0 and at most 1, "
            "found 0");
  EXPECT_EQ(with("{A100: {gpus: 2}}"),
            "study.yaml:2: profile.A100.gpus: expected a number from 0 to 1, found 2");
  EXPECT_EQ(with("{A100: {bandwidth: -1}}"),
            "study.yaml:2: profile.A100.bandwidth: expected a number from 0 to 1, found -1");
  EXPECT_EQ(with("{A100: 20s}"),
            "study.yaml:2: profile.A100: expected a map of keys and values, found 20s");
  EXPECT_EQ(with("20s"), "study.yaml:2: profile: expected a map of keys and values, found 20s");
  for (const char* resources : {"{cpus: 1}", "{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_EQ(With("profile: {A100: {unit_time: 20s}}\nresources: " + std::string(resources)),
              "study.yaml:1: profile: expected it of trials on one GPU or a share of it, found "
              "{A100: {unit_time: 20s}}; remove the key, or set 'resources: {gpus: 1}'")
        << resources;
  }
}

TEST(StudyReaderTest, ChecksFusion) {
  const auto with = [](std::string_view fuse) {
    return With("resources: {gpus: 1, memory: 1GB}\nfuse: " + std::string(fuse));
  };
  EXPECT_EQ(with("1"), "");
  EXPECT_EQ(with("{most: 16, memory: 1GB}"), "");
  EXPECT_EQ(with("0"), "study.yaml:2: fuse: expected a whole number from 1 to 10000, found 0");
  EXPECT_EQ(with("all"), "study.yaml:2: fuse: expected a whole number from 1 to 10000, found all");
  EXPECT_EQ(with("{memory: 300MB}"),
            "study.yaml:2: fuse.most: expected how many trials one program can train, found "
            "nothing; add 'most: 64'");
  EXPECT_EQ(with("{most: 64, memery: 300MB}"),
            "study.yaml:2: fuse.memery: unknown key (did you mean 'memory'?)");
  EXPECT_EQ(with("{most: 64, memory: 2GB}"),
            "study.yaml:2: fuse: expected at most the memory of a trial alone for each one more, "
            "found {most: 64, memory: 2GB}; set 'resources: {memory: 4GiB}'");
  for (const char* resources : {"{cpus: 1}", "{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_EQ(With("fuse: 64\nresources: " + std::string(resources)),
              "study.yaml:1: fuse: expected it of trials on one GPU, found 64; remove the key, or "
              "set 'resources: {gpus: 1}'")
        << resources;
  }
}

TEST(StudyReaderTest, ReadsTheNetworkThatIsTrained) {
  const auto read = [](const std::string& lines) {
    return *ReadStudy(lines +
                          "\nprogram: train {args}\nspace: {lr: {float: [0, 1]}}\n"
                          "objective: {minimize: loss}\ntrials: 1\n",
                      "study.yaml", "study");
  };
  EXPECT_FALSE(read("seed: 1").model);
  const auto alone = read("seed: 1\nmodel: nets/net.pt2").model;
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->network, "nets/net.pt2");
  EXPECT_EQ(alone->loss, "returned");
  EXPECT_EQ(alone->scale, 1);
  const auto model = read("model: {network: 'zoo:mlp,hidden=64', loss: mse, scale: 8}").model;
  ASSERT_TRUE(model);
  EXPECT_EQ(model->network, "zoo:mlp,hidden=64");
  EXPECT_EQ(model->loss, "mse");
  EXPECT_EQ(model->scale, 8);
}

TEST(StudyReaderTest, ChecksTheNetworkThatIsTrained) {
  EXPECT_EQ(With("model: ''"),
            "study.yaml:1: model: expected a file of torch.export, or zoo:NAME, found ''");
  EXPECT_THAT(With("model: [net.pt2]"), HasSubstr("study.yaml:1: model: expected"));
  EXPECT_THAT(
      With("model: {loss: mse}"),
      HasSubstr("model.network: expected a file of torch.export, or zoo:NAME, found nothing; "
                "add 'network: net.pt2'"));
  EXPECT_THAT(With("model: {network: net.pt2, scale: 0.5}"),
              HasSubstr("model.scale: expected a number from 1 to"));
  EXPECT_THAT(With("model: {netwrk: net.pt2}"), HasSubstr("did you mean 'network'?"));
}

TEST(StudyReaderTest, PoliciesThatPackGpusNeedToKnowMemory) {
  for (const char* policy : {"hypersack-ff", "hypersack-ffd", "hypersack-wf", "hypersack-wfd",
                             "hypersack-mip", "hydro"}) {
    const std::string line = "policy: " + std::string(policy) + "\nresources: ";
    EXPECT_EQ(With(line + "{gpus: 1}"),
              "study.yaml:1: policy: the policy " + std::string(policy) +
                  " packs trials by the memory they take, and nothing says how much that is: add "
                  "'resources: {memory: 4GiB}', or take another policy");
    EXPECT_EQ(With(line + "{gpus: 1, memory: 4GiB}"), "");
    EXPECT_EQ(With(line + "{cpus: 1}"), "") << "without GPUs there is nothing to say";
  }
}

TEST(StudyReaderTest, TheExamplesOfTheDocumentationAreStudies) {
  const auto page = std::filesystem::path(__FILE__).parent_path() / "../../../docs/study-file.md";
  std::ifstream stream(page);
  ASSERT_TRUE(stream) << page;
  int examples = 0;
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (!inside && line == "```yaml") {
      inside = true;
      example.clear();
    } else if (inside && line == "```") {
      inside = false;
      ++examples;
      const auto study = ReadStudy(example, "study-file.md", "example");
      EXPECT_TRUE(study) << study.error().message << "\nin\n" << example;
    } else if (inside) {
      example += line + "\n";
    }
  }
  EXPECT_GE(examples, 5);
}

TEST(StudyReaderTest, AModelComparesTrialsWhereTheyAreJudgedOrAtTheRungsOfTheirBudget) {
  const auto levels = [](const std::string& lines) {
    const auto study = ReadStudy("program: train {args}\nobjective: {minimize: loss}\ntrials: 4\n" +
                                     std::string(kSpace) + lines,
                                 "study.yaml", "study");
    return study ? study->sampler.levels : std::vector<Work>{-1};
  };
  EXPECT_THAT(levels(""), testing::IsEmpty());
  EXPECT_THAT(levels("budget: {max: 30}\n"), ElementsAre(1, 3, 9, 27, 30));
  EXPECT_THAT(levels("budget: {min: 2, max: 32, eta: 4}\nstopper: none\n"), ElementsAre(2, 8, 32));
  EXPECT_THAT(levels("budget: {max: 10}\nstopper: {name: pbt, interval: 5}\n"), ElementsAre(5, 10));
}

}  // namespace
}  // namespace sluice
