#include "engine/parts/shape.h"

#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

const char* const kShaped =
    "space:\n"
    "  lr: {float: [0, 1]}\n"
    "  model: {choice: [mlp, cnn, 'a b', '']}\n"
    "  layers: {int: [1, 8], when: model == 'cnn'}\n"
    "  batch_size: {ordinal: [32, 64]}\n"
    "trials: 4\n";

TEST(ShapeTest, OneShapeIsTheNameOfTheStudy) {
  EXPECT_EQ(ShapeOf(SpecOf(kShaped, "fashion"), {0.5, 0, kInactive, 1}), "fashion");
}

TEST(ShapeTest, IsTheValuesOfItsParameters) {
  const StudySpec spec =
      SpecOf(std::string("shape: [model, layers, batch_size]\n") + kShaped, "fashion");
  EXPECT_EQ(ShapeOf(spec, {0.5, 0, kInactive, 1}), "fashion model=mlp layers= batch_size=64");
  EXPECT_EQ(ShapeOf(spec, {0.1, 1, 3, 0}), "fashion model=cnn layers=3 batch_size=32");
  EXPECT_EQ(ShapeOf(spec, {0.1, 2, kInactive, 0}), "fashion model='a b' layers= batch_size=32");
  EXPECT_EQ(ShapeOf(spec, {0.1, 3, kInactive, 0}), "fashion model='' layers= batch_size=32");
}

TEST(ShapeTest, TrialsHaveOneShapeIfTheyAgreeInItsParameters) {
  const StudySpec spec = SpecOf(std::string("shape: [layers]\n") + kShaped);
  EXPECT_TRUE(HaveOneShape(spec, {0.5, 0, kInactive, 1}, {0.6, 2, kInactive, 0}));
  EXPECT_TRUE(HaveOneShape(spec, {0.5, 1, 3, 1}, {0.6, 1, 3, 1}));
  EXPECT_FALSE(HaveOneShape(spec, {0.5, 1, 3, 1}, {0.5, 1, 4, 1}));
  EXPECT_FALSE(HaveOneShape(spec, {0.5, 1, 3, 1}, {0.5, 0, kInactive, 1}));
}

TEST(ShapeTest, OfSomeParametersOnlyTheirPresenceCounts) {
  StudySpec spec = SpecOf(kShaped, "fashion");
  EXPECT_FALSE(HasSeveralShapes(spec));
  spec.shape_by_presence = {"layers"};
  EXPECT_TRUE(HasSeveralShapes(spec));
  EXPECT_EQ(ShapeOf(spec, {0.5, 1, 3, 1}), "fashion layers=on");
  EXPECT_EQ(ShapeOf(spec, {0.5, 0, kInactive, 1}), "fashion layers=");
  EXPECT_TRUE(HaveOneShape(spec, {0.5, 1, 3, 1}, {0.5, 1, 4, 0}));
  EXPECT_FALSE(HaveOneShape(spec, {0.5, 1, 3, 1}, {0.5, 0, kInactive, 1}));
}

}  // namespace
}  // namespace sluice
