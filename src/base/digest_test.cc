#include "base/digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace sluice {
namespace {

TEST(DigestTest, KnownVectorsStayFixed) {
  EXPECT_EQ(Digest().Add("abc").Add(1.5).Add(-3).Value(), 0xe63df787218630f6u);
  EXPECT_EQ(ToHex(Digest().Add("").Value()), "a2fca63c3a169ca9");
  EXPECT_EQ(ToHex(0x1f), "000000000000001f");
}

TEST(DigestTest, OrderAndBoundariesCount) {
  const std::set<std::uint64_t> digests = {
      Digest().Value(),
      Digest().Add("").Value(),
      Digest().Add("").Add("").Value(),
      Digest().Add("ab").Add("c").Value(),
      Digest().Add("a").Add("bc").Value(),
      Digest().Add("abc").Value(),
      Digest().Add(1).Add(2).Value(),
      Digest().Add(2).Add(1).Value(),
      Digest().Add(0).Value(),
      Digest().Add(1.0).Value(),
  };
  EXPECT_EQ(digests.size(), 10u);
}

TEST(DigestTest, AllNansAreOne) {
  const double other_nan = std::bit_cast<double>(0xfff8000000000123u);
  ASSERT_TRUE(std::isnan(other_nan));
  EXPECT_EQ(Digest().Add(other_nan).Value(),
            Digest().Add(std::numeric_limits<double>::quiet_NaN()).Value());
}

TEST(DigestTest, IntegersOfOneValueAreOne) {
  EXPECT_EQ(Digest().Add(std::uint8_t{7}).Value(), Digest().Add(std::int64_t{7}).Value());
  EXPECT_EQ(Digest().Add(-1).Value(), Digest().Add(std::int64_t{-1}).Value());
}

}  // namespace
}  // namespace sluice
