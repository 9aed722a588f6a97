#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/batches/augmentation.h"
#include "data/batches/batch_order.h"
#include "data/batches/batch_reader.h"
#include "data/batches/normalisation.h"
#include "data/tensors/half.h"

namespace sluice::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BatchOrderTest, EachExampleIsSeenOnceAnEpoch) {
  for (const bool drop_last : {false, true}) {
    BatchOrder order({.examples = 103, .batch = 10, .drop_last = drop_last, .seed = 5});
    EXPECT_EQ(order.steps_per_epoch(), drop_last ? 10 : 11);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<std::int64_t> seen;
      for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
        const auto batch = order.At(epoch * order.steps_per_epoch() + step);
        EXPECT_EQ(batch.size(), step < 10 ? 10U : 3U);
        for (const std::int64_t each : batch) {
          EXPECT_TRUE(each >= 0 && each < 103);
          EXPECT_TRUE(seen.insert(each).second);
        }
      }
      EXPECT_EQ(seen.size(), drop_last ? 100U : 103U);
    }
  }
}

TEST(BatchOrderTest, AStepIsTheSameWhereverTrainingBegins) {
  const BatchOrder::Options options{.examples = 50, .batch = 7, .drop_last = false, .seed = 9};
  BatchOrder whole(options);
  std::vector<std::vector<std::int64_t>> batches;
  for (std::int64_t step = 0; step < 100; ++step) batches.push_back(whole.At(step));
  for (const std::int64_t begin : {99, 0, 42, 7, 8, 63}) {
    BatchOrder resumed(options);
    for (std::int64_t step = begin; step < std::min<std::int64_t>(begin + 12, 100); ++step)
      EXPECT_EQ(resumed.At(step), batches[static_cast<std::size_t>(step)]) << step;
  }
  // Members at many steps at once: epochs are forgotten and drawn again.
  for (const std::int64_t step : {3, 90, 11, 60, 30, 20, 3, 75, 90})
    EXPECT_EQ(whole.At(step), batches[static_cast<std::size_t>(step)]);
  EXPECT_NE(batches[0], batches[static_cast<std::size_t>(whole.steps_per_epoch())]);
  BatchOrder other({.examples = 50, .batch = 7, .drop_last = false, .seed = 10});
  EXPECT_NE(other.At(0), batches[0]);
}

// Other programs draw the same order by the words of the contract.
TEST(BatchOrderTest, TheOrderIsWhatTheContractSays) {
  BatchOrder order({.examples = 20, .batch = 20, .seed = 3});
  std::vector<std::int64_t> places(20);
  std::iota(places.begin(), places.end(), 0);
  Random random = Random(3).Fork("order").Fork(std::uint64_t{2});
  for (std::size_t i = 19; i > 0; --i) std::swap(places[i], places[random.Below(i + 1)]);
  EXPECT_EQ(order.At(2), places);
}

TEST(BatchOrderTest, ABatchLargerThanTheDataIsAllOfIt) {
  for (const bool drop_last : {false, true}) {
    BatchOrder order({.examples = 3, .batch = 8, .drop_last = drop_last, .seed = 1});
    EXPECT_EQ(order.steps_per_epoch(), 1);
    auto batch = order.At(5);
    std::ranges::sort(batch);
    EXPECT_THAT(batch, ElementsAre(0, 1, 2));
  }
}

TEST(BatchOrderTest, EveryPlaceIsEquallyLikely) {
  constexpr int kExamples = 10;
  constexpr int kEpochs = 4000;
  BatchOrder order({.examples = kExamples, .batch = kExamples, .seed = 77});
  std::array<std::array<int, kExamples>, kExamples> counts{};
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const auto batch = order.At(epoch);
    for (std::size_t place = 0; place < kExamples; ++place)
      ++counts[place][static_cast<std::size_t>(batch[place])];
  }
  // Chi-squared with 81 degrees of freedom exceeds 142 one time in 30,000.
  double statistic = 0;
  constexpr double kExpected = static_cast<double>(kEpochs) / kExamples;
  for (const auto& row : counts)
    for (const int count : row) statistic += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(statistic, 142);
}

