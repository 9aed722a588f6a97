#include "ledger/memory_file.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice {
namespace {

std::string Everything(const MemoryFile& file) {
  std::string bytes(file.size(), '?');
  EXPECT_TRUE(file.Read(0, bytes.data(), bytes.size()));
  return bytes;
}

void LoseAll(MemoryFile& file) {
  Random random(1);
  file.LosePower(0, random);
}

TEST(MemoryFileTest, ReadsWhatWasWrittenAndZeroBeyond) {
  MemoryFile file;
  file.Write(3, "abc");
  std::string bytes(8, '?');
  EXPECT_FALSE(file.Read(0, bytes.data(), bytes.size()));
  EXPECT_EQ(bytes, std::string("\0\0\0abc\0\0", 8));
  EXPECT_FALSE(file.Read(100, bytes.data(), 1));
  file.Write(4, "XYZ");
  EXPECT_EQ(Everything(file), std::string("\0\0\0aXYZ", 7));
}

TEST(MemoryFileTest, OnlyWhatIsSyncedSurvives) {
  MemoryFile file;
  file.Write(0, std::string(2000, 'a'));
  file.Sync();
  file.Write(1000, std::string(2000, 'b'));
  file.Truncate(2500);
  LoseAll(file);
  EXPECT_EQ(Everything(file), std::string(2000, 'a'));
  file.Truncate(10);
  LoseAll(file);
  EXPECT_EQ(file.size(), 2000U);
  file.Truncate(10);
  file.Write(600, "c");
  file.Sync();
  LoseAll(file);
  EXPECT_EQ(Everything(file), std::string(10, 'a') + std::string(590, '\0') + "c");
}

// Every sector of an unsynced write is there or not, and all combinations occur.
TEST(MemoryFileTest, AnySubsetOfSectorsMaySurvive) {
  std::set<std::string> seen;
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    MemoryFile file;
    file.Write(0, std::string(3 * MemoryFile::kSectorBytes, 'a'));
    file.Sync();
    file.Write(0, std::string(3 * MemoryFile::kSectorBytes, 'b'));
    file.LosePower(0.5, random);
    std::string sectors;
    const std::string bytes = Everything(file);
    for (std::size_t at = 0; at < bytes.size(); at += MemoryFile::kSectorBytes) {
      const std::string sector = bytes.substr(at, MemoryFile::kSectorBytes);
      EXPECT_EQ(sector, std::string(MemoryFile::kSectorBytes, sector.front()));
      sectors += sector.front();
    }
    seen.insert(sectors);
  }
  EXPECT_EQ(seen.size(), 8U);
}

}  // namespace
}  // namespace sluice
