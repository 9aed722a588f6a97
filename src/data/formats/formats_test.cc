#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/formats/cifar.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "data/formats/rows.h"
#include "data/test_files.h"

namespace sluice::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Reader = Result<Rows> (*)(std::shared_ptr<const ByteSource>, const std::string&);

Result<Rows> ReadAll(Reader reader, std::string bytes) {
  return reader(FromMemory(std::move(bytes)), "it");
}

std::string MessageOf(Reader reader, std::string bytes) {
  const auto rows = ReadAll(reader, std::move(bytes));
  if (rows) return "it was taken";
  EXPECT_THAT(rows.error().message, StartsWith("it: "));
  return rows.error().message;
}

std::string RowOf(const Rows& rows, std::int64_t row) {
  std::string bytes(*BytesOf(rows.type), '\0');
  EXPECT_TRUE(rows.Read(row, bytes));
  return bytes;
}

TEST(IdxTest, ReadsImagesAndLabels) {
  const auto images = ReadAll(ReadIdx, IdxBytes({2, 2, 3}, "abcdefghijkl"));
  ASSERT_TRUE(images) << images.error().message;
  EXPECT_EQ(images->count, 2);
  EXPECT_EQ(images->type, (TensorType{DType::kUint8, {2, 3}}));
  EXPECT_EQ(RowOf(*images, 1), "ghijkl");
  const auto labels = ReadAll(ReadIdx, IdxBytes({3}, "\1\2\3"));
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->type, (TensorType{DType::kUint8, {}}));
  EXPECT_EQ(RowOf(*labels, 2), "\3");
}

TEST(IdxTest, RefusesOtherFilesAndDamage) {
  EXPECT_THAT(MessageOf(ReadIdx, ""), HasSubstr("found an empty file"));
  EXPECT_THAT(MessageOf(ReadIdx, "\x1f\x8b\x08 packed"),
              HasSubstr("which is gzip: unpack it with 'sluice data import'"));
  EXPECT_THAT(MessageOf(ReadIdx, "text"), HasSubstr("found 74 65 78 74"));
  EXPECT_THAT(MessageOf(ReadIdx, IdxBytes({2, 2, 3}, "abcdefghijk")),
              HasSubstr("expected 12 bytes of uint8 [2, 2, 3] after its header, found 11: is it "
                        "truncated?"));
  EXPECT_THAT(MessageOf(ReadIdx, IdxBytes({2}, "abc")), HasSubstr("is something appended?"));
  EXPECT_THAT(MessageOf(ReadIdx, IdxBytes({2, 2}, "").substr(0, 9)),
              HasSubstr("expected a header of 12 bytes, found 9"));
  EXPECT_THAT(MessageOf(ReadIdx, IdxBytes({0, 28, 28}, "")),
              HasSubstr("expected examples, found none"));
  EXPECT_THAT(MessageOf(ReadIdx, IdxBytes({~0U, ~0U, ~0U}, "")),
              HasSubstr("expected an array of examples"));
  std::string floats = IdxBytes({1}, "abcd");
  floats[2] = 0x0d;
  EXPECT_THAT(MessageOf(ReadIdx, floats), HasSubstr("found 0d: convert it to .npy"));
}

TEST(CifarTest, ReadsLabelsBetweenImages) {
  std::string bytes;
  for (char label = 0; label < 3; ++label)
    bytes += label + std::string(3072, static_cast<char>('a' + label));
  const auto cifar = ReadCifar(FromMemory(bytes), "it");
  ASSERT_TRUE(cifar);
  EXPECT_EQ(cifar->images.count, 3);
  EXPECT_EQ(RowOf(cifar->images, 2), std::string(3072, 'c'));
  EXPECT_EQ(RowOf(cifar->labels, 1), std::string(1, '\1'));
  bytes.pop_back();
  for (const std::string& wrong : {bytes, std::string()}) {
    const auto refused = ReadCifar(FromMemory(wrong), "it");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                HasSubstr(fmt::format("a multiple of 3073 bytes, found {}", wrong.size())));
  }
}

TEST(NpyTest, ReadsArraysOfAllVersions) {
  const auto array = ReadAll(ReadNpy, NpyBytes("<i4", "(3, 2)", "aaaabbbbccccddddeeeeffff"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->count, 3);
  EXPECT_EQ(array->type, (TensorType{DType::kInt32, {2}}));
  EXPECT_EQ(RowOf(*array, 1), "ccccdddd");
  std::string second = NpyBytes("|u1", "(2,)", "xy");
  const std::string length = second.substr(8, 2);
  second = std::string("\x93NUMPY\x02\0", 8) + length + std::string(2, '\0') + second.substr(10);
  for (const char version : {'\2', '\3'}) {
    second[6] = version;
    const auto other = ReadAll(ReadNpy, second);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->type, (TensorType{DType::kUint8, {}}));
    EXPECT_EQ(RowOf(*other, 1), "y");
  }
  // One axis is in both orders at once, and Python 2 wrote longs.
  EXPECT_TRUE(ReadAll(ReadNpy, NpyBytes("|u1", "(2L,)", "xy", "True")));
}

