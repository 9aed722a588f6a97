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

// What a trial takes of a device: of its compute and of its memory bandwidth.
struct DeviceNeed {
  Milli gpus = 0;
  Milli bandwidth = 0;
  friend bool operator==(const DeviceNeed&, const DeviceNeed&) = default;
};

// What a trial was measured to take of one kind of device.
struct KindNeed {
  std::string kind;
  DeviceNeed need;
  friend bool operator==(const KindNeed&, const KindNeed&) = default;
};

// What one trial needs: processor cores and GPUs. `gpus` is a share of one GPU (below kWhole) or
// several whole GPUs. An elastic trial runs at any width from `least` to `most` (width.h). Its
// width is counted in GPUs, or in cores if it needs no GPU. `least` and `most` are 0 for a trial
// that is not elastic.
struct Demand {
  Milli cpus = kWhole;
  Milli gpus = 0;
  Milli least = 0;
  Milli most = 0;
  std::int64_t memory_bytes = 0;  // of each of its devices; 0: not stated
  // The most trials of its shape that one program can train together; 1: they cannot be fused. Each
  // further trial of the program takes `fused_bytes` of device memory.
  int fused_most = 1;
  std::int64_t fused_bytes = 0;
  Milli bandwidth = 0;  // of the memory bandwidth of each device; 0: not stated
  bool lent = true;     // it may run on lent devices
  // For trials on one device: what they take of it, if that differs between kinds; null: it does
  // not. The list is shared, because every item of a policy's view holds a copy of its demand.
  std::shared_ptr<const std::vector<KindNeed>> kinds = nullptr;
  friend bool operator==(const Demand&, const Demand&) = default;
};

// What a trial with this demand takes of a device of this kind.
inline DeviceNeed NeedOn(const Demand& demand, std::string_view kind) {
  if (demand.kinds != nullptr) {
    for (const KindNeed& measured : *demand.kinds) {
      if (measured.kind == kind) return measured.need;
    }
  }
  return {.gpus = demand.gpus, .bandwidth = demand.bandwidth};
}

}  // namespace sluice
