#include "train/bundle/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "client/test_controller.h"
#include "data/tensors/tensor_file.h"
#include "data/test_files.h"
#include "train/test_memory_limit.h"

// The trainer with a real client and a controller that says what the test says.
namespace sluice::train {
namespace {

using client::LaunchRef;
using client::TestLaunch;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kExamples = 40;
constexpr int kFeatures = 4;

// Two classes that a line separates.
data::DataSpec SmallData(const std::string& folder) {
  std::string inputs;
  std::string targets;
  for (int i = 0; i < kExamples; ++i) {
    const std::int64_t label = i % 2;
    for (int k = 0; k < kFeatures; ++k)
      data::AppendNumber(inputs,
                         static_cast<float>((label == 0 ? -1 : 1) + 0.1 * ((i * 7 + k) % 9)));
    data::AppendNumber(targets, label);
  }
  data::DataSpec spec;
  spec.train.inputs = {data::WriteFile(folder + "x.npy", data::NpyBytes("<f4", "(40, 4)", inputs))};
  spec.train.targets = {data::WriteFile(folder + "y.npy", data::NpyBytes("<i8", "(40,)", targets))};
  spec.validation_fraction = 0.2;
  return spec;
}

recipe::Recipe SmallRecipe(const std::string& folder) {
  recipe::Recipe recipe;
  recipe.settings = {{"model.network", "zoo:mlp,in=4,hidden=8,classes=2"},
                     {"model.loss", "cross_entropy"},
                     {"train.optimizer", "adam"},
                     {"train.lr", "{lr}"},
                     {"train.batch", "{batch}"},
                     {"train.precision", "float64"}};
  recipe.data = SmallData(folder);
  recipe.seed = 5;
  recipe.length = 4;
  return recipe;
}

// A trainer in a thread of its own, whose first launch is of trial 7.
class TrainerTest : public testing::Test {
 protected:
  wire::Assign Assign(LaunchRef at, const std::string& params) const {
    wire::Assign assign = world_.Assign(at);
    assign.params = params;
    assign.seed = Number(at.trial);
    assign.checkpoint_dir = folder_ + "trial" + std::to_string(Number(at.trial));
    std::filesystem::create_directories(assign.checkpoint_dir);
    return assign;
  }
  void Begin(wire::Assign first, int capacity = 4) {
    Begin(std::move(first), SmallRecipe(folder_), capacity);
  }
  void Begin(wire::Assign first, recipe::Recipe recipe, int capacity = 4) {
    recipe_ = std::move(recipe);
    auto data = data::OpenDataSet(recipe_.data);
    ASSERT_TRUE(data) << data.error().message;
    data_ = *data;
    client::Settings settings = world_.MakeSettings(capacity);
    settings.first = std::move(first);
    settings.several_shapes = true;
    auto client = client::Client::Open(std::move(settings));
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
    world_.controller().Accept();
    world_.controller().Welcome();
    thread_ = std::thread([this] {
      Trainer trainer(recipe_, data_, *client_, {.say = [this](const std::string& text) {
                        const std::lock_guard lock(mutex_);
                        said_ += text + "\n";
                      }});
      status_ = trainer.Run();
      client_->Close();
    });
  }
  void TearDown() override { Finish(); }
  // Dismisses the process, and waits for its end.
  void Finish() {
    if (!thread_.joinable()) return;
    if (!std::exchange(dismissed_, false)) world_.controller().Send(wire::Exit{});
    while (Hear()) continue;
    thread_.join();
    EXPECT_TRUE(status_) << status_.error().message;
    client_.reset();
  }
  std::string Said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  // The next message, acknowledged. Nothing: the client has closed.
  std::optional<wire::FromWorker> Hear() {
    auto heard = world_.controller().Hear();
    if (!heard) return std::nullopt;
    if (const wire::Numbered number = wire::NumberOf(*heard); number.seq > 0)
      world_.controller().Acknowledge(number.at, number.seq);
    return heard;
  }
  // The next message of this kind. Reports, speeds and notes of checkpoints in between are kept.
  template <typename Message>
  Message Await() {
    while (auto heard = Hear()) {
      if (auto* report = std::get_if<wire::Report>(&*heard)) Keep(*report);
      if (auto* found = std::get_if<Message>(&*heard)) return *found;
      // No test can go on without the trial.
      if (auto* failed = std::get_if<wire::Failed>(&*heard))
        throw std::runtime_error("a trial failed: " + failed->reason);
    }
    throw std::runtime_error("the connection ended");
  }
  void Keep(const wire::Report& report) {
    reports_[report.at.trial][report.work] = {report.values.begin(), report.values.end()};
  }

