#include "engine/read/study_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/read/test_study_text.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

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

TEST(StudyReaderTest, KeysThatSlippedIntoTheSpace) {
  EXPECT_EQ(With("space:\n  lr: {float: [0.1, 1]}\n  objective: {maximize: accuracy}"),
            "study.yaml:3: objective: expected a parameter, found a key of the study; 'objective' "
            "belongs beside 'space' and not below it: indent both lines equally");
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

}  // namespace
}  // namespace sluice
