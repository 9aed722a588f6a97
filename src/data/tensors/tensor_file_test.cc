#include "data/tensors/tensor_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/test_files.h"

namespace sluice::data {
namespace {

using testing::HasSubstr;

std::string SafetensorsBytes(std::string_view json, std::string_view elements) {
  std::string bytes;
  AppendNumber<std::uint64_t>(bytes, json.size());
  return bytes.append(json).append(elements);
}

Error RefusalOf(std::string bytes) {
  const auto opened = TensorFile::Open(FromMemory(std::move(bytes)), "w.safetensors");
  if (opened) return {ErrorCode::kUnavailable, "it was taken"};
  EXPECT_TRUE(opened.error().message.starts_with("w.safetensors: ")) << opened.error().message;
  return opened.error();
}

Error RefusalOf(std::string_view json, std::size_t data_bytes) {
  return RefusalOf(SafetensorsBytes(json, std::string(data_bytes, 'x')));
}

const std::vector<TensorFileWriter::Declared> kDeclared = {
    {"step", {DType::kInt64, {}}},
    {"b.weight", {DType::kFloat32, {2, 3}}},
    {"a.weight", {DType::kFloat32, {2}}},
    {"mask", {DType::kBool, {3}}},
    {"none", {DType::kFloat64, {0, 4}}},
    {"name with \"quotes\" and \xc3\xa4", {DType::kBfloat16, {1}}},
};

std::string ElementsFor(const TensorType& type, char first) {
  std::string bytes(*BytesOf(type), '\0');
  for (char& byte : bytes) byte = first++;
  return bytes;
}

Status WriteDeclared(const std::string& path, std::vector<TensorFileWriter::Declared> tensors) {
  SLUICE_ASSIGN(TensorFileWriter writer,
                TensorFileWriter::Create(path, tensors, {{"kind", "checkpoint"}, {"b", "\n"}}));
  for (const auto& tensor : tensors)
    SLUICE_TRY(writer.Write(tensor.name, ElementsFor(tensor.type, tensor.name.front())));
  return writer.Commit();
}

TEST(TensorFileTest, WhatWasWrittenIsRead) {
  const std::string path = TestFolder() + "w.safetensors";
  ASSERT_TRUE(WriteDeclared(path, kDeclared));
  const auto file = TensorFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tensors().size(), kDeclared.size());
  EXPECT_EQ(file->metadata(),
            (std::map<std::string, std::string>{{"kind", "checkpoint"}, {"b", "\n"}}));
  for (const auto& tensor : kDeclared) {
    const StoredTensor* stored = file->Find(tensor.name);
    ASSERT_NE(stored, nullptr) << tensor.name;
    EXPECT_EQ(stored->type, tensor.type);
    EXPECT_EQ(stored->begin % BytesOf(tensor.type.dtype), 0U) << "elements are aligned";
    std::string bytes(stored->bytes, '\0');
    ASSERT_TRUE(file->Read(*stored, bytes));
    EXPECT_EQ(bytes, ElementsFor(tensor.type, tensor.name.front()));
  }
  const StoredTensor* weight = file->Find("b.weight");
  std::string part(4, '\0');
  ASSERT_TRUE(file->Read(*weight, 8, part));
  EXPECT_EQ(part, "jklm");
  EXPECT_EQ(file->Find("c.weight"), nullptr);
}

TEST(TensorFileTest, TheSameTensorsGiveTheSameBytes) {
  const std::string folder = TestFolder();
  auto reversed = kDeclared;
  std::ranges::reverse(reversed);
  ASSERT_TRUE(WriteDeclared(folder + "one", kDeclared));
  ASSERT_TRUE(WriteDeclared(folder + "other", reversed));
  EXPECT_EQ(ReadFile(folder + "one"), ReadFile(folder + "other"));
}

TEST(TensorFileTest, AFileThatIsMovedIsStillRead) {
  const std::string path = TestFolder() + "w.safetensors";
  ASSERT_TRUE(WriteDeclared(path, kDeclared));
  auto file = TensorFile::Open(path);
  ASSERT_TRUE(file);
  const TensorFile moved = std::move(*file);
  EXPECT_NE(moved.Find("mask"), nullptr);
}

TEST(TensorFileTest, WithoutACommitTheOldFileStays) {
  const std::string folder = TestFolder();
  const std::string path = WriteFile(folder + "w.safetensors", "old");
  {
    auto writer = TensorFileWriter::Create(path, {{"a", {DType::kUint8, {1}}}}, {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Write("a", std::string("x")));
  }
  EXPECT_EQ(ReadFile(path), "old");
  using Files = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Files(folder), Files()), 1) << "no temporary file is left";
  ASSERT_TRUE(WriteDeclared(path, kDeclared));
  EXPECT_TRUE(TensorFile::Open(path));
  EXPECT_EQ(std::distance(Files(folder), Files()), 1);
}