  using Values = std::map<std::string, double>;
  std::map<TrialId, std::map<Work, Values>> reports_;
  client::ClientWorld world_;
  std::string folder_ = data::TestFolder();
  recipe::Recipe recipe_;
  data::DataSet data_;
  std::unique_ptr<client::Client> client_;
  bool dismissed_ = false;  // Exit was sent: the process may be gone
  std::thread thread_;
  Status status_;
  std::mutex mutex_;
  std::string said_;
};

TEST_F(TrainerTest, ATrialReportsEachEpochAndWaitsForAVerdictAtItsTarget) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 3;
  Begin(first);
  while (reports_[TrialId(7)].size() < 3) Await<wire::Report>();
  world_.controller().Send(wire::Budget{.at = first.at, .target = 4});
  EXPECT_EQ(Await<wire::Report>().work, 4);
  world_.controller().Send(wire::Stop{.at = first.at, .why = "complete"});
  EXPECT_EQ(Await<wire::Saved>().work, 4);
  EXPECT_EQ(Await<wire::Done>().at, first.at);
  const auto& reports = reports_[TrialId(7)];
  ASSERT_EQ(reports.size(), 4u);
  for (const auto& [work, values] : reports) {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("accuracy", "loss", "perplexity", "train_loss"));
  }
  EXPECT_LT(reports.at(4).at("loss"), reports.at(1).at("loss"));
  EXPECT_EQ(reports.at(4).at("accuracy"), 1);
  EXPECT_TRUE(std::filesystem::exists(first.checkpoint_dir + "/latest/trial.json"));
}

TEST_F(TrainerTest, ATrialThatWasPausedGoesOnAsIfNothingHadHappened) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.05, "batch": 8})");
  first.target = 4;
  Begin(first);
  while (reports_[TrialId(7)].size() < 4) Await<wire::Report>();
  world_.controller().Send(wire::Stop{.at = first.at, .why = "stopped"});
  Await<wire::Done>();
  Finish();
  const auto undisturbed = std::exchange(reports_, {})[TrialId(7)];

  std::filesystem::remove_all(first.checkpoint_dir);
  first = Assign(TestLaunch(7, 2), first.params);
  first.target = 2;
  Begin(first);
  while (reports_[TrialId(7)].size() < 2) Await<wire::Report>();
  world_.controller().Send(wire::Pause{.at = first.at});
  EXPECT_EQ(Await<wire::Saved>().work, 2);
  Await<wire::Paused>();
  Finish();
  wire::Assign second = Assign(TestLaunch(7, 3), first.params);
  second.target = 4;
  second.work = 2;
  Begin(second);
  while (reports_[TrialId(7)].size() < 4) Await<wire::Report>();
  EXPECT_EQ(reports_[TrialId(7)], undisturbed);
}

// Where work is counted in steps, a pause may come between two reports.
TEST_F(TrainerTest, TheTrainingLossIsOfTheSameStepsAfterAPause) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.unit = "step";
  recipe.length = 1000;  // a report each 10 steps
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.01, "batch": 8})");
  first.unit = "step";
  first.target = 30;
  Begin(first, recipe);
  while (!reports_[TrialId(7)].contains(30)) Await<wire::Report>();
  world_.controller().Send(wire::Stop{.at = first.at, .why = "stopped"});
  Await<wire::Done>();
  Finish();
  auto undisturbed = std::exchange(reports_, {})[TrialId(7)];

  std::filesystem::remove_all(first.checkpoint_dir);
  first = Assign(TestLaunch(7, 2), first.params);
  first.unit = "step";
  first.target = 13;
  Begin(first, recipe);
  while (!reports_[TrialId(7)].contains(13)) Await<wire::Report>();
  world_.controller().Send(wire::Pause{.at = first.at});
  Await<wire::Paused>();
  Finish();
  wire::Assign second = Assign(TestLaunch(7, 3), first.params);
  second.unit = "step";
  second.target = 30;
  second.work = 13;
  Begin(second, recipe);
  while (!reports_[TrialId(7)].contains(30)) Await<wire::Report>();
  auto disturbed = reports_[TrialId(7)];
  EXPECT_EQ(disturbed.erase(13), 1u);
  EXPECT_EQ(disturbed, undisturbed);
}

