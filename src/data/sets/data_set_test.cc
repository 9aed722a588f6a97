#include "data/sets/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "data/test_files.h"

namespace sluice::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string OpenRefusal(const DataSpec& spec) {
  const auto set = OpenDataSet(spec);
  return set ? "it was taken" : set.error().message;
}

template <typename T>
std::vector<T> ValuesOf(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
std::vector<T> InputOf(const Examples& examples, std::int64_t which) {
  std::string bytes(*BytesOf(examples.input()), '\0');
  EXPECT_TRUE(examples.ReadInput(which, bytes));
  return ValuesOf<T>(bytes);
}

template <typename T>
std::vector<T> TargetOf(const Examples& examples, std::int64_t which) {
  std::string bytes(*BytesOf(examples.target()), '\0');
  EXPECT_TRUE(examples.ReadTarget(which, bytes));
  return ValuesOf<T>(bytes);
}

// Ten images of 1x2, image i of the bytes 2i and 2i + 1, with the label i % 4.
std::string MnistLike(std::string_view labels = {"\0\1\2\3\0\1\2\3\0\1", 10}) {
  const std::string folder = TestFolder();
  std::string pixels(20, '\0');
  std::iota(pixels.begin(), pixels.end(), '\0');
  WriteFile(folder + "train-images-idx3-ubyte", IdxBytes({10, 1, 2}, pixels));
  WriteFile(folder + "train-labels-idx1-ubyte",
            IdxBytes({static_cast<std::uint32_t>(labels.size())}, labels));
  WriteFile(folder + "t10k-images-idx3-ubyte", IdxBytes({2, 1, 2}, "abcd"));
  WriteFile(folder + "t10k-labels-idx1-ubyte", IdxBytes({2}, "\3\1"));
  return folder;
}

TEST(DataSetTest, OpensAFolderLikeMnist) {
  const auto set = OpenDataSet({.path = MnistLike()});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->kind, DataKind::kIdx);
  EXPECT_EQ(set->train->count(), 10);
  EXPECT_EQ(set->train->input(), (TensorType{DType::kUint8, {1, 1, 2}}));
  EXPECT_EQ(set->train->target(), (TensorType{DType::kInt64, {}}));
  EXPECT_EQ(set->train->classes(), 4);
  EXPECT_THAT(InputOf<std::uint8_t>(*set->train, 3), ElementsAre(6, 7));
  EXPECT_THAT(TargetOf<std::int64_t>(*set->train, 7), ElementsAre(3));
  EXPECT_EQ(set->validation, nullptr);
  EXPECT_EQ(set->test->count(), 2);
  EXPECT_THAT(TargetOf<std::int64_t>(*set->test, 0), ElementsAre(3));
  ASSERT_EQ(set->files.size(), 4U);
  EXPECT_EQ(set->files[0].bytes, 36U);

  const std::vector<std::int64_t> which = {9, 0};
  std::string inputs(4, '\0');
  ASSERT_TRUE(set->train->ReadInputs(which, inputs));
  EXPECT_THAT(ValuesOf<std::uint8_t>(inputs), ElementsAre(18, 19, 0, 1));
}

TEST(DataSetTest, TheHashIsOfTheBytesAndTheirUse) {
  const std::string folder = MnistLike();
  const auto hash = [&](const DataSpec& spec) { return OpenDataSet(spec)->hash; };
  const std::uint64_t first = hash({.path = folder});
  EXPECT_EQ(hash({.path = folder}), first);
  EXPECT_NE(hash({.path = folder, .validation_fraction = 0.2}), first);
  EXPECT_NE(hash({.path = folder, .normalise = NormaliseBy::kMeasure}), first);
  const std::string moved = folder + "moved/";
  std::filesystem::create_directory(moved);
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    std::filesystem::copy(folder + name, moved + name);
  EXPECT_EQ(hash({.path = moved}), first);
  WriteFile(moved + "t10k-images-idx3-ubyte", IdxBytes({2, 1, 2}, "abce"));
  EXPECT_NE(hash({.path = moved}), first);
}

