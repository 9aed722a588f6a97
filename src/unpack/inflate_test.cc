#include "unpack/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "unpack/test_packed.h"

namespace sluice::unpack {
namespace {

using testing::HasSubstr;

struct Inflated {
  std::string bytes;
  std::string error;
};

Inflated InflateAll(const std::string& packed, Packing packing, std::uint64_t most = 1 << 30) {
  Inflated inflated;
  const auto done =
      Inflate(*FromMemory(packed), packing, most, [&](std::span<const char> piece) -> Status {
        inflated.bytes.append(piece.data(), piece.size());
        return {};
      });
  if (!done) {
    inflated.error = done.error().message;
  } else {
    EXPECT_EQ(*done, inflated.bytes.size());
  }
  return inflated;
}

std::string Varied(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 27);
  return bytes;
}

TEST(InflateTest, UnpacksWhatWasPacked) {
  for (const std::size_t size : {0, 1, 100, 131072, 700'000}) {
    const std::string bytes = Varied(size);
    EXPECT_EQ(InflateAll(Deflated(bytes, true), Packing::kGzip).bytes, bytes);
    EXPECT_EQ(InflateAll(Deflated(bytes, false), Packing::kDeflate).bytes, bytes);
  }
  const std::string two = Deflated("one, ", true) + Deflated("two", true);
  EXPECT_EQ(InflateAll(two, Packing::kGzip).bytes, "one, two");
}

TEST(InflateTest, ABombIsDefused) {
  const std::string bomb = Deflated(std::string(100'000'000, '\0'), true);
  EXPECT_LT(bomb.size(), 200'000U);
  const Inflated inflated = InflateAll(bomb, Packing::kGzip, 1'000'000);
  EXPECT_THAT(inflated.error, HasSubstr("expected at most 1000000 bytes unpacked, found more"));
  EXPECT_LE(inflated.bytes.size(), 1'000'000U);
  EXPECT_EQ(InflateAll(Deflated("12345", true), Packing::kGzip, 5).error, "");
}

TEST(InflateTest, DamageIsFound) {
  const std::string packed = Deflated(Varied(100'000), true);
  EXPECT_THAT(InflateAll("", Packing::kGzip).error, HasSubstr("is it truncated?"));
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{20}, packed.size() / 2, packed.size() - 1})
    EXPECT_THAT(InflateAll(packed.substr(0, length), Packing::kGzip).error,
                HasSubstr("is it truncated?"));
  std::string wrong = packed;
  wrong[wrong.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(InflateAll(wrong, Packing::kGzip).error, HasSubstr("damaged: incorrect data check"));
  EXPECT_THAT(InflateAll(packed + "x", Packing::kGzip).error, HasSubstr("is it truncated?"));
  EXPECT_THAT(InflateAll(packed + "something", Packing::kGzip).error, HasSubstr("damaged"));
  EXPECT_THAT(InflateAll(Deflated("x", false) + "y", Packing::kDeflate).error,
              HasSubstr("expected nothing after"));
}

TEST(InflateTest, AnErrorOfTheSinkIsHandedOn) {
  const auto done = Inflate(*FromMemory(Deflated("x", true)), Packing::kGzip, 10,
                            [](std::span<const char>) -> Status { return Unavailable("full"); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "full");
}

}  // namespace
}  // namespace sluice::unpack
