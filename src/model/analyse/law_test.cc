#include "model/analyse/law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/read/test_program.h"
#include "model/read/test_zip.h"

namespace sluice::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
Law Measured(const std::vector<T>& elements, DType dtype) {
  std::string bytes;
  for (const T element : elements) AppendBytes(bytes, element);
  return MeasureLaw(bytes, dtype);
}

std::vector<double> Normal(double mean, double deviation, int count = 4000) {
  Random random(1);
  std::vector<double> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(mean + deviation * random.Normal());
  return drawn;
}

std::vector<double> Uniform(double low, double high, int count = 4000) {
  Random random(2);
  std::vector<double> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(random.Uniform(low, high));
  return drawn;
}

TEST(MeasureLawTest, SeesConstants) {
  const Law zeros = Measured<float>({0, 0, 0}, DType::kFloat32);
  EXPECT_EQ(zeros.kind, Law::Kind::kConstant);
  EXPECT_EQ(zeros.mean, 0);
  const Law ones = Measured<double>({1.5, 1.5}, DType::kFloat64);
  EXPECT_EQ(ones.kind, Law::Kind::kConstant);
  EXPECT_EQ(ones.mean, 1.5);
  EXPECT_EQ(ones.deviation, 0);
  EXPECT_EQ(Measured<float>({7}, DType::kFloat32).kind, Law::Kind::kConstant);
  EXPECT_EQ(Measured<float>({}, DType::kFloat32).kind, Law::Kind::kUnknown);
}

TEST(MeasureLawTest, TellsNormalFromUniform) {
  const Law normal = Measured(Normal(3, 0.02), DType::kFloat64);
  EXPECT_EQ(normal.kind, Law::Kind::kNormal);
  EXPECT_NEAR(normal.mean, 3, 0.001);
  EXPECT_NEAR(normal.deviation, 0.02, 0.001);
  const Law uniform = Measured(Uniform(-0.5, 0.5), DType::kFloat64);
  EXPECT_EQ(uniform.kind, Law::Kind::kUniform);
  EXPECT_NEAR(uniform.mean, 0, 0.02);
  EXPECT_NEAR(uniform.deviation, 1 / std::sqrt(12.0), 0.01);
}

TEST(MeasureLawTest, DoesSoWhateverTheMagnitude) {
  for (const double scale : {1e-300, 1e-100, 1e-10, 1e10, 1e100, 1e300}) {
    const Law normal = Measured(Normal(0, scale), DType::kFloat64);
    EXPECT_EQ(normal.kind, Law::Kind::kNormal) << scale;
    EXPECT_NEAR(normal.deviation / scale, 1, 0.05) << scale;
    EXPECT_EQ(Measured(Uniform(0, scale), DType::kFloat64).kind, Law::Kind::kUniform) << scale;
  }
}

TEST(MeasureLawTest, ReadsHalves) {
  // 1, -2, the smallest above 0, and 0.
  const Law halves = Measured<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x0000}, DType::kFloat16);
  EXPECT_DOUBLE_EQ(halves.mean, (1 - 2 + std::ldexp(1.0, -24)) / 4);
  EXPECT_EQ(Measured<std::uint16_t>({0x7bff}, DType::kFloat16).mean, 65504);
  EXPECT_EQ(Measured<std::uint16_t>({0x7c00, 0}, DType::kFloat16).kind, Law::Kind::kUnknown);
  EXPECT_EQ(Measured<std::uint16_t>({0x7e00, 0}, DType::kFloat16).kind, Law::Kind::kUnknown);
  EXPECT_EQ(Measured<std::uint16_t>({0x3f80, 0xc000}, DType::kBfloat16).mean, -0.5);
  EXPECT_EQ(Measured<std::uint16_t>({0x7f80, 0}, DType::kBfloat16).kind, Law::Kind::kUnknown);
}

TEST(MeasureLawTest, ReadsIntegers) {
  EXPECT_EQ(Measured<std::uint8_t>({200, 100}, DType::kUint8).mean, 150);
  EXPECT_EQ(Measured<std::int8_t>({-100, 50}, DType::kInt8).mean, -25);
  EXPECT_EQ(Measured<std::int16_t>({-300, 100}, DType::kInt16).mean, -100);
  EXPECT_EQ(Measured<std::int32_t>({-70'000, 0}, DType::kInt32).mean, -35'000);
  EXPECT_EQ(Measured<std::int64_t>({0}, DType::kInt64).kind, Law::Kind::kConstant);
  EXPECT_EQ(Measured<std::uint8_t>({1, 0, 1, 0}, DType::kBool).mean, 0.5);
}

TEST(MeasureLawTest, SaysNothingOfWhatIsNotFinite) {
  const float nan = std::nanf("");
  for (const std::vector<float>& elements : {std::vector<float>{0, -kInfinity},
                                             {kInfinity, kInfinity},
                                             {nan},
                                             {nan, nan},
                                             {kInfinity, -kInfinity},
                                             {1, nan, 1}}) {
    const Law law = Measured(elements, DType::kFloat32);
    EXPECT_EQ(law.kind, Law::Kind::kUnknown);
    EXPECT_EQ(law.mean, 0);
    EXPECT_EQ(law.deviation, 0);
  }
  EXPECT_EQ(Measured<float>({1, 1}, DType::kComplex64).kind, Law::Kind::kUnknown);
}

TEST(MeasureLawsTest, MeasuresAllParametersFromAPartOfEach) {
  TestProgram made = TestProgram::Minimal();
  made.AddParameter("bias", "p_bias", {4000}, "weight_1");
  made.AddParameter("nowhere", "p_nowhere", {4}, "weight_2");
  std::string drawn;
  for (const double number : Normal(0, 1)) AppendBytes(drawn, static_cast<float>(number));
  const TestZip zip{.members = {{"net/data/weights/weight_0", std::string(48, '\0')},
                                {"net/data/weights/weight_1", drawn},
                                {"net/data/weights/weight_2", ""},
                                {"net/data/weights/model_weights_config.json", made.weights.dump()},
                                {"net/models/model.json", made.program.dump()},
                                {"net/archive_format", "pt2"},
                                {"net/archive_version", "0"},
                                {"net/byteorder", "little"}}};
  const auto archive = Archive::Open(FromMemory(zip.Bytes()), "net.pt2");
  ASSERT_TRUE(archive) << archive.error().message;
  for (const std::size_t most_bytes : {std::size_t{1} << 20, std::size_t{8000}}) {
    const auto laws = MeasureLaws(*archive, most_bytes);
    ASSERT_TRUE(laws);
    ASSERT_EQ(laws->size(), 3U);
    EXPECT_EQ((*laws)[0].kind, Law::Kind::kConstant);
    EXPECT_EQ((*laws)[1].kind, Law::Kind::kNormal);
    EXPECT_EQ((*laws)[2].kind, Law::Kind::kUnknown);
  }
  const auto none = MeasureLaws(*archive, 3);
  ASSERT_TRUE(none);
  EXPECT_EQ((*none)[1].kind, Law::Kind::kUnknown) << "not even one element";
}

TEST(LawTest, HasNames) {
  EXPECT_EQ(Name(Law::Kind::kUniform), "uniform");
  EXPECT_EQ(Name(Law::Kind::kConstant), "constant");
}

}  // namespace
}  // namespace sluice::model
