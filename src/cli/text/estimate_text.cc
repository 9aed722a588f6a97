#include "cli/text/estimate_text.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/text.h"
#include "base/time.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"

namespace sluice {

std::string InTime(double seconds) { return FormatDuration(FromSeconds(seconds)); }
std::string InPercent(double part) { return fmt::format("{:.1f} %", part * 100); }
std::string InCount(double value) {
  return value == std::round(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}
std::string InNumber(double value) { return fmt::format("{:.4g}", value); }
std::string DescribeNodes(const std::vector<Node>& nodes) {
  std::map<std::string, long long> kinds;
  Milli cpus = 0;
  for (const Node& node : nodes) {
    cpus += node.cpus;
    for (const Device& device : node.devices)
      ++kinds[device.IsLent() ? "lent " + device.kind : device.kind];
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) parts.push_back(fmt::format("{} {}", count, kind));
  parts.push_back(fmt::format("{} cores", static_cast<double>(cpus) / kWhole));
  return fmt::format("{}: {}", Counted(static_cast<long long>(nodes.size()), "node"), Join(parts));
}

std::string NumberOrNull(double value) { return std::isnan(value) ? "null" : JsonNumber(value); }

std::string EstimateJson(const Estimate& estimate, std::span<const double> values) {
  std::vector<std::string> each;
  for (const double value : values) each.push_back(NumberOrNull(value));
  JsonWriter object;
  object.AddJson("mean", NumberOrNull(estimate.mean));
  object.AddJson("half_width", NumberOrNull(estimate.half_width));
  return object.AddJson("values", JsonArray(each)).Take();
}

}  // namespace sluice
