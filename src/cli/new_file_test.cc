#include "cli/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(NewFile, AppearsWhenItIsCommitted) {
  const TestFolder folder;
  {
    auto file = NewFile::Reserve(folder / "a.db");
    ASSERT_TRUE(file);
    WriteAll(file->temporary(), "all");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.db"));
    ASSERT_TRUE(file->Commit());
  }
  EXPECT_EQ(ReadAll(folder / "a.db"), "all");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), {}), 1);
}

TEST(NewFile, LeavesNothingOtherwise) {
  const TestFolder folder;
  {
    auto file = NewFile::Reserve(folder / "a.db");
    ASSERT_TRUE(file);
    WriteAll(file->temporary(), "half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

TEST(NewFile, ReplacesNothing) {
  const TestFolder folder;
  auto file = NewFile::Reserve(folder / "a.db");
  ASSERT_TRUE(file);
  WriteAll(folder / "a.db", "theirs");
  EXPECT_THAT(file->Commit().error().message, HasSubstr("a.db: exists already"));
  EXPECT_EQ(NewFile::Reserve(folder / "a.db").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(ReadAll(folder / "a.db"), "theirs");
  EXPECT_THAT(NewFile::Reserve(folder / "no/a.db").error().message,
              HasSubstr("make the folder first"));
}

}  // namespace
}  // namespace sluice
