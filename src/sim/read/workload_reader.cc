#include "sim/read/workload_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/device_kind.h"

namespace sluice {
namespace {

constexpr double kLongestUnitSeconds = 1e7;
constexpr double kShortestUnitSeconds = 1e-6;

// Reads the keys one by one. A key with mistakes keeps its default value, and the other keys are
// still read.
class WorkloadReader {
 public:
  WorkloadReader(const ConfigMap& map, Workload base) : map_(map), made_(std::move(base)) {}

  Workload Read(const StudySpec& study, bool needs_time) {
    const std::vector<std::string> keys = {
        "unit_time", "on",        "spread",   "widths",  "busy",       "interference", "speeds",
        "memory",    "start_up",  "save",     "restore", "checkpoint", "report_every", "ends_after",
        "curve",     "bandwidth", "profiled", "fusion",  "segment"};
    map_.AllowOnly(keys);
    const bool on_devices = study.demand.gpus > 0;
    ReadUnitTime(needs_time);
    ReadKinds(on_devices);
    if (const auto widths = ReadTable("widths", WidthTableNames())) made_.work.widths = *widths;
    static const std::vector<std::string> fusions = {"hydro"};
    if (const auto fusion = ReadTable("fusion", fusions)) made_.work.fusion = *fusion;
    Time("segment", made_.work.segment);
    Number("spread", {.min = 0, .max = 3}, made_.work.spread);
    ReadBusy();
    Number("bandwidth", {.min = 0, .max = 1}, made_.work.bandwidth);
    if (const ConfigNode* node = map_.Find("profiled")) {
      made_.work.profiled = node->Boolean().value_or(false);
      const Demand& demand = study.demand;
      const bool one = demand.gpus > 0 && demand.gpus <= kWhole && demand.most == 0;
      if (made_.work.profiled && !one)
        node->Expected("this key only for trials on one GPU or a share of it", "remove the key");
    }
    Number("interference", {.min = 0, .max = 100}, made_.work.interference);
    Size("memory", made_.work.memory_bytes);
    // Each further trial in a program takes as much memory as the first, unless `fuse` says less.
    made_.work.fused_bytes = study.demand.fused_bytes > 0
                                 ? std::min(study.demand.fused_bytes, made_.work.memory_bytes)
                                 : made_.work.memory_bytes;
    Size("checkpoint", made_.work.checkpoint_bytes);
    Time("start_up", made_.work.start_up);
    Time("save", made_.work.save);
    Time("restore", made_.work.restore);
    Units("report_every", made_.work.report_every);
    Units("ends_after", made_.work.ends_after);
    ReadCurve(study);
    return std::move(made_);
  }

 private:
  void Number(std::string_view key, NumberRange range, double& into) const {
    NumberOf(map_, key, range, into);
  }
  static bool NumberOf(const ConfigMap& map, std::string_view key, NumberRange range,
                       double& into) {
    const ConfigNode* node = map.Find(key);
    const auto number = node != nullptr ? node->Number(range) : std::nullopt;
    if (number) into = *number;
    return number.has_value();
  }
  void Size(std::string_view key, std::int64_t& into) const {
    const ConfigNode* node = map_.Find(key);
    if (node != nullptr) into = node->SizeBytes().value_or(into);
  }
  void Time(std::string_view key, Duration& into) const {
    const ConfigNode* node = map_.Find(key);
    if (node != nullptr) into = node->Duration().value_or(into);
  }
  void Units(std::string_view key, std::int64_t& into) const {
    const ConfigNode* node = map_.Find(key);
    if (node != nullptr) into = node->Integer({.min = 1, .max = kMaxBudget}).value_or(into);
  }

  void ReadUnitTime(bool needs_time) {
    const ConfigNode* node =
        needs_time ? map_.Require("unit_time", "how long one unit of work takes on one device",
                                  "add 'unit_time: 20s'")
                   : map_.Find("unit_time");
    const auto time = node != nullptr ? node->Duration() : std::nullopt;
    if (!time) return;
    const double seconds = Seconds(*time);
    if (seconds >= kShortestUnitSeconds && seconds <= kLongestUnitSeconds) {
      made_.work.seconds_per_unit = seconds;
    } else {
      node->Expected("a time from a microsecond to 100 days");
    }
  }

  void ReadKinds(bool on_devices) {
    if (const ConfigNode* node = map_.Find("on")) {
      const auto kind = node->OneOf(DeviceKindNames());
      if (kind) made_.work.on = *kind;
      if (!on_devices) {
        node->Report(
            "the trials of this study use no GPU, so the kind of GPU does not matter; remove the "
            "key, or add 'resources: {gpus: 1}' to the study");
      }
    }
    const ConfigNode* node = map_.Find("speeds");
    const auto map = node != nullptr ? node->Map() : std::nullopt;
    if (!map) return;
    map->AllowOnly(DeviceKindNames());
    for (const auto& [kind, value] : map->entries()) {
      if (const auto speed = value.Number({.min = 0.001, .max = 1000}))
        made_.work.speeds[kind] = *speed;
    }
  }

  // Reads one value for all kinds of device, or one for each kind.
  void ReadBusy() {
    const ConfigNode* node = map_.Find("busy");
    const NumberRange part{.min = 0.001, .max = 1};
    if (node == nullptr || !node->is_map()) return Number("busy", part, made_.work.busy);
    const auto map = node->Map();
    map->AllowOnly(DeviceKindNames());
    for (const auto& [kind, value] : map->entries()) {
      if (const auto busy = value.Number(part)) made_.work.busy_on[kind] = *busy;
    }
    if (made_.work.on.empty()) {
      return node->Expected("one part of the cores, since the trials use no GPU",
                            "or add 'resources: {gpus: 1}' to the study");
    }
    const auto own = made_.work.busy_on.find(made_.work.on);
    if (own != made_.work.busy_on.end())
      made_.work.busy = own->second;
    else
      node->Expected(fmt::format("a part of {} too, the kind of unit_time", made_.work.on));
  }

