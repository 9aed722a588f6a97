#include "engine/read/sweep_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/read/arguments_codec.h"
#include "engine/read/study_keys.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A good sweep with these lines, which may set any of its keys themselves.
std::string Sweep(std::string_view lines) {
  std::string text(lines);
  const auto add = [&](std::string_view key, std::string_view line) {
    const std::string at_line_start = "\n" + std::string(key) + ":";
    if (("\n" + text).find(at_line_start) == std::string::npos) text += line;
  };
  if (!text.empty()) text += '\n';
  add("program", "program: train.py\n");
  add("method", "method: random\n");
  add("metric", "metric: {name: loss, goal: minimize}\n");
  add("parameters", "parameters: {lr: {min: 0.0001, max: 0.1}}\n");
  add("run_cap", "run_cap: 5\n");
  return text;
}

StudySpec Good(std::string_view lines) {
  auto study = ReadStudy(Sweep(lines), "sweep.yaml", "sweep");
  EXPECT_TRUE(study) << study.error().message;
  return study ? std::move(*study) : StudySpec{};
}

std::string SweepProblems(std::string_view lines) {
  const auto study = ReadStudy(Sweep(lines), "sweep.yaml", "sweep");
  return study ? "" : study.error().message;
}

// The parameter x, described like this.
Parameter X(const std::string& text) {
  const StudySpec study = Good("parameters: {x: " + text + "}");
  return study.space.size() == 1 ? study.space.parameters().front() : Parameter{};
}

std::string ProblemOfX(const std::string& text) {
  return SweepProblems("parameters: {x: " + text + "}");
}

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

TEST(SweepReaderTest, ConstantsAndValues) {
  EXPECT_THAT(X("{value: 3}").choices, ElementsAre(Choice(3L)));
  EXPECT_THAT(X("{value: true, distribution: constant}").choices, ElementsAre(Choice(true)));
  EXPECT_THAT(X("{values: [0.5, a]}").choices, ElementsAre(Choice(0.5), Choice("a")));
  EXPECT_THAT(X("{values: [1, 2], distribution: categorical}").weights, IsEmpty());
  EXPECT_THAT(X("{values: [1, 2], probabilities: [0.25, 0.75]}").weights,
              ElementsAre(DoubleEq(0.25), DoubleEq(0.75)));
  const Parameter weighted =
      X("{distribution: categorical_w_probabilities, values: [a, b, c], probabilities: [0.1, 0.6, "
        "0.3]}");
  EXPECT_EQ(weighted.kind, ParameterKind::kCategorical);
  EXPECT_THAT(weighted.weights, ElementsAre(DoubleEq(0.1), DoubleEq(0.6), DoubleEq(0.3)));
  EXPECT_EQ(ProblemOfX("{values: [1, 2], probabilities: [0.25, 0.7]}"),
            "sweep.yaml:1: x.probabilities: expected probabilities that add up to 1, found 0.95");
  EXPECT_THAT(ProblemOfX("{values: [1, 2], probabilities: [1]}"),
              HasSubstr("expected a list of 2 probabilities, one for each value, found [1]"));
  EXPECT_THAT(ProblemOfX("{distribution: categorical_w_probabilities, values: [1]}"),
              HasSubstr("x.probabilities: expected a probability for each value, found nothing"));
  EXPECT_THAT(ProblemOfX("{values: []}"), HasSubstr("x.values: expected a list of values"));
  EXPECT_THAT(ProblemOfX("{value: 1, values: [1]}"), HasSubstr("expected either value or values"));
}

TEST(SweepReaderTest, Ranges) {
  const Parameter whole = X("{min: 1, max: 8}");
  EXPECT_EQ(whole.kind, ParameterKind::kInt);
  EXPECT_EQ(whole.low, 1);
  EXPECT_EQ(whole.high, 8);
  EXPECT_EQ(X("{min: 1, max: 8.0}").kind, ParameterKind::kFloat);
  EXPECT_EQ(X("{min: 1, max: 8, distribution: uniform}").kind, ParameterKind::kFloat);
  EXPECT_EQ(X("{min: 1, max: 8, distribution: int_uniform}").kind, ParameterKind::kInt);

  const Parameter log = X("{distribution: log_uniform, min: -9.21, max: -2.3}");
  EXPECT_EQ(log.law, Law::kLog);
  EXPECT_DOUBLE_EQ(log.low, std::exp(-9.21));
  EXPECT_DOUBLE_EQ(log.high, std::exp(-2.3));
  const Parameter values = X("{distribution: log_uniform_values, min: 1e-5, max: 0.1}");
  EXPECT_EQ(values.law, Law::kLog);
  EXPECT_EQ(values.low, 1e-5);
  EXPECT_EQ(values.high, 0.1);
  // log(1 / x) from 2 to 9: x from e^-9 to e^-2.
  const Parameter inverse = X("{distribution: inv_log_uniform, min: 2, max: 9}");
  EXPECT_EQ(inverse.law, Law::kLog);
  EXPECT_DOUBLE_EQ(inverse.low, std::exp(-9));
  EXPECT_DOUBLE_EQ(inverse.high, std::exp(-2));
  const Parameter inverse_values =
      X("{distribution: inv_log_uniform_values, min: 0.001, max: 0.5}");
  EXPECT_EQ(inverse_values.law, Law::kLog);
  EXPECT_EQ(inverse_values.low, 0.001);
  EXPECT_EQ(inverse_values.high, 0.5);
}