TEST(NpyTest, TypesAreKnown) {
  const std::pair<const char*, DType> types[] = {
      {"|u1", DType::kUint8},   {"|i1", DType::kInt8},   {"<u2", DType::kUint16},
      {"<i2", DType::kInt16},   {"<u4", DType::kUint32}, {"<i4", DType::kInt32},
      {"<u8", DType::kUint64},  {"<i8", DType::kInt64},  {"<f2", DType::kFloat16},
      {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}};
  for (const auto& [name, dtype] : types) {
    const auto array = ReadAll(ReadNpy, NpyBytes(name, "(1, 1)", std::string(BytesOf(dtype), 'x')));
    ASSERT_TRUE(array) << name;
    EXPECT_EQ(array->type.dtype, dtype);
  }
}

TEST(NpyTest, RefusesWhatItCannotReadAndSaysWhatToDo) {
  const auto message = [](std::string_view descr, std::string_view shape,
                          std::string_view order = "False") {
    return MessageOf(ReadNpy, NpyBytes(descr, shape, "abcdefgh", order));
  };
  EXPECT_THAT(message("<f4", "(1, 2)", "True"), HasSubstr("numpy.ascontiguousarray(array)"));
  EXPECT_THAT(message(">f4", "(1, 2)"), HasSubstr("newbyteorder('<')"));
  EXPECT_THAT(message("|O", "(1,)"),
              AllOf(HasSubstr("found '|O'"), HasSubstr("astype('float32')")));
  EXPECT_THAT(message("<c8", "(1,)"), HasSubstr("found '<c8'"));
  EXPECT_THAT(message("<f4", "()"), HasSubstr("expected an array of examples, found float32 []"));
  EXPECT_THAT(message("<f4", "(3,)"), HasSubstr("expected 12 bytes of float32 [3]"));
  EXPECT_THAT(message("<f4", "(1,)"), HasSubstr("is something appended?"));
  EXPECT_THAT(message("<f4", "(-2,)"), HasSubstr("a header as numpy.save writes it"));
  EXPECT_THAT(message("<f4", "(9223372036854775807, 3)"), HasSubstr("an array of examples"));
  EXPECT_THAT(message("<f4", "(99999999999999999999,)"), HasSubstr("a header as numpy.save"));
  EXPECT_THAT(MessageOf(ReadNpy, ""), HasSubstr("found an empty file"));
  EXPECT_THAT(MessageOf(ReadNpy, "PK\x03\x04 packed.."), HasSubstr("'sluice data import'"));
  std::string strange = NpyBytes("|u1", "(8,)", "abcdefgh");
  EXPECT_THAT(MessageOf(ReadNpy, strange.substr(0, 40)), HasSubstr("is it truncated?"));
  strange[6] = 4;
  EXPECT_THAT(MessageOf(ReadNpy, strange), HasSubstr("found 4.0"));
  std::string record = NpyBytes("|u1", "(8,)", "abcdefgh");
  record.replace(record.find("'|u1'"), 5, "[('a'");
  EXPECT_THAT(MessageOf(ReadNpy, record), HasSubstr("found 'a record'"));
}

TEST(NpyTest, AnExampleIsBounded) {
  const std::string large(kMaxRowBytes + 2, 'x');
  const auto shape = [&](std::size_t rows) {
    return fmt::format("({}, {})", rows, large.size() / rows);
  };
  EXPECT_THAT(MessageOf(ReadNpy, NpyBytes("|u1", shape(1), large)),
              HasSubstr("expected examples of at most 67108864 bytes, found 67108866"));
  EXPECT_TRUE(ReadAll(ReadNpy, NpyBytes("|u1", shape(2), large)));
}

TEST(NpyTest, AHeaderThatWasWrittenIsRead) {
  for (const TensorType& type :
       {TensorType{DType::kUint8, {5, 3, 2, 2}}, TensorType{DType::kInt64, {7}},
        TensorType{DType::kFloat32, {1, 1}}}) {
    const std::string header = NpyHeader(type);
    EXPECT_EQ(header.size() % 64, 0U);
    const auto rows = ReadAll(ReadNpy, header + std::string(*BytesOf(type), 'x'));
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->count, type.shape[0]);
    EXPECT_EQ(rows->type.dtype, type.dtype);
  }
}

}  // namespace
}  // namespace sluice::data