  // Reads a table by its name or by its points.
  std::optional<SpeedTable> ReadTable(std::string_view key,
                                      const std::vector<std::string>& names) const {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_list()) {
      const auto name = node->OneOf(names);
      if (!name) return std::nullopt;
      return key == "fusion" ? HydroFusion() : *WidthTable(*name);
    }
    std::vector<SpeedTable::Knot> knots;
    const auto points = node->List();
    for (const ConfigNode& point : *points) {
      const auto pair = point.is_list() ? point.List() : std::nullopt;
      if (!pair || pair->size() != 2) {
        point.Expected(key == "fusion" ? "a number of trials and their speed-up, as in [10, 6.5]"
                                       : "a width and its speed-up, as in [4, 3.4]");
        return std::nullopt;
      }
      const auto x = (*pair)[0].Number();
      const auto speed_up = (*pair)[1].Number();
      if (!x || !speed_up) return std::nullopt;
      knots.push_back({*x, *speed_up});
    }
    auto table = SpeedTable::Make(std::move(knots));
    if (!table) {
      node->Report(table.error().message);
    } else if (table->knots().front() != SpeedTable::Knot{1, 1}) {
      node->Expected("a first point of [1, 1]", key == "fusion"
                                                    ? "speed-ups are beside one trial"
                                                    : "speed-ups are beside one device");
    } else {
      return *std::move(table);
    }
    return std::nullopt;
  }

  void ReadCurve(const StudySpec& study) {
    CurveSpec& curve = made_.curve;
    const ConfigNode* node = map_.Find("curve");
    if (node == nullptr) return;
    if (!node->is_map()) {
      curve.family = node->OneOf(CurveFamilies()).value_or(curve.family);
      return;
    }
    const ConfigMap map = *node->Map();
    if (const ConfigNode* family = map.Find("family"))
      curve.family = family->OneOf(CurveFamilies()).value_or(curve.family);
    const bool power = curve.family == "power";
    const std::vector<std::string> keys =
        power ? std::vector<std::string>{"family",   "start", "best",     "half_work",  "sharpness",
                                         "crossing", "noise", "plateaus", "divergence", "nans"}
              : std::vector<std::string>{"family"};
    map.AllowOnly(keys);
    const NumberRange part{.min = 0, .max = 1};
    NumberOf(map, "start", {.min = -1e12, .max = 1e12}, curve.start);
    NumberOf(map, "best", {.min = -1e12, .max = 1e12}, curve.best);
    NumberOf(map, "half_work", {.min = 1e-3, .max = 1e12}, curve.half_work);
    NumberOf(map, "sharpness", {.min = 0, .max = 100}, curve.sharpness);
    NumberOf(map, "crossing", {.min = 0, .max = 2}, curve.crossing);
    NumberOf(map, "noise", part, curve.noise);
    NumberOf(map, "plateaus", part, curve.plateaus);
    NumberOf(map, "divergence", part, curve.divergence);
    NumberOf(map, "nans", part, curve.nans);
    const bool rises = curve.best > curve.start;
    const bool maximize = study.objective.direction == Direction::kMaximize;
    if (power && (rises != maximize || curve.best == curve.start)) {
      node->Report(fmt::format(
          "expected start {} best, since the study is to {} it, found {} and {}",
          maximize ? "<" : ">", maximize ? "maximize" : "minimize", curve.start, curve.best));
    }
  }

  const ConfigMap& map_;
  Workload made_;
};

}  // namespace

Workload ReadWorkload(const ConfigNode* node, const StudySpec& study) {
  const auto map = node != nullptr ? node->Map() : std::nullopt;
  return map ? WorkloadReader(*map, DefaultWorkload(study)).Read(study, /*needs_time=*/true)
             : Workload{};
}

Workload DefaultWorkload(const StudySpec& study) {
  Workload workload;
  workload.work.on = study.demand.gpus > 0 ? "A100" : "";
  // The default table of fusion is for GPUs. On cores, fused trials together do the work of one.
  if (study.demand.gpus == 0) workload.work.fusion = SpeedTable();
  if (study.objective.direction == Direction::kMinimize) {
    workload.curve.start = 2.3;
    workload.curve.best = 0.1;
  }
  return workload;
}

Result<GivenWorkload> ReadGivenWorkload(std::string_view text, std::string_view name,
                                        const StudySpec& study, const Workload& base) {
  SLUICE_ASSIGN(const ConfigFile file, ConfigFile::Parse(text, name));
  const ConfigNode root = file.root();
  GivenWorkload given{.workload = base, .keys = {}};
  if (const auto map = root.Map()) {
    given.workload = WorkloadReader(*map, base).Read(study, /*needs_time=*/false);
    for (const auto& [key, value] : map->entries()) {
      given.keys.insert(key);
      const auto inner = key == "curve" && value.is_map() ? value.Map() : std::nullopt;
      if (!inner) continue;
      for (const auto& [part, unused] : inner->entries()) given.keys.insert("curve." + part);
    }
    if (const ConfigNode* node = map->Find("profiled"))
      node->Report("expected it as the study's own 'profile'; remove the key");
  }
  SLUICE_TRY(file.Check());
  return given;
}

}  // namespace sluice
