#include "engine/read/training_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/read/test_study_text.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A study that trains, made of these lines. Keys that they do not set are added with good values.
std::string Training(std::string_view lines) {
  std::string text(lines);
  const auto add = [&](std::string_view key, std::string_view line) {
    if (!text.starts_with(std::string(key) + ":") && !text.contains("\n" + std::string(key) + ":"))
      text += line;
  };
  text += '\n';
  add("model", "model: zoo:mlp\n");
  add("data", "data: digits\n");
  add("train", "train: {optimizer: sgd, lr: '{lr}', batch: 32}\n");
  add("space", "space: {lr: {float: [1e-4, 0.1], log: true}}\n");
  add("budget", "budget: {max: 5}\n");
  add("objective", "objective: {minimize: loss}\n");
  add("trials", "trials: 4\n");
  return text;
}

StudySpec Trained(std::string_view lines) {
  auto study = ReadStudy(Training(lines), "study.yaml", "study");
  EXPECT_TRUE(study) << study.error().message;
  return study ? std::move(*study) : StudySpec{};
}

std::string Problems(std::string_view lines) { return StudyProblems(Training(lines)); }

// The text of the first parameters with which these lines make a study.
const char* const kTwo =
    "space: {lr: {float: [1e-4, 0.1]}, x: {float: [0, 0.5]}}\n"
    "train: {optimizer: sgd, lr: '{lr}', batch: 32, ";

TEST(TrainingReaderTest, ReadsAStudyWithoutAProgram) {
  const StudySpec spec = Trained(
      "model: {network: net.pt2, loss: cross_entropy, scale: 2, readout: keep}\n"
      "train:\n"
      "  optimizer: adamw\n"
      "  lr: '{lr}'\n"
      "  betas: [0.9, 0.95]\n"
      "  batch: 64\n"
      "  dropout: {layers.0: 0.1, head: 0.2}\n"
      "  schedule: {name: cosine, warmup: 1}\n");
  ASSERT_TRUE(spec.training);
  EXPECT_THAT(spec.program, IsEmpty());
  EXPECT_FALSE(spec.model);
  const std::map<std::string, std::string, std::less<>> expected = {
      {"model.network", "net.pt2"},  {"model.loss", "cross_entropy"},
      {"model.scale", "2"},          {"model.readout", "keep"},
      {"train.optimizer", "adamw"},  {"train.lr", "{lr}"},
      {"train.betas.0", "0.9"},      {"train.betas.1", "0.95"},
      {"train.batch", "64"},         {"train.dropout.layers.0", "0.1"},
      {"train.dropout.head", "0.2"}, {"train.schedule.name", "cosine"},
      {"train.schedule.warmup", "1"}};
  EXPECT_EQ(spec.training->settings, expected);
  EXPECT_EQ(spec.training->data.path, "digits");
  EXPECT_EQ(spec.training->unit, "epoch");
  EXPECT_EQ(spec.training->length, 5);
  EXPECT_FALSE(spec.training->recorded);
}

TEST(TrainingReaderTest, OneWordStandsForASection) {
  const StudySpec spec =
      Trained("train: {optimizer: sgd, lr: '{lr}', batch: 32, schedule: cosine, dropout: 0.1}");
  EXPECT_EQ(spec.training->settings.at("model.network"), "zoo:mlp");
  EXPECT_EQ(spec.training->settings.at("train.schedule.name"), "cosine");
  EXPECT_EQ(spec.training->settings.at("train.dropout"), "0.1");
}

