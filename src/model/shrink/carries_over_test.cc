#include "model/shrink/carries_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::model {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(CarriesOverTest, WhatTheWidthDoesNotChangeCarriesOver) {
  for (const char* name : {"lr", "learning_rate", "momentum", "beta1", "warmup", "init_scale",
                           "decay_steps", "lr_decay", "playback", "dropping", "widths"})
    EXPECT_THAT(WhyItDoesNotCarryOver(name), IsEmpty()) << name;
}

TEST(CarriesOverTest, WhatDoesNotIsKnownByItsName) {
  for (const char* name : {"dropout", "model.attention_dropout", "drop", "weight_decay",
                           "weightDecay", "wd", "optimizer.weight-decay", "label_smoothing"})
    EXPECT_THAT(WhyItDoesNotCarryOver(name), HasSubstr("another amount")) << name;
  for (const char* name : {"depth", "num_layers", "layers", "n_layer"})
    EXPECT_THAT(WhyItDoesNotCarryOver(name), HasSubstr("depth")) << name;
  EXPECT_THAT(WhyItDoesNotCarryOver("batch_size"), HasSubstr("with care"));
  EXPECT_THAT(WhyItDoesNotCarryOver("hidden_size"), HasSubstr("a width itself"));
}

}  // namespace
}  // namespace sluice::model