TEST_F(TrainerTest, ATrialThatDivergesEndsAndTouchesNoOther) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 1e300, "batch": 8})");
  wire::Assign second = Assign(TestLaunch(8), R"({"lr": 0.1, "batch": 8})");
  first.target = second.target = 4;
  Begin(first);
  world_.controller().Send(second);
  EXPECT_EQ(Await<wire::Done>().at, first.at);
  ASSERT_EQ(reports_[TrialId(7)].size(), 1u);
  EXPECT_TRUE(std::isnan(reports_[TrialId(7)].begin()->second.at("loss")));
  while (reports_[TrialId(8)].size() < 4) Await<wire::Report>();
  EXPECT_EQ(reports_[TrialId(8)].at(4).at("accuracy"), 1);
  EXPECT_THAT(Said(), HasSubstr("trial 7: the loss is no finite number any more after step "));
}

TEST_F(TrainerTest, TrialsOfDifferentShapesTrainInTurns) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  wire::Assign second = Assign(TestLaunch(8), R"({"lr": 0.1, "batch": 16})");
  first.target = second.target = 3;
  Begin(first);
  world_.controller().Send(second);
  while (reports_[TrialId(7)].size() < 3 || reports_[TrialId(8)].size() < 3) Await<wire::Report>();
  EXPECT_NE(reports_[TrialId(7)].at(1), reports_[TrialId(8)].at(1));
}

TEST_F(TrainerTest, AProcessThatIsDismissedSavesWhatItCarries) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 1;
  Begin(first);
  Await<wire::Report>();
  world_.controller().Send(wire::Exit{});
  dismissed_ = true;
  EXPECT_EQ(Await<wire::Saved>().work, 1);
  Await<wire::Paused>();
}

TEST_F(TrainerTest, WhatATrialCannotBeTrainedWithFailsThatTrialAlone) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": "fast", "batch": 8})");
  wire::Assign second = Assign(TestLaunch(8), R"({"lr": 0.1, "batch": 8})");
  second.target = 1;
  Begin(first);
  EXPECT_EQ(Await<wire::Failed>().reason,
            "train.lr: expected a number above 0, found 'fast' (from '{lr}')");
  world_.controller().Send(second);
  EXPECT_EQ(Await<wire::Report>().at, second.at);
}

TEST_F(TrainerTest, ATrialThatFindsTooLittleMemoryBesideOthersIsHandedBack) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.settings["model.network"] = "zoo:mlp,in=4,hidden={hidden},layers=2,classes=2";
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8, "hidden": 8})");
  wire::Assign second = Assign(TestLaunch(8), R"({"lr": 0.1, "batch": 8, "hidden": 8192})");
  first.target = 1;
  Begin(first, recipe);
  EXPECT_EQ(Await<wire::Report>().at, first.at);
  {
    const MemoryLimit limit(std::int64_t{256} << 20);  // its largest weight takes 512 MiB
    world_.controller().Send(second);
    EXPECT_EQ(Await<wire::Released>().at, second.at);
    EXPECT_EQ(Await<wire::Capacity>().capacity, 1);
  }
  EXPECT_THAT(Said(), HasSubstr("trial 8 is handed back: zoo:mlp"));
  world_.controller().Send(wire::Budget{.at = first.at, .target = 2});
  EXPECT_EQ(Await<wire::Report>().work, 2);
}