TEST(DataSetTest, RefusesFilesThatDoNotFit) {
  EXPECT_THAT(OpenRefusal({.path = MnistLike(std::string(9, '\0'))}),
              HasSubstr("expected as many targets as"));
  EXPECT_THAT(OpenRefusal({.path = MnistLike({"\0\1\2\0\0\1\2\0\0\1", 10})}),
              HasSubstr("t10k-labels-idx1-ubyte: expected labels from 0 to 2, found 3 at row 0"));
  const std::string folder = MnistLike();
  EXPECT_THAT(OpenRefusal({.path = folder, .classes = 3}),
              HasSubstr("train-labels-idx1-ubyte: expected labels from 0 to 2, found 3 at row 3"));
  EXPECT_TRUE(OpenDataSet({.path = folder, .classes = 7}));
  WriteFile(folder + "t10k-images-idx3-ubyte", IdxBytes({2, 2, 1}, "abcd"));
  EXPECT_THAT(
      OpenRefusal({.path = folder}),
      HasSubstr("expected uint8 [1, 1, 2] with int64 [], as in training, found uint8 [1, 2, "
                "1]"));
  EXPECT_THAT(OpenRefusal({.path = folder + "none"}), HasSubstr("none: no such file"));
  EXPECT_THAT(OpenRefusal({}), HasSubstr("data: expected a folder or files"));
  DataSpec labels_missing{.path = folder + "train-images-idx3-ubyte"};
  EXPECT_THAT(OpenRefusal(labels_missing), HasSubstr("expected 1 file of targets"));
  DataSpec swapped{.train = {.inputs = {folder + "train-labels-idx1-ubyte"},
                             .targets = {folder + "train-images-idx3-ubyte"}}};
  EXPECT_THAT(OpenRefusal(swapped), HasSubstr("expected a list of labels"));
}

// Texts of as many windows of one byte as their numbers say.
void WriteTexts(const std::string& folder, const std::vector<std::pair<std::string, int>>& texts) {
  for (const auto& [name, windows] : texts)
    WriteFile(folder + name, std::string(static_cast<std::size_t>(windows) + 1, 'a'));
}

// How many examples training, validation and tests have: "5 2 0", or the message.
std::string CountsOf(const DataSpec& spec) {
  const auto set = OpenDataSet(spec);
  if (!set) return set.error().message;
  std::string counts;
  for (const auto& part : {set->train, set->validation, set->test})
    counts += (counts.empty() ? "" : " ") + std::to_string(part ? part->count() : 0);
  return counts;
}

TEST(DataSetTest, AFolderGivesThePartsThatAreNotNamed) {
  const std::string folder = TestFolder();
  WriteTexts(folder, {{"train.txt", 9}, {"val.txt", 2}, {"test.txt", 3}, {"other.txt", 5}});
  WriteFile(folder + "x_val.npy", "of another kind");
  const DataFiles other{.inputs = {folder + "other.txt"}, .targets = {}};
  EXPECT_EQ(CountsOf({.path = folder, .train = other, .window = 1}), "5 2 3");
  const DataSpec tested{.kind = DataKind::kText, .path = folder, .test = other, .window = 1};
  EXPECT_EQ(CountsOf(tested), "9 2 5") << "what is tested on is not trained on";
}

TEST(DataSetTest, AFolderBesideNamedFilesMayHaveNothingToGive) {
  const std::string folder = TestFolder();
  const std::string rest = folder + "rest/";
  std::filesystem::create_directory(rest);
  WriteTexts(folder, {{"holdout.txt", 5}, {"val.txt", 2}});
  const DataFiles named{.inputs = {folder + "holdout.txt"}, .targets = {}};
  EXPECT_EQ(CountsOf({.path = rest, .train = named, .window = 1}), "5 0 0");
  WriteFile(rest + "x_test.npy", "of another kind, and without its targets");
  WriteFile(rest + "notes.md", "of no kind");
  EXPECT_EQ(CountsOf({.path = rest, .train = named, .window = 1}), "5 0 0");
  EXPECT_EQ(CountsOf({.path = folder, .train = named, .window = 1}), "5 2 0")
      << "what is trained on is not tested on";
  WriteTexts(rest, {{"test_a.txt", 3}});
  const DataFiles validation{.inputs = {folder + "val.txt"}, .targets = {}};
  EXPECT_EQ(CountsOf({.path = rest, .train = named, .validation = validation, .window = 1}),
            "5 2 3");
}

