#include "unpack/png_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "unpack/test_packed.h"

namespace sluice::unpack {
namespace {

using testing::HasSubstr;

// All rows, or the error.
std::string RowsOfPicture(const std::string& bytes) {
  auto sheet = PngSheet::Open(FromMemory(bytes));
  if (!sheet) return "refused: " + sheet.error().message;
  PngSheet moved = std::move(*sheet);
  std::string all;
  std::string row(std::size_t{moved.width()} * moved.channels(), '\0');
  for (std::uint32_t y = 0; y < moved.height(); ++y) {
    const Status read = moved.ReadRow(row);
    if (!read) return "refused: " + read.error().message;
    all += row;
  }
  return all;
}

const TestPicture kPicture = {.width = 2, .height = 3, .pixels = "abcdefghijklmnopqr"};

TEST(PngSheetTest, ReadsRowsOfPixels) {
  EXPECT_EQ(RowsOfPicture(kPicture.Bytes()), kPicture.pixels);
  const TestPicture gray = {.width = 4, .height = 2, .colour = 0, .pixels = "abcdefgh"};
  EXPECT_EQ(RowsOfPicture(gray.Bytes()), "abcdefgh");
}

TEST(PngSheetTest, RefusesOtherPictures) {
  EXPECT_THAT(RowsOfPicture(""), HasSubstr("found another kind of file"));
  EXPECT_THAT(RowsOfPicture("GIF89a and more"), HasSubstr("found another kind of file"));
  TestPicture alpha = {.width = 1, .height = 1, .colour = 6, .pixels = "abcd"};
  EXPECT_THAT(RowsOfPicture(alpha.Bytes()), HasSubstr("colour type 6: convert it"));
  TestPicture interlaced = kPicture;
  interlaced.interlaced = 1;
  EXPECT_THAT(RowsOfPicture(interlaced.Bytes()), HasSubstr(", interlaced: convert it"));
  TestPicture deep = {.width = 1, .height = 1, .colour = 0, .pixels = "ab", .depth = 16};
  EXPECT_THAT(RowsOfPicture(deep.Bytes()), HasSubstr("found 16 bits"));
  TestPicture vast = {.width = 1 << 20, .height = 1, .pixels = ""};
  EXPECT_THAT(RowsOfPicture(vast.Bytes()), HasSubstr("found a damaged one: "));
}

TEST(PngSheetTest, EveryCutAndEveryChangedByteIsFound) {
  const std::string bytes = kPicture.Bytes();
  for (std::size_t length = 0; length + 4 < bytes.size(); ++length)
    EXPECT_THAT(RowsOfPicture(bytes.substr(0, length)), HasSubstr("refused: ")) << length;
  int found = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= 4;
    const std::string read = RowsOfPicture(changed);
    found += read.starts_with("refused: ") ? 1 : 0;
    EXPECT_TRUE(read.starts_with("refused: ") || read == kPicture.pixels) << at << ": " << read;
  }
  EXPECT_GT(found, static_cast<int>(bytes.size()) - 20);
}

}  // namespace
}  // namespace sluice::unpack