// It is not handed back: the process has room for others.
TEST_F(TrainerTest, ATrialFailsBesideOthersWhereMoreMemoryWouldNotHelp) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.settings["model.network"] = "zoo:mlp,in=4,hidden={hidden},layers=2,classes=2";
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8, "hidden": 8})");
  wire::Assign locked = Assign(TestLaunch(8), first.params);
  wire::Assign large = Assign(TestLaunch(9), R"({"lr": 0.1, "batch": 8, "hidden": 2000000})");
  std::filesystem::create_directories(locked.checkpoint_dir + ".owner");  // no file can be there
  first.target = 1;
  Begin(first, recipe);
  EXPECT_EQ(Await<wire::Report>().at, first.at);
  const auto fails = [&](const wire::Assign& assign) {
    world_.controller().Send(assign);
    while (auto heard = Hear()) {
      EXPECT_FALSE(std::holds_alternative<wire::Capacity>(*heard));
      EXPECT_FALSE(std::holds_alternative<wire::Released>(*heard));
      if (const auto* failed = std::get_if<wire::Failed>(&*heard)) return failed->reason;
      if (testing::Test::HasFailure()) break;
    }
    return std::string();
  };
  EXPECT_THAT(fails(locked), HasSubstr(".owner"));
  EXPECT_THAT(fails(large), HasSubstr("GiB"));
  world_.controller().Send(wire::Budget{.at = first.at, .target = 2});
  EXPECT_EQ(Await<wire::Report>().work, 2);
}

TEST_F(TrainerTest, ACheckpointOfAnotherNetworkFailsTheTrial) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 1;
  Begin(first);
  Await<wire::Report>();
  world_.controller().Send(wire::Pause{.at = first.at});
  Await<wire::Paused>();
  Finish();
  recipe::Recipe other = SmallRecipe(folder_);
  other.settings["model.network"] = "zoo:mlp,in=4,hidden=16,classes=2";
  wire::Assign second = Assign(TestLaunch(7, 2), first.params);
  second.work = 1;
  Begin(second, other);
  EXPECT_THAT(Await<wire::Failed>().reason, HasSubstr("trial.json: expected "));
}

// A fork begins with a copy of its parent's checkpoint.
TEST_F(TrainerTest, AForkWithAnotherBatchSizeGoesOnAfterAsManyEpochs) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 3;
  Begin(first);
  while (reports_[TrialId(7)].size() < 3) Await<wire::Report>();
  world_.controller().Send(wire::Pause{.at = first.at});
  Await<wire::Paused>();
  Finish();
  wire::Assign fork = Assign(TestLaunch(8), R"({"lr": 0.1, "batch": 16})");
  fork.checkpoint_dir = first.checkpoint_dir;
  fork.work = 3;
  fork.target = 4;
  Begin(fork);
  EXPECT_EQ(Await<wire::Report>().work, 4);
  world_.controller().Send(wire::Stop{.at = fork.at, .why = "complete"});
  Await<wire::Done>();
  const auto about = data::ReadFile(fork.checkpoint_dir + "/latest/trial.json");
  EXPECT_THAT(about, HasSubstr("\"step\":8,")) << "two batches in each of four epochs";
}

TEST_F(TrainerTest, ACheckpointOfAnotherOptimizerFailsTheTrial) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 1;
  Begin(first);
  Await<wire::Report>();
  world_.controller().Send(wire::Pause{.at = first.at});
  Await<wire::Paused>();
  Finish();
  recipe::Recipe other = SmallRecipe(folder_);
  other.settings["train.optimizer"] = "sgd";
  wire::Assign second = Assign(TestLaunch(7, 2), first.params);
  second.work = 1;
  Begin(second, other);
  EXPECT_THAT(Await<wire::Failed>().reason,
              HasSubstr("expected a checkpoint of the optimizer sgd, found one of adam"));
}

TEST_F(TrainerTest, ATrialThatMustLeaveAtOnceIsNotTrainedOn) {
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 1;
  Begin(first);
  Await<wire::Report>();
  const wire::Assign second = Assign(TestLaunch(8), first.params);
  world_.controller().Send(second);
  world_.controller().Send(wire::Pause{.at = second.at});
  EXPECT_EQ(Await<wire::Paused>().at, second.at);
  world_.controller().Send(wire::Budget{.at = first.at, .target = 6});
  while (reports_[TrialId(7)].size() < 6) Await<wire::Report>();
  EXPECT_EQ(Said(), "") << "reports of a launch that has left are refused";
}

