#include "engine/parts/speed_meter.h"

#include <algorithm>
#include <cmath>

#include "cluster/width.h"
#include "engine/parts/shape.h"

namespace sluice {

std::optional<SpeedSituation> SituationOf(const Cluster& cluster, const Study& study,
                                          const Trial& trial) {
  const Grant& grant = trial.launch.grant;
  SpeedSituation situation{
      .shape = ShapeOf(study.spec, trial.point), .kind = "", .width = WidthOf(grant)};
  const std::vector<Device>& devices = cluster.node(grant.node).devices;
  for (const DeviceId device : grant.devices) {
    if (Number(device) >= devices.size()) return std::nullopt;
    situation.SetDevice(devices[Number(device)]);
    const Milli others = cluster.Used(grant.node)[Number(device)].share - grant.gpu_share;
    situation.neighbours = std::max(situation.neighbours, others);
  }
  return situation;
}

// Measures the speed of a trial over at least a second, since reports may come in bursts. The time
// before the first report does not count: part of it went into starting up.
void SpeedMeter::Measure(Study& study, Trial& trial, const Reported& report) {
  constexpr Duration kShortest = std::chrono::seconds(1);
  Launch& launch = trial.launch;
  MeasuredPace& pace = trial.pace;
  const Time now = state_.now;
  if (launch.reports == 0) {
    // The time to the first new report is not known if the launch first repeated work of earlier
    // launches.
    launch.to_first = launch.heard == launch.started ? now - launch.started : Duration(0);
    pace.since = now;
    pace.work = report.work;
    return;
  }
  if (launch.reports == 1 && launch.to_first.count() > 0)
    study.start_up.Learn(std::max(Duration(0), launch.to_first - (now - launch.heard)));
  if (pace.since == kNever) {  // the bundle or the controller has changed since
    pace.since = now;
    pace.work = report.work;
    return;
  }
  if (now - pace.since < kShortest) return;
  auto situation = SituationOf(state_.cluster, study, trial);
  if (!situation) return;
  if (IsSet(launch.grant.bundle)) situation->fused = FusedWith(study, trial);
  const auto work = static_cast<double>(report.work - pace.work);
  const double seconds = Seconds(now - pace.since);
  Learn(study, *situation, work, seconds);
  situation->shape = study.spec.name;
  if (state_.PolicyOf(study).LooksAtPaces()) MeasurePace(pace, *situation, work / seconds);
  pace.since = now;
  pace.work = report.work;
}

// The number of trials of the same shape in the trial's process, the trial included.
int SpeedMeter::FusedWith(const Study& study, const Trial& trial) const {
  const BundleId bundle = trial.launch.grant.bundle;
  if (!HasSeveralShapes(study.spec)) return state_.cluster.BundleSize(bundle);
  return static_cast<int>(std::ranges::count_if(study.running, [&](TrialId id) {
    const Trial& other = study.trial(id);
    return other.launch.grant.bundle == bundle &&
           HaveOneShape(study.spec, other.point, trial.point);
  }));
}

// Some trials of a study are slower than others because of their layers or batches. A trial's pace
// is a geometric mean over its last measurements.
void SpeedMeter::MeasurePace(MeasuredPace& pace, const SpeedSituation& situation, double speed) {
  constexpr std::uint32_t kMemory = 8;
  const double usual = state_.speeds.Ask(situation).work_per_second;
  if (!(speed > 0) || !(usual > 0)) return;
  pace.measured = std::min(pace.measured + 1, kMemory);
  pace.pace *= std::pow(speed / usual / pace.pace, 1.0 / pace.measured);
}

void SpeedMeter::Learn(const Study& study, const Measurement& measured) {
  Learn(study, measured.situation, measured.work_per_second, /*seconds=*/1);
}

// Each measurement counts for its own shape, and for the study's name, which stands for all shapes.
void SpeedMeter::Learn(const Study& study, SpeedSituation situation, double work, double seconds) {
  if (situation.shape != study.spec.name) state_.speeds.Learn(situation, work, seconds);
  situation.shape = study.spec.name;
  state_.speeds.Learn(situation, work, seconds);
}

void SpeedMeter::MeasureAnew(BundleId bundle) {
  if (!IsSet(bundle)) return;
  for (auto& study : state_.studies) {
    for (TrialId id : study->running) {
      Trial& trial = study->trial(id);
      if (trial.launch.grant.bundle == bundle) trial.pace.since = kNever;
    }
  }
}

}  // namespace sluice
