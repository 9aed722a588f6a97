#include "engine/read/sweep/sweep_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/read/study_keys.h"
#include "engine/read/sweep/test_sweep.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(SweepReaderTest, ReadsTheSweepOfTheDocumentation) {
  const auto study = ReadStudy(R"(
program: train.py
name: sweepdemo
method: random
metric:
  goal: minimize
  name: validation_loss
parameters:
  learning_rate:
    min: 0.0001
    max: 0.1
  batch_size:
    values: [16, 32, 64]
  epochs:
    value: 5
  optimizer:
    values: ["adam", "sgd"]
run_cap: 12
)",
                               "sweep.yaml", "sweep");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->name, "sweepdemo");
  EXPECT_THAT(study->program, ElementsAre("/usr/bin/env", "python", "train.py", "{args}"));
  EXPECT_EQ(study->objective.metric, "validation_loss");
  EXPECT_EQ(study->objective.direction, Direction::kMinimize);
  EXPECT_EQ(study->sampler.name, "random");
  EXPECT_EQ(study->stopper.name, "none");
  EXPECT_EQ(study->unit, "step");
  EXPECT_EQ(study->trials, 12);
  EXPECT_FALSE(study->endless);
  ASSERT_TRUE(study->sweep);
  EXPECT_FALSE(study->sweep->real_wandb);
  EXPECT_THAT(study->notes, IsEmpty());
  const auto& parameters = study->space.parameters();
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0].kind, ParameterKind::kFloat);
  EXPECT_EQ(parameters[0].law, Law::kUniform);
  EXPECT_THAT(parameters[1].choices, ElementsAre(Choice(16L), Choice(32L), Choice(64L)));
  EXPECT_THAT(parameters[2].choices, ElementsAre(Choice(5L)));
  EXPECT_THAT(parameters[3].choices, ElementsAre(Choice("adam"), Choice("sgd")));
}

TEST(SweepReaderTest, AStudyIsNoSweep) {
  const auto study = ReadStudy(
      "program: p\nspace: {x: {int: [0, 1]}}\nobjective: {minimize: l}\ntrials: 1\n"
      "parameters: {}\n",
      "study.yaml", "study");
  ASSERT_FALSE(study);
  EXPECT_THAT(study.error().message, HasSubstr("study.yaml:5: parameters: unknown key"));
}

TEST(SweepReaderTest, Methods) {
  EXPECT_EQ(Good("method: random").sampler.name, "random");
  const StudySpec grid = Good("method: grid\nparameters: {a: {values: [1, 2, 3]}, b: {value: x}}");
  EXPECT_EQ(grid.sampler.name, "grid");
  EXPECT_EQ(Good("method: bayes").sampler.name, "tpe");
  EXPECT_EQ(SweepProblems("method: baies"),
            "sweep.yaml:1: method: expected one of grid, random, bayes, found baies (did you mean "
            "'bayes'?)");
  EXPECT_THAT(SweepProblems("method: grid"), HasSubstr("sweep.yaml:1: method: "));
}

TEST(SweepReaderTest, WithoutAMethodOrParameters) {
  EXPECT_EQ(ReadStudy("program: a.py\nmetric: {name: l}\nparameters: {a: {value: 1}}\n",
                      "sweep.yaml", "sweep")
                .error()
                .message,
            "sweep.yaml:1: method: expected one of grid, random, bayes, found nothing; add "
            "'method: random'");
  EXPECT_EQ(
      ReadStudy("program: a.py\nmetric: {name: l}\nmethod: random\n", "sweep.yaml", "sweep")
          .error()
          .message,
      "sweep.yaml:1: parameters: expected what to search, found nothing; add 'parameters: {lr: "
      "{min: 0.1, max: 1.0}}'");
}

TEST(SweepReaderTest, HowManyTrials) {
  const auto study = [](std::string_view method) {
    return ReadStudy(std::string("program: a.py\nmetric: {name: l}\nparameters: {a: {values: [1, "
                                 "2, 3]}, b: {values: [x, y]}}\nmethod: ") +
                         std::string(method),
                     "sweep.yaml", "sweep");
  };
  EXPECT_EQ(study("grid")->trials, 6);
  EXPECT_FALSE(study("grid")->endless);
  EXPECT_TRUE(study("random")->endless);
  EXPECT_EQ(study("random")->trials, kMaxTrials);
  EXPECT_THAT(SweepProblems("run_cap: 0"), HasSubstr("sweep.yaml:1: run_cap: expected"));
}

TEST(SweepReaderTest, Metric) {
  const StudySpec study = Good("metric: {name: val/acc, goal: maximize, target: 0.9}");
  EXPECT_EQ(study.objective.metric, "val/acc");
  EXPECT_EQ(study.objective.direction, Direction::kMaximize);
  ASSERT_EQ(study.stop_at.size(), 1U);
  EXPECT_EQ(study.stop_at[0].metric, "val/acc");
  EXPECT_EQ(study.stop_at[0].threshold, 0.9);
  EXPECT_EQ(study.stop_at[0].direction, Direction::kMaximize);
  EXPECT_EQ(Good("metric: {name: loss}").objective.direction, Direction::kMinimize);
  EXPECT_EQ(SweepProblems("metric: {name: loss, goal: minimise}"),
            "sweep.yaml:1: metric.goal: expected one of minimize, maximize, found minimise (did "
            "you mean 'minimize'?)");
  EXPECT_EQ(SweepProblems("metric: {goal: minimize}"),
            "sweep.yaml:1: metric.name: expected the metric's name, found nothing; add 'name: "
            "loss'");
  const std::string none = "program: a.py\nrun_cap: 3\nparameters: {a: {value: 1}}\n";
  EXPECT_EQ(ReadStudy(none + "method: bayes\n", "sweep.yaml", "sweep").error().message,
            "sweep.yaml:1: metric: expected the metric to improve, since bayes needs one, "
            "found nothing; add 'metric: {name: loss, goal: minimize}'");
  for (const char* method : {"random", "grid"}) {
    const auto without = ReadStudy(none + "method: " + method + "\n", "sweep.yaml", "sweep");
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_EQ(without->objective.metric, "_runtime");
    EXPECT_THAT(without->notes, ElementsAre(HasSubstr("trials are compared by _runtime")));
  }
}

