#include "cli/earlier_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json_reader.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMostPastTrials = 300;
constexpr int kMostReports = 200;  // of each trial

double MetricOf(const std::string& metrics, const std::string& metric) {
  const auto document = JsonDocument::Read(metrics);
  const auto value = document ? document->object().Find(metric) : std::nullopt;
  return (value ? value->Number() : std::nullopt)
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

Result<PastTrial> ReadPastTrial(Reader& reader, const StudyInfo& study, const TrialInfo& info) {
  PastTrial trial{.complete = info.state == TrialState::kComplete,
                  .launch = info.launch,
                  .started = info.started,
                  .busy = info.busy,
                  .work = info.work,
                  .count = info.reports,
                  .reports = {}};
  const int stride = info.reports / kMostReports + 1;
  int seen = 0;
  SLUICE_TRY(reader.EachReport(study.id, info.id, [&](const ReportInfo& report) {
    if (seen++ % stride != 0) return;
    trial.reports.push_back({.launch = report.launch,
                             .time = report.time,
                             .work = report.work,
                             .value = MetricOf(report.metrics, study.metric)});
  }));
  return trial;
}

// Reads the trials that have reported. If there are more than kMostPastTrials of them, reads that
// many, evenly spaced.
Result<std::vector<PastTrial>> ReadPastTrials(Reader& reader, const StudyInfo& study) {
  SLUICE_ASSIGN(std::vector<TrialInfo> infos, reader.Trials(study.id));
  std::erase_if(infos, [](const TrialInfo& info) { return info.reports == 0; });
  const std::size_t count = std::min(infos.size(), kMostPastTrials);
  std::vector<PastTrial> trials;
  for (std::size_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN(PastTrial trial, ReadPastTrial(reader, study, infos[i * infos.size() / count]));
    trials.push_back(std::move(trial));
  }
  return trials;
}

Result<EarlierRuns> Measure(Reader& reader, const StudyInfo& info, const StudySpec& study) {
  if (info.unit != study.unit) {
    return InvalidArgument(fmt::format(
        "study '{}' counts work in {}, and this one in {}: nothing can be taken from it", info.name,
        info.unit, study.unit));
  }
  const Direction direction = info.maximize ? Direction::kMaximize : Direction::kMinimize;
  SLUICE_ASSIGN(const std::vector<PastTrial> trials, ReadPastTrials(reader, info));
  EarlierRuns runs{
      .study = info.name, .measured = MeasureWorkload(trials, direction), .kind = {}, .notes = {}};
  if (!runs.measured.seconds_per_unit) {
    return InvalidArgument(
        fmt::format("study '{}' has no trial whose reports say how long work takes", info.name));
  }
  const bool same = info.metric == study.objective.metric && direction == study.objective.direction;
  if (!same) {
    runs.measured.curve.reset();
    runs.notes.push_back(
        fmt::format("study '{}' has another objective: the learning curves of its "
                    "trials are not used",
                    info.name));
  }
  SLUICE_ASSIGN(const std::vector<Node> nodes, reader.Nodes(info.id));
  for (const Node& node : nodes) {
    if (runs.kind.empty() && !node.devices.empty()) runs.kind = node.devices.front().kind;
  }
  return runs;
}

Result<EarlierRuns> FindRunsOf(const std::string& store, const StudySpec& study,
                               const std::string& name) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(store));
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
  return Measure(*reader, info, study);
}

}  // namespace

Result<EarlierRuns> FindEarlierRuns(const std::string& store, const StudySpec& study,
                                    const std::optional<std::string>& like) {
  auto found = FindRunsOf(store, study, like.value_or(study.name));
  if (found) return found;
  if (like) return Fail(found.error().code, "--like: " + found.error().message);
  EarlierRuns none;
  if (found.error().code != ErrorCode::kNotFound) none.notes.push_back(found.error().message);
  return none;
}

}  // namespace sluice