TEST(AugmentationTest, DrawsDependOnSeedStepAndPlaceAlone) {
  const Augmentation how{.crop_padding = 4, .flip = true};
  std::set<std::array<std::int64_t, 3>> seen;
  std::array<int, 9> tops{};
  int flipped = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const auto draw = DrawAugmentation(how, 1, i / 100, i % 100);
    EXPECT_EQ(draw, DrawAugmentation(how, 1, i / 100, i % 100));
    ASSERT_TRUE(draw.top >= 0 && draw.top <= 8 && draw.left >= 0 && draw.left <= 8);
    ++tops[static_cast<std::size_t>(draw.top)];
    flipped += draw.flipped ? 1 : 0;
    seen.insert({draw.top, draw.left, draw.flipped ? 1 : 0});
  }
  EXPECT_EQ(seen.size(), 162U) << "every cut and flip occurs";
  EXPECT_NEAR(flipped, kDraws / 2, 5 * std::sqrt(kDraws / 4.0));
  for (const int count : tops) EXPECT_NEAR(count, kDraws / 9.0, 5 * std::sqrt(kDraws / 9.0));
  EXPECT_FALSE(DrawAugmentation({.crop_padding = 4}, 1, 0, 0).flipped);
  int same = 0;
  for (int i = 0; i < 100; ++i)
    same += DrawAugmentation(how, 1, i, 0) == DrawAugmentation(how, 2, i, 0) ? 1 : 0;
  EXPECT_LT(same, 10) << "another seed gives other draws";
}

std::string Moved(const TensorType& type, std::int64_t padding, const AugmentationDraw& draw,
                  const std::string& image) {
  std::string into(image.size(), '?');
  Augment(type, {.crop_padding = padding, .flip = true}, draw, image, into);
  return into;
}

TEST(AugmentationTest, ImagesAreCutAndMirrored) {
  const TensorType image{DType::kUint8, {2, 2, 3}};
  const std::string pixels = "abcdefghijkl";
  EXPECT_EQ(Moved(image, 1, {1, 1, false}, pixels), pixels);
  EXPECT_EQ(Moved(image, 1, {1, 1, true}, pixels), "cbafedihglkj");
  EXPECT_EQ(Moved(image, 1, {0, 1, false}, pixels), std::string("\0\0\0abc\0\0\0ghi", 12));
  EXPECT_EQ(Moved(image, 1, {2, 2, false}, pixels), std::string("ef\0\0\0\0kl\0\0\0\0", 12));
  EXPECT_EQ(Moved(image, 1, {1, 2, true}, pixels), std::string("\0cb\0fe\0ih\0lk", 12));
  const TensorType wide{DType::kUint16, {1, 2}};
  EXPECT_EQ(Moved(wide, 0, {0, 0, true}, "AaBb"), "BbAa");
}

// Examples in memory.
class ListedExamples final : public Examples {
 public:
  ListedExamples(TensorType input, std::vector<std::string> inputs)
      : input_(std::move(input)), target_{DType::kInt64, {}}, inputs_(std::move(inputs)) {}
  std::int64_t count() const override { return static_cast<std::int64_t>(inputs_.size()); }
  const TensorType& input() const override { return input_; }
  const TensorType& target() const override { return target_; }
  std::int64_t classes() const override { return 1; }
  Status ReadInput(std::int64_t which, std::span<char> into) const override {
    std::ranges::copy(inputs_[static_cast<std::size_t>(which)], into.begin());
    return {};
  }
  Status ReadTarget(std::int64_t, std::span<char> into) const override {
    std::ranges::fill(into, '\0');
    return {};
  }

 private:
  TensorType input_;
  TensorType target_;
  std::vector<std::string> inputs_;
};

template <typename T>
std::string BytesOfAll(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(NormalisationTest, IsMeasuredForEachChannel) {
  const ListedExamples images({DType::kUint8, {2, 1, 2}},
                              {std::string("\0\xff\x10\x10", 4), std::string("\0\xff\x10\x10", 4)});
  const auto measured = MeasureNormalisation(images);
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->mean, ElementsAre(0.5, 16 / 255.0));
  EXPECT_THAT(measured->deviation, ElementsAre(0.5, 1)) << "a channel that never changes has 1";

  // A large mean costs no digits.
  const ListedExamples numbers(
      {DType::kFloat64, {2}}, {BytesOfAll<double>({1e9 + 1, 5}), BytesOfAll<double>({1e9 + 3, 7})});
  const auto large = MeasureNormalisation(numbers);
  ASSERT_TRUE(large);
  EXPECT_THAT(large->mean, ElementsAre(1e9 + 2, 6));
  EXPECT_THAT(large->deviation, ElementsAre(1, 1));

  const ListedExamples bad({DType::kFloat32, {1}},
                           {BytesOfAll<float>({1}), BytesOfAll<float>({HUGE_VALF})});
  const auto refused = MeasureNormalisation(bad);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("an infinity or a larger one in example 1"));
}