TEST(TrainingReaderTest, TrainsTogetherUnlessTheFileSaysOtherwise) {
  const StudySpec usual = Trained("");
  EXPECT_EQ(usual.policy, "confluence");
  EXPECT_EQ(usual.demand.fused_most, recipe::kTrainedTogether);
  EXPECT_THAT(usual.notes, IsEmpty());
  const StudySpec apart = Trained("policy: fifo");
  EXPECT_EQ(apart.policy, "fifo");
  EXPECT_THAT(apart.notes, ElementsAre(HasSubstr("trains each trial in a process of its own")));
  EXPECT_EQ(Trained("fuse: 8").demand.fused_most, 8);
  EXPECT_EQ(Trained("resources: {cpus: [1, 2]}").demand.fused_most, 1) << "elastic trials";
  EXPECT_EQ(Trained("resources: {gpus: 1}").demand.fused_most, recipe::kTrainedTogether);
}

TEST(TrainingReaderTest, ReadsData) {
  const data::DataSpec data = Trained(
                                  "data:\n"
                                  "  kind: npy\n"
                                  "  train: {inputs: [a.npy, b.npy], targets: [c.npy, d.npy]}\n"
                                  "  test: {inputs: e.npy, targets: f.npy}\n"
                                  "  validation_fraction: 0.1\n"
                                  "  split_seed: 7\n"
                                  "  classes: 10\n"
                                  "  normalise: {mean: [0.5, 0.4], deviation: 0.2}\n"
                                  "  crop: 4\n"
                                  "  flip: true\n")
                                  .training->data;
  EXPECT_EQ(data.kind, data::DataKind::kNpy);
  EXPECT_THAT(data.train.inputs, ElementsAre("a.npy", "b.npy"));
  EXPECT_THAT(data.train.targets, ElementsAre("c.npy", "d.npy"));
  EXPECT_THAT(data.test.inputs, ElementsAre("e.npy"));
  EXPECT_EQ(data.validation_fraction, 0.1);
  EXPECT_EQ(data.split_seed, 7U);
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.normalise, data::NormaliseBy::kGiven);
  EXPECT_THAT(data.mean, ElementsAre(0.5, 0.4));
  EXPECT_THAT(data.deviation, ElementsAre(0.2));
  EXPECT_EQ(data.augmentation.crop_padding, 4);
  EXPECT_TRUE(data.augmentation.flip);
  const data::DataSpec tokens =
      Trained(
          "data: {train: a.bin, kind: tokens, window: 16, vocabulary: 99, token_type: int32, "
          "normalise: nothing}")
          .training->data;
  EXPECT_THAT(tokens.train.inputs, ElementsAre("a.bin"));
  EXPECT_EQ(tokens.window, 16);
  EXPECT_EQ(tokens.vocabulary, 99);
  EXPECT_EQ(tokens.token_type, data::DType::kInt32);
  EXPECT_EQ(Trained("data: {path: d, normalise: measure}").training->data.normalise,
            data::NormaliseBy::kMeasure);
}

TEST(TrainingReaderTest, TheShapeFollowsFromWhatParametersReach) {
  const StudySpec spec = Trained(
      "space:\n"
      "  lr: {float: [1e-4, 0.1]}\n"
      "  batch: {choice: [16, 32]}\n"
      "  clips: {choice: [true, false]}\n"
      "  norm: {float: [0.5, 5], when: clips}\n"
      "train: {optimizer: sgd, lr: '{lr}', batch: '{batch}', clip_norm: '{norm}'}\n");
  EXPECT_THAT(spec.shape, ElementsAre("batch"));
  EXPECT_THAT(spec.shape_by_presence, ElementsAre("norm"));
  EXPECT_THAT(Problems("shape: [lr]"),
              StartsWith("study.yaml:1: shape: expected nothing beside 'train', since the shape "
                         "follows from the keys that parameters reach; remove the key"));
  const StudySpec continuous = Trained(
      "space: {lr: {float: [1e-4, 0.1]}, narrow: {float: [1, 4]}}\n"
      "model: {network: zoo:mlp, scale: '{narrow}'}\n");
  EXPECT_THAT(continuous.notes, ElementsAre(HasSubstr("model.scale: 'narrow' is continuous")));
}