TEST(SweepReaderTest, ExponentsThatLookLikeValuesAreNoted) {
  const StudySpec study =
      Good("parameters: {lr: {distribution: log_uniform, min: 0.0001, max: 0.1}}");
  ASSERT_EQ(study.notes.size(), 1U);
  EXPECT_THAT(study.notes[0], HasSubstr("lr: min and max of log_uniform are exponents of e, which "
                                        "gives values from 1.0001 to 1.10517"));
}

TEST(SweepReaderTest, QuantizedRanges) {
  const Parameter by_eight = X("{distribution: q_uniform, min: 10, max: 100, q: 8}");
  EXPECT_EQ(by_eight.kind, ParameterKind::kInt);
  EXPECT_EQ(by_eight.law, Law::kUniform);
  EXPECT_EQ(by_eight.low, 16);
  EXPECT_EQ(by_eight.high, 96);
  EXPECT_EQ(by_eight.step, 8);
  const Parameter tenths = X("{distribution: q_uniform, min: 0.05, max: 0.7, q: 0.1}");
  EXPECT_EQ(tenths.kind, ParameterKind::kFloat);
  EXPECT_EQ(tenths.low, 0.1);
  EXPECT_EQ(tenths.high, 0.7);
  EXPECT_EQ(tenths.step, 0.1);
  EXPECT_EQ(X("{distribution: q_uniform, min: 0, max: 4.5}").high, 4);
  EXPECT_FALSE(std::signbit(X("{distribution: q_uniform, min: 0, max: 4.5}").low));
  EXPECT_THAT(X("{distribution: q_uniform, min: 0.9, max: 1.2}").choices, ElementsAre(Choice(1L)));
  EXPECT_THAT(ProblemOfX("{distribution: q_uniform, min: 0.2, max: 0.8}"),
              HasSubstr("x: expected a multiple of q = 1 from 0.2 to 0.8, found none"));

  const Parameter ones = X("{distribution: q_log_uniform_values, min: 32, max: 256}");
  EXPECT_EQ(ones.kind, ParameterKind::kInt);
  EXPECT_EQ(ones.law, Law::kLog);
  EXPECT_EQ(ones.low, 32);
  EXPECT_EQ(ones.high, 256);
  const Parameter exponents = X("{distribution: q_log_uniform, min: 3.46, max: 5.55, q: 1}");
  EXPECT_EQ(exponents.low, 32);
  EXPECT_EQ(exponents.high, 257);

  const Parameter eights = X("{distribution: q_log_uniform_values, min: 8, max: 32, q: 8}");
  EXPECT_EQ(eights.kind, ParameterKind::kOrdinal);
  EXPECT_THAT(eights.choices, ElementsAre(Choice(8L), Choice(16L), Choice(24L), Choice(32L)));
  // log(12/8), log(20/12), log(28/20), log(32/28) of log(32/8)
  EXPECT_THAT(eights.weights, ElementsAre(DoubleNear(0.2925, 1e-4), DoubleNear(0.3685, 1e-4),
                                          DoubleNear(0.2427, 1e-4), DoubleNear(0.0963, 1e-4)));
}