TEST(DataSetTest, APathBesideTrainingFilesIsAFolder) {
  const std::string folder = TestFolder();
  WriteTexts(folder, {{"a.txt", 5}, {"b.txt", 2}});
  const DataFiles named{.inputs = {folder + "a.txt"}, .targets = {}};
  EXPECT_EQ(CountsOf({.path = folder + "b.txt", .train = named, .window = 1}),
            "path: expected a folder beside 'train', for the parts that are not named, found a "
            "file: " +
                folder + "b.txt");
  EXPECT_THAT(CountsOf({.path = folder + "c", .train = named, .window = 1}),
              HasSubstr("found no such folder: "));
  EXPECT_EQ(CountsOf({.path = folder + "a.txt",
                      .validation = {.inputs = {folder + "b.txt"}, .targets = {}},
                      .window = 1}),
            "5 2 0");
  EXPECT_THAT(CountsOf({.path = folder, .train = {.inputs = {}, .targets = {folder + "b.txt"}}}),
              HasSubstr("data: expected a folder or files of training examples, found none"));
}

TEST(DataSetTest, OpensArraysOfNumbers) {
  const std::string folder = TestFolder();
  std::string inputs;
  for (const float value : {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}) AppendNumber(inputs, value);
  std::string targets;
  for (const double value : {0.5, -1.0, 2.0}) AppendNumber(targets, value);
  const std::string x = WriteFile(folder + "x.npy", NpyBytes("<f4", "(3, 2)", inputs));
  const std::string y = WriteFile(folder + "y.npy", NpyBytes("<f8", "(3,)", targets));
  const auto set = OpenDataSet({.path = folder, .normalise = NormaliseBy::kMeasure});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->train->classes(), 0);
  EXPECT_EQ(set->train->target(), (TensorType{DType::kFloat64, {}}));
  EXPECT_THAT(TargetOf<double>(*set->train, 1), ElementsAre(-1.0));
  EXPECT_THAT(set->normalisation.mean, ElementsAre(3.0, 4.0));
  EXPECT_THAT(OpenRefusal({.path = folder, .classes = 2}),
              HasSubstr("expected labels of 2 classes, found float64 []"));

  WriteFile(y, NpyBytes("<i2", "(3,)", std::string_view("\1\0\0\0\xff\xff", 6)));
  EXPECT_THAT(OpenRefusal({.path = folder}), HasSubstr("found -1 at row 2: number the classes"));
  WriteFile(y, NpyBytes("<i2", "(3, 2)", std::string_view("\1\0\0\0\2\0\0\0\5\0\0\0", 12)));
  const auto labels = OpenDataSet({.path = folder});
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_EQ(labels->train->classes(), 6);
  EXPECT_THAT(TargetOf<std::int64_t>(*labels->train, 2), ElementsAre(5, 0));
  // Two files of inputs, one after the other.
  const auto twice = OpenDataSet({.train = {.inputs = {x, x}, .targets = {y, y}}});
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(twice->train->count(), 6);
  EXPECT_EQ(InputOf<float>(*twice->train, 5), InputOf<float>(*twice->train, 2));
  EXPECT_THAT(InputOf<float>(*twice->train, 5), ElementsAre(5.0F, 6.0F));
}