TEST(TrainingReaderTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(Problems("program: python train.py"),
              StartsWith("study.yaml:1: program: expected no program beside 'train'"));
  EXPECT_EQ(StudyProblems("train: {optimizer: sgd, lr: 0.1, batch: 2}\n"
                          "space: {x: {float: [0, 1]}}\nobjective: {minimize: loss}\ntrials: 2\n"
                          "budget: {max: 2}\n")
                .substr(0, 75),
            "study.yaml:1: data: expected the data to train on, found nothing; add 'data");
  EXPECT_THAT(StudyProblems("train: {optimizer: sgd, lr: '{x}', batch: 2}\ndata: d\n"
                            "space: {x: {float: [0.1, 1]}}\nobjective: {minimize: loss}\n"
                            "trials: 2\nbudget: {max: 2}\n"),
              HasSubstr("model: expected the network to train, found nothing; add 'model: "));
  EXPECT_THAT(With("data: digits"),
              StartsWith("study.yaml:1: data: expected this key only beside 'train'"));
  EXPECT_THAT(Problems("train: python train.py"),
              HasSubstr("train: expected how to train, as in {optimizer: sgd, lr: 0.1, batch: 32}, "
                        "found python train.py; write 'program: python train.py' for a program"));
  EXPECT_THAT(Problems("budget: {min: 1}"),
              StartsWith("study.yaml:1: budget: expected how far each trial trains, found nothing; "
                         "add 'budget: {max: 10}'"));
  EXPECT_THAT(Problems("budget: {max: 5, unit: minute}"),
              HasSubstr("expected the unit epoch or step beside 'train', found 'minute'"));
}

TEST(TrainingReaderTest, EachMistakeNamesItsKey) {
  const auto in_train = [](const std::string& keys) {
    return Problems("train: {optimizer: sgd, lr: '{lr}', batch: 32, " + keys + "}");
  };
  EXPECT_EQ(in_train("momentun: 0.9"),
            "study.yaml:1: train.momentun: unknown key (did you mean 'momentum'?)");
  EXPECT_EQ(in_train("learning_rate: 0.2"),
            "study.yaml:1: train.learning_rate: unknown key; write 'lr: 0.2'");
  EXPECT_EQ(in_train("momentum: 2"),
            "study.yaml:1: train.momentum: expected a number from 0 to below 1, found '2'");
  EXPECT_THAT(in_train("schedule: cosin"),
              HasSubstr("train.schedule.name: expected one of constant, step"));
  EXPECT_THAT(in_train("schedule: {name: step}"),
              HasSubstr("train.schedule.every: expected after how many units the rate falls"));
  EXPECT_THAT(in_train("schedule: {name: cosine, T_max: 3}"),
              HasSubstr("train.schedule.T_max: unknown key; write 'over: 3'"));
  EXPECT_THAT(in_train("betas: 0.9"), HasSubstr("train.betas: expected a list, found 0.9; write "
                                                "'[0.9]'"));
  EXPECT_THAT(in_train("betas: [0.9, 0.99]"),
              HasSubstr("train.betas: expected nothing with the optimizer sgd"));
  EXPECT_THAT(in_train("nesterov: [1]"), HasSubstr("train.nesterov: expected one value"));
  EXPECT_THAT(in_train("eps:"), HasSubstr("train.eps: expected one value, found nothing"));
  EXPECT_THAT(Problems("train: {optimizer: sgd, batch: 32}"),
              HasSubstr("study.yaml:1: train.lr: expected the learning rate, found nothing; add "
                        "'lr: 0.1'"));
  EXPECT_THAT(Problems("model: {loss: mse}"),
              HasSubstr("study.yaml:1: model.network: expected a file of torch.export, or "
                        "zoo:NAME, found nothing; add 'network: net.pt2'"));
  EXPECT_THAT(Problems("model: {network: zoo:mlp, scale: 0}"),
              HasSubstr("model.scale: expected a number from 1 to"));
}

