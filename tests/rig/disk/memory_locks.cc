#include "rig/disk/memory_locks.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

void MemoryLocks::Remove(Holder* holder) { std::erase(holders_, holder); }

bool MemoryLocks::OthersReach(const Holder* holder, Level level) const {
  return std::ranges::any_of(
      holders_, [&](const Holder* other) { return other != holder && other->level >= level; });
}

bool MemoryLocks::Raise(Holder& holder, Level level) {
  if (holder.level >= level) return true;
  switch (level) {
    case Level::kShared:
      if (OthersReach(&holder, Level::kPending)) return false;
      break;
    case Level::kReserved:
      SLUICE_CHECK(holder.level == Level::kShared, "a writer has read before");
      if (OthersReach(&holder, Level::kReserved)) return false;
      break;
    case Level::kExclusive:
      SLUICE_CHECK(holder.level >= Level::kShared, "a writer has read before");
      if (OthersReach(&holder, Level::kReserved)) return false;
      holder.level = Level::kPending;
      if (OthersReach(&holder, Level::kShared)) return false;
      break;
    default: SLUICE_CHECK(false, "SQLite asks for no other level");
  }
  holder.level = level;
  return true;
}

void MemoryLocks::Lower(Holder& holder, Level level) {
  holder.level = std::min(holder.level, level);
}

bool MemoryLocks::TakeSlots(Holder& holder, std::uint32_t slots, bool exclusive) {
  for (const Holder* other : holders_) {
    if (other == &holder) continue;
    if ((other->exclusive_slots & slots) != 0) return false;
    if (exclusive && (other->shared_slots & slots) != 0) return false;
  }
  (exclusive ? holder.exclusive_slots : holder.shared_slots) |= slots;
  return true;
}

void MemoryLocks::DropSlots(Holder& holder, std::uint32_t slots) {
  holder.shared_slots &= ~slots;
  holder.exclusive_slots &= ~slots;
}

}  // namespace sluice