TEST(DataSetTest, WholeNumbersBecomeInt64) {
  const std::string folder = TestFolder();
  WriteFile(folder + "x.npy", NpyBytes("<u2", "(2, 2)", std::string_view("\1\0\2\0\3\0\0\1", 8)));
  WriteFile(folder + "y.npy", NpyBytes("|u1", "(2,)", std::string_view("\0\1", 2)));
  const auto set = OpenDataSet({.path = folder});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->train->input(), (TensorType{DType::kInt64, {2}}));
  EXPECT_THAT(InputOf<std::int64_t>(*set->train, 1), ElementsAre(3, 256));
  EXPECT_THAT(OpenRefusal({.path = folder, .normalise = NormaliseBy::kMeasure}),
              HasSubstr("normalise: expected inputs that are images"));
}

TEST(DataSetTest, OpensCifar) {
  const std::string folder = TestFolder();
  std::string row(1 + 3072, '\7');
  WriteFile(folder + "data_batch_1.bin", row + row);
  WriteFile(folder + "test_batch.bin", row);
  const auto set = OpenDataSet({.path = folder, .augmentation = {.crop_padding = 4, .flip = true}});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->train->count(), 2);
  EXPECT_EQ(set->train->classes(), 10);
  EXPECT_EQ(set->train->input(), (TensorType{DType::kUint8, {3, 32, 32}}));
  EXPECT_THAT(TargetOf<std::int64_t>(*set->test, 0), ElementsAre(7));
  row[0] = '\12';
  WriteFile(folder + "data_batch_1.bin", row);
  EXPECT_THAT(OpenRefusal({.path = folder}), HasSubstr("expected labels from 0 to 9, found 10"));
}

TEST(DataSetTest, OpensTextsAndTokens) {
  const std::string folder = TestFolder();
  const std::string text = WriteFile(folder + "train.txt", "abcdefgh\xff");
  const auto texts = OpenDataSet({.path = text, .window = 4});
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ(texts->kind, DataKind::kText);
  EXPECT_EQ(texts->train->count(), 2);
  EXPECT_EQ(texts->train->classes(), 256);
  EXPECT_THAT(InputOf<std::int64_t>(*texts->train, 1), ElementsAre('e', 'f', 'g', 'h'));
  EXPECT_THAT(TargetOf<std::int64_t>(*texts->train, 1), ElementsAre('f', 'g', 'h', 255));
  EXPECT_THAT(OpenRefusal({.path = text, .window = 9}),
              HasSubstr("expected more than 9 tokens, the window, found 9"));
  EXPECT_THAT(OpenRefusal({.path = text}), HasSubstr("window: expected the number of tokens"));

  std::string tokens;
  for (int i = 0; i < 11; ++i)
    AppendNumber<std::uint16_t>(tokens, static_cast<std::uint16_t>(i * 100));
  const std::string bin = WriteFile(folder + "train.bin", tokens);
  DataSpec spec{.kind = DataKind::kTokens, .path = bin, .window = 3, .vocabulary = 1001};
  const auto set = OpenDataSet(spec);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->train->count(), 3);
  EXPECT_THAT(TargetOf<std::int64_t>(*set->train, 2), ElementsAre(700, 800, 900));
  spec.vocabulary = 1000;
  EXPECT_THAT(OpenRefusal(spec),
              HasSubstr("expected tokens from 0 to 999, found 1000 at token 10"));
  spec.vocabulary = 0;
  EXPECT_THAT(OpenRefusal(spec), HasSubstr("vocabulary: expected"));
  spec = {.kind = DataKind::kTokens,
          .path = bin,
          .window = 3,
          .vocabulary = 9,
          .token_type = DType::kInt32};
  EXPECT_THAT(OpenRefusal(spec), HasSubstr("found 22 bytes, which is no multiple"));
  spec.token_type = DType::kFloat32;
  EXPECT_THAT(OpenRefusal(spec), HasSubstr("token_type: expected uint16"));
  spec.token_type = DType::kUint16;
  spec.augmentation.flip = true;
  EXPECT_THAT(OpenRefusal(spec), HasSubstr("crop and flip: expected none for tokens"));
}

