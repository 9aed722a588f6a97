#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

// Which connection of a process holds which lock on one file: SQLite's five levels, and the eight
// slots by which connections share a write-ahead log. No connection waits: a lock is granted or
// refused immediately.
class MemoryLocks {
 public:
  enum class Level { kNone, kShared, kReserved, kPending, kExclusive };

  struct Holder {
    Level level = Level::kNone;
    std::uint32_t shared_slots = 0, exclusive_slots = 0;  // one bit for each slot
  };

  // The holder must stay where it is in memory until it is removed.
  void Add(Holder* holder) { holders_.push_back(holder); }
  void Remove(Holder* holder);

  // Raises the holder to kShared, kReserved or kExclusive. A holder that is refused kExclusive
  // because of readers stays at kPending, which keeps new readers out. Returns whether it was
  // raised.
  bool Raise(Holder& holder, Level level);
  void Lower(Holder& holder, Level level);
  bool AnyAtLeast(Level level) const { return OthersReach(nullptr, level); }

  bool TakeSlots(Holder& holder, std::uint32_t slots, bool exclusive);
  void DropSlots(Holder& holder, std::uint32_t slots);

 private:
  bool OthersReach(const Holder* holder, Level level) const;

  std::vector<Holder*> holders_;
};

}  // namespace sluice
