#include "cli/inspect/dropout_reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A network with dropout in each of these modules.
model::Graph NetworkWith(const std::vector<std::string>& modules) {
  model::Graph graph;
  for (const std::string& module : modules)
    graph.nodes.push_back(
        {.name = "drop",
         .op = "aten.dropout.default",
         .label = module,
         .arguments = {{.name = "p", .value = 0.1}, {.name = "train", .value = true}},
         .outputs = {},
         .region = {}});
  return graph;
}

recipe::TrialRecipe TrialWith(const std::string& network, std::map<std::string, double> rates) {
  recipe::TrialRecipe trial;
  trial.network = network;
  trial.dropout_of = std::move(rates);
  return trial;
}

recipe::TrialRecipe TrialWithRate(const std::string& network, double rate) {
  recipe::TrialRecipe trial = TrialWith(network, {});
  trial.dropout = rate;
  return trial;
}

// "train.dropout.x: expected ...", or "".
std::string MistakeOf(const DropoutReach& reach) {
  const auto mistake = reach.Mistake();
  return mistake ? mistake->path + ": " + mistake->message : "";
}

TEST(DropoutReachTest, AModuleThatIsThereIsFine) {
  DropoutReach reach;
  reach.AddNetwork("net.pt2", NetworkWith({"layers.0.drop", "layers.1.drop", ""}));
  reach.AddTrial(TrialWith("net.pt2", {{"layers.0", 0.2}, {"layers.1.drop", 0}}));
  reach.AddTrial(TrialWith("net.pt2", {}));
  reach.AddTrial(TrialWithRate("net.pt2", 0.5));
  EXPECT_EQ(MistakeOf(reach), "");
  EXPECT_THAT(reach.Notes(), IsEmpty());
}

TEST(DropoutReachTest, AModuleThatIsNotThereIsRefused) {
  DropoutReach reach;
  std::vector<std::string> modules;
  for (int i = 0; i < 10; ++i) modules.push_back("layers." + std::to_string(i));
  modules.emplace_back("layers.0");  // twice
  reach.AddNetwork("net.pt2", NetworkWith(modules));
  reach.AddTrial(TrialWith("net.pt2", {{"layers.1", 0.2}, {"layer.2", 0.2}}));
  EXPECT_EQ(MistakeOf(reach),
            "train.dropout.layer.2: expected a module with dropout in net.pt2, which are layers.0, "
            "layers.1, layers.2, layers.3, layers.4, layers.5, layers.6, layers.7 and 2 more, "
            "found 'layer.2' (did you mean 'layers.2'?)");
}

TEST(DropoutReachTest, ANetworkWithoutDropoutHasNothingToSet) {
  DropoutReach reach;
  reach.AddNetwork("net.pt2", NetworkWith({}));
  reach.AddTrial(TrialWithRate("net.pt2", 0));
  EXPECT_EQ(MistakeOf(reach), "") << "nothing is dropped, as is wanted";
  reach.AddTrial(TrialWithRate("net.pt2", 0.1));
  EXPECT_THAT(MistakeOf(reach), HasSubstr("train.dropout: expected a network with dropout, found "
                                          "none in net.pt2; attention and recurrent layers"));
}

TEST(DropoutReachTest, DropoutInNoModuleIsSetForAll) {
  DropoutReach reach;
  reach.AddNetwork("zoo:vgg11", NetworkWith({"", ""}));
  reach.AddTrial(TrialWithRate("zoo:vgg11", 0.1));
  EXPECT_EQ(MistakeOf(reach), "");
  reach.AddTrial(TrialWith("zoo:vgg11", {{"classifier", 0.1}}));
  EXPECT_THAT(MistakeOf(reach),
              HasSubstr("train.dropout.classifier: expected nothing but a rate for all dropout"));
}

TEST(DropoutReachTest, ARateThatLongerPathsLeaveNothingForIsRefused) {
  DropoutReach reach;
  reach.AddNetwork("net.pt2", NetworkWith({"layers.0", "layers.1"}));
  reach.AddTrial(TrialWith("net.pt2", {{"layers", 0.1}, {"layers.0", 0.2}, {"layers.1", 0.3}}));
  EXPECT_EQ(MistakeOf(reach),
            "train.dropout.layers: expected dropout that no longer path names, found none left in "
            "'layers' of net.pt2");
  // In a trial where one of them is not active, it has something to say.
  reach.AddTrial(TrialWith("net.pt2", {{"layers", 0.1}, {"layers.0", 0.2}}));
  EXPECT_EQ(MistakeOf(reach), "");
}

TEST(DropoutReachTest, WhatReachesSomeNetworksOnlyIsNoted) {
  DropoutReach reach;
  reach.AddNetwork("plain.pt2", NetworkWith({}));
  reach.AddNetwork("deep.pt2", NetworkWith({"layers.0", "layers.1"}));
  reach.AddNetwork("flat.pt2", NetworkWith({"layers.0"}));
  for (const char* network : {"plain.pt2", "deep.pt2", "flat.pt2"})
    reach.AddTrial(TrialWith(network, {{"layers.0", 0.1}, {"layers.1", 0.1}}));
  EXPECT_EQ(MistakeOf(reach), "");
  EXPECT_THAT(
      reach.Notes(),
      ElementsAre("train.dropout.layers.0: it changes nothing in plain.pt2: there is no dropout "
                  "for it",
                  "train.dropout.layers.1: it changes nothing in flat.pt2, plain.pt2: there is no "
                  "dropout for it"));
  reach.AddTrial(TrialWith("plain.pt2", {{"layers.2", 0.1}}));
  reach.AddTrial(TrialWith("flat.pt2", {{"layers.2", 0.1}}));
  EXPECT_EQ(MistakeOf(reach),
            "train.dropout.layers.2: expected a module with dropout in flat.pt2, which are "
            "layers.0, found 'layers.2' (did you mean 'layers.0'?)")
      << "of a network that has dropout";
}

}  // namespace
}  // namespace sluice