TEST(DataSetTest, NegativeTokensAreRefused) {
  const std::string folder = TestFolder();
  std::string tokens;
  for (const std::int32_t token : {1, 2, -1, 3}) AppendNumber(tokens, token);
  const std::string bin = WriteFile(folder + "train.bin", tokens);
  EXPECT_THAT(OpenRefusal({.kind = DataKind::kTokens,
                           .path = bin,
                           .window = 1,
                           .vocabulary = 10,
                           .token_type = DType::kInt32}),
              HasSubstr("found -1 at token 2"));
}

std::multiset<std::uint8_t> FirstPixels(const std::shared_ptr<const Examples>& examples) {
  std::multiset<std::uint8_t> pixels;
  for (std::int64_t i = 0; examples != nullptr && i < examples->count(); ++i)
    pixels.insert(InputOf<std::uint8_t>(*examples, i)[0]);
  return pixels;
}

TEST(DataSetTest, SplitsByFractions) {
  const std::string folder = MnistLike();
  std::filesystem::remove(folder + "t10k-images-idx3-ubyte");
  std::filesystem::remove(folder + "t10k-labels-idx1-ubyte");
  DataSpec spec{.path = folder, .validation_fraction = 0.2, .test_fraction = 0.3};
  const auto set = OpenDataSet(spec);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->validation->count(), 2);
  EXPECT_EQ(set->test->count(), 3);
  std::multiset<std::uint8_t> all;
  for (const auto& part : {set->train, set->validation, set->test}) all.merge(FirstPixels(part));
  EXPECT_THAT(all, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18)) << "each example is in one part";
  EXPECT_EQ(FirstPixels(OpenDataSet(spec)->test), FirstPixels(set->test));
  bool differs = false;
  for (spec.split_seed = 1; spec.split_seed < 10; ++spec.split_seed)
    differs = differs || FirstPixels(OpenDataSet(spec)->test) != FirstPixels(set->test);
  EXPECT_TRUE(differs);
  EXPECT_THAT(OpenRefusal({.path = folder, .validation_fraction = 0.01}),
              HasSubstr("leave every part an example, found 0.01 and 0 of 10"));
  EXPECT_THAT(OpenRefusal({.path = folder, .validation_fraction = 1}), HasSubstr("validation: "));
  EXPECT_THAT(OpenRefusal({.path = folder, .validation_fraction = 0.5, .test_fraction = 0.5}),
              HasSubstr("none left"));
}

TEST(DataSetTest, TheEndOfATextIsForEvaluation) {
  const std::string text = WriteFile(TestFolder() + "all.txt", "aabbccddeeffgghhiijjk");
  const auto set =
      OpenDataSet({.path = text, .validation_fraction = 0.2, .test_fraction = 0.1, .window = 2});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->train->count(), 7);
  EXPECT_THAT(InputOf<std::int64_t>(*set->validation, 0), ElementsAre('h', 'h'));
  EXPECT_THAT(InputOf<std::int64_t>(*set->test, 0), ElementsAre('j', 'j'));
}

TEST(DataSetTest, GivenNumbersAreChecked) {
  const std::string folder = MnistLike();
  const auto refusal = [&](std::vector<double> mean, std::vector<double> deviation) {
    return OpenRefusal({.path = folder,
                        .normalise = NormaliseBy::kGiven,
                        .mean = std::move(mean),
                        .deviation = std::move(deviation)});
  };
  EXPECT_THAT(refusal({0.1, 0.2, 0.3}, {1}), HasSubstr("mean: expected 1 or 1 numbers"));
  EXPECT_THAT(refusal({0.1}, {0}), HasSubstr("deviation: expected positive numbers, found 0"));
  EXPECT_THAT(refusal({0.1}, {std::nan("")}), HasSubstr("deviation: expected"));
  EXPECT_EQ(refusal({0.1}, {0.3}), "it was taken");
  EXPECT_THAT(OpenRefusal({.path = folder, .augmentation = {.crop_padding = 2}}),
              HasSubstr("crop: expected a padding from 0 to 1"));
}

}  // namespace
}  // namespace sluice::data
