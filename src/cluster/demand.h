#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Capacities and demands are counted in thousandths, so that half a GPU is exact.
using Milli = std::int64_t;
constexpr Milli kWhole = 1000;

// What a trial takes of a device: of its compute, and of what its memory can move.
struct DeviceNeed {
  Milli gpus = 0;
  Milli bandwidth = 0;
  friend bool operator==(const DeviceNeed&, const DeviceNeed&) = default;
};

// The same where it was measured on a device of one kind.
struct KindNeed {
  std::string kind;
  DeviceNeed need;
  friend bool operator==(const KindNeed&, const KindNeed&) = default;
};

// What one trial needs: processor cores, and GPUs: a share of one (below kWhole) or several whole
// ones. An elastic trial runs at any width from `least` to `most` (width.h), of GPUs, or of cores
// where it needs no GPU; 0: it is not elastic.
struct Demand {
  Milli cpus = kWhole;
  Milli gpus = 0;
  Milli least = 0;
  Milli most = 0;
  std::int64_t memory_bytes = 0;  // of each of its devices; 0: nothing is said of it
  // Trials of its shape that one program can train together, and what each one more takes of memory;
  // 1: they cannot be fused.
  int fused_most = 1;
  std::int64_t fused_bytes = 0;
  Milli bandwidth = 0;  // of what the memory of each device can move; 0: nothing is said of it
  bool lent = true;     // it may run on devices that are lent
  // Of trials on one device: what they take of it where that differs from kind to kind; null: it does
  // not. Shared, since every item of a view has a copy.
  std::shared_ptr<const std::vector<KindNeed>> kinds = nullptr;
  friend bool operator==(const Demand&, const Demand&) = default;
};

// What it takes of a device of this kind.
inline DeviceNeed NeedOn(const Demand& demand, std::string_view kind) {
  if (demand.kinds != nullptr) {
    for (const KindNeed& measured : *demand.kinds) {
      if (measured.kind == kind) return measured.need;
    }
  }
  return {.gpus = demand.gpus, .bandwidth = demand.bandwidth};
}

}  // namespace sluice