TEST(SweepReaderTest, OfVeryManyMultiplesOnALogScaleSomeAreTried) {
  const Parameter rate =
      X("{distribution: q_log_uniform_values, min: 0.00001, max: 0.1, q: 0.00001}");
  EXPECT_EQ(rate.kind, ParameterKind::kOrdinal);
  EXPECT_LE(rate.choices.size(), 1000U);
  EXPECT_GT(rate.choices.size(), 500U);
  EXPECT_EQ(rate.choices.front(), Choice(0.00001));
  EXPECT_EQ(rate.choices.back(), Choice(0.1));
  double sum = 0;
  double upper = 0;  // of the largest decade, a quarter of the scale
  for (std::size_t i = 0; i < rate.choices.size(); ++i) {
    const double value = std::get<double>(rate.choices[i]);
    EXPECT_NEAR(value / 0.00001, std::round(value / 0.00001), 1e-6);
    sum += rate.weights[i];
    if (value >= 0.01) upper += rate.weights[i];
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(upper, 0.25, 0.01);
  EXPECT_THAT(
      Good("parameters: {x: {distribution: q_log_uniform_values, min: 0.00001, max: 0.1, q: "
           "0.00001}}")
          .notes,
      ElementsAre(HasSubstr("x: of the 10000 multiples of q = 1e-05")));
}

TEST(SweepReaderTest, ARepeatedValueIsDrawnAsOften) {
  const Parameter x = X("{values: [1, 2, 1, 1]}");
  EXPECT_THAT(x.choices, ElementsAre(Choice(1L), Choice(2L)));
  EXPECT_THAT(x.weights, ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
  const Parameter weighted = X("{values: [a, b, a], probabilities: [0.5, 0.25, 0.25]}");
  EXPECT_THAT(weighted.weights, ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
  EXPECT_THAT(Good("parameters: {x: {values: [1, 1]}}").notes,
              ElementsAre(HasSubstr("given several times")));
}

TEST(SweepReaderTest, NormalsAndBetas) {
  const Parameter normal = X("{distribution: normal, mu: 2, sigma: 0.5}");
  EXPECT_EQ(normal.law, Law::kNormal);
  EXPECT_EQ(normal.first, 2);
  EXPECT_EQ(normal.second, 0.5);
  EXPECT_EQ(normal.low, -2);
  EXPECT_EQ(normal.high, 6);
  const Parameter by_default = X("{distribution: normal}");
  EXPECT_EQ(by_default.first, 0);
  EXPECT_EQ(by_default.second, 1);
  const Parameter quantized = X("{distribution: q_normal, mu: 0, sigma: 1, q: 0.5}");
  EXPECT_EQ(quantized.law, Law::kNormal);
  EXPECT_EQ(quantized.step, 0.5);
  EXPECT_EQ(quantized.low, -8);
  const Parameter log = X("{distribution: log_normal, mu: -3, sigma: 0.25}");
  EXPECT_EQ(log.law, Law::kLogNormal);
  EXPECT_EQ(log.first, -3);
  EXPECT_DOUBLE_EQ(log.low, std::exp(-5));
  EXPECT_DOUBLE_EQ(log.high, std::exp(-1));
  const Parameter quantized_log = X("{distribution: q_log_normal, mu: 3, sigma: 0.25, q: 2}");
  EXPECT_EQ(quantized_log.law, Law::kLogNormal);
  EXPECT_EQ(quantized_log.kind, ParameterKind::kInt);
  EXPECT_EQ(quantized_log.low, 4);  // e = 2.7
  EXPECT_EQ(quantized_log.high, 148);
  const Parameter beta = X("{distribution: beta, a: 2, b: 5}");
  EXPECT_EQ(beta.law, Law::kBeta);
  EXPECT_EQ(beta.low, 0);
  EXPECT_EQ(beta.high, 1);
  EXPECT_EQ(beta.first, 2);
  EXPECT_EQ(beta.second, 5);
  const Parameter quarters = X("{distribution: q_beta, a: 2, b: 5, q: 0.25}");
  EXPECT_EQ(quarters.law, Law::kBeta);
  EXPECT_EQ(quarters.step, 0.25);
  EXPECT_EQ(quarters.high, 1);
  EXPECT_THAT(X("{distribution: q_normal, mu: 5.2, sigma: 0.01}").choices, ElementsAre(Choice(5L)));
  EXPECT_EQ(ProblemOfX("{distribution: normal, sigma: 0}"),
            "sweep.yaml:1: x.sigma: expected a number above 0, found 0");
  EXPECT_THAT(ProblemOfX("{distribution: log_normal, sigma: 100}"),
              HasSubstr("x: expected mu and sigma by which log_normal reaches numbers"));
}

TEST(SweepReaderTest, RefusesWhatIsNoDistribution) {
  EXPECT_THAT(ProblemOfX("{distribution: log_unifrom, min: 1, max: 2}"),
              HasSubstr("(did you mean 'log_uniform'?)"));
  EXPECT_EQ(ProblemOfX("{min: 1.0, max: 0.1}"),
            "sweep.yaml:1: x: expected min < max, found min 1 and max 0.1");
  EXPECT_THAT(ProblemOfX("{min: 1.0}"), HasSubstr("x.max: expected a number, found nothing"));
  EXPECT_THAT(ProblemOfX("{min: 1.5, max: 3, distribution: int_uniform}"),
              HasSubstr("x.min: expected a whole number"));
  EXPECT_EQ(ProblemOfX("{distribution: log_uniform_values, min: 0, max: 1}"),
            "sweep.yaml:1: x: expected min > 0 for log_uniform_values, found 0");
  EXPECT_THAT(ProblemOfX("{distribution: log_uniform, min: 1, max: 1000}"),
              HasSubstr("expected min and max of log_uniform as exponents of e"));
  EXPECT_THAT(ProblemOfX("{distribution: uniform, min: 0, max: 1, q: 2}"),
              HasSubstr("x.q: unknown key"));
  EXPECT_THAT(ProblemOfX("{valeus: [1]}"), HasSubstr("unknown key (did you mean 'values'?)"));
  EXPECT_THAT(ProblemOfX("{}"), HasSubstr("x: expected one of value, values, min and max"));
  EXPECT_THAT(ProblemOfX("3"), HasSubstr("x: expected a parameter such as"));
  EXPECT_THAT(SweepProblems("parameters: {'1x': {value: 1}}"),
              HasSubstr("expected a name of at most"));
  EXPECT_THAT(SweepProblems("parameters: {}"),
              HasSubstr("parameters: expected parameters by their names"));
}

TEST(SweepReaderTest, ParametersInsideParameters) {
  const StudySpec study = Good(
      "parameters:\n"
      "  seed: {value: 1}\n"  // a word of templates elsewhere
      "  optimizer:\n"
      "    parameters:\n"
      "      name: {values: [adam]}\n"
      "      betas: {parameters: {first: {value: 0.9}}}\n"
      "  a.b: {value: 2}\n");
  std::vector<std::string> names;
  for (const Parameter& parameter : study.space.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, ElementsAre("seed", "optimizer.name", "optimizer.betas.first", "a.b"));
  EXPECT_THAT(study.sweep->paths,
              ElementsAre(Pair("optimizer.betas.first", ElementsAre("optimizer", "betas", "first")),
                          Pair("optimizer.name", ElementsAre("optimizer", "name"))));
  EXPECT_EQ(ArgumentsOf(study, {0, 0, 0, 0}).json,
            R"({"seed":1,"optimizer":{"name":"adam","betas":{"first":0.9}},"a.b":2})");
  EXPECT_THAT(SweepProblems("parameters: {a: {parameters: {b: {value: 1}}, min: 3}}"),
              HasSubstr("a.min: unknown key"));
  EXPECT_THAT(SweepProblems("parameters: {a: {parameters: {b: {value: 1}}}, a.b: {value: 2}}"),
              HasSubstr("a.b"));
}

TEST(SweepReaderTest, ParametersTooDeepInsideEachOther) {
  std::string text = "{value: 1}";
  for (int i = 0; i < 20; ++i) text.insert(0, "{parameters: {x: ").append("}}");
  EXPECT_THAT(ProblemOfX(text), HasSubstr("expected at most 16 parameters inside each other"));
}

TEST(SweepReaderTest, ListsMapsAndNull) {
  const StudySpec study =
      Good("parameters: {x: {values: [[64, 'a b'], null, {k: 1.0}, relu]}, y: {value: [true]}}");
  EXPECT_THAT(study.sweep->structured, UnorderedElementsAre("x", "y"));
  EXPECT_THAT(study.space.parameters()[0].choices,
              ElementsAre(Choice(R"([64,"a b"])"), Choice("null"), Choice(R"({"k":1.0})"),
                          Choice(R"("relu")")));
  EXPECT_EQ(ArgumentsOf(study, {0, 0}).json, R"({"x":[64,"a b"],"y":[true]})");
  EXPECT_THAT(ArgumentsOf(study, {0, 0}).lists.at("args"),
              ElementsAre("--x=[64, 'a b']", "--y=[True]"));
  EXPECT_THAT(ArgumentsOf(study, {1, 0}).lists.at("args"), Contains("--x=None"));
  EXPECT_THAT(ArgumentsOf(study, {2, 0}).lists.at("args"), Contains("--x={'k': 1.0}"));
  EXPECT_THAT(ArgumentsOf(study, {3, 0}).lists.at("args"), Contains("--x=relu"));
  EXPECT_THAT(ProblemOfX("{value: .nan}"), HasSubstr("expected a finite number"));
}

TEST(SweepReaderTest, ArgumentsAreWrittenAsPythonDoes) {
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

TEST(SweepReaderTest, CommandsBecomePrograms) {
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

TEST(SweepReaderTest, AProgramIsWantedWhereTheCommandUsesIt) {
  const std::string rest = "method: random\nmetric: {name: l}\nparameters: {a: {value: 1}}\n";
  EXPECT_EQ(ReadStudy(rest, "sweep.yaml", "sweep").error().message,
            "sweep.yaml:1: program: expected the script to run, found nothing; add 'program: "
            "train.py'");
  EXPECT_TRUE(ReadStudy(rest + "command: [./train, \"${args}\"]\n", "sweep.yaml", "sweep"));
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
