#include "rig/disk/memory_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

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

// A MemoryFile in its simplest form. It holds all bytes twice: as they are, and as last synced.
struct PlainFile {
  std::string live, durable;
  std::vector<std::size_t> unsynced;

  void Mark(std::size_t begin, std::size_t end) {
    for (std::size_t sector = begin / MemoryFile::kSectorBytes;
         sector * MemoryFile::kSectorBytes < end; ++sector) {
      if (std::ranges::find(unsynced, sector) == unsynced.end()) unsynced.push_back(sector);
    }
  }
  void Write(std::size_t offset, const std::string& bytes) {
    Mark(std::min(offset, live.size()), offset + bytes.size());
    live.resize(std::max(live.size(), offset + bytes.size()));
    live.replace(offset, bytes.size(), bytes);
  }
  void Truncate(std::size_t size) {
    Mark(std::min(size, live.size()), std::max(size, live.size()));
    live.resize(size);
  }
  void Sync() {
    unsynced.clear();
    durable = live;
  }
  void LosePower(double kept, Random& random) {
    if (durable.size() != live.size() && random.Chance(kept)) durable.resize(live.size());
    for (const std::size_t sector : unsynced) {
      if (!random.Chance(kept)) continue;
      const std::size_t begin = sector * MemoryFile::kSectorBytes;
      const std::size_t end =
          std::min({begin + MemoryFile::kSectorBytes, durable.size(), live.size()});
      if (begin < end) durable.replace(begin, end - begin, live, begin, end - begin);
    }
    live = durable;
    Sync();
  }
};

TEST(MemoryFileTest, IsWhatAPlainFileIs) {
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    MemoryFile file;
    PlainFile plain;
    // A third of the files span several blocks of memory. The others are small, so that most writes
    // touch the ends of sectors.
    const std::uint64_t most = i % 3 == 0 ? 200'000 : 3000;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t offset = random.Below(most);
      switch (random.Below(6)) {
        case 0:
          file.Truncate(offset);
          plain.Truncate(offset);
          break;
        case 1:
          file.Sync();
          plain.Sync();
          break;
        case 2: {
          const double kept = random.Uniform();
          Random draws = random.Fork("power");
          Random same_draws = draws;
          file.LosePower(kept, draws);
          plain.LosePower(kept, same_draws);
          break;
        }
        default: {
          const std::string bytes(random.Below(most / 3), static_cast<char>('a' + step % 26));
          file.Write(offset, bytes);
          if (!bytes.empty()) plain.Write(offset, bytes);
        }
      }
      // Not ASSERT_EQ, which would print both files.
      ASSERT_TRUE(Everything(file) == plain.live) << "file " << i << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace sluice