TEST_F(TrainerTest, ANetworkThatDoesNotTakeTheDataFailsTheTrial) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.settings["model.network"] = "zoo:mlp,in=5,hidden=8,classes=2";
  Begin(Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})"), recipe);
  EXPECT_EQ(Await<wire::Failed>().reason,
            "data: expected examples of the sizes [5], as the network "
            "zoo:mlp,in=5,hidden=8,classes=2 takes them, found [4]");
}

TEST_F(TrainerTest, ANetworkThatTakesWholeNumbersIsNotGivenOthers) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.settings["model.network"] = "zoo:gpt,vocab=30,tokens=4,width=8,layers=1,heads=2";
  Begin(Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})"), recipe);
  EXPECT_THAT(Await<wire::Failed>().reason,
              HasSubstr("data: expected whole numbers as inputs, as the network zoo:gpt"));
}

TEST_F(TrainerTest, WithoutExamplesToEvaluateOnTheLossIsThatOfTraining) {
  recipe::Recipe recipe = SmallRecipe(folder_);
  recipe.data.validation_fraction = 0;
  wire::Assign first = Assign(TestLaunch(7), R"({"lr": 0.1, "batch": 8})");
  first.target = 1;
  Begin(first, recipe);
  Await<wire::Report>();
  const Values& values = reports_[TrialId(7)].at(1);
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(values.at("loss"), values.at("train_loss"));
}

struct PrecisionCase {
  std::string precision;
  data::DType stored;  // of weights in the checkpoint
};

class PrecisionTest : public TrainerTest, public testing::WithParamInterface<PrecisionCase> {
 protected:
  // Trains a launch of trial 7 to the epoch `last`, saves it and leaves.
  void Train(LaunchRef at, Work begun, Work last, const std::string& precision) {
    recipe::Recipe recipe = SmallRecipe(folder_);
    recipe.settings["train.precision"] = precision;
    wire::Assign assign = Assign(at, R"({"lr": 0.05, "batch": 8})");
    assign.work = begun;
    assign.target = last;
    checkpoint_ = assign.checkpoint_dir + "/latest/";
    Begin(assign, recipe);
    while (!reports_[TrialId(7)].contains(last)) Await<wire::Report>();
    world_.controller().Send(wire::Pause{.at = assign.at});
    EXPECT_EQ(Await<wire::Saved>().work, last);
    Await<wire::Paused>();
    Finish();
  }
  // The types of what is in a file of the checkpoint.
  std::set<data::DType> TypesIn(const std::string& file) const {
    const auto opened = data::TensorFile::Open(checkpoint_ + file);
    EXPECT_TRUE(opened) << opened.error().message;
    std::set<data::DType> types;
    for (const data::StoredTensor& each : opened->tensors()) types.insert(each.type.dtype);
    return types;
  }

  std::string checkpoint_;
};

TEST_P(PrecisionTest, LossesFallAndFloat32GoesOnFromTheCheckpoint) {
  Train(TestLaunch(7), 0, 3, GetParam().precision);
  const auto& reports = reports_[TrialId(7)];
  EXPECT_LT(reports.at(3).at("loss"), reports.at(1).at("loss"));
  EXPECT_LT(reports.at(3).at("train_loss"), reports.at(1).at("train_loss"));
  EXPECT_EQ(reports.at(3).at("accuracy"), 1);
  // Weights and moments are never in the type of the computation, if that is bfloat16.
  EXPECT_THAT(TypesIn("model.safetensors"), ElementsAre(GetParam().stored));
  EXPECT_THAT(TypesIn("optimizer.safetensors"), ElementsAre(GetParam().stored));
  Train(TestLaunch(7, 2), 3, 4, "float32");
  EXPECT_LT(reports.at(4).at("train_loss"), reports.at(3).at("train_loss"));
  EXPECT_THAT(TypesIn("model.safetensors"), ElementsAre(data::DType::kFloat32));
}

INSTANTIATE_TEST_SUITE_P(Precisions, PrecisionTest,
                         testing::Values(PrecisionCase{"bf16", data::DType::kFloat32},
                                         PrecisionCase{"float64", data::DType::kFloat64}),
                         [](const auto& each) { return each.param.precision; });

}  // namespace
}  // namespace sluice::train