TEST(TensorFileTest, RefusesToWriteWhatCouldNotBeRead) {
  const std::string path = TestFolder() + "w";
  const auto refusal = [&](std::vector<TensorFileWriter::Declared> tensors) {
    const auto writer = TensorFileWriter::Create(path, std::move(tensors), {});
    return writer ? std::string("it was taken") : writer.error().message;
  };
  const TensorType byte{DType::kUint8, {1}};
  EXPECT_THAT(refusal({{"a", byte}, {"a", byte}}), HasSubstr("'a' is there twice"));
  EXPECT_THAT(refusal({{"", byte}}), HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(refusal({{std::string(1025, 'n'), byte}}), HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(refusal({{"__metadata__", byte}}), HasSubstr("cannot be written"));
  EXPECT_THAT(refusal({{"\xff", byte}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({{"a", {DType::kFloat64, {std::int64_t{1} << 60}}}}), HasSubstr("too large"));
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto nowhere = TensorFileWriter::Create(path + "/x/y", {{"a", byte}}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("make the folder first"));
}

TEST(TensorFileTest, ReadsTheHeadersOfOtherWriters) {
  // Offsets in another order than names, blanks, nothing but a header.
  const auto file = TensorFile::Open(
      FromMemory(SafetensorsBytes(R"({"b":{"shape":[2],"dtype":"U8","data_offsets":[4,6]},)"
                                  R"( "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                                  "aaaabb")),
      "w");
  ASSERT_TRUE(file) << file.error().message;
  std::string bytes(2, ' ');
  ASSERT_TRUE(file->Read(*file->Find("b"), bytes));
  EXPECT_EQ(bytes, "bb");
  EXPECT_TRUE(TensorFile::Open(FromMemory(SafetensorsBytes("{}", "")), "w"));
}

TEST(TensorFileTest, RefusesDamagedFiles) {
  EXPECT_THAT(RefusalOf("abc").message, HasSubstr("found 3 bytes: is it truncated?"));
  EXPECT_THAT(RefusalOf("PK\x03\x04 a zip file").message, HasSubstr("another kind of file?"));
  std::string cut = SafetensorsBytes("{}", "");
  cut.pop_back();
  EXPECT_THAT(RefusalOf(cut).message, HasSubstr("expected a header of 2 bytes, found 1"));
  for (const char* json : {"", "[]", "{", "{}x", " {}", "\xff{}", "{\"a\":1}"})
    EXPECT_EQ(RefusalOf(json, 0).code, ErrorCode::kCorruption) << json;
  EXPECT_EQ(RefusalOf("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}", 0).code,
            ErrorCode::kCorruption);
}

TEST(TensorFileTest, RefusesTensorsThatLieWrongly) {
  const auto tensor = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
  };
  const auto refusal = [&](std::string_view dtype, std::string_view shape, std::string_view offsets,
                           std::size_t bytes) {
    return RefusalOf("{\"a\":" + tensor(dtype, shape, offsets) + "}", bytes);
  };
  EXPECT_THAT(refusal("F32", "[2]", "[0,8]", 7).message, HasSubstr("is it truncated?"));
  EXPECT_THAT(refusal("F32", "[2]", "[0,8]", 9).message, HasSubstr("expected 8 bytes after"));
  EXPECT_THAT(refusal("F32", "[2]", "[0,4]", 4).message,
              HasSubstr("expected 8 bytes for float32 [2]"));
  EXPECT_THAT(refusal("F32", "[2]", "[4,12]", 12).message, HasSubstr("expected it to begin at 0"));
  EXPECT_THAT(refusal("F32", "[2]", "[8,0]", 8).message, HasSubstr("begin and its end"));
  EXPECT_THAT(refusal("F32", "[-2]", "[0,8]", 8).message, HasSubstr("a shape such as"));
  EXPECT_THAT(refusal("F32", "[2.0]", "[0,8]", 8).message, HasSubstr("a shape such as"));
  EXPECT_THAT(refusal("F32", "[4294967296,4294967296]", "[0,0]", 0).message,
              HasSubstr("too large"));
  EXPECT_THAT(refusal("U8", "[9223372036854775807]", "[0,9223372036854775807]", 0).message,
              HasSubstr("too large"));
  const Error strange = refusal("F4", "[2]", "[0,1]", 1);
  EXPECT_EQ(strange.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(strange.message, HasSubstr("its dtype 'F4' is not supported: write it as F32"));

  const std::string first = tensor("U8", "[4]", "[0,4]");
  EXPECT_THAT(
      RefusalOf("{\"a\":" + first + ",\"b\":" + tensor("U8", "[4]", "[2,6]") + "}", 6).message,
      HasSubstr("'b': expected it to begin at 4"));
  EXPECT_THAT(RefusalOf("{\"a\":" + first + ",\"a\":" + first + "}", 4).message,
              HasSubstr("there twice"));
  EXPECT_THAT(RefusalOf("{\"" + std::string(1025, 'n') + "\":" + first + "}", 4).message,
              HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(RefusalOf(R"({"__metadata__":{"a":1}})", 0).message, HasSubstr("a text for 'a'"));
  EXPECT_THAT(RefusalOf(R"({"__metadata__":{"a":"","a":""}})", 0).message, HasSubstr("twice"));
  std::string shape = "[1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  EXPECT_THAT(refusal("U8", shape + "]", "[0,1]", 1).message, HasSubstr("at most 64 axes"));
}

TEST(TensorFileTest, AFileThatShrankWhileOpenIsAnError) {
  const std::string path = TestFolder() + "w.safetensors";
  ASSERT_TRUE(WriteDeclared(path, kDeclared));
  const auto file = TensorFile::Open(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const StoredTensor* last = &file->tensors().back();
  std::string bytes(last->bytes, '\0');
  const Status read = file->Read(*last, bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("is it truncated?"));
}

}  // namespace
}  // namespace sluice::data