// As it was written first: each byte is counted, and what differs from the least is summed up.
std::pair<double, double> MeasuredByCounts(const std::string& bytes) {
  std::array<double, 256> counts{};
  for (const char byte : bytes) ++counts[static_cast<unsigned char>(byte)];
  const auto origin = static_cast<double>(
      std::ranges::find_if(counts, [](double each) { return each > 0; }) - counts.begin());
  double sum = 0;
  double squares = 0;
  for (std::size_t byte = 0; byte < counts.size(); ++byte) {
    const double offset = static_cast<double>(byte) - origin;
    sum += counts[byte] * offset;
    squares += counts[byte] * offset * offset;
  }
  const auto count = static_cast<double>(bytes.size());
  const double variance = squares / count - sum / count * (sum / count);
  return {(origin + sum / count) / 255, variance > 0 ? std::sqrt(variance) / 255 : 1};
}

TEST(NormalisationTest, BytesAreMeasuredToTheLastBit) {
  Random random(3);
  for (const std::size_t features : {1U, 3U, 300U}) {
    std::vector<std::string> inputs(50, std::string(features, '\0'));
    std::vector<std::string> columns(features);
    for (std::string& input : inputs) {
      for (std::size_t feature = 0; feature < features; ++feature) {
        input[feature] = static_cast<char>(100 + random.Below(2 + feature % 156));
        columns[feature] += input[feature];
      }
    }
    const ListedExamples vectors({DType::kUint8, {static_cast<std::int64_t>(features)}}, inputs);
    const auto measured = MeasureNormalisation(vectors);
    ASSERT_TRUE(measured);
    for (std::size_t feature = 0; feature < features; ++feature) {
      const auto [mean, deviation] = MeasuredByCounts(columns[feature]);
      EXPECT_EQ(measured->mean[feature], mean);
      EXPECT_EQ(measured->deviation[feature], deviation);
    }
  }
}

// The largest example that an .npy file may have. None of its bytes are read here.
std::shared_ptr<ListedExamples> LargestVector() {
  return std::make_shared<ListedExamples>(TensorType{DType::kUint8, {std::int64_t{1} << 26}},
                                          std::vector<std::string>{std::string()});
}

TEST(NormalisationTest, TooManyFeaturesAreNotMeasured) {
  const auto refused = MeasureNormalisation(*LargestVector());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("normalise: expected at most 1048576 features, each of which has a mean "
                        "and a deviation of its own, found 67108864"));
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(BatchReaderTest, NormalisesAsTheContractSays) {
  const auto images = std::make_shared<ListedExamples>(
      TensorType{DType::kUint8, {2, 1, 1}},
      std::vector<std::string>{std::string("\x00\xff", 2), std::string("\x64\x32", 2)});
  const BatchReader reader(images, {.mean = {0.4, 0.6}, .deviation = {0.25, 0.5}}, {}, 0);
  EXPECT_EQ(reader.input(), (TensorType{DType::kFloat32, {2, 1, 1}}));
  std::string bytes(16, '\0');
  const std::vector<std::int64_t> which = {1, 0};
  ASSERT_TRUE(reader.ReadForEvaluation(which, bytes));
  EXPECT_THAT(FloatsOf(bytes), ElementsAre(static_cast<float>((100 / 255.0 - 0.4) / 0.25),
                                           static_cast<float>((50 / 255.0 - 0.6) / 0.5),
                                           static_cast<float>((0 - 0.4) / 0.25),
                                           static_cast<float>((1 - 0.6) / 0.5)));
  std::string targets(16, '?');
  ASSERT_TRUE(reader.ReadTargets(which, targets));
  EXPECT_EQ(targets, std::string(16, '\0'));
}

TEST(BatchReaderTest, ALargeVectorTakesNoTableForEachFeature) {
  const BatchReader reader(LargestVector(), {}, {}, 0);  // 64 GiB of tables would not fit
  EXPECT_EQ(reader.input().shape, LargestVector()->input().shape);
}

