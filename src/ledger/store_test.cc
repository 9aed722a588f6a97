// Opening stores that are new, old or newer, and files that are no stores.

#include "ledger/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const std::string& path, ErrorCode code, const std::string& what) {
  const std::string before = ReadAll(path);
  for (const bool write : {false, true}) {
    const auto opened = write ? OpenStoreForWriting(path) : OpenStoreForReading(path);
    ASSERT_FALSE(opened) << what;
    EXPECT_EQ(opened.error().code, code) << opened.error().message;
    EXPECT_THAT(opened.error().message, HasSubstr(what));
    EXPECT_THAT(opened.error().message, HasSubstr(path));
  }
  EXPECT_TRUE(ReadAll(path) == before) << "the file was touched";
}

void Execute(const std::string& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

TEST(StoreTest, IsMadeOnceAndOpenedAgain) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  const auto none = OpenStoreForReading(path);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("no store here yet"));
  EXPECT_FALSE(std::filesystem::exists(path));

  EXPECT_TRUE(OpenStoreForWriting(path));
  EXPECT_TRUE(OpenStoreForReading(path));
  EXPECT_TRUE(OpenStoreForWriting(path));
}

TEST(StoreTest, PathsLieBesideTheFile) {
  const StorePaths paths = StorePaths::For("/a/b/../x.db");
  EXPECT_EQ(paths.database, "/a/x.db");
  EXPECT_EQ(paths.files, "/a/x.files");
  EXPECT_EQ(paths.socket, "/a/x.files/run/controller.sock");
  EXPECT_EQ(paths.StudyFolder("s"), "/a/x.files/studies/s");
}

TEST(StoreTest, AnEmptyFileBecomesAStore) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  WriteAll(path, "");
  const auto read = OpenStoreForReading(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(OpenStoreForWriting(path));
  EXPECT_TRUE(OpenStoreForReading(path));
}

TEST(StoreTest, ANewerStoreIsLeftAlone) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  ASSERT_TRUE(OpenStoreForWriting(path));
  Execute(path, "PRAGMA user_version = 99");
  ExpectRefused(path, ErrorCode::kFailedPrecondition, "newer Sluice (schema 99; this one knows 4)");
}

TEST(StoreTest, ASchemaThatCannotBeIsDamage) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  ASSERT_TRUE(OpenStoreForWriting(path));
  Execute(path, "PRAGMA user_version = -5");
  ExpectRefused(path, ErrorCode::kCorruption, "schema -5");
}

TEST(StoreTest, AnotherProgramsDatabaseIsLeftAlone) {
  const TestFolder folder;
  const std::string path = folder / "other.db";
  Execute(path, "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
  ExpectRefused(path, ErrorCode::kCorruption, "expected a Sluice store");
}

TEST(StoreTest, AnyOtherFileIsLeftAlone) {
  const TestFolder folder;
  for (const std::string& text : {std::string("hello\n"), std::string(5000, 'x'),
                                  std::string(100, '\0'), std::string(1 << 16, '\xff')}) {
    WriteAll(folder / "f", text);
    ExpectRefused(folder / "f", ErrorCode::kCorruption, "this file is not a Sluice store");
  }
}

TEST(StoreTest, ATruncatedStoreIsSaidToBeDamaged) {
  const TestFolder folder;
  const std::string whole = folder / "s.db";
  ASSERT_TRUE(OpenStoreForWriting(whole));
  const std::string bytes = ReadAll(whole);
  ASSERT_GT(bytes.size(), 8192U);
  for (const std::size_t size :
       {bytes.size() / 2, bytes.size() - 1, std::size_t{4096}, std::size_t{1000}}) {
    const std::string path = folder / "cut.db";
    WriteAll(path, bytes.substr(0, size));
    const auto opened = OpenStoreForWriting(path);
    const auto ledger = opened ? Ledger::Open(path)
                               : Result<std::unique_ptr<Ledger>>(std::unexpected(opened.error()));
    if (size == bytes.size() - 1 && ledger) continue;  // the missing byte belongs to no table
    ASSERT_FALSE(ledger) << size;
    EXPECT_EQ(ledger.error().code, ErrorCode::kCorruption)
        << size << ": " << ledger.error().message;
  }
}

TEST(StoreTest, AHalfMadeStoreIsMadeWhole) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  // A file that is marked as a Sluice store but has no tables yet.
  Execute(path, "PRAGMA application_id = 0x534c5543; PRAGMA user_version = 0");
  const auto read = OpenStoreForReading(path);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("empty"));
  ASSERT_TRUE(OpenStoreForWriting(path));
  EXPECT_TRUE(Ledger::Open(path));
}

TEST(StoreTest, AStoreWithoutItsFirstTableIsMadeWhole) {
  const TestFolder folder;
  const std::string path = folder / "s.db";
  Execute(path, "PRAGMA journal_mode = WAL");  // a controller may be killed after this, too
  EXPECT_EQ(OpenStoreForReading(path).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(OpenStoreForWriting(path));
  EXPECT_TRUE(Ledger::Open(path));
}

TEST(StoreTest, SaysWhatToDoAboutAFolderThatIsNotThere) {
  const TestFolder folder;
  const auto opened = OpenStoreForWriting(folder / "no/s.db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(opened.error().message, HasSubstr("check that its folder exists"));
  EXPECT_FALSE(OpenStoreForWriting(folder / ""));
}

}  // namespace
}  // namespace sluice
