#include "data/sets/folder_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/test_files.h"

namespace sluice::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FolderLayout LayoutFor(std::vector<std::string> names, DataKind kind = DataKind::kGuess) {
  const auto layout = LayoutOfNames(std::move(names), kind);
  EXPECT_TRUE(layout) << layout.error().message;
  return layout ? *layout : FolderLayout{};
}

std::string LayoutRefusal(std::vector<std::string> names, DataKind kind = DataKind::kGuess) {
  const auto layout = LayoutOfNames(std::move(names), kind);
  return layout ? "it was taken" : layout.error().message;
}

TEST(FolderLayoutTest, KnowsTheUsualNames) {
  const FolderLayout mnist =
      LayoutFor({"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte",
                 "train-labels-idx1-ubyte", "readme.txt"});
  EXPECT_EQ(mnist.kind, DataKind::kIdx);
  EXPECT_THAT(mnist.train.inputs, ElementsAre("train-images-idx3-ubyte"));
  EXPECT_THAT(mnist.train.targets, ElementsAre("train-labels-idx1-ubyte"));
  EXPECT_THAT(mnist.test.inputs, ElementsAre("t10k-images-idx3-ubyte"));
  EXPECT_THAT(mnist.validation.inputs, IsEmpty());

  const FolderLayout cifar = LayoutFor({"batches.meta.txt", "data_batch_10.bin", "data_batch_2.bin",
                                        "readme.html", "test_batch.bin"});
  EXPECT_EQ(cifar.kind, DataKind::kCifar10);
  EXPECT_THAT(cifar.train.inputs, ElementsAre("data_batch_2.bin", "data_batch_10.bin"));
  EXPECT_THAT(cifar.test.inputs, ElementsAre("test_batch.bin"));

  const FolderLayout npy = LayoutFor({"x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy",
                                      "val_images.npy", "val_labels.npy"});
  EXPECT_EQ(npy.kind, DataKind::kNpy);
  EXPECT_THAT(npy.validation.targets, ElementsAre("val_labels.npy"));
  EXPECT_THAT(npy.test.targets, ElementsAre("y_test.npy"));

  const FolderLayout tokens = LayoutFor({"train.bin", "val.bin", "meta.txt"}, DataKind::kTokens);
  EXPECT_THAT(tokens.train.inputs, ElementsAre("train.bin"));
  EXPECT_THAT(tokens.validation.inputs, ElementsAre("val.bin"));
  EXPECT_EQ(LayoutFor({"input.txt"}).kind, DataKind::kText);
}

TEST(FolderLayoutTest, WordsTellWhichPartAFileIsOf) {
  for (const char* name : {"x_test.npy", "tests.bin", "testing_images.npy",
                           "t10k-labels-idx1-ubyte", "Holdout.txt", "holdout-1.bin"})
    EXPECT_EQ(PartOf(name), DataPart::kTest) << name;
  for (const char* name : {"val.bin", "valid.bin", "validation_x.npy", "dev.txt", "eval_images.npy",
                           "evaluation-2.bin"})
    EXPECT_EQ(PartOf(name), DataPart::kValidation) << name;
  for (const char* name : {"train.bin", "values.npy", "tested.npy", "medieval.txt", "contest.bin"})
    EXPECT_EQ(PartOf(name), DataPart::kTrain) << name;
}

TEST(FolderLayoutTest, WhatIsNamedApartIsNotTakenFromTheFolder) {
  const auto layout_of = [](std::vector<std::string> names, DataKind kind,
                            const NamedApart& apart) {
    const auto layout = LayoutOfNames(std::move(names), kind, apart);
    EXPECT_TRUE(layout) << layout.error().message;
    return layout.value_or(FolderLayout{});
  };
  const FolderLayout rest = layout_of({"x_train.npy", "x_val.npy", "y_val.npy", "x_test.npy"},
                                      DataKind::kNpy, {.train = true, .test = true});
  EXPECT_EQ(rest.train, DataFiles{}) << "nor does it have to be whole";
  EXPECT_EQ(rest.test, DataFiles{});
  EXPECT_THAT(rest.validation.inputs, ElementsAre("x_val.npy"));
  EXPECT_THAT(rest.validation.targets, ElementsAre("y_val.npy"));
  // Files that are trained on are not for tests as well.
  const NamedApart files{.train = true, .files = {"test_a.txt"}};
  EXPECT_THAT(layout_of({"test_a.txt", "test_b.txt"}, DataKind::kText, files).test.inputs,
              ElementsAre("test_b.txt"));
  // Files of other kinds give nothing.
  const FolderLayout none = layout_of({"x_val.npy", "data_batch_1.bin", "t10k-images-idx3-ubyte"},
                                      DataKind::kText, {.train = true});
  EXPECT_EQ(none.validation, DataFiles{});
  EXPECT_EQ(none.test, DataFiles{});
}

TEST(FolderLayoutTest, SaysWhenNamesDoNotTell) {
  EXPECT_THAT(LayoutRefusal({}), HasSubstr("found no files"));
  EXPECT_THAT(LayoutRefusal({"cat.png"}), HasSubstr("found cat.png: name the files, or unpack"));
  EXPECT_THAT(LayoutRefusal({"x.npy", "data_batch_1.bin"}), HasSubstr("found cifar10, npy"));
  EXPECT_THAT(LayoutRefusal({"x_train.npy"}), HasSubstr("inputs x_train.npy and targets none"));
  EXPECT_THAT(LayoutRefusal({"test_batch.bin"}), HasSubstr("files of training examples"));
  EXPECT_THAT(LayoutRefusal({"x.npy"}, DataKind::kIdx),
              HasSubstr("of the kind 'idx', found x.npy"));
}

TEST(FolderLayoutTest, AFolderOnTheDisk) {
  const std::string folder = TestFolder();
  WriteFile(folder + "train.txt", "words");
  WriteFile(folder + ".train.txt.swp", "words");
  std::filesystem::create_directory(folder + "val.txt");
  const auto layout = LayoutOfFolder(folder, DataKind::kGuess);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_THAT(layout->train.inputs, ElementsAre(folder + "train.txt"));
  EXPECT_THAT(layout->validation.inputs, IsEmpty());
  const auto missing = LayoutOfFolder(folder + "none", DataKind::kGuess);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("cannot be read"));
}

TEST(FolderLayoutTest, KindsHaveNames) {
  for (int i = 0; i <= static_cast<int>(DataKind::kText); ++i)
    EXPECT_EQ(DataKindOf(Name(static_cast<DataKind>(i))), static_cast<DataKind>(i));
  EXPECT_FALSE(DataKindOf("parquet"));
}

}  // namespace
}  // namespace sluice::data