TEST(SweepReaderTest, NamesBecomeNamesOfStudies) {
  EXPECT_EQ(Good("").name, "sweep");
  EXPECT_EQ(Good("name: my-sweep_1.2").name, "my-sweep_1.2");
  const StudySpec study = Good("name: ' My sweep (v2)! '");
  EXPECT_EQ(study.name, "My-sweep-v2");
  EXPECT_THAT(study.notes, ElementsAre("name: the study is called My-sweep-v2"));
  EXPECT_EQ(Good("name: '!!!'").name, "sweep");
}

TEST(SweepReaderTest, KeysWithoutEffectAreNoted) {
  const StudySpec study = Good("project: p\nentity: e\ndescription: d\ncontroller: {type: local}");
  EXPECT_THAT(study.notes, ElementsAre("project: has no effect here", "entity: has no effect here",
                                       "controller: has no effect here"));
  EXPECT_EQ(SweepProblems("projekt: p"),
            "sweep.yaml:1: projekt: unknown key (did you mean 'project'?)");
  EXPECT_EQ(SweepProblems("run_cup: 3"),
            "sweep.yaml:1: run_cup: unknown key (did you mean 'run_cap'?)");
}

TEST(SweepReaderTest, KeysOfAStudyThatSayHowTrialsRun) {
  const StudySpec study = Good(
      "parallelism: 2\nresources: {gpus: 1}\nseed: 7\nretries: 0\nenvironment: {LR: '{lr}'}\n"
      "timeouts: {trial: 1h}\nwandb: real");
  EXPECT_EQ(study.parallelism, 2);
  EXPECT_EQ(study.demand.gpus, 1000);
  EXPECT_EQ(study.seed, 7U);
  EXPECT_EQ(study.retries, 0);
  EXPECT_THAT(study.environment, ElementsAre(Pair("LR", "{lr}")));
  EXPECT_TRUE(study.sweep->real_wandb);
  EXPECT_THAT(SweepProblems("environment: {LR: '{l}'}"), HasSubstr("(did you mean 'lr'?)"));
  EXPECT_THAT(SweepProblems("wandb: reel"), HasSubstr("(did you mean 'real'?)"));
}

TEST(SweepReaderTest, KeysOfAStudyThatSayWhatTrialsTakeOfADevice) {
  const StudySpec study = Good(
      "resources: {gpus: 1, memory: 4GiB}\nprofile: {A100: {unit_time: 20s, gpus: 0.37}}\n"
      "fuse: {most: 8, memory: 1GiB}\npolicy: hydro");
  EXPECT_EQ(study.policy, "hydro");
  EXPECT_EQ(study.demand.memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(NeedOn(study.demand, "A100").gpus, 370);
  EXPECT_EQ(study.demand.fused_most, 8);
  EXPECT_THAT(SweepProblems("fuse: 0"), HasSubstr("sweep.yaml:1: fuse: expected a whole number"));
}

TEST(SweepReaderTest, HyperbandBecomesAsha) {
  const StudySpec open = Good("early_terminate: {type: hyperband, min_iter: 3}");
  EXPECT_EQ(open.stopper.name, "asha");
  EXPECT_EQ(open.stopper.min_budget, 3);
  EXPECT_EQ(open.stopper.max_budget, kMaxBudget);
  EXPECT_EQ(open.stopper.eta, 3);
  const StudySpec closed =
      Good("early_terminate: {type: hyperband, max_iter: 27, s: 2, eta: 3, strict: true}");
  EXPECT_EQ(closed.stopper.min_budget, 3);
  EXPECT_EQ(closed.stopper.max_budget, 27);
  EXPECT_THAT(closed.notes, ElementsAre("early_terminate.strict: has no effect here"));
  const StudySpec uneven = Good("early_terminate: {type: hyperband, max_iter: 50, s: 2, eta: 3}");
  EXPECT_EQ(uneven.stopper.min_budget, 6);  // judged at 6 and 18
  EXPECT_EQ(Good("early_terminate: {type: hyperband, max_iter: 5, s: 9}").stopper.min_budget, 1);
  EXPECT_THAT(SweepProblems("early_terminate: {type: hyperband}"),
              HasSubstr("early_terminate: expected min_iter, or max_iter and s"));
  EXPECT_THAT(SweepProblems("early_terminate: {type: hyperband, max_iter: 27}"),
              HasSubstr("early_terminate: expected s, the number of brackets, beside max_iter"));
  EXPECT_THAT(SweepProblems("early_terminate: {type: hyperband, min_iter: 9, max_iter: 3}"),
              HasSubstr("early_terminate: expected min_iter <= max_iter, found 9 and 3; remove "
                        "max_iter, or lower min_iter"));
  EXPECT_THAT(SweepProblems("early_terminate: {type: hyperbend, min_iter: 3}"),
              HasSubstr("early_terminate.type: expected hyperband, found hyperbend"));
  EXPECT_THAT(SweepProblems("early_terminate: {type: hyperband, min_iter: 3, eta: 1}"),
              HasSubstr("early_terminate.eta: expected"));
}

}  // namespace
}  // namespace sluice
