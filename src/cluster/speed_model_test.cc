#include "cluster/speed_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace sluice {
namespace {

SpeedSituation On(const std::string& kind, Milli width = kWhole) {
  return {.shape = "resnet", .kind = kind, .width = width};
}

SpeedModel ResNet50() { return SpeedModel({.widths = *WidthTable("resnet50"), .busy = 1}); }

TEST(SpeedModelTest, KnowsNothingButTheTablesAtFirst) {
  const SpeedModel model = ResNet50();
  const SpeedEstimate one = model.Ask(On("V100"));
  const SpeedEstimate four = model.Ask(On("V100", 4 * kWhole));
  EXPECT_EQ(one.measured, 0);
  EXPECT_DOUBLE_EQ(four.work_per_second / one.work_per_second, 3.4215);
  EXPECT_GT(one.spread, 5);
}

TEST(SpeedModelTest, LearnsWhatIsMeasuredAndHowSureItIs) {
  SpeedModel model = ResNet50();
  Random random(1);
  double last_spread = model.Ask(On("V100")).spread;
  for (const int more : {1, 9, 90}) {
    for (int i = 0; i < more; ++i)
      model.Learn(On("V100"), 10, 20 * std::exp(0.05 * random.Normal()));
    const SpeedEstimate estimate = model.Ask(On("V100"));
    EXPECT_LT(estimate.spread, last_spread);
    last_spread = estimate.spread;
  }
  const SpeedEstimate estimate = model.Ask(On("V100"));
  EXPECT_EQ(estimate.count, 100);
  EXPECT_NEAR(estimate.work_per_second, 0.5, 0.02);
  EXPECT_LT(estimate.spread, 1.02);
}

// Fluid's defect: the time on one GPU was overwritten by the time on four.
TEST(SpeedModelTest, AWidenedTrialIsNotTakenForAQuickOne) {
  SpeedModel model = ResNet50();
  for (int i = 0; i < 10; ++i) model.Learn(On("V100", 4 * kWhole), 34.215, 10);
  const SpeedEstimate one = model.Ask(On("V100"));
  EXPECT_EQ(one.count, 0);
  EXPECT_EQ(one.measured, 10);
  EXPECT_NEAR(one.work_per_second, 1, 1e-9);
  EXPECT_GT(one.spread, model.Ask(On("V100", 4 * kWhole)).spread);
}

TEST(SpeedModelTest, CarriesOverToAnotherKindUntilThatIsMeasured) {
  SpeedModel model = ResNet50();
  for (int i = 0; i < 20; ++i) model.Learn(On("V100"), 1, 1);
  EXPECT_NEAR(model.Ask(On("A100")).work_per_second, 2.06, 0.01);
  for (int i = 0; i < 20; ++i) model.Learn(On("A100"), 3, 1);
  EXPECT_NEAR(model.Ask(On("A100")).work_per_second, 3, 0.05);
  EXPECT_NEAR(model.Ask(On("V100")).work_per_second, 1, 0.02);
}

TEST(SpeedModelTest, FusedTrialsAndNeighboursAreCircumstancesToo) {
  SpeedModel model({.widths = {}, .busy = 0.3, .interference = 0.5});
  for (int i = 0; i < 20; ++i) model.Learn(On("A100"), 1, 1);
  SpeedSituation fused = On("A100");
  fused.fused = 10;
  EXPECT_NEAR(model.Ask(fused).work_per_second, 0.65, 1e-9);
  SpeedSituation crowded = On("A100", 500);
  crowded.neighbours = 500;
  EXPECT_NEAR(model.Ask(crowded).work_per_second, 0.8, 1e-9);
  EXPECT_NEAR(model.Ask(On("A100", 150)).work_per_second, 0.5, 1e-9);
}

TEST(SpeedModelTest, OnCoresNothingIsKnownOfFusedTrials) {
  SpeedModel model;
  EXPECT_DOUBLE_EQ(model.Prior({.shape = "s", .kind = "", .fused = 10}),
                   model.Prior({.shape = "s", .kind = ""}));
}

TEST(SpeedModelTest, AShapeWithoutMeasurementsIsAsQuickAsItsStudy) {
  SpeedModel model;
  const SpeedSituation mlp{.shape = "s model=mlp", .kind = "A100"};
  EXPECT_EQ(model.Ask(mlp).measured, 0);
  for (int i = 0; i < 10; ++i) model.Learn(On("A100"), 5, 1);
  SpeedSituation study = On("A100");
  SpeedSituation shape = study;
  shape.shape += " model=mlp";
  EXPECT_EQ(model.Ask(shape).work_per_second, model.Ask(study).work_per_second);
  EXPECT_EQ(model.Ask(shape).measured, 10);
  model.Learn(shape, 2, 1);
  EXPECT_NEAR(model.Ask(shape).work_per_second, 2, 1e-9);
  EXPECT_EQ(model.Ask(shape).measured, 1);
  EXPECT_EQ(model.Ask(study).measured, 10);
}

TEST(SpeedModelTest, FollowsASpeedThatChanges) {
  SpeedModel model;
  for (int i = 0; i < 1000; ++i) model.Learn(On("A100"), 1, 1);
  for (int i = 0; i < 300; ++i) model.Learn(On("A100"), 1, 2);
  EXPECT_NEAR(model.Ask(On("A100")).work_per_second, 0.5, 0.01);
}

TEST(SpeedModelTest, ShapesDoNotMixAndNonsenseTeachesNothing) {
  SpeedModel model;
  SpeedSituation other = On("A100");
  other.shape = "another";
  model.Learn(other, 5, 1);
  model.Learn(On("A100"), 0, 1);
  model.Learn(On("A100"), 1, 0);
  model.Learn(On("A100"), 1, -3);
  EXPECT_EQ(model.Ask(On("A100")).measured, 0);
  EXPECT_NEAR(model.Ask(other).work_per_second, 5, 1e-9);
}

TEST(SpeedModelTest, SurvivesASnapshot) {
  SpeedModel model = ResNet50();
  Random random(2);
  for (int i = 0; i < 50; ++i)
    model.Learn(On(i % 2 == 0 ? "V100" : "H100", (1 + i % 3) * kWhole), 1, 1 + random.Uniform());
  StateWriter writer;
  model.Save(writer);
  SpeedModel again = ResNet50();
  StateReader reader(writer.bytes());
  ASSERT_TRUE(again.Load(reader));
  EXPECT_TRUE(reader.Finish());
  Digest before, after;
  model.AddTo(before);
  again.AddTo(after);
  EXPECT_EQ(before.Value(), after.Value());
  EXPECT_EQ(again.Ask(On("A100")).work_per_second, model.Ask(On("A100")).work_per_second);

  again.Learn(On("V100"), 1, 1);
  Digest changed;
  again.AddTo(changed);
  EXPECT_NE(before.Value(), changed.Value());
  for (std::size_t cut = 0; cut < writer.bytes().size(); ++cut) {
    StateReader short_reader(std::string_view(writer.bytes()).substr(0, cut));
    SpeedModel broken;
    EXPECT_FALSE(broken.Load(short_reader)) << cut;
  }
}

// Snapshots are still written as before `lent` was a field: the kind of a lent device is written
// with a suffix, and situations are sorted by the kind as it is written.
TEST(SpeedModelTest, ASnapshotNamesLentDevicesByASuffixOfTheirKind) {
  SpeedModel model;
  for (const char* kind : {"A100", "A100 80GB", "A100X"}) {
    for (const bool lent : {false, true}) {
      SpeedSituation at = On(kind);
      at.lent = lent;
      model.Learn(at, lent ? 1 : 2, 1);
    }
  }
  StateWriter writer;
  model.Save(writer);
  StateReader reader(writer.bytes());
  ASSERT_EQ(reader.Count(), 6U);
  for (const char* expected :
       {"A100", "A100 80GB", "A100 80GB, lent", "A100, lent", "A100X", "A100X, lent"}) {
    std::string shape, kind;
    std::int64_t whole = 0;
    int fused = 0;
    double real = 0;
    reader.Get(shape);
    reader.Get(kind);
    reader.Get(whole);  // the width
    reader.Get(fused);
    reader.Get(whole);  // of neighbours
    reader.Get(whole);  // the count
    reader.Get(real);   // the mean
    reader.Get(real);   // the variance
    EXPECT_EQ(kind, expected);
  }
  SpeedModel again;
  StateReader from_the_start(writer.bytes());
  ASSERT_TRUE(again.Load(from_the_start));
  SpeedSituation lent = On("A100X");
  lent.lent = true;
  EXPECT_EQ(again.Ask(lent).of_kind, 1);
  EXPECT_NEAR(again.Ask(lent).work_per_second, 1, 0.1);
  EXPECT_NEAR(again.Ask(On("A100X")).work_per_second, 2, 0.1);
}

}  // namespace
}  // namespace sluice
