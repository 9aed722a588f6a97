#include "cluster/device_kind.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr double kLightBusy = 0.37;
constexpr DeviceKind kReference{"A100", 1.0, 1.0, 40 * kGiB};

}  // namespace

const std::vector<DeviceKind>& DeviceKinds() {
  static const auto& kinds = *new std::vector<DeviceKind>{
      {"V100", 0.486, 0.736, 16 * kGiB},
      kReference,
      {"H100", 1.642, 1.234, 80 * kGiB},
      {"H200", 2.353, 1.438, 141'000'000'000},
  };
  return kinds;
}

const std::vector<std::string>& DeviceKindNames() {
  static const auto& names = *[] {
    auto* all = new std::vector<std::string>;
    for (const DeviceKind& kind : DeviceKinds()) all->emplace_back(kind.name);
    return all;
  }();
  return names;
}

const DeviceKind* FindDeviceKind(std::string_view name) {
  const auto found = std::ranges::find(DeviceKinds(), name, &DeviceKind::name);
  return found == DeviceKinds().end() ? nullptr : &*found;
}

double RelativeSpeed(std::string_view kind, std::string_view from, double busy) {
  const DeviceKind* known = FindDeviceKind(kind);
  const DeviceKind* known_from = FindDeviceKind(from);
  const DeviceKind& a = known != nullptr ? *known : kReference;
  const DeviceKind& b = known_from != nullptr ? *known_from : kReference;
  const double part = std::clamp((busy - kLightBusy) / (1 - kLightBusy), 0.0, 1.0);
  const double light = a.light_speed / b.light_speed;
  const double heavy = a.heavy_speed / b.heavy_speed;
  return light + (heavy - light) * part;
}

}  // namespace sluice
