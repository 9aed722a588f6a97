#include "base/files/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace sluice {
namespace {

using testing::HasSubstr;

std::string FileWith(const std::string& bytes) {
  const std::string path = testing::TempDir() + "byte_source_test_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ByteSourceTest, FilesAndMemoryReadTheSame) {
  const std::string bytes("some\0bytes", 10);
  const auto file = OpenFile(FileWith(bytes));
  ASSERT_TRUE(file) << file.error().message;
  const auto memory = FromMemory(bytes);
  for (const ByteSource* source : {file->get(), memory.get()}) {
    EXPECT_EQ(source->size(), 10U);
    std::string part(5, ' ');
    EXPECT_TRUE(source->Read(5, part));
    EXPECT_EQ(part, "bytes");
    std::string nothing;
    EXPECT_TRUE(source->Read(10, nothing));
    for (const std::uint64_t offset : {std::uint64_t{6}, std::uint64_t{11}, UINT64_MAX}) {
      const Status read = source->Read(offset, part);
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().code, ErrorCode::kCorruption);
      EXPECT_THAT(read.error().message, HasSubstr("found the end at 10: is it truncated?"));
    }
  }
}

TEST(ByteSourceTest, AFileMayBecomeShorter) {
  const std::string path = FileWith("0123456789");
  const auto file = OpenFile(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 4);
  std::string part(8, ' ');
  EXPECT_EQ((*file)->Read(0, part).error().code, ErrorCode::kCorruption);
}

TEST(ByteSourceTest, OpensFilesOnly) {
  const auto none = OpenFile(testing::TempDir() + "no_such_file");
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const auto folder = OpenFile(testing::TempDir());
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(folder.error().message, HasSubstr("expected a file, found a folder"));
  const std::string pipe = testing::TempDir() + "byte_source_test_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(OpenFile(pipe).error().code, ErrorCode::kInvalidArgument)
      << "a pipe is refused without waiting for a writer";
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace sluice
