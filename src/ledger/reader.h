#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/trial.h"
#include "ledger/database.h"

namespace sluice {

// A study as it stands on disk.
struct StudyInfo {
  StudyId id{};
  std::string name;
  std::string folder;
  std::string metric;
  std::string direction;  // as it is written
  bool maximize = false;
  std::string unit;
  std::uint64_t seed = 0;
  Time created{};
  Time updated{};
  Time deadline = kNever;
  int trials = 0;
  std::string ending;  // "running" while the study runs, then why it ended
  bool finished = false;
  TrialId best{};
  std::array<int, kTrialStates> counts{};
  std::string pause;  // why the machine could not continue the study; empty: it could
  bool open = false;  // a controller has taken it in, and has not let go of it since

  int count(TrialState state) const { return counts[static_cast<std::size_t>(state)]; }
  int made() const;
};

// A trial as it stands on disk. `params` and `attributes` are JSON objects.
struct TrialInfo {
  TrialId id{};
  TrialState state{};
  std::string params;
  std::string attributes;
  Work work = 0;
  std::optional<Work> target;
  double value = 0;   // NaN: none
  double result = 0;  // NaN: none
  Work result_work = 0;
  LaunchId launch{};
  int failures = 0;
  int reports = 0;
  Time created{};
  Time started{};
  Time ended{};
  Duration busy{};
  Work saved_work = 0;
  std::int64_t saved_bytes = 0;
  std::string note;
};

// The part of a trial that progress views need. They read thousands of trials at a time.
struct TrialSummary {
  TrialId id{};
  TrialState state{};
  Work work = 0;
  double result = 0;  // NaN: none
  Work result_work = 0;
  int reports = 0;
  Time started{};
  Time ended{};
  Duration busy{};
  std::string note;
};

// The outcome of a trial that was complete or stopped and had reported.
struct ResultInfo {
  std::string params;  // a JSON object
  double result = 0;   // NaN: nothing but NaN was reported
};

struct ReportInfo {
  TrialId trial{};
  LaunchId launch{};
  Time time{};
  Work work = 0;
  std::string metrics;  // a JSON object
};

// Reads a store, also while a controller writes it. Sees only whole commits. Only one thread may
// use a Reader at a time.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> Open(const std::string& path, const Disk& disk = {});

  Result<std::vector<StudyInfo>> Studies();
  // Finds a study by its name. Fails with not_found, and the message suggests the nearest name.
  Result<StudyInfo> FindStudy(std::string_view name);
  // The study that was changed last. It is used where the user names no study.
  Result<StudyInfo> LatestStudy();
  // The study file as it was when the study was made.
  Result<std::string> Source(StudyId study);

  // The nodes the study ran on last; none if it never ran.
  Result<std::vector<Node>> Nodes(StudyId study);

  Result<TrialInfo> FindTrial(const StudyInfo& study, TrialId trial);
  // In order of ids; with `state`, only the trials in that state.
  Result<std::vector<TrialInfo>> Trials(StudyId study,
                                        std::optional<TrialState> state = std::nullopt);
  // The newest first, at most `most`.
  Result<std::vector<TrialSummary>> LatestTrials(StudyId study, std::size_t most);
  // The best first, at most `limit`; trials without a result are left out.
  Result<std::vector<TrialInfo>> Best(const StudyInfo& study, int limit);
  // The outcomes of the complete and stopped trials, in order of ids. For a study with more than
  // `most` trials, an evenly spread sample of them, so that the cost does not grow with the study.
  // The sample is the same for the same number of trials.
  Result<std::vector<ResultInfo>> Results(const StudyInfo& study, int most);
  // Visits reports in order of time; with `trial`, only those of that trial. Reads one report at a
  // time, since there may be millions.
  Status EachReport(StudyId study, std::optional<TrialId> trial,
                    const std::function<void(const ReportInfo&)>& visit);

  // From here on, all reads see the store at one moment, whatever is committed meanwhile.
  Status Freeze();
  // A number that changes whenever another connection has committed something.
  Result<std::int64_t> Version();
  Database& database() { return *database_; }

 private:
  Reader(std::unique_ptr<Database> database, int schema)
      : database_(std::move(database)), schema_(schema) {}
  Result<Statement> PrepareStudies(std::string_view rest);
  std::unique_ptr<Database> database_;
  int schema_;
};

}  // namespace sluice
