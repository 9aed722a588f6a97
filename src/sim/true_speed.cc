#include "sim/true_speed.h"

#include <algorithm>

#include "cluster/device_kind.h"

namespace sluice {

double TrueSpeed::KindSpeed(const std::string& kind) const {
  if (kind.empty() || kind == workload_.on) return 1;
  if (const auto said = workload_.speeds.find(kind); said != workload_.speeds.end())
    return said->second;
  return RelativeSpeed(kind, workload_.on, workload_.busy);
}

double TrueSpeed::Busy(const std::string& kind, double width) const {
  const auto measured = workload_.busy_on.find(kind);
  const double heavier = RelativeSpeed(kind, workload_.on, 1);
  const double wants = measured != workload_.busy_on.end()
                           ? measured->second
                           : std::min(1.0, workload_.busy * KindSpeed(kind) / heavier);
  return std::min(wants, width);
}

double TrueSpeed::Of(const Circumstances& at) const {
  const double alone =
      KindSpeed(at.kind) / workload_.seconds_per_unit * workload_.fusion.At(at.fused) / at.fused;
  if (at.kind.empty()) return alone * workload_.widths.At(at.width);
  const double wants = Busy(at.kind, 1);
  const double wide =
      at.width < 1 ? std::min(1.0, at.width / wants) : workload_.widths.At(at.width);
  const double takes = Busy(at.kind, at.width);
  const double crowd = std::max({1.0, takes + at.neighbours, workload_.bandwidth + at.others_move});
  return alone * wide / crowd / (1 + workload_.interference * at.neighbours);
}

}  // namespace sluice
