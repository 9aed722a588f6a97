#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace sluice {

// The bytes of one file on a disk in memory, as the living process sees them. Also keeps what a
// power cut would bring back: the sectors changed since the last sync, as they were at that sync.
// The cost grows with the bytes written, not with the size of the file, and a sync copies nothing.
class MemoryFile {
 public:
  static constexpr std::uint64_t kSectorBytes = 512;  // a disk writes a whole sector or nothing

  std::uint64_t size() const { return size_; }
  // Reads up to `count` bytes. If the file has fewer, sets the rest of `bytes` to zero and returns
  // false.
  bool Read(std::uint64_t offset, char* bytes, std::uint64_t count) const;
  void Write(std::uint64_t offset, std::string_view bytes);
  void Truncate(std::uint64_t size);
  void Sync();

  // The power is cut. Each sector written since the last sync, and the change of size, survives
  // with this chance, independently of the others.
  void LosePower(double kept, Random& random);

 private:
  static constexpr std::uint64_t kBlockBytes = 64 * 1024;  // whole sectors
  using Block = std::array<char, kBlockBytes>;

  // A sector that changed since the last sync.
  struct Unsynced {
    static constexpr std::size_t kNone = SIZE_MAX;
    std::uint64_t sector = 0;
    std::size_t before = kNone;  // where before_ has its old bytes; kNone: the sector is new
  };

  void MarkUnsynced(std::uint64_t begin, std::uint64_t end);
  void Resize(std::uint64_t size);
  void MakeRoom(std::uint64_t bytes);
  // Calls visit(bytes, count) for the pieces of [begin, end). There must be room for all of them.
  template <typename Visit>
  void VisitPieces(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    while (begin < end) {
      const std::uint64_t in_block = begin % kBlockBytes;
      const std::uint64_t count = std::min(kBlockBytes - in_block, end - begin);
      visit(blocks_[begin / kBlockBytes]->data() + in_block, count);
      begin += count;
    }
  }

  std::vector<std::unique_ptr<Block>> blocks_;  // bytes beyond size_ have no meaning
  std::uint64_t size_ = 0;
  std::uint64_t synced_size_ = 0;
  std::vector<Unsynced> unsynced_;  // in order of their first change
  std::string before_;
  std::vector<bool> is_unsynced_;  // by sector
};

}  // namespace sluice
