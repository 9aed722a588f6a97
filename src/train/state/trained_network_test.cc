#include "train/state/trained_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "model/analyse/sines.h"
#include "train/state/test_archive.h"

namespace sluice::train {
namespace {

using model::TestProgram;
using testing::HasSubstr;

recipe::TrialRecipe RecipeFor(const std::string& network, double scale = 1) {
  recipe::TrialRecipe made;
  made.network = network;
  made.scale = scale;
  return made;
}

TrainedNetwork Opened(const recipe::TrialRecipe& recipe) {
  auto opened = OpenTrainedNetwork(recipe);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : TrainedNetwork();
}

std::string WhyNot(const recipe::TrialRecipe& recipe, ErrorCode code) {
  const auto opened = OpenTrainedNetwork(recipe);
  if (opened) return "";
  EXPECT_EQ(opened.error().code, code) << opened.error().message;
  return opened.error().message;
}

std::map<std::string, at::Tensor> ByName(const TrainedNetwork& network, std::uint64_t seed,
                                         at::ScalarType real = at::kFloat) {
  const auto tensors = InitialTensors(network, seed, real);
  EXPECT_TRUE(tensors) << tensors.error().message;
  std::map<std::string, at::Tensor> by_name;
  for (std::size_t p = 0; p < network.graph.parameters.size(); ++p)
    by_name[network.graph.parameters[p].name] = (*tensors)[p];
  return by_name;
}

std::vector<float> FirstFloats(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

// For each of 8 positions: a map to 64 numbers, to which an untrained table adds others, and a
// readout of 3 numbers.
class ArchiveForTest {
 public:
  ArchiveForTest() {
    program_.nodes() = TestProgram::Json::array();
    AddNode("aten.linear.default", {{"input", "x"}, {"weight", "p_weight"}}, "h");
    AddNode("aten.add.Tensor", {{"self", "h"}, {"other", "p_table"}}, "g");
    AddNode("aten.linear.default", {{"input", "g"}, {"weight", "p_head"}}, "y");
    const auto batch = TestProgram::Symbol("Symbol('s0', integer=True)", 2);
    for (const auto& [name, width] : {std::pair("x", 4), {"h", 64}, {"g", 64}, {"y", 3}})
      program_.tensors()[name] =
          TestProgram::Meta({batch, TestProgram::Number(8), TestProgram::Number(width)});
    program_.weights["config"].clear();
    program_.weights["config"]["fc.weight"] = TestProgram::Stored({64, 4}, "weight_0");
    program_.tensors()["p_weight"] =
        TestProgram::Meta({TestProgram::Number(64), TestProgram::Number(4)});
    program_.AddParameter("head.weight", "p_head", {3, 64}, "weight_1");
    program_.AddParameter("table", "p_table", {8, 64}, "weight_2");
    MetaOf("table")["requires_grad"] = false;
  }

  TestProgram::Json& MetaOf(const std::string& name) {
    return program_.weights["config"][name]["tensor_meta"];
  }
  std::string Write(const std::string& folder) const {
    return WriteArchive(folder + "/net.pt2", program_,
                        {BytesOfFloats(weight_), BytesOfFloats(head_), BytesOfFloats(table_)});
  }
  std::vector<float>& weight() { return weight_; }
  std::vector<float>& head() { return head_; }
  std::vector<float>& table() { return table_; }

 private:
  void AddNode(const std::string& op, const std::vector<std::pair<std::string, std::string>>& given,
               const std::string& output) {
    auto arguments = TestProgram::Json::array();
    for (const auto& [name, value] : given)
      arguments.push_back(TestProgram::Argument(name, TestProgram::Tensor(value)));
    program_.nodes().push_back(TestProgram::Node(
        "torch.ops." + op, arguments, TestProgram::Json::array({TestProgram::Tensor(output)})));
  }

  TestProgram program_ = TestProgram::Minimal();
  std::vector<float> weight_ = FirstFloats(256);
  std::vector<float> head_ = FirstFloats(192);
  std::vector<float> table_ = FirstFloats(512);
};

TEST(TrainedNetworkTest, ParametersAreDrawnByTheirPlans) {
  const TrainedNetwork network = Opened(RecipeFor("zoo:mlp,hidden=512", 8));
  EXPECT_EQ(network.graph.parameters.size(), network.plans.size());
  const auto tensors = ByName(network, 3);
  const at::Tensor& hidden = tensors.at("layers.1.weight");
  EXPECT_EQ(hidden.sizes(), (at::IntArrayRef{64, 64}));
  EXPECT_EQ(hidden.scalar_type(), at::kFloat);
  EXPECT_NEAR(hidden.std().item().toDouble(), 1 / std::sqrt(64), 0.005);
  EXPECT_TRUE(at::equal(tensors.at("head.weight"), at::zeros({10, 64}))) << "a zeroed readout";
  recipe::TrialRecipe kept = RecipeFor("zoo:mlp,hidden=512", 8);
  kept.keep_readout = true;
  EXPECT_NE(ByName(Opened(kept), 3).at("head.weight").abs().max().item().toDouble(), 0);
}

TEST(TrainedNetworkTest, ATrialDependsOnItsSeedAlone) {
  const TrainedNetwork network = Opened(RecipeFor("zoo:lenet", 2));
  const auto one = ByName(network, 3);
  const auto same = ByName(Opened(RecipeFor("zoo:lenet", 2)), 3);
  const auto other = ByName(network, 4);
  const auto wide = ByName(network, 3, at::kDouble);
  for (std::size_t p = 0; p < network.graph.parameters.size(); ++p) {
    const std::string& name = network.graph.parameters[p].name;
    EXPECT_TRUE(at::equal(one.at(name), same.at(name))) << name;
    EXPECT_TRUE(at::equal(one.at(name), wide.at(name).to(at::kFloat))) << name;
    EXPECT_EQ(wide.at(name).scalar_type(), at::kDouble) << name;
    const bool is_random = network.plans[p].law.kind != model::Law::Kind::kConstant;
    EXPECT_EQ(at::equal(one.at(name), other.at(name)), !is_random) << name;
  }
}

TEST(TrainedNetworkTest, BuffersKeepTheirTypesAndTiedTensorsAreOne) {
  const TrainedNetwork normed = Opened(RecipeFor("zoo:resnet18", 4));
  const auto tensors = ByName(normed, 1, at::kDouble);
  EXPECT_EQ(tensors.at("bn1.num_batches_tracked").scalar_type(), at::kLong);
  EXPECT_TRUE(at::equal(tensors.at("bn1.running_var"), at::ones({16}, at::kDouble)));
  const TrainedNetwork tied =
      Opened(RecipeFor("zoo:gpt,vocab=30,tokens=6,width=8,layers=2,heads=2"));
  const auto initial = InitialTensors(tied, 1, at::kFloat);
  ASSERT_TRUE(initial);
  bool some = false;
  for (std::size_t p = 0; p < initial->size(); ++p) {
    EXPECT_EQ((*initial)[p].defined(), !tied.graph.parameters[p].tied_to);
    some = some || tied.graph.parameters[p].tied_to;
  }
  EXPECT_TRUE(some);
}

TEST(TrainedNetworkTest, WhatIsNotDrawnComesFromTheArchive) {
  const std::string path = ArchiveForTest().Write(EmptyFolder());
  const TrainedNetwork network = Opened(RecipeFor(path));
  const auto tensors = ByName(network, 1);
  EXPECT_TRUE(at::equal(tensors.at("table"), at::arange(512, at::kFloat).view({8, 64})));
  EXPECT_FALSE(at::equal(tensors.at("fc.weight"), at::arange(256, at::kFloat).view({64, 4})));
  const auto wide = ByName(network, 1, at::kDouble);
  EXPECT_TRUE(at::equal(wide.at("table"), at::arange(512, at::kDouble).view({8, 64})));
}

TEST(TrainedNetworkTest, AWidthStaysIfATableHasItThatCannotBeMadeNarrower) {
  EXPECT_THAT(
      WhyNot(RecipeFor(ArchiveForTest().Write(EmptyFolder()), 8), ErrorCode::kFailedPrecondition),
      HasSubstr("net.pt2: nothing in it can shrink"));
}

TEST(TrainedNetworkTest, ATableOfSinesIsComputedForANarrowerNetwork) {
  ArchiveForTest archive;
  for (std::size_t i = 0; i < 512; ++i)
    archive.table()[i] =
        static_cast<float>(model::SineAt(model::Law::Kind::kSinesInTurns, i / 64, i % 64, 64));
  const std::string path = archive.Write(EmptyFolder());
  const auto same = ByName(Opened(RecipeFor(path)), 1);
  EXPECT_EQ(same.at("table")[3][5].item().toFloat(), archive.table()[3 * 64 + 5]);
  EXPECT_TRUE(at::equal(same.at("head.weight"), at::zeros({3, 64}))) << "a zeroed readout";
  const auto narrow = ByName(Opened(RecipeFor(path, 8)), 1);
  EXPECT_EQ(narrow.at("fc.weight").sizes(), (at::IntArrayRef{8, 4}));
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(narrow.at("table").flatten()[static_cast<std::int64_t>(i)].item().toFloat(),
              static_cast<float>(model::SineAt(model::Law::Kind::kSinesInTurns, i / 8, i % 8, 8)));
}

TEST(TrainedNetworkTest, InitArchiveKeepsTheFilesValues) {
  recipe::TrialRecipe recipe = RecipeFor(ArchiveForTest().Write(EmptyFolder()));
  recipe.init_from_archive = true;
  const TrainedNetwork network = Opened(recipe);
  const auto tensors = ByName(network, 1);
  EXPECT_TRUE(at::equal(tensors.at("fc.weight"), at::arange(256, at::kFloat).view({64, 4})));
  EXPECT_TRUE(at::equal(tensors.at("head.weight"), at::arange(192, at::kFloat).view({3, 64})));
  tensors.at("fc.weight").zero_();
  EXPECT_FALSE(at::equal(ByName(network, 1).at("fc.weight"), tensors.at("fc.weight")))
      << "each trial has its own";
}

TEST(TrainedNetworkTest, InitArchiveIsRefusedWhereThereAreNoSuchValues) {
  recipe::TrialRecipe zoo = RecipeFor("zoo:mlp");
  zoo.init_from_archive = true;
  EXPECT_THAT(WhyNot(zoo, ErrorCode::kInvalidArgument),
              HasSubstr("expected a network in an archive, found zoo:mlp"));
  recipe::TrialRecipe narrow = RecipeFor(ArchiveForTest().Write(EmptyFolder()), 8);
  narrow.init_from_archive = true;
  EXPECT_THAT(WhyNot(narrow, ErrorCode::kInvalidArgument), HasSubstr("expected scale 1, found 8"));
  ArchiveForTest empty;
  empty.head().clear();
  recipe::TrialRecipe hollow = RecipeFor(empty.Write(EmptyFolder()));
  hollow.init_from_archive = true;
  EXPECT_THAT(WhyNot(hollow, ErrorCode::kFailedPrecondition),
              HasSubstr("'head.weight': expected its values in the archive, as `init: archive`"));
}

TEST(TrainedNetworkTest, AParameterWithoutValuesCannotBeDrawn) {
  ArchiveForTest archive;
  archive.weight().clear();
  EXPECT_THAT(WhyNot(RecipeFor(archive.Write(EmptyFolder())), ErrorCode::kFailedPrecondition),
              HasSubstr("net.pt2: 'fc.weight' can be neither drawn nor read: expected its values"));
}

TEST(TrainedNetworkTest, ValuesThatFollowNoLawAreReadAtScaleOne) {
  ArchiveForTest archive;
  archive.weight()[5] = NAN;
  const TrainedNetwork network = Opened(RecipeFor(archive.Write(EmptyFolder())));
  EXPECT_EQ(ByName(network, 1).at("fc.weight")[0][3].item().toDouble(), 3);
}

TEST(TrainedNetworkTest, SizesBeyondTheMachineAreRefused) {
  EXPECT_THAT(WhyNot(RecipeFor("zoo:mlp,hidden=4000000,layers=3"), ErrorCode::kFailedPrecondition),
              HasSubstr("expected parameters that fit into the memory of this machine"));
}

TEST(TrainedNetworkTest, TheFingerprintIsOfTheNetworkNotOfItsPath) {
  const std::string folder = EmptyFolder();
  ArchiveForTest archive;
  const std::string first = Opened(RecipeFor(archive.Write(folder))).fingerprint;
  archive.weight()[0] = 100;
  std::filesystem::create_directories(folder + "/other");
  EXPECT_EQ(Opened(RecipeFor(archive.Write(folder + "/other"))).fingerprint, first);
  EXPECT_NE(Opened(RecipeFor("zoo:mlp")).fingerprint, Opened(RecipeFor("zoo:mlp", 2)).fingerprint);
  EXPECT_EQ(Opened(RecipeFor("zoo:mlp")).fingerprint, Opened(RecipeFor("zoo:mlp")).fingerprint);
}

TEST(TrainedNetworkTest, ANetworkThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(WhyNot(RecipeFor("/nowhere/net.pt2"), ErrorCode::kNotFound),
              HasSubstr("/nowhere/net.pt2"));
  recipe::TrialRecipe recipe = RecipeFor("zoo:mlp", 8);
  recipe.rule = "mupp";
  EXPECT_THAT(WhyNot(recipe, ErrorCode::kInvalidArgument), HasSubstr("found 'mupp'"));
}

}  // namespace
}  // namespace sluice::train
