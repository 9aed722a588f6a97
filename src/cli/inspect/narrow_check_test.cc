#include "cli/inspect/narrow_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

recipe::TrialRecipe Narrow(const std::string& network, double scale) {
  recipe::TrialRecipe recipe;
  recipe.network = network;
  recipe.scale = scale;
  return recipe;
}

// A program that stands for sluice-trainer.
std::string Script(const std::string& text) {
  // Tests may run at the same time, each in a process of its own.
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("narrow_check_trainer_" + std::to_string(getpid()));
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

TEST(NarrowCheckTest, TheNarrowestOfEachNetworkIsChecked) {
  std::vector<recipe::TrialRecipe> networks;
  for (const double scale : {4.0, 8.0, 2.0}) AddNarrow(networks, Narrow("a.pt2", scale));
  AddNarrow(networks, Narrow("b.pt2", 2));
  recipe::TrialRecipe other = Narrow("a.pt2", 2);
  other.rule = "standard";
  AddNarrow(networks, other);
  ASSERT_THAT(networks, SizeIs(3));
  EXPECT_EQ(networks[0].scale, 8);
}

TEST(NarrowCheckTest, WhatIsFoundIsToldWithoutItsDetails) {
  const std::string trainer = Script("echo fused equal; echo '  a detail'; echo \"$*\"; exit 0\n");
  recipe::TrialRecipe network = Narrow("a.pt2", 4);
  network.keep_readout = true;
  network.optimizer.kind = recipe::OptimizerKind::kAdamW;
  EXPECT_THAT(CheckNarrow({network}, trainer, "/"),
              ElementsAre("model: a.pt2 at scale 4: nothing differs ('sluice-trainer check a.pt2 "
                          "--scale 4 --optimizer adamw --rule mup --keep-readout'):\n"
                          "  fused equal\n"
                          "  check a.pt2 --scale 4 --optimizer adamw --rule mup --keep-readout"));
}

TEST(NarrowCheckTest, ADifferenceIsNamed) {
  EXPECT_THAT(CheckNarrow({Narrow("a.pt2", 4)}, Script("echo it differs; exit 1\n"), "/"),
              ElementsAre(HasSubstr("may be wrong for the whole network ('sluice-trainer check")));
}

TEST(NarrowCheckTest, WhatCannotBeCheckedIsNamedToo) {
  EXPECT_THAT(CheckNarrow({Narrow("a.pt2", 4)}, Script("echo no such flag >&2; exit 2\n"), "/"),
              ElementsAre("model: a.pt2 was not checked: no such flag; run 'sluice-trainer check "
                          "a.pt2 --scale 4 --optimizer sgd --rule mup'"));
  EXPECT_THAT(CheckNarrow({Narrow("a.pt2", 4)}, "/nowhere", "/"),
              ElementsAre(HasSubstr("was not checked: cannot start /nowhere")));
}

TEST(NarrowCheckTest, OnlyAFewAreChecked) {
  std::vector<recipe::TrialRecipe> networks;
  for (const char* name : {"a", "b", "c", "d", "e"}) AddNarrow(networks, Narrow(name, 2));
  const auto remarks = CheckNarrow(networks, Script("exit 0\n"), "/");
  ASSERT_THAT(remarks, SizeIs(4));
  EXPECT_EQ(remarks.back(), "model: 2 more networks were not checked");
}

}  // namespace
}  // namespace sluice
