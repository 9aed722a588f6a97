#include "ledger/memory_file.h"

#include <algorithm>
#include <cstring>

namespace sluice {

bool MemoryFile::Read(std::uint64_t offset, char* bytes, std::uint64_t count) const {
  const std::uint64_t there = offset < size() ? std::min(count, size() - offset) : 0;
  if (there > 0) std::memcpy(bytes, live_.data() + offset, there);
  if (there < count) std::memset(bytes + there, 0, count - there);
  return there == count;
}

void MemoryFile::Write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  MarkUnsynced(std::min(offset, size()), end);
  if (size() < offset) live_.resize(offset);
  const std::uint64_t over = std::min<std::uint64_t>(bytes.size(), size() - offset);
  std::memcpy(live_.data() + offset, bytes.data(), over);
  live_.append(bytes.substr(over));
}

void MemoryFile::Truncate(std::uint64_t new_size) {
  // What is cut off reads as zero if the file grows again.
  MarkUnsynced(std::min(new_size, size()), std::max(new_size, size()));
  live_.resize(new_size);
}

void MemoryFile::MarkUnsynced(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t end_sector = (end + kSectorBytes - 1) / kSectorBytes;
  if (is_unsynced_.size() < end_sector) is_unsynced_.resize(end_sector);
  for (std::uint64_t sector = begin / kSectorBytes; sector < end_sector; ++sector) {
    if (is_unsynced_[sector]) continue;
    is_unsynced_[sector] = true;
    unsynced_.push_back(sector);
  }
}

void MemoryFile::Sync() {
  durable_.resize(live_.size());
  for (const std::uint64_t sector : unsynced_) {
    is_unsynced_[sector] = false;
    const std::uint64_t begin = sector * kSectorBytes;
    if (begin >= live_.size()) continue;
    const std::uint64_t count = std::min(kSectorBytes, live_.size() - begin);
    std::memcpy(durable_.data() + begin, live_.data() + begin, count);
  }
  unsynced_.clear();
}

void MemoryFile::LosePower(double kept, Random& random) {
  if (durable_.size() != live_.size() && random.Chance(kept)) durable_.resize(live_.size());
  for (const std::uint64_t sector : unsynced_) {
    is_unsynced_[sector] = false;
    if (!random.Chance(kept)) continue;
    const std::uint64_t begin = sector * kSectorBytes;
    const std::uint64_t end =
        std::min<std::uint64_t>({begin + kSectorBytes, durable_.size(), live_.size()});
    if (begin < end) std::memcpy(durable_.data() + begin, live_.data() + begin, end - begin);
  }
  unsynced_.clear();
  live_ = durable_;
}

}  // namespace sluice
