#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace sluice {

// The bytes of one file on a disk in memory, twice: as the living process sees them and as a power
// cut would leave them. A sync makes the second like the first. Cost goes with the bytes written,
// not with the size of the file.
class MemoryFile {
 public:
  static constexpr std::uint64_t kSectorBytes = 512;  // what a disk writes whole or not at all

  std::uint64_t size() const { return live_.size(); }
  // As many bytes as there are; the rest of `bytes` becomes zero. True: there were enough.
  bool Read(std::uint64_t offset, char* bytes, std::uint64_t count) const;
  void Write(std::uint64_t offset, std::string_view bytes);
  void Truncate(std::uint64_t size);
  void Sync();

  // The power is cut. Of the sectors written since the last sync, and of the change of size, each
  // by itself is there afterwards with this chance.
  void LosePower(double kept, Random& random);

 private:
  void MarkUnsynced(std::uint64_t begin, std::uint64_t end);

  std::string live_;
  std::string durable_;
  std::vector<std::uint64_t> unsynced_;  // sectors, in order of their first change
  std::vector<bool> is_unsynced_;        // by sector
};

}  // namespace sluice
