#include "rig/disk/memory_file.h"

#include <cstring>

namespace sluice {

bool MemoryFile::Read(std::uint64_t offset, char* bytes, std::uint64_t count) const {
  const std::uint64_t there = offset < size_ ? std::min(count, size_ - offset) : 0;
  char* to = bytes;
  VisitPieces(offset, offset + there, [&](const char* piece, std::uint64_t piece_bytes) {
    std::memcpy(to, piece, piece_bytes);
    to += piece_bytes;
  });
  if (there < count) std::memset(bytes + there, 0, count - there);
  return there == count;
}

void MemoryFile::Write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  MarkUnsynced(std::min(offset, size_), end);
  if (size_ < offset) Resize(offset);
  MakeRoom(end);
  size_ = std::max(size_, end);
  const char* from = bytes.data();
  VisitPieces(offset, end, [&](char* piece, std::uint64_t count) {
    std::memcpy(piece, from, count);
    from += count;
  });
}

void MemoryFile::Truncate(std::uint64_t new_size) {
  // What is cut off reads as zero if the file grows again.
  MarkUnsynced(std::min(new_size, size_), std::max(new_size, size_));
  Resize(new_size);
}

void MemoryFile::Resize(std::uint64_t new_size) {
  MakeRoom(new_size);
  VisitPieces(size_, new_size,
              [](char* piece, std::uint64_t count) { std::memset(piece, 0, count); });
  size_ = new_size;
}

void MemoryFile::MakeRoom(std::uint64_t bytes) {
  while (blocks_.size() * kBlockBytes < bytes)
    blocks_.push_back(std::make_unique_for_overwrite<Block>());
}

void MemoryFile::MarkUnsynced(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t end_sector = (end + kSectorBytes - 1) / kSectorBytes;
  if (is_unsynced_.size() < end_sector) is_unsynced_.resize(end_sector);
  for (std::uint64_t sector = begin / kSectorBytes; sector < end_sector; ++sector) {
    if (is_unsynced_[sector]) continue;
    is_unsynced_[sector] = true;
    Unsynced& changed = unsynced_.emplace_back(Unsynced{.sector = sector});
    const std::uint64_t first = sector * kSectorBytes;
    if (first >= synced_size_) continue;
    // Nothing has changed the sector since the sync, so it is as it was synced.
    changed.before = before_.size();
    VisitPieces(first, std::min(first + kSectorBytes, synced_size_),
                [&](const char* piece, std::uint64_t count) { before_.append(piece, count); });
    before_.resize(changed.before + kSectorBytes);
  }
}

void MemoryFile::Sync() {
  for (const Unsynced& changed : unsynced_) is_unsynced_[changed.sector] = false;
  unsynced_.clear();
  before_.clear();
  synced_size_ = size_;
}

void MemoryFile::LosePower(double kept, Random& random) {
  const std::uint64_t written_size = size_;
  const bool size_kept = synced_size_ != size_ && random.Chance(kept);
  if (!size_kept) Resize(synced_size_);
  for (const Unsynced& changed : unsynced_) {
    const std::uint64_t first = changed.sector * kSectorBytes;
    // Only the part of a sector that was within the file can survive.
    const std::uint64_t begin = random.Chance(kept) ? std::max(first, written_size) : first;
    const std::uint64_t end = std::min(first + kSectorBytes, size_);
    VisitPieces(begin, end, [&](char* piece, std::uint64_t count) {
      if (changed.before == Unsynced::kNone) {
        std::memset(piece, 0, count);
      } else {
        std::memcpy(piece, before_.data() + changed.before + (begin - first), count);
      }
    });
  }
  Sync();
}

}  // namespace sluice