// Few elements of a mean are computed one by one, many are looked up: the bits are the same.
TEST(BatchReaderTest, BytesBecomeTheSameNumbersWithATableAndWithout) {
  const std::vector<double> means = {0.1, 0.45};
  const std::vector<double> deviations = {0.3, 0.7};
  for (const std::int64_t wide : {1, 255, 256, 300}) {
    std::string pixels(static_cast<std::size_t>(2 * wide), '\0');
    std::iota(pixels.begin(), pixels.end(), '\0');
    const auto images = std::make_shared<ListedExamples>(TensorType{DType::kUint8, {2, 1, wide}},
                                                         std::vector<std::string>{pixels});
    for (const bool several : {true, false}) {  // deviations
      const BatchReader reader(
          images, {.mean = means, .deviation = several ? deviations : std::vector<double>{0.3}}, {},
          0);
      std::string bytes(pixels.size() * sizeof(float), '\0');
      ASSERT_TRUE(reader.ReadForEvaluation(std::vector<std::int64_t>{0}, bytes));
      const std::vector<float> found = FloatsOf(bytes);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t channel = i / static_cast<std::size_t>(wide);
        const double deviation = several ? deviations[channel] : 0.3;
        EXPECT_EQ(found[i],
                  static_cast<float>(
                      (static_cast<unsigned char>(pixels[i]) / 255.0 - means[channel]) / deviation))
            << i << " of " << wide;
      }
    }
  }
}

TEST(BatchReaderTest, ReadsEveryTypeOfNumbers) {
  const std::vector<std::pair<DType, std::string>> inputs = {
      {DType::kFloat16, BytesOfAll<std::uint16_t>({0x3c00, 0xc100})},
      {DType::kBfloat16, BytesOfAll<std::uint16_t>({0x3f80, 0xc020})},
      {DType::kFloat32, BytesOfAll<float>({1, -2.5F})},
      {DType::kFloat64, BytesOfAll<double>({1, -2.5})}};
  for (const auto& [dtype, raw] : inputs) {
    const auto examples =
        std::make_shared<ListedExamples>(TensorType{dtype, {2}}, std::vector<std::string>{raw});
    const BatchReader reader(examples, {.mean = {1}, .deviation = {2}}, {}, 0);
    std::string bytes(8, '\0');
    ASSERT_TRUE(reader.ReadForEvaluation(std::vector<std::int64_t>{0}, bytes));
    EXPECT_THAT(FloatsOf(bytes), ElementsAre(0.0F, -1.75F)) << Name(dtype);
  }
}

TEST(BatchReaderTest, TrainingVariesImagesByStepAndPlace) {
  const TensorType image{DType::kUint8, {1, 4, 4}};
  std::string pixels(16, '\0');
  std::iota(pixels.begin(), pixels.end(), '\1');
  const auto images =
      std::make_shared<ListedExamples>(image, std::vector<std::string>{pixels, pixels});
  const Augmentation how{.crop_padding = 2, .flip = true};
  const BatchReader reader(images, {.mean = {0.5}, .deviation = {1}}, how, 21);
  const std::vector<std::int64_t> which = {0, 1, 0};
  std::string bytes(3 * 64, '\0');
  ASSERT_TRUE(reader.ReadForTraining(17, which, bytes));
  for (std::int64_t place = 0; place < 3; ++place) {
    const std::string moved = Moved(image, 2, DrawAugmentation(how, 21, 17, place), pixels);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(FloatsOf(bytes)[static_cast<std::size_t>(place) * 16 + i],
                static_cast<float>(moved[i] / 255.0 - 0.5));
    }
  }
  std::string again(3 * 64, '\0');
  ASSERT_TRUE(reader.ReadForTraining(18, which, again));
  EXPECT_NE(again, bytes);
  ASSERT_TRUE(reader.ReadForEvaluation(which, again));
  EXPECT_EQ(again.substr(0, 64), again.substr(64, 64)) << "evaluation varies nothing";
}

TEST(BatchReaderTest, TokensStayAsTheyAre) {
  const auto tokens = std::make_shared<ListedExamples>(
      TensorType{DType::kInt64, {2}}, std::vector<std::string>{BytesOfAll<std::int64_t>({7, 9})});
  const BatchReader reader(tokens, {}, {}, 0);
  std::string bytes(16, '\0');
  ASSERT_TRUE(reader.ReadForTraining(0, std::vector<std::int64_t>{0}, bytes));
  EXPECT_EQ(bytes, BytesOfAll<std::int64_t>({7, 9}));
  EXPECT_FALSE(CheckAugmentation({.flip = true}, tokens->input()));
}

TEST(HalfTest, HasTheValuesOfIeee) {
  EXPECT_EQ(FromFloat16(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(FromFloat16(0x03ff), std::ldexp(1023.0F, -24));
  EXPECT_EQ(FromFloat16(0x7bff), 65504.0F);
  EXPECT_EQ(FromFloat16(0xfc00), -HUGE_VALF);
  EXPECT_TRUE(std::isnan(FromFloat16(0x7e00)));
  EXPECT_TRUE(std::signbit(FromFloat16(0x8000)));
}

}  // namespace
}  // namespace sluice::data