TEST(TrainingReaderTest, TemplatesNameParameters) {
  EXPECT_THAT(Problems("train: {optimizer: sgd, lr: {lr}, batch: 32}"),
              HasSubstr("train.lr: expected a value, found {lr} without quotes, which YAML takes "
                        "for a map; write '\"{lr}\"'"));
  EXPECT_THAT(Problems(std::string(kTwo) + "momentum: '{y}'}"), HasSubstr("train.momentum: "));
  EXPECT_THAT(Problems(std::string(kTwo) + "momentum: '{seed}'}"),
              HasSubstr("train.momentum: expected a parameter of the space in braces"));
  EXPECT_THAT(Problems(std::string(kTwo) + "momentum: '{x'}"), HasSubstr("train.momentum: "));
}

TEST(TrainingReaderTest, AParameterWithoutEffectIsRefused) {
  EXPECT_THAT(Problems(std::string(kTwo) + "momentum: 0.9}"),
              StartsWith("study.yaml:1: space.x: parameter 'x' reaches nothing in train: no value "
                         "of 'train' or 'model' names it; write '\"{x}\"' as a value there"));
  EXPECT_THAT(Problems(std::string(kTwo) + "momentum: '{x}'}"), IsEmpty());
}

TEST(TrainingReaderTest, ValuesOfParametersMustFit) {
  EXPECT_THAT(
      Problems("space: {opt: {choice: [sgd, adamm]}, lr: {float: [0.1, 1]}}\n"
               "train: {optimizer: '{opt}', lr: '{lr}', batch: 32}"),
      HasSubstr("train.optimizer: expected one of sgd, adam, adamw, found 'adamm' (from '{opt}') "
                "(did you mean 'adam'?); change the parameter's values"));
  EXPECT_THAT(Problems("space: {lr: {float: [0, 1]}}"),
              HasSubstr("train.lr: expected a number above 0, found '0' (from '{lr}')"));
  EXPECT_THAT(Problems("space: {lr: {float: [0.1, 1]}, b: {float: [1.5, 8]}}\n"
                       "train: {optimizer: sgd, lr: '{lr}', batch: '{b}'}"),
              HasSubstr("train.batch: expected a whole number"));
}

TEST(TrainingReaderTest, MistakesOfDataNameTheirKeys) {
  EXPECT_THAT(Problems("data: {validation_fraction: 0.1}"),
              HasSubstr("data.path: expected the folder or the file of the data, found nothing; "
                        "add 'path: FOLDER'"));
  EXPECT_THAT(Problems("data: {path: d, normalize: measure}"),
              HasSubstr("data.normalize: unknown key; write 'normalise: measure'"));
  EXPECT_THAT(Problems("data: {path: d, kind: mnist}"), HasSubstr("data.kind: "));
  EXPECT_THAT(Problems("data: {path: d, validation: 0.1}"),
              HasSubstr("data.validation: expected the files of this part, as in {inputs: FILE, "
                        "targets: FILE}, found 0.1; write 'validation_fraction: 0.1'"));
  EXPECT_THAT(Problems("data: {path: d, validation_fraction: 1}"),
              HasSubstr("data.validation_fraction: expected a fraction below 1"));
  EXPECT_THAT(Problems("data: {path: d, window: 0}"), HasSubstr("data.window: expected"));
  EXPECT_THAT(Problems("data: {path: d, token_type: float32}"), HasSubstr("data.token_type: "));
  EXPECT_THAT(Problems("data: {path: d, normalise: {mean: 1}}"),
              HasSubstr("data.normalise.deviation: expected the standard deviation, found "
                        "nothing; add 'deviation: 0.25'"));
  EXPECT_THAT(Problems("data: {train: {targets: a.npy}}"),
              HasSubstr("data.train.inputs: expected the files of inputs"));
  EXPECT_THAT(Problems("data: {train: {inputs: []}}"),
              HasSubstr("data.train.inputs: expected at least one file"));
  EXPECT_THAT(Problems("data: ''"), HasSubstr("data: expected a folder or a file of data"));
}

}  // namespace
}  // namespace sluice
