#include "model/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/shrink/shrink.h"

namespace sluice::model {
namespace {

using testing::HasSubstr;

std::int64_t Count(std::string_view text) {
  const auto model = BuildFromZoo(text);
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return model ? TrainableElements(model->graph) : 0;
}

// The numbers of parameters of the usual implementations.
TEST(ZooTest, NetworksHaveAsManyParametersAsTheyAreKnownFor) {
  EXPECT_EQ(Count("lenet"), 61'706);
  EXPECT_EQ(Count("vgg11,stem=imagenet,image=224,classes=1000,norm=none"), 132'863'336);
  EXPECT_EQ(Count("resnet18,stem=imagenet,image=224,classes=1000"), 11'689'512);
  EXPECT_EQ(Count("resnet34,stem=imagenet,image=224,classes=1000"), 21'797'672);
  EXPECT_EQ(Count("resnet50,stem=imagenet,image=224,classes=1000"), 25'557'032);
  EXPECT_EQ(Count("wideresnet50,stem=imagenet,image=224,classes=1000"), 68'883'240);
  EXPECT_EQ(Count("mobilenetv3,stem=imagenet,image=224,classes=1000"), 5'483'032);
  EXPECT_EQ(Count("shufflenetv2,stem=imagenet,image=224,classes=1000"), 2'278'604);
  EXPECT_EQ(Count("vit-tiny"), 5'717'416);
  EXPECT_EQ(Count("deit-tiny"), 5'910'800);
  EXPECT_EQ(Count("dcgan-generator"), 3'576'704);
  EXPECT_EQ(Count("dcgan-discriminator"), 2'765'568);
  EXPECT_EQ(Count("gpt"), 124'439'808);
  EXPECT_EQ(Count("pythia-14m"), 14'067'712);
  EXPECT_EQ(Count("pythia-31m"), 30'494'720);
  EXPECT_EQ(Count("bert-tiny"), 4'386'178);
}

TEST(ZooTest, StemsFitSmallImages) {
  for (const char* name : {"vgg11", "resnet18", "mobilenetv3", "shufflenetv2"}) {
    EXPECT_TRUE(BuildFromZoo(std::string(name) + ",stem=cifar,image=32")) << name;
    EXPECT_TRUE(BuildFromZoo(std::string(name) + ",stem=imagenet,image=224")) << name;
  }
}

TEST(ZooTest, WhatIsNotThereIsTold) {
  const auto network = BuildFromZoo("resnet19");
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, HasSubstr("did you mean 'resnet18'?"));
  const auto option = BuildFromZoo("resnet18,clases=3");
  ASSERT_FALSE(option);
  EXPECT_THAT(option.error().message, HasSubstr("resnet18: expected options of classes=10"));
  for (const char* wrong :
       {"resnet18,classes=0", "resnet18,classes=00", "resnet18,classes=many", "resnet18,classes",
        "gpt,heads=7", "resnet18,stem=cifr", "gpt,dropout=true", "bert-tiny,positions=64",
        "vit-tiny,image=225", "vgg11,image=16", "resnet18,classes=999999999"}) {
    EXPECT_FALSE(BuildFromZoo(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sluice::model
