#include "data/tensors/tensor_type.h"

#include <gtest/gtest.h>

namespace sluice::data {
namespace {

TEST(TensorTypeTest, SizesAreProductsThatDoNotOverflow) {
  EXPECT_EQ(ElementsOf({}), 1U);
  EXPECT_EQ(ElementsOf(std::vector<std::int64_t>{3, 4}), 12U);
  EXPECT_EQ(ElementsOf(std::vector<std::int64_t>{3, 0, 4}), 0U);
  EXPECT_EQ(ElementsOf(std::vector<std::int64_t>{std::int64_t{1} << 31, std::int64_t{1} << 31}),
            std::uint64_t{1} << 62);
  EXPECT_FALSE(ElementsOf(std::vector<std::int64_t>{std::int64_t{1} << 32, std::int64_t{1} << 31}));
  EXPECT_FALSE(ElementsOf(std::vector<std::int64_t>{INT64_MAX, INT64_MAX, 0}));
  EXPECT_FALSE(ElementsOf(std::vector<std::int64_t>{-1}));
  EXPECT_FALSE(BytesOf(TensorType{DType::kInt64, {std::int64_t{1} << 60}}));
  EXPECT_EQ(BytesOf(TensorType{DType::kBfloat16, {2, 3}}), 12U);
}

TEST(TensorTypeTest, NamesOfTypesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(FromSafetensorsName(SafetensorsName(dtype)), dtype);
    EXPECT_FALSE(Name(dtype).empty());
  }
  EXPECT_FALSE(FromSafetensorsName("F8_E4M3"));
  EXPECT_EQ(Text({DType::kFloat32, {3, 32, 32}}), "float32 [3, 32, 32]");
}

}  // namespace
}  // namespace sluice::data
